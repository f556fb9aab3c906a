"""The study of groups: populations, indices, and its command."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from fedbn.errors import NetworkError
from simulations.cli import app
from simulations.studies import groups
from simulations.studies.groups.cases import LACKING, PARTS, cases
from simulations.studies.groups.populations import base_network, move_edges, rows_of_sites
from simulations.studies.groups.runs import adjusted_rand_index, run_case
from simulations.study_cases import study_settings


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=9))
def test_adjusted_rand_index_counts_pairs(labels: list[tuple[int, int]]) -> None:
    one, other = zip(*labels, strict=True)
    pairs = list(combinations(range(len(one)), 2))
    a = {(i, j) for i, j in pairs if one[i] == one[j]}
    b = {(i, j) for i, j in pairs if other[i] == other[j]}
    expected = len(a) * len(b) / len(pairs)
    largest = (len(a) + len(b)) / 2
    found = adjusted_rand_index(one, other)
    if largest == expected:
        assert found == 1.0
    else:
        assert found == pytest.approx((len(a & b) - expected) / (largest - expected))


@pytest.mark.parametrize("edges", [1, 5])
def test_moved_edges_change_their_families_alone(edges: int) -> None:
    network = base_network("child", np.random.default_rng(0))
    other = move_edges(network, edges, np.random.default_rng(1))
    before, after = network.dag.adjacency, other.dag.adjacency
    assert (before & ~after).sum() == edges
    assert (after & ~before).sum() == edges
    assert not (after & before.T).any()
    for node in range(network.dag.n):
        same = (before[:, node] == after[:, node]).all()
        assert same == (network.cpts[node] is other.cpts[node] or np.array_equal(
            network.cpts[node], other.cpts[node]))  # fmt: skip


def test_more_edges_than_there_are_cannot_be_moved() -> None:
    network = base_network("asia", np.random.default_rng(0))
    with pytest.raises(NetworkError, match="9 edges cannot be moved in a network of 8"):
        move_edges(network, 9, np.random.default_rng(0))


def test_unequal_rows_are_within_their_range() -> None:
    rows = rows_of_sites(None, 200, np.random.default_rng(0))
    assert 100 <= min(rows) < 150
    assert 7000 < max(rows) <= 10_000
    assert rows_of_sites(7, 3, np.random.default_rng(0)) == (7, 7, 7)


@pytest.mark.slow
def test_the_command_writes_rows_and_report(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["reproduce", "groups", "--smoke", "--out", str(tmp_path), "-q"]
    )
    assert result.exit_code == 0, result.output
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "false alarms" in text
    assert "above the oracle's" in text


def test_every_part_has_base_and_seeds_of_its_own() -> None:
    settings = study_settings(Path(groups.__file__).parent, smoke=False)
    for part in PARTS:
        found = list(cases(part, settings, seeds=2, first_seed=5))
        assert {case["seed"] for case in found} == {5, 6}
        bases = {"several": 46} | dict.fromkeys(LACKING, 48)
        assert {case["base"] for case in found} == {bases.get(part, 44)}


def test_another_base_draws_other_tables() -> None:
    case = {"part": "alike", "network": "random15", "rows": 200, "sizes": [4], "edges": 0}
    rows = [run_case(case | {"base": base, "seed": 1}) for base in (1, 1, 2)]
    assert rows[0] == rows[1]
    assert rows[0] != rows[2]
