"""J of Gaussian scores: log-determinants of the gram matrix by Cholesky factors.

Where members of a set nearly determine another one, rounding and the floor make ln det depend on
their order: an operator and its opposite could both gain, and a search would never end. So J of
such a set is that of its members in ascending order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fedbn.kernel_parts import inner
from fedbn.scores._tables import COUNTED, TOGETHER, Integer, Tables

RELATIVE_FLOOR = 1e-12  # of a variance: what is left of a column that others determine
ABSOLUTE_FLOOR = 1e-300
NEARLY_DETERMINED = 1e-7  # of a variance: from here down the order of the members counts


@inner
def factorise(t: Tables, members: NDArray[np.int64], k: Integer) -> float:
    """factor := Cholesky factor of gram over the first k members; returns ln det.

    A row depends on its member and those before it alone. So the rows that the last factor begins
    with are kept where its members are the same; every bit is what it would be without.
    """
    begin: Integer = np.int64(0)
    while begin < k and t.factored[begin] == members[begin]:
        begin += 1
    for a in range(begin, k):
        _add_row(t, members, a)
    return float(t.log_det[k])


@inner
def _add_row(t: Tables, members: NDArray[np.int64], a: Integer) -> None:
    """Row a of the factor, from the rows before it."""
    own = float(t.gram[members[a], members[a]])
    left = own
    for b in range(a):
        rest = t.gram[members[a], members[b]]
        for c in range(b):
            rest -= t.factor[a, c] * t.factor[b, c]
        rest *= t.inverse[b]
        t.factor[a, b] = rest
        left -= rest * rest
    left = max(left, RELATIVE_FLOOR * own, ABSOLUTE_FLOOR)
    t.inverse[a] = 1.0 / math.sqrt(left)
    t.log_det[a + 1] = t.log_det[a] + math.log(left)
    t.determined[a + 1] = t.determined[a] or left < NEARLY_DETERMINED * own
    t.factored[a] = members[a]
    t.factored[a + 1] = -1


@inner
def gaussian_local(t: Tables, members: NDArray[np.int64], k: Integer) -> float:
    """s(y, P) of the first k members as P and the next one as y, from one factor.

    Not stored: a factor depends on the order of its members, in the last bits, so what a store gave
    would depend on what was asked before.
    """
    whole, base = factorise(t, members, k + 1), float(t.log_det[k])
    if t.determined[k + 1]:
        base = _in_order(t, members, k)
        whole = _in_order(t, members, k + 1)
    full = t.constant[k + 1] - t.exponent[k + 1] * whole
    return float(full - (t.constant[k] - t.exponent[k] * base))


@inner
def _in_order(t: Tables, members: NDArray[np.int64], k: Integer) -> float:
    """ln det of gram over the first k members, which are put in ascending order."""
    for a in range(1, k):
        member = members[a]
        place: Integer = a
        while place > 0 and members[place - 1] > member:
            members[place] = members[place - 1]
            place -= 1
        members[place] = member
    return float(factorise(t, members, k))


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
    whole, base = factorise(t, t.members, k + 1), t.log_det[k]
    t.counters[COUNTED] += 2 * m
    for i in range(m):
        if i % TOGETHER == 0:
            _solve_columns(t, k + 1, xs, i, m)
        lane = i % TOGETHER
        own = t.gram[xs[i], xs[i]]
        least = max(RELATIVE_FLOOR * own, ABSOLUTE_FLOOR)
        rest = own
        for a in range(k):
            rest -= t.columns[a, lane] * t.columns[a, lane]
        part[i] = t.constant[k + 1] - t.exponent[k + 1] * (base + math.log(max(rest, least)))
        rest = max(rest - t.columns[k, lane] * t.columns[k, lane], least)
        full[i] = t.constant[k + 2] - t.exponent[k + 2] * (whole + math.log(rest))
        if t.determined[k + 1] or rest < NEARLY_DETERMINED * own:
            full[i] = np.nan
    for i in range(m):
        if math.isnan(full[i]):
            _pair_in_order(t, y, parents, k, xs[i], full[i : i + 1], part[i : i + 1])


@inner
def _pair_in_order(
    t: Tables,
    y: Integer,
    parents: NDArray[np.int64],
    k: Integer,
    x: Integer,
    full: NDArray[np.float64],
    part: NDArray[np.float64],
) -> None:
    """full[0] and part[0] := J(P ∪ {y, x}) and J(P ∪ {x}) of members in ascending order."""
    for a in range(k):
        t.members[a] = parents[a]
    t.members[k] = x
    part[0] = t.constant[k + 1] - t.exponent[k + 1] * _in_order(t, t.members, k + 1)
    t.members[k + 1] = y
    full[0] = t.constant[k + 2] - t.exponent[k + 2] * _in_order(t, t.members, k + 2)


@inner
def _solve_columns(
    t: Tables, size: Integer, xs: NDArray[np.int64], begin: Integer, m: Integer
) -> None:
    """columns[:size, lane] := L⁻¹ gram[members, x] for the x from number `begin` on, L the factor.

    The lanes go side by side, and what one of them gives does not depend on the others.
    """
    for a in range(size):
        for lane in range(TOGETHER):
            t.columns[a, lane] = t.gram[t.members[a], xs[min(begin + lane, m - 1)]]
        for b in range(a):
            entry = t.factor[a, b]
            for lane in range(TOGETHER):
                t.columns[a, lane] -= entry * t.columns[b, lane]
        for lane in range(TOGETHER):
            t.columns[a, lane] *= t.inverse[a]
