"""The study of strengths: what a case counts, bins and deviations by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fedbn.learners import LearnerSettings, learn
from fedbn.networks.catalog import load_network
from simulations.studies.strengths.report import bins, deviation, sections, shares_of_sums
from simulations.studies.strengths.runs import REPLICATES, STUDY, run_case
from simulations.studies.strengths.sureness import SURENESS, Seen, fit_sureness, sureness
from tests import naive

CASE = {"part": "shown", "network": "asia", "rows": 300, "sites": [2, 3], "seed": 1}


def test_a_case_counts_pairs_and_those_that_are_true() -> None:
    row = run_case(CASE)
    network = load_network("asia")
    rng = np.random.default_rng([STUDY, 1, 300, *map(ord, "asia")])
    dags = [
        learn(network.sample(300, rng), LearnerSettings(), np.random.default_rng(0)).dags[0]
        for _ in range(3)
    ]
    true = naive.skeleton(network.dag)
    for sites in (2, 3):
        expected = [[k, 0, 0] for k in range(1, sites + 1)]
        for i in range(network.dag.n):
            for j in range(i):
                k = sum(bool(naive.skeleton(dag)[i, j]) for dag in dags[:sites])
                if k:
                    expected[k - 1][1] += 1
                    expected[k - 1][2] += int(true[i, j])
        assert row[f"of_{sites}"] == expected


def test_bins_and_deviations_by_hand() -> None:
    rows = [{**CASE, "sites": [2], "of_2": [[1, 40, 10], [2, 100, 97]]}]
    one, two = sureness(1, 2, 140), sureness(2, 2, 140)
    low, high = bins(rows)
    assert (low.pairs, high.pairs) == (40, 100)
    assert low.stated == pytest.approx(100 * one)
    assert (low.true, high.true) == (25.0, 97.0)
    far = abs(100 * one - 25), abs(100 * two - 97)
    over_pairs = (40 * far[0] + 100 * far[1]) / 140
    assert deviation([low, high], weighted=True) == pytest.approx(over_pairs)
    assert deviation([low, high], weighted=False) == pytest.approx((far[0] + far[1]) / 2)
    few = low._replace(pairs=29)
    assert deviation([few, high], weighted=False) == pytest.approx(far[1])
    assert len(sections("tuning", rows)) == 3


def test_more_sites_make_an_edge_surer_and_a_larger_network_less_sure() -> None:
    for sites in (2, 5, 10, 40):
        said = [sureness(k, sites, 20) for k in range(1, sites + 1)]
        assert said == sorted(said)
        assert 0 < said[0] < said[-1] < 1
        assert sureness(1, sites, 200) < said[0]


def test_the_fit_finds_the_numbers_that_made_the_pairs() -> None:
    numbers = (0.5, 1.5, 0.25, -0.5)
    seen = [
        Seen(k, n, frequent, 10**7, round(10**7 * sureness(k, n, frequent, numbers)), weight)
        for n in (3, 5, 10)
        for frequent, weight in ((5, 1.0), (50, 0.25))
        for k in range(1, n + 1)
    ]
    np.testing.assert_allclose(fit_sureness(seen), numbers, atol=1e-3)
    assert len(SURENESS) == len(numbers)


def test_replicates_of_sums_are_counted_as_sites_are() -> None:
    row = run_case({"part": "counted", "network": "asia", "rows": 60, "sites": [2], "seed": 1})
    counts = row["of_2"]
    assert [k for k, _, _ in counts] == list(range(1, REPLICATES + 1))
    assert sum(pairs for _, pairs, _ in counts) <= 28
    assert all(0 <= edges <= pairs for _, pairs, edges in counts)
    assert counts[-1][1] > 0


def test_shares_of_sums_by_hand() -> None:
    counts = [[1, 40, 4], [2, 0, 0], [3, 10, 3], [4, 100, 90]]
    low, middle, high = shares_of_sums([{**CASE, "sites": [2], "of_2": counts}])
    assert (low.pairs, low.stated, low.true) == (40, 25.0, 10.0)
    assert (middle.pairs, middle.stated, middle.true) == (10, 75.0, pytest.approx(30.0))
    assert (high.pairs, high.stated, high.true) == (100, 100.0, 90.0)
    rows = [{**CASE, "part": "counted", "sites": [2], "of_2": counts}]
    (section,) = sections("counted", rows)
    assert section.rows[-1][4:] == [100, "100.0", "90.0"]
