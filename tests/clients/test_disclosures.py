"""A site's own will: what it refuses, what it writes down, and that nothing else leaves."""

from __future__ import annotations

import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from flwr.app import ConfigRecord, Message, RecordDict

from clients import read_requests
from clients.door import FAILED, REFUSED
from fedbn.data.schema import Schema
from fedbn.errors import FedbnError
from fedbn.federation.disclosure import Disclosure, digest
from fedbn.federation.disclosure_log import read_log
from fedbn.federation.prepared_table import renew
from fedbn.federation.run_config import to_run_config
from fedbn.federation.schema_text import schema_to_text
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import read_site_file
from fedbn.networks.family_counts import Family
from fedbn.secure import requests
from simulations.in_process_grid import InProcessGrid

TABLE = "Raucher,b\n" + "ja,1\nnein,2\n" * 20


class Site:
    """A deployed site in a folder of its own."""

    def __init__(self, folder: Path, policy: str = "", **settings: Any) -> None:
        self.folder = folder
        table = folder / "secret-place.csv"
        table.write_text(TABLE)
        (folder / "site.toml").write_text(policy)
        with suppress(FedbnError):
            renew(table, read_site_file(folder / "site.toml"), confirmed=True)
        self.settings = to_run_config(Experiment.of(**settings))

    def ask(self, category: str, **records: ConfigRecord) -> Message:
        config = {
            "data-path": str(self.folder / "secret-place.csv"),
            "policy": str(self.folder / "site.toml"),
        }
        grid = InProcessGrid(self.settings, [config])
        (node,) = grid.get_node_ids()
        (reply,) = grid.send_and_receive([Message(RecordDict(records), node, category)])
        return reply

    def train(self, columns: tuple[str, ...] = ("Raucher", "b")) -> Message:
        states = {"Raucher": ["ja", "nein"], "b": ["1", "2"], "smoke": ["no", "yes"]}
        schema = Schema.categorical({name: states[name] for name in columns})
        task = {"text": schema_to_text(schema), "hash": schema.hash, "round": 3}
        return self.ask("train", task=ConfigRecord(task))

    @property
    def log(self) -> tuple[Disclosure, ...]:
        entries = read_log(self.folder / "secret-place.csv.disclosures.jsonl").entries
        return tuple(entry for entry in entries if entry.kind != "contract")


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("min-rows = 41", "min-rows"),
        ("variables = ['b']", "variables"),
        ("max-in-degree = 0", "max-in-degree"),
        ("max-dags = 0", "max-dags"),
    ],
)
def test_a_refusal_says_the_agreed_word_only(
    tmp_path: Path, policy: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(tmp_path, f"[policy]\n{policy}\n")
    reply = site.train()
    assert reply.error.reason == f"{REFUSED}: {reason}"
    assert [entry.words for entry in site.log] == [f"notice: {REFUSED}: {reason}"]
    assert any(reason in record.getMessage() for record in caplog.records)
    if reason in ("min-rows", "variables"):
        assert site.ask("query").error.reason == f"{REFUSED}: {reason}"


def test_every_message_is_in_the_log_with_its_own_bytes(tmp_path: Path) -> None:
    site = Site(tmp_path)
    told, learned = site.ask("query"), site.train()
    asked, trained = site.log
    assert (asked.round, asked.kind, trained.round, trained.kind) == (0, "query", 3, "train")
    assert asked.words == "names of 2 columns and of their 4 states"
    assert trained.words == "1 DAG with 1 arc over 2 variables"
    arrays = {key: bytes(array.data) for key, array in learned.content["structures"].items()}
    assert digest({"structures": arrays}) == (trained.bytes, trained.sha256)
    texts = {key: json.dumps(value).encode() for key, value in told.content["schema"].items()}
    assert digest({"schema": texts}) == (asked.bytes, asked.sha256)


def test_classes_only(tmp_path: Path) -> None:
    site = Site(tmp_path, "[policy]\nstructures = 'cpdag'\n")
    record = site.train().content["structures"]
    assert record["edges"].numpy().tolist() == [[0, 1], [1, 0]]
    assert site.log[0].words == "1 equivalence class with 1 edge over 2 variables"


def test_nothing_leaves_unless_it_can_be_written_down(tmp_path: Path) -> None:
    site = Site(tmp_path, "disclosures = '/dev/full'\n")
    for reply in (site.ask("query"), site.train()):
        assert reply.error.reason == FAILED


def test_own_names_never_leave(tmp_path: Path) -> None:
    mapping = "[columns]\nRaucher = 'smoke'\n[states.smoke]\nja = 'yes'\nnein = 'no'\n"
    site = Site(tmp_path, "leave-out = ['b']\n" + mapping)
    text = site.ask("query").content["schema"]["text"]
    assert json.loads(text) == {"smoke": ["no", "yes"]}
    assert site.train(("smoke",)).has_content()


def everything(message: Message) -> str:
    """All that a reply holds, as text."""
    if message.has_error():
        return f"{message.error.code} {message.error.reason}"
    values = [v for record in message.content.values() for v in record.values()]
    data = [str(getattr(v, "data", v)) for v in values]
    return " ".join([*map(str, message.content), *data])


@pytest.mark.parametrize(
    "policy", ["", "[policy]\nmin-rows = 99\n", "[polcy]\n", "[columns]\nno = 'x'\n", "name = "]
)
def test_paths_and_tracebacks_never_travel(tmp_path: Path, policy: str) -> None:
    logging.disable(logging.CRITICAL)
    site = Site(tmp_path, policy, share_diagnostics=True)
    try:
        replies = [site.ask("query"), site.train(), site.train(("b",)), site.ask("train")]
        (tmp_path / "secret-place.csv").write_text("a,b\nsecret-cell,1\n,2\n")
        replies += [site.ask("query"), site.train()]
    finally:
        logging.disable(logging.NOTSET)
    for reply in replies:
        for word in ("secret", str(tmp_path), "Traceback", "line ", ".csv", ".toml"):
            assert word not in everything(reply)


def test_diagnostics_need_the_site_as_well_as_the_run(tmp_path: Path) -> None:
    policy = "name = 'north'\n[policy]\ndiagnostics = true\n"
    assert "diagnostics" not in Site(tmp_path, share_diagnostics=True).train().content
    assert "diagnostics" not in Site(tmp_path, policy).train().content
    site = Site(tmp_path, policy, share_diagnostics=True)
    told = dict(site.train().content["diagnostics"])
    assert (told["label"], told["rows"]) == ("north", 40)
    assert site.log[-1].words.endswith("; label and rows and seconds")


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("min-cell = 41", None),
        ("min-cell = 40", 40),
        ("disclosure = 'pcornet'", 40),
        ("disclosure = 'opensafely'", 40),
        ("min-cell = 41\ndisclosure = 'opensafely'", None),
    ],
)
def test_few_rows_are_not_told(tmp_path: Path, rule: str, told: int | None) -> None:
    policy = f"[policy]\ndiagnostics = true\n{rule}\n"
    found = Site(tmp_path, policy, share_diagnostics=True).train().content["diagnostics"]
    assert (found.get("rows"), found.get("rows_dropped")) == (told, None)


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("missing-shares = true", '{"b":15}'),
        ("missing-shares = false", None),
        ("missing-shares = true\nmin-cell = 5", '{"b":15}'),
        ("missing-shares = true\nmin-cell = 7", "{}"),
    ],
)
def test_shares_of_missing_cells_need_the_sites_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str, told: str | None
) -> None:
    monkeypatch.setattr(f"{__name__}.TABLE", "Raucher,b\n" + "ja,1\nnein,2\n" * 17 + "ja,\n" * 6)
    policy = f"missing-cells = 'impute'\n[policy]\ndiagnostics = true\n{rule}\n"
    site = Site(tmp_path, policy, share_diagnostics=True)
    assert site.train().content["diagnostics"].get("missing") == told
    assert ("missing" in site.log[-1].words) == (told is not None)


def test_shares_of_other_rows_do_not_follow_one_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One cell more would show where the share passes a multiple."""
    policy = "missing-cells = 'impute'\n[policy]\ndiagnostics = true\nmissing-shares = true\n"
    for lost, told in ((6, '{"b":15}'), (7, None)):
        table = "Raucher,b\n" + "ja,1\nnein,2\n" * 15 + "ja,1\n" * (10 - lost) + "ja,\n" * lost
        monkeypatch.setattr(f"{__name__}.TABLE", table)
        site = Site(tmp_path, policy + "min-cell = 5\n", share_diagnostics=True)
        assert site.train().content["diagnostics"].get("missing") == told


@pytest.mark.parametrize(("there", "told"), [(4, "{}"), (5, '{"b":90}')])
def test_few_cells_that_are_there_are_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: int, told: str
) -> None:
    rows = [*(f"ja,{k % 2 + 1}" for k in range(there)), *["nein,"] * (40 - there)]
    table = "\n".join(["Raucher,b", *rows, ""])
    monkeypatch.setattr(f"{__name__}.TABLE", table)
    policy = "missing-cells = 'impute'\n[policy]\ndiagnostics = true\nmissing-shares = true\n"
    site = Site(tmp_path, policy + "min-cell = 5\nmin-state-rows = 0\n", share_diagnostics=True)
    assert site.train().content["diagnostics"].get("missing") == told


def test_no_run_makes_a_deployed_site_read_another_table(tmp_path: Path) -> None:
    site = Site(tmp_path, table=str(tmp_path / "another.csv"), clients=1)
    (tmp_path / "another.csv").write_text("x,y\n1,2\n")
    assert "Raucher" in site.ask("query").content["schema"]["text"]
    grid = InProcessGrid(site.settings, [{"some": "node"}])
    (reply,) = grid.send_and_receive([Message(RecordDict(), 2, "query")])
    assert reply.error.reason == FAILED


def test_a_report_is_logged_and_answered_with_a_receipt(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(tmp_path)
    text = "this site has no column 'age'\nforged line"
    reply = site.ask("query.report", report=ConfigRecord({"text": text}))
    assert dict(reply.content["receipt"]) == {"received": True}
    assert "this site has no column 'age'" in caplog.text
    assert "forged" not in caplog.text
    assert site.log[0].words == "receipt of a report"


def test_every_kind_of_sum_has_words_for_the_log() -> None:
    assert set(read_requests._SUMS) == set(requests._KINDS)
    families = (Family(0, ()), Family(1, (0,)))
    for asked, words in (
        (requests.CountRequest(families, own=False), "counts of 2 families"),
        (requests.ScoreRequest(families[:1]), "own scores of 1 family"),
        (requests.VoteRequest(None, classes=True), "votes on pairs"),
    ):
        question = read_requests.SumQuestion(requests.to_bytes(asked, bytes(32), 1), None)
        assert question.words == words
