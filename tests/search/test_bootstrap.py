"""The bootstrap: determinism, strengths, the threshold by its definition, the average."""

from __future__ import annotations

import numpy as np
import pytest

from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.scores import make_score
from fedbn.search.bootstrap import Bootstrap, bootstrap
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
    dags, weights = once.weigh()
    assert sum(weights) == pytest.approx(1.0)
    assert len(set(dags)) == len(dags)


def test_strengths_count_undirected_edges_half_each_way() -> None:
    line = DAG.from_edges("abc", [("a", "b")])
    collider = DAG.from_edges("abc", [("a", "b"), ("c", "b")])
    counted = Bootstrap((line, collider, line, collider))
    assert counted.directions().tolist() == [[0, 0.75, 0], [0.25, 0, 0], [0, 0.5, 0]]
    assert counted.strengths()[0, 1] == 1.0
    assert counted.average(0.4).edges == (("a", "b"), ("c", "b"))
    assert counted.average(0.5).edges == (("a", "b"),)


def test_the_average_has_no_cycle() -> None:
    cycle = [("a", "b"), ("b", "c"), ("c", "a")]
    colliders = [DAG.from_edges("abcd", [edge, ("d", edge[1])]) for edge in cycle]
    averaged = Bootstrap(tuple(colliders)).average(0.0)
    assert averaged.n_edges == 5


def test_settings_out_of_range() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        bootstrap(sample("categorical", 0), learn, rng=np.random.default_rng(0), replicates=0)
