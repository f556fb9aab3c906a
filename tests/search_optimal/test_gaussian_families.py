"""The depth-first search of Gaussian parent sets against all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.limits import Limit
from fedbn.scores import make_score
from fedbn.search.families.families import Families
from fedbn.search.families.gaussian_families import GaussianFamilies, ParentSets
from fedbn.search.families.parent_sets import parent_sets
from fedbn.search.families.subset_dp import subset_optimum
from fedbn.search.optimal.column_generation import ColumnGeneration
from fedbn.search.optimal.gaussian_dp import gaussian_optimum
from tests.search_optimal.instances import gaussian


def as_dict(found: ParentSets) -> dict[frozenset[int], float]:
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in found.has_parent]
    assert len(set(sets)) == len(sets)
    return dict(zip(sets, found.price.tolist(), strict=True))


@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from([0.0, 1.5]))
@settings(max_examples=40, deadline=None)
def test_sets_and_prices(seed: int, n: int, slack: float) -> None:
    rng = np.random.default_rng(seed)
    score = make_score("gaussian-bic", gaussian(rng, 60, n))
    search = GaussianFamilies(score)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        cost = {
            frozenset(P): -score.local_score(i, P) - search.offset(i)
            for k in range(n)
            for P in combinations(others, k)
        }
        clusters = rng.random((3, n)) < 0.5
        clusters[:, i] = True
        duals = rng.random(3) * 5.0
        price = {
            P: c + sum(d for C, d in zip(clusters, duals, strict=True) if C[list(P)].any())
            for P, c in cost.items()
        }
        kept = {P for P in cost if not any(cost[S] + slack + 1e-7 < cost[P] for S in cost if S < P)}
        found = as_dict(search.search(i, slack=slack + 1e-8))
        assert kept <= set(found)
        assert all(found[P] == pytest.approx(cost[P], abs=1e-7) for P in found)
        threshold = float(np.quantile(list(price.values()), 0.3))
        found = as_dict(
            search.search(
                i, slack=slack + 1e-8, threshold=threshold, clusters=clusters, duals=duals
            )
        )
        assert {P for P in kept if price[P] < threshold - 1e-7} <= set(found)
        assert all(found[P] == pytest.approx(price[P], abs=1e-7) for P in found)
        few = search.search(i, slack=slack, clusters=clusters, duals=duals, keep=3)
        assert few.price[0] == pytest.approx(min(price.values()), abs=1e-7)
        assert (np.diff(few.price) >= 0).all()


def test_lists_are_the_same_by_depth_and_by_all_subsets() -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 9):
        score = make_score("gaussian-aic", gaussian(rng, 50, n))
        listing = parent_sets(score)
        assert listing.complete
        cost, parents = gaussian_optimum(score)
        assert subset_optimum(listing.families)[0] == pytest.approx(cost, abs=1e-8)
        assert sum(-score.local_score(i, P) for i, P in enumerate(parents)) == pytest.approx(cost)


def test_limits_are_told() -> None:
    score = make_score("gaussian-bic", gaussian(np.random.default_rng(5), 400, 12, 0.9))
    capped = parent_sets(score, max_parents=1)
    assert not capped.complete
    assert capped.met == {Limit.PARENTS}
    assert capped.largest == 1
    search = GaussianFamilies(score)
    assert search.parent_sets(0.0, memory=10)[1] is Limit.MEMORY
    found, limit = search.parent_sets(0.0, steps=1)
    assert (limit, found[-1].complete) == (Limit.STEPS, False)


def test_a_pricing_that_is_cut_short_gives_no_bound() -> None:
    rng = np.random.default_rng(8)
    score = make_score("gaussian-bic", gaussian(rng, 300, 30, 0.4))
    empty = Families.from_parents(
        score.names, [[(-score.local_score(i, []), [])] for i in range(score.n)]
    )
    search = GaussianFamilies(score)
    limited = ColumnGeneration(search, empty, rng, steps=1)
    assert limited.close(target=-np.inf).bound == -np.inf


def test_the_relaxation_is_below_every_dag() -> None:
    rng = np.random.default_rng(9)
    for _ in range(5):
        score = make_score("gaussian-bic", gaussian(rng, 100, 8, 0.6))
        cost, parents = gaussian_optimum(score)
        empty = Families.from_parents(
            score.names, [[(-score.local_score(i, []), [])] for i in range(score.n)]
        )
        generation = ColumnGeneration(GaussianFamilies(score), empty, rng)
        relaxation = generation.close()
        assert relaxation.bound <= cost + 1e-6
        within, complete = generation.within(relaxation, cost - relaxation.bound)
        assert complete
        listed = {(int(within.node[f]), within.parents(f)) for f in range(within.size)}
        best = {(i, P) for i, P in enumerate(parents)}
        assert best <= listed
