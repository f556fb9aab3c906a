"""The learner dp-moments: all dependences at once from noisy covariances, then a few draws.

Three releases, then draws (shares of ρ in brackets):

1. How often every state occurs (1/40). A row counts once per variable: Δ² = n. From it come the
   number of rows and the features (`features.py`).
2. The covariances of all pairs (19/80).
3. Those of the 4 n pairs that speak most for a dependence so far (19/80): fewer sums, less noise.
4. Draws of dp-ges (1/2), which begin with the class that greedy equivalence search finds on the
   evidence of the releases (`evidence.py`): n / 2 Inserts at most, then n / 4 Deletes.

Why. A draw of dp-climb or dp-ges pays for one arc. A release pays for all pairs, and the search on
it costs nothing, so that strong dependences come cheap; since rows that are far from typical count
less, its noise is that of typical rows and not of the worst. What covariances cannot see
(dependences of higher order, directions that hang on them) is left for the draws, which are as many
as are worth while. Both phases are zCDP for one row, and add up to ρ (Bun & Steinke 2016).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import numpy as np

from fedbn.arrays import Bools, Floats
from fedbn.data.dataset import Dataset
from fedbn.errors import DataError
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG
from fedbn.privacy.class_climb import DELETIONS, class_climbing
from fedbn.privacy.class_operators import deletions, insertions
from fedbn.privacy.dependence import MAX_ROWS
from fedbn.privacy.evidence import Evidence
from fedbn.privacy.features import MAX_PAIRS, UNIT, Features, squared_bound, weighted_products
from fedbn.privacy.mechanism_runs import Mechanism, Transcript, run_privately
from fedbn.privacy.releases import PrivateReleaser, Releaser, ReleaseTranscript
from fedbn.search.operators import Delete, Insert

RELEASES_SHARE = Fraction(1, 2)
"""Share of ρ that the releases take; the draws take the rest."""

COUNTS_SHARE = Fraction(1, 20)
"""Share of the releases' ρ for the states of the variables."""

CHOSEN_PAIRS = 4
"""So many pairs per variable are looked at twice."""

INSERTIONS = Fraction(1, 2)
"""Draws per variable of the forward phase; the backward phase has those of dp-ges."""

MAX_PARENTS = 4

ARC_COST = 5.0
"""What an arc of the first class must have in evidence, in nats."""

PAIR_COST = 2.0
"""And for every pair that an Insert makes parents of one child without joining it."""

_TIE = 1e-9


@dataclass(frozen=True)
class MomentsTranscript:
    """Both phases, for audits. It is as secret as the table and never leaves."""

    releases: ReleaseTranscript
    draws: Transcript

    @property
    def charged(self) -> Fraction:
        """What both phases cost together: at most ρ."""
        return self.releases.charged + self.draws.budget.charged


def dp_moments(
    dataset: Dataset, *, rho: Fraction, source: Random, max_parents: int | None = None
) -> tuple[DAG, MomentsTranscript]:
    """A DAG under ρ-zCDP per row, and the transcript, which must not leave.

    Parameters
    ----------
    dataset, rho, source : as for `fedbn.privacy.climb.dp_climb`.
    max_parents : largest number of parents that an Insert gives a node; 4 if it is None.

    Raises
    ------
    ConfigError : ρ is too small for so many draws.
    DataError : the data are not categorical, have 2^28 rows or more, or 2^24 pairs of variables.
    """
    parents = MAX_PARENTS if max_parents is None else max_parents
    of_releases, of_draws, draws = phases(rho, dataset.n)
    releaser = PrivateReleaser(of_releases, source)
    start = moment_class(dataset, releaser, parents)
    dag, transcript = run_privately(
        drawing_from(start, parents), dataset, rho=of_draws, draws=draws, source=source
    )
    released = ReleaseTranscript(of_releases, tuple(releaser.releases))
    return dag, MomentsTranscript(released, transcript)


def phases(rho: Fraction, n: int) -> tuple[Fraction, Fraction, int]:
    """ρ of the releases, ρ of the draws, and the most draws, for n variables."""
    draws = math.ceil(INSERTIONS * n) + math.ceil(DELETIONS * n)
    return RELEASES_SHARE * rho, (1 - RELEASES_SHARE) * rho, draws


def drawing_from(start: PDAG, max_parents: int) -> Mechanism:
    """The draws of dp-ges from this class on; it must come from releases alone."""
    return class_climbing(max_parents, math.ceil(DELETIONS * start.n), start)


def moment_class(table: Dataset, releaser: Releaser, max_parents: int) -> PDAG:
    """The class that the releases speak for; it sees the table through the releaser alone.

    Raises
    ------
    DataError : the data are not categorical, have 2^28 rows or more, or 2^24 pairs of variables.
    """
    if table.n_rows >= MAX_ROWS:
        raise DataError(f"a table must have fewer than 2^28 rows, not {table.n_rows}")
    if math.comb(table.n, 2) >= MAX_PAIRS:
        raise DataError(f"dp-moments takes at most 5,793 variables, not {table.n}")
    shares, rows = _noisy_shares(table, releaser)
    features = Features.of(shares)
    evidence = Evidence(features, rows)
    pairs = ~np.eye(table.n, dtype=np.bool_)
    _release_products(table, releaser, features, pairs, evidence)
    pairs = _strongest_pairs(evidence)
    _release_products(table, releaser, features, pairs, evidence)
    return _search(table.names, evidence, max_parents)


def _noisy_shares(table: Dataset, releaser: Releaser) -> tuple[list[Floats], int]:
    """The share of every state, none below half the noise's deviation, and the number of rows."""
    sizes = table.cardinalities.tolist()
    counts = [np.bincount(table.codes[:, v], minlength=r) for v, r in enumerate(sizes)]
    exact = np.concatenate(counts).astype(np.int64)
    noisy, variance = releaser.release(("counts", tuple(sizes)), exact, table.n, COUNTS_SHARE)
    rows = max(1, round(float(noisy.sum()) / table.n))
    raised = np.maximum(noisy, math.sqrt(variance) / 2)
    parts = np.split(raised, np.cumsum(sizes)[:-1])
    return [part / part.sum() for part in parts], rows


def _release_products(
    table: Dataset, releaser: Releaser, features: Features, pairs: Bools, evidence: Evidence
) -> None:
    """Release the products of these pairs' features for half of what the counts left."""
    sizes = [each.shape[1] for each in features.tables]
    asked = np.repeat(np.repeat(pairs, sizes, axis=0), sizes, axis=1)
    above = np.triu(asked)
    what = ("products", pairs.tobytes(), *(each.tobytes() for each in features.tables))
    noisy, variance = releaser.release(
        what,
        weighted_products(table.codes, features, pairs)[above],
        UNIT**2 * squared_bound(int(pairs.sum()) // 2),
        (1 - COUNTS_SHARE) / 2,
    )
    products = np.zeros(asked.shape)
    products[above] = noisy
    evidence.add(pairs, products + products.T, variance)


def _strongest_pairs(evidence: Evidence) -> Bools:
    """The CHOSEN_PAIRS · n pairs of most evidence, the first in index order where they tie."""
    n = evidence.n
    x, y = np.triu_indices(n, 1)
    found = np.array([evidence.of(int(a), int(b)) for a, b in zip(x, y, strict=True)])
    best = np.argsort(-found, kind="stable")[: CHOSEN_PAIRS * n]
    pairs = np.zeros((n, n), dtype=np.bool_)
    pairs[x[best], y[best]] = True
    return pairs | pairs.T


def _search(names: tuple[str, ...], evidence: Evidence, max_parents: int) -> PDAG:
    """Greedy equivalence search, forward and backward, on evidence less the costs."""
    cpdag = PDAG(names, np.zeros((len(names), len(names)), dtype=np.bool_))
    while best := _best_of(_gains(cpdag, evidence, max_parents)):
        cpdag = best.apply(cpdag)
    while best := _best_of(_losses(cpdag, evidence)):
        cpdag = best.apply(cpdag)
    return cpdag


def _gains(
    cpdag: PDAG, evidence: Evidence, max_parents: int
) -> Iterator[tuple[Insert | Delete, float]]:
    joined = cpdag.adjacency | cpdag.adjacency.T
    for insert, given in insertions(cpdag, max_parents - 1):
        unjoined = sum(not joined[insert.x, z] for z in given)
        cost = ARC_COST + PAIR_COST * unjoined
        yield insert, evidence.of(insert.x, insert.y, given) - cost


def _losses(cpdag: PDAG, evidence: Evidence) -> Iterator[tuple[Insert | Delete, float]]:
    for delete, given in deletions(cpdag):
        yield delete, ARC_COST - evidence.of(delete.x, delete.y, given)


def _best_of(values: Iterable[tuple[Insert | Delete, float]]) -> Insert | Delete | None:
    """The operator of largest value above 0, the first where they tie; None if there is none."""
    best, largest = None, 0.0
    for operator, value in values:
        if value > largest + _TIE:
            best, largest = operator, value
    return best
