"""The bootstrap: determinism, strengths, the threshold by its definition, the average."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.scores import make_score
from fedbn.search.bootstrap import Bootstrap, bootstrap, significance_threshold
from fedbn.search.ges import ges
from tests.search.test_class_search import sample


def learn(dataset, rng) -> DAG:
    return ges(make_score("bdeu", dataset)).dag


def test_threads_and_seeds() -> None:
    data = sample("categorical", 0)
    seen: list[tuple[int, int]] = []
    once = bootstrap(data, learn, rng=np.random.default_rng(1), replicates=12)
    again = bootstrap(
        data,
        learn,
        rng=np.random.default_rng(1),
        replicates=12,
        threads=3,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert once.dags == again.dags
    assert seen == [(k, 12) for k in range(1, 13)]
    dags, weights = once.weighted()
    assert sum(weights) == pytest.approx(1.0)
    assert len(set(dags)) == len(dags)


def test_strengths_count_undirected_edges_half_each_way() -> None:
    line = DAG.from_edges("abc", [("a", "b")])
    collider = DAG.from_edges("abc", [("a", "b"), ("c", "b")])
    counted = Bootstrap((line, collider, line, collider))
    assert counted.directions().tolist() == [[0, 0.75, 0], [0.25, 0, 0], [0, 0.5, 0]]
    assert counted.strengths()[0, 1] == 1.0
    assert counted.averaged(0.4).edges == (("a", "b"), ("c", "b"))
    assert counted.averaged(0.5).edges == (("a", "b"),)


def test_the_average_has_no_cycle() -> None:
    cycle = [("a", "b"), ("b", "c"), ("c", "a")]
    colliders = [DAG.from_edges("abcd", [edge, ("d", edge[1])]) for edge in cycle]
    averaged = Bootstrap(tuple(colliders)).averaged(0.0)
    assert averaged.n_edges == 6


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 10), min_size=1, max_size=15))
def test_the_threshold_minimises_the_l1_distance(tenths: list[int]) -> None:
    strengths = np.array(tenths) / 10
    grid = (np.arange(1000) + 0.5) / 1000
    F = (strengths[None, :] <= grid[:, None]).mean(axis=1)

    def distance(t: float) -> float:
        return float(np.abs(F - t).mean())

    best = min(distance(t) for t in np.concatenate((F, [0.0, 1.0])))
    threshold = significance_threshold(strengths)
    t = (strengths <= threshold).mean() if threshold > 0 or (strengths == 0).any() else 0.0
    assert distance(float(t)) == pytest.approx(best, abs=2e-3)


def test_the_threshold_worked_by_hand() -> None:
    """F is 1/6, 2/6, 3/6 from 0.046, 0.2242, 0.3921 on; its median over [0, 1] is 3/6, met between
    0.3921 and 0.7689, and the 3/6-quantile of the six strengths is 0.3921: three edges remain."""
    strengths = np.array([0.0460, 0.2242, 0.3921, 0.7689, 0.8935, 0.9439])
    threshold = significance_threshold(strengths)
    assert threshold == 0.3921
    assert (strengths > threshold).sum() == 3


def test_settings_out_of_range() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        bootstrap(sample("categorical", 0), learn, rng=np.random.default_rng(0), replicates=0)
