"""The member of a consensus's equivalence class that is written down.

Searches over classes decide directions up to equivalence only, so the consensus is a class and any
of its DAGs may stand for it. Written is the one nearest to the inputs' directions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.consensus.votes import Votes
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.pdag import dag_to_cpdag

__all__ = ["nearest_member"]

Arcs = tuple[tuple[int, int], ...]

# Sources tried at most for one class: below a second. Cliques of 11 open nodes need 11,264.
MAX_SOURCES = 20_000

# The margin of a direction that is demanded: above the sum of all others.
DEMANDED = 2**62 - 1


def nearest_member(dag: DAG, votes: Votes, knowledge: Knowledge | None = None) -> DAG:
    """The DAG equivalent to `dag` whose arcs most of the inputs' weight has, in the same direction.

    First, while a covered edge x -> y, one with pa(y) = pa(x) + x, is y -> x in more weight than
    x -> y, it is reversed: the one of the largest majority first, then the first (x, y) in name
    order. Covered reversals stay in the class and, where all inputs are one DAG of the class, lead
    to it (Chickering 1995, Theorem 2). If an open edge then still goes against a majority, all
    members are compared, by the source of every chain component and of what it leaves open (He,
    Jia, Yu 2015, JMLR 16:2589); ties to the smallest name. Only where that needs more than
    `MAX_SOURCES` sources may another member be nearer. A direction that the knowledge demands
    counts for more than all majorities together, so the member keeps what `dag` keeps.

    Parameters
    ----------
    dag : over the names of the votes, sorted as text; keeps the knowledge.
    votes : of the inputs.
    knowledge : over these names.

    Examples
    --------
    >>> from fedbn.consensus.votes import votes_of
    >>> from fedbn.fusion.inputs import merge_inputs
    >>> chain = DAG.from_edges("abc", ["cb", "ba"])
    >>> votes = votes_of(merge_inputs([chain]))
    >>> nearest_member(DAG.from_edges("abc", ["ab", "bc"]), votes).edges
    (('b', 'a'), ('c', 'b'))
    """
    from fedbn._core.consensus import reverse_covered

    margins = votes.arcs - votes.arcs.T
    if knowledge is not None:
        wanted = knowledge.required_matrix(dag.names) | knowledge.forbidden_matrix(dag.names).T
        margins = np.where(wanted, DEMANDED, np.where(wanted.T, -DEMANDED, margins))
        margins[wanted & wanted.T] = 0
    reached = unpack(reverse_covered(pack(dag.adjacency.T), margins), dag.n).T
    if not np.any(margins[reached] < 0):
        return DAG(dag.names, reached)
    pattern = dag_to_cpdag(dag).adjacency
    undirected = pattern & pattern.T
    if np.any(margins[reached & undirected] < 0):
        arcs = _Orientations(undirected, margins).best()
        if arcs is not None:
            reached = pattern & ~undirected
            reached[tuple(np.array(arcs).T)] = True
    return DAG(dag.names, reached)


class _Orientations:
    """The members of a class: every chain component has one source, which decides what is around
    it and leaves smaller components, whose sources are chosen in their turn."""

    def __init__(self, undirected: NDArray[np.bool_], margins: NDArray[np.int64]) -> None:
        self.around = [set(np.flatnonzero(row).tolist()) for row in undirected]
        self.margins = margins
        self.known: dict[frozenset[int], tuple[int, Arcs]] = {}
        self.sources = 0

    def best(self) -> Arcs | None:
        """The arcs of the largest sum of margins; None where too many sources must be tried."""
        arcs: list[tuple[int, int]] = []
        for part in self._components(range(len(self.around)), self.around):
            found = self._best_of(part)
            if found is None:
                return None
            arcs += found[1]
        return tuple(arcs)

    def _best_of(self, part: frozenset[int]) -> tuple[int, Arcs] | None:
        if part in self.known:
            return self.known[part]
        best: tuple[int, Arcs] | None = None
        for source in sorted(part):
            self.sources += 1
            if self.sources > MAX_SOURCES:
                return None
            arcs, parts = self._root(part, source)
            value = sum(int(self.margins[a, b]) for a, b in arcs)
            for rest in parts:
                found = self._best_of(rest)
                if found is None:
                    return None
                value += found[0]
                arcs += found[1]
            if best is None or value > best[0]:
                best = (value, arcs)
        assert best is not None
        self.known[part] = best
        return best

    def _root(self, part: frozenset[int], source: int) -> tuple[Arcs, list[frozenset[int]]]:
        """The arcs that a source decides in a component, and the components that it leaves open.

        Breadth-first from the source; inside a level x -> y with x and z not adjacent makes y - z
        an arc y -> z.
        """
        arcs: list[tuple[int, int]] = []
        open_around = {v: self.around[v] & part for v in part}
        reached, level = {source}, [source]
        while level:
            following = sorted(set().union(*(open_around[v] for v in level)) - reached)
            fresh = [(v, w) for v in level for w in sorted(open_around[v] & set(following))]
            while fresh:
                x, y = fresh.pop()
                arcs.append((x, y))
                open_around[x].discard(y)
                open_around[y].discard(x)
                for z in sorted(open_around[y] & set(following) - self.around[x]):
                    if (y, z) not in fresh:
                        fresh.append((y, z))
            reached |= set(following)
            level = following
        return tuple(arcs), self._components(part, open_around)

    def _components(
        self, nodes: frozenset[int] | range, around: dict[int, set[int]] | list[set[int]]
    ) -> list[frozenset[int]]:
        """The connected components of more than one node, by their smallest."""
        seen: set[int] = set()
        found = []
        for v in sorted(nodes):
            if v in seen or not around[v]:
                continue
            part, waiting = {v}, [v]
            while waiting:
                fresh = around[waiting.pop()] - part
                part |= fresh
                waiting += fresh
            seen |= part
            found.append(frozenset(part))
        return found
