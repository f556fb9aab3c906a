"""Slow, obvious twin of the fusion and of the Greedy Delete, written from the definitions.

Graphs are bool matrices [n, n], [i, j] = i -> j; a CPDAG has both for an undirected edge. No kernel
is used: I-maps by separation, cuts by looking at all subsets of nodes, classes by Meek's rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from fedbn.consensus.path import McbncPath
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG

Matrix = np.ndarray


def ancestors(dag: Matrix, nodes: set[int]) -> set[int]:
    inside = set(nodes)
    while True:
        more = {int(p) for v in inside for p in np.flatnonzero(dag[:, v])} - inside
        if not more:
            return inside
        inside |= more


def moral(dag: Matrix) -> Matrix:
    out = dag | dag.T
    for child in range(len(dag)):
        for a, b in combinations(np.flatnonzero(dag[:, child]), 2):
            out[a, b] = out[b, a] = True
    return out


def ancestral_moral(dag: Matrix, x: int, y: int, s: set[int]) -> tuple[Matrix, set[int]]:
    """Moral graph of the ancestral subgraph of {x, y} + S without S, and its nodes."""
    return moral_without(dag, ancestors(dag, {x, y} | s), s)


def moral_without(dag: Matrix, inside: set[int], s: set[int]) -> tuple[Matrix, set[int]]:
    """Moral graph of the subgraph of some nodes without S, and its nodes."""
    mask = np.array([v in inside for v in range(len(dag))])
    graph = moral(dag & np.outer(mask, mask))
    left = inside - s
    keep = np.array([v in left for v in range(len(dag))])
    return graph & np.outer(keep, keep), left


def separated(dag: Matrix, x: int, y: int, s: set[int]) -> bool:
    graph, _ = ancestral_moral(dag, x, y, s)
    reach = {x}
    while True:
        more = {int(w) for v in reach for w in np.flatnonzero(graph[v])} - reach
        if not more:
            return y not in reach
        reach |= more


def directed_paths(dag: Matrix, a: int, b: int) -> int:
    return 1 if a == b else sum(directed_paths(dag, int(c), b) for c in np.flatnonzero(dag[a]))


def order(
    dags: list[Matrix], weights: list[Fraction], before: frozenset[tuple[int, int]] = frozenset()
) -> list[int]:
    """From last to first: the cheapest node becomes a sink everywhere and is removed.

    before : (u, v) where u must precede v: no such u is taken while v is left.
    """
    dags = [dag.copy() for dag in dags]
    left = list(range(len(dags[0])))
    out: list[int] = []
    while left:
        able = [v for v in left if not any((v, u) in before for u in left)]
        costs = [
            sum((w * sink_cost(dag, v) for dag, w in zip(dags, weights, strict=True)), Fraction(0))
            for v in able
        ]
        v = able[costs.index(min(costs))]
        out.insert(0, v)
        left.remove(v)
        for dag in dags:
            make_sink(dag, v)
            dag[:, v] = False
    return out


def sink_cost(dag: Matrix, v: int) -> int:
    around = dag | dag.T
    parents, children = np.flatnonzero(dag[:, v]), np.flatnonzero(dag[v])
    pairs = sum(not around[p, c] for p in parents for c in children)
    spouses = {q for c in children for q in np.flatnonzero(dag[:, c])} - {v}
    return len(children) - 1 + pairs + sum(not around[q, v] for q in spouses)


def make_sink(dag: Matrix, v: int) -> None:
    while dag[v].any():
        c = next(int(c) for c in np.flatnonzero(dag[v]) if directed_paths(dag, v, int(c)) == 1)
        of_v, of_c = dag[:, v].copy(), dag[:, c].copy()
        of_c[v] = False
        dag[:, c] = of_c | of_v
        dag[:, v] = of_v | of_c
        dag[v, c], dag[c, v] = False, True


def imap(dag: Matrix, sigma: list[int]) -> Matrix:
    """u -> v iff u precedes v and they are not separated given v's other predecessors."""
    out = np.zeros_like(dag)
    for place, v in enumerate(sigma):
        before = set(sigma[:place])
        for u in before:
            out[u, v] = not separated(dag, u, v, before - {u})
    return out


def cut(dag: Matrix, x: int, y: int, s: set[int]) -> tuple[int, set[tuple[int, int]]]:
    """Size of the minimum cut, and the arcs of the one nearest to y: the smallest side of y."""
    graph, left = ancestral_moral(dag, x, y, s)
    size, side = smallest_side(graph, left, x, y)
    arcs = {(a, b) for a in left for b in left if dag[a, b] and (a in side) != (b in side)}
    return size, arcs


def least_cut(dag: Matrix, x: int, y: int, low: set[int], free: set[int], more: int) -> int:
    """A cut that none is below whose S has `low` and all but at most `more` of `free`.

    In the graph of the nodes that are ancestors of {x, y} + S then, without `low` and `free`.
    """
    nodes = range(len(dag))
    below = [sum(v in ancestors(dag, {u}) for u in free) for v in nodes]
    inside = ancestors(dag, {x, y} | low | {v for v in nodes if below[v] > more})
    return smallest_side(*moral_without(dag, inside, low | free), x, y)[0]


def smallest_side(graph: Matrix, left: set[int], x: int, y: int) -> tuple[int, set[int]]:
    """Size of the minimum cut between x and y, and its smallest side of y, by all subsets."""
    others = sorted(left - {x, y})
    best: tuple[int, int, set[int]] | None = None
    for size in range(len(others) + 1):
        for extra in combinations(others, size):
            side = {y, *extra}
            crossing = sum(graph[a, b] for a in side for b in left - side)
            if best is None or crossing < best[0]:
                best = (int(crossing), size, side)
    assert best is not None
    return best[0], best[2]


def cpdag(dag: Matrix) -> Matrix:
    """Skeleton and v-structures, closed under Meek's rules."""
    around = dag | dag.T
    pattern = around.copy()
    for c in range(len(dag)):
        for a, b in combinations(np.flatnonzero(dag[:, c]), 2):
            if not around[a, b]:
                pattern[c, a] = pattern[c, b] = False
    names = tuple(f"v{i}" for i in range(len(dag)))
    return meek_closure(PDAG(names, pattern)).adjacency.copy()


def extension(pdag: Matrix) -> Matrix:
    """Dor and Tarsi, read off their paper."""
    out = pdag & ~pdag.T
    rest = pdag.copy()
    left = set(range(len(pdag)))
    while left:
        for x in sorted(left):
            around = np.flatnonzero(rest[x] | rest[:, x])
            undirected = np.flatnonzero(rest[x] & rest[:, x])
            sink = not (rest[x] & ~rest[:, x]).any()
            joined = rest | rest.T
            if sink and all(joined[u, z] for u in undirected for z in around if z != u):
                break
        else:
            raise AssertionError("no consistent extension")
        out[undirected, x] = True
        rest[x] = rest[:, x] = False
        left.remove(x)
    return out


@dataclass
class State:
    """What the search has after a step."""

    x: int
    y: int
    h: tuple[int, ...]
    psi: Fraction
    arcs: list[set[tuple[int, int]]]
    cpdag: Matrix


def operators(p: Matrix, k_max: int) -> list[tuple[int, int, tuple[int, ...], set[int]]]:
    """All valid (x, y, H, S) of a CPDAG, every undirected edge in both orientations."""
    around = p | p.T
    undirected = p & p.T
    out = []
    for x, y in np.argwhere(p):
        na = [int(v) for v in np.flatnonzero(undirected[y]) if around[v, x] and v != x]
        parents = {int(v) for v in np.flatnonzero(p[:, y] & ~p[y])} - {int(x)}
        for size in range(min(k_max, len(na)) + 1):
            for h in combinations(na, size):
                rest = set(na) - set(h)
                if all(around[a, b] for a, b in combinations(rest, 2)):
                    out.append((int(x), int(y), h, rest | parents))
    return sorted(out, key=lambda o: (o[0], o[1], len(o[2]), o[2]))


def pooled(sizes: list[int], weights: list[Fraction], pooling: str) -> Fraction:
    """Mean; mean of cuts of at most 1; or the smallest size that half of the weight is within."""
    total = sum(weights)
    if pooling == "median":
        return Fraction(
            next(
                size
                for size in sorted(sizes)
                if 2 * sum(w for w, s in zip(weights, sizes, strict=True) if s <= size) >= total
            )
        )
    limit = 1 if pooling == "clip" else max(sizes)
    return (
        sum((w * min(s, limit) for w, s in zip(weights, sizes, strict=True)), Fraction(0)) / total
    )


def deleted(p: Matrix, x: int, y: int, h: tuple[int, ...]) -> Matrix:
    """The CPDAG after Delete(x, y, H)."""
    p = p.copy()
    p[x, y] = p[y, x] = False
    for c in h:
        p[c, y] = False
        if p[x, c] and p[c, x]:
            p[c, x] = False
    return cpdag(extension(p))


def greedy_delete(
    union: Matrix,
    dags: list[Matrix],
    weights: list[Fraction],
    k_max: int,
    pooling: str = "mean",
    allowed: Callable[[Matrix], bool] | None = None,
) -> list[State]:
    """Every deletion down to the empty graph; ties to the smallest (x, y, |H|, H).

    allowed : whether a CPDAG may be reached; the path ends where no operator leads to such a one.
    """
    p = cpdag(union)
    dags = [dag.copy() for dag in dags]
    states = []
    while p.any():
        best = None
        for x, y, h, s in operators(p, k_max):
            if allowed is not None and not allowed(deleted(p, x, y, h)):
                continue
            cuts = [cut(dag, x, y, s) for dag in dags]
            psi = pooled([c[0] for c in cuts], weights, pooling)
            if best is None or psi < best.psi:
                best = State(x, y, h, psi, [c[1] for c in cuts], p)
        if best is None:
            assert allowed is not None
            return states
        p = deleted(p, best.x, best.y, best.h)
        best.cpdag = p.copy()
        for dag, arcs in zip(dags, best.arcs, strict=True):
            for a, b in arcs:
                dag[a, b] = False
        states.append(best)
    return states


def meek_closure(pdag: PDAG) -> PDAG:
    """Direct every undirected edge that Meek's rules R1 to R4 compel, until none applies.

    For an undirected a - b, it becomes a -> b when
    R1: c -> a, c and b not adjacent; R2: a -> c -> b; R3: a - c -> b and a - d -> b, c and d not
    adjacent; R4: a - d, d -> c -> b, d and b not adjacent, a adjacent to c.
    """
    matrix = pdag.adjacency.copy()
    changed = True
    while changed:
        changed = False
        for a, b in np.argwhere(matrix & matrix.T):
            if matrix[a, b] and matrix[b, a] and _compelled(matrix, int(a), int(b)):
                matrix[b, a] = False
                changed = True
    return PDAG(pdag.names, matrix)


def _compelled(matrix: NDArray[np.bool_], a: int, b: int) -> bool:
    """Whether one of Meek's rules directs the undirected a - b as a -> b."""
    directed = matrix & ~matrix.T
    undirected = matrix & matrix.T
    adjacent = matrix | matrix.T
    if np.any(directed[:, a] & ~adjacent[:, b] & (np.arange(len(matrix)) != b)):
        return True
    if np.any(directed[a] & directed[:, b]):
        return True
    middle = np.flatnonzero(undirected[a] & directed[:, b])
    if any(not adjacent[c, d] for c in middle for d in middle if c < d):
        return True
    for d in np.flatnonzero(undirected[a] & ~adjacent[b]):
        if d != b and np.any(directed[d] & directed[:, b] & adjacent[a]):
            return True
    return False


def surroundings(
    votes: Matrix, sites: int
) -> dict[tuple[int, int], tuple[int, float, float, float]]:
    """Of every pair that a site joins: sites that join it, ln(1 + weighted neighbours in common),
    ln(1 + weighted other neighbours), and of both ends the weighted share of joined pairs of
    neighbours, added up; each by walking over the other variables."""
    n = len(votes)
    share = [[Fraction(int(votes[a, b]), sites) for b in range(n)] for a in range(n)]

    def clustering(a: int) -> Fraction:
        reach = sum(share[a])
        joined = sum(
            share[a][b] * share[a][c] * share[b][c] for b in range(n) for c in range(b) if a != b
        )
        return joined / max(reach * (reach - 1) / 2, Fraction(1, 2))

    found = {}
    for a in range(n):
        for b in range(a + 1, n):
            if votes[a, b]:
                others = [c for c in range(n) if c not in (a, b)]
                common = sum((share[a][c] * share[b][c] for c in others), Fraction(0))
                beside = sum((share[a][c] + share[b][c] for c in others), Fraction(0))
                found[a, b] = (
                    int(votes[a, b]),
                    log(1 + common),
                    log(1 + beside),
                    float(clustering(a) + clustering(b)),
                )
    return found


def probabilities(votes: Matrix, sites: int) -> dict[tuple[int, int], float]:
    """Of every pair that a site joins the logistic function of its log odds: each constant by the
    name of what it multiplies, in docs/studies/strengths.md."""
    n = len(votes)
    around = surroundings(votes, sites)
    joined = sum(k for k, *_ in around.values()) / sites
    found = {}
    for pair, (k, common, degree, clustering) in around.items():
        odds = log((k + 1 / 2) / (sites - k + 1 / 2))
        slope = 2.075 - 0.294 * common - 0.6008 * degree - 0.2869 * log(sites) + 0.2983 * log(n)
        base = 1.766 + 0.2873 * log(sites) - 0.2415 * log(n) - 1.185 * log((joined + 1 / 2) / n)
        total = base - 0.3671 * common - 0.5589 * degree - 0.4365 * clustering + slope * odds
        found[pair] = 1 / (1 + exp(-total))
    return found


def pruned_inputs(path: McbncPath, deletions: int) -> tuple[DAG, ...]:
    """The distinct inputs after the first `deletions` steps."""
    lost = path.lost_arcs[path.lost_arcs[:, 0] < deletions].tolist()
    gone = {(i, a, b) for _, i, a, b in lost}
    return tuple(
        DAG.from_arcs(path.names, [(a, b) for a, b in dag.arcs.tolist() if (i, a, b) not in gone])
        for i, dag in enumerate(path.inputs.dags)
    )
