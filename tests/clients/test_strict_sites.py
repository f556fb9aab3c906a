"""A search for differences: what a strict site answers does not depend on one row of its table.

Except for the structures that `train` may send, and the keys and masks that are drawn anew.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict

from fedbn.data.dataset import Schema, Variable
from fedbn.data.quantiles import Question
from fedbn.federation.family_message import REQUESTS, FamilyRequest, request_to_arrays
from fedbn.federation.histogram_message import question_to_text
from fedbn.federation.message import StructureMessage, to_arrays
from fedbn.federation.new_site import site_text
from fedbn.federation.prepared_table import renew
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import read_site_file
from fedbn.graphs.dag import DAG
from fedbn.learners import LearnerSettings
from fedbn.networks.family_counts import Family, FamilyTables
from tests.clients.deployed import DeployedSite, task, word

PAIRS, MESSAGES = 200, 3
ROWS = 120
SCHEMA = Schema((Variable.cut("age", [40.0]), *(Variable(n, ("0", "1", "2")) for n in "bc")))

RUNS = [
    Experiment(),
    Experiment.of(skip_lines=1),
    Experiment.of(header="no"),
    Experiment.of(separator=";"),
    Experiment.of(missing=("1",), missing_cells="drop-rows"),
    Experiment.of(missing_cells="state"),
    Experiment.of(leave_out=("b",)),
    Experiment.of(leave_out_identifiers=True),
    Experiment.of(columns=("age", "b")),
    Experiment.of(cuts=("age=41",)),
    Experiment.of(discretise=("age:3",)),
    Experiment.of(share_diagnostics=True),
    Experiment.of(learner=LearnerSettings(score="bge")),
    Experiment.of(learner=LearnerSettings(ess=2.0)),
    Experiment.of(learner=LearnerSettings(learner="credible")),
    Experiment.of(schema="s.json", learner=LearnerSettings(learner="dp-ges", epsilon=5.0)),
    Experiment.of(contract=("0" * 64,)),
    Experiment.of(aggregation="moral-votes"),
]


def schemas(rng: np.random.Generator) -> Schema:
    """The agreed schema, or one with another cut point, state or column."""
    changed = [
        SCHEMA,
        SCHEMA,
        Schema((Variable.cut("age", [41.0]), *SCHEMA.variables[1:])),
        Schema((*SCHEMA.variables[:2], Variable("c", ("0", "1")))),
        Schema(SCHEMA.variables[:2]),
    ]
    return changed[int(rng.integers(len(changed)))]


def message(rng: np.random.Generator) -> tuple[str, RecordDict]:
    """A well-formed message of a kind."""
    schema = schemas(rng)
    n = schema.n
    kind = str(
        rng.choice(["query", "query.histogram", "query.report", "query.counts", "query.moments",
                    "train", "query.keys", "train.sums"])
    )  # fmt: skip
    content = task(schema, int(rng.integers(1, 3)))
    if kind == "query" and rng.random() < 0.5:
        content = RecordDict()
    if kind == "query.histogram":
        number = int(rng.integers(0, 4))
        bucket = int(rng.integers(0, 2)) if number > 1 else 0
        buckets = {str(rng.choice(["age", "b", "record"])): (bucket,)}
        question = Question(number, buckets) if number else None
        content["question"] = ConfigRecord({"text": question_to_text(question)})
    if kind == "query.report":
        content["report"] = ConfigRecord({"text": "nothing"})
    if kind == "query.counts":
        node = int(rng.integers(n))
        parents = tuple(k for k in range(n) if k != node and rng.random() < 0.5)
        tables = FamilyTables(schema, (Family(node, parents),))
        arrays = request_to_arrays(FamilyRequest(tables, with_own=bool(rng.integers(2))))
        content["families"] = ArrayRecord({key: Array(arrays[key]) for key in REQUESTS.keys})
    if kind == "query.moments" or rng.random() < 0.2:
        dag = DAG.empty(schema.names)
        sent = to_arrays(StructureMessage(schema.hash, schema.names, (dag,), (1.0,), "complete"))
        content["consensus"] = ArrayRecord({key: Array(array) for key, array in sent.items()})
    if kind in ("query.keys", "train.sums") and "task" in content:
        content["task"]["run"] = "7"
    if kind == "train.sums":
        content["sums"] = ConfigRecord({"request": b"{}"})
    return kind, content


def told(reply: Message) -> tuple[Any, ...]:
    """All that is in a reply but structures and keys."""
    if reply.has_error():
        return (word(reply),)
    drawn = {"structures", "keys", "sums"}
    return tuple(
        (name, key, getattr(value, "data", value))
        for name, record in sorted(reply.content.items())
        for key, value in sorted(record.items())
        if name not in drawn
    )


def rows(rng: np.random.Generator) -> list[str]:
    states = rng.integers(0, 3, (ROWS, 2))
    ages = rng.integers(20, 80, ROWS)
    return [f"{1000 + k},{ages[k]},{b},{c}" for k, (b, c) in enumerate(states)]


def neighbours(rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Two tables that differ in one row: changed, or gone."""
    first = rows(rng)
    place = int(rng.integers(ROWS))
    if rng.random() < 0.3:
        return first, [*first[:place], *first[place + 1 :]]
    return first, [*first[:place], rows(rng)[place], *first[place + 1 :]]


@pytest.fixture
def both(tmp_path: Path) -> Iterator[list[DeployedSite]]:
    """Two sites with one strict file."""
    sites = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        table = tmp_path / name / "north.csv"
        table.write_text("record,age,b,c\n" + "\n".join(rows(np.random.default_rng(0))) + "\n")
        text = site_text(table, name="north", schema=SCHEMA)
        text = text.replace("max-messages = 50", "max-messages = 100000")
        text = text.replace("max-messages-a-day = 100 ", "max-messages-a-day = 100000 ")
        sites.append(DeployedSite(tmp_path / name, table.read_text(), text))
    assert [site.refusal for site in sites] == ["", ""]
    logging.disable(logging.ERROR)
    yield sites
    logging.disable(logging.NOTSET)


@pytest.mark.slow
def test_no_answer_of_a_strict_site_depends_on_a_row(both: list[DeployedSite]) -> None:
    rng = np.random.default_rng(30)
    words: dict[str, int] = {}
    for _ in range(PAIRS):
        for site, lines in zip(both, neighbours(rng), strict=True):
            site.table.write_text("record,age,b,c\n" + "\n".join(lines) + "\n")
            renew(site.table, read_site_file(site.file), confirmed=True)
        for _ in range(MESSAGES):
            kind, content = message(rng)
            run = RUNS[int(rng.integers(len(RUNS)))] if rng.random() < 0.5 else RUNS[0]
            one, other = (site.send(run, kind, content) for site in both)
            assert told(one) == told(other), (kind, run)
            words[word(one)] = words.get(word(one), 0) + 1
    assert words["answered"] > PAIRS * MESSAGES / 10
    assert {"contract", "offers", "counts", "histograms", "query"} <= set(words)
