"""The minimal directed I-map of a DAG under an order of its variables.

It is unique: u is a parent of v iff u precedes v and the two are not d-separated given the other
predecessors of v (Pearl 1988; Peña, "Finding consensus Bayesian network structures", JAIR 2011,
builds the same graph by arc reversals). By the moral criterion that is: some path from v to u in
the moral graph of An(pred(v) + v) has no inner node in pred(v).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbn.errors import StructureError
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.graph import positions
from fedbn.graphs.moral import moral_ancestral_graph


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

    places = positions(dag.names, order)
    (parents,) = minimal_imaps(pack(dag.adjacency.T)[None], places.astype("int64"))
    return DAG(dag.names, unpack(parents, dag.n).T)


def marginal_imap(dag: DAG, names: Sequence[str]) -> DAG:
    """The minimal directed I-map of `dag` over some of its variables, under its own order.

    Its independences hold in `dag`; cutting the other variables out of the graph would claim more.

    Parameters
    ----------
    dag : any DAG.
    names : some of its names, in any order.

    Returns
    -------
    A DAG over `names`, listed as they are.

    Raises
    ------
    StructureError : a name is not one of the DAG's.

    Examples
    --------
    >>> marginal_imap(DAG.from_edges("abc", ["ab", "bc"]), "ac").edges
    (('a', 'c'),)
    """
    if tuple(names) == dag.names:
        return dag
    place = {name: v for v, name in enumerate(dag.names)}
    if unknown := sorted(set(names) - set(place)):
        raise StructureError(f"{unknown[0]!r} must be one of the variables {dag.names}")
    own = {place[name]: k for k, name in enumerate(names)}
    matrix = np.zeros((len(own), len(own)), dtype=np.bool_)
    before: list[int] = []
    for v in dag.topological_order():
        if v not in own:
            continue
        moral = moral_ancestral_graph(dag, [*before, v])
        inner = np.ones(dag.n, dtype=np.bool_)
        inner[before] = False
        reached, stack = np.zeros(dag.n, dtype=np.bool_), [v]
        while stack:
            fresh = moral[stack.pop()] & ~reached
            reached |= fresh
            stack.extend(int(u) for u in np.flatnonzero(fresh & inner))
        for u in before:
            matrix[own[u], own[v]] = reached[u]
        before.append(v)
    return DAG(tuple(names), matrix)
