"""The reproduction of the CG-DCA paper: instances, exact pricing, cases, report."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import precision_recall_f1, shd
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.scores import make_score
from fedbn.search.cg_dca.submodular_difference import Clusters, PricingProblem
from simulations.benchmarks.gaussian_instances import gaussian_instance, gaussian_test_network
from simulations.cli import app
from simulations.studies.cg_dca.cases import (
    METHODS,
    accuracy,
    cases,
    missing_networks,
    run_case,
    settings,
)
from simulations.studies.cg_dca.federated import federated_cases
from simulations.studies.cg_dca.limited import run_peer
from simulations.studies.cg_dca.max_min import max_min_neighbours
from simulations.studies.cg_dca.minlp_pricing import MINLPPricing
from simulations.studies.cg_dca.peers import max_min_hill_climbing, pc_stable
from simulations.studies.cg_dca.report import sections
from simulations.studies.cg_dca.selection import gap, latest
from simulations.studies.cg_dca.targets import targets
from simulations.study import Study
from tests import naive_cg_dca as naive


def test_instances_are_those_of_the_paper() -> None:
    edges, noise = [], {"standard deviation": [], "variance": []}
    for instance in range(30):
        dag, data = gaussian_instance(15, 1.0, 50, instance)
        edges.append(dag.n_edges)
        assert data.n_rows == 50
    assert np.mean(edges) == pytest.approx(15.0, abs=2.0)  # n d
    for kind, found in noise.items():
        for instance in range(20):
            dag, data = gaussian_instance(15, 0.0, 4000, instance, kind)
            found.append(np.log(data.values.var(axis=0)).mean())
    # E ln σ² of U[0.7, 1.2] as σ and as σ²
    assert np.mean(noise["standard deviation"]) == pytest.approx(-0.123, abs=0.02)
    assert np.mean(noise["variance"]) == pytest.approx(-0.063, abs=0.02)
    again, data = gaussian_instance(15, 0.0, 4000, 19, "variance")
    assert again == dag
    assert (data.values == gaussian_instance(15, 0.0, 4000, 19, "variance")[1].values).all()


def test_gaussian_test_has_its_seven_edges() -> None:
    network = gaussian_test_network()
    assert set(network.dag.edges) == {
        ("A", "C"), ("B", "C"), ("B", "D"), ("A", "F"), ("D", "F"), ("E", "F"), ("G", "F"),
    }  # fmt: skip


def test_exact_pricing_finds_the_least_reduced_cost() -> None:
    _, data = gaussian_instance(4, 1.2, 300, 1)
    score = make_score("gaussian-bic", data)
    rng = np.random.default_rng(0)
    members = rng.random((3, 4)) < 0.7
    clusters = Clusters(members, rng.random(3) * 50.0, np.ones(3, dtype=np.int64))
    rows = [naive.Row(set(np.flatnonzero(m)), float(d), 1) for m, d in zip(
        members, clusters.duals, strict=True)]  # fmt: skip
    for node in range(4):
        constant = naive.reduced_cost(score, node, (), rows, -score.local_score(node, []))
        costs = {
            J: naive.reduced_cost(score, node, J, rows, -score.local_score(node, []))
            for J in naive.subsets([j for j in range(4) if j != node])
        }
        pricing = MINLPPricing()
        problem = PricingProblem(pricing.model(score), node, 4, constant, clusters.holding(node))
        found = pricing.columns(problem, np.zeros(5), rng)
        least = min(costs.values())
        if least < -1e-3:
            assert min(p.reduced_cost for p in found) == pytest.approx(least, abs=1e-3)
        for priced in found:
            J = tuple(np.flatnonzero(priced.parents).tolist())
            assert priced.reduced_cost == pytest.approx(costs[J], abs=1e-6)


def test_accuracy_of_dags_is_that_of_the_metrics() -> None:
    truth = DAG.from_edges("abcd", ["ab", "cb", "bd"])
    for other in (["ab", "bc", "bd"], ["ab", "cb"], ["ba", "bc", "bd", "cd"]):
        dag = DAG.from_edges("abcd", other)
        ours = accuracy(dag_to_cpdag(dag).adjacency, dag_to_cpdag(truth).adjacency)
        expected = precision_recall_f1(dag, truth)
        assert (ours["precision"], ours["recall"]) == expected[:2]
        assert ours["shd"] == shd(dag, truth)


@pytest.mark.parametrize("kind", ["gaussian", "categorical"])
def test_peers_find_a_collider(kind: str) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 1000))
    values = np.stack([a, b, a + b + 0.5 * rng.normal(size=1000)], axis=1)
    data = Dataset(Schema.gaussian("abc"), values)
    if kind == "categorical":
        schema = Schema.categorical(dict.fromkeys("abc", "01"))
        data = Dataset(schema, (values > 0).astype(np.int32))
    wanted = DAG.from_edges("abc", ["ac", "bc"]).adjacency
    assert (pc_stable(data) == wanted).all()
    found = max_min_hill_climbing(data)
    assert ((found | found.T) == (wanted | wanted.T)).all()


@pytest.mark.parametrize(
    ("program", "seconds", "status"),
    [
        ("import time; time.sleep(60)", 0.5, "more than 0.5 s"),
        ("raise SystemExit(3)", None, "the solver ended with code 3"),
    ],
)
def test_a_peer_without_an_end_is_a_row(program: str, seconds: float | None, status: str) -> None:
    _, data = gaussian_instance(4, 1.0, 50, 0)
    found = run_peer("pc", data, seconds, (sys.executable, "-c", program))
    assert (found.status, found.adjacency, found.seconds) == (status, None, None)
    nothing = accuracy(found.adjacency, np.zeros((4, 4), dtype=np.bool_))
    assert set(nothing.values()) == {None}


def test_every_case_has_a_method_and_smoke_is_small() -> None:
    whole, small = settings(), settings(smoke=True)
    assert all(case["method"] in METHODS for case in cases(whole))
    gaussian = [case for case in cases(whole) if case["part"] == "gaussian"]
    instances = {(c["n"], c["rows"], c["d"], c["instance"]) for c in gaussian}
    assert len(instances) == 240
    assert len(list(cases(small))) < 40
    assert len(list(federated_cases(whole))) == 60


@pytest.mark.slow
def test_a_case_and_its_report(tmp_path: Path) -> None:
    run = settings(smoke=True)
    wanted = [
        case
        for case in cases(run)
        if case["part"] == "gaussian" and case["d"] == 0.5 and case["method"][:2] in ("cg", "op")
    ]
    rows = [case | run_case(case, run) for case in wanted]
    json.dumps(rows, allow_nan=False)
    for row in rows:
        assert gap(row, max(r["score"] for r in rows)) >= 0.0
        assert math.isfinite(row["seconds"])
    titles = [section.title for section in sections(rows, [])]
    assert titles == [
        "Table 1: gaps", "Tables 4 and 5: start points", "Ties of the linearisation",
        "Tables 2 and 6: structures", "Targets",
    ]  # fmt: skip


def test_files_of_rows_can_be_put_together(tmp_path: Path) -> None:
    one = {"part": "federated", "n": 5, "d": 1.0, "rows": 9, "clients": 2, "repetition": 1}
    result = {"local_score": -3.0, "local_smhd": 1.0, "consensus_smhd": 2, "consensus_shd": 3}
    lines = [
        one | {"learner": learner, "seconds": took} | result
        for learner, took in (("ges", 1.0), ("optimal", 2.0), ("ges", 4.0))
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = next(iter(sections(latest(Study(tmp_path).rows), []))).rows
    assert [(line[2], line[3], line[-1]) for line in table] == [
        ("ges", 1, "4"), ("optimal", 1, "2"),
    ]  # fmt: skip


def row(method: str, score: float, seconds: float, status: str = "heuristic") -> dict[str, object]:
    return {"method": method, "score": score, "seconds": seconds, "status": status}


def test_targets_say_what_does_not_hold() -> None:
    paper = {
        "table 1": {"gap": {"15": {"2.0": 0.39}}, "seconds": {"15": {"2.0": 170}}},
        "targets": {
            "gap": 0.05, "times": {"cg-dca hybrid": {"15": 10}, "optimal": {"15": 50}},
            "proven": ["asia"],
        },
    }  # fmt: skip
    setting = {"part": "gaussian", "n": 15, "rows": 5000, "d": 2.0, "instance": 0}
    gaussian = [
        setting | {"true_score": -100.0} | row("cg-dca hybrid", -100.444, 17.0),
        setting | {"true_score": -100.0} | row("optimal", -99.9, 4.0, "feasible with bound"),
    ]
    tables = [
        {"part": "discrete", "network": name} | row(method, score, 1.0, "optimal")
        for name, method, score in (
            ("asia", "optimal", -5.0), ("alarm", "optimal", -6.0), ("alarm", "ordering", -5.5)
        )
    ]  # fmt: skip
    table = targets([*gaussian, *tables], paper).rows
    assert [line[1:] for line in table] == [
        ["0 of 1", "no"], ["1 of 1", "yes"], [10.0, "yes"], [42.5, "no"], ["optimal", "yes"],
        ["-0.500000", "no"],
    ]  # fmt: skip


@pytest.mark.parametrize(("option", "value"), [("--part", "tables"), ("--method", "cg")])
def test_the_command_refuses_unknown_names(tmp_path: Path, option: str, value: str) -> None:
    done = CliRunner().invoke(app, ["reproduce", "cg-dca", option, value, "--out", str(tmp_path)])
    assert isinstance(done.exception, ConfigError)
    assert option in str(done.exception)


def test_tables_without_a_network_are_named(tmp_path: Path) -> None:
    run = settings() | {"discrete": settings()["discrete"] | {"tables": [["asia", 9], ["no", 9]]}}
    assert missing_networks(run, tmp_path) == ["no"]
    assert {c["network"] for c in cases(run, tmp_path) if c["part"] == "discrete"} == {"asia"}


@pytest.mark.parametrize("kind", ["gaussian", "categorical"])
def test_mmpc_leaves_the_neighbours_of_a_chain(kind: str) -> None:
    """a - b - c - d: neighbours and nobody else."""
    rng = np.random.default_rng(4)
    columns = [rng.normal(size=2000)]
    for _ in range(3):
        columns.append(columns[-1] + 0.7 * rng.normal(size=2000))
    values = np.stack(columns, axis=1)
    data = Dataset(Schema.gaussian("abcd"), values)
    if kind == "categorical":
        codes = [rng.integers(0, 2, 2000)]
        for _ in range(3):
            codes.append(np.where(rng.random(2000) < 0.15, 1 - codes[-1], codes[-1]))
        schema = Schema.categorical(dict.fromkeys("abcd", "01"))
        data = Dataset(schema, np.stack(codes, axis=1).astype(np.int32))
    wanted = DAG.from_edges("abcd", [("a", "b"), ("b", "c"), ("c", "d")]).adjacency
    assert (max_min_neighbours(data, 0.01) == (wanted | wanted.T)).all()
