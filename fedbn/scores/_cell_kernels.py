"""The terms that cells of a contingency table add to J, and their sums.

A term is a whole number of units of 2^-e nats, with e so large that the sum over all rows just
fits into 63 bits (`terms.py`). Sums of whole numbers are exact: J does not depend on the order in
which its cells are met, and the rounding of a term is below that of J as a float.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fedbn.kernel_parts import inner, inner_in_place
from fedbn.scores._tables import BDEU, INFORMATION, LANES, LOOKED_UP, Integer, Terms

LOG_2_PI_HALF = 0.5 * math.log(2.0 * math.pi)
PROBES = 8


@inner
def _log_gamma(z: float) -> float:
    """ln Γ(z) for z ≥ LOOKED_UP - 1 by Stirling's series (error below 1e-16 relative)."""
    inverse = 1.0 / z
    square = inverse * inverse
    series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0))
    return (z - 0.5) * math.log(z) - z + LOG_2_PI_HALF + series


@inner_in_place
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
        if terms.kind == BDEU:
            _begin_bdeu(terms, slot, rung, log_size)
    return int(slot)


@inner
def _begin_bdeu(terms: Terms, slot: Integer, rung: Integer, log_size: float) -> None:
    """What the terms ln Γ(k n + α) - ln Γ(α) need; for k = 1 those of small counts, too.

    They are ln α + Σ_{0<i<n} ln(i + α), also where α underflows; where k n is not whole,
    ln α - ln Γ(1 + α) + ln Γ(k n + α).
    """
    k, units = float(terms.row_weight[rung]), float(terms.units[rung])
    log_alpha = math.log(terms.parameter) - log_size
    alpha = math.exp(log_alpha)
    terms.alpha[slot] = alpha
    terms.offset[slot] = log_alpha - math.lgamma(1.0 + alpha)
    total = float(terms.offset[slot]) + math.lgamma(k * (LOOKED_UP - 1) + alpha)
    if k == 1.0:
        total = log_alpha
        for count in range(1, LOOKED_UP):
            if count > 1:
                total += math.log(count - 1 + alpha)
            if count < terms.known.shape[1] - 1:
                terms.known[slot, count, rung] = np.int64(np.rint(total * units))
    terms.base[slot, rung] = _log_gamma(k * (LOOKED_UP - 1) + alpha) - total


@inner
def _fill(terms: Terms, slot: Integer, count: Integer, place: Integer) -> None:
    """known[slot, place] := what a cell with `count` ≥ 1 rows adds to J, but what is known of small
    counts."""
    for rung in range(terms.row_weight.shape[0]):
        k = terms.row_weight[rung]
        if terms.kind == INFORMATION:
            value = k * (count * math.log(count))
        elif count >= LOOKED_UP:
            value = _log_gamma(k * count + terms.alpha[slot]) - terms.base[slot, rung]
        elif k != 1.0:
            value = terms.offset[slot] + math.lgamma(k * count + terms.alpha[slot])
        else:
            continue
        terms.known[slot, place, rung] = np.int64(np.rint(value * terms.units[rung]))


@inner_in_place
def add_counts(terms: Terms, slot: Integer, counts: NDArray[np.int32], size: Integer) -> None:
    """sums[rung] := the terms of the int32 counts of cells, counts[:size].

    A cell without rows adds 0. A term of 0 units is one that is not known, or truly 0. The last
    place is for counts that are too large to be kept.
    """
    last = np.uint64(terms.known.shape[1] - 1)
    lanes = terms.sums.shape[0]
    terms.sums[:] = 0
    total = np.int64(0)
    for c in range(size):
        count = np.uint64(counts[c])
        place = min(count, last)
        unknown = terms.known[slot, place, terms.probe] == 0
        if (unknown & (count >= np.uint64(terms.unknown))) | (count >= last):
            _fill(terms, slot, np.int64(count), np.int64(place))
        if lanes == 1:
            total += terms.known[slot, place, 0]
        else:
            for begin in range(0, lanes, LANES):
                for lane in range(LANES):
                    terms.sums[begin + lane] += terms.known[slot, place, begin + lane]
    if lanes == 1:
        terms.sums[0] = total


@inner_in_place
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
