"""J of Gaussian scores: log-determinants of the gram matrix by Cholesky factors."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fedbn.kernel_parts import inner
from fedbn.scores._tables import COUNTED, Integer, Tables

RELATIVE_FLOOR = 1e-12  # of a variance: what is left of a column that others determine
ABSOLUTE_FLOOR = 1e-300


@inner
def factorise(t: Tables, members: NDArray[np.int64], k: Integer) -> float:
    """factor := Cholesky factor of gram over the first k members; returns ln det."""
    log_det = 0.0
    for a in range(k):
        for b in range(a):
            rest = t.gram[members[a], members[b]]
            for c in range(b):
                rest -= t.factor[a, c] * t.factor[b, c]
            t.factor[a, b] = rest / t.factor[b, b]
        own = t.gram[members[a], members[a]]
        rest = own
        for c in range(a):
            rest -= t.factor[a, c] * t.factor[a, c]
        rest = max(rest, RELATIVE_FLOOR * own, ABSOLUTE_FLOOR)
        t.factor[a, a] = math.sqrt(rest)
        log_det += math.log(rest)
    return log_det


@inner
def gaussian_local(t: Tables, members: NDArray[np.int64], k: Integer) -> float:
    """s(y, P) of the first k members as P and the next one as y, from one factor.

    Not stored: a factor depends on the order of its members, in the last bits, so what a store gave
    would depend on what was asked before.
    """
    whole = factorise(t, members, k + 1)
    base = whole - 2.0 * math.log(t.factor[k, k])
    full = t.constant[k + 1] - t.exponent[k + 1] * whole
    return float(full - (t.constant[k] - t.exponent[k] * base))


@inner
def gaussian_pairs(
    t: Tables,
    y: Integer,
    parents: NDArray[np.int64],
    k: Integer,
    xs: NDArray[np.int64],
    m: Integer,
    full: NDArray[np.float64],
    part: NDArray[np.float64],
) -> None:
    """`joint_pairs` from one Cholesky factor of gram over (P, y)."""
    for a in range(k):
        t.members[a] = parents[a]
    t.members[k] = y
    whole = factorise(t, t.members, k + 1)
    base = whole - 2.0 * math.log(t.factor[k, k])
    row = t.factor[k + 1]
    t.counters[COUNTED] += 2 * m
    for i in range(m):
        x = xs[i]
        own = t.gram[x, x]
        least = max(RELATIVE_FLOOR * own, ABSOLUTE_FLOOR)
        rest = own
        for a in range(k + 1):
            value = t.gram[t.members[a], x]
            for b in range(a):
                value -= t.factor[a, b] * row[b]
            row[a] = value / t.factor[a, a]
            if a < k:
                rest -= row[a] * row[a]
        part[i] = t.constant[k + 1] - t.exponent[k + 1] * (base + math.log(max(rest, least)))
        rest = max(rest - row[k] * row[k], least)
        full[i] = t.constant[k + 2] - t.exponent[k + 2] * (whole + math.log(rest))
