"""How many DAGs a Markov equivalence class has.

The undirected part of a CPDAG falls into chordal components, oriented independently. A component
is oriented by choosing its one root: the edges that this compels leave smaller chordal components
(He, Jia & Yu 2015, theorems 4 to 7). Trees and complete graphs have closed forms.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag

Edges = frozenset[tuple[int, int]]


def class_size(dag: DAG) -> int:
    """The number of DAGs that are Markov equivalent to `dag`, itself included.

    >>> class_size(DAG.from_edges("abc", [("a", "b"), ("b", "c")]))
    3
    """
    adjacency = dag_to_cpdag(dag).adjacency
    pairs = np.argwhere(np.tril(adjacency & adjacency.T)).tolist()
    edges = frozenset((i, j) for i, j in pairs)
    return math.prod(_orientations(part) for part in _parts(edges))


@cache
def _orientations(edges: Edges) -> int:
    """Acyclic orientations without v-structures of a connected chordal graph."""
    nodes = {node for edge in edges for node in edge}
    m = len(nodes)
    if len(edges) == m - 1:
        return m
    if 2 * len(edges) == m * (m - 1):
        return math.factorial(m)
    return sum(
        math.prod(_orientations(part) for part in _parts(_undirected_rest(edges, root)))
        for root in nodes
    )


def _parts(edges: Edges) -> list[Edges]:
    """The connected components that have edges."""
    around: dict[int, set[int]] = {}
    for a, b in edges:
        around.setdefault(a, set()).add(b)
        around.setdefault(b, set()).add(a)
    found, seen = [], set[int]()
    for start in around:
        if start in seen:
            continue
        inside, queue = {start}, [start]
        for node in queue:
            new = around[node] - inside
            inside |= new
            queue += new
        seen |= inside
        found.append(frozenset(edge for edge in edges if edge[0] in inside))
    return found


def _undirected_rest(edges: Edges, root: int) -> Edges:
    """The edges that stay undirected once every edge of the root points away from it.

    Layers of equal distance from the root follow one another; an edge a - b inside a layer becomes
    a -> b iff some node of the layer before, or of this one and directed to a, is adjacent to a
    and not to b.
    """
    around: dict[int, set[int]] = {}
    for a, b in edges:
        around.setdefault(a, set()).add(b)
        around.setdefault(b, set()).add(a)
    distance = {root: 0}
    queue = [root]
    for node in queue:
        for other in sorted(around[node]):
            if other not in distance:
                distance[other] = distance[node] + 1
                queue.append(other)
    into: dict[int, set[int]] = {node: set() for node in around}
    for node in queue:
        into[node] = {other for other in around[node] if distance[other] < distance[node]}
    free = {(a, b) for a, b in edges if distance[a] == distance[b]}
    changed = True
    while changed:
        changed = False
        for a, b in sorted(free):
            for tail, head in ((a, b), (b, a)):
                if into[tail] - around[head] - {head}:
                    into[head].add(tail)
                    free.discard((a, b))
                    changed = True
                    break
    return frozenset(free)
