"""Figures of a fusion, as a paper would print them, in PNG and SVG.

`smhd_figure` is the idea of Fig. 1 of the MCBNC paper (AAAI-26): distance to the inputs and to the
true network over the threshold θ. Colours are those of Okabe and Ito, and every distinction is
also one of dash or shape. Drawn with matplotlib's object interface on Agg: no display, no global
state; SVG has neither dates nor random identifiers, so the bytes depend on the result alone.
The network is drawn by `network_plot`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path as FilePath
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from fedbn.errors import FedbnWarning
from fedbn.graphs.dag import DAG
from fedbn.graphs.directions import directed_words
from fedbn.graphs.treewidth import dag_treewidth
from fedbn.results.fonts import font_families
from fedbn.results.network_plot import network_figure
from fedbn.results.outcome import Outcome
from fedbn.results.palette import (
    BLUE,
    GREEN,
    GREY,
    INK,
    PURPLE,
    VERMILLION,
)
from fedbn.results.placement import (
    LARGE,
)
from fedbn.results.rows import PathRow, edge_status
from fedbn.results.summary import Summary

READINGS = {"search": (BLUE, "-"), "refusion": (VERMILLION, (0, (4, 2)))}
LOWER_BOUND = (GREY, ":", "lower bound for any DAG")
INPUTS_MEAN = (GREEN, (0, (5, 1, 1, 1)), "mean of the inputs")
POOLED = (PURPLE, (0, (1, 1)), "GES on all rows pooled")
GOLD_NETWORK = (PURPLE, (0, (2, 1.5)), "gold network")
STYLE: Any = {
    "font.family": list(font_families()),
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "svg.hashsalt": "fedbn",
    "svg.fonttype": "path",
}


def write_figures(
    outcome: Outcome, rows: Sequence[PathRow], summary: Summary, folder: FilePath
) -> None:
    """Draw every figure of a result into `folder`, which is made.

    Above LARGE variables the network is left to the report.
    """
    folder.mkdir()
    dag = outcome.consensus.dag
    figures: dict[str, Callable[[], Figure]] = {
        "smhd": lambda: smhd_figure(rows, summary),
        "complexity": lambda: complexity_figure(rows, summary, gold=outcome.gold),
    }
    if dag.n <= LARGE:
        figures["consensus"] = lambda: _consensus_figure(outcome, dag)
    for name, draw in figures.items():
        try:
            with mpl.rc_context(STYLE):
                save_figure(draw(), folder / name)
        except Exception as error:
            # Whatever a drawing stumbles over, the tables and structures are worth more than it.
            said = f"the figure {name} could not be drawn: {error!r}"
            warnings.warn(said, FedbnWarning, stacklevel=3)


def save_figure(figure: Figure, stem: FilePath) -> None:
    """Write `stem`.png (200 dpi) and `stem`.svg without dates."""
    with mpl.rc_context(STYLE):
        figure.savefig(stem.with_suffix(".png"), dpi=200, metadata={"Software": None})
        figure.savefig(stem.with_suffix(".svg"), metadata={"Date": None, "Creator": None})


def smhd_figure(rows: Sequence[PathRow], summary: Summary) -> Figure:
    """SMHD of every state to the inputs and, where the truth is known, to the truth.

    Marked: the selected state, the lower bound, the mean of the inputs, and G+ (left of θ = 0).
    """
    known = summary.smhd_to_gold is not None
    figure = Figure(figsize=(5.4, 5.0 if known else 2.9), layout="constrained")
    axes = figure.subplots(2 if known else 1, 1, sharex=True, squeeze=False)[:, 0].tolist()
    _steps(axes[0], rows, lambda row: row.mean_smhd)
    _level(axes[0], float(summary.lower_bound), LOWER_BOUND)
    axes[0].set_ylabel("mean SMHD to the inputs")
    if known:
        _steps(axes[1], rows, lambda row: float(row.smhd_to_gold or 0))
        if summary.inputs_to_gold is not None:
            _level(axes[1], summary.inputs_to_gold, INPUTS_MEAN)
        if summary.pooled_to_gold is not None:
            _level(axes[1], summary.pooled_to_gold, POOLED)
        axes[1].set_ylabel("SMHD to the gold network")
    _theta_axis(axes, rows)
    _legend(figure, axes, rows, summary)
    return figure


def draw_smhd(axis: Any, rows: Sequence[PathRow], summary: Summary) -> None:
    """The first panel of `smhd_figure` on matplotlib axes, with its legend inside."""
    _steps(axis, rows, lambda row: row.mean_smhd)
    _level(axis, float(summary.lower_bound), LOWER_BOUND)
    axis.set_ylabel("mean SMHD to the inputs")
    _theta_axis([axis], rows)
    axis.legend(handles=_handles([axis], rows, summary), fontsize="small")


def complexity_figure(
    rows: Sequence[PathRow], summary: Summary, *, gold: DAG | None = None
) -> Figure:
    """Edges and treewidth of every state, with the inputs' mean (and the truth's) beside."""
    figure = Figure(figsize=(5.4, 5.0), layout="constrained")
    axes = figure.subplots(2, 1, sharex=True).tolist()
    _steps(axes[0], rows, lambda row: float(row.edges))
    if summary.inputs_edges is not None:
        _level(axes[0], summary.inputs_edges, INPUTS_MEAN)
    axes[0].set_ylabel("edges")
    _steps(axes[1], rows, lambda row: float(row.treewidth or 0))
    axes[1].set_ylabel("treewidth (upper bound)")
    if gold is not None:
        _level(axes[0], gold.n_edges, GOLD_NETWORK)
        _level(axes[1], dag_treewidth(gold), GOLD_NETWORK)
    _theta_axis(axes, rows)
    _legend(figure, axes, rows, summary)
    return figure


def _steps(axis: Any, rows: Sequence[PathRow], value: Callable[[PathRow], float]) -> None:
    """Step lines over θ, one per reading; the selected state and G+ as marks."""
    left = _left_end(rows)
    for reading, (colour, dash) in READINGS.items():
        states = [row for row in rows if row.reading == reading]
        if not states:
            continue
        xs = [left if row.theta is None else float(row.theta) for row in states]
        ys = [value(row) for row in states]
        axis.step(
            [*xs, xs[-1] - 0.5 * left],
            [*ys, ys[-1]],
            where="post",
            color=colour,
            ls=dash,
            lw=1.5,
            zorder=3,
        )
        if states[0].theta is None:
            axis.plot(xs[0], ys[0], marker="s", ms=5, color=colour, mfc="white", zorder=4)
    for row in rows:
        if row.selected:
            x = left if row.theta is None else float(row.theta)
            axis.axvline(x, color=INK, lw=0.5, alpha=0.6, zorder=1)
            axis.plot(x, value(row), marker="*", ms=12, color=INK, mec="white", zorder=5)
    top = axis.get_ylim()[1]
    axis.set_ylim(-0.035 * top, 1.02 * top)
    axis.yaxis.set_major_locator(MaxNLocator(6, integer=True))


def _level(axis: Any, y: float, look: tuple[str, Any, str]) -> None:
    colour, dash, label = look
    axis.axhline(y, color=colour, ls=dash, lw=1.2, zorder=1, label=label)


def _left_end(rows: Sequence[PathRow]) -> float:
    """Where G+ stands: a little to the left of θ = 0."""
    highest = max((float(row.theta) for row in rows if row.theta is not None), default=1.0)
    return -0.08 * max(highest, 0.1)


def _theta_axis(axes: Sequence[Any], rows: Sequence[PathRow]) -> None:
    left = _left_end(rows)
    highest = -left / 0.08
    bottom = axes[-1]
    bottom.set_xlim(left * 1.6, highest * 1.04)
    ticks = [tick for tick in MaxNLocator(6).tick_values(0, highest) if 0 <= tick <= highest]
    bottom.set_xticks([left, *ticks], ["$G^+$", *(f"{tick:g}" for tick in ticks)])
    bottom.set_xlabel(r"threshold $\theta$")


def _legend(figure: Figure, axes: Sequence[Any], rows: Sequence[PathRow], summary: Summary) -> None:
    figure.legend(handles=_handles(axes, rows, summary), loc="outside upper center", ncols=3)


def _handles(axes: Sequence[Any], rows: Sequence[PathRow], summary: Summary) -> list[Any]:
    """What a legend explains."""
    present = {row.reading for row in rows}
    handles = [
        Line2D([], [], color=colour, ls=dash, lw=1.5, label=f"{reading} reading")
        for reading, (colour, dash) in READINGS.items()
        if reading in present
    ]
    handles.append(
        Line2D([], [], color=GREY, ls="", marker="s", mfc="white", ms=5, label="$G^+$, all kept")
    )
    selected = next((row for row in rows if row.selected), None)
    if selected is not None:
        at = "$G^+$" if selected.theta is None else rf"$\theta = {selected.theta}$"
        vote = "the vote of judges" if summary.is_judged_vote else "the edge vote"
        at = {"vote": vote, "others": "what the others agree on"}.get(selected.reading, at)
        handles.append(Line2D([], [], color=INK, ls="", marker="*", ms=10, label=f"selected, {at}"))
    levels = {label: line for axis in axes for line, label in zip(*_label_axis(axis), strict=True)}
    return [*handles, *levels.values()]


def _label_axis(axis: Any) -> tuple[list[Any], list[str]]:
    handles, labels = axis.get_legend_handles_labels()
    return handles, labels


def _consensus_figure(outcome: Outcome, dag: DAG) -> Figure:
    status = edge_status(dag, outcome.gold)
    support = outcome.edge_support([*dag.edges, *(e for e, w in status.items() if w == "missing")])
    directed = directed_words(dag, outcome.path.knowledge)
    if outcome.gold is not None:
        truth = directed_words(outcome.gold.reorder(dag.names))
        directed |= {edge: truth[edge] for edge, word in status.items() if word == "missing"}
    return network_figure(dag, support=support, status=status, directed=directed)
