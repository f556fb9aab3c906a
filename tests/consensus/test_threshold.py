"""The choice on the path: both readings, θ, the certificate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import path_states, select_consensus
from fedbn.errors import ConfigError
from fedbn.fusion.union import fuse
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd
from fedbn.graphs.random import perturb, random_dag
from tests.naive import all_dags
from tests.naive_consensus import pruned_inputs
from tests.strategies import dag_lists


def inputs(seed: int, n: int = 9, count: int = 6) -> list[DAG]:
    rng = np.random.default_rng(seed)
    base = random_dag([f"v{i}" for i in range(n)], edges=n + 3, rng=rng)
    return [perturb(base, 5, rng=rng) for _ in range(count)]


@given(dag_lists(min_nodes=1, max_nodes=6, max_dags=5))
@settings(max_examples=60, deadline=None)
def test_states_are_what_they_are_said_to_be(dags: list[DAG]) -> None:
    path = mcbnc_path(dags)
    weights = path.inputs.weights
    states = path_states(path)
    assert len(states) == 2 * (1 + len(path.thetas))
    for state in states:
        assert state.mean_smhd == mean_smhd(state.dag, dags)
        assert state.n_edges == state.dag.n_edges
        done = [s for s in path.steps if state.theta is not None and s.theta <= state.theta]
        assert state.deletions == len(done)
        if state.reading == "refusion":
            assert state.dag == fuse(pruned_inputs(path, state.deletions), weights).union
    for state in (states[0], states[len(states) // 2]):
        assert state.theta is None
        assert state.n_edges == path.union.n_edges
    for state in (states[len(states) // 2 - 1], states[-1]):
        assert state.n_edges == 0


@pytest.mark.parametrize("seed", range(5))
def test_chosen_state(seed: int) -> None:
    dags = inputs(seed)
    path = mcbnc_path(dags)
    readings = {name: select_consensus(path, name) for name in ("search", "refusion")}
    best = select_consensus(path)
    on_path = min(c.mean_smhd for c in readings.values())
    if best.reading == "vote":  # taken only where it is nearer
        assert best.mean_smhd < on_path
    else:
        assert best.mean_smhd == on_path
    assert best.mean_smhd == mean_smhd(best.dag, dags)
    assert best.gap == best.mean_smhd - best.lower_bound >= 0
    for name, consensus in readings.items():
        assert consensus.reading == name
        ranked = sorted(
            consensus.states,
            key=lambda s: (s.mean_smhd, s.n_edges, -(Fraction(-1) if s.theta is None else s.theta)),
        )
        assert consensus.theta == ranked[0].theta


def test_a_given_threshold_takes_the_state_at_it() -> None:
    path = mcbnc_path(inputs(1))
    for theta in path.thetas:
        consensus = select_consensus(path, "search", theta)
        assert consensus.theta == theta
    below = select_consensus(path, "search", 0)
    assert below.theta in (None, Fraction(0))
    assert select_consensus(path, "refusion", 10**6).dag.n_edges == 0


def test_lower_bound_holds_for_every_dag_of_four_nodes() -> None:
    rng = np.random.default_rng(2)
    every = all_dags(4)
    for _ in range(5):
        dags = [every[i] for i in rng.integers(len(every), size=5)]
        weights = [int(w) for w in rng.integers(1, 4, size=5)]
        consensus = select_consensus(mcbnc_path(dags, weights))
        least = min(mean_smhd(dag, dags, weights) for dag in every)
        assert consensus.lower_bound <= least <= consensus.mean_smhd


def test_identical_inputs_give_a_certified_consensus() -> None:
    dag = inputs(3)[0]
    consensus = select_consensus(mcbnc_path([dag] * 4))
    assert (consensus.mean_smhd, consensus.gap) == (0, 0)


def test_bad_reading_is_refused() -> None:
    path = mcbnc_path(inputs(0))
    with pytest.raises(ConfigError, match="best, search, refusion"):
        select_consensus(path, "median")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="number"):
        select_consensus(path, theta="much")
