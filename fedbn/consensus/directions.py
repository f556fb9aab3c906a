"""The member of a consensus's equivalence class that is written down.

Searches over classes decide directions up to equivalence only, so the consensus is a class and any
of its DAGs may stand for it. Written is one near to the inputs' directions.
"""

from __future__ import annotations

from fedbn.fusion.inputs import MergedInputs
from fedbn.graphs.dag import DAG

__all__ = ["nearest_member"]


def nearest_member(dag: DAG, inputs: MergedInputs) -> DAG:
    """A DAG equivalent to `dag` whose arcs as many inputs as possible have, in the same direction.

    While a covered edge x -> y, one with pa(y) = pa(x) + x, is y -> x in more of the inputs' weight
    than x -> y, it is reversed: the one of the largest majority first, then the first (x, y) in
    name order. Covered reversals stay in the class and, where all inputs are one DAG of the class,
    lead to it (Chickering 1995, Theorem 2); in general they end where no single one helps.

    Parameters
    ----------
    dag : over the names of `inputs`, sorted as text.
    inputs : the inputs and their weights.

    Examples
    --------
    >>> from fedbn.fusion.inputs import merge_inputs
    >>> chain = DAG.from_edges("abc", ["cb", "ba"])
    >>> nearest_member(DAG.from_edges("abc", ["ab", "bc"]), merge_inputs([chain])).edges
    (('b', 'a'), ('c', 'b'))
    """
    from fedbn.consensus._direction_kernels import arc_margins, reverse_covered
    from fedbn.graphs._bit_kernels import pack, unpack

    pa = pack(dag.adjacency.T)
    reverse_covered(pa, arc_margins(inputs.bits[0], inputs.weight_array, pa))
    return DAG(dag.names, unpack(pa, dag.n).T)
