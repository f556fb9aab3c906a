"""Model averaging: one DAG from votes on arcs.

An edge is taken if the share of the votes that join its pair, its strength, is above a threshold,
or is 1: what everybody has is in, whatever the threshold. The automatic threshold is that of
Scutari & Nagarajan 2013 (Artificial Intelligence in Medicine 57:207): the distribution of the
strengths is compared in L1 with the ideal one, in which every strength is 0 or 1. This is the rule
of bnlearn's `averaged.network` with three differences: its numerical minimum (good to 1e-4) is
exact here, edges of the same strength come in name order, and an edge whose directions are equally
strong gets one, so that the result always is a DAG.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fedbn.arrays import Ints
from fedbn.graphs.bits import unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge

__all__ = ["averaged_dag", "significance_threshold"]


def averaged_dag(
    names: tuple[str, ...],
    votes: Ints,
    total: int | Ints,
    threshold: Fraction | float | None = None,
    knowledge: Knowledge | None = None,
) -> DAG:
    """The edges stronger than a threshold or of strength 1, strongest first.

    Every edge gets its more frequent direction and is left out where that closes a cycle. Where
    both are as frequent, the one from the earlier name is tried first, then the other. With
    knowledge its required edges come before all others, and an edge of which one direction is
    forbidden has the other one.

    Parameters
    ----------
    names : the variables.
    votes : int64 [n, n], weight of the votes for a -> b; [a, b] + [b, a] is at most `total`.
    total : weight of all votes; or int64 [n, n], of those that are possible on each pair.
    threshold : a share in [0, 1]; `significance_threshold` by default.
    knowledge : over the names.

    Raises
    ------
    ConfigError : the knowledge names a variable that is not among the names.

    Examples
    --------
    >>> votes = np.array([[0, 2, 0], [1, 0, 1], [0, 0, 0]])
    >>> averaged_dag(("a", "b", "c"), votes, 3, threshold=0.5).edges
    (('a', 'b'),)
    """
    from fedbn._core.graphs import averaged_arcs

    least = significance_threshold(votes, total) if threshold is None else Fraction(str(threshold))
    if isinstance(total, int):
        seen, limits = (np.full(votes.shape, each) for each in (total, int(least * total)))
    else:
        seen = np.ascontiguousarray(total)
        weights, place = np.unique(seen, return_inverse=True)
        above = np.array([int(least * int(weight)) for weight in weights], dtype=np.int64)
        limits = above[place].reshape(seen.shape)
    known = (Knowledge() if knowledge is None else knowledge).bits(names)
    parents = averaged_arcs(np.ascontiguousarray(votes), limits, seen, **known)
    return DAG(names, unpack(parents, len(names)).T)


def significance_threshold(votes: Ints, total: int | Ints) -> Fraction:
    """The strength above which an edge is significant.

    With F the distribution function of the strengths of all pairs, t minimises the integral of
    |F(p) - t| over p in [0, 1], and the threshold is the smallest strength s with F(s) >= t. F does
    not decrease, so its median over p is F(1/2): the threshold is the largest strength up to 1/2,
    or the smallest of all where none is. (A strength of just 1/2 makes all t between F before and
    after it minima; those inside lead to it.)

    Parameters
    ----------
    votes, total : see `averaged_dag`; pairs without a vote have the strength 0, and those on which
        no vote is possible do not count.

    Examples
    --------
    >>> votes = np.array([[0, 9, 1], [0, 0, 0], [0, 0, 0]])
    >>> significance_threshold(votes, 10)
    Fraction(1, 10)
    """
    pairs = np.triu_indices(len(votes), k=1)
    both = (votes + votes.T)[pairs]
    if not isinstance(total, int):
        return _significant_share(both, total[pairs])
    if not both.size:
        return Fraction(0)
    up_to_half = both[2 * both <= total]
    return Fraction(int(up_to_half.max() if up_to_half.size else both.min()), total)


def _significant_share(joined: Ints, seen: Ints) -> Fraction:
    """The same of pairs that were seen by different weights."""
    pairs = set(zip(joined[seen > 0].tolist(), seen[seen > 0].tolist(), strict=True))
    shares = [Fraction(votes, of) for votes, of in pairs]
    up_to_half = [share for share in shares if share <= Fraction(1, 2)]
    return max(up_to_half) if up_to_half else min(shares, default=Fraction(0))
