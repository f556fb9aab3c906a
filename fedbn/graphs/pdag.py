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

from fedbn.arrays import Bools
from fedbn.errors import StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.graph import Graph, arcs_of_edges


@dataclass(frozen=True, eq=False, init=False, repr=False)
class PDAG(Graph):
    """A graph with directed and undirected edges; an undirected one is an arc in both directions.

    Parameters
    ----------
    names : the variables, unique.
    adjacency : bool [n, n], copied, then read-only; [i, j] alone: i -> j; with [j, i]: i - j.

    Raises
    ------
    StructureError : names repeat or shapes differ.
    """

    @classmethod
    def from_edges(
        cls,
        names: Sequence[str],
        directed: Iterable[tuple[str, str]] = (),
        undirected: Iterable[tuple[str, str]] = (),
    ) -> PDAG:
        """A PDAG from (parent, child) pairs and unordered pairs."""
        both = [pair for a, b in undirected for pair in ((a, b), (b, a))]
        return cls.from_arcs(names, arcs_of_edges(names, [*directed, *both]))

    @property
    def n_edges(self) -> int:
        """Number of edges, an undirected one counted once."""
        return len(self.arcs) - int(self._is_undirected.sum()) // 2

    @cached_property
    def directed_edges(self) -> tuple[tuple[str, str], ...]:
        """(parent, child) names, sorted as text."""
        arcs = self.arcs[~self._is_undirected]
        return tuple(sorted((self.names[i], self.names[j]) for i, j in arcs.tolist()))

    @cached_property
    def undirected_edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs of names, each pair and the list sorted as text."""
        arcs = self.arcs[self._is_undirected & (self.arcs[:, 0] < self.arcs[:, 1])]
        both = ((self.names[i], self.names[j]) for i, j in arcs.tolist())
        return tuple(sorted((min(pair), max(pair)) for pair in both))

    @property
    def _is_undirected(self) -> Bools:
        """bool [m]: of which arcs the one in the other direction is there, too."""
        return np.isin(self.arcs @ (self.n, 1), self.arcs @ (1, self.n))

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

    pa, _, ne = cpdag(dag.parent_bits)
    return PDAG.from_parent_bits(dag.names, pa | ne)


def consistent_extension(pdag: PDAG) -> DAG:
    """A DAG with the skeleton, directed edges and v-structures of `pdag` (Dor & Tarsi 1992).

    Takes the removable sink of smallest index first among those to look at.

    Raises
    ------
    StructureError : the PDAG has no consistent extension.
    """
    from fedbn._core.graphs import extension, transposed

    joined = pdag.parent_bits
    undirected = joined & transposed(joined)
    parents = extension(joined & ~undirected, undirected)
    if parents is None:
        raise StructureError(
            f"{pdag!r} must have a consistent extension, but no DAG has its skeleton, "
            "directed edges and v-structures"
        )
    return DAG.from_parent_bits(pdag.names, parents)
