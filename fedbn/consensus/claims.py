"""Independences that a consensus claims because knowledge lets nothing join a pair.

A pair is parted where neither direction is left: forbidden, or against a chain of required edges.
An I-map of the inputs may need such a pair joined. It goes all the same, and so a DAG claims that
the later of the two does not depend on the earlier one given its parents. What inputs say against
that is told, pair by pair: the user weighs the knowledge against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fedbn.arrays import Bools
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.separation import d_separated

__all__ = ["Claim", "claims_of", "parted_pairs"]


@dataclass(frozen=True)
class Claim:
    """variable and other are independent given `given`, says the consensus.

    Attributes
    ----------
    variable, other : a pair that the knowledge parts; `other` comes later in the consensus.
    given : the parents of `other` there, sorted as text.
    against : the share of the inputs' weight in which the two are not d-separated by `given`.
    """

    variable: str
    other: str
    given: tuple[str, ...]
    against: Fraction


def claims_of(
    dag: DAG, knowledge: Knowledge, inputs: Sequence[DAG], weights: Sequence[int | Fraction]
) -> tuple[Claim, ...]:
    """What a DAG that keeps the knowledge claims for its sake against some input, by pair.

    Parameters
    ----------
    dag : the consensus.
    knowledge : over its names.
    inputs, weights : over the same names, in any order; a positive weight each.

    Examples
    --------
    >>> chain = DAG.from_edges("abc", ["ab", "bc", "ac"])
    >>> apart = Knowledge(forbidden=(("a", "c"), ("c", "a")))
    >>> claims_of(DAG.from_edges("abc", ["ab", "bc"]), apart, [chain], [1])
    (Claim(variable='a', other='c', given=('b',), against=Fraction(1, 1)),)
    """
    ordered = [given.reorder(dag.names) for given in inputs]
    place = {v: k for k, v in enumerate(dag.topological_order())}
    found = []
    for a, b in np.argwhere(np.triu(parted_pairs(knowledge, dag.names), k=1)).tolist():
        first, last = sorted((a, b), key=place.__getitem__)
        given = dag.parents(last)
        against = sum(
            weight
            for other, weight in zip(ordered, weights, strict=True)
            if not d_separated(other, [first], [last], given)
        )
        if against:
            share = Fraction(against) / Fraction(sum(weights))
            names = tuple(sorted(dag.names[v] for v in given))
            found.append(Claim(dag.names[first], dag.names[last], names, share))
    return tuple(sorted(found, key=lambda claim: (claim.variable, claim.other)))


def parted_pairs(knowledge: Knowledge, names: Sequence[str]) -> Bools:
    """bool [n, n], symmetric: the pairs that no DAG joins that keeps the knowledge."""
    reach = knowledge.required_matrix(names)
    while np.any(further := (reach @ reach) & ~reach):
        reach |= further
    barred = knowledge.forbidden_matrix(names) | reach.T
    parted: Bools = barred & barred.T
    return parted
