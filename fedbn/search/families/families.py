"""Families: pairs (node, parent set) with their costs, the columns of every exact search.

Costs are minimised: cost = -local score. A DAG chooses one family per node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedbn.arrays import Array, Bits, Bools, Floats, Indices, Ints, Ints32
from fedbn.errors import SearchError
from fedbn.graphs.bits import pack
from fedbn.graphs.dag import DAG
from fedbn.wording import count_of


@dataclass(frozen=True, eq=False)
class Families:
    """Candidate families of every node, sorted by node, then cost, then parents.

    Made by `Families.of` or by a search; the arrays are read-only.

    Parameters
    ----------
    names : the variables.
    node : int32 [F], the child of each family.
    cost : float64 [F], -local score, natural logarithms.
    bits : uint64 [F, W], the parents: bit j of word j >> 6.
    """

    names: tuple[str, ...]
    node: Ints32
    cost: Floats
    bits: Bits

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        node: Iterable[int],
        cost: Iterable[float],
        bits: Bits,
    ) -> Families:
        """Sorted and checked families.

        Raises
        ------
        SearchError : a node has no family, or is its own parent.
        """
        node_of = np.asarray(node, dtype=np.int32)
        cost_of = np.asarray(cost, dtype=np.float64)
        words: list[Array] = [bits[:, w] for w in range(bits.shape[1])]
        order = np.lexsort([*words, cost_of, node_of])
        families = cls(
            tuple(names), node_of[order], cost_of[order], np.ascontiguousarray(bits[order])
        )
        for array in (families.node, families.cost, families.bits):
            array.flags.writeable = False
        sizes = np.diff(families.start)
        if (sizes == 0).any():
            lacking = families.names[int(np.flatnonzero(sizes == 0)[0])]
            raise SearchError(
                f"every variable must have a candidate parent set, {lacking!r} has none"
            )
        own = families.bits[np.arange(families.size), families.node >> 6]
        if ((own >> (families.node & 63).astype(np.uint64)) & np.uint64(1)).any():
            raise SearchError("a variable must not be in its own candidate parent set")
        return families

    @classmethod
    def from_parents(
        cls, names: Sequence[str], lists: Sequence[Sequence[tuple[float, Iterable[int]]]]
    ) -> Families:
        """Families from (cost, parents) pairs per node."""
        rows = [(i, cost, parents) for i, pairs in enumerate(lists) for cost, parents in pairs]
        bits = np.zeros((len(rows), max(1, (len(names) + 63) // 64)), dtype=np.uint64)
        for row, (_, _, parents) in enumerate(rows):
            for parent in parents:
                bits[row, parent >> 6] |= np.uint64(1 << (parent & 63))
        return cls.of(names, [row[0] for row in rows], [row[1] for row in rows], bits)

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.names)

    @property
    def size(self) -> int:
        """Number of families, |Π|; empty sets count."""
        return int(self.node.size)

    @cached_property
    def start(self) -> Ints:
        """int64 [n + 1]: the families of node i are start[i] to start[i + 1] - 1, best first."""
        return np.searchsorted(self.node, np.arange(self.n + 1)).astype(np.int64)

    @cached_property
    def has_parent(self) -> Bools:
        """bool [F, n]: [f, j] iff j is a parent in family f."""
        as_bytes = np.ascontiguousarray(self.bits.astype("<u8")).view(np.uint8)
        flat = np.unpackbits(as_bytes.reshape(self.size, -1), axis=1, bitorder="little")
        return flat[:, : self.n].astype(np.bool_)

    def parents(self, family: int) -> tuple[int, ...]:
        """Indices of the parents, ascending."""
        return tuple(int(j) for j in np.flatnonzero(self.has_parent[family]))

    def select(self, keep: Array) -> Families:
        """The families at these places (booleans, or ascending indices)."""
        return Families.of(self.names, self.node[keep], self.cost[keep], self.bits[keep])

    def possible_edges(self) -> Bools:
        """bool [n, n]: [j, i] iff some family of i has the parent j."""
        out = np.zeros((self.n, self.n), dtype=np.bool_)
        for i in range(self.n):
            out[:, i] = self.has_parent[self.start[i] : self.start[i + 1]].any(axis=0)
        return out

    def restrict(self, nodes: Indices) -> tuple[Families, Indices]:
        """The families of some nodes with only their parents among these, and where they were.

        Parents outside are forgotten: the result is the problem inside a component, whose outside
        parents can close no cycle.
        """
        where = np.flatnonzero(np.isin(self.node, nodes))
        inside = self.has_parent[np.ix_(where, nodes)]
        local = np.searchsorted(nodes, self.node[where]).astype(np.int32)
        names = tuple(self.names[int(i)] for i in nodes)
        bits = pack(inside)
        columns: list[Array] = [bits[:, w] for w in range(bits.shape[1])]
        order = np.lexsort([*columns, self.cost[where], local])
        part = Families.of(names, local[order], self.cost[where][order], bits[order])
        return part, where[order]

    def among(self, names: Sequence[str], places: Sequence[int]) -> Families:
        """The same families among more variables, of which the new ones have the empty set alone.

        places : where each variable of these families is among `names`.
        """
        lists: list[list[tuple[float, list[int]]]] = [[] for _ in names]
        for f in range(self.size):
            parents = [places[j] for j in self.parents(f)]
            lists[places[int(self.node[f])]].append((float(self.cost[f]), parents))
        for i in sorted(set(range(len(names))) - set(places)):
            lists[i].append((0.0, []))
        return Families.from_parents(names, lists)

    def reorder(self, names: tuple[str, ...]) -> Families:
        """The same families with the variables in another order."""
        place = np.array([names.index(name) for name in self.names])
        has_parent = np.zeros_like(self.has_parent)
        has_parent[:, place] = self.has_parent
        return Families.of(names, place[self.node], self.cost, pack(has_parent))

    def dag(self, chosen: Sequence[int] | Array) -> DAG:
        """The DAG of one family per node, given by their indices in any order."""
        adjacency = np.zeros((self.n, self.n), dtype=np.bool_)
        for family in chosen:
            adjacency[:, self.node[family]] = self.has_parent[family]
        return DAG(self.names, adjacency)

    def __repr__(self) -> str:
        return f"Families({count_of(self.size, 'parent set')} of {count_of(self.n, 'variable')})"
