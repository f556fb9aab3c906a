"""MMPC, the first half of MMHC: who may be joined, by tests of independence.

Tsamardinos, Brown & Aliferis 2006 (Machine Learning 65:31), figures 1 and 2 of the algorithm MMPC.
The association of x with t given S is minus the logarithm of the p-value of their test, 0 where it
is above the level: partial correlation by Fisher's z for numbers, G² for categories, which is not
believed (p = 1) with fewer than five rows a cell. A variable that is t's neighbour without having t
as its own leaves (their symmetry). What differs: conditioning sets have at most `LARGEST` members.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain, combinations

import numpy as np
from scipy.stats import chi2, norm

from fedbn.arrays import Bools, Floats
from fedbn.data.dataset import Dataset

LARGEST = 3
ROWS_A_CELL = 5

Association = Callable[[int, int, frozenset[int]], float]


def max_min_neighbours(dataset: Dataset, level: float) -> Bools:
    """bool [n, n], symmetric: the pairs that MMPC leaves.

    Parameters
    ----------
    dataset : numbers or categories.
    level : of the tests.
    """
    measure = _fisher if dataset.kind == "gaussian" else _likelihood_ratio
    log_p = measure(dataset)

    @cache
    def association(x: int, t: int, given: frozenset[int]) -> float:
        p = log_p(min(x, t), max(x, t), given)
        return -p if p <= math.log(level) else 0.0

    found = np.zeros((dataset.n, dataset.n), dtype=np.bool_)
    for t in range(dataset.n):
        found[t, list(_neighbours(t, dataset.n, association))] = True
    both: Bools = found & found.T
    return both


def _neighbours(t: int, n: int, association: Association) -> set[int]:
    """MMPC-bar: forward by the largest of the least associations, then backward."""
    chosen: list[int] = []
    least = {x: association(x, t, frozenset()) for x in range(n) if x != t}
    while True:
        least = {x: value for x, value in least.items() if value > 0 and x not in chosen}
        if not least:
            break
        best = max(least, key=lambda x: (least[x], -x))
        chosen.append(best)
        for x in least:
            new = (frozenset({best, *s}) for s in _subsets(chosen[:-1], LARGEST - 1))
            least[x] = min(least[x], _smallest(x, t, new, association))
    for x in list(chosen):
        others = [v for v in chosen if v != x]
        subsets = (frozenset(s) for s in _subsets(others, LARGEST))
        if _smallest(x, t, subsets, association) == 0:
            chosen.remove(x)
    return set(chosen)


def _smallest(x: int, t: int, sets: Iterable[frozenset[int]], association: Association) -> float:
    smallest = math.inf
    for given in sets:
        if x in given:
            continue
        smallest = min(smallest, association(x, t, given))
        if smallest == 0:
            break
    return smallest


def _subsets(members: list[int], largest: int) -> Iterable[tuple[int, ...]]:
    return chain.from_iterable(combinations(members, size) for size in range(largest + 1))


def _fisher(dataset: Dataset) -> Callable[[int, int, frozenset[int]], float]:
    correlations: Floats = np.atleast_2d(np.corrcoef(dataset.values, rowvar=False))
    rows = dataset.n_rows

    def log_p(x: int, t: int, given: frozenset[int]) -> float:
        inside = [x, t, *sorted(given)]
        among = correlations[np.ix_(inside, inside)]
        inverse: Floats = np.asarray(np.linalg.pinv(among), dtype=np.float64)
        partial = -inverse[0, 1] / math.sqrt(inverse[0, 0] * inverse[1, 1])
        z = math.atanh(min(max(partial, -1 + 1e-12), 1 - 1e-12))
        return float(math.log(2) + norm.logsf(math.sqrt(rows - len(given) - 3) * abs(z)))

    return log_p


def _likelihood_ratio(dataset: Dataset) -> Callable[[int, int, frozenset[int]], float]:
    codes, sizes = dataset.codes.astype(np.int64), dataset.cardinalities.tolist()

    def log_p(x: int, t: int, given: frozenset[int]) -> float:
        strata, count = np.zeros(dataset.n_rows, dtype=np.int64), 1
        for v in sorted(given):
            strata, count = strata * sizes[v] + codes[:, v], count * sizes[v]
        cells = count * sizes[x] * sizes[t]
        if dataset.n_rows < ROWS_A_CELL * cells:
            return 0.0
        label = (strata * sizes[x] + codes[:, x]) * sizes[t] + codes[:, t]
        table = np.bincount(label, minlength=cells).reshape(count, sizes[x], sizes[t])
        expected = table.sum(2, keepdims=True) * table.sum(1, keepdims=True)
        total = table.sum((1, 2), keepdims=True)
        seen = table > 0
        share = table[seen] * np.broadcast_to(total, table.shape)[seen] / expected[seen]
        statistic = 2 * float((table[seen] * np.log(share)).sum())
        freedom = count * (sizes[x] - 1) * (sizes[t] - 1)
        return float(chi2.logsf(statistic, freedom)) if freedom else 0.0

    return log_p
