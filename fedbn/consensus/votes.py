"""Votes of the inputs on pairs of variables: all that the choice on a path needs to know of them.

c_e, the weight of the inputs whose moral graph has e, gives the mean SMHD of any DAG to the inputs,
and the bound that none can be below. The votes on the CPDAGs give the mean SHD, those on arcs the
directions in which a class is written. So a server that has sums over its clients and none of their
structures chooses as one that has them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Bits, Ints, Ints32, Structure
from fedbn.fusion.inputs import MergedInputs
from fedbn.graphs.averaging import ArcVotes
from fedbn.graphs.dag import DAG
from fedbn.graphs.moral import moral_pairs


class Votes(NamedTuple):
    """Weights of inputs, on those pairs of variables alone that have some.

    Attributes
    ----------
    names : of the variables, sorted as text.
    total : weight of all inputs.
    pairs : int32 [m, 2], a < b, ascending: all that a moral graph of an input joins, perhaps more.
    moral : int64 [m]: of those whose moral graph has the pair.
    classes : int64 [3, m]: of those whose CPDAG has a -> b, b -> a, a - b.
    arcs : int64 [2, m]: of those that have a -> b, b -> a.
    seen : int64 [n, n], symmetric: of those that observe both variables; None: `total` everywhere.
    """

    names: tuple[str, ...]
    total: int
    pairs: Ints32
    moral: Ints
    classes: Ints
    arcs: Ints
    seen: Ints | None = None

    @property
    def possible(self) -> Ints:
        """int64 [m]: on each of the pairs, of those that observe both variables."""
        if self.seen is None:
            return np.full(len(self.pairs), self.total, dtype=np.int64)
        a, b = self.pairs.T
        possible: Ints = self.seen[a, b]
        return possible

    @property
    def arc_votes(self) -> ArcVotes:
        """`arcs`, as an averaged DAG is made of them."""
        return ArcVotes(len(self.names), self.pairs.astype(np.int64), *self.arcs)

    def matrix(self, numbers: Ints) -> Ints:
        """int64 [n, n]: numbers of the pairs, symmetric; 0 elsewhere."""
        found = np.zeros((len(self.names),) * 2, dtype=np.int64)
        a, b = self.pairs.T
        found[a, b] = found[b, a] = numbers
        return found


def votes_of(inputs: MergedInputs) -> Votes:
    """The votes of inputs that are known."""
    seen = None if inputs.observed is None else inputs.seen
    found = votes_of_bits(inputs.parent_bits, inputs.weight_array, inputs.names)
    return found._replace(seen=seen)


def votes_of_bits(parents: Bits, weights: Ints, names: Sequence[str] | None = None) -> Votes:
    """The votes of inputs from their parents as bits, uint64 [r, n, W], and weights, int64 [r];
    without names these are numbers."""
    from fedbn._core.consensus import pair_votes

    known = tuple(map(str, range(parents.shape[1])) if names is None else names)
    pairs, numbers = pair_votes(parents, weights)
    return Votes(known, int(weights.sum()), pairs, numbers[0], numbers[1:4], numbers[4:])


def moral_votes_of(inputs: MergedInputs) -> Ints:
    """int64 [n, n], symmetric: `Votes.moral` alone."""
    votes = votes_of(inputs)
    return votes.matrix(votes.moral)


def lower_bound(votes: Votes) -> Fraction:
    """LB: the least mean SMHD to the inputs that a DAG could have."""
    least = np.minimum(votes.moral, votes.possible - votes.moral)
    return Fraction(int(least.sum()), votes.total)


def divided_pairs(inputs: MergedInputs) -> int:
    """On how many pairs of a moral graph a third of the weight would make another majority, or a
    tie, where all inputs observe all variables."""
    pairs = [moral_pairs(dag) @ (dag.n, 1) for dag in inputs.dags]
    _, place = np.unique(np.concatenate(pairs), return_inverse=True)
    votes = np.zeros(place.max(initial=-1) + 1, dtype=np.int64)
    np.add.at(votes, place, np.repeat(inputs.weight_array, list(map(len, pairs))))
    return int((3 * np.abs(2 * votes - inputs.total) <= inputs.total).sum())


def mean_smhd_by_votes(dag: DAG, votes: Votes) -> Fraction:
    """The weighted mean SMHD of a DAG, over the names of the votes, to the inputs."""
    (distance,) = smhd_sums_of([dag.arcs], votes)
    return Fraction(int(distance), votes.total)


def smhd_sums_of(states: Sequence[Structure], votes: Votes) -> Ints:
    """int64 [B]: the weighted sum of the SMHD to the inputs of DAGs, each given as its arcs, or as
    the parents of every node in bits."""
    from fedbn._core.consensus import smhd_sums

    given = len(votes.names), votes.pairs, votes.moral[None], votes.total, votes.seen
    return np.asarray(smhd_sums(list(states), *given))


def missing_pairs(dag: DAG, votes: Votes) -> tuple[tuple[str, str], ...]:
    """The pairs of names, sorted, that every input joins that sees them, and `dag` does not.

    dag : over the names of the votes.
    """
    possible = votes.possible
    agreed = (votes.arcs.sum(axis=0) == possible) & (possible > 0)
    joined = set(map(tuple, np.sort(dag.arcs, axis=1).tolist()))
    return tuple(
        (dag.names[a], dag.names[b])
        for a, b in votes.pairs[agreed].tolist()
        if (a, b) not in joined
    )
