"""Model averaging against its definition and a numerical twin."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import fminbound

from fedbn.graphs.averaging import averaged_dag, significance_threshold
from fedbn.graphs.knowledge import Knowledge
from tests.naive_averaging import naive_averaged_arcs

Votes = np.ndarray


def votes_of(strengths: list[int]) -> Votes:
    """Votes whose pairs, in order, have these strengths; pairs beyond them 0."""
    n = next(n for n in range(2, 20) if n * (n - 1) // 2 >= len(strengths))
    votes = np.zeros((n, n), dtype=np.int64)
    a, b = np.triu_indices(n, k=1)
    votes[a[: len(strengths)], b[: len(strengths)]] = strengths
    return votes


def numerically(votes: Votes, total: int) -> tuple[set[tuple[int, int]], bool]:
    """The significant pairs as bnlearn finds them: Brent's minimum of the L1 norm, its ends looked
    at apart, the quantile of type 1; and whether the minimum lies between two values of F, or is
    put on the one that it is within the minimum's tolerance of."""
    n = len(votes)
    pairs = list(zip(*np.triu_indices(n, k=1), strict=True))
    strengths = np.array([votes[a, b] + votes[b, a] for a, b in pairs]) / total
    knots = np.unique(strengths)
    ends = np.unique(np.concatenate(([0.0], knots, [1.0])))
    heights = np.array([(strengths <= p).mean() for p in ends[:-1]])

    def norm(t: float) -> float:
        return float(np.sum(np.diff(ends) * np.abs(heights - t)))

    t = float(fminbound(norm, 0.0, 1.0, xtol=np.finfo(float).eps ** 0.25))
    t = 1.0 if norm(1.0) < norm(t) else t
    t = 0.0 if norm(0.0) < norm(t) else t
    near = heights[np.argmin(np.abs(heights - t))]
    t = float(near) if abs(near - t) < 1e-3 else t
    quantile = next(s for s in knots if (strengths <= s).mean() >= t - 1e-12)
    return {
        (int(a), int(b))
        for (a, b), s in zip(pairs, strengths, strict=True)
        if s > quantile or s == 1
    }, abs(near - t) >= 1e-3


@given(st.lists(st.integers(0, 12), min_size=1, max_size=15))
@settings(max_examples=300, deadline=None)
def test_the_selected_pairs_are_those_of_the_numerical_rule(strengths: list[int]) -> None:
    votes = votes_of(strengths)
    chosen = averaged_dag(tuple(f"v{i}" for i in range(len(votes))), votes, 12)
    wanted, between = numerically(votes, 12)
    flat = 6 in strengths
    if between or not flat:
        assert {(int(a), int(b)) for a, b in np.argwhere(chosen.adjacency)} == wanted


@given(st.lists(st.integers(0, 10), min_size=1, max_size=15))
@settings(max_examples=100, deadline=None)
def test_the_threshold_minimises_the_l1_distance(tenths: list[int]) -> None:
    votes = votes_of(tenths)
    strengths = (votes + votes.T)[np.triu_indices(len(votes), k=1)] / 10
    grid = (np.arange(1000) + 0.5) / 1000
    F = (strengths[None, :] <= grid[:, None]).mean(axis=1)

    def distance(t: float) -> float:
        return float(np.abs(F - t).mean())

    threshold = float(significance_threshold(votes, 10))
    t = (strengths <= threshold).mean() if threshold <= 0.5 else 0.0
    assert distance(float(t)) == pytest.approx(min(map(distance, [*F, 0.0, 1.0])), abs=2e-3)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_arcs_are_those_of_the_twin(data: st.DataObject) -> None:
    n = data.draw(st.sampled_from([1, 2, 3, 5, 8, 65]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    total = int(rng.integers(1, 9))
    split = rng.integers(0, total + 1, size=(n, n)) * (rng.random((n, n)) < 4 / n)
    votes = np.triu(split, 1) + np.triu(total - split, 1).T * (rng.random((n, n)) < 4 / n)
    votes[votes + votes.T > total] = 0
    order = rng.permutation(n)
    chances = rng.random((n, n))
    required = [
        (int(order[i]), int(order[j]))
        for i in range(n)
        for j in range(i + 1, n)
        if chances[i, j] < 0.3 / n
    ]
    forbidden = {(int(x), int(y)) for x, y in np.argwhere(chances.T > 0.8)} - set(required)
    names = tuple(f"v{i:02}" for i in range(n))
    known = Knowledge(
        required=tuple((names[x], names[y]) for x, y in required),
        forbidden=tuple((names[x], names[y]) for x, y in sorted(forbidden) if x != y),
    )
    threshold = Fraction(int(rng.integers(0, 5)), 4)
    seen = np.full((n, n), total)
    if data.draw(st.booleans()):
        more = np.triu(rng.integers(0, 5, size=(n, n)), 1)
        seen = np.maximum(votes + votes.T, 1) + more + more.T
    found = averaged_dag(names, votes, seen, threshold, known)
    if (seen == total).all():
        assert found == averaged_dag(names, votes, total, threshold, known)
    arcs = {(int(x), int(y)) for x, y in np.argwhere(found.adjacency)}
    assert arcs == naive_averaged_arcs(votes, threshold, seen, forbidden, required)


def test_the_threshold_worked_by_hand() -> None:
    """F is 1/6, 2/6, 3/6 from 0.046, 0.2242, 0.3921 on; its median over [0, 1] is 3/6, met between
    0.3921 and 0.7689, and the 3/6-quantile of the six strengths is 0.3921: three edges remain."""
    votes = votes_of([460, 2242, 3921, 7689, 8935, 9439])
    assert significance_threshold(votes, 10_000) == Fraction(3921, 10_000)
    assert averaged_dag(("a", "b", "c", "d"), votes, 10_000).n_edges == 3


def test_what_everybody_has_is_in_whatever_the_threshold() -> None:
    names = ("a", "b", "c")
    assert averaged_dag(names, votes_of([3, 3, 3]), 3).n_edges == 3
    assert averaged_dag(names, votes_of([3, 2, 2]), 3, threshold=1).edges == (("a", "b"),)
    assert averaged_dag(names, votes_of([2, 2, 2]), 3).n_edges == 0
    assert averaged_dag(("a", "b"), votes_of([0]), 3).n_edges == 0
    assert averaged_dag(("a",), np.zeros((1, 1), dtype=np.int64), 3).n_edges == 0


def test_directions_and_cycles() -> None:
    names = ("a", "b", "c")
    votes = np.array([[0, 3, 1], [0, 0, 3], [2, 0, 0]])
    assert averaged_dag(names, votes, 3, threshold=0).edges == (("a", "b"), ("c", "a"))
    tied = np.array([[0, 4, 0], [0, 0, 4], [2, 0, 0]])
    tied[0, 2] = 2
    assert averaged_dag(names, tied, 4, threshold=0).edges == (
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    )
