"""All valid Insert and Delete operators of a CPDAG, with the set that each conditions on.

The definitions are those of `fedbn.search.operators`; here they are listed at once, without a
score. For every y the cliques C of its undirected neighbours are walked: Insert(x, y, T) is valid
for T = C \\ NA_yx exactly where NA_yx ⊆ C and no semi-directed path leads from y to x outside C, so
one walk from y serves all x. Sets of nodes are integers, bit v for node v.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedbn.arrays import Bools
from fedbn.graphs.pdag import PDAG
from fedbn.search.operators import Delete, Insert

Given = frozenset[int]


def insertions(cpdag: PDAG, largest: int) -> Iterator[tuple[Insert, Given]]:
    """Every valid Insert with NA_yx ∪ T ∪ Pa(y), where this has at most `largest` members.

    In the order of y, of cliques, of x.
    """
    sets = _Sets(cpdag)
    for y in range(cpdag.n):
        for clique in sets.cliques(sets.neighbours[y]):
            given = clique | sets.parents[y]
            if given.bit_count() > largest:
                continue
            beyond = sets.everything & ~sets.adjacent[y] & ~sets.reach(y, clique)
            for x in _members(beyond):
                common = sets.neighbours[y] & sets.adjacent[x]
                if not common & ~clique:
                    yield Insert(x, y, _freeze(clique & ~common)), _freeze(given)


def deletions(cpdag: PDAG) -> Iterator[tuple[Delete, Given]]:
    """Every valid Delete with (NA_yx \\ H) ∪ Pa(y) \\ {x}, in the order of y, of x, of cliques."""
    sets = _Sets(cpdag)
    for y in range(cpdag.n):
        for x in _members(sets.parents[y] | sets.neighbours[y]):
            common = sets.neighbours[y] & sets.adjacent[x]
            for clique in sets.cliques(common):
                given = (clique | sets.parents[y]) & ~(1 << x)
                yield Delete(x, y, _freeze(common & ~clique)), _freeze(given)


class _Sets:
    """Parents, undirected neighbours, everything adjacent, and steps of semi-directed paths."""

    def __init__(self, cpdag: PDAG) -> None:
        undirected = cpdag.adjacency & cpdag.adjacency.T
        directed = cpdag.adjacency & ~undirected
        self.everything = (1 << cpdag.n) - 1
        self.parents = _rows(directed.T)
        self.neighbours = _rows(undirected)
        self.adjacent = _rows(cpdag.adjacency | cpdag.adjacency.T)
        self.next = _rows(cpdag.adjacency)

    def cliques(self, within: int) -> Iterator[int]:
        """All cliques inside a set, the empty one first."""
        waiting = [(0, within)]
        while waiting:
            clique, rest = waiting.pop()
            yield clique
            for v in _members(rest):
                rest &= ~(1 << v)
                waiting.append((clique | 1 << v, rest & self.adjacent[v]))

    def reach(self, start: int, blocked: int) -> int:
        """What semi-directed paths from `start` reach outside `blocked`, and `start`."""
        seen = fresh = 1 << start
        while fresh:
            around = 0
            for v in _members(fresh):
                around |= self.next[v]
            fresh = around & ~seen & ~blocked
            seen |= fresh
        return seen


def _rows(matrix: Bools) -> list[int]:
    packed = np.packbits(matrix, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _members(nodes: int) -> Iterator[int]:
    while nodes:
        lowest = nodes & -nodes
        yield lowest.bit_length() - 1
        nodes ^= lowest


def _freeze(nodes: int) -> Given:
    return frozenset(_members(nodes))
