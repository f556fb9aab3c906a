"""Figures of the report: gap and time against n and d, and scores against the consensus."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from simulations.studies.cg_dca.selection import best_known, gap, groups, mean, whole_networks
from simulations.study_cases import Row

LINES = {
    "cg-dca hybrid": ("#0072B2", "o"),
    "cg-dca random": ("#D55E00", "^"),
    "cg-dca warm": ("#009E73", "s"),
    "optimal": ("#222222", "x"),
}
LEARNERS = {"ges": ("#E69F00", "s"), "cg-dca": ("#0072B2", "o"), "optimal": ("#222222", "x")}


def write_figures(rows: Sequence[Row], folder: Path) -> list[str]:
    """PNG files in the folder, for the parts that have rows; their names."""
    mpl.use("Agg")
    names = []
    for key in ("d", "n"):
        if len({row[key] for row in rows if row["part"] == "gaussian"}) > 1:
            names.append(_gap_and_time(rows, key, folder))
    if whole_networks(rows):
        names.append(_consensus(rows, folder))
    return names


def _gap_and_time(rows: Sequence[Row], key: str, folder: Path) -> str:
    """Mean gap to the optimum and mean CPU seconds against d or n, N = 5,000."""
    figure = Figure(figsize=(8, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    other = "n" if key == "d" else "d"
    some = [row for row in rows if row["part"] == "gaussian" and row["rows"] == 5000]
    fixed = max((row[other] for row in some), default=0)
    best = {
        at: best_known(group)
        for at, group in groups(some, "gaussian", "n", "d", "instance").items()
    }
    for method, (colour, mark) in LINES.items():
        ours = [row for row in some if row["method"] == method and row[other] == fixed]
        by = sorted(groups(ours, "gaussian", key).items())
        places = [at for (at,), _ in by]
        style: Any = {"color": colour, "marker": mark, "label": method, "linewidth": 1}
        gaps = [
            mean([gap(row, best[row["n"], row["d"], row["instance"]]) for row in group])
            for _, group in by
        ]
        if method != "optimal":
            left.plot(places, gaps, **style)
        right.plot(places, [mean([row["seconds"] for row in group]) for _, group in by], **style)
    right.set_yscale("log")
    left.set_ylabel("gap to the optimum, %")
    right.set_ylabel("CPU seconds")
    for axes in (left, right):
        axes.set_xlabel(f"{key}   ({other} = {fixed}, N = 5,000)")
    right.legend(frameon=False, fontsize=7)
    name = f"gap-and-time-{key}.png"
    figure.savefig(folder / name, dpi=150)
    return name


def _consensus(rows: Sequence[Row], folder: Path) -> str:
    """Each network's consensus SMHD against the clients' mean distance from the best score."""
    by = whole_networks(rows)
    densities = sorted({d for _, d, _ in by})
    figure = Figure(figsize=(4 * len(densities), 3), layout="constrained")
    panels = figure.subplots(1, len(densities), squeeze=False)[0]
    for axes, density in zip(panels, densities, strict=True):
        for (_, d, _), group in by.items():
            best = max(row["local_score"] for row in group)
            for row in group if d == density else ():
                colour, mark = LEARNERS[row["learner"]]
                axes.plot(best - row["local_score"], row["consensus_smhd"], mark, color=colour)
        axes.set_title(f"d = {density}")
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.set_ylim(bottom=-1.0, top=max(1.0, axes.get_ylim()[1]))
        axes.set_xlabel("clients' mean score below the best learner's")
        axes.set_ylabel("SMHD of the consensus to the truth")
    for learner, (colour, mark) in LEARNERS.items():
        panels[0].plot([], [], mark, color=colour, label=learner)
    panels[0].legend(frameon=False, fontsize=7)
    name = "consensus.png"
    figure.savefig(folder / name, dpi=150)
    return name
