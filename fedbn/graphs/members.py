"""Members of an equivalence class by the parents of some of their nodes, and the way to a member.

The effect of setting a node depends on its parents and on nothing else of the DAG (Pearl 2009,
3.3), so that one member for every set of parents that members give it says all that the class says
of the effect: the idea of IDA (Maathuis, Kalisch, Bühlmann 2009). The sets are those that leave a
member to be completed; they are not only locally valid, so this holds with directions that
knowledge determines, too, and for several nodes at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from fedbn.arrays import Bools
from fedbn.errors import StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG, consistent_extension, dag_to_cpdag

MAX_COMBINATIONS = 20_000
"""Combinations of parent sets that are tried at most."""


def members_by_parents(pattern: PDAG, nodes: Sequence[int]) -> tuple[DAG, ...]:
    """One member for every combination of parent sets that the members give these nodes.

    Parameters
    ----------
    pattern : a CPDAG, or one with more directions that knowledge determines.
    nodes : distinct indices.

    Returns
    -------
    Ordered by the parents that are open in the pattern: fewer first, then by index.

    Raises
    ------
    StructureError : the pattern has no member, or more than `MAX_COMBINATIONS` would be tried.

    Examples
    --------
    >>> chain = dag_to_cpdag(DAG.from_edges("abc", ["ab", "bc"]))
    >>> [dag.edges for dag in members_by_parents(chain, [1])]
    [(('b', 'a'), ('b', 'c')), (('a', 'b'), ('b', 'c')), (('b', 'a'), ('c', 'b'))]
    """
    undirected = pattern.adjacency & pattern.adjacency.T
    wanted = dag_to_cpdag(consistent_extension(pattern))
    choices, count = [], 1
    for node in nodes:
        found = list(_cliques(pattern, np.flatnonzero(undirected[node]).tolist()))
        count *= len(found)
        if count > MAX_COMBINATIONS:
            raise StructureError(
                f"the class gives {', '.join(repr(pattern.names[n]) for n in nodes)} more than "
                f"{MAX_COMBINATIONS} combinations of parents: ask for fewer interventions at once"
            )
        choices.append(found)
    members = []
    for chosen in product(*choices):
        adjacency = _with_parents(
            pattern.adjacency, undirected, dict(zip(nodes, chosen, strict=True))
        )
        if adjacency is None:
            continue
        try:
            member = consistent_extension(PDAG(pattern.names, adjacency))
        except StructureError:
            continue
        if dag_to_cpdag(member) == wanted:
            members.append(member)
    return tuple(members)


def _cliques(pattern: PDAG, around: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All sets of these nodes whose members are pairwise adjacent, smaller ones first."""
    joined = pattern.adjacency | pattern.adjacency.T
    level: list[tuple[int, ...]] = [()]
    tried = 0
    while level:
        yield from level
        larger = [
            (*clique, node)
            for clique in level
            for node in around
            if (not clique or node > clique[-1]) and all(joined[node, each] for each in clique)
        ]
        tried += len(larger)
        if tried > MAX_COMBINATIONS:
            raise StructureError(
                f"a node of the class has more than {MAX_COMBINATIONS} possible sets of parents"
            )
        level = larger


def _with_parents(
    adjacency: Bools, undirected: Bools, parents: dict[int, tuple[int, ...]]
) -> Bools | None:
    """The pattern with these and no other open parents of the nodes; None if two contradict."""
    found = adjacency.copy()
    for node, chosen in parents.items():
        for other in np.flatnonzero(undirected[node]).tolist():
            if other in parents and (node in parents[other]) == (other in chosen):
                return None
            into = other in chosen
            found[other, node], found[node, other] = into, not into
    return found


def covered_reversals(dag: DAG, member: DAG) -> Iterator[tuple[int, int]]:
    """The edges x -> y to be reversed, one after another, on the way to an equivalent DAG.

    Each is covered when its turn comes: pa(y) = pa(x) + x (Chickering 1995, Theorem 2).

    Parameters
    ----------
    dag, member : over the same names, equivalent.

    Raises
    ------
    StructureError : they are not equivalent.
    """
    if dag.names != member.names or dag_to_cpdag(dag) != dag_to_cpdag(member):
        raise StructureError(f"{dag!r} and {member!r} are not equivalent")
    now = dag
    while not np.array_equal(now.adjacency, member.adjacency):
        place = {node: i for i, node in enumerate(now.topological_order())}
        against = [
            (place[int(y)], -place[int(x)], int(x), int(y))
            for x, y in np.argwhere(now.adjacency & member.adjacency.T)
        ]
        *_, x, y = min(against)
        yield x, y
        turned = now.adjacency.copy()
        turned[x, y], turned[y, x] = False, True
        now = DAG(now.names, turned)
