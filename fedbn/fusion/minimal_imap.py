"""The minimal directed I-map of a DAG under an order of its variables.

It is unique: u is a parent of v iff u precedes v and the two are not d-separated given the other
predecessors of v (Pearl 1988; Peña, "Finding consensus Bayesian network structures", JAIR 2011,
builds the same graph by arc reversals). By the moral criterion that is: some path from v to u in
the moral graph of An(pred(v) + v) has no inner node in pred(v).
"""

from __future__ import annotations

from collections.abc import Sequence

from fedbn.graphs.dag import DAG, positions

__all__ = ["minimal_imap"]


def minimal_imap(dag: DAG, order: Sequence[str]) -> DAG:
    """The minimal directed I-map of `dag` in which every edge follows `order`.

    Parameters
    ----------
    dag : any DAG.
    order : its names, in the wanted order.

    Returns
    -------
    A DAG over the same names, listed as in `dag`.

    Raises
    ------
    StructureError : `order` is no permutation of the names.

    Examples
    --------
    >>> collider = DAG.from_edges("abc", [("a", "c"), ("b", "c")])
    >>> minimal_imap(collider, "cab").edges
    (('a', 'b'), ('c', 'a'), ('c', 'b'))
    """
    from fedbn._core.fusion import minimal_imaps
    from fedbn.graphs.bits import pack, unpack

    places = positions(dag.names, order)
    (parents,) = minimal_imaps(pack(dag.adjacency.T)[None], places.astype("int64"))
    return DAG(dag.names, unpack(parents, dag.n).T)
