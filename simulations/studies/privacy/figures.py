"""The figures of the study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fedbn.results.palette import BLUE, GREEN, ORANGE, VERMILLION
from fedbn.results.plots import STYLE, save_figure
from simulations.study_cases import Row

LOOKS = {
    "dp-climb": (BLUE, "o"),
    "dp-ges": (VERMILLION, "s"),
    "dp-moments": (ORANGE, "D"),
}
NOT_PRIVATE = GREEN


def draw_utility(rows: Sequence[Row], folder: Path) -> str:
    """SMHD of the consensus of ten sites against ε, a panel per network and table size."""
    ten = [row for row in rows if row["sites"] == 10] or list(rows)
    panels = sorted({(row["network"], row["rows"]) for row in ten})
    networks = sorted({network for network, _ in panels})
    sizes = sorted({size for _, size in panels})
    with mpl.rc_context(STYLE):
        figure = Figure(
            figsize=(2.3 * len(sizes) + 0.8, 2.0 * len(networks) + 0.8), layout="constrained"
        )
        grid = figure.subplots(len(networks), len(sizes), squeeze=False)
        for i, network in enumerate(networks):
            for j, size in enumerate(sizes):
                here = [r for r in ten if (r["network"], r["rows"]) == (network, size)]
                if here:
                    _panel(grid[i, j], here, f"{network}, {size:,} rows")
                else:
                    grid[i, j].set_visible(False)
        for axes in grid[:, 0]:
            axes.set_ylabel("SMHD to the truth")
        handles = {
            label: handle
            for axes in grid.ravel()
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(
            list(handles.values()), list(handles), loc="outside lower center", ncols=len(handles)
        )
        save_figure(figure, folder / "utility")
    return "utility.png"


def _panel(axes: Axes, rows: Sequence[Row], title: str) -> None:
    for mechanism, (colour, marker) in LOOKS.items():
        own = [row for row in rows if row["mechanism"] == mechanism]
        epsilons = sorted({row["epsilon"] for row in own})
        values = [[r["smhd"] for r in own if r["epsilon"] == e] for e in epsilons]
        if values:
            axes.errorbar(
                epsilons,
                [np.mean(v) for v in values],
                yerr=[np.std(v) / np.sqrt(len(v)) for v in values],
                color=colour,
                marker=marker,
                markersize=4,
                label=mechanism,
            )
    plain = [row for row in rows if row["mechanism"] == "ges"]
    if plain:
        consensus = float(np.mean([row["smhd"] for row in plain]))
        single = float(np.mean([row["site_smhd"] for row in plain]))
        axes.axhline(consensus, color=NOT_PRIVATE, label="consensus of GES, not private")
        axes.axhline(single, color=NOT_PRIVATE, linestyle=":", label="one site alone, not private")
    axes.set_xscale("log")
    axes.set_xticks([0.5, 1, 3, 10], ["0.5", "1", "3", "10"])
    axes.minorticks_off()
    axes.set_xlim(0.4, 12.5)
    axes.set_ylim(bottom=0)
    axes.set_title(title)
    axes.set_xlabel("ε per row, δ = 1e-6")


def draw_flips(rows: Sequence[Row], folder: Path) -> str:
    """Share of removals of one row that change the message of a credible set, by its weights."""
    sets = [row for row in rows if row["game"] == "sets"]
    factors = sorted({row["bf"] for row in sets})
    looks = {"uniform": (BLUE, "s"), "two digits": (ORANGE, "D"), "exact": (VERMILLION, "^")}
    words = {"uniform": "the set, uniform weights", "exact": "exact weights"}
    sizes = sorted({row["rows"] for row in sets})
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.4 * len(factors) + 0.6, 2.8), layout="constrained")
        panels = figure.subplots(1, len(factors), squeeze=False, sharey=True)[0]
        for axes, factor in zip(panels, factors, strict=True):
            here = [row for row in sets if row["bf"] == factor]
            for name, (colour, marker) in looks.items():
                axes.plot(
                    [row["rows"] for row in here],
                    [row[name] / row["of"] for row in here],
                    color=colour,
                    marker=marker,
                    markersize=4,
                    label=words.get(name, f"weights of {name}"),
                )
            axes.set_xscale("log")
            axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
            axes.minorticks_off()
            axes.set_ylim(-0.03, 1.03)
            axes.set_xlabel("rows")
            axes.set_title(f"Bayes factor {factor}")
        panels[0].set_ylabel("share of removals that show")
        panels[-1].legend()
        save_figure(figure, folder / "flips")
    return "flips.png"


def draw_shadow(rows: Sequence[Row], folder: Path) -> str:
    """AUC of shadow membership by mechanism and ε, rows of the population and a canary."""
    games = [row for row in rows if row["game"] == "shadow"]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.6, 2.8), layout="constrained")
        axes = figure.subplots()
        labels = list(dict.fromkeys(_name(row) for row in games))
        for offset, canary, colour in ((-0.1, False, BLUE), (0.1, True, VERMILLION)):
            own = [row for row in games if row["canary"] == canary]
            axes.errorbar(
                [labels.index(_name(row)) + offset for row in own],
                [row["auc"] for row in own],
                yerr=[row["error"] for row in own],
                color=colour,
                marker="o",
                markersize=4,
                linestyle="none",
                label="a canary" if canary else "rows of the population",
            )
        axes.axhline(0.5, color="0.6", linewidth=0.8)
        axes.set_xticks(range(len(labels)), labels, rotation=20, ha="right")
        axes.set_ylabel("AUC of membership")
        axes.legend()
        save_figure(figure, folder / "shadow")
    return "shadow.png"


def _name(row: Row) -> str:
    epsilon = row["epsilon"]
    return row["mechanism"] if epsilon is None else f"{row['mechanism']}, ε {epsilon:g}"
