"""What the study's figures are made of: panels, step functions over θ, scales, legends."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from simulations.studies.mcbnc_aaai26.selection import Curve

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


def panels(count: int, width: float = 3.0, columns: int = COLUMNS) -> tuple[Any, list[Any]]:
    """A figure of so many panels; those of the last row that are not needed are off."""
    across = min(columns, count)
    down = math.ceil(count / across)
    figure = Figure(figsize=(width * across, 2.5 * down), layout="constrained")
    axes = list(figure.subplots(down, across, squeeze=False).flat)
    for unused in axes[count:]:
        unused.axis("off")
    return figure, axes[:count]


def save(figure: Any, file: Path) -> str:
    """The figure written; its name."""
    figure.savefig(file, dpi=110)
    return file.name


def step(axes: Any, curve: Curve, **style: Any) -> None:
    """A step function over θ; G+ stands a little to the left of 0."""
    left = -0.06
    places = [left if theta is None else theta for theta, _ in curve]
    axes.set_xlim(left - 0.04, LAST_THETA)
    axes.step(
        [*places, max(places) + 0.02], [*(v for _, v in curve), curve[-1][1]], where="post", **style
    )


def scale(axes: Any) -> None:
    """Distances on a logarithmic scale where they are large; linear where all are small."""
    values = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in axes.lines])
    if values.max() <= 40:
        axes.set_ylim(bottom=0)
    elif values.min() > 5:
        axes.set_yscale("log")
    else:
        axes.set_yscale("symlog", linthresh=10)
        axes.set_ylim(bottom=0)


def legend(figure: Any, *axes: Any) -> None:
    """One legend beside the panels."""
    pairs = [panel.get_legend_handles_labels() for panel in axes]
    handles = [handle for some, _ in pairs for handle in some]
    labels = [label for _, some in pairs for label in some]
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=7)
