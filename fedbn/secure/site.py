"""A site's part in secure sums: its structures, its key, what it was asked; no network.

begin      learn before the cohort is known; make a key
join       hear the terms; refuse the wrong company
reply      hear a request; the masked vector that leaves
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedbn.arrays import Ints, Masked
from fedbn.errors import MessageError, PolicyError
from fedbn.fusion.minimal_imap import marginal_imap
from fedbn.fusion.weights import UNITS_PER_CLIENT, integer_weights
from fedbn.graphs.dag import DAG
from fedbn.secure.answers import answer
from fedbn.secure.blocks import Columns
from fedbn.secure.masks import Key, hide, mask, pair_keys, request_digest
from fedbn.secure.question_order import NOTHING_ASKED, Asked, allow
from fedbn.secure.requests import (
    LevelRequest,
    ScoreRequest,
    SizeRequest,
    SumRequest,
    TableRequest,
    UnionRequest,
)
from fedbn.secure.session import Terms
from fedbn.secure.words import word_of

Count = Callable[[TableRequest], Ints]
"""What a site answers of its table, or refuses; see `family_sums.own_counts` and
`scatter_sums.own_sums`; of numbers for parameters, `summed_families`."""


@dataclass(frozen=True)
class Site:
    """What a site keeps between the rounds of one run, and drops after the last.

    Attributes
    ----------
    dags : its structures over the agreed names in name order; weights: whole, of the sum `units`.
    key : its key of this run.
    own : the names of its columns, where sites may have different ones; else empty.
    terms : what the run agreed on; None before it is told.
    asked : what it was asked so far.
    """

    dags: tuple[DAG, ...]
    weights: tuple[int, ...]
    key: Key
    own: frozenset[str] = frozenset()
    terms: Terms | None = None
    asked: Asked = NOTHING_ASKED

    @property
    def columns(self) -> Columns | None:
        """For which columns all sites of the run answer, where they have different ones."""
        if self.terms is None:
            return None
        return Columns.of(self.terms.columns, self.dags[0].n, self.terms.min_judges)


def begin(
    dags: Sequence[DAG],
    weights: Sequence[float],
    key: Key | None = None,
    own: Iterable[str] = (),
) -> Site:
    """A site with its structures; their weights are rounded as in the open run.

    own : the names of its columns, where it may lack agreed ones; these are isolated in the DAGs.
    """
    (shares,) = integer_weights([weights], [dags])
    kept = [(dag, share) for dag, share in zip(dags, shares, strict=True) if share > 0]
    found = tuple(dag for dag, _ in kept), tuple(share for _, share in kept)
    return Site(*found, key or Key.generate(), frozenset(own))


def join(site: Site, terms: Terms) -> Site:
    """The site in a run with these terms, which it has looked at (`session.require_cohort`).

    Where it has more columns than those that it is to answer for, it goes on with what its
    structures say of these: their minimal I-maps over them, under their own orders.

    Raises
    ------
    MessageError : its weights do not sum to the units of the terms.
    PolicyError : "query", the site is in a run with other terms already, or it is to answer for a
        column that it lacks, or somebody for none or for one that is not agreed.
    """
    if site.terms is not None and site.terms != terms:
        raise PolicyError("query", "the terms of a run do not change")
    site = _of_block(site, terms)
    if terms.units == 1 == len(site.dags):
        return replace(site, terms=terms, weights=(1,))
    if terms.units != UNITS_PER_CLIENT:
        raise MessageError(
            f"the weights of this site's {len(site.dags)} structures sum to {UNITS_PER_CLIENT}, "
            f"not {terms.units}"
        )
    return replace(site, terms=terms)


def _of_block(site: Site, terms: Terms) -> Site:
    """The site with what its structures say of the columns that the terms give it."""
    names = site.dags[0].names
    if bool(terms.columns) != bool(site.own):
        raise PolicyError("query", "whether sites have different columns is not as it was asked")
    if not terms.columns:
        return site
    if not all(own and own[-1] < len(names) for own in terms.columns):
        raise PolicyError(
            "query", "a site is to answer for no column, or for one that is not agreed"
        )
    asked = terms.columns[terms.place_of(site.key.public)]
    if not {names[v] for v in asked} <= site.own:
        raise PolicyError("query", "this site is to answer for a column that it lacks")
    if len(asked) == len(site.own):
        return site
    some = [names[v] for v in asked]
    return replace(site, dags=tuple(marginal_imap(dag, some).extend(names) for dag in site.dags))


def no_counts(_: TableRequest) -> Ints:
    """Of a site that has structures and no table; raises PolicyError."""
    raise PolicyError("counts", "this site sends no counts")


def reply(site: Site, data: bytes, count: Count = no_counts) -> tuple[Masked, Site]:
    """The masked vector for a request, and the site after it; the same request, the same bytes.

    Parameters
    ----------
    site, data : who is asked, and the bytes of the request.
    count : answers a request for what is summed of tables.

    Raises
    ------
    PolicyError : "query", the protocol does not ask this now; or the site is in no run; or what
        `count` raises.
    """
    if site.terms is None:
        raise PolicyError("query", "a sum was asked for before the terms")
    request, asked = allow(data, site.asked, site.terms, site.dags[0].n)
    try:
        if isinstance(request, TableRequest):
            values = count(request)
        else:
            place = site.terms.place_of(site.key.public)
            values = answer(request, site.dags, site.weights, site.columns, place)
    except MessageError as error:
        raise PolicyError("query", str(error)) from None
    digest = request_digest(data)
    values = _hide_presence(request, values, site, digest)
    pairs = pair_keys(site.key, site.terms.roster, site.terms.session)
    word = word_of(request, site.dags[0].n, len(site.terms.members), site.terms.units)
    return mask(values, pairs, digest, word), replace(site, asked=asked)


def _hide_presence(request: SumRequest, values: Ints, site: Site, digest: bytes) -> Ints:
    """The vector with words that only this site knows wherever the sum is to say no more than
    whether some site has a 1: of arcs where no quorum counts them, of levels, and of families that
    are refused, which come after the scores."""
    assert site.terms is not None
    if isinstance(request, UnionRequest):
        start = 0 if site.terms.quorum == 1 else len(values)
    elif isinstance(request, ScoreRequest):
        start = len(values) // 2
    else:
        start = 0 if isinstance(request, SizeRequest | LevelRequest) else len(values)
    return np.concatenate([values[:start], hide(values[start:], site.key, digest)])
