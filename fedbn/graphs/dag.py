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

from fedbn.arrays import Bits, Ints32
from fedbn.errors import StructureError
from fedbn.extras import require_installed
from fedbn.graphs.bits import bits_of_pairs, pack, pairs_of_bits, unpack
from fedbn.wording import count_of, list_some

if TYPE_CHECKING:
    import networkx as nx

MAX_NODES = 20_000
"""Largest graph that is accepted: sets of nodes are bits, here 50 MB for one set of each."""

WIDE = 4_096
"""Of more nodes than this a DAG keeps its arcs alone, and makes the matrix when it is asked for."""


@dataclass(frozen=True, eq=False, init=False)
class DAG:
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

    names: tuple[str, ...]
    _matrix: NDArray[np.bool_] | None
    _arcs: Ints32 | None

    def __init__(self, names: Sequence[str], adjacency: NDArray[np.bool_]) -> None:
        kept, matrix = checked_graph(names, adjacency)
        wide = len(kept) > WIDE
        self._keep(kept, None if wide else matrix, _arcs_of(matrix) if wide else None)
        self._require_no_cycle()

    def _keep(
        self, names: tuple[str, ...], matrix: NDArray[np.bool_] | None, arcs: Ints32 | None
    ) -> None:
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "_matrix", matrix)
        object.__setattr__(self, "_arcs", arcs)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.names, self._matrix, self._arcs if self._matrix is None else None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for array in state[1:]:
            if array is not None:
                array.flags.writeable = False  # which a pickle does not keep
        self._keep(*state)

    def _require_no_cycle(self) -> None:
        cycle = _cycle_of(self.parent_bits)
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

    @classmethod
    def from_arcs(cls, names: Sequence[str], arcs: Sequence[Sequence[int]] | NDArray[Any]) -> DAG:
        """The DAG over `names` with (parent, child) pairs of indices, in any order.

        Raises IndexError for an index beyond the names, TypeError and ValueError for what are no
        pairs of integers, StructureError as `DAG` does, and for too many names.
        """
        kept = tuple(names)
        require_size(len(kept))
        if len(kept) <= WIDE:
            return cls(kept, matrix_of_pairs(arcs, len(kept)))
        _require_names(kept)
        places = places_of_pairs(arcs, len(kept))
        loops = places[places[:, 0] == places[:, 1], 0]
        if loops.size:
            raise StructureError(f"a node must not be its own parent, {kept[loops.min()]!r} is")
        made = cls.__new__(cls)
        made._keep(kept, None, _ascending(places, len(kept)))
        made._require_no_cycle()
        return made

    @classmethod
    def from_parent_bits(cls, names: Sequence[str], parents: Bits) -> DAG:
        """The DAG in which row y of `parents`, uint64 [n, W], has the parents of y."""
        if len(names) <= WIDE:
            return cls(names, unpack(parents, len(names)).T)
        return cls.from_arcs(names, pairs_of_bits(parents)[:, ::-1])

    @property
    def adjacency(self) -> NDArray[np.bool_]:
        """bool [n, n], read-only: `adjacency[i, j]` means names[i] -> names[j]. Of more than `WIDE`
        nodes it is made anew, and large: see `arcs`."""
        if self._matrix is not None:
            return self._matrix
        matrix = matrix_of_pairs(self.arcs, self.n)
        matrix.flags.writeable = False
        return matrix

    @property
    def arcs(self) -> Ints32:
        """int32 [m, 2], read-only: (parent, child) as indices, ascending."""
        if self._arcs is None:
            object.__setattr__(self, "_arcs", _arcs_of(self.adjacency))
        assert self._arcs is not None
        return self._arcs

    @property
    def parent_bits(self) -> Bits:
        """The parents of every node as rows of bits, uint64 [n, W]."""
        if self._matrix is not None:
            return pack(self._matrix.T)
        return bits_of_pairs(self.arcs[:, ::-1], self.n)

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.arcs) if self._matrix is None else int(self._matrix.sum())

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

    def reorder(self, names: Sequence[str]) -> DAG:
        """The same graph with its variables listed as `names`, a permutation of them."""
        if tuple(names) == self.names:
            return self
        return self.permute(positions(self.names, names))

    def permute(self, order: NDArray[np.intp]) -> DAG:
        """The same graph with its variables in the order `order`, [n], each of its indices once."""
        made = DAG.__new__(DAG)  # of a DAG, so that there is no cycle to look for
        names = tuple(map(self.names.__getitem__, order.tolist()))
        if self._matrix is None:
            made._keep(names, None, _ascending(np.argsort(order)[self.arcs], self.n))
        else:
            matrix = self._matrix[order[:, None], order]
            matrix.flags.writeable = False
            made._keep(names, matrix, None)
        return made

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
        own = np.array([place[name] for name in self.names], dtype=np.intp)
        return DAG.from_arcs(tuple(names), own[self.arcs])

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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DAG):
            return NotImplemented
        if self._matrix is None or other._matrix is None:
            return self.names == other.names and bool(np.array_equal(self.arcs, other.arcs))
        return self.names == other.names and bool(np.array_equal(self._matrix, other._matrix))

    def __hash__(self) -> int:
        return hash((self.names, (self.arcs if self._matrix is None else self._matrix).tobytes()))

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
    _require_names(kept)
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


def _arcs_of(matrix: NDArray[np.bool_]) -> Ints32:
    arcs = np.ascontiguousarray(np.argwhere(matrix), dtype=np.int32)
    arcs.flags.writeable = False
    return arcs


def _ascending(places: NDArray[np.intp], n: int) -> Ints32:
    """Pairs of indices below n as a DAG's `arcs`: each once, ascending, read-only."""
    keys = np.unique(places[:, 0] * n + places[:, 1])
    arcs = np.column_stack(np.divmod(keys, n)).astype(np.int32)
    arcs.flags.writeable = False
    return arcs


def _require_names(names: tuple[str, ...]) -> None:
    """Refuse names that repeat, are empty or no text."""
    require_distinct(names)
    if not all(names) or not all(issubclass(kind, str) for kind in set(map(type, names))):
        raise StructureError(f"node names must be non-empty text, got {names!r}")


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
    return matrix_of_pairs(arcs_of_edges(names, edges), len(names))


def arcs_of_edges(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> NDArray[np.intp]:
    """The pairs as indices, int [m, 2], in their order; refused are the same ones."""
    require_size(len(names))
    require_distinct(names)
    position = {name: i for i, name in enumerate(names)}
    arcs: dict[tuple[int, int], None] = {}
    for parent, child in edges:
        for name in (parent, child):
            if name not in position:
                raise StructureError(
                    f"edge {parent!r} -> {child!r} names {name!r}, which is no node"
                )
        arc = position[parent], position[child]
        if arc in arcs:
            raise StructureError(f"edge {parent!r} -> {child!r} must be given once")
        arcs[arc] = None
    return np.array(list(arcs), dtype=np.intp).reshape(-1, 2)


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


def find_cycle(adjacency: NDArray[np.bool_]) -> list[int] | None:
    """One directed cycle as indices, first = last, or None in an acyclic graph."""
    return _cycle_of(pack(adjacency.T))


def _cycle_of(parents: Bits) -> list[int] | None:
    """The same of parents as bits, uint64 [n, W]."""
    from fedbn._core.graphs import topological_order as order_of

    n = len(parents)
    if len(order_of(parents)) == n:
        return None
    arcs = pairs_of_bits(parents)[:, ::-1]
    inside = np.ones(n, dtype=np.bool_)
    inside[_kahn(arcs, n)] = False
    # Every node that is left has a parent that is left: walk upwards until one is met again.
    walk = [int(np.flatnonzero(inside)[0])]
    while True:
        above = arcs[arcs[:, 1] == walk[-1], 0]
        parent = int(above[inside[above]].min())
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
    places = places_of_pairs(pairs, n)
    matrix = np.zeros((n, n), dtype=np.bool_)
    matrix[places[:, 0], places[:, 1]] = True
    return matrix


def places_of_pairs(pairs: Sequence[Sequence[int]] | NDArray[Any], n: int) -> NDArray[np.intp]:
    """The pairs as an array [m, 2] of indices below n; raises as `matrix_of_pairs` does."""
    found = np.asarray(pairs)
    if found.size and (found.dtype.kind not in "iu" or found.ndim != 2 or found.shape[1] != 2):
        raise TypeError("pairs must be pairs of integers")
    places = found.astype(np.intp).reshape(-1, 2)
    if places.size and places.min() < 0:
        raise IndexError(f"an index must be at least 0, not {places.min()}")
    if places.size and places.max() >= n:
        raise IndexError(f"an index must be below {n}, not {places.max()}")
    return places
