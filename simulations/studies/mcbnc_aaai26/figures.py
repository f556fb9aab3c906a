"""The paper's figures from our rows: panels by network, a colour by r, black and purple levels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

from simulations.studies.mcbnc_aaai26.panels import (
    COLOURS,
    GOLD,
    INPUTS,
    LABELS,
    legend,
    panels,
    save,
    scale,
    step,
)
from simulations.studies.mcbnc_aaai26.part_figures import PARTS
from simulations.studies.mcbnc_aaai26.selection import (
    Cell,
    cells_of,
    main_networks,
    mean,
    networks_of,
    of_part,
)
from simulations.study_cases import Row


def write_figures(
    rows: Sequence[Row], order: Sequence[str], folder: Path, reading: str
) -> list[str]:
    """PNG files in the folder for what there are rows of; their names, in the paper's order."""
    mpl.use("Agg")
    cells = cells_of(rows, order)
    main = [cell for cell in cells if cell.network in main_networks(order)]
    names = []
    for some, figures in ((main, MAIN), (cells, ALL)):
        for name, key, levels, verticals in figures if some else ():
            names.append(_by_network(some, key, reading, levels, verticals, folder / name))
    if main:
        names.append(_clock(main, folder / "figure-c4.png"))
        for k, r in enumerate(sorted({cell.r for cell in main})):
            names.append(_distances_and_score(main, r, reading, folder / f"figure-c{5 + k}.png"))
    names += [
        draw(rows, order, reading, folder) for part, draw in PARTS.items() if of_part(rows, part)
    ]
    return names


MAIN = (
    ("figure-1.png", "smhd_gold", ("inputs",), False),
    ("figure-2.png", "bdeu", ("inputs", "gold"), False),
    ("figure-3.png", "width", ("inputs", "gold"), True),
    ("figure-c2.png", "smhd_inputs", (), False),
    ("figure-c3.png", "edges", ("inputs", "gold"), True),
)
ALL = (
    ("figure-c11.png", "smhd_gold", ("inputs",), False),
    ("figure-c12.png", "bdeu", ("inputs", "gold"), False),
    ("figure-c13.png", "width", ("inputs", "gold"), True),
)


def _by_network(
    cells: Sequence[Cell],
    key: str,
    reading: str,
    levels: Sequence[str],
    verticals: bool,
    file: Path,
) -> str:
    networks = networks_of(cells)
    figure, axes = panels(len(networks))
    for panel, network in zip(axes, networks, strict=True):
        some = [cell for cell in cells if cell.network == network]
        for cell in some:
            colour = COLOURS.get(cell.r, "grey")
            step(panel, cell.curve(reading, key), color=colour, linewidth=1, label=f"r = {cell.r}")
            theta = cell.theta(reading)
            if verticals and theta is not None:
                panel.axvline(theta, color=colour, linestyle="--", linewidth=0.7)
        for level in levels:
            value = mean([cell.of(level, key) for cell in some])
            colour = INPUTS if level == "inputs" else GOLD
            panel.axhline(
                value,
                color=colour,
                linewidth=1,
                label="GES, mean" if level == "inputs" else "truth",
            )
        if key != "bdeu":
            scale(panel)
        panel.set_title(network, fontsize=9)
        panel.set_xlabel("θ")
    axes[0].set_ylabel(LABELS[key])
    legend(figure, axes[0])
    return save(figure, file)


def _clock(cells: Sequence[Cell], file: Path) -> str:
    networks = networks_of(cells)
    figure, axes = panels(len(networks))
    for panel, network in zip(axes, networks, strict=True):
        for cell in cells:
            if cell.network == network:
                step(
                    panel,
                    cell.clock(),
                    color=COLOURS.get(cell.r, "grey"),
                    linewidth=1,
                    label=f"r = {cell.r}",
                )
        panel.set_title(network, fontsize=9)
        panel.set_xlabel("θ")
    axes[0].set_ylabel("CPU seconds since the start")
    legend(figure, axes[0])
    return save(figure, file)


def _distances_and_score(cells: Sequence[Cell], r: int, reading: str, file: Path) -> str:
    """Left axis: SMHD to the inputs and to the truth; right axis: BDeu from 0 (empty) to 1."""
    some = [cell for cell in cells if cell.r == r]
    figure, axes = panels(len(some))
    for panel, cell in zip(axes, some, strict=True):
        step(
            panel,
            cell.curve(reading, "smhd_inputs"),
            color="#0072B2",
            linewidth=1,
            label="SMHD to inputs",
        )
        step(
            panel,
            cell.curve(reading, "smhd_gold"),
            color="#D55E00",
            linewidth=1,
            label="SMHD to truth",
        )
        scale(panel)
        right = panel.twinx()
        empty = cell.of("empty", "bdeu")
        curve = cell.curve(reading, "bdeu")
        top = max(*(v for _, v in curve), cell.of("inputs", "bdeu"), cell.of("gold", "bdeu"))
        shown = [(theta, (value - empty) / (top - empty)) for theta, value in curve]
        step(right, shown, color="#009E73", linewidth=1, label="BDeu, normalised")
        right.set_ylim(-0.05, 1.05)
        panel.set_title(f"{cell.network}, r = {r}", fontsize=9)
        panel.set_xlabel("θ")
        if panel is axes[0]:
            legend(figure, panel, right)
    return save(figure, file)
