"""The class of a DAG under background knowledge: a maximally oriented PDAG.

The members of an equivalence class that keep the knowledge are a smaller class. An edge is directed
in its PDAG when all of them have it in one direction: the directions of the CPDAG, those that the
knowledge says, and what follows from both by the rules 1 to 4 of Meek (1995, "Causal inference and
causal explanation with background knowledge").
"""

from __future__ import annotations

from fedbn.arrays import Bits
from fedbn.errors import StructureError
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.pdag import PDAG, dag_to_cpdag


def class_of(dag: DAG, knowledge: Knowledge | None = None) -> PDAG:
    """The CPDAG of a DAG, or with knowledge the maximally oriented PDAG of its class.

    Parameters
    ----------
    dag : some member of the class, which need not keep the knowledge itself.
    knowledge : over names of the DAG.

    Raises
    ------
    StructureError : no DAG of the class keeps the knowledge.
    ConfigError : the knowledge names a variable that the DAG lacks.

    Examples
    --------
    >>> chain = DAG.from_edges("abc", ["ab", "bc"])
    >>> class_of(chain).directed_edges
    ()
    >>> class_of(chain, Knowledge(tiers=(("a",), ("b",)))).directed_edges
    (('a', 'b'), ('b', 'c'))
    """
    if knowledge is None:
        return dag_to_cpdag(dag)
    from fedbn._core.graphs import maximally_oriented

    found = maximally_oriented(*_pattern(dag), **knowledge.bits(dag.names))
    if found is None:
        raise StructureError(f"no DAG of the class of {dag!r} keeps the knowledge")
    _, ch, ne = found
    return PDAG(dag.names, unpack(ch | ne, dag.n))


def member_that_keeps(dag: DAG, knowledge: Knowledge) -> DAG | None:
    """A DAG equivalent to `dag` that keeps the knowledge, if there is one; `dag` where it does.

    Raises
    ------
    ConfigError : the knowledge names a variable that the DAG lacks.
    """
    if not knowledge.breaches(dag):
        return dag
    from fedbn._core.graphs import constrained_extension

    parents = constrained_extension(*_pattern(dag), **knowledge.bits(dag.names))
    return None if parents is None else DAG(dag.names, unpack(parents, dag.n).T)


def _pattern(dag: DAG) -> tuple[Bits, Bits]:
    """Parents and neighbours in the CPDAG."""
    from fedbn._core.graphs import cpdag

    pa, _, ne = cpdag(pack(dag.adjacency.T))
    return pa, ne
