"""The terms that cells of a contingency table add to J, and their sums.

A term is a whole number of units of 2^-e nats, with e so large that the sum over all rows just
fits into 63 bits (`counts.py`). Sums of whole numbers are exact: J does not depend on the order in
which its cells are met, and the rounding of a term is below that of J as a float.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fedbn.graphs._bit_kernels import inlined, inner
from fedbn.scores._tables import INFORMATION, LOOKED_UP, Integer, Terms

LOG_2_PI_HALF = 0.5 * math.log(2.0 * math.pi)
PROBES = 8


@inner
def _log_gamma(z: float) -> float:
    """ln Γ(z) for z ≥ LOOKED_UP - 1 by Stirling's series (error below 1e-16 relative)."""
    inverse = 1.0 / z
    square = inverse * inverse
    series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0))
    return (z - 0.5) * math.log(z) - z + LOG_2_PI_HALF + series


@inlined
def slot_of(terms: Terms, log_size: float) -> int:
    """The slot of `terms` for sets with ln Π r = log_size, begun on first use."""
    if terms.kind == INFORMATION:
        log_size = 0.0
    mask = terms.size.shape[0] - 1
    home = np.int64(log_size * 1e6) & mask
    slot = home
    for _ in range(PROBES):
        if terms.size[slot] == log_size:
            return int(slot)
        if terms.size[slot] < 0.0:
            break
        slot = (slot + 1) & mask
    if terms.size[slot] >= 0.0:
        slot = home
    terms.known[slot] = 0
    terms.size[slot] = log_size
    for rung in range(terms.row_weight.shape[0]):
        if terms.kind == INFORMATION:
            _begin_information(terms, slot, rung)
        else:
            _begin_bdeu(terms, slot, rung, log_size)
    return int(slot)


@inner
def _begin_information(terms: Terms, slot: Integer, rung: Integer) -> None:
    """The terms k n ln n of small counts."""
    for count in range(1, min(LOOKED_UP, terms.known.shape[1])):
        value = terms.row_weight[rung] * (count * math.log(count))
        terms.known[slot, count, rung] = np.int64(np.rint(value * terms.units[rung]))


@inner
def _begin_bdeu(terms: Terms, slot: Integer, rung: Integer, log_size: float) -> None:
    """The terms ln Γ(k n + α) - ln Γ(α) of small counts, and what large ones need.

    They are ln α + Σ_{0<i<n} ln(i + α), also where α underflows; where k n is not whole,
    ln α + ln Γ(k n + α) - ln Γ(1 + α).
    """
    k, units = float(terms.row_weight[rung]), float(terms.units[rung])
    log_alpha = math.log(terms.parameter) - log_size
    alpha = math.exp(log_alpha)
    total, from_one = log_alpha, math.lgamma(1.0 + alpha)
    for count in range(1, LOOKED_UP):
        if count > 1 and k == 1.0:
            total += math.log(count - 1 + alpha)
        elif k != 1.0:
            total = log_alpha + (math.lgamma(k * count + alpha) - from_one)
        if count < terms.known.shape[1]:
            terms.known[slot, count, rung] = np.int64(np.rint(total * units))
    terms.alpha[slot] = alpha
    terms.base[slot, rung] = _log_gamma(k * (LOOKED_UP - 1) + alpha) - total


@inner
def _large_term(terms: Terms, slot: Integer, count: Integer, rung: Integer) -> int:
    """What a cell with `count` ≥ LOOKED_UP rows adds to J."""
    k = terms.row_weight[rung]
    if terms.kind == INFORMATION:
        value = k * (count * math.log(count))
    else:
        value = _log_gamma(k * count + terms.alpha[slot]) - terms.base[slot, rung]
    return int(np.int64(np.rint(value * terms.units[rung])))


@inner
def _term(terms: Terms, slot: Integer, count: Integer, rung: Integer) -> int:
    """What a cell with `count` rows adds to J, where it is not known yet."""
    value = np.int64(0)
    if count >= LOOKED_UP:
        value = np.int64(_large_term(terms, slot, count, rung))
        if count < terms.known.shape[1]:
            terms.known[slot, count, rung] = value
    return int(value)


@inlined
def add_counts(terms: Terms, slot: Integer, counts: NDArray[np.int32], size: Integer) -> None:
    """sums[rung] := the terms of the int32 counts of cells, counts[:size].

    A cell without rows adds 0. A term of 0 units is one that is not known, or truly 0.
    """
    limit = np.uint64(terms.known.shape[1])
    for rung in range(terms.sums.shape[0]):
        total = np.int64(0)
        for c in range(size):
            count = np.uint64(counts[c])
            term = np.int64(0)
            if count < limit:
                term = terms.known[slot, count, rung]
            if (term == 0) & (count >= np.uint64(LOOKED_UP)):
                term = np.int64(_term(terms, slot, np.int64(count), rung))
            total += term
        terms.sums[rung] = total


@inlined
def settle(terms: Terms, log_size: float, row: NDArray[np.float64]) -> None:
    """row[rung] := J of a set with ln Π r = log_size, from its sums."""
    for rung in range(row.shape[0]):
        value = terms.sums[rung] / terms.units[rung]
        if terms.kind == INFORMATION:
            value -= _size_beyond_one(log_size) * terms.penalty[rung]
        row[rung] = value


@inner
def _size_beyond_one(log_size: float) -> float:
    """Π r - 1; beyond e^690 it grows with the logarithm, without inf."""
    if log_size <= 690.0:
        return math.exp(log_size) - 1.0
    return math.exp(690.0) * (1.0 + log_size - 690.0)
