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
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Ints
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge


class ArcVotes(NamedTuple):
    """Votes on arcs, of those pairs alone that have some.

    Attributes
    ----------
    n : number of nodes.
    pairs : int64 [m, 2], a < b, ascending.
    forward, back : int64 [m], weight of the votes for a -> b, and for b -> a.
    """

    n: int
    pairs: Ints
    forward: Ints
    back: Ints

    @classmethod
    def of_matrix(cls, votes: Ints) -> ArcVotes:
        """From int64 [n, n], weight of the votes for a -> b."""
        pairs = np.argwhere(np.triu((votes != 0) | (votes != 0).T, k=1))
        a, b = pairs.T
        return cls(len(votes), pairs, votes[a, b], votes[b, a])


def averaged_dag(
    names: tuple[str, ...],
    votes: Ints | ArcVotes,
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
    votes : int64 [n, n], weight of the votes for a -> b, or `ArcVotes`; those for a -> b and b -> a
        together are at most `total`.
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

    found = votes if isinstance(votes, ArcVotes) else ArcVotes.of_matrix(votes)
    least = significance_threshold(found, total) if threshold is None else Fraction(str(threshold))
    a, b = found.pairs.T
    if isinstance(total, int):
        seen, limits = np.full(len(a), total), np.full(len(a), int(least * total))
    else:
        seen = total[a, b]
        weights, place = np.unique(seen, return_inverse=True)
        limits = np.array([int(least * int(weight)) for weight in weights], dtype=np.int64)[place]
    known = (Knowledge() if knowledge is None else knowledge).bits(names)
    columns = (a, b, found.forward, found.back, limits, seen)
    parents = averaged_arcs(np.ascontiguousarray(np.stack(columns, axis=1), np.int64), **known)
    return DAG.from_parent_bits(names, parents)


def significance_threshold(votes: Ints | ArcVotes, total: int | Ints) -> Fraction:
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
    found = votes if isinstance(votes, ArcVotes) else ArcVotes.of_matrix(votes)
    joined = found.forward + found.back
    if isinstance(total, int):
        seen, possible = np.full(len(joined), total), found.n * (found.n - 1) // 2
    else:
        seen, possible = total[tuple(found.pairs.T)], int((np.triu(total, k=1) > 0).sum())
    strengths = set(zip(joined[seen > 0].tolist(), seen[seen > 0].tolist(), strict=True))
    shares = [Fraction(votes, of) for votes, of in strengths]
    if possible > int((seen > 0).sum()):
        shares.append(Fraction(0))  # of pairs without a vote
    up_to_half = [share for share in shares if share <= Fraction(1, 2)]
    return max(up_to_half) if up_to_half else min(shares, default=Fraction(0))
