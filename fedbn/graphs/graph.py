"""What DAGs and partially directed graphs have in common: named nodes, and arcs between them.

One edge convention everywhere: `adjacency[i, j]` means i -> j. A graph of up to `WIDE` nodes keeps
that matrix, a wider one its arcs alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fedbn.arrays import Array, Bits, Bools, Indices, Ints32
from fedbn.errors import StructureError
from fedbn.graphs.bits import bits_of_pairs, pack, pairs_of_bits, unpack
from fedbn.wording import list_some

MAX_NODES = 20_000
"""Largest graph that is accepted: sets of nodes are bits, here 50 MB for one set of each."""

WIDE = 4_096
"""Of more nodes than this a graph keeps its arcs alone, and makes the matrix when asked for it."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Graph:
    """Names, and a matrix or arcs. Two are equal that have the same names in the same order and
    the same arcs."""

    names: tuple[str, ...]
    _matrix: Bools | None
    _arcs: Ints32 | None

    def __init__(self, names: Sequence[str], adjacency: Bools) -> None:
        kept, matrix = _named_matrix(names, adjacency)
        wide = len(kept) > WIDE
        self._keep(kept, None if wide else matrix, _arcs_of(matrix) if wide else None)
        self._require_valid()

    def _require_valid(self) -> None:
        """Raises StructureError where this kind of graph must not be as it is."""

    def _keep(self, names: tuple[str, ...], matrix: Bools | None, arcs: Ints32 | None) -> None:
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

    @classmethod
    def from_arcs(cls, names: Sequence[str], arcs: Sequence[Sequence[int]] | Array) -> Self:
        """The graph over `names` with arcs, pairs of indices (from, to), in any order.

        Raises IndexError for an index beyond the names, TypeError and ValueError for what are no
        pairs of integers, StructureError as the graph itself does, and for too many names.
        """
        kept = tuple(names)
        require_size(len(kept))
        if len(kept) <= WIDE:
            return cls(kept, matrix_of_pairs(arcs, len(kept)))
        _require_names(kept)
        places = places_of_pairs(arcs, len(kept))
        _require_no_loops(kept, places[places[:, 0] == places[:, 1], 0])
        made = cls.__new__(cls)
        made._keep(kept, None, _ascending(places, len(kept)))
        made._require_valid()
        return made

    @classmethod
    def from_parent_bits(cls, names: Sequence[str], parents: Bits) -> Self:
        """The graph in which row y of `parents`, uint64 [n, W], has where arcs to y come from."""
        if len(names) <= WIDE:
            return cls(names, unpack(parents, len(names)).T)
        return cls.from_arcs(names, pairs_of_bits(parents)[:, ::-1])

    @property
    def adjacency(self) -> Bools:
        """bool [n, n], read-only: `adjacency[i, j]` means names[i] -> names[j]. Of more than `WIDE`
        nodes it is made anew, and large: see `arcs`."""
        if self._matrix is not None:
            return self._matrix
        matrix = matrix_of_pairs(self.arcs, self.n)
        matrix.flags.writeable = False
        return matrix

    @property
    def arcs(self) -> Ints32:
        """int32 [m, 2], read-only: (from, to) as indices, ascending."""
        if self._arcs is None:
            object.__setattr__(self, "_arcs", _arcs_of(self.adjacency))
        assert self._arcs is not None
        return self._arcs

    @property
    def parent_bits(self) -> Bits:
        """Of every node where arcs to it come from, as rows of bits, uint64 [n, W]."""
        if self._matrix is not None:
            return pack(self._matrix.T)
        return bits_of_pairs(self.arcs[:, ::-1], self.n)

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.names)

    def reorder(self, names: Sequence[str]) -> Self:
        """The same graph with its variables listed as `names`, a permutation of them."""
        if tuple(names) == self.names:
            return self
        return self.permute(positions(self.names, names))

    def permute(self, order: Indices) -> Self:
        """The same graph with its variables in the order `order`, [n], each of its indices once."""
        made = type(self).__new__(type(self))  # as it is a graph of its kind, it is not checked
        names = tuple(map(self.names.__getitem__, order.tolist()))
        if self._matrix is None:
            made._keep(names, None, _ascending(np.argsort(order)[self.arcs], self.n))
        else:
            matrix = self._matrix.take(order, axis=0).take(order, axis=1)
            matrix.flags.writeable = False
            made._keep(names, matrix, None)
        return made

    def spread(self, names: tuple[str, ...], places: Indices) -> Self:
        """The same graph over more variables, `names`; its own have these places among them, [n],
        each another one."""
        made = type(self).__new__(type(self))  # isolated variables make no graph wrong
        if self._matrix is None or len(names) > WIDE:
            made._keep(names, None, _ascending(places[self.arcs], len(names)))
        else:
            matrix = np.zeros((len(names), len(names)), dtype=np.bool_)
            matrix[places[:, None], places] = self._matrix
            matrix.flags.writeable = False
            made._keep(names, matrix, None)
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        if self._matrix is None or other._matrix is None:
            return self.names == other.names and bool(np.array_equal(self.arcs, other.arcs))
        return self.names == other.names and bool(np.array_equal(self._matrix, other._matrix))

    def __hash__(self) -> int:
        return hash((self.names, (self.arcs if self._matrix is None else self._matrix).tobytes()))


def _named_matrix(names: Sequence[str], adjacency: Bools) -> tuple[tuple[str, ...], Bools]:
    """Names and a read-only copy of the adjacency, or a StructureError."""
    kept = tuple(names)
    _require_names(kept)
    matrix = np.array(adjacency, dtype=np.bool_)
    if matrix.shape != (len(kept), len(kept)):
        raise StructureError(
            f"the adjacency must be [{len(kept)}, {len(kept)}] for {len(kept)} names, "
            f"got {list(matrix.shape)}"
        )
    _require_no_loops(kept, np.flatnonzero(np.diagonal(matrix)))
    matrix.flags.writeable = False
    return kept, matrix


def _require_no_loops(names: tuple[str, ...], loops: Indices) -> None:
    if loops.size:
        raise StructureError(f"a node must not be its own parent, {names[loops.min()]!r} is")


def _arcs_of(matrix: Bools) -> Ints32:
    arcs = np.ascontiguousarray(np.argwhere(matrix), dtype=np.int32)
    arcs.flags.writeable = False
    return arcs


def _ascending(places: Indices, n: int) -> Ints32:
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


def arcs_of_edges(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> Indices:
    """The pairs as indices, int [m, 2], in their order; refused are names or edges that are given
    twice, and unknown names."""
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


def positions(names: Sequence[str], wanted: Sequence[str]) -> Indices:
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


def matrix_of_pairs(pairs: Sequence[Sequence[int]] | Array, n: int) -> Bools:
    """bool [n, n] with True at every (parent, child) of `pairs`; `numpy.argwhere` is the inverse.

    Raises IndexError for an index beyond n, TypeError and ValueError for what are no pairs of
    integers, StructureError for an n that is too large.
    """
    require_size(n)
    places = places_of_pairs(pairs, n)
    matrix = np.zeros((n, n), dtype=np.bool_)
    matrix[places[:, 0], places[:, 1]] = True
    return matrix


def places_of_pairs(pairs: Sequence[Sequence[int]] | Array, n: int) -> Indices:
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
