"""The member of a consensus's equivalence class that is written down.

Searches over classes decide directions up to equivalence only, so the consensus is a class and any
of its DAGs may stand for it. Written is the one nearest to the inputs' directions.
"""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Ints, Ints32
from fedbn.consensus.votes import Votes
from fedbn.graphs.bits import pairs_of_bits
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge

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
    from fedbn._core.graphs import cpdag

    pairs, margins = _margins(votes, knowledge)
    parents = dag.parent_bits
    reached = DAG.from_parent_bits(dag.names, reverse_covered(parents, pairs, margins[None]))
    known = dict(zip(map(tuple, pairs.tolist()), margins.tolist(), strict=True))
    opposed = {arc for arc in map(tuple, reached.arcs.tolist()) if _margin(known, *arc) < 0}
    if not opposed:
        return reached
    _, compelled, open_ = (pairs_of_bits(rows) for rows in cpdag(parents))
    if not opposed.isdisjoint(map(tuple, open_.tolist())):
        arcs = _Orientations(open_, dag.n, known).best()
        if arcs is not None:
            return DAG.from_arcs(dag.names, [*compelled.tolist(), *arcs])
    return reached


def _margins(votes: Votes, knowledge: Knowledge | None) -> tuple[Ints32, Ints]:
    """Pairs a < b, ascending, and of each the weight of a -> b less that of b -> a, or what the
    knowledge demands."""
    pairs, margins = votes.pairs, votes.arcs[0] - votes.arcs[1]
    if knowledge is None:
        return pairs, margins
    n = len(votes.names)
    wanted = knowledge.required_matrix(votes.names) | knowledge.forbidden_matrix(votes.names).T
    keys = pairs[:, 0].astype(np.int64) * n + pairs[:, 1]
    a, b = np.triu(wanted | wanted.T, k=1).nonzero()
    all_keys = np.union1d(keys, a * n + b)
    found = np.zeros(len(all_keys), dtype=np.int64)
    found[np.searchsorted(all_keys, keys)] = margins
    demanded = wanted[a, b].astype(np.int64) - wanted[b, a].astype(np.int64)
    found[np.searchsorted(all_keys, a * n + b)] = DEMANDED * demanded
    return np.column_stack(np.divmod(all_keys, n)).astype(np.int32), found


def _margin(known: dict[tuple[int, ...], int], a: int, b: int) -> int:
    return known.get((a, b), 0) if a < b else -known.get((b, a), 0)


class _Orientations:
    """The members of a class: every chain component has one source, which decides what is around
    it and leaves smaller components, whose sources are chosen in their turn."""

    def __init__(self, open_pairs: Ints32, n: int, margins: dict[tuple[int, ...], int]) -> None:
        self.around: list[set[int]] = [set() for _ in range(n)]
        for a, b in open_pairs.tolist():
            self.around[a].add(b)
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
            value = sum(_margin(self.margins, a, b) for a, b in arcs)
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
