"""A slow twin of what a site keeps of its counts: differences by the rows of two tables."""

from __future__ import annotations

import struct
from collections.abc import Sequence

Row = tuple[float, str]


def fewest_between(
    before: Sequence[Row], after: Sequence[Row], cuts: Sequence[float], others: Sequence[float]
) -> int:
    """The smallest difference above 0 of two counts that could be compared; 0 if all are equal.

    Rows are a number and a state. Counts are of the rows with a state (or any) whose number is up
    to a cut point (or any).

    Parameters
    ----------
    before, after : the tables under two contracts.
    cuts, others : the cut points of the number under these.
    """
    states = sorted({state for _, state in [*before, *after]})
    apart = [abs(len(before) - len(after))]
    for wanted in [*([state] for state in states), states]:
        for low in [*cuts, float("inf")]:
            for high in [*others, float("inf")]:
                here = sum(number <= low and s in wanted for number, s in before)
                there = sum(number <= high and s in wanted for number, s in after)
                apart.append(abs(here - there))
    return min((each for each in apart if each), default=0)


def told_by_moving(
    numbers: Sequence[float], number: int, prefixes: Sequence[int], least: int
) -> dict[int, int]:
    """The counts of a round of cut points, by moving numbers one bucket after the other.

    Parameters are those of `fedbn.federation.cut_rounds.told_counts`.
    """
    keys = sorted(_ordered(each) >> 28 for each in numbers)
    for level in range(1, number + 1):
        below = 12 * (3 - level)
        moved = []
        for parent in sorted({key >> (below + 12) for key in keys}):
            inside = [key for key in keys if key >> (below + 12) == parent]
            told: list[tuple[int, list[int]]] = []
            waiting: list[int] = []
            for bucket in sorted({key >> below for key in inside}):
                own = [key for key in inside if key >> below == bucket]
                if len(waiting) + len(own) < least:
                    waiting += own
                else:
                    told.append((bucket, [bucket << below] * len(waiting) + own))
                    waiting = []
            if told:
                bucket, found = told[-1]
                found += [(bucket << below) + 2**below - 1] * len(waiting)
                waiting = []
            moved += [key for _, found in told for key in found] + waiting
        keys = sorted(moved)
    counts: dict[int, int] = {}
    for key in keys:
        bucket = key >> (12 * (3 - number))
        if bucket >> 12 in prefixes:
            counts[bucket] = counts.get(bucket, 0) + 1
    return counts


def _ordered(number: float) -> int:
    """The 64 bits of a number, as a whole number whose order is the numbers' own."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", number + 0.0))
    return int(bits) ^ (2**64 - 1) if bits >> 63 else int(bits) | 1 << 63
