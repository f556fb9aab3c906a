"""A DAG that some fusion made, brought to background knowledge."""

from __future__ import annotations

from fedbn.fusion.inputs import merge_inputs
from fedbn.fusion.union import fuse_in_stages
from fedbn.graphs.bits import unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.known_class import member_that_keeps


def brought_to(dag: DAG, knowledge: Knowledge) -> DAG:
    """A member of the DAG's class that keeps the knowledge; where there is none, the G+ of this DAG
    alone under the knowledge.

    Raises
    ------
    ConfigError : the knowledge names a variable that the DAG lacks.

    Examples
    --------
    >>> chain = DAG.from_edges("abc", ["ab", "bc"])
    >>> brought_to(chain, Knowledge(tiers=(("c",), ("b",), ("a",)))).edges
    (('b', 'a'), ('c', 'b'))
    >>> brought_to(chain, Knowledge(forbidden=(("a", "b"), ("b", "a")))).edges
    (('b', 'c'),)
    """
    member = member_that_keeps(dag, knowledge)
    if member is not None:
        return member
    inputs = merge_inputs([dag])
    _, parents = fuse_in_stages(inputs, None, lambda *_: None, knowledge=knowledge)
    return DAG(inputs.names, unpack(parents, dag.n).T).reorder(dag.names)
