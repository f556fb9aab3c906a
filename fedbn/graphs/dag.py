"""The directed acyclic graph over named variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bools
from fedbn.errors import StructureError
from fedbn.extras import require_installed
from fedbn.graphs.bits import pack
from fedbn.graphs.graph import Graph, arcs_of_edges
from fedbn.wording import count_of

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, eq=False, init=False, repr=False)
class DAG(Graph):
    """A directed acyclic graph.

    Parameters
    ----------
    names : the variables, unique, non-empty strings.
    adjacency : bool [n, n]; `adjacency[i, j]` means names[i] -> names[j]. Copied, then read-only.

    Attributes
    ----------
    names : the variables.
    arcs : int32 [m, 2], read-only: (parent, child) as indices, ascending.

    Raises
    ------
    StructureError : names repeat, shapes differ, or the graph has a cycle (which is shown).

    Examples
    --------
    >>> DAG.from_edges(("a", "b", "c"), [("a", "c"), ("b", "c")]).edges
    (('a', 'c'), ('b', 'c'))
    """

    def _require_valid(self) -> None:
        if self._matrix is None:
            cycle = _cycle_among(self.arcs, self.n)
        else:
            cycle = find_cycle(self._matrix)
        if cycle is not None:
            shown = " -> ".join(self.names[i] for i in cycle)
            raise StructureError(f"a DAG must have no directed cycle, found {shown}")

    @classmethod
    def empty(cls, names: Sequence[str]) -> DAG:
        """The graph without edges over `names`."""
        return cls.from_arcs(names, np.empty((0, 2), dtype=np.int32))

    @classmethod
    def from_edges(cls, names: Sequence[str], edges: Iterable[tuple[str, str]]) -> DAG:
        """The DAG over `names` with the given (parent, child) pairs, in any order.

        Raises
        ------
        StructureError : an edge names an unknown variable, is repeated, or closes a cycle.
        """
        return cls.from_arcs(names, arcs_of_edges(names, edges))

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.arcs) if self._matrix is None else int(self._matrix.sum())

    @property
    def in_degree(self) -> int:
        """The largest number of parents of a node."""
        return int(np.bincount(self.arcs[:, 1], minlength=1).max())

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """(parent, child) names, sorted as text."""
        return tuple(sorted((self.names[i], self.names[j]) for i, j in self.arcs.tolist()))

    @overload
    def parents(self, node: int) -> tuple[int, ...]: ...
    @overload
    def parents(self, node: str) -> tuple[str, ...]: ...
    def parents(self, node: int | str) -> tuple[int, ...] | tuple[str, ...]:
        """The parents of a node in the order of `names`: of an index indices, of a name names."""
        if isinstance(node, str):
            return tuple(self.names[p] for p in self.parents(self._index(node)))
        if self._matrix is None:
            return tuple(self.arcs[self.arcs[:, 1] == range(self.n)[node], 0].tolist())
        return tuple(int(p) for p in np.flatnonzero(self._matrix[:, node]))

    @overload
    def children(self, node: int) -> tuple[int, ...]: ...
    @overload
    def children(self, node: str) -> tuple[str, ...]: ...
    def children(self, node: int | str) -> tuple[int, ...] | tuple[str, ...]:
        """The children of a node in the order of `names`: of an index indices, of a name names."""
        if isinstance(node, str):
            return tuple(self.names[c] for c in self.children(self._index(node)))
        if self._matrix is None:
            return tuple(self.arcs[self.arcs[:, 0] == range(self.n)[node], 1].tolist())
        return tuple(int(c) for c in np.flatnonzero(self._matrix[node]))

    def _index(self, name: str) -> int:
        if name not in self.names:
            raise StructureError(f"{name!r} is no node of the graph: {', '.join(self.names[:6])}")
        return self.names.index(name)

    def parent_sets(self) -> tuple[tuple[int, ...], ...]:
        """The parents of every node, in the order of `names`."""
        return self._parent_sets

    @cached_property
    def _parent_sets(self) -> tuple[tuple[int, ...], ...]:
        sets: list[list[int]] = [[] for _ in range(self.n)]
        for parent, child in self.arcs.tolist():
            sets[child].append(parent)
        return tuple(map(tuple, sets))

    def topological_order(self) -> tuple[int, ...]:
        """Indices, parents before children; among the nodes that are free, the smallest index."""
        order = _kahn(self.arcs, self.n)
        assert len(order) == self.n
        return tuple(order)

    def extend(self, names: Sequence[str]) -> DAG:
        """The same graph over `names`, which hold its own; variables that it lacks are isolated.

        >>> DAG.from_edges("ac", ["ac"]).extend("abc").edges
        (('a', 'c'),)
        """
        if tuple(names) == self.names:
            return self
        whole = DAG.empty(names).names
        place = {name: v for v, name in enumerate(whole)}
        if unknown := sorted(set(self.names) - set(place)):
            raise StructureError(f"{unknown[0]!r} must be one of the variables {whole}")
        return self.spread(whole, np.array([place[name] for name in self.names], dtype=np.intp))

    def restrict(self, names: Sequence[str]) -> DAG:
        """The edges among `names`, some of its own; paths over others are not heeded.

        >>> DAG.from_edges("abc", ["ab", "bc"]).restrict("bc").edges
        (('b', 'c'),)
        """
        if unknown := sorted(set(names) - set(self.names)):
            raise StructureError(f"{unknown[0]!r} must be one of the variables {self.names}")
        place = {name: v for v, name in enumerate(names)}
        own = np.array([place.get(name, -1) for name in self.names], dtype=np.intp)
        arcs = own[self.arcs]
        return DAG.from_arcs(tuple(names), arcs[(arcs >= 0).all(axis=1)])

    def __repr__(self) -> str:
        return f"DAG({count_of(self.n, 'node')}, {count_of(self.n_edges, 'edge')})"

    def to_networkx(self) -> nx.DiGraph:
        """A networkx.DiGraph with the same nodes, in order, and edges."""
        import networkx as nx

        graph: nx.DiGraph = nx.DiGraph()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(self.edges)
        return graph

    @classmethod
    def from_networkx(cls, graph: nx.DiGraph) -> DAG:
        """The DAG of a networkx.DiGraph whose nodes are strings, in the graph's node order."""
        names = tuple(graph.nodes)
        strangers = [name for name in names if not isinstance(name, str)]
        if strangers:
            raise StructureError(f"node names must be text, found {strangers[0]!r}")
        return cls.from_edges(names, graph.edges)

    def to_pgmpy(self) -> Any:
        """A pgmpy.base.DAG with the same nodes and edges."""
        require_installed("pgmpy")
        from pgmpy.base import DAG as PgmpyDAG

        graph = PgmpyDAG()
        graph.add_nodes_from(self.names)
        graph.add_edges_from(self.edges)
        return graph

    @classmethod
    def from_pgmpy(cls, graph: Any) -> DAG:
        """The DAG of a pgmpy DAG or Bayesian network, in its node order."""
        return cls.from_edges(tuple(graph.nodes()), graph.edges())


def topological_order(adjacency: Bools) -> tuple[int, ...]:
    """Indices, parents first, smallest free index first; a StructureError on a cycle."""
    order = _kahn(np.argwhere(adjacency), len(adjacency))
    if len(order) < len(adjacency):
        raise StructureError("a graph with a directed cycle has no topological order")
    return tuple(order)


def _kahn(arcs: NDArray[np.integer[Any]], n: int) -> list[int]:
    """Kahn's order of all nodes that are not on or behind a cycle."""
    import heapq

    children: list[list[int]] = [[] for _ in range(n)]
    for parent, child in arcs.tolist():
        children[parent].append(child)
    waiting = np.bincount(arcs[:, 1], minlength=n).tolist()
    free = [i for i, count in enumerate(waiting) if count == 0]
    order: list[int] = []
    while free:
        node = heapq.heappop(free)
        order.append(node)
        for child in children[node]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(free, child)
    return order


def find_cycle(adjacency: Bools) -> list[int] | None:
    """One directed cycle as indices, first = last, or None in an acyclic graph."""
    from fedbn._core.graphs import topological_order as order_of

    if len(order_of(pack(adjacency.T))) == len(adjacency):
        return None
    return _cycle_among(np.argwhere(adjacency), len(adjacency))


def _cycle_among(arcs: NDArray[np.integer[Any]], n: int) -> list[int] | None:
    """The same of arcs [m, 2] among n nodes."""
    order = _kahn(arcs, n)
    if len(order) == n:
        return None
    inside = np.ones(n, dtype=np.bool_)
    inside[order] = False
    # Every node that is left has a parent that is left: walk upwards until one is met again.
    walk = [int(np.flatnonzero(inside)[0])]
    while True:
        above = arcs[arcs[:, 1] == walk[-1], 0]
        parent = int(above[inside[above]].min())
        if parent in walk:
            cycle = [*walk[walk.index(parent) :], parent]
            return cycle[::-1]
        walk.append(parent)
