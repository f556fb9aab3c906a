"""Partially directed graphs and Markov equivalence classes.

A PDAG's `adjacency[i, j]` means i -> j; both `[i, j]` and `[j, i]` set mean i - j. A CPDAG is the
PDAG of an equivalence class: its directed edges are those that all members share.
Sources: Chickering 1995 (order-edges, label-edges), Meek 1995 (rules R1 to R4), Dor & Tarsi 1992.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedbn.errors import StructureError
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.dag import DAG, adjacency_of_edges, checked_graph, positions


@dataclass(frozen=True, eq=False)
class PDAG:
    """A graph with directed and undirected edges.

    Parameters
    ----------
    names : the variables, unique.
    adjacency : bool [n, n], copied, then read-only; [i, j] alone: i -> j; with [j, i]: i - j.

    Raises
    ------
    StructureError : names repeat or shapes differ.
    """

    names: tuple[str, ...]
    adjacency: NDArray[np.bool_]

    def __post_init__(self) -> None:
        names, adjacency = checked_graph(self.names, self.adjacency)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "adjacency", adjacency)

    @classmethod
    def from_edges(
        cls,
        names: Sequence[str],
        directed: Iterable[tuple[str, str]] = (),
        undirected: Iterable[tuple[str, str]] = (),
    ) -> PDAG:
        """A PDAG from (parent, child) pairs and unordered pairs."""
        both = [pair for a, b in undirected for pair in ((a, b), (b, a))]
        return cls(tuple(names), adjacency_of_edges(names, [*directed, *both]))

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.names)

    @property
    def n_edges(self) -> int:
        """Number of edges, an undirected one counted once."""
        return int(np.triu(self.adjacency | self.adjacency.T).sum())

    @cached_property
    def directed_edges(self) -> tuple[tuple[str, str], ...]:
        """(parent, child) names, sorted as text."""
        pairs = np.argwhere(self.adjacency & ~self.adjacency.T)
        return tuple(sorted((self.names[i], self.names[j]) for i, j in pairs))

    @cached_property
    def undirected_edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs of names, each pair and the list sorted as text."""
        pairs = np.argwhere(np.triu(self.adjacency & self.adjacency.T))
        both = ((self.names[i], self.names[j]) for i, j in pairs)
        return tuple(sorted((min(pair), max(pair)) for pair in both))

    def reorder(self, names: Sequence[str]) -> PDAG:
        """The same graph with its variables listed as `names`, a permutation of them."""
        position = positions(self.names, names)
        return PDAG(tuple(names), self.adjacency[np.ix_(position, position)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PDAG):
            return NotImplemented
        return self.names == other.names and bool(np.array_equal(self.adjacency, other.adjacency))

    def __hash__(self) -> int:
        return hash((self.names, self.adjacency.tobytes()))

    def __repr__(self) -> str:
        return (
            f"PDAG({self.n} nodes, {len(self.directed_edges)} directed, "
            f"{len(self.undirected_edges)} undirected edges)"
        )


def dag_to_cpdag(dag: DAG) -> PDAG:
    """The CPDAG of the Markov equivalence class of `dag`.

    Examples
    --------
    >>> collider = DAG.from_edges("abc", [("a", "c"), ("b", "c")])
    >>> dag_to_cpdag(collider).directed_edges
    (('a', 'c'), ('b', 'c'))
    >>> dag_to_cpdag(DAG.from_edges("ab", [("a", "b")])).undirected_edges
    (('a', 'b'),)
    """
    from fedbn._core.graphs import cpdag

    _, ch, ne = cpdag(pack(dag.adjacency.T))
    return PDAG(dag.names, unpack(ch | ne, dag.n))


def consistent_extension(pdag: PDAG) -> DAG:
    """A DAG with the skeleton, directed edges and v-structures of `pdag` (Dor & Tarsi 1992).

    Takes the removable sink of smallest index first among those to look at.

    Raises
    ------
    StructureError : the PDAG has no consistent extension.
    """
    from fedbn._core.graphs import extension

    undirected = pdag.adjacency & pdag.adjacency.T
    directed = pdag.adjacency & ~undirected
    parents = extension(pack(directed.T), pack(undirected))
    if parents is None:
        raise StructureError(
            f"{pdag!r} must have a consistent extension, but no DAG has its skeleton, "
            "directed edges and v-structures"
        )
    return DAG(pdag.names, unpack(parents, pdag.n).T)
