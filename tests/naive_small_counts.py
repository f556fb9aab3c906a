"""A slow twin of what a site keeps of its counts: differences by the rows of two tables."""

from __future__ import annotations

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
