"""What the sites say of every pair of variables: the shares of their structures that join it.

SMHD compares moral graphs, so a site is the list of pairs that its moral graph has. A site that
sends several DAGs has the share of them, by weight. Shares are rounded to multiples of 2^-20, so
that sums of their products are exact in whatever order they are summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Ints
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
    names : the variables, sorted as text.
    pairs : int64 [P, 2], the pairs i < j that at least one site's moral graph has, in that order.
    shares : float64 [m, P], read-only: the share of a site's structures with the pair.
    rows : of every site's table; None unless all sites told theirs.
    sent : what the sites sent, in the same order.
    """

    sites: tuple[str, ...]
    names: tuple[str, ...]
    pairs: Ints
    shares: NDArray[np.float64]
    rows: tuple[int, ...] | None
    sent: tuple[SiteStructures, ...]

    @property
    def several(self) -> bool:
        """Whether every site sent several structures."""
        return min(len(entry.dags) for entry in self.sent) > 1

    def structures_of(self, site: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
    def covariate(self) -> NDArray[np.float64]:
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


def profiles_of(structures: Sequence[SiteStructures]) -> SiteProfiles:
    """The profiles of sites over the same variables, in any order of names.

    Raises
    ------
    StructureError : there is no site, or one has other variables than the first.
    ConfigError : two sites have one label, or a site has no structure or not one share for each.
    """
    if not structures:
        raise StructureError("groups need at least one site, got none")
    labels = [entry.site for entry in structures]
    twice = next((a for a, b in pairwise(sorted(labels)) if a == b), None)
    if twice is not None:
        raise ConfigError(f"two sites must not both be called {twice!r}")
    names = tuple(sorted(structures[0].dags[0].names)) if structures[0].dags else ()
    upper = np.triu_indices(len(names), k=1)
    found = np.stack([_profile(entry, names)[upper] for entry in structures])
    joined = found.any(axis=0)
    pairs = np.stack(upper, axis=1)[joined].astype(np.int64)
    shares = np.ascontiguousarray(found[:, joined])
    shares.flags.writeable = False
    rows = tuple(entry.rows for entry in structures if entry.rows is not None)
    told = len(rows) == len(structures) and min(rows) > 0
    return SiteProfiles(
        tuple(labels), names, pairs, shares, rows if told else None, tuple(structures)
    )


def _profile(entry: SiteStructures, names: tuple[str, ...]) -> NDArray[np.float64]:
    """float64 [n, n]: the share of a site's moral graphs with each pair."""
    if not entry.dags or len(entry.dags) != len(entry.shares):
        raise ConfigError(
            f"site {entry.site!r}: one share for each of at least one structure is needed, got "
            f"{len(entry.shares)} for {len(entry.dags)}"
        )
    total = sum(entry.shares)
    sums = np.zeros((len(names),) * 2)
    for dag, share in zip(entry.dags, entry.shares, strict=True):
        if set(dag.names) != set(names):
            other = sorted(set(dag.names) ^ set(names))[0]
            raise StructureError(
                f"all sites must have the same variables, but {other!r} is not in all of them "
                f"(site {entry.site!r})"
            )
        sums += float(share / total) * moral_graph(dag.reorder(names))
    return np.round(sums / UNIT) * UNIT


def distances_in_blocks(shares: NDArray[np.float64]) -> NDArray[np.float64]:
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
