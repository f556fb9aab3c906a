"""A site with a private learner: schema of its own, ledger before the draw, one answer a round."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message, RecordDict

from clients.door import FAILED
from fedbn.data.schema import Schema
from fedbn.errors import ContractError, DataError, VersionError
from fedbn.federation.disclosure_log import read_log
from fedbn.federation.policy import refusal
from fedbn.federation.prepared_table import renew
from fedbn.federation.run_config import to_run_config
from fedbn.federation.schema_text import schema_from_text, schema_to_text
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import read_site_file
from fedbn.learners import LearnerSettings
from fedbn.learners.private import promise
from fedbn.privacy.ledger import Ledger
from simulations.in_process_grid import InProcessGrid

SCHEMA = Schema.categorical({name: ["0", "1", "2"] for name in "abc"})
PRIVATE = LearnerSettings(learner="dp-ges", epsilon=1)
RUN = Experiment.of(schema="states.json", learner=PRIVATE)


class SiteNode:
    """A deployed site in this process: its table, its file, and the grid that asks it."""

    def __init__(self, folder: Path, site_file: str, experiment: Experiment = RUN) -> None:
        rows = np.random.default_rng(1).integers(0, 2, size=(400, 3))
        self.table = folder / "t.csv"
        self.table.write_text("a,b,c\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n")
        (folder / "states.json").write_text(json.dumps(SCHEMA.to_dict()))
        (folder / "site.toml").write_text(site_file)
        renew(self.table, read_site_file(folder / "site.toml"), confirmed=True)
        node = {"data-path": str(self.table), "policy": str(folder / "site.toml")}
        self.grid = InProcessGrid(to_run_config(experiment), [node])
        self.ledger = folder / "t.csv.privacy.jsonl"
        self.log = folder / "t.csv.disclosures.jsonl"

    def ask(self, kind: str, number: int = 1) -> Message:
        task = {"text": schema_to_text(SCHEMA), "hash": SCHEMA.hash, "round": number}
        content = RecordDict({"task": ConfigRecord(task)} if kind == "train" else {})
        (node,) = self.grid.get_node_ids()
        (reply,) = self.grid.send_and_receive([Message(content, node, kind)])
        return reply


def words(reply: Message) -> str:
    assert reply.has_error()
    return str(reply.error.reason)


def structures(reply: Message) -> list[bytes]:
    assert not reply.has_error(), reply.error.reason
    return [array.data for array in reply.content["structures"].values()]


def test_a_site_tells_the_schema_of_its_file_not_the_states_of_its_table(tmp_path: Path) -> None:
    record = SiteNode(tmp_path, 'schema = "states.json"').ask("query").content["schema"]
    assert schema_from_text(record["text"], record["hash"]) == SCHEMA


def test_without_a_schema_of_its_own_a_site_says_nothing(tmp_path: Path) -> None:
    assert words(SiteNode(tmp_path, "").ask("query")).endswith("policy: schema")


def test_what_is_spent_is_written_and_the_same_answer_is_given_again(tmp_path: Path) -> None:
    site = SiteNode(tmp_path, 'schema = "states.json"')
    first = structures(site.ask("train"))
    (entry,) = Ledger.read(site.ledger).entries
    assert (entry.mechanism, entry.round, entry.rho) == ("dp-ges", 1, entry.spent_rho)
    assert all(structures(site.ask("train")) == first for _ in range(3))
    assert len(Ledger.read(site.ledger).entries) == 1
    said = read_log(site.log).entries[-1].words
    assert "ε 1 at δ 1e-06 per row (add or remove), against S, C, S+m, P" in said
    assert said.endswith("ε 1 in all")


def test_a_run_beyond_the_sites_limit_is_refused_with_one_word(tmp_path: Path) -> None:
    site = SiteNode(tmp_path, 'schema = "states.json"\n[policy]\nmax-epsilon = 1.5')
    structures(site.ask("train", 1))
    structures(site.ask("train", 2))
    before = site.ledger.read_bytes()
    assert words(site.ask("train", 3)).endswith("policy: max-epsilon")
    assert site.ledger.read_bytes() == before


@pytest.mark.parametrize("kind", ["query", "train"])
def test_with_a_limit_on_epsilon_only_private_learners_are_answered(
    tmp_path: Path, kind: str
) -> None:
    open_run = Experiment.of(schema="states.json")
    site = SiteNode(tmp_path, "[policy]\nmax-epsilon = 9", open_run)
    assert words(site.ask(kind)).endswith("policy: max-epsilon")


def test_a_torn_ledger_stops_the_site(tmp_path: Path) -> None:
    site = SiteNode(tmp_path, 'schema = "states.json"')
    site.ledger.write_text('{"time": "2026')
    assert words(site.ask("train")) == FAILED


@pytest.mark.slow
def test_the_noise_of_a_site_is_not_that_of_the_runs_seed(tmp_path: Path) -> None:
    """Sixty answers of sites that are told the same seed and round are not all the same.

    No structure has more than 0.7 of the probability (0.68 of 300 runs was the most), so honest
    noise fails once in 10^9 runs.
    """
    file = 'schema = "states.json"\n[policy]\nmax-messages = 60'
    answers = {tuple(structures(SiteNode(tmp_path, file).ask("train", 1))) for _ in range(60)}
    assert len(answers) > 1


def test_a_run_that_is_not_as_a_private_one_must_be_is_refused_by_the_site(tmp_path: Path) -> None:
    several = RUN.change(rounds_limit=2)
    site = SiteNode(tmp_path, 'schema = "states.json"', several)
    assert words(site.ask("query")) == words(site.ask("train")) == FAILED
    assert not site.ledger.exists()


# --- Promises that promise little, and failures after the charge ---------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "means_something"),
    [
        (10.0, 1e-6, True),
        (10.01, 1e-6, False),
        (1.0, 1 / 513, True),  # of 400 rows, which count as 512
        (1.0, 1 / 512, False),
        (1.0, 0.01, False),
    ],
)
@pytest.mark.filterwarnings("ignore::fedbn.errors.FedbnWarning")
def test_weak_privacy_needs_the_site_s_consent(
    tmp_path: Path,
    epsilon: float,
    delta: float,
    means_something: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    private = LearnerSettings(learner="dp-ges", epsilon=epsilon, delta=delta)
    run = Experiment.of(schema="states.json", learner=private)
    file = 'schema = "states.json"\n'
    site = SiteNode(tmp_path, f"{file}[policy]\nweak-privacy = true\n", run)
    structures(site.ask("train"))
    assert len(Ledger.read(site.ledger).entries) == 1
    site.ledger.unlink()
    site = SiteNode(tmp_path, file, run)
    if means_something:
        structures(site.ask("train"))
        assert len(Ledger.read(site.ledger).entries) == 1
        return
    monkeypatch.setattr("clients.request.rows_of", None)  # no cell is read
    assert words(site.ask("train")).endswith("policy: max-epsilon")
    assert not site.ledger.exists()


@pytest.mark.filterwarnings("ignore::fedbn.errors.FedbnWarning")
def test_an_epsilon_that_the_site_allows_is_no_consent_to_weak_privacy(tmp_path: Path) -> None:
    run = Experiment.of(schema="states.json", learner=replace(PRIVATE, epsilon=11.0))
    site = SiteNode(tmp_path, 'schema = "states.json"\n[policy]\nmax-epsilon = 99\n', run)
    assert words(site.ask("train")).endswith("policy: max-epsilon")
    assert not site.ledger.exists()


def _raise(error: Exception) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail


FAILURES = {
    "a bug": ("fedbn.federation.rounds.client_round", ValueError("row 17 is 'Meyer'")),
    "no memory": ("fedbn.federation.rounds.client_round", MemoryError()),
    "an error of ours": ("fedbn.federation.rounds.client_round", DataError("state 'ill'")),
    "a refusal": ("fedbn.federation.rounds.client_round", refusal("states", "column 'a'")),
    "another version": ("fedbn.federation.rounds.client_round", VersionError("0.1 and 0.2")),
    "the rows are gone": ("clients.request.rows_of", ContractError("cannot read it")),
    "the answer is not kept": ("clients.client_app.keep_structures", OSError("disk full")),
    "the reply is not agreed": ("clients.client_app.to_arrays", TypeError("no arrays")),
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_fails_after_the_charge_is_one_word_and_stays_charged(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, error = FAILURES[name]
    site = SiteNode(tmp_path, 'schema = "states.json"')
    monkeypatch.setattr(place, _raise(error))
    replies = [site.ask("train"), site.ask("train")]
    assert [(reply.error.code, words(reply)) for reply in replies] == [(2, FAILED)] * 2
    charged = Ledger.read(site.ledger).entries
    assert len(charged) >= 1
    assert charged[-1].spent_rho == pytest.approx(len(charged) * promise(PRIVATE).rho)


@pytest.mark.parametrize("limit", ["max-in-degree = 0", "max-dags = 0"])
def test_a_limit_on_what_was_drawn_is_no_word_of_its_own(tmp_path: Path, limit: str) -> None:
    """A table whose columns are one: dp-ges with much ε joins them."""
    generous = Experiment.of(schema="states.json", learner=replace(PRIVATE, epsilon=10.0))
    site = SiteNode(tmp_path, f'schema = "states.json"\n[policy]\n{limit}\n', generous)
    lines = ["a,b,c\n", *(f"{k % 2},{k % 2},{k % 2}\n" for k in range(400))]
    site.table.write_text("".join(lines))
    renew(site.table, read_site_file(tmp_path / "site.toml"), confirmed=True)
    assert words(site.ask("train")) == FAILED
    assert len(Ledger.read(site.ledger).entries) == 1


@pytest.mark.filterwarnings("ignore::fedbn.errors.FedbnWarning")
@pytest.mark.parametrize(
    "change",
    [{"leave_out_identifiers": True}, {"missing_cells": "drop-rows"}, {"discretise": ("a:2",)}],
    ids=str,
)
def test_what_looks_into_cells_is_refused_before_the_charge(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    site = SiteNode(tmp_path, 'schema = "states.json"', RUN.change(**change))
    for kind in ("query", "train"):
        assert words(site.ask(kind)) in (FAILED, "refused by this site's policy: contract")
    assert not site.ledger.exists()
