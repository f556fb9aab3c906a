"""The terms that cells of a contingency table add to J, and their sums."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fedbn.scores._tables import INFORMATION, TABLE_COUNTS, Integer, Tables, inner

LOG_2_PI_HALF = 0.5 * math.log(2.0 * math.pi)


@inner
def _log_gamma(z: float) -> float:
    """ln Γ(z) for z ≥ TABLE_COUNTS - 1 by Stirling's series (error below 1e-16 relative)."""
    inverse = 1.0 / z
    square = inverse * inverse
    series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0))
    return (z - 0.5) * math.log(z) - z + LOG_2_PI_HALF + series


@inner
def _terms_of(t: Tables, log_size: float) -> int:
    """The row of `terms` for sets with ln Π r = log_size, filled on first use.

    ln Γ(m + α) - ln Γ(α) = ln α + Σ_{0<i<m} ln(i + α), also where α underflows; where k m is not
    whole, ln α + ln Γ(k m + α) - ln Γ(1 + α).
    """
    if t.kind == INFORMATION:
        log_size = 0.0
    slot = np.int64(log_size * 1e6) & (t.term_size.shape[0] - 1)
    if t.term_size[slot] == log_size:
        return int(slot)
    t.term_size[slot] = log_size
    row = t.terms[slot]
    row[0] = 0.0
    if t.kind == INFORMATION:
        for count in range(1, TABLE_COUNTS):
            row[count] = t.row_weight * (count * math.log(count))
        return int(slot)
    log_alpha = math.log(t.parameter) - log_size
    alpha = math.exp(log_alpha)
    total = log_alpha
    row[1] = total
    for count in range(2, TABLE_COUNTS):
        total += math.log(count - 1 + alpha)
        row[count] = total
    if t.row_weight != 1.0:
        for count in range(1, TABLE_COUNTS):
            weighted = t.row_weight * count + alpha
            row[count] = log_alpha + (math.lgamma(weighted) - math.lgamma(1.0 + alpha))
        total = row[TABLE_COUNTS - 1]
    row[TABLE_COUNTS] = alpha
    largest = t.row_weight * (TABLE_COUNTS - 1)
    row[TABLE_COUNTS + 1] = _log_gamma(largest + alpha) - total
    return int(slot)


@inner
def _large_term(t: Tables, slot: Integer, count: Integer) -> float:
    """What a cell with `count` ≥ TABLE_COUNTS rows adds to J."""
    if t.kind == INFORMATION:
        return float(t.row_weight * (count * math.log(count)))
    alpha = t.terms[slot, TABLE_COUNTS]
    return float(_log_gamma(t.row_weight * count + alpha) - t.terms[slot, TABLE_COUNTS + 1])


@inner
def _penalty(t: Tables, log_size: float) -> float:
    """penalty (Π r - 1) of BIC and AIC; beyond e^690 it grows with the logarithm, without inf."""
    if t.kind != INFORMATION:
        return 0.0
    if log_size <= 690.0:
        return t.parameter * (math.exp(log_size) - 1.0)
    return t.parameter * math.exp(690.0) * (1.0 + log_size - 690.0)


@inner
def sum_counts(t: Tables, counts: NDArray[np.int32], size: Integer, log_size: float) -> float:
    """J of a set with ln Π r = log_size from the int32 counts of its cells, counts[:size].

    A cell without rows adds exactly 0, so looking its term up is as right as skipping it.
    """
    slot = _terms_of(t, log_size)
    total = 0.0
    for c in range(size):
        count = np.int64(counts[c])
        if count < TABLE_COUNTS:
            total += t.terms[slot, np.uint64(count)]
        else:
            total += _large_term(t, slot, count)
    return total - _penalty(t, log_size)


@inner
def sum_margins(t: Tables, y: Integer, x: Integer, log_size: float) -> float:
    """J(P ∪ {x}), ln Π r = log_size, from cells[configuration of P, state of y, state of x]."""
    r_y, r_x = t.arities[y], t.arities[x]
    slot = _terms_of(t, log_size)
    total = 0.0
    for j in range(t.context[0]):
        base = j * r_y * r_x
        for state in range(r_x):
            t.margin[state] = t.cells[base + state]
        for k in range(1, r_y):
            for state in range(r_x):
                t.margin[state] += t.cells[base + k * r_x + state]
        for state in range(r_x):
            count = np.int64(t.margin[state])
            if count < TABLE_COUNTS:
                total += t.terms[slot, np.uint64(count)]
            else:
                total += _large_term(t, slot, count)
    return total - _penalty(t, log_size)
