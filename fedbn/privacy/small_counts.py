"""What offices do with small counts, in one word: `disclosure` under [policy].

    none         the site's own min-cell alone
    pcornet      counts from 1 to 10 do not leave
    opensafely   counts from 1 to 7 do not leave, the others are rounded to multiples of 5

A count that must not leave holds its family back (decision 022). Rounded counts of a family sum to
the number of rows, rounded in the same way: what single roundings leave over is given to, or taken
from, the largest cells, of equal ones the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Ints
from fedbn.networks.family_counts import FamilyCounts, counts_of_filled

COMPARED_CELLS = 100_000
"""A larger table is not compared with those that were told before, so it is held back."""


@dataclass(frozen=True)
class CountRule:
    """Counts from 1 to `least` - 1 do not leave; the others are told as multiples of `unit`."""

    least: int
    unit: int

    def is_small(self, cells: Ints) -> bool:
        """Whether one of these counts must not leave."""
        return bool(((cells > 0) & (cells < self.least)).any())

    def rows(self, number: int) -> int:
        """A number of rows as it may be told."""
        return self.unit * round(number / self.unit)


RULES: Mapping[str, CountRule] = {
    "none": CountRule(0, 1),
    "pcornet": CountRule(11, 1),
    "opensafely": CountRule(8, 5),
}


def round_counts(counts: FamilyCounts, rule: CountRule) -> FamilyCounts:
    """The counts as multiples of the rule's unit, every family with the same sum."""
    if rule.unit == 1:
        return counts
    total, filled = rule.rows(counts.rows), map(counts.filled_cells, counts.tables.families)
    rounded = [(places, _round_to(own, rule.unit, total)) for places, own in filled]
    return counts_of_filled(counts.tables, rounded)


def _round_to(cells: Ints, unit: int, total: int) -> Ints:
    """Counts above 0, rounded to a sum."""
    rounded = unit * ((cells + unit // 2) // unit)
    over = (total - int(rounded.sum())) // unit
    largest = np.argsort(-cells, kind="stable")
    for step in range(abs(over)):
        rounded[largest[step % cells.size]] += unit if over > 0 else -unit
    return rounded
