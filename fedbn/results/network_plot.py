"""A network drawn in layers, for print: places and shades are those of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path

from fedbn.graphs.dag import DAG
from fedbn.results.fonts import drawable_labels
from fedbn.results.palette import GREY, INK, ORANGE, SHADES, VERMILLION, shade_of
from fedbn.results.placement import HALF, Placement, curve_through, place_network

Edge = tuple[str, str]
Point = tuple[float, float]


STATUS = {
    "true": (INK, "-", "as in the gold network"),
    "reversed": (ORANGE, (0, (6, 1.5, 1, 1.5)), "other direction"),
    "extra": (VERMILLION, (0, (3.5, 1.5)), "not in the gold network"),
    "missing": (GREY, (0, (1, 1.6)), "missing from the consensus"),
}


_FONT = 7.0


def network_figure(
    dag: DAG,
    *,
    support: Mapping[Edge, float] | None = None,
    status: Mapping[Edge, str] | None = None,
    directed: Mapping[Edge, str] | None = None,
    title: str | None = None,
) -> Figure:
    """A DAG in layers, parents above.

    Parameters
    ----------
    support : in [0, 1] per edge; the wider the line, and without `status` the darker, the more
        clients have it.
    status : per edge "true", "reversed", "extra" or "missing" (the last for edges that `dag`
        lacks).
    directed : per edge "compelled" or "open"; an open edge has no arrowhead.

    A name in a script that no font here has is its number in `dag.names`, counted from 1, which a
    FedbnWarning says. Above some hundred nodes this takes long, and nobody can read it.
    """
    support, status, directed = support or {}, status or {}, directed or {}
    missing = sorted(edge for edge, word in status.items() if word == "missing")
    labels = drawable_labels(dag.names)
    place = place_network(dag, labels, missing)
    width, height = _extent(place)
    figure = Figure(figsize=(width, height + _LEGEND))
    axis = figure.add_axes((0, 0, 1, height / (height + _LEGEND)))
    _frame(axis, place)
    for edge in [*missing, *sorted(dag.edges, key=lambda e: support.get(e, 1.0))]:
        line = _Line(support.get(edge), status.get(edge, ""), directed.get(edge) != "open")
        _draw_edge(axis, place.routes[edge], place.is_upside_down(edge), line)
    for name, (x, y) in place.positions.items():
        _draw_node(axis, x, y, place.widths[name], labels[name])
    handles = _handles(set(status.values()), bool(support), "open" in directed.values())
    if handles:
        figure.legend(handles=handles, loc="upper center", ncols=2, title=title, handlelength=2.8)
    return figure


def network_size(dag: DAG) -> tuple[float, float]:
    """Width and height in inches at which a DAG is drawn as large as in `network_figure`."""
    return _extent(place_network(dag, drawable_labels(dag.names), []))


def draw_network(
    axis: Any,
    dag: DAG,
    *,
    support: Mapping[Edge, float] | None = None,
    directed: Mapping[Edge, str] | None = None,
) -> None:
    """The same on matplotlib axes of any size, with smaller letters where they are small."""
    support, directed = support or {}, directed or {}
    labels = drawable_labels(dag.names)
    place = place_network(dag, labels, [])
    width, height = _extent(place)
    box, figure = axis.get_position(), axis.figure.get_size_inches()
    scale = min(1.0, box.width * figure[0] / width, box.height * figure[1] / height)
    _frame(axis, place)
    axis.set_aspect("equal")
    for edge in sorted(dag.edges, key=lambda e: support.get(e, 1.0)):
        line = _Line(support.get(edge), "", directed.get(edge) != "open")
        _draw_edge(axis, place.routes[edge], place.is_upside_down(edge), line)
    for name, (x, y) in place.positions.items():
        _draw_node(axis, x, y, place.widths[name], labels[name], _FONT * scale)
    handles = _handles(set(), bool(support), "open" in directed.values())
    if handles:
        axis.legend(handles=handles, loc="lower left", fontsize=_FONT * scale, frameon=False)


_LEGEND = 0.55
"""Inches above a network for the legend."""


def _extent(place: Placement) -> tuple[float, float]:
    return max(place.width, 3.6) + 0.3, place.height + 0.2


def _frame(axis: Any, place: Placement) -> None:
    """The limits of the axes, in inches of the drawing."""
    width, height = _extent(place)
    spare = (width - place.width) / 2
    axis.set_xlim(-spare, place.width + spare)
    axis.set_ylim(HALF - height + 0.1, HALF + 0.1)
    axis.set_axis_off()


class _Line(NamedTuple):
    """How an edge looks: the share of clients that have it, its status or "", with head or not."""

    share: float | None
    status: str
    head: bool


def _draw_edge(axis: Any, route: Sequence[Point], upside_down: bool, line: _Line) -> None:
    colour, dash, _ = STATUS[line.status or "true"]
    if not line.status and line.share is not None:
        colour = SHADES[shade_of(line.share)]
    plain = line.share is None or line.status == "missing"
    width = 1.0 if plain else 0.4 + 1.4 * float(line.share or 0.0)
    points = list(route)[::-1] if upside_down else list(route)
    (x, y), up = points[-1], 1.0 if upside_down else -1.0
    half, length = 0.018 + 0.012 * width, 0.052 + 0.016 * width
    if line.head:
        points[-1] = (x, y - up * length)
    order = 1 if line.status == "missing" else 2
    axis.add_patch(
        PathPatch(_curve(points), fill=False, lw=width, ls=dash, ec=colour, zorder=order)
    )
    if not line.head:
        return
    head = [(x, y), (x - half, y - up * length), (x + half, y - up * length)]
    axis.add_patch(Polygon(head, closed=True, fc=colour, lw=0, zorder=order + 0.5))


def _curve(points: Sequence[Point]) -> Path:
    """`curve_through` for matplotlib."""
    vertices = curve_through(points)
    return Path(vertices, [Path.MOVETO] + [Path.CURVE4] * (len(vertices) - 1))


def _draw_node(
    axis: Any, x: float, y: float, width: float, label: str, font: float = _FONT
) -> None:
    axis.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - HALF),
            width,
            2 * HALF,
            boxstyle="round,pad=0,rounding_size=0.06",
            fc="#EEF3F8",
            ec="#5B6B7B",
            lw=0.6,
            zorder=3,
        )
    )
    axis.text(
        x, y - 0.005, label, ha="center", va="center", fontsize=font, color=INK, zorder=4,
        parse_math=False,
    )  # fmt: skip


def _handles(present: set[str], weighted: bool, undirected: bool) -> list[Line2D]:
    """What a legend explains."""
    handles = [
        Line2D([], [], color=colour, ls=dash, lw=1.4, label=label)
        for status, (colour, dash, label) in STATUS.items()
        if status in present
    ]
    if weighted:
        handles.append(Line2D([], [], color=GREY, lw=2.3, label="wider: more sites"))
    if undirected:
        handles.append(Line2D([], [], color=INK, lw=1.0, label="no head: direction open"))
    return handles
