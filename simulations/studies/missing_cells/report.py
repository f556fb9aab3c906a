"""Tables of the study, and whether its targets are met."""

from __future__ import annotations

from collections.abc import Sequence

from simulations.studies.missing_cells.runs import METHODS
from simulations.study_cases import Row
from simulations.study_report import Section

FACTOR, MORE, COST = 1.25, 2.0, 12.0
"""Targets: imputed SMHD within so many times the complete table's, or so much more; CPU at most so
many times the complete table's."""


def within(imputed: float, complete: float) -> bool:
    """Whether the target of distance is met."""
    return imputed <= max(FACTOR * complete, complete + MORE)


def sections(rows: Sequence[Row]) -> list[Section]:
    """The tables of the study."""
    repaired = [row for row in rows if not row["mechanism"].startswith("mnar")]
    broken = [row for row in rows if row["mechanism"].startswith("mnar")]
    found = [
        _distances("Missing completely at random, and at random", repaired),
        _distances(
            "Missing because of their values",
            broken,
            "mnar: half of the cells with a column's first state, in half of the columns. "
            "mnar-pair: half of the cells in rows in which the column and another one both have, "
            "or both lack, their first states. Imputing is valid for neither.",
        ),
    ]
    return [section for section in found if section.rows]


def _distances(title: str, rows: Sequence[Row], words: str = "") -> Section:
    table, met, costs = [], 0, []
    keys = sorted({(row["network"], row["rows"], row["mechanism"]) for row in rows})
    for network, n_rows, mechanism in keys:
        some = [
            row
            for row in rows
            if (row["network"], row["rows"], row["mechanism"]) == (network, n_rows, mechanism)
        ]
        means = {method: _mean([row[method] for row in some]) for method in METHODS}
        complete, imputed = means["complete"], means["impute"]
        assert complete is not None
        assert imputed is not None
        cost = sum(row["impute_seconds"] for row in some) / sum(
            row["complete_seconds"] for row in some
        )
        costs.append(cost)
        good = within(imputed, complete)
        met += good
        told = ("-" if mean is None else f"{mean:.1f}" for mean in means.values())
        verdict = "yes" if good else "no"
        table.append([network, n_rows, mechanism, len(some), *told, verdict, f"{cost:.1f}"])
    text = (
        f"{words} Mean SMHD to the network; a mean over the seeds that left enough rows. Within "
        f"{FACTOR:g} times or +{MORE:g} of the complete table: {met} of {len(table)} lines. CPU of "
        f"imputing against the complete table: at most {max(costs, default=0.0):.1f} times (target "
        f"{COST:g})."
    ).strip()
    header = (
        "network", "rows", "missing", "seeds", "complete", "drop-rows", "state", "impute",
        "within", "CPU, times",
    )  # fmt: skip
    return Section(title, text, header, table)


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None
