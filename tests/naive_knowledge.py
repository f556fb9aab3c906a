"""Slow, obvious twins of what background knowledge changes, written from the definitions.

Graphs are bool matrices [n, n], [i, j] = i -> j, over the names of the DAGs, sorted.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np

from fedbn.errors import StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from tests import naive, naive_consensus

Matrix = np.ndarray


def keeps(dag: DAG, knowledge: Knowledge) -> bool:
    """All required edges and no forbidden one; none from a later to an earlier tier."""
    edges, tier = set(dag.edges), {v: k for k, group in enumerate(knowledge.tiers) for v in group}
    backwards = [(a, b) for a, b in edges if a in tier and b in tier and tier[a] > tier[b]]
    forbidden = edges & set(knowledge.forbidden)
    return set(knowledge.required) <= edges and not forbidden and not backwards


def members_that_keep(dag: DAG, knowledge: Knowledge) -> list[DAG]:
    """The DAGs of the class that keep the knowledge."""
    return [member for member in naive.members(dag) if keeps(member, knowledge)]


def class_keeps(cpdag: Matrix, names: tuple[str, ...], knowledge: Knowledge) -> bool:
    """Whether some DAG of the class of a CPDAG keeps the knowledge, by all orientations."""
    undirected = [(a, b) for a, b in np.argwhere(np.triu(cpdag & cpdag.T))]
    for flips in product((False, True), repeat=len(undirected)):
        matrix = cpdag & ~cpdag.T
        for (a, b), flip in zip(undirected, flips, strict=True):
            matrix[(b, a) if flip else (a, b)] = True
        try:
            dag = DAG(names, matrix)
        except StructureError:
            continue
        if keeps(dag, knowledge) and np.array_equal(naive_consensus.cpdag(matrix), cpdag):
            return True
    return False


def fused(
    dags: list[Matrix],
    weights: list[Fraction],
    names: tuple[str, ...],
    knowledge: Knowledge,
    quorum: int = 1,
) -> tuple[list[int], Matrix]:
    """The order, and G+ as it keeps the knowledge."""

    def fuse(before: frozenset[tuple[int, int]]) -> tuple[list[int], Matrix]:
        sigma = naive_consensus.order(dags, weights, before)
        imaps = [naive_consensus.imap(dag, sigma).astype(int) for dag in dags]
        return sigma, sum(imaps) >= quorum

    return settled(fuse, names, knowledge)


def settled(
    fuse: Callable[[frozenset[tuple[int, int]]], tuple[list[int], Matrix]],
    names: tuple[str, ...],
    knowledge: Knowledge,
) -> tuple[list[int], Matrix]:
    """The order and the union of a fusion under an order, as they keep the knowledge.

    Required edges and tiers bind the order. As long as the union has a forbidden arc a -> b while
    b -> a is allowed, b must precede a, too, unless a must already precede b.
    """
    place = {name: i for i, name in enumerate(names)}
    before = {(place[a], place[b]) for a, b in knowledge.required}
    for k, tier in enumerate(knowledge.tiers):
        before |= {(place[a], place[b]) for a in tier for g in knowledge.tiers[k + 1 :] for b in g}
    barred = {(place[a], place[b]) for a, b in knowledge.forbidden} | {
        (place[b], place[a])
        for k, tier in enumerate(knowledge.tiers)
        for a in tier
        for group in knowledge.tiers[k + 1 :]
        for b in group
    }
    while True:
        before = closed(before)
        sigma, union = fuse(frozenset(before))
        known = len(before)
        for b in range(len(names)):
            for a in range(len(names)):
                is_needed = union[a, b] and (a, b) in barred and (b, a) not in barred
                if is_needed and (a, b) not in before:
                    before = closed(before | {(b, a)})
        if len(before) == known:
            break
    for a, b in barred:
        union[a, b] = False
    for a, b in knowledge.required:
        union[place[a], place[b]] = True
    return sigma, union


def closed(before: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """What follows from it: u before w where u is before v and v before w."""
    while True:
        more = {(u, w) for u, v in before for v2, w in before if v == v2} - before
        if not more:
            return before
        before = before | more
