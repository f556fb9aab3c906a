"""The reproduction of the MCBNC paper: statistics, cells, claims, report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.errors import ConfigError, FedbnWarning, ResultsError
from fedbn.graphs.dag import DAG
from simulations.cli import app
from simulations.studies.mcbnc_aaai26.cases import cases, cost, inputs_of, settings
from simulations.studies.mcbnc_aaai26.evidence import Evidence
from simulations.studies.mcbnc_aaai26.inputs import first_inputs
from simulations.studies.mcbnc_aaai26.report import golden, sections
from simulations.studies.mcbnc_aaai26.reproduce import collect_rows, is_cut_short
from simulations.studies.mcbnc_aaai26.selection import Cell, cells_of, latest
from simulations.studies.mcbnc_aaai26.statistics import compare, friedman, holm, ranks, win_tie_loss
from simulations.studies.mcbnc_aaai26.targets import verdict
from simulations.study import Study
from simulations.study_cases import Row

# Table 2 of arXiv 2504.00467: rank sums over 90 cases (mean ranks 1.40, 1.91, 2.69 and 1.58, 1.70,
# 2.72), and the p-values that it prints.
SMHD = (126.0, 171.5, 242.5)
BDEU = (142.0, 153.0, 245.0)


@pytest.mark.parametrize(
    ("sums", "printed"),
    [(SMHD, ("2.32e-17", "6.95e-04", "7.68e-18")), (BDEU, ("3.66e-16", "4.12e-01", "3.25e-14"))],
)
def test_the_papers_p_values_follow_from_its_rank_sums(
    sums: tuple[float, ...], printed: tuple[str, ...]
) -> None:
    control, second, third = holm(sums, 90)
    assert control is None
    found = (friedman(sums, 90), second, third)
    assert tuple(f"{p:.2e}" for p in found) == printed


def test_the_papers_wins_ties_losses_are_its_mean_rank() -> None:
    """1 + (losses + ties / 2) / 90 of the first against the two others."""
    for first, second, total in (
        ((61, 13, 16), (68, 17, 5), SMHD[0]),
        ((48, 9, 33), (71, 9, 10), BDEU[0]),
    ):
        assert 90 + sum(losses + ties / 2 for _, ties, losses in (first, second)) == total


def test_ranks_share_ties_up_to_rounding() -> None:
    table = np.array([[1.0, 1.0 + 1e-12, 3.0], [5.0, 4.0, 4.5]])
    assert ranks(table).tolist() == [[1.5, 1.5, 3.0], [3.0, 1.0, 2.0]]
    assert win_tie_loss([1.0, 2.0, 3.0], [1.0, 3.0, 1.0]) == (1, 1, 1)


def test_a_comparison_puts_the_best_first() -> None:
    found = compare({"a": [3.0, 3.0, 1.0], "b": [1.0, 1.0, 1.0], "c": [2.0, 2.0, 9.0]})
    assert list(found.mean_ranks) == ["b", "c", "a"]
    assert found.mean_ranks["b"] == pytest.approx((1 + 1 + 1.5) / 3)
    assert found.against == {"a": (2, 1, 0), "c": (3, 0, 0)}
    assert found.holm["b"] is None
    assert 0.0 < found.friedman < 1.0


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the smoke run, as the command makes it."""
    out = tmp_path_factory.mktemp("study") / "smoke"
    done = CliRunner().invoke(
        app, ["reproduce", "mcbnc", "--smoke", "--out", str(out), "--jobs", "1", "-q"]
    )
    assert done.exit_code == 0, done.output
    return out


@pytest.mark.slow
def test_the_smoke_run_reports_every_claim(smoke: Path) -> None:
    text = (smoke / "report.md").read_text(encoding="utf-8")
    paper = golden()
    for name in paper["claims"]:
        assert f"| {name} |" in text
    for title in ("The majority vote", "Table 2, reading best", "Certificate", "Sites that differ"):
        assert f"## {title}" in text
    page = (smoke / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == len(list(smoke.glob("*.png"))) >= 15
    header, *points = (smoke / "curves.csv").read_text(encoding="utf-8").splitlines()
    assert header.startswith("network,r,reading,theta,smhd_gold")
    assert len(points) > 50


@pytest.mark.slow
def test_the_smoke_run_gives_our_own_values(smoke: Path) -> None:
    """SMHD to the truth in repetition 0, where ties go by name."""
    cells = cells_of(Study(smoke).rows, list(golden()["table 1"])[1:])
    assert {cell.network for cell in cells} == {"asia", "child", "alarm"}
    for cell in cells:
        first = replace(cell, repetitions=cell.repetitions[:1])
        values = [
            first.of("inputs", "smhd_gold"), first.union("smhd_gold"),
            first.at_choice("refusion", "smhd_gold"), first.at_choice("search", "smhd_gold"),
            first.of("vote 1/2", "smhd_gold"),
        ]  # fmt: skip
        wanted = golden()["own"]["values"][cell.network][str(cell.r)]
        tolerance = golden()["own"]["tolerance"]
        assert values == pytest.approx(wanted, abs=tolerance), (cell.network, cell.r)


@pytest.mark.slow
def test_killed_and_resumed_the_report_is_the_same(smoke: Path, tmp_path: Path) -> None:
    """By two processes instead of one, too; times apart."""
    for name in ("inputs.jsonl", "rows.jsonl"):
        whole = (smoke / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: 9 * len(whole) // 10])
    run = settings(smoke=True)
    wanted = list(cases(run))
    with pytest.warns(FedbnWarning, match="cut off"):
        collect_rows(wanted, run, tmp_path, None, 2, None, None, True)
    first, second = (without_times(Study(folder).rows) for folder in (smoke, tmp_path))
    assert len(first) == len(wanted)
    for ours, theirs in zip(*(sections(rows, wanted, []) for rows in (first, second)), strict=True):
        assert (ours.title, ours.rows) == (theirs.title, theirs.rows)


def test_a_path_that_ended_by_its_limit_is_missing() -> None:
    assert is_cut_short({"part": "grid", "status": "time limit"})
    assert not is_cut_short({"part": "grid", "status": "complete"})
    assert not is_cut_short({"part": "rivals"})


def without_times(rows: Sequence[Row]) -> list[Row]:
    """The rows in the report's order, every measured time one second."""
    fixed = {"cpu_seconds": 1.0, "seconds": 1.0, "learning_seconds": 1.0}
    found = []
    for row in latest(rows):
        same = {key: value for key, value in fixed.items() if key in row}
        clock = {"clock": [(row["deletions"], 1.0)]} if "clock" in row else {}
        found.append(row | same | clock)
    return found


def test_the_whole_grid_is_the_papers() -> None:
    run = settings()
    every = list(cases(run))
    assert [run["grid"][key] for key in ("rows", "repetitions", "k_max", "pooling")] == [
        5000, 10, 10, "mean",
    ]  # fmt: skip
    grid = [case for case in every if case["part"] == "grid"]
    assert len(grid) == 900
    assert {case["network"] for case in grid} == set(list(golden()["table 1"])[1:])
    assert sorted({case["r"] for case in grid}) == [5, 10, 20, 30, 50, 100]
    inputs = inputs_of(every)
    assert len(inputs) == 1500
    assert [case["k"] for case in inputs[:15]] == [0] * 15
    assert all(cost(case) > 0 for case in [*inputs, *every])


@pytest.mark.parametrize(
    "option", [("--part", "grids"), ("--network", "alram")], ids=lambda option: option[0]
)
def test_unknown_names_are_refused(tmp_path: Path, option: tuple[str, str]) -> None:
    done = CliRunner().invoke(app, ["reproduce", "mcbnc", *option, "--out", str(tmp_path)])
    assert isinstance(done.exception, ConfigError)
    assert option[1] in str(done.exception)


def test_a_cell_without_its_inputs_is_an_error_of_the_file(tmp_path: Path) -> None:
    case = {"network": "asia", "rows": 5000, "seed": 1, "r": 3}
    with pytest.raises(ResultsError, match="must hold input 0 of asia for r = 3"):
        first_inputs(tmp_path, case, None)


# --- claims ---------------------------------------------------------------------------------------


def state(theta_r: int | None, edges: int, smhd_inputs: float, smhd: int) -> list[object]:
    """A state of a path with as many deletions as edges are gone, width 2, BDeu -smhd."""
    return [theta_r, 10 - edges, edges, 2, smhd_inputs, smhd, -float(smhd)]


def cell(network: str = "alarm", r: int = 20) -> Cell:
    """G+ of 10 edges far from the truth; the state at θ = 1/4 is chosen."""
    path = [
        state(None, 10, 9.0, 30),
        state(5, 5, 2.0, 4),
        state(15, 4, 2.5, 5),
        state(20, 0, 8.0, 9),
    ]
    row = {
        "status": "complete", "repetition": 0, "search": path, "refusion": path, "deletions": 10,
        "fallen": 2, "clock": [(5, 2.0), (10, 3.0)], "lower_bound": 1.5,
        "polished": {"smhd_gold": 4.0},
        "chosen_search": ["search", 1], "chosen_refusion": ["refusion", 1],
        "chosen_best": ["search", 1],
    }  # fmt: skip
    methods = {
        "inputs": {"edges": 5.0, "width": 2.0, "smhd_gold": 6.0, "bdeu": -6.0},
        "gold": {"edges": 6.0, "width": 2.0, "smhd_gold": 0.0, "bdeu": 0.0},
        "empty": {"edges": 0.0, "width": 0.0, "smhd_gold": 9.0, "bdeu": -9.0},
    }
    return Cell(network, r, {"methods": methods, "inputs_equal_to_gold": 0.0}, (row,))


def test_a_cell_reads_its_path() -> None:
    one = cell()
    assert one.at_choice("search", "smhd_gold") == 4.0
    assert one.theta("refusion") == 0.25
    assert one.union("edges") == 10.0
    assert one.best_in_hindsight("search") == 4.0
    assert one.curve("search", "smhd_gold") == [(None, 30.0), (0.25, 4.0), (0.75, 5.0), (1.0, 9.0)]
    assert one.clock() == [(None, 0.0), (0.25, 2.0), (0.75, 2.2), (1.0, 3.0)]


def test_curves_are_averaged_as_step_functions() -> None:
    one = cell()
    first = one.repetitions[0]
    path = [state(None, 10, 9.0, 20), state(10, 5, 2.0, 6), state(20, 0, 8.0, 9)]
    both = replace(one, repetitions=(first, first | {"search": path}))
    assert both.curve("search", "smhd_gold") == [
        (None, 25.0), (0.25, 12.0), (0.5, 5.0), (0.75, 5.5), (1.0, 9.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("F1-worse-than-empty", True), ("F1-inputs", True), ("F1-stable", True),
        ("F1-orders", None), ("F1-pathfinder", None), ("F2-comparable", False),
        ("F3-flat", True), ("F3-sparser", True), ("C2-min", True), ("C3", True), ("L1", False),
        ("F4", None), ("B1", None), ("C14-C15", None),
    ],
)  # fmt: skip
def test_claims_are_judged_by_their_rules(name: str, held: bool | None) -> None:
    at = Evidence([cell()], [], "search")
    assert verdict(name, at, golden()["claims"][name])[0] is held


def test_a_claim_that_does_not_hold_says_so() -> None:
    """The same cell, its consensus farther from the truth than everything else."""
    first = cell().repetitions[0] | {"chosen_search": ["search", 0]}
    at = Evidence([replace(cell(), repetitions=(first,))], [], "search")
    for name in ("F1-inputs", "F1-stable", "F3-sparser", "C2-min", "C3"):
        assert verdict(name, at, golden()["claims"][name])[0] is False, name


def test_the_criticality_of_an_edge_in_k_of_r_inputs_is_k_by_r() -> None:
    """Corollary 2: where all paths between its ends are the edge itself."""
    for k in range(1, 6):
        dags = [DAG.from_edges("uvw", ["uv", "vw"] if i < k else ["vw"]) for i in range(6)]
        (step,) = [s for s in mcbnc_path(dags).steps if {s.x, s.y} == {"u", "v"}]
        assert step.psi == Fraction(k, 6)
