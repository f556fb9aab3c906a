"""The choice among the operators on record."""

from __future__ import annotations

import numpy as np

from fedbn.kernel_parts import inner_with_arrays
from fedbn.scores._tables import Integer
from fedbn.search._path_kernels import is_valid
from fedbn.search._random_kernels import next_random
from fedbn.search._set_kernels import comes_before
from fedbn.search._state import ZERO, Graph, Record, Rules


@inner_with_arrays
def choose(
    g: Graph, record: Record, rules: Rules, kind: Integer, tolerance: float
) -> tuple[int, int, int]:
    """(y, x, entry) of the operator to use, entry -1 if none gains more than the tolerance.

    Among the valid ones whose gain is within the tolerance of the greatest, the first by
    (y, x, set), or any at random.
    """
    best = _greatest_gain(g, record, kind, tolerance)
    chosen_y, chosen_x, chosen, ties = -1, -1, np.int64(-1), 0
    if best <= tolerance:
        return int(chosen_y), int(chosen_x), int(chosen)
    least = max(best - tolerance, tolerance)
    for y in range(record.best.shape[1]):
        if record.ceiling[kind, y] < least:
            continue
        for x in range(record.best.shape[2]):
            if record.best[kind, y, x] < least:
                continue
            entry = record.head[kind, y, x]
            while entry >= 0:
                if (
                    record.gain[entry] >= least
                    and not record.barred[entry]
                    and is_valid(g, record, kind, y, x, entry)
                ):
                    ties += 1
                    if _takes_the_place(record, rules, entry, chosen, ties):
                        chosen_y, chosen_x, chosen = y, x, np.int64(entry)
                entry = record.following[entry]
            if chosen >= 0 and not rules.random_ties:
                return int(chosen_y), int(chosen_x), int(chosen)
    return int(chosen_y), int(chosen_x), int(chosen)


@inner_with_arrays
def _greatest_gain(g: Graph, record: Record, kind: Integer, tolerance: float) -> float:
    """The greatest gain of a valid operator, or the tolerance if none gains more.

    The row that promises most is looked into; it keeps its promise, or its ceiling comes down.
    """
    while True:
        top: Integer = np.int64(0)
        for y in range(1, record.ceiling.shape[1]):
            if record.ceiling[kind, y] > record.ceiling[kind, top]:
                top = np.int64(y)
        promised = record.ceiling[kind, top]
        if promised <= tolerance:
            return tolerance
        best = tolerance
        for x in range(record.best.shape[2]):
            if record.best[kind, top, x] <= best:
                continue
            entry = record.head[kind, top, x]
            while entry >= 0:
                if (
                    record.gain[entry] > best
                    and not record.barred[entry]
                    and is_valid(g, record, kind, top, x, entry)
                ):
                    best = record.gain[entry]
                entry = record.following[entry]
        if best >= promised:
            return best
        record.ceiling[kind, top] = best


@inner_with_arrays
def _takes_the_place(
    record: Record, rules: Rules, entry: Integer, chosen: Integer, ties: Integer
) -> bool:
    """Whether the operator number `ties` among equals is chosen instead of `chosen`."""
    if rules.random_ties:
        return bool(next_random(rules.random) % np.uint64(ties) == ZERO)
    return bool(chosen < 0 or comes_before(record.sets[entry], record.sets[chosen]))
