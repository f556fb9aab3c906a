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
    to a cut point, or beyond it (or any).

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
                beyond = sum(number > low and s in wanted for number, s in before)
                others_beyond = sum(number > high and s in wanted for number, s in after)
                apart += [abs(here - there), abs(beyond - others_beyond)]
    return min((each for each in apart if each), default=0)


def told_by_moving(
    numbers: Sequence[float], number: int, prefixes: Sequence[int], least: int
) -> dict[int, int]:
    """The counts of a round of cut points, by moving numbers one bucket after the other.

    Parameters are those of `fedbn.privacy.small_buckets.told_counts`.
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


def fewest_of_readings(
    before: Sequence[float],
    after: Sequence[float],
    reading: str | Sequence[float],
    other: str | Sequence[float],
) -> int:
    """`fewest_between` of one column of whole numbers from 0 to 4, read as "states", as "values" (a
    number with few values), or cut; 0 if all counts are equal."""
    apart = [abs(len(before) - len(after))]
    if reading == other or "cut" not in (_form(reading), _form(other)):
        same_cuts = sorted(reading) if _form(reading) == "cut" else range(5)
        for low, high in zip([-1, *same_cuts], [*same_cuts, 9], strict=True):
            here = sum(low < number <= high for number in before)
            apart.append(abs(here - sum(low < number <= high for number in after)))
        if _form(reading) != "cut":
            apart += _lone(before, after, reading, other)
    else:
        for low in _cuts_of(before, reading):
            for high in _cuts_of(after, other):
                here, there = (sum(n <= low for n in before), sum(n <= high for n in after))
                apart += [abs(here - there), abs(len(before) - here - len(after) + there)]
    return min((each for each in apart if each), default=0)


def _form(reading: str | Sequence[float]) -> str:
    return reading if isinstance(reading, str) else "cut"


def _cuts_of(numbers: Sequence[float], reading: str | Sequence[float]) -> list[float]:
    if reading == "states":
        return [0.0, 1.0, 2.0, 3.0, 4.0]
    return sorted({*numbers}) if reading == "values" else [*map(float, reading), float("inf")]


def _lone(
    before: Sequence[float],
    after: Sequence[float],
    reading: str | Sequence[float],
    other: str | Sequence[float],
) -> list[int]:
    """Differences of the counts of values that only one of the readings has."""
    here, there = {*_cuts_of(before, reading)}, {*_cuts_of(after, other)}
    return [
        abs(sum(n == one for n in before) - sum(n == two for n in after))
        for one in here - there
        for two in there - here
    ]


def fewest_off_a_common_value(states: Sequence[int], numbers: Sequence[float]) -> int:
    """Of the rows with one state, of which more than half have one number, those with another: the
    smallest above 0; 0 if there are none."""
    found = []
    for state in set(states):
        own = [number for number, s in zip(numbers, states, strict=True) if s == state]
        for number in set(own):
            if 2 * own.count(number) > len(own):
                found.append(len(own) - own.count(number))
    return min((each for each in found if each), default=0)
