"""Votes of the inputs on pairs of variables: all that the choice on a path needs to know of them.

c_e, the weight of the inputs whose moral graph has e, gives the mean SMHD of any DAG to the inputs,
and the bound that none can be below. The votes on the CPDAGs give the mean SHD, those on arcs the
directions in which a class is written. So a server that has sums over its clients and none of their
structures chooses as one that has them all.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Ints
from fedbn.fusion.baselines import arc_votes
from fedbn.fusion.inputs import MergedInputs
from fedbn.graphs.bits import pack
from fedbn.graphs.dag import DAG

__all__ = [
    "Votes",
    "divided_pairs",
    "lower_bound",
    "mean_smhd_by_votes",
    "missing_pairs",
    "moral_votes_of",
    "votes_of",
]


class Votes(NamedTuple):
    """Weights of inputs.

    Attributes
    ----------
    names : of the variables, sorted as text.
    total : weight of all inputs.
    moral : int64 [n, n], symmetric: of those whose moral graph has the pair.
    classes : int64 [2, n, n]: of those whose CPDAG has a -> b, at [0], or a - b, at [1].
    arcs : int64 [n, n]: of those that have a -> b.
    seen : int64 [n, n], symmetric: of those that observe both variables; None: `total` everywhere.
    """

    names: tuple[str, ...]
    total: int
    moral: Ints
    classes: Ints
    arcs: Ints
    seen: Ints | None = None

    @property
    def possible(self) -> Ints:
        """`seen` as an array, always."""
        if self.seen is None:
            return np.full(self.moral.shape, self.total, dtype=np.int64)
        return self.seen


def votes_of(inputs: MergedInputs) -> Votes:
    """The votes of inputs that are known."""
    from fedbn._core.consensus import class_votes, moral_votes

    given = (inputs.bits[0], inputs.weight_array)
    moral, classes = moral_votes(*given), class_votes(*given)
    seen = None if inputs.observed is None else inputs.seen
    return Votes(inputs.names, inputs.total, moral, classes, arc_votes(inputs), seen)


def moral_votes_of(inputs: MergedInputs) -> Ints:
    """int64 [n, n], symmetric: `Votes.moral` alone."""
    from fedbn._core.consensus import moral_votes

    return np.asarray(moral_votes(inputs.bits[0], inputs.weight_array))


def lower_bound(votes: Votes) -> Fraction:
    """LB: the least mean SMHD to the inputs that a DAG could have."""
    least = np.minimum(votes.moral, votes.possible - votes.moral)
    return Fraction(int(np.tril(least, k=-1).sum()), votes.total)


def divided_pairs(moral: Ints, total: int) -> int:
    """On how many pairs a third of the weight would make another majority, or a tie.

    >>> divided_pairs(np.array([[0, 9, 4], [9, 0, 3], [4, 3, 0]]), total=10)
    1
    """
    pairs = moral[np.triu_indices(len(moral), k=1)]
    return int((3 * np.abs(2 * pairs - total) <= total).sum())


def mean_smhd_by_votes(dag: DAG, votes: Votes) -> Fraction:
    """The weighted mean SMHD of a DAG, over the names of the votes, to the inputs."""
    from fedbn._core.consensus import smhd_sums

    (distance,) = smhd_sums(pack(dag.adjacency.T)[None], votes.moral, votes.possible)
    return Fraction(int(distance), votes.total)


def missing_pairs(dag: DAG, votes: Votes) -> tuple[tuple[str, str], ...]:
    """The pairs of names, sorted, that every input joins that sees them, and `dag` does not.

    dag : over the names of the votes.
    """
    joined = dag.adjacency | dag.adjacency.T
    missing = (votes.arcs + votes.arcs.T == votes.possible) & (votes.possible > 0) & ~joined
    return tuple((dag.names[a], dag.names[b]) for a, b in np.argwhere(np.triu(missing, k=1)))
