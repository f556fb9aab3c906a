"""Slow, obvious twins of the kernels, written from the definitions."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np

from fedbn.graphs.dag import DAG, find_cycle


def all_dags(n: int) -> list[DAG]:
    """Every DAG over v0 ... v(n-1); 1, 3, 25, 543 of them for n = 1 to 4."""
    names = tuple(f"v{i}" for i in range(n))
    pairs = list(combinations(range(n), 2))
    found = []
    for choice in product((0, 1, 2), repeat=len(pairs)):
        matrix = np.zeros((n, n), dtype=bool)
        for (i, j), kind in zip(pairs, choice, strict=True):
            if kind:
                matrix[(i, j) if kind == 1 else (j, i)] = True
        if find_cycle(matrix) is None:
            found.append(DAG(names, matrix))
    return found


def skeleton(dag: DAG) -> np.ndarray:
    return dag.adjacency | dag.adjacency.T


def v_structures(dag: DAG) -> frozenset[tuple[int, int, int]]:
    """(a, c, b) with a -> c <- b, a < b, not adjacent."""
    around = skeleton(dag)
    return frozenset(
        (a, c, b)
        for c in range(dag.n)
        for a, b in combinations(dag.parents(c), 2)
        if not around[a, b]
    )


def same_class(a: DAG, b: DAG) -> bool:
    """Verma and Pearl: same skeleton, same v-structures."""
    return bool(np.array_equal(skeleton(a), skeleton(b))) and v_structures(a) == v_structures(b)


def members(dag: DAG) -> list[DAG]:
    """Every DAG of the equivalence class, by trying all orientations of the skeleton."""
    edges = [(i, j) for i, j in np.argwhere(np.triu(skeleton(dag)))]
    found = []
    for flips in product((False, True), repeat=len(edges)):
        matrix = np.zeros((dag.n, dag.n), dtype=bool)
        for (i, j), flip in zip(edges, flips, strict=True):
            matrix[(j, i) if flip else (i, j)] = True
        if find_cycle(matrix) is None and same_class(DAG(dag.names, matrix), dag):
            found.append(DAG(dag.names, matrix))
    return found


def cpdag(dag: DAG) -> np.ndarray:
    """The union of all members: an edge is undirected when members disagree on it."""
    return np.logical_or.reduce([member.adjacency for member in members(dag)])


def d_separated(dag: DAG, x: int, y: int, given: set[int]) -> bool:
    """By definition: no simple path between x and y is active."""
    around = skeleton(dag)
    reach = np.linalg.matrix_power(np.eye(dag.n) + dag.adjacency, dag.n) > 0

    def active(path: list[int]) -> bool:
        for a, m, b in zip(path, path[1:], path[2:], strict=False):
            if dag.adjacency[a, m] and dag.adjacency[b, m]:
                if not any(reach[m, z] for z in given):
                    return False
            elif m in given:
                return False
        return True

    def extend(path: list[int]) -> bool:
        if path[-1] == y:
            return active(path)
        return any(
            extend([*path, v]) for v in range(dag.n) if around[path[-1], v] and v not in path
        )

    return not extend([x])


def reaches(dag: DAG, x: int, y: int) -> bool:
    """A directed path leads from x to y."""
    return bool((np.linalg.matrix_power(np.eye(dag.n) + dag.adjacency, dag.n) > 0)[x, y])


def is_adjustment_set(dag: DAG, x: int, y: int, given: set[int]) -> bool:
    """Adjusting for `given` yields the effect of x on y (Shpitser, VanderWeele, Robins 2010).

    Nothing in it comes after a node of a causal path, and it blocks all other paths: x and y are
    separated where the first edges of causal paths are cut.
    """
    causal = {v for v in range(dag.n) if v != x and reaches(dag, x, v) and reaches(dag, v, y)}
    if any(reaches(dag, v, z) for v in causal for z in given):
        return False
    cut = dag.adjacency.copy()
    cut[x, sorted(causal)] = False
    return d_separated(DAG(dag.names, cut), x, y, given)


def moral_graph(dag: DAG) -> np.ndarray:
    """Adjacent, or with a common child."""
    out = skeleton(dag).copy()
    for child in range(dag.n):
        for a, b in combinations(dag.parents(child), 2):
            out[a, b] = out[b, a] = True
    return out


def treewidth(adjacency: np.ndarray) -> int:
    """The exact treewidth: the best of all elimination orders (n <= 7)."""
    n = len(adjacency)
    best = max(n - 1, 0)
    for order in permutations(range(n)):
        matrix = adjacency.copy()
        width = 0
        for v in order:
            around = np.flatnonzero(matrix[v])
            width = max(width, len(around))
            matrix[np.ix_(around, around)] = True
            matrix[v] = matrix[:, v] = False
            np.fill_diagonal(matrix, False)
        best = min(best, width)
    return best


def min_fill_order(adjacency: np.ndarray) -> list[int]:
    """Always the node that needs fewest fill edges; ties: fewest neighbours, then index."""
    around = {v: set(np.flatnonzero(row).tolist()) for v, row in enumerate(adjacency)}
    order = []
    while around:

        def cost(v: int) -> tuple[int, int, int]:
            missing = sum(b not in around[a] for a, b in combinations(sorted(around[v]), 2))
            return missing, len(around[v]), v

        order.append(min(around, key=cost))
        eliminate(around, order[-1])
    return order


def maximum_cardinality_order(adjacency: np.ndarray) -> list[int]:
    """Visit the node with most visited neighbours, ties by index; the order is the reverse."""
    visited: list[int] = []
    while len(visited) < len(adjacency):
        left = [v for v in range(len(adjacency)) if v not in visited]
        visited.append(min(left, key=lambda v: (-int(adjacency[v, visited].sum()), v)))
    return visited[::-1]


def elimination_width(adjacency: np.ndarray, order: list[int]) -> int:
    """Most neighbours that a node has when it is eliminated."""
    around = {v: set(np.flatnonzero(row).tolist()) for v, row in enumerate(adjacency)}
    width = 0
    for node in order:
        width = max(width, len(around[node]))
        eliminate(around, node)
    return width


def eliminate(around: dict[int, set[int]], node: int) -> None:
    """Join the neighbours of `node` pairwise and take it out."""
    neighbours = around.pop(node)
    for v in neighbours:
        around[v] = (around[v] | neighbours) - {v, node}
