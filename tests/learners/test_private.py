"""Private learners by name: what they need, and that they say nothing but their DAG."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbn.errors import ConfigError, DataError
from fedbn.federation.private_runs import guarantee_of, require_private_run
from fedbn.federation.runs import site_run
from fedbn.federation.settings import Experiment
from fedbn.graphs.dag import DAG
from fedbn.learners import LEARNERS, LearnerSettings, learn
from fedbn.privacy.ledger import Ledger, table_digest
from simulations.cli import main
from tests.learners.test_learn import chain_data

PRIVATE = [name for name, learner in LEARNERS.items() if learner.is_private]


@pytest.mark.parametrize("learner", PRIVATE)
def test_private_learners_find_the_chain_and_say_nothing_else(learner: str) -> None:
    settings = LearnerSettings(learner=learner, epsilon=20, noise="seeded")
    learned = learn(chain_data("categorical", 4000), settings, np.random.default_rng(0))
    pairs = {frozenset(edge) for edge in learned.dags[0].edges}
    assert {frozenset("ab"), frozenset("bc")} <= pairs
    assert (learned.weights, learned.status, learned.score) == ((1.0,), "complete", None)


@pytest.mark.parametrize("learner", PRIVATE)
def test_only_seeded_noise_follows_the_seed(learner: str) -> None:
    """With weak data and the system's noise, thirty runs of one seed are not all the same."""
    table = chain_data("categorical", 60)

    def runs(noise: str) -> set[DAG]:
        settings = LearnerSettings(learner=learner, noise=noise)
        return {learn(table, settings, np.random.default_rng(1)).dags[0] for _ in range(30)}

    assert len(runs("seeded")) == 1
    assert len(runs("system")) > 1


def test_the_noise_of_the_system_is_the_default_and_no_run_config_can_change_it() -> None:
    from fedbn.federation.run_config import from_run_config, run_config_keys

    assert LearnerSettings().noise == "system"
    assert "noise" not in run_config_keys()
    with pytest.raises(ConfigError, match="unknown setting 'noise'"):
        from_run_config({"noise": "seeded"})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"network": None}, "needs a schema that is given"),
        ({"share_diagnostics": True}, "share-diagnostics must be false"),
        ({"rounds_limit": 2}, "rounds-limit must be 1"),
        ({"parameters": "federated"}, "parameters must be none"),
        ({"row_weight": "ladder"}, "row-weight must be 1"),
    ],
)
def test_runs_that_would_say_more_are_refused(changes: dict[str, Any], words: str) -> None:
    experiment = Experiment.of(network="asia", learner=LearnerSettings(learner="dp-climb"))
    require_private_run(site_run(experiment))
    with pytest.raises(ConfigError, match=words):
        require_private_run(site_run(experiment.change(**changes)))
    require_private_run(site_run(Experiment.of(rounds_limit=2)))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"learner": "ges", "epsilon": 2.0}, "epsilon is for dp-climb, dp-ges, dp-moments"),
        ({"learner": "dp-climb", "turning": True}, "turning is for ges"),
        ({"learner": "dp-moments", "dp_edges": 2.0}, "dp-edges is for dp-climb, dp-ges"),
        ({"learner": "dp-climb", "seconds": 3.0}, "dp-climb takes no learner-seconds"),
        ({"learner": "dp-ges", "row_weight": 2.0}, "row-weight must be 1"),
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"delta": 1.0}, "delta must lie between 0 and 1"),
        ({"noise": "none"}, "noise"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        learn(chain_data("categorical"), LearnerSettings(**settings), np.random.default_rng(0))


def test_starts_and_floats_are_refused() -> None:
    settings, rng = LearnerSettings(learner="dp-climb"), np.random.default_rng(0)
    with pytest.raises(ConfigError, match="must begin without a structure"):
        learn(chain_data("categorical"), settings, rng, DAG.empty("abcd"))
    floats = LearnerSettings(learner="dp-climb", score="gaussian-bic")
    with pytest.raises(DataError, match="dp-climb needs categorical data"):
        learn(chain_data("gaussian"), floats, rng)


def test_numbers_need_bounds_that_are_stated() -> None:
    rng, table = np.random.default_rng(0), chain_data("gaussian", 4000)
    settings = LearnerSettings(
        learner="dp-moments", score="gaussian-bic", epsilon=20, noise="seeded", bounds="-20:20"
    )
    found = learn(table, settings, rng)
    pairs = {frozenset(edge) for edge in found.dags[0].edges}
    assert {frozenset("ab"), frozenset("bc")} <= pairs
    assert (found.weights, found.status, found.score) == ((1.0,), "complete", None)
    for changes, words in (
        ({"bounds": None}, "dp-moments needs --bounds"),
        ({"bounds": "q=0:1; 0:1"}, "'q', which is no column"),
    ):
        with pytest.raises(ConfigError, match=words):
            learn(table, replace(settings, **changes), rng)
    with pytest.raises(ConfigError, match="bounds are for columns of numbers"):
        learn(chain_data("categorical"), replace(settings, score="bdeu"), rng)
    with pytest.raises(ConfigError, match="bounds: bounds must be LOW:HIGH"):
        replace(settings, bounds="wide")


def test_a_run_on_numbers_without_bounds_is_refused_before_it_is_charged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = LearnerSettings(learner="dp-moments", score="gaussian-bic")
    experiment = Experiment.of(network="random-gaussian:4:4", learner=settings)
    with pytest.raises(ConfigError, match="needs --bounds"):
        require_private_run(site_run(experiment))
    require_private_run(site_run(experiment.change(bounds="-9:9")))

    table, schema = tmp_path / "t.csv", tmp_path / "s.json"
    cells = np.random.default_rng(1).normal(size=(60, 2))
    table.write_text("a,b\n" + "\n".join(f"{x},{y}" for x, y in cells))
    schema.write_text(json.dumps({"a": None, "b": None}))
    options = ["learn", str(table), "--learner", "dp-moments", "--score", "gaussian-bic"]
    options += ["--schema", str(schema), "--json"]
    assert run(*options) == 1
    assert "needs --bounds" in capsys.readouterr().err
    assert not Path(f"{table}.privacy.jsonl").exists()
    assert run(*options, "--bounds", "-5:5") == 0
    assert Ledger.read(f"{table}.privacy.jsonl").entries[0].parameters["bounds"] == "-5:5"


def test_guarantees_are_those_of_the_settings() -> None:
    assert guarantee_of(LearnerSettings()) is None
    promise = guarantee_of(LearnerSettings(learner="dp-ges", epsilon=3, delta=1e-7))
    assert promise is not None
    assert (promise.epsilon, promise.delta, promise.seeded) == (3, 1e-7, False)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    table, schema = tmp_path / "t.csv", tmp_path / "s.json"
    rng = np.random.default_rng(1)
    rows = "\n".join(",".join(str(v) for v in row) for row in rng.integers(0, 2, size=(80, 3)))
    table.write_text(f"a,b,c\n{rows}\n")
    schema.write_text(json.dumps({name: ["0", "1"] for name in "abc"}))
    return str(table), str(schema)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return int(left.value.code or 0)


def test_learn_reserves_beside_the_table_and_adds_up(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    table, schema = files
    for _ in range(2):
        assert run("learn", table, "--learner", "dp-climb", "--schema", schema, "--json") == 0
    content = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(content) == {"nodes", "edges", "status", "privacy", "spent"}
    assert content["privacy"]["words"].startswith("ε 1 at δ 1e-06 per row (add or remove)")
    ledger = Ledger.read(f"{table}.privacy.jsonl")
    assert [entry.mechanism for entry in ledger.entries] == ["dp-climb"] * 2
    assert content["spent"]["epsilon"] == pytest.approx(ledger.epsilon(1e-6))


def test_learn_with_seeded_noise_promises_nothing_and_spends_nothing(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    table, schema = files
    options = ["--learner", "dp-ges", "--schema", schema, "--noise", "seeded", "--json"]
    assert run("learn", table, *options) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["privacy"]["words"].endswith("seeded, not private")
    assert content["spent"] is None
    assert not Path(f"{table}.privacy.jsonl").exists()


def test_learn_needs_a_schema_and_a_ledger_needs_a_private_learner(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table, _ = files
    assert run("learn", table, "--learner", "dp-climb") == 1
    assert "needs --schema" in capsys.readouterr().err
    assert run("learn", table, "--ledger", str(tmp_path / "l.jsonl")) == 1
    assert "--ledger is for private learners" in capsys.readouterr().err


@pytest.mark.slow
def test_simulate_says_that_it_is_not_private(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, ledger = tmp_path / "r", tmp_path / "l.jsonl"
    options = ["--network", "asia", "--clients", "2", "--rows", "60", "--engine", "in-process"]
    options += ["--learner", "dp-climb", "--ledger", str(ledger), "--out", str(out), "--json"]
    assert run("simulate", *options) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["privacy"]["words"].endswith("seeded, not private")
    run_json = json.loads((out / "run.json").read_text())
    assert run_json["privacy"] == content["privacy"]
    assert run_json["settings"]["share-diagnostics"] is False
    assert not (out / "consensus.bif").exists()
    assert Ledger.read(ledger).entries[0].parameters["noise"] == "seeded"


def test_digests_of_numbers_do_not_follow_the_order_of_rows(tmp_path: Path) -> None:
    table = chain_data("gaussian", 50)
    turned = table.take(np.arange(50)[::-1])
    path = tmp_path / "l.jsonl"
    assert table_digest(table, path) == table_digest(turned, path)
    assert table_digest(table, path) != table_digest(table.take(np.arange(49)), path)
