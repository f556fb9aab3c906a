"""Where a network is drawn: one box per node, one curve per edge; for figures and the report alike.

Lengths are in inches at a font of 7 points, x to the right, y upwards and at most 0.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from fedbn.graphs.dag import DAG
from fedbn.graphs.layout import LayeredLayout, layered_layout

Edge = tuple[str, str]
Point = tuple[float, float]

LAYER = 0.62
HALF = 0.105
"""From one layer to the next, and half the height of a box."""

LARGE = 150
"""Above so many nodes only one width is tried, as each costs seconds, and no figure is drawn: the
report, which can be searched and scrolled, is the picture."""

LARGEST = 2_000
"""Above so many nodes nothing is drawn: a results folder has neither figures nor a report."""

_PAGE = (7.0, 9.0)
_EM = 7.0 / 72.0
# dx/dy of an edge where it passes a layer: it stays in its gap between the boxes.
_STEEPEST = 0.4
_CLEAR = 0.06


@dataclass(frozen=True, eq=False)
class Placement:
    """Boxes and routes of a network.

    Attributes
    ----------
    positions : centre of every node's box.
    widths : of the boxes; all are 2 HALF high.
    routes : edge -> points from its upper to its lower end, both on borders of boxes.
    width, height : of the drawing.
    """

    positions: Mapping[str, Point]
    widths: Mapping[str, float]
    routes: Mapping[Edge, tuple[Point, ...]]
    width: float
    height: float

    def is_upside_down(self, edge: Edge) -> bool:
        """Whether the parent is the lower end."""
        return self.positions[edge[0]][1] < self.positions[edge[1]][1]

    def route_around(self, pair: Edge) -> tuple[Point, ...]:
        """From the pair's upper to its lower node, past the boxes between; of one layer: below."""
        upper, lower = pair[::-1] if self.is_upside_down(pair) else pair
        (x0, y0), (x1, y1) = self.positions[upper], self.positions[lower]
        if y0 == y1:
            low = y0 - HALF
            return ((x0, low), ((x0 + x1) / 2, low - 0.55 * (LAYER - 2 * HALF)), (x1, low))
        steps = round((y0 - y1) / LAYER)
        bends = [self._free(k, steps, (x0, y0), (x1, y1)) for k in range(1, steps)]
        lean = 0.3 * (x1 - x0)
        first = (x0 + _within(lean, 0.35 * self.widths[upper]), y0 - HALF)
        last = (x1 - _within(lean, 0.35 * self.widths[lower]), y1 + HALF)
        return (first, *bends, last)

    def _free(self, step: int, steps: int, start: Point, end: Point) -> Point:
        """The place nearest to the straight line, in a layer, that no box covers."""
        x, y = start[0] + (end[0] - start[0]) * step / steps, start[1] - step * LAYER
        for left, right in self._layers.get(round(-y / LAYER), ()):
            if left - _CLEAR < x < right + _CLEAR:
                x = left - _CLEAR if x - left < right - x else right + _CLEAR
                break
        return x, y

    @cached_property
    def _layers(self) -> dict[int, list[tuple[float, float]]]:
        found: dict[int, list[tuple[float, float]]] = {}
        for name, (x, y) in self.positions.items():
            half = self.widths[name] / 2
            found.setdefault(round(-y / LAYER), []).append((x - half, x + half))
        return found


def _within(value: float, limit: float) -> float:
    return max(-limit, min(limit, value))


def place_network(dag: DAG, labels: Mapping[str, str], also: Sequence[Edge] = ()) -> Placement:
    """Place a DAG in layers, parents above, so that a page of 7 by 9 inches shrinks it least.

    Parameters
    ----------
    labels : what is written in the boxes.
    also : further pairs that get routes between the layers.
    """
    widths = {name: label_width(labels[name]) * _EM + 0.13 for name in dag.names}
    layout = _page_layout(dag, widths, also)
    positions = {name: (x, -y * LAYER) for name, (x, y) in layout.positions.items()}
    return Placement(
        positions=positions,
        widths=widths,
        routes=_with_ports(layout, positions, widths),
        width=layout.width,
        height=(layout.n_layers - 1) * LAYER + 2 * HALF,
    )


def _page_layout(dag: DAG, widths: Mapping[str, float], also: Sequence[Edge]) -> LayeredLayout:
    def shrinkage(layout: LayeredLayout) -> float:
        return max(layout.width / _PAGE[0], layout.n_layers * LAYER / _PAGE[1])

    narrowest = max(widths.values(), default=1.0)
    steps: Sequence[float] = range(1, 11)
    if dag.n > LARGE:
        steps = (24.0,)
    candidates = [narrowest + 0.7 * step for step in steps]
    layouts = [layered_layout(dag, widths, capacity=c, also=also) for c in candidates]
    return min(layouts, key=shrinkage)


def _with_ports(
    layout: LayeredLayout, positions: Mapping[str, Point], widths: Mapping[str, float]
) -> dict[Edge, tuple[Point, ...]]:
    """The routes with their ends spread along the borders of the boxes."""
    routes = {edge: [(x, -y * LAYER) for x, y in route] for edge, route in layout.routes.items()}
    for at_top in (True, False):
        ends: dict[str, list[tuple[float, Edge]]] = {}
        for edge, route in routes.items():
            upper_first = positions[edge[0]][1] >= positions[edge[1]][1]
            node = edge[upper_first == at_top]
            ends.setdefault(node, []).append((route[-2 if at_top else 1][0], edge))
        for node, users in ends.items():
            users.sort()
            step = min(0.11, 0.8 * widths[node] / len(users))
            for rank, (_, edge) in enumerate(users):
                end = -1 if at_top else 0
                x, y = routes[edge][end]
                shift = (rank - (len(users) - 1) / 2) * step
                routes[edge][end] = (x + shift, y + (HALF if at_top else -HALF))
    return {edge: tuple(route) for edge, route in routes.items()}


def curve_through(points: Sequence[Point]) -> list[Point]:
    """A smooth curve through the points, vertical at both ends: start, then three points a piece.

    Cubic Hermite in y, as Bézier points. At a bend it is straight, and steep enough, as long as
    boxes of that layer are beside it.
    """
    (first, *bends, last) = points
    if len(bends) == 1 and first[1] == last[1]:
        low = bends[0][1]
        return [first, (first[0], low), (last[0], low), last]
    way = [(*first, 0.0)]
    for k, (x, y) in enumerate(bends, start=1):
        (x0, y0), (x2, y2) = points[k - 1], points[k + 1]
        slope = max(-_STEEPEST, min(_STEEPEST, (x2 - x0) / (y2 - y0)))
        half = HALF if y2 > y0 else -HALF
        way += [(x - slope * half, y - half, slope), (x + slope * half, y + half, slope)]
    way.append((*last, 0.0))
    vertices = [first]
    for (x0, y0, before), (x1, y1, after) in pairwise(way):
        third = (y1 - y0) / (3.0 if bends else 2.4)
        vertices += [(x0 + before * third, y0 + third), (x1 - after * third, y1 - third), (x1, y1)]
    return vertices


# --- labels -------------------------------------------------------------------------------------


def printable_name(name: str) -> str:
    """A name in which characters that show nothing, or turn the text around, are "·".

    >>> printable_name("a" + chr(7) + chr(0x202E) + "b")
    'a··b'
    """
    return "".join(c if c.isprintable() else "·" for c in name)


def printable_label(name: str) -> str:
    """A printable name that fits a box: a long one loses its middle.

    >>> printable_label("a" + chr(7) + " name that is longer than any box")
    'a· name tha… any box'
    """
    plain = printable_name(name)
    return plain if len(plain) <= 20 else f"{plain[:11]}…{plain[-8:]}"


def label_width(label: str) -> float:
    """The width of a text in ems of DejaVu Sans or a narrower font, rounded up."""
    return sum(_advance(char) for char in label)


def _advance(char: str) -> float:
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.05
    if char in "MW@%…":
        return 1.0
    return 0.74 if char.isupper() else 0.65
