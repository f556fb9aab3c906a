"""A layered drawing of a DAG: parents above children, few crossings, short edges.

The four steps of Sugiyama, Tagawa and Toda (1981), each in its simplest form that reads well up to
about a hundred nodes:

1. layers: list scheduling with a bound on a layer's width (as Coffman and Graham), then nodes sink
   towards their children while that shortens edges;
2. long edges become chains of bend points, one per layer;
3. order within layers: barycentre sweeps, the order with the fewest crossings is kept;
4. coordinates: least squares towards the neighbours' mean, subject to the order and to the widths
   (pool adjacent violators, exact per layer), swept down and up.

Deterministic: ties are broken by position, which is name order for sorted names.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fedbn.graphs.dag import DAG

Edge = tuple[str, str]
Point = tuple[float, float]

_SWEEPS = 24
_BEND = 0.08
_GAP = 0.16


@dataclass(frozen=True)
class LayeredLayout:
    """Where to draw: node centres and, per edge, the points from its upper to its lower end.

    `x` grows to the right in the unit of the widths, `y` is the layer, 0 at the top.
    """

    positions: Mapping[str, Point]
    routes: Mapping[Edge, tuple[Point, ...]]
    n_layers: int
    width: float


def layered_layout(
    dag: DAG, widths: Mapping[str, float], *, capacity: float, also: Sequence[Edge] = ()
) -> LayeredLayout:
    """Lay out a DAG in layers.

    Parameters
    ----------
    dag : the graph.
    widths : of every node, in any unit.
    capacity : the nodes of a layer, with gaps, are at most this wide (one node always fits).
    also : further pairs to route between the layers, whichever end is above.

    Returns
    -------
    The layout; `routes` has the edges of `dag` and `also`, as given.
    """
    place = {index: rank for rank, index in enumerate(dag.topological_order())}
    position = {name: i for i, name in enumerate(dag.names)}
    links = [(position[p], position[c]) for p, c in [*dag.edges, *also]]
    down = [(a, b) if place[a] < place[b] else (b, a) for a, b in links]
    sizes = [widths[name] for name in dag.names]
    layer = _layers(dag.n, sorted(set(down)), sizes, capacity)
    drawing = _Drawing(layer, sizes, down)
    drawing.reduce_crossings()
    x = drawing.coordinates()
    routes = {
        edge: tuple((x[v], float(drawing.layer[v])) for v in chain)
        for edge, chain in zip([*dag.edges, *also], drawing.chains, strict=True)
    }
    return LayeredLayout(
        positions={name: (x[i], float(layer[i])) for name, i in position.items()},
        routes=routes,
        n_layers=max(layer, default=0) + 1,
        width=max((x[v] + s / 2 for v, s in enumerate(drawing.sizes)), default=0.0),
    )


def _layers(
    n: int, edges: Sequence[tuple[int, int]], sizes: Sequence[float], capacity: float
) -> list[int]:
    parents: list[list[int]] = [[] for _ in range(n)]
    children: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        parents[b].append(a)
        children[a].append(b)
    height = _heights(children)
    layer = [-1] * n
    used: list[float] = []
    waiting = sorted(range(n), key=lambda v: (-height[v], v))
    while waiting:
        now = len(used)
        used.append(0.0)
        for v in list(waiting):
            free = all(0 <= layer[p] < now for p in parents[v])
            if free and (used[now] == 0 or used[now] + sizes[v] + _GAP <= capacity):
                layer[v] = now
                used[now] += sizes[v] + _GAP
                waiting.remove(v)
    _sink(layer, used, sizes, capacity, parents, children)
    return layer


def _heights(children: Sequence[Sequence[int]]) -> list[int]:
    """Length of the longest path downwards, per node."""
    height = [0] * len(children)
    for _ in children:
        before = list(height)
        for v, below in enumerate(children):
            height[v] = max((height[c] + 1 for c in below), default=0)
        if height == before:
            break
    return height


def _sink(
    layer: list[int],
    used: list[float],
    sizes: Sequence[float],
    capacity: float,
    parents: Sequence[Sequence[int]],
    children: Sequence[Sequence[int]],
) -> None:
    """Lower nodes with more children than parents while they fit, until nothing moves."""
    moved = True
    while moved:
        moved = False
        for v in sorted(range(len(layer)), key=lambda v: (-layer[v], v)):
            if len(children[v]) <= len(parents[v]):
                continue
            for target in range(min(layer[c] for c in children[v]) - 1, layer[v], -1):
                if used[target] + sizes[v] + _GAP <= capacity:
                    used[layer[v]] -= sizes[v] + _GAP
                    used[target] += sizes[v] + _GAP
                    layer[v] = target
                    moved = True
                    break


class _Drawing:
    """Nodes and bend points in layers; the private state of steps 2 to 4."""

    def __init__(
        self, layer: Sequence[int], sizes: Sequence[float], edges: Sequence[tuple[int, int]]
    ) -> None:
        self.layer = list(layer)
        self.sizes = list(sizes)
        self.n_nodes = len(layer)
        self.chains: list[list[int]] = [self._chain(a, b) for a, b in edges]
        self.above: list[list[int]] = [[] for _ in self.layer]
        self.below: list[list[int]] = [[] for _ in self.layer]
        for chain in self.chains:
            for a, b in pairwise(chain):
                self.below[a].append(b)
                self.above[b].append(a)
        self.rows: list[list[int]] = [[] for _ in range(max(self.layer, default=0) + 1)]
        for v, row in enumerate(self.layer):
            self.rows[row].append(v)

    def _chain(self, a: int, b: int) -> list[int]:
        first = len(self.layer)
        inner = range(self.layer[a] + 1, self.layer[b])
        self.layer += list(inner)
        self.sizes += [_BEND] * len(inner)
        return [a, *range(first, first + len(inner)), b]

    def reduce_crossings(self) -> None:
        """Order every row by barycentres, down and up, and keep the best order seen."""
        best, fewest = [list(row) for row in self.rows], self._crossings()
        for sweep in range(_SWEEPS):
            downwards = sweep % 2 == 0
            for row in range(len(self.rows)) if downwards else reversed(range(len(self.rows))):
                self._sort_row(row, self.above if downwards else self.below)
            self._swap_neighbours()
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(row) for row in self.rows], crossings
        self.rows = best

    def _ranks(self) -> list[int]:
        rank = [0] * len(self.layer)
        for row in self.rows:
            for place, v in enumerate(row):
                rank[v] = place
        return rank

    def _sort_row(self, row: int, near: Sequence[Sequence[int]]) -> None:
        rank = self._ranks()

        def centre(v: int) -> float:
            return sum(rank[u] for u in near[v]) / len(near[v]) if near[v] else float(rank[v])

        self.rows[row].sort(key=lambda v: (centre(v), rank[v]))

    def _swap_neighbours(self) -> None:
        """Swap adjacent nodes of a row where that removes crossings."""
        rank = self._ranks()
        for row in self.rows:
            for place in range(len(row) - 1):
                a, b = row[place], row[place + 1]
                saved = 0
                for near in (self.above, self.below):
                    for u in near[a]:
                        for w in near[b]:
                            saved += (rank[u] > rank[w]) - (rank[u] < rank[w])
                if saved > 0:
                    row[place], row[place + 1] = b, a
                    rank[a], rank[b] = place + 1, place

    def _crossings(self) -> int:
        rank = self._ranks()
        total = 0
        for row in self.rows:
            ends = [rank[w] for v in row for w in sorted(self.below[v], key=lambda w: rank[w])]
            seen: list[int] = []
            for count, end in enumerate(ends):
                total += count - bisect_left(seen, end + 1)
                insort(seen, end)
        return total

    def coordinates(self) -> list[float]:
        """x of every node and bend point; the leftmost border is 0."""
        x = [0.0] * len(self.layer)
        for row in self.rows:
            for v, at in zip(row, self._offsets(row), strict=True):
                x[v] = at
        for sweep in range(_SWEEPS):
            for row in self.rows if sweep % 2 == 0 else reversed(self.rows):
                self._place_row(row, x)
        left = min((x[v] - s / 2 for v, s in enumerate(self.sizes)), default=0.0)
        return [value - left for value in x]

    def _offsets(self, row: Sequence[int]) -> list[float]:
        """Centres of a row packed to the left."""
        offsets, edge = [], 0.0
        for v in row:
            gap = _GAP if v < self.n_nodes else 0.03
            offsets.append(edge + self.sizes[v] / 2)
            edge += self.sizes[v] + gap
        return offsets

    def _place_row(self, row: Sequence[int], x: list[float]) -> None:
        offsets = self._offsets(row)
        wanted, weights = [], []
        for v, offset in zip(row, offsets, strict=True):
            near = [*self.above[v], *self.below[v]]
            straight = 4.0 if v >= self.n_nodes else 1.0
            mean = sum(x[u] for u in near) / len(near) if near else x[v]
            wanted.append(mean - offset)
            weights.append(straight * max(1, len(near)))
        for v, offset, shift in zip(row, offsets, _isotonic(wanted, weights), strict=True):
            x[v] = offset + shift


def _isotonic(wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The nondecreasing values nearest to `wanted` in weighted least squares."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(wanted, weights, strict=True):
        block = (value, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            other = blocks.pop()
            total = other[1] + block[1]
            mean = (other[0] * other[1] + block[0] * block[1]) / total
            block = (mean, total, other[2] + block[2])
        blocks.append(block)
    return [value for value, _, count in blocks for _ in range(count)]
