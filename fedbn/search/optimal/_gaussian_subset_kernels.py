"""Gaussian scores of all subsets of n variables; see `gaussian_dp.py`. Bit i is variable i."""

from __future__ import annotations

import math

import numpy as np

from fedbn.arrays import Floats
from fedbn.kernel_door import door
from fedbn.scores._gaussian_kernels import ABSOLUTE_FLOOR, RELATIVE_FLOOR
from fedbn.search.families._subset_kernels import minimise


@door
def joint_values(gram: Floats, constant: Floats, exponent: Floats) -> Floats:
    """J [2^n]: constant[|A|] - exponent[|A|] ln det gram[A, A].

    Subsets in counting order: A's lowest member t is added last, and schur[t] is the matrix of the
    variables below t given A. So one pivot and one rank-one step of size t serve each subset.
    """
    n = gram.shape[0]
    values = np.empty(1 << n)
    schur = np.empty((n + 1, n, n))
    schur[n] = gram
    values[0] = 0.0
    for a in range(1, 1 << n):
        t = 0
        while not a >> t & 1:
            t += 1
        without = a & (a - 1)
        above = n
        if without:
            above = t + 1
            while not without >> above & 1:
                above += 1
        given = schur[above]
        pivot = max(given[t, t], RELATIVE_FLOOR * gram[t, t], ABSOLUTE_FLOOR)
        for j in range(t):
            share = given[t, j] / pivot
            for k in range(j + 1):
                schur[t, j, k] = given[j, k] - share * given[t, k]
        values[a] = values[without] + math.log(pivot)
    for a in range(1, 1 << n):
        size, rest = 0, a
        while rest:
            rest &= rest - 1
            size += 1
        values[a] = constant[size] - exponent[size] * values[a]
    values[0] = 0.0
    return values


@door
def best_within(values: Floats, n: int) -> Floats:
    """B [n, 2^(n-1)]: the least cost J(P) - J(P ∪ i) over P inside each subset without i."""
    half = 1 << (n - 1)
    table = np.empty((n, half))
    for i in range(n):
        row, bit = table[i], 1 << i
        for place in range(half):
            u = (place & (bit - 1)) | ((place >> i) << (i + 1))
            row[place] = values[u] - values[u | bit]
        minimise(row)
    return table
