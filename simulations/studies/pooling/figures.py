"""The figures of the study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedbn.results.palette import BLUE, GREEN, ORANGE, PURPLE, VERMILLION
from fedbn.results.plots import STYLE, save_figure
from simulations.study_cases import Row

LOOKS = {
    "site": ("0.6", "v", "one site"),
    "today": (ORANGE, "o", "consensus, k = 1"),
    "ladder": (PURPLE, "D", "ladder, structures alone"),
    "counts": (BLUE, "s", "ladder and counts"),
    "climb": (GREEN, "^", "counts and a climb"),
    "pooled": (VERMILLION, "x", "pooled rows"),
}


def draw_alike(rows: Sequence[Row], folder: Path) -> str:
    """SMHD to the truth against the rows of a site, a panel per network."""
    _panels(rows, folder / "alike", "rows", "rows a site")
    return "alike.png"


def draw_differing(rows: Sequence[Row], folder: Path) -> str:
    """SMHD to the truth against how alike the sites' parameters are, a panel per network."""
    largest = max(row["rows"] for row in rows)
    own = [row for row in rows if row["rows"] == largest]
    _panels(own, folder / "differing", "concentration", "concentration c (small: sites differ)")
    return "differing.png"


def _panels(rows: Sequence[Row], path: Path, x: str, label: str) -> None:
    networks = list(dict.fromkeys(row["network"] for row in rows))
    across = min(3, len(networks))
    down = -(-len(networks) // across)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.6 * across, 2.2 * down + 0.5), layout="constrained")
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for panel, network in zip(axes, networks, strict=False):
            _panel(panel, [row for row in rows if row["network"] == network], x)
            panel.set_title(network)
            panel.set_xlabel(label)
        for panel in axes[len(networks) :]:
            panel.set_visible(False)
        axes[0].set_ylabel("SMHD to the truth")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
        save_figure(figure, path)


def _panel(axes: Axes, rows: Sequence[Row], x: str) -> None:
    places = sorted({row[x] for row in rows})
    for way, (colour, marker, label) in LOOKS.items():
        values = [[row[way] for row in rows if row[x] == place] for place in places]
        errors = [np.std(v, ddof=1) / np.sqrt(len(v)) if len(v) > 1 else 0.0 for v in values]
        means = [float(np.mean(v)) for v in values]
        axes.errorbar(
            places, means, yerr=errors, color=colour, marker=marker, ms=4, lw=1.1, label=label
        )
    axes.set_xscale("log")
    axes.set_xticks(places, [f"{place:g}" for place in places])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
