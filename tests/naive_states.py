"""Slow, obvious twins of what is read off a path: votes, distances, covered reversals, cuts.

dag[a, b]: a -> b. A class is a matrix in which a - b is there both ways.
"""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np

from tests import naive_consensus as naive

Matrix = np.ndarray


def smhd(a: Matrix, b: Matrix) -> int:
    """Pairs that one moral graph joins and the other does not."""
    return int((naive.moral(a) != naive.moral(b)).sum()) // 2


def shd(a: Matrix, b: Matrix) -> int:
    """Pairs that two classes join in another way, or one of them not at all."""
    p, q = naive.cpdag(a), naive.cpdag(b)
    return sum((p[x, y], p[y, x]) != (q[x, y], q[y, x]) for x, y in combinations(range(len(p)), 2))


def reverse_covered(dag: Matrix, margins: Matrix) -> Matrix:
    """Reverse the covered edge of least margin, of equals the first, while that is below 0."""
    dag = dag.copy()
    while True:
        covered = [
            (int(margins[x, y]), int(x), int(y))
            for x, y in np.argwhere(dag)
            if set(np.flatnonzero(dag[:, y])) - {x} == set(np.flatnonzero(dag[:, x]))
        ]
        margin, x, y = min(covered, default=(0, -1, -1))
        if margin >= 0:
            return dag
        dag[x, y], dag[y, x] = False, True


def cut_size(dag: Matrix, x: int, y: int, s: set[int]) -> int:
    """Of the moral graph of the ancestors, by networkx's maximum flow."""
    graph, left = naive.ancestral_moral(dag, x, y, s)
    flow = nx.Graph()
    flow.add_nodes_from(left)
    flow.add_edges_from((a, b, {"capacity": 1}) for a in left for b in left if graph[a, b])
    return int(nx.maximum_flow_value(flow, x, y))


def cost_sums(
    dags: list[Matrix], weights: list[int], taken: list[int], chain: list[int]
) -> list[list[int]]:
    """What it costs to make each node a sink: after those taken, and after each of the chain."""
    rest = [dag.copy() for dag in dags]

    def remove(v: int) -> None:
        for dag in rest:
            naive.make_sink(dag, v)
            dag[:, v] = False

    def sums() -> list[int]:
        return [
            sum(w * naive.sink_cost(dag, v) for w, dag in zip(weights, rest, strict=True))
            for v in range(len(dags[0]))
        ]

    for v in taken:
        remove(v)
    found = [sums()]
    for v in chain:
        remove(v)
        found.append(sums())
    return found
