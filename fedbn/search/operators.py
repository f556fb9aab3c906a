"""Insert, Delete and Turn on a CPDAG: their definitions, one by one.

Chickering 2002, theorems 15 and 17; Hauser & Bühlmann 2012, propositions 31 (an undirected edge)
and 34 (a directed one). Notation: Ne(y) undirected neighbours, Pa(y) parents, Adj(x) everything
adjacent, NA_yx = Ne(y) ∩ Adj(x). Nodes are indices; `adjacency[i, j]` means i -> j, both
directions an undirected edge.

The searches enumerate these operators in compiled code. The tests compare what they find with these
operators and with the definition by members of the class.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from fedbn.arrays import Bools
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG, consistent_extension, dag_to_cpdag
from fedbn.scores.base import LocalScore
from fedbn.search.class_search import Kind


@dataclass(frozen=True)
class Insert:
    """Add x -> y and direct t -> y for t in T, T ⊆ Ne(y) \\ Adj(x)."""

    x: int
    y: int
    T: frozenset[int]
    kind: ClassVar[Kind] = "insert"

    def is_valid(self, cpdag: PDAG) -> bool:
        """x and y are not adjacent; (1) NA_yx ∪ T is a clique; (2) it meets every semi-directed
        path from y to x."""
        x, y, T = self.x, self.y, self.T
        if x == y or y in _adjacent(cpdag, x):
            return False
        if not T.issubset(_neighbours(cpdag, y) - _adjacent(cpdag, x)):
            return False
        S = _common(cpdag, y, x) | T
        return _is_clique(cpdag, S) and not _has_path(cpdag, y, x, S)

    def gain(self, score: LocalScore, cpdag: PDAG) -> float:
        """s(y, NA_yx ∪ T ∪ Pa(y) ∪ {x}) - s(y, NA_yx ∪ T ∪ Pa(y))."""
        P = _common(cpdag, self.y, self.x) | self.T | _parents(cpdag, self.y)
        return score.local_score(self.y, P | {self.x}) - score.local_score(self.y, P)

    def apply(self, cpdag: PDAG) -> PDAG:
        """The CPDAG that the operator leads to; StructureError if it is not valid."""
        matrix = cpdag.adjacency.copy()
        matrix[self.x, self.y] = True
        for t in self.T:
            matrix[self.y, t] = False
        return dag_to_cpdag(consistent_extension(PDAG(cpdag.names, matrix)))


@dataclass(frozen=True)
class Delete:
    """Remove x -> y or x - y, direct y -> h for h in H, and x -> h where x - h; H ⊆ NA_yx."""

    x: int
    y: int
    H: frozenset[int]
    kind: ClassVar[Kind] = "delete"

    def is_valid(self, cpdag: PDAG) -> bool:
        """x -> y or x - y, and NA_yx \\ H is a clique."""
        NA = _common(cpdag, self.y, self.x)
        present = bool(cpdag.adjacency[self.x, self.y])
        return present and self.H <= NA and _is_clique(cpdag, NA - self.H)

    def gain(self, score: LocalScore, cpdag: PDAG) -> float:
        """s(y, (NA_yx \\ H) ∪ Pa(y) \\ {x}) - s(y, (NA_yx \\ H) ∪ Pa(y) ∪ {x})."""
        P = (_common(cpdag, self.y, self.x) - self.H) | _parents(cpdag, self.y)
        return score.local_score(self.y, P - {self.x}) - score.local_score(self.y, P | {self.x})

    def apply(self, cpdag: PDAG) -> PDAG:
        """The CPDAG that the operator leads to; StructureError if it is not valid."""
        matrix = cpdag.adjacency.copy()
        matrix[self.x, self.y] = matrix[self.y, self.x] = False
        for h in self.H:
            matrix[h, self.y] = False
            if matrix[self.x, h]:
                matrix[h, self.x] = False
        return dag_to_cpdag(consistent_extension(PDAG(cpdag.names, matrix)))


@dataclass(frozen=True)
class Turn:
    """Make y -> x, or x - y, an edge x -> y where C ⊆ Ne(y) \\ {x} are the neighbours of y that
    become its parents."""

    x: int
    y: int
    C: frozenset[int]
    kind: ClassVar[Kind] = "turn"

    def is_valid(self, cpdag: PDAG) -> bool:
        """C is a clique and

        for y -> x: NA_yx ⊆ C, and C ∪ Ne(x) meets every semi-directed path from y to x but the
        edge itself;
        for x - y: C \\ NA_yx is not empty, and C ∩ NA_yx separates it from NA_yx \\ C in the
        graph over Ne(y).
        """
        x, y, C = self.x, self.y, self.C
        if not cpdag.adjacency[y, x] or not C.issubset(_neighbours(cpdag, y) - {x}):
            return False
        if not _is_clique(cpdag, C):
            return False
        NA = _common(cpdag, y, x)
        if not cpdag.adjacency[x, y]:
            blocked = C | _neighbours(cpdag, x)
            return NA <= C and not _has_path(cpdag, y, x, blocked, direct=False)
        reached = set(C - NA)
        grown = bool(reached)
        while grown:
            around = frozenset().union(*(_adjacent(cpdag, v) for v in reached))
            more = (around & _neighbours(cpdag, y)) - (C & NA) - reached - {x}
            reached |= more
            grown = bool(more)
        return bool(reached) and not reached & (NA - C)

    def gain(self, score: LocalScore, cpdag: PDAG) -> float:
        """s(y, Pa(y) ∪ C ∪ {x}) - s(y, Pa(y) ∪ C) + s(x, Q \\ {y}) - s(x, Q ∪ {y}), where Q is
        Pa(x), for an undirected edge with C ∩ NA_yx."""
        x, y = self.x, self.y
        P = _parents(cpdag, y) | self.C
        Q = set(_parents(cpdag, x))
        if cpdag.adjacency[x, y]:
            Q |= self.C & _common(cpdag, y, x)
        of_y = score.local_score(y, P | {x}) - score.local_score(y, P)
        return of_y + score.local_score(x, Q - {y}) - score.local_score(x, Q | {y})

    def apply(self, cpdag: PDAG) -> PDAG:
        """The CPDAG that the operator leads to; StructureError if it is not valid."""
        x, y = self.x, self.y
        matrix = cpdag.adjacency.copy()
        undirected = bool(matrix[x, y])
        for v in _neighbours(cpdag, y):
            matrix[(y, v) if v in self.C else (v, y)] = False
        first = self.C | {y} if undirected else frozenset[int]()
        for v in _neighbours(cpdag, x) - {y}:
            matrix[(x, v) if v in first else (v, x)] = False
        turned = consistent_extension(PDAG(cpdag.names, matrix)).adjacency.copy()
        turned[y, x], turned[x, y] = False, True
        return dag_to_cpdag(DAG(cpdag.names, turned))


Operator = Insert | Delete | Turn


def _indices(mask: Bools) -> frozenset[int]:
    return frozenset(np.flatnonzero(mask).tolist())


def _neighbours(cpdag: PDAG, v: int) -> frozenset[int]:
    return _indices(cpdag.adjacency[v] & cpdag.adjacency[:, v])


def _parents(cpdag: PDAG, v: int) -> frozenset[int]:
    return _indices(cpdag.adjacency[:, v] & ~cpdag.adjacency[v])


def _adjacent(cpdag: PDAG, v: int) -> frozenset[int]:
    return _indices(cpdag.adjacency[:, v] | cpdag.adjacency[v])


def _common(cpdag: PDAG, y: int, x: int) -> frozenset[int]:
    """NA_yx."""
    return _neighbours(cpdag, y) & _adjacent(cpdag, x)


def _is_clique(cpdag: PDAG, nodes: Iterable[int]) -> bool:
    around = cpdag.adjacency | cpdag.adjacency.T
    return all(around[a, b] for a, b in combinations(nodes, 2))


def _has_path(
    cpdag: PDAG, source: int, target: int, blocked: frozenset[int], direct: bool = True
) -> bool:
    """A semi-directed path outside `blocked`; without `direct` not the single edge."""
    seen, waiting = {source}, [source]
    while waiting:
        v = waiting.pop()
        for u in np.flatnonzero(cpdag.adjacency[v]).tolist():
            if u == target and (direct or v != source):
                return True
            if u not in seen and u not in blocked and u != target:
                seen.add(u)
                waiting.append(u)
    return False
