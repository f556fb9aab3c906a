"""Core and periphery: what all groups share, and what each has of its own.

The groups' networks are DAGs of their own orders, so two of them may join a pair in opposite
directions, or one of them in a direction that closes a cycle with the other. The core has the pairs
that all groups join. Whether there is one order of the variables that no arrow of any group's
equivalence class contradicts is told, and a cycle of such arrows where there is none; the groups'
own DAGs are left as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Bools
from fedbn.graphs.averaging import averaged_dag
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.pdag import dag_to_cpdag

Edge = tuple[str, str]


@dataclass(frozen=True, eq=False)
class SharedCore:
    """What groups share.

    Attributes
    ----------
    dag : the pairs that all groups join, each in the direction that most groups give it, ties to
        the first group's; where that closes a cycle, the other way.
    own : of every group, its edges that are not in the core, sorted.
    order : names in an order that no compelled edge of a group contradicts; None where there is
        none.
    conflict : where there is none, names of a cycle of compelled edges of the groups together.
    """

    dag: DAG
    own: tuple[tuple[Edge, ...], ...]
    order: tuple[str, ...] | None
    conflict: tuple[str, ...]


def core_of(consensuses: Sequence[DAG], knowledge: Knowledge | None = None) -> SharedCore:
    """The core of the groups' consensuses, over the same names, sorted; it keeps what they keep."""
    names = consensuses[0].names
    arcs = np.sum([dag.adjacency for dag in consensuses], axis=0).astype(np.int64)
    shared = arcs + arcs.T == len(consensuses)
    first = consensuses[0].adjacency.astype(np.int64)
    votes = np.where(shared, 2 * arcs + first, 0)
    dag = averaged_dag(names, votes, 2 * len(consensuses) + 1, knowledge=knowledge)
    own = tuple(
        tuple(edge for edge in each.edges if not shared[names.index(edge[0]), names.index(edge[1])])
        for each in consensuses
    )
    compelled = [_compelled_arrows(each) for each in consensuses]
    order, cycle = _common_order(np.logical_or.reduce(compelled))
    return SharedCore(
        dag,
        own,
        None if order is None else tuple(names[v] for v in order),
        tuple(names[v] for v in cycle),
    )


def _compelled_arrows(dag: DAG) -> Bools:
    """bool [n, n]: the arrows of the equivalence class."""
    adjacency = dag_to_cpdag(dag).adjacency
    arrows: Bools = adjacency & ~adjacency.T
    return arrows


def _common_order(arrows: Bools) -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
    """A topological order of the arrows, the first node first; or None and the nodes of a cycle."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(arrows)))
    graph.add_edges_from((int(a), int(b)) for a, b in np.argwhere(arrows))
    if nx.is_directed_acyclic_graph(graph):
        return tuple(nx.lexicographical_topological_sort(graph)), ()
    return None, tuple(int(tail) for tail, _ in nx.find_cycle(graph))
