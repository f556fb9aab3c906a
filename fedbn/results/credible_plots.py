"""Figures of a credible set: edge posteriors, and score against rank (Liao et al. 2019, Fig. 2).

In the style of `plots`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from fedbn.arrays import Floats
from fedbn.results.fonts import drawable_labels
from fedbn.results.palette import BLUE, INK
from fedbn.results.plots import STYLE

LABELLED = 60  # variables that have room for their names


def edge_posterior_figure(posteriors: Floats, names: Sequence[str]) -> Figure:
    """[n, n] shares as a matrix, parents in rows and children in columns."""
    side = min(9.0, 2.2 + 0.16 * len(names))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(side + 0.8, side), layout="constrained")
        draw_posteriors(figure.subplots(), posteriors, names)
    return figure


def draw_posteriors(axes: Any, posteriors: Floats, names: Sequence[str]) -> None:
    """The same on matplotlib axes, with the colours explained beside them."""
    n = len(names)
    image = axes.imshow(posteriors, cmap="Blues", vmin=0.0, vmax=1.0)
    axes.set_xlabel("child")
    axes.set_ylabel("parent")
    if n <= LABELLED:
        labels = list(drawable_labels(names).values())
        axes.set_xticks(range(n), labels, rotation=90, fontsize=6, parse_math=False)
        axes.set_yticks(range(n), labels, fontsize=6, parse_math=False)
    axes.spines[:].set_visible(False)
    axes.figure.colorbar(image, ax=axes, shrink=0.7, label="posterior of the edge")


def rank_figure(best: float, excess: Floats, count: Sequence[int]) -> Figure:
    """The score of the k-th best DAG over k; `count` DAGs have each excess [K] over the best."""
    last = [float(total) for total in np.cumsum(np.array(count, dtype=object))]
    first = [1.0, *(value + 1.0 for value in last[:-1])]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.4, 3.0), layout="constrained")
        axes = figure.subplots()
        rank = np.column_stack([first, last]).ravel()
        axes.plot(rank, best - np.repeat(excess, 2), color=BLUE, drawstyle="steps-post")
        axes.axhline(best, color=INK, linewidth=0.7, linestyle=":", label="best score")
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(LogFormatter(labelOnlyBase=True))
        axes.legend(frameon=False, loc="upper right", bbox_to_anchor=(1, 0.97))
        axes.set_xlabel("rank of the structure")
        axes.set_ylabel("score")
    return figure
