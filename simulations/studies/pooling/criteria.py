"""What was promised of a federation beside pooled rows, and what the study found.

The rules of the ladder and of the climb were set while seeds 1 and 2 were looked at; the seeds from
`FIRST_UNTOUCHED` on are given by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from simulations.studies.pooling.shares import groups, never_worse, way_share
from simulations.study_cases import Row
from simulations.study_report import Section

FIRST_UNTOUCHED = 3
"""Seeds below this one were looked at while the rules were set."""

TOLERANCE = 1e-3
"""Nats by which two BDeu of the same structure may differ."""

MIN_ROWS = 500
"""Rows a site from which on a share was promised."""


class Criterion(NamedTuple):
    """One promise: its words, what was found, and whether it holds."""

    promise: str
    found: str
    holds: bool


def criteria_section(part: str, rows: Sequence[Row]) -> Section:
    """The promises of a part, on all seeds and on the untouched ones; what fails comes first."""
    table: list[list[object]] = []
    untouched = [row for row in rows if row["seed"] >= FIRST_UNTOUCHED]
    for seeds, chosen in (("all", rows), (f"from {FIRST_UNTOUCHED} on", untouched)):
        number = len({row["seed"] for row in chosen})
        table += [
            [promise, f"{seeds} ({number})", found, "yes" if holds else "NO"]
            for promise, found, holds in criteria(part, chosen)
        ]
    table.sort(key=lambda line: line[-1] == "yes")
    return Section("Promises", "", ("promise", "seeds", "found", "holds"), table)


def criteria(part: str, rows: Sequence[Row]) -> list[Criterion]:
    """The promises of a part of the study; none without rows, or where nothing was promised."""
    return _PROMISES[part](rows) if rows and part in _PROMISES else []


def _alike_criteria(rows: Sequence[Row]) -> list[Criterion]:
    usual = [row for row in rows if row["rows"] >= MIN_ROWS]
    cells = [own for _, own in groups(usual, ("network", "rows"))]
    counts, climb, ladder = (_shares(cells, way) for way in ("counts", "climb", "ladder"))
    minimum = min(climb, default=1.0)
    requests = max((row["requests"] - 1 for row in usual), default=0)
    worse = max((_mean(own, "ladder") - _mean(own, "today") for own in cells), default=0.0)
    return [
        Criterion("counts close 75 % in the mean", *_mean_at_least(counts, 0.75)),
        Criterion("a climb closes 92 % in the mean", *_mean_at_least(climb, 0.92)),
        Criterion("and none below 75 %", f"minimum {100 * minimum:.0f} %", minimum >= 0.75),
        Criterion("in at most ten further requests", f"{requests}", requests <= 10),
        *_scores(usual),
        Criterion("structures alone close 45 % in the mean", *_mean_at_least(ladder, 0.45)),
        Criterion("and are nowhere worse by more than 1 SMHD", f"{worse:+.1f}", worse <= 1.0),
        *(Criterion(*each) for each in never_worse(usual)),
    ]


def _scores(rows: Sequence[Row]) -> list[Criterion]:
    """On how many networks the climb ends at or above pooled GES, for every number of rows."""
    found = []
    for (size,), own in groups(rows, ("rows",)):
        above = [
            _mean(of, "climb_bdeu") - _mean(of, "pooled_bdeu") >= -TOLERANCE
            for _, of in groups(own, ("network",))
        ]
        text = f"and its BDeu of all rows is pooled GES's or more but on one network, {size} rows"
        found.append(Criterion(text, f"{sum(above)} of {len(above)}", sum(above) >= len(above) - 1))
    return found


def _differing_criteria(rows: Sequence[Row]) -> list[Criterion]:
    promised = [row for row in rows if row["concentration"] <= 20.0]
    cells = groups(promised, ("network", "rows", "concentration"))
    above = {
        key: _mean(own, "counts") - min(_mean(own, "today"), _mean(own, "pooled"))
        for key, own in cells
    }
    worst = max(above, key=lambda key: above[key])
    strong = [row for row in rows if row["concentration"] == 5.0]
    below = 1 - _mean(strong, "counts") / _mean(strong, "pooled") if strong else 1.0
    return [
        Criterion(
            "counts are nowhere more than 2 SMHD above the better of today and pooled GES",
            f"{above[worst]:+.1f} ({', '.join(map(str, worst))})",
            above[worst] <= 2.0,
        ),
        Criterion("30 % below pooled GES at c = 5", f"{100 * below:.0f} %", below >= 0.3),
    ]


def _mixed_criteria(rows: Sequence[Row]) -> list[Criterion]:
    right = [_mean(own, "mechanisms_right") for _, own in groups(rows, ("network",))]
    text = f"{100 * float(np.mean(right)):.0f} % in the mean, minimum {100 * min(right):.0f} %"
    return [Criterion("shared or own is right for 90 %", text, min(right) >= 0.9)]


_PROMISES: dict[str, Callable[[Sequence[Row]], list[Criterion]]] = {
    "alike": _alike_criteria,
    "differing": _differing_criteria,
    "mixed": _mixed_criteria,
}


def _shares(cells: Sequence[Sequence[Row]], way: str) -> list[float]:
    return [share for own in cells if (share := way_share(own, way)) is not None]


def _mean_at_least(shares: Sequence[float], minimum: float) -> tuple[str, bool]:
    """Words and verdict; judged is the mean in which no share counts for more than 1."""
    if not shares:
        return "no distance", True
    capped = float(np.mean(np.minimum(shares, 1.0)))
    text = f"{100 * capped:.0f} % ({100 * float(np.mean(shares)):.0f} % uncapped)"
    return f"{text}, {len(shares)} cases", capped >= minimum


def _mean(rows: Sequence[Row], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))
