"""The one door: every kind of message, under every policy; what is read, and how often."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from clients import request as requests
from clients.client_app import HANDLERS
from clients.request import Request
from fedbn.data import tables
from fedbn.data.schema import Schema
from fedbn.federation import prepared_table, site_table
from fedbn.federation.family_message import REQUESTS, FamilyRequest, request_to_arrays
from fedbn.federation.histogram_message import question_to_text
from fedbn.federation.message import StructureMessage, to_arrays
from fedbn.federation.policy import SitePolicy
from fedbn.federation.run_config import from_run_config
from fedbn.federation.settings import Experiment
from fedbn.graphs.dag import DAG
from fedbn.learners import LearnerSettings
from fedbn.networks.family_counts import Family, FamilyTables
from simulations.benchmarks.sites.deployed_site import ANSWERED, DeployedSite, task, word
from simulations.run import run_experiment
from simulations.sites import client_app as sites

SCHEMA = Schema.categorical({name: ["0", "1"] for name in "ab"})
OPEN = "counts = true\nhistograms = true\nmin-cohort = 1\n"
PRIVATE = Experiment.of(
    schema="states.json", learner=LearnerSettings(learner="dp-ges", epsilon=0.5)
)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


def table(rows: int = 200) -> str:
    rng = np.random.default_rng(1)
    return "a,b\n" + "".join(f"{a},{b}\n" for a, b in rng.integers(0, 2, (rows, 2)).tolist())


def deployed(folder: Path, policy: str, top: str = "") -> DeployedSite:
    schema = "[schema]\na = ['0', '1']\nb = ['0', '1']\n"
    return DeployedSite(folder, table(), f"{top}{schema}[policy]\n{policy}")


def content(kind: str) -> RecordDict:
    """A well-formed message of a kind."""
    if kind == "query.histogram":
        return RecordDict({"question": ConfigRecord({"text": question_to_text(None)})})
    if kind == "query.report":
        return RecordDict({"report": ConfigRecord({"text": "nothing"})})
    if kind == "query":
        return RecordDict()
    found = task(SCHEMA)
    if kind == "query.counts":
        request = FamilyRequest(FamilyTables(SCHEMA, (Family(1, (0,)),)), with_own=False)
        arrays = request_to_arrays(request)
        found["families"] = ArrayRecord({key: Array(arrays[key]) for key in REQUESTS.keys})
    if kind in ("query.moments", "query.conditional"):
        dag = DAG.from_edges("ab", [("a", "b")])
        sent = to_arrays(StructureMessage(SCHEMA.hash, ("a", "b"), (dag,), (1.0,), "complete"))
        found["consensus"] = ArrayRecord({key: Array(array) for key, array in sent.items()})
    if kind in ("query.keys", "query.cut_keys"):
        found["task"]["run"] = "7"
    if kind in SUMS:
        found["sums"] = ConfigRecord({"request": b"{}"})
    return found


SUMS = {"train.sums", "query.cut_sums"}
HISTOGRAMS = {"query.histogram", "query.cut_keys", "query.cut_sums"}
EXACT = {"query.counts", "query.moments", "query.scatter", "query.conditional"}
STRUCTURES = {"train", "query.keys"}
COLUMNS = {"query", *STRUCTURES, *EXACT}

POLICIES: dict[str, tuple[str, Experiment, dict[str, set[str]]]] = {
    "open": (OPEN, Experiment(), {}),
    "default": ("", Experiment(), {"counts": EXACT, "histograms": HISTOGRAMS}),
    "min-rows": (
        OPEN + "min-rows = 201\n",
        Experiment(),
        {"min-rows": {*COLUMNS, "query.histogram"}},
    ),
    "variables": (
        OPEN + "variables = ['a']\n",
        Experiment(),
        {"variables": {*COLUMNS, "query.histogram"}},
    ),
    "kind": (
        OPEN + "kind = 'gaussian'\n",
        Experiment(),
        {"kind": {*COLUMNS, *HISTOGRAMS}},
    ),
    "secure-sums": (
        OPEN + "secure-sums = true\n",
        Experiment(),
        {
            "secure-sums": {"train", *EXACT},
            "min-cohort": {"query.keys", "query.cut_keys", *SUMS},
        },
    ),
    "max-epsilon": (
        OPEN + "max-epsilon = 9\n",
        Experiment(),
        {"max-epsilon": {*HISTOGRAMS, *EXACT, *STRUCTURES, "query"}},
    ),
    "a private run": (OPEN, PRIVATE, {"max-epsilon": {*HISTOGRAMS, *EXACT}}),
    "a private run beyond": (
        OPEN + "max-epsilon = 0.1\n",
        PRIVATE,
        {"max-epsilon": {*HISTOGRAMS, *EXACT, *STRUCTURES}},
    ),
    "another contract": (
        OPEN,
        Experiment.of(separator=";", contract=("0" * 64,)),
        {"contract": COLUMNS},
    ),
    "disclosure": (OPEN + "disclosure = 'pcornet'\n", Experiment(), {}),
    "schema-hash": (
        OPEN + f"schema-hash = '{'0' * 64}'\n",
        Experiment(),
        {"schema-hash": {*STRUCTURES, *EXACT}},
    ),
    "max-dags": (OPEN + "max-dags = 0\n", Experiment(), {"max-dags": STRUCTURES}),
    "max-messages": (
        OPEN + "max-messages = 0\n",
        Experiment(),
        {"max-messages": set(HANDLERS) - SUMS},
    ),
    "max-sums": (OPEN + "max-sums = 0\n", Experiment(), {"max-messages": SUMS}),
}
"""Name -> policy, run, and word -> kinds that are refused with it."""

OTHERWISE = {
    **dict.fromkeys(SUMS, "query"),  # before the key of the run
    "query.moments": "failed",  # of categories
    "query.scatter": "failed",
    "query.conditional": "failed",
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("kind", HANDLERS)
def test_every_kind_under_every_policy(tmp_path: Path, kind: str, name: str) -> None:
    policy, run, refused = POLICIES[name]
    said = word(deployed(tmp_path, policy).send(run, kind, content(kind)))
    words = [each for each, kinds in refused.items() if kind in kinds]
    if name == "disclosure" and kind == "query.moments":
        words = ["min-cell"]
    assert said == (words[0] if words else OTHERWISE.get(kind, ANSWERED))


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in ("open", "default")])
@pytest.mark.parametrize("kind", HANDLERS)
def test_no_cell_is_read_before_a_refusal(
    tmp_path: Path, kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, run, refused = POLICIES[name]
    early = {"max-dags": set(), "min-rows": COLUMNS, "variables": COLUMNS}
    for each, kinds in refused.items():
        if kind in kinds and kind in early.get(each, kinds):
            site = deployed(tmp_path, policy)

            def read(*_: object, **__: object) -> None:
                raise AssertionError("a cell is read")

            monkeypatch.setattr(requests, "rows_of", read)
            monkeypatch.setattr(prepared_table, "_read", read)
            assert word(site.send(run, kind, content(kind))) == each


def counting(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every reading of a run's settings from now on."""
    seen: list[object] = []

    def read(*arguments: Any, **values: Any) -> Experiment:
        seen.append(arguments)
        return from_run_config(*arguments, **values)

    for module in (requests, sites):
        monkeypatch.setattr(module, "from_run_config", read)
    return seen


@pytest.mark.parametrize("kind", HANDLERS)
def test_settings_are_read_once_a_message(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = deployed(tmp_path, OPEN)
    seen = counting(monkeypatch)
    site.send(Experiment(), kind, content(kind))
    assert len(seen) == 1


def test_a_table_is_read_once_a_contract_and_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyarrow import parquet

    files: list[str] = []
    open_file: Callable[..., Any] = parquet.ParquetFile

    def opening(path: Any, *more: Any, **options: Any) -> Any:
        files.append(str(path))
        return open_file(path, *more, **options)

    site = deployed(tmp_path, OPEN)
    site.table.write_text("it is not opened again")
    monkeypatch.setattr(parquet, "ParquetFile", opening)
    for kind in ("train", "query.counts", "train", "query"):
        assert word(site.send(Experiment(), kind, content(kind))) == ANSWERED
    assert len([file for file in files if file.endswith(".prepared.parquet")]) == 1


@pytest.mark.filterwarnings("ignore:.*hold the same rows")
def test_a_simulation_reads_each_table_once_and_its_settings_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times and 86 times, before there was one door."""
    files = []
    for name in ("north", "south", "west"):
        files.append(str(tmp_path / f"{name}.csv"))
        Path(files[-1]).write_text(table())
    opened: list[str] = []
    read_columns: Callable[..., Any] = tables.read_columns

    def reading(path: Any, *more: Any) -> Any:
        opened.append(str(path))
        return read_columns(path, *more)

    for module in (tables, site_table):
        monkeypatch.setattr(module, "read_columns", reading)
    seen = counting(monkeypatch)
    run = Experiment.of(sites=tuple(files), engine="in-process", parameters="federated")
    result = run_experiment(run).result
    assert len(result.replies) == 3
    assert sorted(opened) == sorted(files)
    assert len(seen) <= 12


def test_what_must_be_allowed_is_named_by_methods_that_there_are() -> None:
    """A mistyped name fails when the module is imported; a simulation's own method is called."""
    for handler in HANDLERS.values():
        for need in handler.needs:
            known = (getattr(of, need.__name__, None) for of in (Request, SitePolicy))
            assert any(each is need for each in known)
            assert need.__name__.startswith("require_")
