"""What the search keeps of the cuts, looked at while it runs, against the definition."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn._core.consensus import Deletions
from fedbn.consensus.deletions import delete_all, new_deletions
from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.path import POOLINGS, Pooling
from fedbn.fusion.inputs import MergedInputs
from fedbn.graphs.bits import pack
from fedbn.graphs.random import perturb, random_dag
from tests import naive_consensus as naive


def check(
    search: Deletions, inputs: MergedInputs, k_max: int, largest_cut: int, known: dict
) -> int:
    """Every cached cut is the definition's, every bound at most all that it stands for; how many
    are exact."""
    exact, pruned = 0, inputs.adjacency.copy()
    for _, i, a, b in search.lost_arcs():
        pruned[i, a, b] = False

    def least(i: int, x: int, y: int, low: frozenset, free: frozenset, more: int) -> int:
        key = (pruned[i].tobytes(), x, y, low, free, more)
        if key not in known:
            known[key] = naive.least_cut(pruned[i], x, y, set(low), set(free), more)
        return min(known[key], largest_cut)

    for x, y, *sets, dead, cuts in search.known():
        if dead:
            continue
        h, given, free = (frozenset(members) for members in sets)
        more = k_max - len(h)
        operators = [
            given | free - set(out)
            for size in range(min(len(free), more) + 1)
            for out in combinations(free, size)
        ]
        for i, value in enumerate(int(value) for value in cuts):
            bound = value if value >= 0 else -1 - value
            of_members = [least(i, x, y, s, frozenset(), 0) for s in operators if bound > 0]
            assert all(bound <= cut for cut in of_members)
            if value >= 0:
                assert value >= least(i, x, y, given, free, more)
                exact += 1
    return exact


@given(st.integers(0, 2**32 - 1), st.sampled_from(POOLINGS), st.sampled_from([0, 1, 1, 2, 10]))
@settings(max_examples=30, deadline=None)
@pytest.mark.slow
def test_known_cuts_are_those_of_the_definition_at_every_stop(
    seed: int, pooling: Pooling, k_max: int
) -> None:
    """Stopped at every θ.

    An exact value of a family is one that none of its operators is below, and no less than the
    least cut is in the graph that they have in common; so that of an operator is its cut.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 8))
    base = random_dag([f"v{i}" for i in range(n)], edges=int(rng.integers(n, 2 * n - 2)), rng=rng)
    dags = [perturb(base, int(rng.integers(0, 4)), rng=rng) for _ in range(12)]
    path = mcbnc_path(dags, k_max=k_max, pooling=pooling)
    known: dict = {}
    exact = 0
    search = new_deletions(path.inputs, pack(path.union.adjacency.T), k_max, pooling)
    for theta in (Fraction(-1, 12), *path.thetas):
        delete_all(search, n, None, theta, None)
        exact += check(search, path.inputs, k_max, 1 if pooling == "clip" else 2**15, known)
    assert exact > 0
