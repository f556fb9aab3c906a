"""How much of the whole posterior over DAGs a credible set covers, for few variables.

The weights of all DAGs are summed without listing them, layer by layer (Kuipers & Moffa 2017,
"Partition MCMC for inference on acyclic digraphs", section 2): the first layer of a DAG is its
nodes without parents, the next is those whose parents lie in the layers before, at least one of
them in the last. Every DAG has one such sequence. With U the nodes so far and L the last layer,

    Z(U, L) = Σ_{∅ ≠ S ⊆ V - U} Z(U + S, S) Π_{i in S} Σ_{P ⊆ U, P meets L} w(i, P).

Nothing is subtracted, hence logarithms keep every digit; the sum by inclusion and exclusion (Tian &
He 2009) loses all of them on strongly dependent columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from fedbn.arrays import Floats
from fedbn.credible.enumerate import CredibleSet
from fedbn.errors import SearchError
from fedbn.scores.base import LocalScore

MAX_VARIABLES = 8


def covered_share(credible: CredibleSet, score: LocalScore) -> float:
    """The weight of the set over the weight of all DAGs, with equal prior odds.

    Variables that the set has put aside (one state) have no edges on either side.

    Parameters
    ----------
    score : the one that the set was made with, over the same variables.

    Raises
    ------
    SearchError : there are more than `MAX_VARIABLES` variables.
    """
    aside = set(credible.candidates.set_aside)
    used = [i for i, name in enumerate(credible.names) if name not in aside]
    n = len(used)
    if n > MAX_VARIABLES:
        raise SearchError(f"all DAGs are summed for at most {MAX_VARIABLES} variables, not {n}")
    weights = _log_weights(score, used)
    best = weights.max(axis=1)
    meeting = _meeting(weights - best[:, None])
    # Σ best is at least -OPT, by little: the exponent is small whatever the number of rows.
    log_share = math.log(credible.total_weight) - (credible.opt + math.fsum(best))
    return min(1.0, math.exp(log_share - _log_sum_of_dags(meeting, n)))


def _log_weights(score: LocalScore, used: list[int]) -> Floats:
    """[n, 2^n]: the local score of each of `used` with each set of them as parents.

    Sets are bit masks of places in `used`; those with the node itself are impossible.
    """
    n = len(used)
    out = np.full((n, 1 << n), -np.inf)
    for i, node in enumerate(used):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            for P in combinations(others, size):
                parents = [used[j] for j in P]
                out[i, sum(1 << j for j in P)] = score.local_score(node, parents)
    return out


def _meeting(weights: Floats) -> dict[tuple[int, int], Floats]:
    """(U, L), L ⊆ U: [n] ln Σ of the weights of parent sets inside U that meet L.

    With l the last of L: those that contain l, and those inside U - l that meet L - l. The first
    layer has the empty set alone: (∅, ∅).
    """
    n = len(weights)
    with_member = np.full((n, *weights.shape), -np.inf)
    for member in range(n):
        sums = with_member[member]
        has = np.arange(1 << n) >> member & 1 == 1
        sums[:, has] = weights[:, has]
        for j in range(n):
            halves = sums.reshape(n, -1, 2, 1 << j)
            if j != member:
                halves[:, :, 1] = np.logaddexp(halves[:, :, 0], halves[:, :, 1])
    found = {(0, 0): weights[:, 0]}
    for U in range(1, 1 << n):
        found[U, 0] = np.full(n, -np.inf)
        for L in sorted(_parts_of(U)):
            member = L.bit_length() - 1
            rest = found[U ^ 1 << member, L ^ 1 << member] if L ^ 1 << member else -np.inf
            found[U, L] = np.logaddexp(with_member[member][:, U], rest)
    return found


def _log_sum_of_dags(meeting: dict[tuple[int, int], Floats], n: int) -> float:
    """ln of the sum over all DAGs; Z(U, L) of larger U first."""
    everything = (1 << n) - 1
    Z: dict[tuple[int, int], float] = {}
    for U in range(everything, -1, -1):
        for L in _parts_of(U) if U else [0]:
            if everything == U:
                Z[U, L] = 0.0
                continue
            parents = meeting[U, L].tolist()
            ways = {0: 0.0}
            terms = []
            for S in sorted(_parts_of(everything ^ U)):
                lowest = S & -S
                ways[S] = ways[S ^ lowest] + parents[lowest.bit_length() - 1]
                terms.append(ways[S] + Z[U | S, S])
            Z[U, L] = float(np.logaddexp.reduce(terms))
    return Z[0, 0]


def _parts_of(whole: int) -> Iterator[int]:
    """The subsets of a bit mask, without the empty one, the largest first."""
    part = whole
    while part:
        yield part
        part = (part - 1) & whole
