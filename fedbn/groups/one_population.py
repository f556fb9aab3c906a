"""Is there more than one population? A test of a split of sites, and what it is blind to.

Under the null all sites come from one population. They are not exchangeable: who has fewer rows
finds fewer edges, and other ones. So what goes with the logarithm of the sites' rows, or with its
square, is taken out of every pair by least squares. Where not all sites tell their rows, nothing
is taken out if the structures' sizes speak for alike rows (`fedbn.groups.alike_sizes`). Else the
number of moral edges stands for the rows, and then a split that goes with this number, of which
fewer rows can be the cause, is not found: the test stays on the safe side and loses power.

Nor are the pairs of one structure independent: a learner that takes one of two local optima differs
in all pairs around it. So what is tested is *coherence*: whether parts of the structure that have
little to do with each other split the sites in the same way. The pairs are put into blocks by
communities of the votes' graph (Louvain, of networkx), a pair of two communities into the first
one. Redrawing turns the sign of each site's residuals block by block (a wild bootstrap): the norms
of the sites and whatever happens within a block stay, only what blocks have in common goes. A
difference that lies within one block is not found.

A split of the sites explains u' G u, with G the sites' products of residuals without its diagonal
and u the split's contrast of norm 1. The largest eigenvalue of a redrawn G is what the best
contrast of all explains there; so the p-value holds for any split, however it was found.

Where every site sends several structures, they tell more: `fedbn.groups.redrawn`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from fedbn.arrays import Bools, Floats, Indices, Ints

DRAWS = 999
ENOUGH = 50
"""After so many draws beyond the split no more are made (Besag & Clifford 1991, Biometrika 78)."""

COLUMNS = 32

GOLDEN = (5**0.5 - 1) / 2
LITTLE = 2.0**-20
"""By how much votes are taken for more at most, each time that Louvain does not end."""

MOVES = 1_000
"""Louvain needs some moves of each variable; with so many it does not end."""

ROUNDING = 1.0 - 1e-9
"""A draw that equals the split but for rounding is beyond it."""

MOST_SITES = 32
"""A larger set is tested by so many of its sites."""


def coherence(
    residuals: Floats,
    pairs: Ints,
    votes: Floats,
    part: Bools,
    rng: np.random.Generator,
) -> float:
    """The p-value of a split: whether it is coherent over the blocks of the structures.

    Parameters
    ----------
    residuals : float64 [m, P], as from `residuals_of`.
    pairs : int64 [P, 2], the pair of each column.
    votes : float64 [P], at least 0: how many of the sites have the pair.
    part : bool [m], one side of the split; both sides have sites.
    rng : draws the sites of a large set, and the signs.
    """
    if not residuals.any():
        return 1.0
    blocks = np.sort(communities(pairs, votes)[pairs], axis=1)[:, 0]
    chosen = some_sites(part, rng)
    own, side = residuals[chosen], part[chosen]
    observed = float(explained_by_parts(own, side[None])[0])
    grams = np.stack([gram_of(own[:, blocks == b]) for b in np.unique(blocks)])
    beyond = 0
    for drawn, best in enumerate(_redrawn(grams, rng), start=1):
        beyond += best >= observed * ROUNDING
        if beyond == ENOUGH:
            return beyond / drawn
    return (1 + beyond) / (1 + DRAWS)


def residuals_of(shares: Floats, covariate: Floats) -> Floats:
    """What is left of every pair's shares by a parabola through a covariate of the sites.

    Parameters
    ----------
    shares : float64 [m, P].
    covariate : float64 [m]; with two different values it is a line that is taken out, where all
        are equal the mean.
    """
    degree = min(2, len(np.unique(covariate)) - 1)
    left: Floats = shares - shares.mean(axis=0)
    if degree:
        centred = (covariate - covariate.mean()) / np.ptp(covariate)
        basis, _ = np.linalg.qr(np.vander(centred, degree + 1))
        left -= basis @ (basis.T @ left)
    return left


def explained_by_parts(residuals: Floats, parts: Bools) -> Floats:
    """u' G u of some splits, float64 [k].

    Parameters
    ----------
    residuals : float64 [m, P], centred by column or not.
    parts : bool [k, m], one side of each split.
    """
    m = len(residuals)
    norms = (residuals**2).sum(axis=1)
    sizes = parts.sum(axis=1)
    scale = np.sqrt(sizes * (m - sizes) / m)
    inside, outside = scale / sizes, -scale / (m - sizes)
    contrasts = np.where(parts, inside[:, None], outside[:, None])
    found: Floats = ((contrasts @ residuals) ** 2).sum(axis=1) - contrasts**2 @ norms
    return found


def explained_by_spans(residuals: Floats, spans: Ints) -> Floats:
    """`explained_by_parts` where one side are neighbours: rows start to end, int64 [k, 2].

    Sums of spans are differences of running sums, so the cost is that of the tree's branches times
    the pairs, not of all sites for every branch; `COLUMNS` pairs at a time, which a cache holds.
    """
    m = len(residuals)
    sizes = spans[:, 1] - spans[:, 0]
    squared = sizes * (m - sizes) / m
    apart = np.zeros(len(spans))
    for first in range(0, residuals.shape[1], COLUMNS):
        some = residuals[:, first : first + COLUMNS]
        sums = _sums(some, spans)
        outside = (some.sum(axis=0) - sums) / (m - sizes)[:, None]
        apart += ((sums / sizes[:, None] - outside) ** 2).sum(axis=1)
    squares = (residuals**2).sum(axis=1)
    norms = _sums(squares[:, None], spans)[:, 0]
    own = norms / sizes**2 + (squares.sum() - norms) / (m - sizes) ** 2
    found: Floats = squared * (apart - own)
    return found


def _sums(rows: Floats, spans: Ints) -> Floats:
    """The sum of the rows of each span."""
    running = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
    sums: Floats = running[spans[:, 1]] - running[spans[:, 0]]
    return sums


def some_sites(part: Bools, rng: np.random.Generator) -> Indices:
    """At most `MOST_SITES` sites, ascending: half of them from either side where it has so many."""
    if len(part) <= MOST_SITES:
        return np.arange(len(part))
    sides = [np.flatnonzero(part), np.flatnonzero(~part)]
    small = min(min(map(len, sides)), MOST_SITES // 2)
    sizes = [small if len(s) == min(map(len, sides)) else MOST_SITES - small for s in sides]
    if len(sides[0]) == len(sides[1]):
        sizes = [MOST_SITES // 2] * 2
    drawn = [rng.choice(s, size=k, replace=False) for s, k in zip(sides, sizes, strict=True)]
    return np.sort(np.concatenate(drawn))


def communities(pairs: Ints, votes: Floats) -> Ints:
    """int64 [n]: the community of every variable in the graph of the votes on pairs.

    Numbered by their first variables; Louvain with a fixed seed, a variable without a vote is one
    of its own. Where rounding sends a variable to and fro between two communities that are as good,
    networkx (3.6) does not end: then the votes are taken for a little more, each by its own part.
    """
    part = np.arange(1, len(votes) + 1) * GOLDEN % 1.0
    attempts = (
        _louvain(pairs, votes * (1.0 + LITTLE * attempt * part)) for attempt in itertools.count()
    )
    found = next(each for each in attempts if each is not None)
    of = np.empty(int(pairs.max()) + 1, np.int64)
    for number, members in enumerate(sorted(found, key=min)):
        of[list(members)] = number
    return of


def _louvain(pairs: Ints, votes: Floats) -> list[set[int]] | None:
    """The communities that networkx finds; None where it makes far more moves than it needs."""
    from networkx import Graph
    from networkx.algorithms.community import louvain_communities

    n, moves = int(pairs.max()) + 1, itertools.count()

    class Attributes(dict[str, Any]):
        """Of a node; they are asked for at every move."""

        def get(self, *names: Any) -> Any:
            if next(moves) > MOVES * n:
                raise _EndlessError
            return super().get(*names)

    class Counting(Graph):  # type: ignore[misc, type-arg, unused-ignore]
        node_attr_dict_factory = Attributes

    graph = Counting()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from(
        (int(a), int(b), float(v)) for (a, b), v in zip(pairs, votes, strict=True) if v > 0
    )
    try:
        found: list[set[int]] = louvain_communities(graph, seed=0)
    except _EndlessError:
        return None
    return found


class _EndlessError(Exception):
    """Louvain goes on and on."""


def gram_of(residuals: Floats) -> Floats:
    """Products of the sites' residuals, without those of a site with itself."""
    gram = residuals @ residuals.T
    np.fill_diagonal(gram, 0.0)
    return gram


def _redrawn(grams: Floats, rng: np.random.Generator) -> Iterator[float]:
    """The largest eigenvalues of `DRAWS` redrawn sums of blocks, [B, m, m], by random signs."""
    count, m, _ = grams.shape
    for begin in range(0, DRAWS, 100):
        size = min(DRAWS - begin, 100)
        signs = rng.integers(0, 2, size=(size, count, m)) * 2.0 - 1.0
        total = np.zeros((size, m, m))
        for b in range(count):
            total += signs[:, b, :, None] * grams[b] * signs[:, b, None, :]
        yield from np.linalg.eigvalsh(total)[:, -1].tolist()
