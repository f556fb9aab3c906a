"""The recovery benchmark: its networks are as strong as it says, its rows explain misses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG
from fedbn.networks.network import BayesianNetwork, ConditionalTable
from fedbn.networks.random import random_linear_gaussian_network
from fedbn.scores import total_score
from fedbn.scores.gaussian import gaussian_from_covariance
from fedbn.search.ges import ges
from simulations.benchmarks import recovery
from tests.naive_search import greedy


def test_mutual_information_of_a_noisy_copy() -> None:
    network = BayesianNetwork.from_tables(
        {
            "a": ConditionalTable(("0", "1"), (), np.array([[0.5, 0.5]])),
            "b": ConditionalTable(("0", "1"), ("a",), np.array([[0.9, 0.1], [0.1, 0.9]])),
            "c": ConditionalTable(("0", "1"), ("b", "a"), np.full((4, 2), 0.5)),
        }
    )
    joint = recovery.joint_distribution(network)
    assert joint.sum() == pytest.approx(1.0)
    assert joint[0, 1, 0] == pytest.approx(0.5 * 0.1 * 0.5)
    expected = np.log(2) + 0.9 * np.log(0.9) + 0.1 * np.log(0.1)
    assert recovery.mutual_information(joint, 0, 1) == pytest.approx(expected)
    assert recovery.weakest_edge(network, [1]) == pytest.approx(expected)
    assert recovery.weakest_edge(network, [0, 1, 2]) == pytest.approx(0.0, abs=1e-12)


def test_divergence_of_a_class_from_the_truth() -> None:
    dag = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
    gaussian = random_linear_gaussian_network(dag, rng=np.random.default_rng(1))
    categorical = recovery.strong_bayesian_network(dag, np.random.default_rng(1))
    turned = DAG.from_edges("abc", [("c", "b"), ("b", "a")])
    for network in (gaussian, categorical):
        assert recovery.divergence(network, dag) == pytest.approx(0.0, abs=1e-12)
        assert recovery.divergence(network, turned) == pytest.approx(0.0, abs=1e-12)
    joint = recovery.joint_distribution(categorical)
    lost = recovery.divergence(categorical, DAG.from_edges("abc", [("a", "b")]))
    assert lost == pytest.approx(recovery.mutual_information(joint, 1, 2))


def test_rows_that_would_be_enough() -> None:
    dag = DAG.from_edges("abc", [("a", "c"), ("b", "c")])
    network = random_linear_gaussian_network(
        dag, rng=np.random.default_rng(1), coefficients=(0.1, 0.1), noise=(1.0, 1.0)
    )
    assert recovery.enough_rows(network, 100) == 1000
    assert recovery.enough_rows(network, 1000) == 1000
    assert recovery.enough_rows(network, 5) is None


def test_a_local_optimum_is_that_of_the_algorithm() -> None:
    """Run 95 of the Gaussian benchmark, without chance: below the truth, and so is the twin."""
    network, _ = recovery.drawn_network("gaussian", np.random.default_rng([1, 95]))
    covariance, names = recovery.covariance_matrix(network), network.dag.names
    score = gaussian_from_covariance(names, covariance, 10**6)
    found = ges(score)
    empty = PDAG(names, np.zeros((len(names), len(names)), dtype=bool))
    assert found.cpdag == greedy(score, empty, (("insert",), ("delete",)))
    assert found.score < total_score(score, network.dag) - 20
    assert 10**6 * recovery.divergence(network, found.dag) == pytest.approx(1.489, abs=1e-3)
    assert recovery.enough_rows(network, 10**6) == 10**7


def test_drawn_networks_are_strong() -> None:
    dag = DAG.from_edges("abcd", [("a", "c"), ("b", "c"), ("c", "d"), ("a", "d")])
    network = recovery.strong_bayesian_network(dag, np.random.default_rng(2))
    assert recovery.weakest_edge(network, [0, 1, 2, 3]) >= recovery.MIN_INFORMATION


@pytest.mark.parametrize("score", ["bdeu", "gaussian-bic"])
def test_few_rows_miss_and_are_explained(score: str, tmp_path: Path, capsys) -> None:
    options = ["--score", score, "--rows", "300", "--output", str(tmp_path)]
    recovery.main([*options, "--runs", "2"])
    recovery.main([*options, "--runs", "3"])
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["run"] for row in rows] == [0, 1, 2]
    for row in rows:
        if not row["recovered"]:
            assert row["local_optimum"] == (row["found_minus_truth"] < -1e-5)
    assert "of 3 classes recovered" in capsys.readouterr().out
