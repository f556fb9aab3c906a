"""The figures of the reproduction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from fedbn.results.palette import BLUE, GREEN, ORANGE, VERMILLION
from fedbn.results.plots import STYLE, save_figure
from simulations.studies.credible_bn.federation import METHODS

Row = dict[str, Any]
COLOURS = (BLUE, GREEN, ORANGE, VERMILLION)
MARKERS = ("o", "s", "D", "^")


def draw_federation(rows: Sequence[Row], folder: Path) -> str:
    """SMHD to the truth by network, rows per client and method; means with standard errors."""
    networks = list(dict.fromkeys(row["network"] for row in rows))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.6 * len(networks) + 0.6, 2.9), layout="constrained")
        panels = figure.subplots(1, len(networks), squeeze=False)[0]
        for axes, network in zip(panels, networks, strict=True):
            here = [row for row in rows if row["network"] == network]
            sizes = sorted({row["rows_per_client"] for row in here})
            for k, (name, label) in enumerate(METHODS.items()):
                values = [[r[name] for r in here if r["rows_per_client"] == n] for n in sizes]
                axes.errorbar(
                    np.arange(len(sizes)) + 0.12 * (k - 1.5), [np.mean(v) for v in values],
                    yerr=[np.std(v) / np.sqrt(len(v)) for v in values], label=label,
                    color=COLOURS[k], marker=MARKERS[k], markersize=4, linestyle="none",
                )  # fmt: skip
            axes.set_xticks(range(len(sizes)), [f"{n:,}" for n in sizes])
            axes.set_xlabel("rows per client")
            axes.set_title(network)
            axes.set_ylim(bottom=0)
        panels[0].set_ylabel("SMHD of the consensus to the truth")
        panels[-1].legend()
        save_figure(figure, folder / "federation")
    return "federation.png"


def draw_sizes(rows: Sequence[Row], folder: Path) -> str:
    """How many DAGs and classes are credible, by Bayes factor, one line a table (BIC)."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.2), layout="constrained")
        panels = figure.subplots(1, 2, sharex=True, sharey=True)
        for axes, key in zip(panels, ("dags", "classes"), strict=True):
            for name in dict.fromkeys(row["data"] for row in rows):
                here = [r for r in rows if r["data"] == name and r["score"] == "bic" and r[key]]
                axes.plot([r["bf"] for r in here], [r[key] for r in here], marker="o", label=name)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xticks([3, 20, 150], ["3", "20", "150"])
            axes.set_xlabel("Bayes factor")
            axes.set_ylabel(key.replace("dags", "DAGs"))
        panels[1].legend(fontsize=6)
        save_figure(figure, folder / "sizes")
    return "sizes.png"
