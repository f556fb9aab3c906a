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


@dataclass(frozen=True)
class Claim:
    """variable and other are independent given `given`, says the consensus.

    Attributes
    ----------
    variable, other : a pair that the knowledge parts; `other` comes later in the consensus.
    given : the parents of `other` there, sorted as text.
    against : the share of the judges' weight in which the two are not d-separated by `given`; the
        judges are the inputs that are about both and about most of `given`.
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
    inputs, weights : over some of its names, in any order; a positive weight each.

    Examples
    --------
    >>> chain = DAG.from_edges("abc", ["ab", "bc", "ac"])
    >>> apart = Knowledge(forbidden=(("a", "c"), ("c", "a")))
    >>> claims_of(DAG.from_edges("abc", ["ab", "bc"]), apart, [chain], [1])
    (Claim(variable='a', other='c', given=('b',), against=Fraction(1, 1)),)
    """
    place = {v: k for k, v in enumerate(dag.topological_order())}
    found = []
    for a, b in np.argwhere(np.triu(parted_pairs(knowledge, dag.names), k=1)).tolist():
        first, last = sorted((a, b), key=place.__getitem__)
        names = tuple(sorted(dag.names[v] for v in dag.parents(last)))
        pair = dag.names[first], dag.names[last]
        share = _share_against(pair, names, inputs, weights)
        if share:
            found.append(Claim(*pair, names, share))
    return tuple(sorted(found, key=lambda claim: (claim.variable, claim.other)))


def _share_against(
    pair: tuple[str, str],
    given: tuple[str, ...],
    inputs: Sequence[DAG],
    weights: Sequence[int | Fraction],
) -> Fraction:
    """Of the inputs that are about a pair and most of `given` the share that does not part it; 0
    where none is about the pair."""
    seeing = [
        (dag, weight)
        for dag, weight in zip(inputs, weights, strict=True)
        if {*pair} <= {*dag.names}
    ]
    if not seeing:
        return Fraction(0)
    lacking = [len({*given} - {*dag.names}) for dag, _ in seeing]
    judges = [each for each, many in zip(seeing, lacking, strict=True) if many == min(lacking)]
    against = Fraction(0)
    for dag, weight in judges:
        first, last, *rest = (dag.names.index(v) for v in (*pair, *given) if v in dag.names)
        if not d_separated(dag, [first], [last], rest):
            against += weight
    return against / sum(Fraction(weight) for _, weight in judges)


def parted_pairs(knowledge: Knowledge, names: Sequence[str]) -> Bools:
    """bool [n, n], symmetric: the pairs that no DAG joins that keeps the knowledge."""
    reach = knowledge.required_matrix(names)
    while np.any(further := (reach @ reach) & ~reach):
        reach |= further
    barred = knowledge.forbidden_matrix(names) | reach.T
    parted: Bools = barred & barred.T
    return parted
