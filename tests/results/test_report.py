"""The results folder: its tables on an example computed by hand, and that it is whole or absent."""

import csv
import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import select_consensus
from fedbn.data.schema import Schema
from fedbn.errors import FedbnWarning, ResultsError
from fedbn.federation.state import ClientReply, FederationResult
from fedbn.graphs.dag import DAG
from fedbn.results import plots
from fedbn.results.outcome import Client, Outcome
from fedbn.results.report import check_results_folder, results_folder, write_results
from fedbn.results.rows import client_rows, edge_rows, edge_status, path_rows
from fedbn.results.summary import summarise

# Two clients agree on the chain w -> x -> y, a third has w -> x and a stray edge x -> z.
CHAIN = DAG.from_edges("wxyz", ["wx", "xy"])
STRAY = DAG.from_edges("wxyz", ["wx", "xz"])
RUN = {"command": "test", "seed": 1}


@pytest.fixture
def outcome() -> Outcome:
    dags = [CHAIN, CHAIN, STRAY]
    path = mcbnc_path(dags)
    clients = tuple(
        Client(label, (dag,), (Fraction(1),), rows=100, seconds=0.5)
        for label, dag in zip(("a", "b", "c"), dags, strict=True)
    )
    return Outcome(clients, path, select_consensus(path), gold=CHAIN)


def test_the_sums_over_dags_grow_with_their_number_only(monkeypatch, outcome: Outcome) -> None:
    """A reply of 1,000 DAGs took 50 seconds: the shares were summed anew for each of them."""
    added = 0
    usual = Fraction.__add__

    def counted(a: Fraction, b: Fraction) -> Fraction:
        nonlocal added
        added += 1
        return usual(a, b)

    def additions(count: int) -> int:
        weights = tuple(1 / (k + 1) for k in range(count))
        reply = ClientReply("a", (CHAIN,) * count, weights, "complete")
        replies = (reply, ClientReply("b", (STRAY,), (1.0,), "complete"))
        before = added
        result = FederationResult(schema, replies, (), path, consensus, 1, False)
        large = Outcome.of_federation(result, CHAIN)
        assert [row.dags for row in client_rows(large)] == [count, 1]
        assert summarise(large).inputs == count + 1
        return added - before

    schema = Schema.categorical(dict.fromkeys("wxyz", ("0", "1")))
    path, consensus = outcome.path, outcome.consensus
    monkeypatch.setattr(Fraction, "__add__", counted)
    monkeypatch.setattr(Fraction, "__radd__", counted)
    few, many = additions(100), additions(400)
    assert 400 < many < 5 * few  # 16 times, if each share needed a sum of all


def test_a_search_cut_short_is_reported_as_the_edge_vote(tmp_path: Path) -> None:
    names = [f"v{i}" for i in range(8)]
    chain = DAG.from_edges(names, list(pairwise(names)))
    place = np.random.default_rng(0).permutation(8)
    dense = DAG(chain.names, place[:, None] < place[None, :])
    whole = mcbnc_path([chain, chain, dense])
    path = replace(whole, steps=(), lost_arcs=whole.lost_arcs[:0], status="time limit")
    clients = tuple(
        Client(label, (dag,), (Fraction(1),))
        for label, dag in zip("abc", (chain, chain, dense), strict=True)
    )
    outcome = Outcome(clients, path, select_consensus(path), gold=chain)
    write_results(outcome, tmp_path / "out", run=RUN)
    with (tmp_path / "out" / "path.csv").open() as file:
        selected = [row for row in csv.DictReader(file) if row["selected"] == "true"]
    assert [(row["reading"], row["theta"]) for row in selected] == [("vote", "")]
    summary = json.loads((tmp_path / "out" / "run.json").read_text())["summary"]
    assert (summary["reading"], summary["complete"]) == ("vote", False)
    assert "edge vote of the inputs" in summary["remarks"][0]


def test_the_summary_has_the_figures_of_the_example(outcome: Outcome) -> None:
    summary = summarise(outcome)
    assert outcome.consensus.dag.n_edges == 2
    assert summary.theta == Fraction(1, 3)
    assert summary.mean_smhd == summary.lower_bound == Fraction(2, 3)
    assert summary.gap == 0
    assert (summary.smhd_to_gold, summary.shd_to_gold) == (0, 0)
    assert summary.inputs_to_gold == pytest.approx(2 / 3)
    assert summary.inputs_edges == 2.0
    assert (summary.fusion_edges, summary.fusion_to_gold) == (3, 1)
    assert (summary.edges, summary.treewidth) == (2, 1)


def test_a_path_row_per_state_and_one_is_selected(outcome: Outcome) -> None:
    rows = path_rows(outcome)
    assert [row.selected for row in rows].count(True) == 1
    search = [row for row in rows if row.reading == "search"]
    assert [str(row.theta) for row in search] == ["None", "1/3", "2/3", "1"]
    assert [row.edges for row in search] == [3, 2, 1, 0]
    assert [row.smhd_to_gold for row in search] == [1, 0, 1, 2]
    assert search[1].psi == Fraction(1, 3)
    assert search[0].psi is None


def test_edges_tell_who_has_them_and_when_they_go(outcome: Outcome) -> None:
    rows = {frozenset((row.parent, row.child)): row for row in edge_rows(outcome)}
    assert set(rows) == {frozenset("wx"), frozenset("xy"), frozenset("xz")}
    stray = rows[frozenset("xz")]
    assert (stray.same + stray.reversed, stray.supporters) == (1, ("c",))
    assert (stray.theta, stray.in_fusion, stray.in_consensus) == (Fraction(1, 3), True, False)
    assert stray.support == pytest.approx(1 / 3)
    assert rows[frozenset("wx")].support == 1.0
    assert rows[frozenset("wx")].status == "true"
    assert rows[frozenset("wx")].directed == "open"
    assert stray.directed == ""
    assert summarise(outcome).open_directions == 2


def test_clients_are_compared_with_consensus_and_truth(outcome: Outcome) -> None:
    first, _, third = client_rows(outcome)
    assert (first.smhd_to_consensus, first.smhd_to_gold) == (0.0, 0.0)
    assert (third.smhd_to_consensus, third.smhd_to_gold) == (2.0, 2.0)
    assert (third.rows, third.seconds, third.edges) == (100, 0.5, 2.0)


def test_several_dags_of_a_client_are_averaged_by_share(outcome: Outcome) -> None:
    both = Client("both", (CHAIN, STRAY), (Fraction(3, 4), Fraction(1, 4)))
    (row,) = client_rows(replace(outcome, clients=(both,)))
    assert (row.dags, row.smhd_to_gold) == (2, 0.5)


def test_edge_status_counts_what_shd_counts() -> None:
    truth = DAG.from_edges("abcd", ["ac", "bc", "cd"])
    learned = DAG.from_edges("abcd", ["ca", "cb", "ad"])
    assert edge_status(learned, truth) == {
        ("c", "a"): "reversed",
        ("c", "b"): "reversed",
        ("a", "d"): "extra",
        ("c", "d"): "missing",
    }
    chain, other = DAG.from_edges("abc", ["ab", "bc"]), DAG.from_edges("abc", ["cb", "ba"])
    assert set(edge_status(chain, other).values()) == {"true"}
    assert edge_status(chain, None) == {}


def test_the_folder_holds_everything(outcome: Outcome, tmp_path: Path) -> None:
    out = write_results(outcome, tmp_path / "result", run=RUN)
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    tables = {"path.csv", "clients.csv", "edges.csv", "strengths.csv", "run.json"}
    tables |= {"report.html", "report.json", "README.txt"}
    structures = {
        f"consensus.{kind}{suffix}"
        for kind in ("", "cpdag.")
        for suffix in ("csv", "json", "graphml", "dot")
    }
    figures = {
        f"figures/{name}.{suffix}"
        for name in ("smhd", "complexity", "consensus")
        for suffix in ("png", "svg")
    }
    assert names == tables | structures | figures
    with (out / "path.csv").open(newline="") as file:
        selected = [row for row in csv.DictReader(file) if row["selected"] == "true"]
    assert [row["theta"] for row in selected] == ["1/3"]
    run = json.loads((out / "run.json").read_text())
    assert (run["program"], run["command"]) == ("fedbn", "test")
    assert run["summary"]["gap"] == "0"


def test_a_wide_result_has_tables_and_structures_alone(
    outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = write_results(outcome, tmp_path / "whole", run=RUN)
    monkeypatch.setattr("fedbn.results.report.LARGEST", 2)
    monkeypatch.setattr("fedbn.graphs.treewidth.MEASURED", 2)
    with pytest.warns(FedbnWarning, match="no report, no figures and no treewidth"):
        out = write_results(outcome, tmp_path / "wide", run=RUN)
    drawn = {path.name for path in whole.iterdir()} - {path.name for path in out.iterdir()}
    assert drawn == {"figures", "report.html", "report.json"}
    with (out / "path.csv").open(newline="") as file:
        assert {row["treewidth"] for row in csv.DictReader(file)} == {""}
    assert "report.html" not in (out / "README.txt").read_text()


def test_without_truth_its_columns_are_empty(outcome: Outcome, tmp_path: Path) -> None:
    out = write_results(replace(outcome, gold=None), tmp_path / "r", run=RUN, figures=False)
    with (out / "path.csv").open(newline="") as file:
        assert {row["smhd_to_gold"] for row in csv.DictReader(file)} == {""}


@pytest.mark.slow
def test_the_bytes_depend_on_the_result_alone(outcome: Outcome, tmp_path: Path) -> None:
    one = write_results(outcome, tmp_path / "one", run=RUN)
    two = write_results(outcome, tmp_path / "two", run=RUN)
    for path in (path for path in one.rglob("*") if path.is_file()):
        assert path.read_bytes() == (two / path.relative_to(one)).read_bytes(), path


def test_an_old_result_is_replaced_and_nothing_else_is(outcome: Outcome, tmp_path: Path) -> None:
    out = write_results(outcome, tmp_path / "result", run=RUN, figures=False)
    (out / "stale.txt").write_text("from an older version")
    write_results(outcome, out, run=RUN, figures=False)
    assert not (out / "stale.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["result"]
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    write_results(outcome, foreign, run=RUN, figures=False)  # an empty folder may be filled
    (foreign / "run.json").write_text('{"program": "other"}')
    with pytest.raises(ResultsError, match="is not a result of fedbn"):
        write_results(outcome, foreign, run=RUN)
    with pytest.raises(ResultsError, match="is a file"):
        check_results_folder(out / "run.json")
    with pytest.raises(ResultsError, match="cannot write results"):
        check_results_folder(out / "run.json" / "below")


def test_a_failure_leaves_the_old_result_and_no_trace(outcome: Outcome, tmp_path: Path) -> None:
    out = write_results(outcome, tmp_path / "result", run=RUN, figures=False)
    before = (out / "path.csv").read_bytes()
    with pytest.raises(ResultsError, match="No space left"):
        _fail_inside(out, OSError(28, "No space left on device"))
    with pytest.raises(KeyboardInterrupt):
        _fail_inside(out, KeyboardInterrupt())
    assert (out / "path.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


def _fail_inside(folder: Path, error: BaseException) -> None:
    with results_folder(folder) as place:
        (place / "half.csv").write_text("half")
        raise error


def test_no_name_loses_a_result(tmp_path: Path) -> None:
    names = tuple(sorted(("a" * 300, "$x$ $", "bell\x07", "line\nbreak", "$\\frac{$")))
    dag = DAG.from_edges(names, [(names[0], names[1]), (names[1], names[2])])
    path = mcbnc_path([dag, dag])
    clients = tuple(Client(str(k), (dag,), (Fraction(1),)) for k in range(2))
    odd = Outcome(clients, path, select_consensus(path))
    with pytest.warns(FedbnWarning, match="GraphML cannot hold"):
        out = write_results(odd, tmp_path / "out", run=RUN)
    assert (out / "figures" / "consensus.png").read_bytes()[:4] == b"\x89PNG"
    assert json.loads((out / "consensus.json").read_text())["nodes"] == list(names)
    assert not (out / "consensus.graphml").exists()


def test_a_figure_that_fails_leaves_the_rest(
    outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_settings: object) -> None:
        raise ValueError("no font")

    monkeypatch.setattr(plots, "network_figure", fail)
    with pytest.warns(FedbnWarning, match="figure consensus could not be drawn.*no font"):
        out = write_results(outcome, tmp_path / "out", run=RUN)
    assert (out / "figures" / "smhd.png").exists()
    assert (out / "run.json").exists()
