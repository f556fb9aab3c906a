"""Votes of the sites on pairs of variables: what the choice among the states of a path needs.

c_e is the weight of the inputs whose moral graph has e: it gives the mean SMHD of any DAG and the
bound below which none can be. For ties the CPDAGs of the inputs are voted on, too: a -> b, b -> a
or a - b. G+ is an I-map of every input, so no pair outside its moral graph can have a moral vote,
and none outside its skeleton can be joined in an input: those pairs are not asked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbn.secure.pattern import matrix_of
from fedbn.secure.requests import VoteRequest

__all__ = ["Pairs", "Votes", "asked_pairs", "own_votes", "votes_of"]

Bits = NDArray[np.uint64]
Ints = NDArray[np.int64]


class Pairs(NamedTuple):
    """The pairs (a, b), a < b, sorted, int64 [m, 2]: of moral votes, and of those on CPDAGs."""

    moral: Ints
    classes: Ints


class Votes(NamedTuple):
    """Weights, int64 [n, n]: moral and open (a - b) are symmetric; compelled[a, b] is of a -> b."""

    moral: Ints
    compelled: Ints
    open: Ints


def asked_pairs(request: VoteRequest, n: int) -> Pairs:
    """The pairs that a request asks about."""
    from fedbn.consensus._state_kernels import moral_votes
    from fedbn.graphs._bit_kernels import pack

    if request.union is None:
        moral = skeleton = np.ones((n, n), np.bool_)
    else:
        adjacency = matrix_of(request.union, n)
        skeleton = adjacency | adjacency.T
        pa, ch = pack(adjacency.T), pack(adjacency)
        moral = moral_votes(pa[None], ch[None], np.ones(1, np.int64)) > 0
    none = np.empty((0, 2), np.int64)
    return Pairs(_upper(moral), _upper(skeleton) if request.classes else none)


def _upper(pairs: NDArray[np.bool_]) -> Ints:
    return np.argwhere(np.triu(pairs, k=1)).astype(np.int64).reshape(-1, 2)


def own_votes(pairs: Pairs, pa: Bits, ch: Bits, weights: Ints) -> Ints:
    """The vector of a site: moral votes, then those on a -> b, on b -> a and on a - b."""
    from fedbn.consensus._state_kernels import moral_votes
    from fedbn.graphs._bit_kernels import unpack
    from fedbn.graphs._cpdag_kernels import cpdag_bits

    n = pa.shape[1]
    compelled, undirected = np.zeros((n, n), np.int64), np.zeros((n, n), np.int64)
    if len(pairs.classes):
        for i, weight in enumerate(weights):
            _, children, neighbours = cpdag_bits(pa[i], ch[i])
            compelled += weight * unpack(children, n)
            undirected += weight * unpack(neighbours, n)
    (a, b), (c, d) = pairs.moral.T, pairs.classes.T
    moral = moral_votes(pa, ch, weights)
    return np.concatenate([moral[a, b], compelled[c, d], compelled[d, c], undirected[c, d]])


def votes_of(pairs: Pairs, sums: Ints, n: int) -> Votes:
    """The summed vectors as matrices."""
    votes = Votes(*(np.zeros((n, n), np.int64) for _ in range(3)))
    m, s = len(pairs.moral), len(pairs.classes)
    (a, b), (c, d) = pairs.moral.T, pairs.classes.T
    votes.moral[a, b] = votes.moral[b, a] = sums[:m]
    votes.compelled[c, d], votes.compelled[d, c] = sums[m : m + s], sums[m + s : m + 2 * s]
    votes.open[c, d] = votes.open[d, c] = sums[m + 2 * s :]
    return votes
