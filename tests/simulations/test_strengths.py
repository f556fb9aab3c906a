"""The study of strengths: what a case counts, bins and deviations by hand."""

from __future__ import annotations

import numpy as np
import pytest

from fedbn.learners import learn
from fedbn.networks.catalog import load_network
from simulations.studies.strengths.networks import MOST_PARENTS, drawn_network
from simulations.studies.strengths.report import bins, deviation, sections, shares_of_sums
from simulations.studies.strengths.runs import LEARNER, REPLICATES, STUDY, run_case
from simulations.studies.strengths.sureness import Pairs, pairs_of, probabilities
from tests import naive

CASE = {"part": "shown", "network": "asia", "rows": 300, "sites": [2, 3], "seed": 1}


def test_a_case_tells_the_votes_around_every_pair() -> None:
    row = run_case(CASE)
    network = load_network("asia")
    rng = np.random.default_rng([STUDY, 1, 300, *map(ord, "asia")])
    dags = [
        learn(network.sample(300, rng), LEARNER, np.random.default_rng(0)).dags[0] for _ in range(3)
    ]
    true = naive.skeleton(network.dag)
    assert row["variables"] == network.dag.n
    for sites in (2, 3):
        votes = sum(naive.skeleton(dag).astype(np.int64) for dag in dags[:sites])
        pairs = pairs_of(votes, sites)
        found = row[f"of_{sites}"]
        assert [each[0] for each in found] == pairs.joining.tolist()
        assert np.allclose([each[1:4] for each in found], np.transpose(pairs[3:]), atol=1e-4)
        assert [each[4] for each in found] == true[pairs.one, pairs.other].astype(int).tolist()


def test_every_drawn_network_is_another_one() -> None:
    one, other = (drawn_network(np.random.default_rng(seed)).schema.names for seed in (0, 3))
    assert len(one) != len(other)
    network = drawn_network(np.random.default_rng(3))
    assert network == drawn_network(np.random.default_rng(3))
    assert max(len(network.dag.parents(v)) for v in range(network.dag.n)) <= MOST_PARENTS


def test_bins_and_deviations_by_hand() -> None:
    around = [0.7, 1.4, 0.5]
    low_pairs = [[1, *around, int(k < 10)] for k in range(40)]
    high_pairs = [[2, 0.0, 1.1, 0.0, int(k < 97)] for k in range(100)]
    rows = [{**CASE, "sites": [2], "variables": 8, "of_2": low_pairs + high_pairs}]
    none = np.zeros(2, dtype=np.int64)
    some = Pairs(none, none, *map(np.array, ([1, 2], [0.7, 0.0], [1.4, 1.1], [0.5, 0.0])))
    one, two = 100 * probabilities(some, 2, 8)
    low, high = bins(rows)
    assert (low.pairs, high.pairs) == (40, 100)
    assert (low.stated, high.stated) == pytest.approx((one, two))
    assert (low.true, high.true) == (25.0, 97.0)
    far = abs(one - 25), abs(two - 97)
    over_pairs = (40 * far[0] + 100 * far[1]) / 140
    assert deviation([low, high], weighted=True) == pytest.approx(over_pairs)
    assert deviation([low, high], weighted=False) == pytest.approx((far[0] + far[1]) / 2)
    few = low._replace(pairs=29)
    assert deviation([few, high], weighted=False) == pytest.approx(far[1])
    assert len(sections("tuning", rows)) == 3


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
