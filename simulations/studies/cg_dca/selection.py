"""Rows of the study by setting, instance and method, and the figures that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from simulations.study_cases import Row

CASE = (
    "part", "network", "n", "rows", "d", "instance", "noise", "clients", "repetition", "method",
    "learner",
)  # fmt: skip


def latest(rows: Sequence[Row]) -> list[Row]:
    """The last row of each case: files of rows may be put together."""
    return list({tuple(row.get(key) for key in CASE): row for row in rows}.values())


def gap(row: Row, reference: float | None) -> float | None:
    """How far the score is below a reference, in percent of it; negative above it."""
    if row["score"] is None or reference is None:
        return None
    return round(100.0 * (reference - float(row["score"])) / abs(reference), 8) + 0.0


def bound_above(row: Row) -> float | None:
    """How far the proven bound is above the score, in percent of it; None without a bound."""
    if row["upper_bound"] is None:
        return None
    above = float(row["upper_bound"]) - float(row["score"])
    return round(100.0 * above / abs(float(row["score"])), 8) + 0.0


def groups(rows: Sequence[Row], part: str, *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """Rows of a part by the values of some keys, in order of appearance."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["part"] == part:
            found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def whole_networks(rows: Sequence[Row]) -> dict[tuple[Any, ...], list[Row]]:
    """(n, d, repetition) -> rows, of the federations that every learner has done."""
    learners = {row["learner"] for row in rows if row["part"] == "federated"}
    return {
        at: some
        for at, some in groups(rows, "federated", "n", "d", "repetition").items()
        if {row["learner"] for row in some} == learners
    }


def best_known(rows: Sequence[Row]) -> float | None:
    """The proven optimum of an instance, or the best score of any method."""
    proven = [row["score"] for row in rows if row["status"] == "optimal"]
    scores = [row["score"] for row in rows if row["score"] is not None]
    return max(proven or scores, default=None)


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of what is known."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def by_setting(rows: Sequence[Row]) -> dict[tuple[Any, ...], dict[int, list[Row]]]:
    """(n, N, d) -> instance -> rows."""
    return {
        setting: {
            instance: some for (instance,), some in groups(group, "gaussian", "instance").items()
        }
        for setting, group in sorted(groups(rows, "gaussian", "n", "rows", "d").items())
    }


def by_method(
    instances: Mapping[int, Sequence[Row]], method: str, value: Callable[[Row, list[Row]], Any]
) -> list[Any]:
    """The value of each instance's row of a method."""
    return [
        value(row, list(some))
        for some in instances.values()
        for row in some
        if row["method"] == method
    ]


def to_truth(row: Row, _: list[Row]) -> float | None:
    """The gap to the score of the true graph."""
    return gap(row, row["true_score"])


def to_best(row: Row, some: list[Row]) -> float | None:
    """The gap to the best known score of the instance."""
    return gap(row, best_known(some))


def seconds(row: Row, _: list[Row]) -> float:
    """CPU seconds of the case."""
    return float(row["seconds"])


def proven(row: Row, _: list[Row]) -> bool:
    """Whether the case ended with a proof."""
    return bool(row["status"] == "optimal")


def times_faster(ours: float | None, theirs: float | None) -> float | None:
    """The paper's seconds by ours."""
    return theirs / ours if ours and theirs else None
