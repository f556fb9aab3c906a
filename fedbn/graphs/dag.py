"""The directed acyclic graph over named variables.

One edge convention everywhere: `adjacency[i, j]` means i -> j.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from fedbn.errors import StructureError
from fedbn.extras import require_installed
from fedbn.graphs.bits import pack
from fedbn.wording import count_of, list_some

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["DAG", "MAX_NODES", "find_cycle"]

MAX_NODES = 20_000
"""Largest graph that is accepted: adjacencies are full matrices, here of 400 MB."""


@dataclass(frozen=True, eq=False)
class DAG:
    """A directed acyclic graph.

    Parameters
    ----------
    names : the variables, unique, non-empty strings.
    adjacency : bool [n, n]; `adjacency[i, j]` means names[i] -> names[j]. Copied, then read-only.

    Raises
    ------
    StructureError : names repeat, shapes differ, or the graph has a cycle (which is shown).

    Examples
    --------
    >>> DAG.from_edges(("a", "b", "c"), [("a", "c"), ("b", "c")]).edges
    (('a', 'c'), ('b', 'c'))
    """

    names: tuple[str, ...]
    adjacency: NDArray[np.bool_]

    def __post_init__(self) -> None:
        names, adjacency = checked_graph(self.names, self.adjacency)
        cycle = find_cycle(adjacency)
        if cycle is not None:
            shown = " -> ".join(names[i] for i in cycle)
            raise StructureError(f"a DAG must have no directed cycle, found {shown}")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "adjacency", adjacency)

    @classmethod
    def empty(cls, names: Sequence[str]) -> DAG:
        """The graph without edges over `names`."""
        require_size(len(names))
        return cls(tuple(names), np.zeros((len(names), len(names)), dtype=np.bool_))

    @classmethod
    def from_edges(cls, names: Sequence[str], edges: Iterable[tuple[str, str]]) -> DAG:
        """The DAG over `names` with the given (parent, child) pairs, in any order.

        Raises
        ------
        StructureError : an edge names an unknown variable, is repeated, or closes a cycle.
        """
        return cls(tuple(names), adjacency_of_edges(names, edges))

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self.adjacency.sum())

    @cached_property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """(parent, child) names, sorted as text."""
        pairs = np.argwhere(self.adjacency)
        return tuple(sorted((self.names[i], self.names[j]) for i, j in pairs))

    @overload
    def parents(self, node: int) -> tuple[int, ...]: ...
    @overload
    def parents(self, node: str) -> tuple[str, ...]: ...
    def parents(self, node: int | str) -> tuple[int, ...] | tuple[str, ...]:
        """The parents of a node in the order of `names`: of an index indices, of a name names."""
        if isinstance(node, str):
            return tuple(self.names[p] for p in self.parents(self._index(node)))
        return tuple(int(p) for p in np.flatnonzero(self.adjacency[:, node]))

    @overload
    def children(self, node: int) -> tuple[int, ...]: ...
    @overload
    def children(self, node: str) -> tuple[str, ...]: ...
    def children(self, node: int | str) -> tuple[int, ...] | tuple[str, ...]:
        """The children of a node in the order of `names`: of an index indices, of a name names."""
        if isinstance(node, str):
            return tuple(self.names[c] for c in self.children(self._index(node)))
        return tuple(int(c) for c in np.flatnonzero(self.adjacency[node]))

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
        for child, parent in np.argwhere(self.adjacency.T).tolist():
            sets[child].append(parent)
        return tuple(map(tuple, sets))

    def topological_order(self) -> tuple[int, ...]:
        """Indices, parents before children; among the nodes that are free, the smallest index."""
        return topological_order(self.adjacency)

    def reorder(self, names: Sequence[str]) -> DAG:
        """The same graph with its variables listed as `names`, a permutation of them."""
        if tuple(names) == self.names:
            return self
        position = positions(self.names, names)
        return DAG(tuple(names), self.adjacency[np.ix_(position, position)])

    def extend(self, names: Sequence[str]) -> DAG:
        """The same graph over `names`, which hold its own; variables that it lacks are isolated.

        >>> DAG.from_edges("ac", ["ac"]).extend("abc").edges
        (('a', 'c'),)
        """
        if tuple(names) == self.names:
            return self
        place = {name: v for v, name in enumerate(names)}
        if unknown := sorted(set(self.names) - set(place)):
            raise StructureError(f"{unknown[0]!r} must be one of the variables {tuple(names)}")
        own = [place[name] for name in self.names]
        matrix = np.zeros((len(place), len(place)), dtype=np.bool_)
        matrix[np.ix_(own, own)] = self.adjacency
        return DAG(tuple(names), matrix)

    def restrict(self, names: Sequence[str]) -> DAG:
        """The edges among `names`, some of its own; paths over others are not heeded.

        >>> DAG.from_edges("abc", ["ab", "bc"]).restrict("bc").edges
        (('b', 'c'),)
        """
        place = {name: v for v, name in enumerate(self.names)}
        if unknown := sorted(set(names) - set(place)):
            raise StructureError(f"{unknown[0]!r} must be one of the variables {self.names}")
        own = [place[name] for name in names]
        return DAG(tuple(names), self.adjacency[np.ix_(own, own)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DAG):
            return NotImplemented
        return self.names == other.names and bool(np.array_equal(self.adjacency, other.adjacency))

    def __hash__(self) -> int:
        return hash((self.names, self.adjacency.tobytes()))

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


def checked_graph(
    names: Sequence[str], adjacency: NDArray[np.bool_]
) -> tuple[tuple[str, ...], NDArray[np.bool_]]:
    """Names and a read-only copy of the adjacency, or a StructureError."""
    kept = tuple(names)
    require_distinct(kept)
    if not all(kept) or not all(issubclass(kind, str) for kind in set(map(type, kept))):
        raise StructureError(f"node names must be non-empty text, got {kept!r}")
    matrix = np.array(adjacency, dtype=np.bool_)
    if matrix.shape != (len(kept), len(kept)):
        raise StructureError(
            f"the adjacency must be [{len(kept)}, {len(kept)}] for {len(kept)} names, "
            f"got {list(matrix.shape)}"
        )
    loops = np.flatnonzero(np.diagonal(matrix))
    if loops.size:
        raise StructureError(f"a node must not be its own parent, {kept[loops[0]]!r} is")
    matrix.flags.writeable = False
    return kept, matrix


def require_size(n: int) -> None:
    """Refuse a claimed number of nodes before anything is allocated for it."""
    if n > MAX_NODES:
        raise StructureError(f"a graph must have at most {MAX_NODES} nodes, got {n}")


def require_distinct(names: Sequence[str]) -> None:
    """Refuse names of which one is there twice."""
    if len(set(names)) != len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise StructureError(f"node names must be unique, {repeated!r} is repeated")


def adjacency_of_edges(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> NDArray[np.bool_]:
    """bool [n, n] of (parent, child) pairs; names or edges given twice, or unknown, are refused."""
    require_size(len(names))
    require_distinct(names)
    position = {name: i for i, name in enumerate(names)}
    matrix = np.zeros((len(position), len(position)), dtype=np.bool_)
    for parent, child in edges:
        for name in (parent, child):
            if name not in position:
                raise StructureError(
                    f"edge {parent!r} -> {child!r} names {name!r}, which is no node"
                )
        i, j = position[parent], position[child]
        if matrix[i, j]:
            raise StructureError(f"edge {parent!r} -> {child!r} must be given once")
        matrix[i, j] = True
    return matrix


def positions(names: Sequence[str], wanted: Sequence[str]) -> NDArray[np.intp]:
    """Index in `names` of each of `wanted`, which must be the same names in any order."""
    index = {name: i for i, name in enumerate(names)}
    if len(wanted) != len(names) or set(index) != set(wanted):
        missing = sorted(set(names) - set(wanted))
        unknown = sorted(set(wanted) - set(names))
        raise StructureError(
            "both sides must have the same variables; missing on the second side: "
            f"{list_some(missing) or 'none'}, on the first: {list_some(unknown) or 'none'}"
        )
    return np.array([index[name] for name in wanted], dtype=np.intp)


def topological_order(adjacency: NDArray[np.bool_]) -> tuple[int, ...]:
    """Indices, parents first, smallest free index first; a StructureError on a cycle."""
    order = _kahn(adjacency)
    if len(order) < adjacency.shape[0]:
        raise StructureError("a graph with a directed cycle has no topological order")
    return tuple(order)


def _kahn(adjacency: NDArray[np.bool_]) -> list[int]:
    """Kahn's order of all nodes that are not on or behind a cycle."""
    import heapq

    children: list[list[int]] = [[] for _ in adjacency]
    for parent, child in np.argwhere(adjacency).tolist():
        children[parent].append(child)
    waiting = adjacency.sum(axis=0).tolist()
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


def find_cycle(adjacency: NDArray[np.bool_]) -> list[int] | None:
    """One directed cycle as indices, first = last, or None in an acyclic graph."""
    from fedbn._core.graphs import topological_order as order_of

    if len(order_of(pack(adjacency))) == adjacency.shape[0]:  # that of the reversed graph
        return None
    placed = _kahn(adjacency)
    inside = np.ones(adjacency.shape[0], dtype=np.bool_)
    inside[placed] = False
    # Every node that is left has a parent that is left: walk upwards until one is met again.
    walk = [int(np.flatnonzero(inside)[0])]
    while True:
        parent = int(np.flatnonzero(adjacency[:, walk[-1]] & inside)[0])
        if parent in walk:
            cycle = [*walk[walk.index(parent) :], parent]
            return cycle[::-1]
        walk.append(parent)


def matrix_of_pairs(pairs: Sequence[Sequence[int]] | NDArray[Any], n: int) -> NDArray[np.bool_]:
    """bool [n, n] with True at every (parent, child) of `pairs`; `numpy.argwhere` is the inverse.

    Raises IndexError for an index beyond n, TypeError and ValueError for what are no pairs of
    integers, StructureError for an n that is too large.
    """
    require_size(n)
    found = np.asarray(pairs)
    if found.size and (found.dtype.kind not in "iu" or found.ndim != 2 or found.shape[1] != 2):
        raise TypeError("pairs must be pairs of integers")
    places = found.astype(np.intp).reshape(-1, 2)
    if places.size and places.min() < 0:
        raise IndexError(f"an index must be at least 0, not {places.min()}")
    matrix = np.zeros((n, n), dtype=np.bool_)
    matrix[places[:, 0], places[:, 1]] = True
    return matrix
