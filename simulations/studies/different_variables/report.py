"""Tables of the study, and whether its targets are met."""

from __future__ import annotations

from collections.abc import Sequence

from simulations.studies.different_variables.runs import RULES
from simulations.study_cases import Row
from simulations.study_report import Section

NEAR, TIMES = 1.1, 2.0
"""Targets: SMHD at most so many times that of whole tables, CPU of the path likewise."""


def is_near(found: float, whole: float) -> bool:
    """Whether the target of distance to whole tables is met."""
    return found <= NEAR * whole


def sections(rows: Sequence[Row]) -> list[Section]:
    """The tables of the study: 20 % at random first, which the targets are about."""
    usual = [row for row in rows if row["pattern"] == "random-20"]
    others = [row for row in rows if row["pattern"] != "random-20"]
    words = (
        'Mean SMHD to the network over all variables. "search": only sites with all variables that '
        'may separate two others judge; "union": what fedbn does by default. '
    )
    found = [
        _section("A fifth of the variables lacking at random", usual, words),
        _section("Other losses", others, "panels: whole panels; hubs: by neighbours. "),
    ]
    return [section for section in found if section.rows]


def _section(title: str, rows: Sequence[Row], words: str) -> Section:
    table = []
    met = {"vote": 0, "pair": 0, "whole": 0}
    keys = dict.fromkeys((row["network"], row["sites"], row["pattern"]) for row in rows)
    for key in sorted(keys):
        some = [row for row in rows if (row["network"], row["sites"], row["pattern"]) == key]
        means = {rule: _mean([row[rule] for row in some]) for rule in RULES}
        best = means["union"]
        met["vote"] += best <= means["vote"]
        met["pair"] += best <= means["pair"]
        met["whole"] += is_near(best, means["whole"])
        cost = sum(row["union_seconds"] for row in some) / max(
            1e-9, sum(row["whole_seconds"] for row in some)
        )
        unknown = _mean([row["unknown"] for row in some])
        table.append(
            [*key, len(some), *(f"{means[rule]:.1f}" for rule in RULES), f"{unknown:.1f}",
             f"{cost:.2f}"]
        )  # fmt: skip
    text = (
        f'{words}"union" is at most the vote in {met["vote"]}, at most pair judges in '
        f"{met['pair']}, within {NEAR:g} times whole tables in {met['whole']} of {len(table)} "
        f"lines. CPU: of the path with judges against the path of whole tables (target {TIMES:g}). "
        f"{sum(row['cut_short'] for row in rows)} paths did not end in time."
    )
    header = ("network", "sites", "lacking", "seeds", *RULES, "pairs not known", "CPU, times")
    return Section(title, text, header, table)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
