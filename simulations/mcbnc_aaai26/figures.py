"""The paper's figures from our rows: panels by network, a colour by r, black and purple levels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simulations.mcbnc_aaai26.selection import (
    Cell,
    Curve,
    cells_of,
    groups,
    main_networks,
    mean,
    networks_of,
    of_part,
)
from simulations.mcbnc_aaai26.synthetic import THETAS
from simulations.study import Row

__all__ = ["write_figures"]

COLOURS = {
    5: "#0072B2", 10: "#E69F00", 20: "#009E73", 30: "#D55E00", 50: "#56B4E9", 100: "#CC79A7",
}  # fmt: skip
INPUTS, GOLD = "black", "purple"
COLUMNS = 5
LAST_THETA = 1.3
"""Beyond it the curves hardly change until the empty graph."""
LABELS = {
    "smhd_gold": "SMHD to the truth", "smhd_inputs": "mean SMHD to the inputs",
    "bdeu": "BDeu / rows", "width": "treewidth (upper bound)", "edges": "edges",
}  # fmt: skip


def write_figures(
    rows: Sequence[Row], order: Sequence[str], folder: Path, reading: str
) -> list[str]:
    """PNG files in the folder for what there are rows of; their names, in the paper's order."""
    import matplotlib as mpl

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


def panels(count: int, width: float = 3.0, columns: int = COLUMNS) -> tuple[Any, list[Any]]:
    """A figure of so many panels; those of the last row that are not needed are off."""
    from matplotlib.figure import Figure

    across = min(columns, count)
    down = math.ceil(count / across)
    figure = Figure(figsize=(width * across, 2.5 * down), layout="constrained")
    axes = list(figure.subplots(down, across, squeeze=False).flat)
    for unused in axes[count:]:
        unused.axis("off")
    return figure, axes[:count]


def saved(figure: Any, file: Path) -> str:
    """The figure written; its name."""
    figure.savefig(file, dpi=110)
    return file.name


def _step(axes: Any, curve: Curve, **style: Any) -> None:
    """A step function over θ; G+ stands a little to the left of 0."""
    left = -0.06
    places = [left if theta is None else theta for theta, _ in curve]
    axes.step(
        [*places, max(places) + 0.02], [*(v for _, v in curve), curve[-1][1]], where="post", **style
    )


def _scale(axes: Any) -> None:
    """Logarithmic distances where none is small, else linear up to 10."""
    if min(float(np.min(line.get_ydata())) for line in axes.lines) > 10:
        axes.set_yscale("log")
    else:
        axes.set_yscale("symlog", linthresh=10)
        axes.set_ylim(bottom=0)


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
            _step(panel, cell.curve(reading, key), color=colour, linewidth=1, label=f"r = {cell.r}")
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
        if key in ("smhd_gold", "smhd_inputs"):
            _scale(panel)
        panel.set_title(network, fontsize=9)
        panel.set_xlabel("θ")
    axes[0].set_ylabel(LABELS[key])
    axes[0].legend(frameon=False, fontsize=6)
    return saved(figure, file)


def _clock(cells: Sequence[Cell], file: Path) -> str:
    networks = networks_of(cells)
    figure, axes = panels(len(networks))
    for panel, network in zip(axes, networks, strict=True):
        for cell in cells:
            if cell.network == network:
                _step(
                    panel,
                    cell.clock(),
                    color=COLOURS.get(cell.r, "grey"),
                    linewidth=1,
                    label=f"r = {cell.r}",
                )
        panel.set_title(network, fontsize=9)
        panel.set_xlabel("θ")
    axes[0].set_ylabel("CPU seconds since the start")
    axes[0].legend(frameon=False, fontsize=6)
    return saved(figure, file)


def _distances_and_score(cells: Sequence[Cell], r: int, reading: str, file: Path) -> str:
    """Left axis: SMHD to the inputs and to the truth; right axis: BDeu from 0 (empty) to 1."""
    some = [cell for cell in cells if cell.r == r]
    figure, axes = panels(len(some))
    for panel, cell in zip(axes, some, strict=True):
        _step(
            panel,
            cell.curve(reading, "smhd_inputs"),
            color="#0072B2",
            linewidth=1,
            label="SMHD to inputs",
        )
        _step(
            panel,
            cell.curve(reading, "smhd_gold"),
            color="#D55E00",
            linewidth=1,
            label="SMHD to truth",
        )
        _scale(panel)
        right = panel.twinx()
        empty = cell.of("empty", "bdeu")
        curve = cell.curve(reading, "bdeu")
        top = max(*(v for _, v in curve), cell.of("inputs", "bdeu"), cell.of("gold", "bdeu"))
        shown = [(theta, (value - empty) / (top - empty)) for theta, value in curve]
        _step(right, shown, color="#009E73", linewidth=1, label="BDeu, normalised")
        right.set_ylim(-0.05, 1.05)
        panel.set_title(f"{cell.network}, r = {r}", fontsize=9)
        panel.set_xlabel("θ")
        if panel is axes[0]:
            panel.legend(frameon=False, fontsize=6, loc="center left")
            right.legend(frameon=False, fontsize=6, loc="center right")
    return saved(figure, file)


def _runtime(rows: Sequence[Row], order: Sequence[str], reading: str, folder: Path) -> str:
    some = groups(of_part(rows, "runtime"), "network")
    figure, axes = panels(len(some))
    for panel, ((network,), every) in zip(axes, some.items(), strict=True):
        for (method,), found in groups(every, "method").items():
            line = sorted((row["r"], row["seconds"]) for row in found)
            panel.plot(
                *zip(*line, strict=True), marker="o", markersize=3, linewidth=1, label=method
            )
        panel.set_yscale("log")
        panel.set_title(network, fontsize=9)
        panel.set_xlabel("r")
    axes[0].set_ylabel("CPU seconds")
    axes[0].legend(frameon=False, fontsize=6)
    return saved(figure, folder / "figure-4.png")


def _synthetic(rows: Sequence[Row], order: Sequence[str], reading: str, folder: Path) -> str:
    some = of_part(rows, "synthetic")
    sizes = sorted({row["n"] for row in some})
    figure, axes = panels(2 * len(sizes), columns=len(sizes))
    for k, what in ((1, "mean SMHD to the inputs"), (0, "SMHD to the base")):
        for place, n in enumerate(sizes):
            panel = axes[place + (0 if k else len(sizes))]
            for (r,), found in sorted(groups([x for x in some if x["n"] == n], "r").items()):
                values = np.median([[p[k] for p in row["search"]] for row in found], axis=0)
                thetas = [None, *map(float, THETAS)]
                style = {"color": COLOURS.get(r, "grey"), "linewidth": 1, "label": f"r = {r}"}
                _step(panel, list(zip(thetas, values.tolist(), strict=True)), **style)
            panel.set_yscale("symlog", linthresh=1)
            panel.set_ylim(bottom=0)
            panel.set_title(f"n = {n}", fontsize=9)
            panel.set_xlabel("θ")
        axes[0 if k else len(sizes)].set_ylabel(what)
    axes[0].legend(frameon=False, fontsize=6)
    return saved(figure, folder / "figure-b1.png")


def _k_max(rows: Sequence[Row], order: Sequence[str], reading: str, folder: Path) -> str:
    """C14 above, C16 in the middle (a panel per r), C15 below."""
    some = of_part(rows, "k-max")
    by_k = {
        k: cells_of([*of_part(rows, "rivals"), *found], list(order), "k-max")
        for (k,), found in sorted(groups(some, "k_max").items())
    }
    sizes = sorted({cell.r for cells in by_k.values() for cell in cells})
    figure, axes = panels(3 * len(sizes), columns=len(sizes))
    for place, r in enumerate(sizes):
        chosen = []
        for shade, (k, cells) in enumerate(by_k.items()):
            for cell in cells:
                if cell.r == r:
                    style: dict[str, Any] = {
                        "color": str(0.85 - 0.8 * shade / max(1, len(by_k) - 1)), "linewidth": 1,
                        "label": f"k_max = {k}",
                    }  # fmt: skip
                    _step(axes[place], cell.curve(reading, "smhd_gold"), **style)
                    _step(axes[place + len(sizes)], cell.clock(), **style)
                    chosen.append(
                        (k, cell.chosen(reading, "smhd_gold"), cell.of("inputs", "smhd_gold"))
                    )
        ks, ours, inputs = zip(*chosen, strict=True)
        axes[place + 2 * len(sizes)].plot(ks, ours, marker="o", markersize=3, linewidth=1)
        for row in (0, 2):
            axes[place + row * len(sizes)].axhline(inputs[0], color=INPUTS, linestyle=":")
        axes[place].set_title(f"r = {r}", fontsize=9)
        axes[place + 2 * len(sizes)].set_xlabel("k_max")
    for row, label in enumerate(("SMHD to the truth, θ", "CPU seconds, θ", "SMHD at the chosen θ")):
        axes[row * len(sizes)].set_ylabel(label)
    axes[0].legend(frameon=False, fontsize=5)
    return saved(figure, folder / "figure-c14-c16.png")


def _non_iid(rows: Sequence[Row], order: Sequence[str], reading: str, folder: Path) -> str:
    """SMHD to the truth by method over the splits, the mean over the seeds."""
    some = groups(of_part(rows, "non-iid"), "network")
    figure, axes = panels(len(some), width=4.0, columns=4)
    methods = ("inputs", "best input", "vote 1/2", "search", "refusion", "pooled rows")
    for panel, ((network,), every) in zip(axes, some.items(), strict=True):
        splits = sorted(
            groups(every, "split", "alpha").items(), key=lambda item: _strength(*item[0])
        )
        for method in methods:
            values = [mean([row["smhd"][method] for row in found]) for _, found in splits]
            panel.plot(
                range(len(splits)), values, marker="o", markersize=3, linewidth=1, label=method
            )
        names = [split if alpha is None else f"{split} {alpha:g}" for (split, alpha), _ in splits]
        panel.set_xticks(range(len(splits)), names, rotation=60, fontsize=7)
        panel.set_title(network, fontsize=9)
    axes[0].set_ylabel(LABELS["smhd_gold"])
    axes[0].legend(frameon=False, fontsize=6)
    return saved(figure, folder / "non-iid.png")


def _strength(split: str, alpha: float | None) -> tuple[str, float]:
    return (" " + split if alpha is None else split), -(alpha or 0.0)


def _robust(rows: Sequence[Row], order: Sequence[str], reading: str, folder: Path) -> str:
    some = groups(of_part(rows, "robust"), "network", "kind")
    figure, axes = panels(len(some), columns=max(1, len({kind for _, kind in some})))
    for panel, ((network, kind), every) in zip(axes, some.items(), strict=True):
        for (pooling,), found in groups(every, "pooling").items():
            line = sorted((row["hostile"], row["smhd"]["search"]) for row in found)
            panel.plot(
                *zip(*line, strict=True), marker="o", markersize=3, linewidth=1, label=pooling
            )
        votes = sorted({(row["hostile"], row["smhd"]["vote 1/2"]) for row in every})
        panel.plot(*zip(*votes, strict=True), color="grey", linestyle=":", label="vote 1/2")
        panel.set_title(f"{network}, {kind}", fontsize=9)
        panel.set_xlabel("hostile inputs of 10")
        panel.set_ylim(bottom=0)
    axes[0].set_ylabel("SMHD to the truth, search")
    axes[0].legend(frameon=False, fontsize=6)
    return saved(figure, folder / "robust.png")


PARTS: dict[str, Callable[[Sequence[Row], Sequence[str], str, Path], str]] = {
    "runtime": _runtime,
    "synthetic": _synthetic,
    "k-max": _k_max,
    "non-iid": _non_iid,
    "robust": _robust,
}
