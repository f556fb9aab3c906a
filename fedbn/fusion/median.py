"""The median DAG: greedy descent on the mean SMHD to the inputs.

After DAGBag (Wang, Peng 2014), which aggregates DAGs by the one of smallest mean distance, found by
greedy search over single-edge changes; the distance here is SMHD, for which the votes on moral
edges suffice: with c_e the weight of the inputs whose moral graph has e and W the total weight, a
moral edge e adds W - 2 c_e to the weighted sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbn.arrays import Ints
from fedbn.fusion.inputs import MergedInputs, merge_inputs
from fedbn.fusion.weights import Weight
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.moral import moral_graph


def median_dag(
    dags: Sequence[DAG], weights: Sequence[Weight] | None = None, start: DAG | None = None
) -> DAG:
    """A DAG at which no single valid edge change lowers the mean SMHD to the inputs.

    Parameters
    ----------
    dags, weights : as for `fedbn.fusion.union.fuse`, which has the errors, too.
    start : where the descent starts; the empty graph by default.

    Examples
    --------
    >>> chain = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
    >>> median_dag([chain, chain, DAG.empty("abc")]).n_edges
    2
    """
    inputs = merge_inputs(dags, weights)
    return descend_to_median(inputs, DAG.empty(inputs.names) if start is None else start)


def descend_to_median(
    inputs: MergedInputs,
    start: DAG,
    knowledge: Knowledge | None = None,
    max_treewidth: int | None = None,
) -> DAG:
    """`median_dag` of merged inputs by changes that keep the knowledge, as the start does, and the
    bound of `descend_by_votes`; names sorted as text."""
    n = len(inputs.names)
    votes = np.zeros((n, n), dtype=np.int64)
    for dag, weight in zip(inputs.dags, inputs.weights, strict=True):
        votes += weight * moral_graph(dag)
    begun = start.reorder(inputs.names)
    return descend_by_votes(begun, votes, inputs.seen, knowledge, max_treewidth)


def descend_by_votes(
    start: DAG,
    votes: Ints,
    total: int | Ints,
    knowledge: Knowledge | None = None,
    max_treewidth: int | None = None,
) -> DAG:
    """`descend_to_median` from what it needs of the inputs: votes on moral edges, and their weight.

    start : names sorted as text; keeps the knowledge. votes : int64 [n, n], symmetric: c_e.
    total : W, or int64 [n, n]: of each pair the weight of those that see it.
    max_treewidth : no change leads to a DAG of which `dag_treewidth` is above this.
    """
    from fedbn._core import fusion

    known = {} if knowledge is None else knowledge.bits(start.names)
    width = -1 if max_treewidth is None else max_treewidth
    gain = total - 2 * votes
    parents = fusion.descend_to_median(pack(start.adjacency.T), gain, max_width=width, **known)
    return DAG(start.names, unpack(parents, start.n).T)
