"""Upper bounds of treewidth by two elimination orders; the smaller one is reported.

The treewidth itself is NP-hard to find. The width of an elimination order is that of a chordal
completion: largest clique minus one; no order has less than the treewidth. (The MCBNC authors
report the clique size of maximum cardinality search, without the minus one.)
"""

from __future__ import annotations

from fedbn.arrays import Bools
from fedbn.graphs.bits import pack
from fedbn.graphs.dag import DAG
from fedbn.graphs.moral import moral_graph

MEASURED = 2_000
"""Nodes for which both orders take seconds."""


def treewidth(adjacency: Bools) -> int:
    """An upper bound: width by min-fill and by maximum cardinality search, the smaller.

    Parameters
    ----------
    adjacency : symmetric bool [n, n].

    Examples
    --------
    >>> import numpy as np
    >>> treewidth(~np.eye(4, dtype=bool))
    3
    """
    from fedbn._core.graphs import cardinality_order, fill_order, order_width

    around = pack(adjacency)
    _, by_fill = fill_order(around)
    return int(min(by_fill, order_width(around, cardinality_order(around))))


def dag_treewidth(dag: DAG) -> int:
    """Upper bound of the treewidth of the moral graph of `dag`."""
    return treewidth(moral_graph(dag))


def told_treewidth(dag: DAG) -> int | None:
    """The same; None where it would take long: for more than `MEASURED` nodes."""
    return dag_treewidth(dag) if dag.n <= MEASURED else None


def min_fill_order(adjacency: Bools) -> list[int]:
    """Eliminate the node that needs fewest fill edges; ties: fewest neighbours, then index.

    Parameters
    ----------
    adjacency : symmetric bool [n, n].
    """
    from fedbn._core.graphs import fill_order

    order, _ = fill_order(pack(adjacency))
    return list(order)
