"""The study of mixed tables: what it samples, how it cuts and judges, and a smoke run."""

from pathlib import Path

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.graphs.dag import DAG
from simulations.studies.real_tables.mechanisms import random_mixed_network
from simulations.studies.real_tables.report import best_cutting, mean_and_interval
from simulations.studies.real_tables.runs import CUTTINGS, cut_together
from tests.simulations.conftest import Fedbn

CHAIN = DAG.from_edges("abcd", [("a", "b"), ("b", "c"), ("b", "d"), ("c", "d")])


def test_half_of_the_variables_are_categories() -> None:
    network = random_mixed_network(CHAIN, "linear", np.random.default_rng(0))
    assert sorted(size > 0 for size in network.states) == [False, False, True, True]
    table = network.sample(500, np.random.default_rng(1))
    assert table.kind == "mixed"
    for place, size in enumerate(network.states):
        column = table.column(place)
        assert set(np.unique(column)) <= set(range(size)) if size else 0.5 < column.std() < 2.0


def test_even_dependences_show_in_no_covariance() -> None:
    """b, two states, of a number a: with |a| large one state is frequent, on either side."""
    pair = DAG.from_edges("ab", [("a", "b")])
    seeds = range(20)
    of_kind = [random_mixed_network(pair, "even", np.random.default_rng(k)) for k in seeds]
    network = next(each for each in of_kind if each.states == (0, 2))
    a, b = network.sample(20_000, np.random.default_rng(1)).table.T
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.03 < 0.2 < abs(np.corrcoef(np.abs(a), b)[0, 1])


def test_products_have_no_main_effects() -> None:
    fork = DAG.from_edges("abc", [("a", "c"), ("b", "c")])
    networks = (random_mixed_network(fork, "product", np.random.default_rng(k)) for k in range(20))
    network = next(each for each in networks if each.states[0] == each.states[2] == 0)
    a, b, c = network.sample(20_000, np.random.default_rng(1)).table.T
    assert abs(np.corrcoef(a, c)[0, 1]) < 0.05
    first = b == 0
    assert abs(np.corrcoef(a[first], c[first])[0, 1]) > 0.3


def test_sites_are_cut_at_the_same_points() -> None:
    schema = Schema((Variable("x"), Variable("y", "01")))
    tables = [
        Dataset(schema, np.column_stack([np.arange(10.0) + start, np.arange(10) % 2]))
        for start in (0, 10)
    ]
    low, high = cut_together(tables, 4)
    assert low.schema == high.schema
    assert low.schema.cuts == {"x": (4.0, 9.0, 14.0)}
    assert np.bincount(low.codes[:, 0]).tolist() == [5, 5]
    assert np.bincount(high.codes[:, 0]).tolist() == [0, 0, 5, 5]
    assert np.array_equal(low.codes[:, 1], tables[0].column(1))


def test_the_best_cutting_is_that_of_the_smallest_mean() -> None:
    rows = [
        {f"{score}_{intervals}_k{k}": 10.0 for intervals, score in CUTTINGS for k in (1, 2)}
        for _ in range(2)
    ]
    rows[0]["bic_3_k1"], rows[1]["bic_3_k1"], rows[0]["bdeu_5_k2"] = 4.0, 12.0, 0.0
    assert best_cutting(rows, (1.0,)) == ("bic, 3", 8.0)
    assert best_cutting(rows, (1.0, 2.0)) == ("bdeu, 5, row weight 2", 5.0)


def test_intervals_are_those_of_student() -> None:
    assert mean_and_interval([3.0]) == "3.0"
    assert mean_and_interval([1.0, 2.0, 3.0]) == "2.0 ± 2.5"


@pytest.mark.slow
def test_smoke(fedbn: Fedbn, tmp_path: Path) -> None:
    ran = fedbn("reproduce", "real-tables", "--smoke", "--out", tmp_path, "--quiet")
    assert ran.status == 0, ran.err
    report = (tmp_path / "report.md").read_text()
    assert "| random networks, 100 rows, shifted |" in report
    assert "## Where mixed scores are blind" in report
    assert "| even, 100 |" in report
    assert "## Sums of products within sites" in report
