"""The study of strengths: what a case counts, bins and deviations by hand."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import simulations.studies.strengths
from fedbn.consensus.sureness import Pairs, pairs_of, probabilities
from fedbn.errors import NetworkError
from fedbn.learners import learn
from fedbn.networks.bif import write_bif
from fedbn.networks.catalog import load_network
from simulations.studies.strengths.calibration import (
    bins,
    deviation,
    interval,
    left_out,
    one_at_a_time,
    over_bins,
)
from simulations.studies.strengths.cases import PARTS, cases, family_of
from simulations.studies.strengths.networks import MOST_PARENTS, drawn_network
from simulations.studies.strengths.report import sections, shares_of_sums
from simulations.studies.strengths.runs import LEARNER, REPLICATES, STUDY, run_case
from simulations.study_cases import study_settings
from tests import naive
from tests.simulations.conftest import Fedbn

FOLDER = Path(simulations.studies.strengths.__file__).parent

CASE = {"part": "tuning", "network": "asia", "rows": 300, "sites": [2, 3], "seed": 1}


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
    rows = [rows_of("asia", low_pairs + high_pairs)]
    columns = zip(*(pair[:4] for pair in low_pairs + high_pairs), strict=True)
    none = np.zeros(140, dtype=np.int64)
    one, two = 100 * probabilities(Pairs(none, none, *map(np.array, columns)), 2, 8)[[0, -1]]
    low, high = bins(rows)
    assert (low.pairs, high.pairs) == (40, 100)
    assert (low.stated, high.stated) == pytest.approx((one, two))
    assert (low.true, high.true) == (25.0, 97.0)
    far = abs(one - 25), abs(two - 97)
    over_pairs = (40 * far[0] + 100 * far[1]) / 140
    assert deviation([low, high]) == pytest.approx(over_pairs)
    assert over_bins([low, high]) == pytest.approx((far[0] + far[1]) / 2)
    few = low._replace(pairs=29)
    assert over_bins([few, high]) == pytest.approx(far[1])
    other = [rows_of("alarm", low_pairs)]
    assert len(sections("tuning", {}, rows + other)) == 5


def rows_of(network: str, pairs: list[list[float]]) -> dict[str, object]:
    return {**CASE, "network": network, "sites": [2], "variables": 8, "of_2": pairs}


def test_networks_weigh_the_same_and_families_are_drawn_together() -> None:
    """One network states too much, another as much too little: together they are right."""
    alone = [0.0, 1.1, 0.0]
    pair = Pairs(*(np.zeros(1, dtype=np.int64),) * 2, *(np.array([x]) for x in (1, *alone)))
    stated = 100 * probabilities(pair, 2, 8)[0]
    wrong, right = rows_of("wrong", [[1, *alone, 0]]), rows_of("right", [[1, *alone, 1]])
    rows = [*[wrong] * 90, *[right] * 10]
    assert one_at_a_time(rows) == pytest.approx(sorted((stated, 100 - stated)))
    assert deviation(bins(rows)) == pytest.approx(abs(stated - 10))
    assert deviation(bins(rows, networks_alike=True)) == pytest.approx(abs(stated - 50))
    ends = [abs(stated - true) for true in (0, 10, 100)]
    low, high = interval(rows, {}, networks_alike=False)
    assert (low, high) == pytest.approx((min(ends), max(ends)))
    both = dict.fromkeys(("wrong", "right"), "wrong")
    assert interval(rows, both, networks_alike=False) == pytest.approx((ends[1], ends[1]))


def test_a_family_left_out_is_stated_by_the_others_alone() -> None:
    """Two networks with opposite shares: each is stated to be what the other is."""
    alone = [0.0, 1.1, 0.0]
    few = [[1, *alone, int(k < 10)] for k in range(40)]
    many = [[1, *alone, int(k < 30)] for k in range(40)]
    rows = [rows_of("few", few), rows_of("many", many)]
    (low, high), alike = left_out(rows, {})
    assert [each._replace(weight=40.0) for each in alike] == [low, high]
    assert (low.stated, low.true) == pytest.approx((25.0, 75.0), abs=0.1)
    assert (high.stated, high.true) == pytest.approx((75.0, 25.0), abs=0.1)


def test_the_halves_follow_their_rule_and_share_nothing() -> None:
    """The rule of the lists, which were committed before any of these networks was run."""
    settings = tomllib.loads((FOLDER / "experiment.toml").read_text(encoding="utf-8"))
    halves = [settings[part]["families"] for part in ("tuning", "test")]
    for odd, families in enumerate(halves):
        for family in families:
            name = min(re.sub("[0-9]+$", "", each.lower()) for each in family)
            assert int(hashlib.sha256(name.encode()).hexdigest()[0], 16) % 2 == odd
    names = [[name for family in families for name in family] for families in halves]
    assert [len(half) for half in names] == [len(set(half)) for half in names] == [71, 83]
    assert not set(names[0]) & set(names[1])


def test_networks_of_a_folder_have_cases_and_families() -> None:
    settings = study_settings(FOLDER, smoke=False)
    here = ("bank", "coral1", "coral2", "unknown")
    of_part = {part: list(cases(part, settings, here)) for part in PARTS}
    found = {part: {c["network"] for c in some} for part, some in of_part.items()}
    assert {n for n in found["tuning"] if n.startswith("paper:")} == {"paper:bank"}
    assert found["test"] == {"paper:coral1", "paper:coral2"}
    assert not list(cases("test", settings))
    assert family_of(settings)["paper:coral2"] == "paper:coral1"


def test_a_network_of_the_folder_is_not_the_embedded_one(tmp_path: Path) -> None:
    write_bif(load_network("random:6:7:1"), tmp_path / "asia.bif")
    row = run_case({**CASE, "network": "paper:asia"}, tmp_path)
    assert row["variables"] == 6
    with pytest.raises(NetworkError, match="has no network 'bank'"):
        run_case({**CASE, "network": "paper:bank"}, tmp_path)


def test_the_part_test_needs_the_folder(fedbn: Fedbn, tmp_path: Path) -> None:
    write_bif(load_network("random:6:5:1"), tmp_path / "firealarm.bif")
    asked = ("reproduce", "strengths", "--part", "test", "--smoke", "-q", "--out", tmp_path / "out")
    ran = fedbn(*asked)
    assert ran.status == 1
    assert "--network-dir" in ran.err
    assert fedbn(*asked, "--network-dir", tmp_path).status == 0
    assert "paper:firealarm" in (tmp_path / "out" / "report.md").read_text()


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
    (section,) = sections("counted", {}, rows)
    assert section.rows[-1][4:] == [100, "100.0", "90.0"]
