"""Votes of the sites on pairs of variables, as vectors to be summed.

They are those of `consensus/votes.py`: on moral edges; on how the CPDAGs join a pair (a -> b,
b -> a or a - b), for ties; and on the arc a -> b, for the directions in which a class is written,
those on b -> a following. G+ is an I-map of every input, so no pair outside its moral graph can
have a moral vote, and none outside its skeleton can be joined in an input: these are not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits, Ints
from fedbn.consensus.votes import Votes, votes_of_bits
from fedbn.secure.honest_sums import require_votes
from fedbn.secure.pattern import matrix_of
from fedbn.secure.requests import VoteRequest


class Pairs(NamedTuple):
    """The pairs (a, b), a < b, sorted, int64 [m, 2]: of moral votes, and of those on CPDAGs."""

    moral: Ints
    classes: Ints

    @property
    def length(self) -> int:
        """How many integers a site answers."""
        return len(self.moral) + 4 * len(self.classes)


def asked_pairs(request: VoteRequest, n: int) -> Pairs:
    """The pairs that a request asks about."""
    if request.union is None:
        moral = skeleton = np.ones((n, n), np.bool_)
    else:
        adjacency = matrix_of(request.union, n)
        skeleton = adjacency | adjacency.T
        married = adjacency.astype(np.int64) @ adjacency.T.astype(np.int64) > 0
        moral = skeleton | married
    none = np.empty((0, 2), np.int64)
    return Pairs(_upper(moral), _upper(skeleton) if request.classes else none)


def _upper(pairs: NDArray[np.bool_]) -> Ints:
    return np.argwhere(np.triu(pairs, k=1)).astype(np.int64).reshape(-1, 2)


def own_votes(pairs: Pairs, pa: Bits, weights: Ints) -> Ints:
    """The vector of a site: moral votes, then those on a -> b, b -> a and a - b in CPDAGs, then
    those on the arc a -> b."""
    votes = votes_of_bits(pa, weights)
    (a, b), (c, d) = pairs.moral.T, pairs.classes.T
    moral: Ints = votes.matrix(votes.moral)[a, b]
    if not len(pairs.classes):
        return moral
    told = [votes.matrix(numbers)[c, d] for numbers in (*votes.classes, votes.arcs[0])]
    return np.concatenate([moral, *told])


def summed_votes(
    pairs: Pairs, sums: Ints, names: Sequence[str], total: int, seen: Ints | None = None
) -> Votes:
    """The summed vectors as votes; `total` is the weight of all sites, `seen` int64 [n, n] of those
    that answer for both variables, where they have different ones.

    Raises MessageError where they are no votes of so much weight."""
    n, m = len(names), len(pairs.moral)
    moral, told = sums[:m], sums[m:].reshape(4, len(pairs.classes))
    (a, b), (c, d) = pairs.moral.T, pairs.classes.T
    at = np.searchsorted(a * n + b, c * n + d)  # a joined pair is a moral one
    if seen is None:
        require_votes(moral, np.vstack([moral[at], told]), total)
    else:
        require_votes(moral, np.vstack([moral[at], told]), seen[a, b], seen[c, d])
    classes, arcs = np.zeros((3, m), np.int64), np.zeros((2, m), np.int64)
    classes[:, at] = told[:3]
    arcs[:, at] = told[3], told[:3].sum(axis=0) - told[3]
    places = np.ascontiguousarray(pairs.moral, np.int32)
    return Votes(tuple(names), total, places, moral, classes, arcs, seen)
