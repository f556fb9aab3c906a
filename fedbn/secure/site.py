"""A site's part in secure sums: its structures, its key, what it was asked; no network.

begin      learn before the cohort is known; make a key
join       hear the terms; refuse the wrong company
reply      hear a request; the masked vector that leaves
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fedbn.arrays import Ints, Masked
from fedbn.errors import MessageError, PolicyError
from fedbn.fusion.weights import UNITS_PER_CLIENT, integer_weights
from fedbn.graphs.dag import DAG
from fedbn.secure.answers import answer
from fedbn.secure.guard import NOTHING_ASKED, Asked, allow
from fedbn.secure.masks import Key, hide, mask, pair_keys, request_digest
from fedbn.secure.requests import CountRequest, UnionRequest
from fedbn.secure.session import Terms
from fedbn.secure.words import word_of

__all__ = ["Count", "Site", "begin", "join", "reply"]

Count = Callable[[CountRequest], Ints]
"""What a site answers of its table, or refuses; see `family_sums.own_counts`."""


@dataclass(frozen=True)
class Site:
    """What a site keeps between the rounds of one run, and drops after the last.

    Attributes
    ----------
    dags : its structures over the agreed names in name order; weights: whole, of the sum `units`.
    key : its key of this run.
    terms : what the run agreed on; None before it is told.
    asked : what it was asked so far.
    """

    dags: tuple[DAG, ...]
    weights: tuple[int, ...]
    key: Key
    terms: Terms | None = None
    asked: Asked = NOTHING_ASKED


def begin(dags: Sequence[DAG], weights: Sequence[float], key: Key | None = None) -> Site:
    """A site with its structures; their weights are rounded as in the open run."""
    (shares,) = integer_weights([weights], [dags])
    kept = [(dag, share) for dag, share in zip(dags, shares, strict=True) if share > 0]
    own = key or Key.generate()
    return Site(tuple(dag for dag, _ in kept), tuple(share for _, share in kept), own)


def join(site: Site, terms: Terms) -> Site:
    """The site in a run with these terms, which it has looked at (`session.require_cohort`).

    Raises
    ------
    MessageError : its weights do not sum to the units of the terms.
    PolicyError : "query", the site is in a run with other terms already.
    """
    if site.terms is not None and site.terms != terms:
        raise PolicyError("query", "the terms of a run do not change")
    if terms.units == 1 == len(site.dags):
        return replace(site, terms=terms, weights=(1,))
    if terms.units != UNITS_PER_CLIENT:
        raise MessageError(
            f"the weights of this site's {len(site.dags)} structures sum to {UNITS_PER_CLIENT}, "
            f"not {terms.units}"
        )
    return replace(site, terms=terms)


def no_counts(_: CountRequest) -> Ints:
    """Of a site that has structures and no table; raises PolicyError."""
    raise PolicyError("counts", "this site sends no counts")


def reply(site: Site, data: bytes, count: Count = no_counts) -> tuple[Masked, Site]:
    """The masked vector for a request, and the site after it; the same request, the same bytes.

    Parameters
    ----------
    site, data : who is asked, and the bytes of the request.
    count : answers a request for counts.

    Raises
    ------
    PolicyError : "query", the protocol does not ask this now; or the site is in no run; or what
        `count` raises.
    """
    if site.terms is None:
        raise PolicyError("query", "a sum was asked for before the terms were told")
    request, asked = allow(data, site.asked, site.terms, site.dags[0].n)
    try:
        if isinstance(request, CountRequest):
            values = count(request)
        else:
            values = answer(request, site.dags, site.weights)
    except MessageError as error:
        raise PolicyError("query", str(error)) from None
    digest = request_digest(data)
    if isinstance(request, UnionRequest) and site.terms.quorum == 1:
        values = hide(values, site.key, digest)
    pairs = pair_keys(site.key, site.terms.roster, site.terms.session)
    word = word_of(request, site.dags[0].n, len(site.terms.members), site.terms.units)
    return mask(values, pairs, digest, word), replace(site, asked=asked)
