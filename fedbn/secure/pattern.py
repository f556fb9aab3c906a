"""P, the CPDAG from which edges are deleted, as both sides of secure sums know it.

P depends on G+ and the deletions only, which everybody is told, so server and sites replay it. The
valid operators of P are listed in the order (x, y, |H|, H) by which ties of Ψ are decided, and the
vectors of sums follow that order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits, Ints
from fedbn.errors import MessageError, SearchError
from fedbn.graphs.bits import pack
from fedbn.secure.requests import Arcs, Deletion

MAX_QUERIES = 50_000
"""Most operators of one P: more would be as many cuts in every DAG of every site."""


class Operators(NamedTuple):
    """The valid operators of a P: x and y as int64 [Q, 2], S and H as bits [Q, W]."""

    xy: Ints
    given: Bits
    h: Bits

    def deletion(self, number: int) -> Deletion:
        """One of them, as a request says it."""
        x, y = (int(v) for v in self.xy[number])
        return Deletion(x, y, _members(self.given[number]))

    def labels(self) -> list[bytes]:
        """(x, y, S) of each, as something to look up."""
        rows = np.concatenate([self.xy.astype(np.uint64), self.given], axis=1)
        return [row.tobytes() for row in rows]


def pattern_of(union: Arcs, n: int) -> Bits:
    """The CPDAG of G+, as parents, children and neighbours: bits [3, n, W].

    Raises
    ------
    MessageError : the arcs are not those of a DAG over n nodes.
    """
    from fedbn._core.graphs import cpdag, topological_order

    parents = pack(matrix_of(union, n).T)
    if len(topological_order(parents)) < n:
        raise MessageError("the union must be acyclic")
    return np.stack(cpdag(parents))


def matrix_of(arcs: Arcs, n: int) -> NDArray[np.bool_]:
    """bool [n, n], [a, b] for a -> b; raises MessageError for an arc outside it."""
    adjacency = np.zeros((n, n), np.bool_)
    for a, b in arcs:
        if a >= n or b >= n or a == b:
            raise MessageError(f"an arc must join two of {n} nodes, not {a} and {b}")
        adjacency[a, b] = True
    return adjacency


def operators_of(p: Bits, k_max: int) -> Operators:
    """All valid Delete(x, y, H) with |H| <= k_max, sorted by (x, y, |H|, H).

    x - y counts once, with x < y: both orientations have the same cuts.

    Raises
    ------
    SearchError : there are more than MAX_QUERIES.
    """
    from fedbn._core.secure import valid_deletions

    found = valid_deletions(p, k_max, MAX_QUERIES)
    if found is None:
        fits = next(
            (k for k in range(k_max - 1, -1, -1) if valid_deletions(p, k, MAX_QUERIES)), None
        )
        lower = "" if fits is None else f"lower k-max from {k_max} to {fits}, or "
        raise SearchError(
            f"secure sums ask for at most {MAX_QUERIES} cuts at a time, and the fusion has more: "
            f"{lower}take aggregation = moral-votes, which asks for none"
        )
    xy, given, h = found
    ranked = _rank(xy, h)
    return Operators(xy[ranked], given[ranked], h[ranked])


def _rank(xy: Ints, h: Bits) -> Ints:
    """The order (x, y, |H|, H) of operators that come in the order (x, y)."""
    ranked = np.arange(len(xy))
    changes = np.flatnonzero(np.any(np.diff(xy, axis=0), axis=1)) + 1
    starts = np.array([0, *changes])
    ends = np.array([*changes, len(xy)])
    for group in np.flatnonzero(ends - starts > 1):
        start, end = int(starts[group]), int(ends[group])
        sets = {q: _members(h[q]) for q in range(start, end)}
        ranked[start:end] = sorted(sets, key=lambda q: (len(sets[q]), sets[q]))
    return ranked


def after(p: Bits, deletion: Deletion, k_max: int) -> tuple[Bits, Bits]:
    """(P after a deletion, its H as bits [W]).

    Raises
    ------
    MessageError : (x, y, S) is no valid operator of P with |H| <= k_max.
    """
    from fedbn._core.secure import delete

    x, y = deletion.x, deletion.y
    n, words = p.shape[1:]
    if x < n and y < n and x != y and all(v < n for v in deletion.given):
        given = set_bits(deletion.given, words)
        na = p[2, y] & (p[0, x] | p[1, x] | p[2, x])
        h = na & ~given
        pax = p[0, y] & ~set_bits((x,), words)
        joined = _has(p[0, y], x) or (x < y and _has(p[2, y], x))
        exact = np.array_equal(given, (na & ~h) | pax)
        if joined and exact and np.bitwise_count(h).sum() <= k_max:
            made = delete(p, x, y, h[None])
            if made is not None:
                return made, h
    raise MessageError(f"{deletion} must be a valid operator with |H| <= {k_max}")


def set_bits(members: Iterable[int], words: int) -> Bits:
    """A set of nodes as bits [W]."""
    whole = 0
    for v in members:
        whole |= 1 << v
    return np.frombuffer(whole.to_bytes(8 * words, "little"), "<u8").astype(np.uint64)


def _has(row: Bits, v: int) -> bool:
    return bool(int(row[v >> 6]) >> (v & 63) & 1)


def _members(row: Bits) -> tuple[int, ...]:
    """The elements of a set of nodes."""
    out = []
    for w, word in enumerate(row.tolist()):
        while word:
            low = word & -word
            out.append((w << 6) + low.bit_length() - 1)
            word ^= low
    return tuple(out)
