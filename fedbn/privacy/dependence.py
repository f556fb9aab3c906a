"""How far two variables are from independence, in whole 64ths of a row.

Given the variables Z, the rows fall into strata s. With n_s rows in a stratum, n_s,ab of them with
x = a and y = b,

    u(x, y | Z) = Σ_s floor( 64 · Σ_ab |n_s n_s,ab - n_s,a n_s,b| / (2 n_s) ),

in units of 1/64 row: N times the mean total variation distance between the joint distribution of x
and y and the product of their margins, stratum by stratum.

**Sensitivity.** A row changes one stratum. With p_a, q_b the margins before,
n_ab - n_a n_b / n changes by exactly n/(n+1) (1[a = a'] - p_a)(1[b = b'] - q_b) when a row (a', b')
is added; the absolute values sum to n/(n+1) · 2(1 - p_a') · 2(1 - q_b') < 4. So the half sum
changes by less than 2 rows, and its floor by at most 2 · 64: every utility moves within
[-128, 128], in either direction, and the difference of any two by at most WIDTH = 256.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from fedbn.arrays import Ints
from fedbn.data.dataset import Dataset
from fedbn.errors import DataError

WIDTH = 256
"""Largest change of the difference of two utilities when one row is added or removed."""

MAX_ROWS = 1 << 28
"""A table must have fewer rows, so that no sum overflows."""

_STORED_STRATA = 16


def utility(dataset: Dataset, x: int, y: int, parents: Iterable[int]) -> int:
    """u(x, y | parents), as in the module's docstring; symmetric in x and y.

    Parameters
    ----------
    dataset : categorical, below 2^28 rows.
    x, y, parents : indices of columns.

    Raises
    ------
    DataError : the data are not categorical, have too many rows, or the indices are not distinct
        columns.

    Examples
    --------
    >>> from fedbn.data.dataset import Schema
    >>> schema = Schema.categorical({"a": "01", "b": "01"})
    >>> utility(Dataset(schema, np.array([[0, 0], [1, 1]])), 0, 1, ())
    64
    """
    return Dependence(dataset).utility(x, y, frozenset(parents))


class Dependence:
    """The utilities of one table, each computed once.

    Raises
    ------
    DataError : the data are not categorical, or have 2^28 rows or more.
    """

    def __init__(self, dataset: Dataset) -> None:
        if dataset.n_rows >= MAX_ROWS:
            raise DataError(f"a table must have fewer than 2^28 rows, not {dataset.n_rows}")
        self._codes = dataset.codes
        self._arities = dataset.cardinalities.tolist()
        self._known: dict[tuple[int, int, frozenset[int]], int] = {}
        self._strata = lru_cache(_STORED_STRATA)(self._strata_of)

    def utility(self, x: int, y: int, given: frozenset[int]) -> int:
        """u(x, y | given); raises DataError unless all of them are distinct columns."""
        key = (min(x, y), max(x, y), given)
        if key not in self._known:
            columns = {x, y, *given}
            if len(columns) < len(given) + 2 or not columns <= set(range(len(self._arities))):
                raise DataError(
                    f"a dependence is of distinct columns below {len(self._arities)}, "
                    f"not of {x}, {y} given {sorted(given)}"
                )
            self._known[key] = self._count(*key)
        return self._known[key]

    def _count(self, x: int, y: int, given: frozenset[int]) -> int:
        from fedbn._core.privacy import dependence_sum

        strata, count = self._strata(given)
        a, b = (np.ascontiguousarray(self._codes[:, v], dtype=np.int32) for v in (x, y))
        r_x, r_y = self._arities[x], self._arities[y]
        return int(dependence_sum(a, b, strata, r_x, r_y, count))

    def _strata_of(self, given: frozenset[int]) -> tuple[Ints, int]:
        """The stratum of every row, int64 [rows], and how many labels there are."""
        rows = self._codes.shape[0]
        labels, count = np.zeros(rows, dtype=np.int64), 1
        for column in sorted(given):
            labels = labels * self._arities[column] + self._codes[:, column]
            count *= self._arities[column]
            if count > rows:
                found, labels = np.unique(labels, return_inverse=True)
                count = found.size
        return labels, count


def penalty(rows: int, strata: int, r_x: int, r_y: int) -> int:
    """round(64 · ¼ · sqrt(rows · strata · (r_x - 1)(r_y - 1))), exactly: what chance alone makes.

    It needs no data but the number of rows, which must be a noisy one.

    >>> penalty(10_000, 1, 2, 2)
    1600
    """
    return (math.isqrt(1024 * rows * strata * (r_x - 1) * (r_y - 1)) + 1) // 2
