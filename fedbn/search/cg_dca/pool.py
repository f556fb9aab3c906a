"""The columns generated so far: families (node, parent set) with their costs, each once."""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bools, Floats, Ints32
from fedbn.graphs.bits import pack
from fedbn.search.families.families import Families


class ColumnPool:
    """Columns in the order of their making; costs are -local scores.

    Attributes
    ----------
    size : number of columns.
    count : int64 [n], columns per node.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.size = 0
        self.count = np.zeros(len(names), dtype=np.int64)
        self._node = np.zeros(64, dtype=np.int32)
        self._cost = np.zeros(64)
        self._parents = np.zeros((64, len(names)), dtype=np.bool_)
        self._known: set[tuple[int, bytes]] = set()

    def has(self, node: int, parents: Bools) -> bool:
        """Whether the column is there."""
        return (node, np.packbits(parents).tobytes()) in self._known

    def add(self, node: int, parents: Bools, cost: float) -> None:
        """Keep a column that is not there yet."""
        self._known.add((node, np.packbits(parents).tobytes()))
        if self.size == self._node.size:
            self._node = np.concatenate([self._node, self._node])
            self._cost = np.concatenate([self._cost, self._cost])
            self._parents = np.concatenate([self._parents, self._parents])
        self._node[self.size], self._cost[self.size] = node, cost
        self._parents[self.size] = parents
        self.size += 1
        self.count[node] += 1

    @property
    def node(self) -> Ints32:
        """int32 [size]: the child of each column."""
        return self._node[: self.size]

    @property
    def cost(self) -> Floats:
        """float64 [size]."""
        return self._cost[: self.size]

    @property
    def parents(self) -> Bools:
        """bool [size, n]."""
        return self._parents[: self.size]

    def families(self) -> Families:
        """All columns as families, for the exact searches."""
        return Families.of(self.names, self.node, self.cost, pack(self.parents))
