"""Slow, obvious twin of a path with ties in any order, and of the choice among poolings.

A path is followed step by step: whatever it chose must have had the smallest Ψ of all valid
operators. Distances are counted pair by pair. Graphs are bool matrices as in `naive_consensus`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np

from fedbn.consensus.path import McbncPath, Step
from fedbn.graphs.averaging import significance_threshold
from tests import naive_consensus as naive
from tests.naive_consensus import Matrix, pruned_inputs


class State(NamedTuple):
    """A state of a path: its θ (None for G+), reading and pooling, its DAG, its distances."""

    theta: Fraction | None
    reading: str
    pooling: str
    dag: Matrix
    smhd: Fraction
    shd: Fraction


def smhd(a: Matrix, b: Matrix) -> int:
    return int(np.triu(naive.moral(a) ^ naive.moral(b)).sum())


def shd(a: Matrix, b: Matrix) -> int:
    p, q = naive.cpdag(a), naive.cpdag(b)
    pairs = combinations(range(len(a)), 2)
    return sum((p[i, j], p[j, i]) != (q[i, j], q[j, i]) for i, j in pairs)


def indices(path: McbncPath, step: Step) -> tuple[int, int, tuple[int, ...]]:
    place = {name: i for i, name in enumerate(path.names)}
    return place[step.x], place[step.y], tuple(place[name] for name in step.h)


def follow(path: McbncPath, ties_at_random: bool) -> list[Matrix]:
    """The CPDAGs of a path, G+ first, after checking each of its steps."""
    dags = [dag.adjacency.copy() for dag in path.inputs.dags]
    weights = [Fraction(w) for w in path.inputs.weights]
    known: dict[tuple, tuple[int, set]] = {}
    sigma = [path.names.index(name) for name in path.order]
    union = np.logical_or.reduce([naive.imap(dag, sigma) for dag in dags])
    assert np.array_equal(path.union.adjacency, union)
    if not ties_at_random:
        assert sigma == naive.order(dags, weights)
    patterns = [naive.cpdag(union)]
    largest = Fraction(0)
    for number, step in enumerate(path.steps):

        def cuts(x: int, y: int, s: set[int]) -> list[tuple[int, set]]:
            for dag in dags:
                key = (dag.tobytes(), x, y, frozenset(s))
                if key not in known:
                    known[key] = naive.cut(dag, x, y, s)
            return [known[dag.tobytes(), x, y, frozenset(s)] for dag in dags]

        psi = {
            (x, y, h): naive.pooled([c[0] for c in cuts(x, y, s)], weights, path.pooling)
            for x, y, h, s in naive.operators(patterns[-1], path.k_max)
        }
        least = min(psi.values())
        tied = [operator for operator, value in psi.items() if value == least]
        chosen = indices(path, step)
        assert chosen in tied if ties_at_random else chosen == tied[0], (number, step, least)
        largest = max(largest, least)
        assert (step.psi, step.theta) == (least, largest), number
        x, y, h = chosen
        given = next(o[3] for o in naive.operators(patterns[-1], path.k_max) if o[:3] == chosen)
        lost = [c[1] for c in cuts(x, y, given)]
        now = path.lost_arcs[path.lost_arcs[:, 0] == number]
        for i, dag in enumerate(dags):
            assert {(int(a), int(b)) for _, k, a, b in now if k == i} == lost[i], number
            for a, b in lost[i]:
                dag[a, b] = False
        patterns.append(naive.deleted(patterns[-1], x, y, h))
    assert not patterns[-1].any()
    return patterns


def states(path: McbncPath, patterns: Sequence[Matrix]) -> list[State]:
    """Both readings of G+ and of every θ of a path."""
    inputs = [dag.adjacency for dag in path.inputs.dags]
    weights = [Fraction(w) for w in path.inputs.weights]
    ends = [0] + [
        k + 1
        for k, step in enumerate(path.steps)
        if k + 1 == len(path.steps) or path.steps[k + 1].theta != step.theta
    ]
    out = []
    for end in ends:
        theta = path.steps[end - 1].theta if end else None
        pruned = [dag.adjacency for dag in pruned_inputs(path, end)]
        sigma = naive.order(pruned, weights)
        refused = np.logical_or.reduce([naive.imap(dag, sigma) for dag in pruned])
        for reading, dag in (("search", naive.extension(patterns[end])), ("refusion", refused)):
            distances = distances_of(dag, inputs, weights)
            out.append(State(theta, reading, path.pooling, dag, *distances))
    for threshold in (None, Fraction(1, 2)):
        dag = elected(inputs, path.inputs.weights, threshold)
        out.append(State(None, "vote", path.pooling, dag, *distances_of(dag, inputs, weights)))
    return out


def distances_of(
    dag: Matrix, inputs: Sequence[Matrix], weights: Sequence[Fraction]
) -> tuple[Fraction, Fraction]:
    """Mean SMHD and mean SHD to the inputs."""
    found = [
        sum((w * of(dag, g) for w, g in zip(weights, inputs, strict=True)), Fraction(0))
        / sum(weights)
        for of in (smhd, shd)
    ]
    return found[0], found[1]


def elected(inputs: Sequence[Matrix], weights: Sequence[int], threshold: Fraction | None) -> Matrix:
    """The edges that more of the weight joins than the threshold, strongest first."""
    n, total = len(inputs[0]), sum(weights)
    votes = sum(w * dag.astype(np.int64) for w, dag in zip(weights, inputs, strict=True))
    least = significance_threshold(votes, total) if threshold is None else threshold
    dag = np.zeros((n, n), dtype=bool)
    pairs = sorted(combinations(range(n), 2), key=lambda p: (-(votes[p] + votes[p[::-1]]), p))
    for a, b in pairs:
        strength = Fraction(int(votes[a, b] + votes[b, a]), total)
        if strength == 0 or (strength <= least and strength != 1):
            continue
        ways = [(a, b), (b, a)]
        best = max(votes[a, b], votes[b, a])
        for x, y in ways:
            if votes[x, y] == best and not naive.directed_paths(dag, y, x):
                dag[x, y] = True
                break
    return dag


def preferred(every: Sequence[State]) -> State:
    """SMHD, states of paths before votes, SHD, fewer edges, search before refusion, larger θ (G+
    last), mean before the rest."""
    return min(
        every,
        key=lambda s: (
            s.smhd,
            s.reading == "vote",
            s.shd,
            int(s.dag.sum()),
            s.reading != "search",
            Fraction(1) if s.theta is None else -s.theta,
            s.pooling != "mean",
        ),
    )


def far_from(dag: Matrix, inputs: Sequence[Matrix], weights: Sequence[int]) -> list[int]:
    """Places of the inputs more than three times as far as the weighted median one, and further
    than there are variables."""
    distances = [smhd(dag, each) for each in inputs]
    repeated = sorted(d for i, d in enumerate(distances) for _ in range(weights[i]))
    usual = repeated[(len(repeated) - 1) // 2]
    return [i for i, d in enumerate(distances) if d > 3 * usual and d > len(dag)]


def agreed_by_rest(
    start: Matrix,
    inputs: Sequence[Matrix],
    weights: Sequence[int],
    agree: Callable[[list[int]], Matrix],
) -> tuple[Matrix, list[int]] | None:
    """What the inputs that are not far agree on, and their places; None where there is no such
    thing. `agree` gives the consensus of the inputs at some places."""
    far = far_from(start, inputs, weights)
    for _ in range(3):
        if not far or 2 * sum(weights[i] for i in far) >= sum(weights):
            return None
        rest = [i for i in range(len(inputs)) if i not in far]
        found = agree(rest)
        before, far = far, far_from(found, inputs, weights)
        if before == far:
            return found, rest
    return None


def agreement(dag: Matrix, inputs: Sequence[Matrix], weights: Sequence[int]) -> int:
    """Weight of the inputs that have an arc of `dag`, summed over its arcs."""
    return sum(w * int((dag & g).sum()) for w, g in zip(weights, inputs, strict=True))


def members(dag: Matrix) -> list[Matrix]:
    """All DAGs of the class: every way to direct the open edges that has the same CPDAG."""
    pattern = naive.cpdag(dag)
    open_pairs = np.argwhere(np.triu(pattern & pattern.T))
    found = []
    for choice in range(2 ** len(open_pairs)):
        member = pattern.copy()
        for k, (a, b) in enumerate(open_pairs):
            member[(b, a) if choice >> k & 1 else (a, b)] = False
        if _is_acyclic(member) and np.array_equal(naive.cpdag(member), pattern):
            found.append(member)
    return found


def _is_acyclic(graph: Matrix) -> bool:
    left = set(range(len(graph)))
    while left:
        sinks = {v for v in left if not any(graph[v, w] for w in left)}
        if not sinks:
            return False
        left -= sinks
    return True
