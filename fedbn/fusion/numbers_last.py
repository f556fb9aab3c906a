"""A DAG in which categories come before numbers, as a network with parameters has them."""

from __future__ import annotations

from fedbn.data.schema import Schema
from fedbn.errors import NetworkError
from fedbn.fusion.minimal_imap import minimal_imap
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.networks.conditional_gaussian import member_with_numbers_last


def with_numbers_last(consensus: DAG, schema: Schema, known: Knowledge | None = None) -> DAG:
    """A DAG in which no category has a number as parent, and which claims no independence that the
    consensus, over the schema's names in that order, does not claim.

    It is a member of the class, if one has its numbers last: one that keeps the knowledge, too, if
    there is such a one, else `ParameterSources.against` says what it breaks. Otherwise it is the
    minimal I-map of the consensus in its own order, categories first, which has more edges.

    >>> from fedbn.data.schema import Variable
    >>> schema = Schema((Variable("age"), Variable("crp"), Variable("ill", ("no", "yes"))))
    >>> collider = DAG.from_edges(schema.names, [("age", "ill"), ("crp", "ill")])
    >>> with_numbers_last(collider, schema).edges
    (('age', 'crp'), ('ill', 'age'), ('ill', 'crp'))
    """
    try:
        return member_with_numbers_last(consensus, schema, known)
    except NetworkError:
        numbers = set(schema.numbers)
        order = [consensus.names[v] for v in consensus.topological_order()]
        return minimal_imap(consensus, sorted(order, key=lambda name: name in numbers))
