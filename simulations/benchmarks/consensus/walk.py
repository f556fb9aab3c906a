"""The authors' random DAGs: a walk over connected DAGs with few parents and children.

Appendix B of the MCBNC paper (arXiv 2504.00467) takes its inputs from the generator of Puerta et
al. (Information Fusion 66, 2021), of which the authors' program BayesFL shows the rules. It is the
walk of Melançon and Philippe (2004): start from the chain v0 -> v1 -> ...; each step draws an
ordered pair (a, b). If a -> b is an edge it is removed, or, where that would disconnect the graph,
reversed if the limits allow; if it is none it is added if the limits allow: acyclic, at most 3
parents and 4 children. The base DAG is where 0.75 n² steps lead, with at most 2.5 n edges; each
input is the base after 0.75 n more steps. So "0.75 n perturbations" are tried ones: most draw a
pair that is no edge, and half of those would close a cycle or break a limit.

Unlike in the authors' program, the base itself is not among the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbn.graphs.dag import DAG

MAX_PARENTS, MAX_CHILDREN = 3, 4
EDGES_PER_NODE = 2.5
STEPS_PER_NODE = 0.75


@dataclass
class _Walk:
    """A graph on the way: `parents[v]` and `children[v]` are sets of nodes as bits of an int."""

    parents: list[int]
    children: list[int]

    def step(self, a: int, b: int, may_add: bool) -> None:
        """Remove, reverse or add a -> b, if the rules allow it."""
        if self.parents[b] >> a & 1:
            self._toggle(a, b)
            if not self._is_connected():
                self._toggle(*((b, a) if self._may_join(b, a) else (a, b)))
        elif may_add and self._may_join(a, b):
            self._toggle(a, b)

    def _toggle(self, a: int, b: int) -> None:
        self.parents[b] ^= 1 << a
        self.children[a] ^= 1 << b

    def _may_join(self, a: int, b: int) -> bool:
        """Whether a -> b keeps the limits and closes no cycle."""
        few = self.parents[b].bit_count() < MAX_PARENTS
        few = few and self.children[a].bit_count() < MAX_CHILDREN
        return few and not _reach(self.parents, a) >> b & 1

    def _is_connected(self) -> bool:
        around = [p | c for p, c in zip(self.parents, self.children, strict=True)]
        return _reach(around, 0) == (1 << len(around)) - 1

    def n_edges(self) -> int:
        return sum(p.bit_count() for p in self.parents)

    def dag(self) -> DAG:
        n = len(self.parents)
        matrix = np.array([[bool(self.children[a] >> b & 1) for b in range(n)] for a in range(n)])
        return DAG(tuple(f"v{v:03d}" for v in range(n)), matrix)


def _reach(neighbours: list[int], start: int) -> int:
    """`start` and all nodes that it reaches, as bits."""
    seen, new = 1 << start, 1 << start
    while new:
        v = (new & -new).bit_length() - 1
        new ^= 1 << v
        fresh = neighbours[v] & ~seen
        seen |= fresh
        new |= fresh
    return seen


def walked_inputs(n: int, r: int, rng: np.random.Generator) -> tuple[DAG, list[DAG]]:
    """A base DAG of n >= 2 nodes, and r inputs around it."""
    chain = _Walk([1 << v >> 1 for v in range(n)], [1 << v + 1 for v in range(n - 1)] + [0])
    steps = int(STEPS_PER_NODE * n)
    for a, b in _pairs(n, n * steps, rng):
        chain.step(a, b, may_add=chain.n_edges() < int(EDGES_PER_NODE * n))
    inputs = []
    for _ in range(r):
        walk = _Walk(list(chain.parents), list(chain.children))
        for a, b in _pairs(n, steps, rng):
            walk.step(a, b, may_add=True)
        inputs.append(walk.dag())
    return chain.dag(), inputs


def _pairs(n: int, count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Ordered pairs of different nodes, uniformly."""
    a = rng.integers(n, size=count)
    b = rng.integers(n - 1, size=count)
    return [(int(x), int(y + (y >= x))) for x, y in zip(a, b, strict=True)]
