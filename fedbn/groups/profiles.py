"""What the sites say of every pair of variables: the shares of their structures that join it.

SMHD compares moral graphs, so a site is the list of pairs that its moral graph has. A site that
sends several DAGs has the share of them, by weight. Shares are rounded to multiples of 2^-20, so
that sums of their products are exact in whatever order they are summed. Where sites have different
variables, each judges some of the pairs (`fedbn.consensus.votes_of_judges`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from fedbn.arrays import Bools, Floats, Indices, Ints
from fedbn.consensus.votes_of_judges import judged_pairs
from fedbn.errors import ConfigError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.moral import moral_graph

UNIT = 2.0**-20
BLOCK = 512
"""So many sites' distances to all others are computed at once."""


@dataclass(frozen=True)
class SiteStructures:
    """What one site sent.

    Attributes
    ----------
    site : its label.
    dags, shares : its DAGs, and a positive share for each.
    rows : of its table, if told.
    resampled : whether the DAGs are known to be of bootstrap samples.
    """

    site: str
    dags: tuple[DAG, ...]
    shares: tuple[Fraction, ...]
    rows: int | None = None
    resampled: bool = False


@dataclass(frozen=True, eq=False)
class SiteProfiles:
    """The sites' moral pairs.

    Attributes
    ----------
    sites : labels [m], in the order in which they were given.
    names : the variables of all sites, sorted as text.
    pairs : int64 [P, 2], the pairs i < j that the moral graph of at least one of their judges has,
        in that order.
    shares : float64 [m, P], read-only: the share of a site's structures with the pair; 0 where it
        does not judge.
    rows : of every site's table; None unless all sites told theirs.
    sent : what the sites sent, in the same order.
    judges : bool [m, P], read-only: which sites judge each pair; None where all have the same
        variables, and judge all.
    """

    sites: tuple[str, ...]
    names: tuple[str, ...]
    pairs: Ints
    shares: Floats
    rows: tuple[int, ...] | None
    sent: tuple[SiteStructures, ...]
    judges: Bools | None = None

    def judges_among(self, members: Indices) -> Bools | None:
        """`judges` of some of the sites."""
        return None if self.judges is None else self.judges[members]

    @property
    def is_testable(self) -> bool:
        """Whether one population can be told from two: where sites have different variables, sizes
        and varieties of structures do not show the rows, which all sites must tell then."""
        return self.judges is None or self.rows is not None

    @property
    def several(self) -> bool:
        """Whether every site sent several structures, over the same variables."""
        return self.judges is None and min(len(entry.dags) for entry in self.sent) > 1

    def structures_of(self, site: int) -> tuple[Floats, Floats]:
        """Of one site: float64 [k, P], which pairs each structure's moral graph has, 0 or 1, and
        float64 [k], the structures' shares, of sum 1."""
        entry = self.sent[site]
        one, other = self.pairs.T
        joined = [moral_graph(dag.reorder(self.names))[one, other] for dag in entry.dags]
        shares = np.array([float(share) for share in entry.shares])
        return np.stack(joined).astype(np.float64), shares / shares.sum()

    @property
    def shows_rows(self) -> bool:
        """Whether the sites' rows are told, or shown by every site's bootstrap structures."""
        shown = self.several and all(entry.resampled for entry in self.sent)
        return self.rows is not None or shown

    @property
    def covariate(self) -> Floats:
        """float64 [m]: what goes with a site's rows.

        The logarithm of the rows that were told. Else, where every site sent several structures of
        bootstrap samples, -2 log(1 + d), d the mean SMHD between two of them, drawn independently
        by their shares: these vary about as the inverse root of the rows. Credible sets, which are
        cut to so many structures, do not. Else the number of moral edges.
        """
        if self.rows is not None:
            return np.log(np.array(self.rows, dtype=np.float64))
        if self.shows_rows:
            apart = 2.0 * (self.shares * (1.0 - self.shares)).sum(axis=1)
            return np.asarray(-2.0 * np.log1p(apart))
        return np.asarray(self.shares.sum(axis=1))


def profiles_of(structures: Sequence[SiteStructures], whole: DAG | None = None) -> SiteProfiles:
    """The profiles of sites, names in any order; over the same variables, unless there is a
    consensus of all.

    Parameters
    ----------
    structures : of every site; all of one site over the same variables.
    whole : the consensus, over the variables of all sites, by which sites with different ones judge
        pairs.

    Raises
    ------
    StructureError : there is no site, or one has other variables than it may have.
    ConfigError : two sites have one label, or a site has no structure or not one share for each.
    """
    if not structures:
        raise StructureError("groups need at least one site, got none")
    labels = [entry.site for entry in structures]
    twice = next((a for a, b in pairwise(sorted(labels)) if a == b), None)
    if twice is not None:
        raise ConfigError(f"two sites must not both be called {twice!r}")
    own = [tuple(sorted(entry.dags[0].names)) if entry.dags else () for entry in structures]
    names = own[0] if whole is None else tuple(sorted(whole.names))
    upper, judges = np.triu_indices(len(names), k=1), None
    found = np.stack(
        [
            _profile(entry, names, names if whole is None else each)[upper]
            for entry, each in zip(structures, own, strict=True)
        ]
    )
    if whole is not None and any(each != names for each in own):
        moral = moral_graph(whole.reorder(names))
        having = [np.isin(names, each) for each in own]
        judges = np.stack([judged_pairs(has, moral)[upper] for has in having])
        found = np.where(judges, found, 0.0)
    joined = found.any(axis=0)
    pairs = np.stack(upper, axis=1)[joined].astype(np.int64)
    shares = np.ascontiguousarray(found[:, joined])
    shares.flags.writeable = False
    if judges is not None:
        judges = np.ascontiguousarray(judges[:, joined])
        judges.flags.writeable = False
    rows = tuple(entry.rows for entry in structures if entry.rows is not None)
    told = len(rows) == len(structures) and min(rows) > 0
    return SiteProfiles(
        tuple(labels), names, pairs, shares, rows if told else None, tuple(structures), judges
    )


def _profile(entry: SiteStructures, names: tuple[str, ...], own: tuple[str, ...]) -> Floats:
    """float64 [n, n]: the share of a site's moral graphs, over its own names, with each pair."""
    if not entry.dags or len(entry.dags) != len(entry.shares):
        raise ConfigError(
            f"site {entry.site!r}: one share for each of at least one structure is needed, got "
            f"{len(entry.shares)} for {len(entry.dags)}"
        )
    total = sum(entry.shares)
    sums = np.zeros((len(names),) * 2)
    for dag, share in zip(entry.dags, entry.shares, strict=True):
        if set(dag.names) != set(own):
            other = sorted(set(dag.names) ^ set(own))[0]
            raise StructureError(
                f"all sites must have the same variables, but {other!r} is not in all of them "
                f"(site {entry.site!r})"
            )
        sums += float(share / total) * moral_graph(dag.extend(names))
    return np.round(sums / UNIT) * UNIT


def distances_where_both_judge(profiles: SiteProfiles) -> Floats:
    """`distances_in_blocks` where sites have different variables: of two sites over the pairs that
    both judge, over the share that these are of all pairs; of two that judge none together, the
    mean of all others."""
    assert profiles.judges is not None
    upper, weights = np.triu_indices(len(profiles.sites), k=1), profiles.judges.astype(np.float64)
    has = profiles.shares @ weights.T
    apart = (has + has.T - 2.0 * profiles.shares @ profiles.shares.T)[upper]
    common = (weights @ weights.T)[upper]
    found = apart * len(profiles.pairs) / np.maximum(common, 1.0)
    known = common > 0
    return np.where(known, found, found[known].mean() if known.any() else 0.0)


def distances_in_blocks(shares: Floats) -> Floats:
    """The mean SMHD between the structures of every two sites, condensed as scipy has it.

    Two structures that have a pair with probabilities p and q differ in it with p (1 - q) +
    q (1 - p); so it is sums of votes and one product of matrices, `BLOCK` sites at a time.

    Parameters
    ----------
    shares : float64 [m, P], as in `SiteProfiles`.

    Returns
    -------
    float64 [m (m - 1) / 2]: (0, 1), (0, 2), ..., (1, 2), ...

    Examples
    --------
    >>> distances_in_blocks(np.array([[1.0, 0.0], [1.0, 1.0], [0.5, 0.0]]))
    array([1. , 0.5, 1.5])
    """
    m = len(shares)
    sums = shares.sum(axis=1)
    found = np.empty(m * (m - 1) // 2)
    place = 0
    for first in range(0, m, BLOCK):
        block = shares[first : first + BLOCK]
        common = block @ shares[first:].T
        for k in range(len(block)):
            row = sums[first + k] + sums[first + k + 1 :] - 2.0 * common[k, k + 1 :]
            found[place : place + len(row)] = row
            place += len(row)
    return found
