"""One good file of every kind that fedbn reads, and its reader."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from fedbn.credible.pruning import listed_candidates, read_scores, write_scores
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.data.tables import read_dataset, read_schema, write_schema, write_table
from fedbn.federation.checkpoint import Checkpoint, checkpoint_text, read_checkpoint
from fedbn.federation.disclosure import Disclosure
from fedbn.federation.disclosure_log import append, read_log
from fedbn.federation.rounds import server_round
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import ConsensusSettings, Experiment
from fedbn.federation.site_file import read_site_file
from fedbn.federation.state import ClientReply, FederationResult, ServerState
from fedbn.graphs.dag import DAG
from fedbn.graphs.files import read_structures
from fedbn.graphs.knowledge import read_knowledge
from fedbn.graphs.writing import write_structure
from fedbn.networks.bif import write_bif
from fedbn.networks.catalog import load_network
from fedbn.networks.json_file import (
    network_to_json,
    read_text,
    weighted_from_json,
    weighted_to_json,
)
from fedbn.networks.network import BayesianNetwork
from fedbn.privacy.guarantee import Guarantee
from fedbn.privacy.ledger import Ledger, reserve
from fedbn.results.outcome import Outcome
from fedbn.results.page.files import CONTENT_FILE, write_report
from fedbn.results.report import write_results
from fedbn.scores import make_score
from fedbn.search.families.parent_sets import parent_sets
from fedbn.secure.past_cohorts import read_cohorts
from simulations.commands.query import read_cases
from simulations.experiment import experiment_from
from simulations.run import run_experiment

SCHEMA = Schema.categorical({name: ["0", "1"] for name in "abcd"})
DIAMOND = DAG.from_edges("abcd", [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
CHAIN = DAG.from_edges("abcd", [("a", "b"), ("b", "c"), ("c", "d")])

RUN = """
network = "asia"
clients = 3
rows = 40
learner = "xges0"
leave-out = ["b"]
"""

SITE = """
name = "north"
leave-out = ["id"]
[policy]
min-rows = 5
variables = ["a"]
weights = "exact"
[offers]
ess = [1, 2.5]
[columns]
x = "a"
[states.a]
ja = "1"
"""


def _read_state(path: Path) -> object:
    try:
        return read_checkpoint(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError:
        return None  # the commands say so before they look


def _read_stale_state(path: Path) -> object:
    """The state without its digest: everything in it has to be checked by itself."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        content.pop("sha256", None)
    except (ValueError, AttributeError, RecursionError):
        return None
    return read_checkpoint(json.dumps(content), str(path))


def _read_report(path: Path) -> object:
    """The page of a results folder that has this content, and the page for the public."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / CONTENT_FILE).write_bytes(path.read_bytes())
        return [write_report(folder, public=public) for public in (False, True)]


FILES: Mapping[str, Callable[[Path], object]] = {
    "state.json": _read_state,
    "stale.json": _read_stale_state,
    "schema.json": read_schema,
    "structure.json": read_structures,
    "structure.csv": read_structures,
    "structure.graphml": read_structures,
    "structure.dot": read_structures,
    "structure.bif": read_structures,
    "structure.json.gz": read_structures,
    "several.txt": read_structures,
    "table.csv": lambda path: read_dataset(path, "categorical"),
    "table.csv.gz": lambda path: read_dataset(path, "categorical"),
    "table.parquet": lambda path: read_dataset(path, "categorical"),
    "site.toml": read_site_file,
    "knowledge.json": read_knowledge,
    "knowledge.toml": read_knowledge,
    "run.toml": lambda path: experiment_from({}, config=path),
    "cases.csv": lambda path: list(read_cases(path, {})),
    "scores.txt": lambda path: listed_candidates(read_scores(path)),
    "report.json": _read_report,
    "average.json": lambda path: weighted_from_json(read_text(path), str(path)),
    "network.bif.gz": lambda path: load_network(str(path)),
    "network.bif": lambda path: load_network(str(path)),
    "network.json": lambda path: load_network(str(path)),
    "log.jsonl": read_log,
    "ledger.jsonl": Ledger.read,
    "cohorts.jsonl": read_cohorts,
}
"""Kind -> its reader."""


def make_files(folder: Path) -> dict[str, Path]:
    """A good file of every kind, in the folder."""
    paths = {kind: folder / kind for kind in FILES}
    _write_state(paths["state.json"])
    paths["stale.json"].write_bytes(paths["state.json"].read_bytes())
    write_schema(SCHEMA, paths["schema.json"])
    for suffix in ("json", "csv", "graphml", "dot"):
        write_structure(DIAMOND, paths[f"structure.{suffix}"])
    packed = gzip.compress(paths["structure.json"].read_bytes(), mtime=0)
    paths["structure.json.gz"].write_bytes(packed)
    paths["several.txt"].write_text("nodes a,b,c\ndag one\na,b\nb,c\ndag two\nc,a\n")
    rows = np.random.default_rng(1).integers(0, 2, size=(30, 4))
    for kind in ("table.csv", "table.csv.gz", "table.parquet"):
        write_table(Dataset(SCHEMA, rows), paths[kind])
    paths["site.toml"].write_text(SITE)
    paths["knowledge.json"].write_text('{"required": [["a", "b"]], "tiers": [["a"], ["b", "c"]]}')
    paths["knowledge.toml"].write_text('forbidden = [["b", "a"]]\ntiers = [["a"], ["b"]]\n')
    network = load_network("asia")
    assert isinstance(network, BayesianNetwork)
    paths["network.json"].write_text(network_to_json(network))
    write_bif(network, paths["network.bif"])
    paths["network.bif.gz"].write_bytes(gzip.compress(paths["network.bif"].read_bytes(), mtime=0))
    paths["average.json"].write_text(weighted_to_json([network, network], [0.25, 0.75]))
    paths["structure.bif"].write_bytes(paths["network.bif"].read_bytes())
    paths["run.toml"].write_text(RUN)
    paths["cases.csv"].write_text("asia,smoke\nyes,\nno,yes\n")
    _write_scores(paths["scores.txt"])
    _write_report(paths["report.json"])
    _write_logs(paths)
    return paths


def _write_state(path: Path) -> None:
    replies = [
        ClientReply(name, (dag,), (1.0,), "complete", rows=30, seconds=0.5)
        for name, dag in (("east", DIAMOND), ("north", CHAIN), ("south", DIAMOND))
    ]
    state = server_round(ServerState(SCHEMA, 3), replies, [], ConsensusSettings())
    path.write_text(
        checkpoint_text(Checkpoint(to_run_config(Experiment()), state)), encoding="utf-8"
    )


def _write_scores(path: Path) -> None:
    rows = np.random.default_rng(2).integers(0, 2, size=(60, 4))
    families = parent_sets(make_score("bdeu", Dataset(SCHEMA, rows), ess=1.0)).families
    write_scores(families, path)


def _write_report(path: Path) -> None:
    """The report of a run, as its results folder has it."""
    experiment = Experiment.of(network="asia", clients=3, rows=40, engine="in-process")
    with tempfile.TemporaryDirectory() as name:
        result = run_experiment(experiment).result
        assert isinstance(result, FederationResult)  # an open run
        write_results(Outcome.of_federation(result), Path(name) / "out", run={}, figures=False)
        path.write_bytes((Path(name) / "out" / CONTENT_FILE).read_bytes())


def _write_logs(paths: Mapping[str, Path]) -> None:
    noon = datetime(2026, 5, 4, 12, tzinfo=UTC)
    for number in range(3):
        content = {"schema": {"text": b"{}"}}
        words = f"entry {number}"
        append(
            paths["log.jsonl"],
            Disclosure.of(content, noon, run="7", round=number, kind="query", words=words),
        )
        reserve(
            paths["ledger.jsonl"],
            Guarantee(1, 1e-6),
            run=str(number),
            round=1,
            table="ab",
            mechanism="dp-ges",
            parameters={},
        )
    line = {"time": noon.isoformat(), "run": "7", "roster": ["east", "north", "south"]}
    paths["cohorts.jsonl"].write_text(f"{json.dumps(line)}\n")
