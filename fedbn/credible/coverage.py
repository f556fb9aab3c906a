"""How much of the whole posterior over DAGs a credible set covers, for few variables.

The weights of all DAGs are summed without listing them, by inclusion and exclusion over the sets S
of nodes that have no children (Tian & He 2009):

    Z(V) = Σ_{∅ ≠ S ⊆ V} (-1)^(|S| + 1) Z(V - S) Π_{i in S} Σ_{P ⊆ V - S} w(i, P).
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fedbn.credible.enumerate import CredibleSet
from fedbn.errors import SearchError
from fedbn.scores.base import LocalScore

__all__ = ["MAX_VARIABLES", "covered_share"]

MAX_VARIABLES = 8


def covered_share(credible: CredibleSet, score: LocalScore) -> float:
    """The weight of the set over the weight of all DAGs, with equal prior odds.

    Parameters
    ----------
    score : the one that the set was made with, over the same variables.

    Raises
    ------
    SearchError : there are more than `MAX_VARIABLES` variables.
    """
    n = len(credible.names)
    if n > MAX_VARIABLES:
        raise SearchError(f"all DAGs are summed for at most {MAX_VARIABLES} variables, not {n}")
    sums = np.array([_sums(score, i, n) for i in range(n)])
    best = sums[:, -1].copy()  # scale: Σ_P w(i, P) over all P is 1
    weights = np.exp(sums - best[:, None])
    Z = np.zeros(1 << n)
    Z[0] = 1.0
    for V in range(1, 1 << n):
        S = V
        while S:
            members = [i for i in range(n) if S >> i & 1]
            ways = math.prod(float(weights[i, V ^ S]) for i in members)
            Z[V] += (1 if len(members) % 2 else -1) * Z[V ^ S] * ways
            S = (S - 1) & V
    return credible.total_weight * math.exp(-credible.opt - float(best.sum())) / float(Z[-1])


def _sums(score: LocalScore, node: int, n: int) -> NDArray[np.float64]:
    """[2^n]: ln Σ exp(local score) over the parent sets within each set; without the node."""
    out = np.full(1 << n, -np.inf)
    others = [j for j in range(n) if j != node]
    for size in range(n):
        for P in combinations(others, size):
            out[sum(1 << j for j in P)] = score.local_score(node, P)
    for j in range(n):
        whole = out.reshape(-1, 2, 1 << j)
        whole[:, 1] = np.logaddexp(whole[:, 0], whole[:, 1])
    return out
