"""A search for subtractions: do two answers of a site that counts differ by one row of its table?

A site with `counts = true` and a smallest cell answers one question. Then its table changes in one
row (one cell of it is another, it is gone, or it is new), its contract may read every column in
another way (states, an interval, a number, not at all), and it answers another question: counts,
moments, sums of products, or structures with diagnostics. Two sites without a memory tell what
either answer would have been of the other table. Where both answers depend on the row and both were
given, whoever has them can subtract: all ways to read a column part its values alike.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Message

from fedbn.data.schema import Schema, Variable
from fedbn.federation.family_message import FamilyRequest
from fedbn.federation.settings import Experiment
from fedbn.learners import LearnerSettings
from fedbn.networks.family_counts import Family, FamilyTables
from simulations.benchmarks.sites.deployed_site import (
    ANSWERED,
    DeployedSite,
    any_dag,
    arrays_of,
    dag_record,
    task,
    word,
)

ROWS, LEAST = 120, 10
SCORES = {"categorical": "bdeu", "mixed": "mixed-bic", "gaussian": "bge"}
READINGS = (
    (Variable.cut("age", [60.0]), Variable("age")),
    (Variable("stage", ("1", "2", "3")), Variable.cut("stage", [1.5, 2.5]), Variable("stage")),
    (Variable("yes", ("0", "1")), Variable.cut("yes", [0.5]), Variable("yes")),
)
FILE = f"""name = "north"
schema = "schema.json"
[policy]
counts = true
diagnostics = true
min-cell = {LEAST}
min-state-rows = 0
"""

Row = tuple[float, int, int]


@dataclass(frozen=True)
class Question:
    """What is asked under a contract.

    Attributes
    ----------
    schema : of the contract.
    kind : of the message.
    seed : of the family, or of the DAG, that it is about.
    """

    schema: Schema
    kind: str
    seed: int

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Question:
        """Any columns, read in any way, and a question that they can be asked."""
        lacking = int(rng.integers(-2, len(READINGS)))
        chosen = [
            readings[int(rng.integers(len(readings)))]
            for place, readings in enumerate(READINGS)
            if place != lacking
        ]
        schema = Schema(tuple(chosen))
        kinds = {
            "categorical": ["query.counts", "query.counts", "train"],
            "mixed": ["query.scatter", "query.conditional"],
            "gaussian": ["query.scatter", "query.moments"],
        }[schema.kind]
        return cls(schema, kinds[int(rng.integers(len(kinds)))], int(rng.integers(2**32)))

    def ask(self, site: DeployedSite) -> tuple[str, Any]:
        """The site's word, and what it tells beside structures."""
        score = LearnerSettings(score=SCORES[self.schema.kind])
        run = Experiment.of(learner=score, share_diagnostics=True)
        rng = np.random.default_rng(self.seed)
        if self.kind == "query.counts":
            node = int(rng.integers(self.schema.n))
            parents = tuple(k for k in range(self.schema.n) if k != node and rng.random() < 0.4)
            tables = FamilyTables(self.schema, (Family(node, parents),))
            answer, said = site.counts(run, FamilyRequest(tables, with_own=False))
            return said, None if answer is None else answer.counts.cells.tolist()
        content = task(self.schema)
        if self.kind == "query.moments":
            content["consensus"] = any_dag(self.schema, rng)
        if self.kind == "query.conditional":
            content["consensus"] = numbers_last(self.schema, rng)
        reply = site.send(run, self.kind, content)
        return word(reply), _numbers_of(reply)


def numbers_last(schema: Schema, rng: np.random.Generator) -> ArrayRecord:
    """A consensus in which no category has a number as parent."""
    order = sorted(schema.variables, key=lambda variable: variable.states is None)
    arcs = [
        (order[i].name, order[j].name)
        for j in range(schema.n)
        for i in range(j)
        if rng.random() < 0.5
    ]
    return dag_record(schema, arcs)


def _numbers_of(reply: Message) -> Any:
    """The numbers of a reply; of diagnostics those that no clock makes."""
    if reply.has_error():
        return None
    found: list[Any] = []
    for name, record in sorted(reply.content.items()):
        if name == "diagnostics":
            found += [(key, record[key]) for key in sorted(record) if key.startswith("rows")]
        elif isinstance(record, ArrayRecord) and name != "structures":
            arrays = arrays_of(reply, name)
            found += [(key, arrays[key].tolist()) for key in sorted(arrays)]
    return found


def _draw_rows(rng: np.random.Generator) -> list[Row]:
    ages, stages = rng.normal(60, 10, ROWS).round(3), rng.integers(1, 4, ROWS)
    states = rng.integers(0, 2, ROWS)
    return list(zip(ages.tolist(), stages.tolist(), states.tolist(), strict=True))


def _change(rows: list[Row], rng: np.random.Generator) -> list[Row]:
    """The table with one cell changed, without a row, or with one more."""
    place, how = int(rng.integers(len(rows))), rng.random()
    if how < 0.25:
        return [*rows[:place], *rows[place + 1 :]]
    if how < 0.5:
        return [*rows, rows[place]]
    age, stage, state = rows[place]
    changed = [
        (120 - age, stage, state),
        (age, stage % 3 + 1, state),
        (age, stage, 1 - state),
    ][int(rng.integers(3))]
    return [*rows[:place], changed, *rows[place + 1 :]]


def _sites(folder: Path) -> Iterator[DeployedSite]:
    """Sites without a memory, each in a folder of its own."""
    for number in count():
        own = folder / f"site{number}"
        own.mkdir()
        yield _write(
            own, Schema(tuple(first for first, *_ in READINGS)), [(50.0, 1, 0), (70.0, 2, 1)]
        )


def _write(folder: Path, schema: Schema, rows: list[Row]) -> DeployedSite:
    (folder / "schema.json").write_text(json.dumps(schema.to_dict()))
    lines = [",".join(map(str, row)) for row in rows]
    return DeployedSite(folder, "\n".join(["age,stage,yes", *lines, ""]), FILE)


def _hear(site: DeployedSite, question: Question, rows: list[Row]) -> tuple[str, Any]:
    """What a site tells of a table under a contract that reads it as the question is."""
    now = _write(site.table.parent, question.schema, rows)
    now.prepare(confirmed=True)
    return question.ask(now)


def subtract(
    folder: Path, pairs: int, seed: int
) -> tuple[Counter[tuple[str, str, str]], list[str]]:
    """(kind of the first question, of the second, its word) -> pairs; and what can be subtracted.

    Parameters
    ----------
    folder : an empty one.
    pairs : of questions.
    seed : of tables and questions.
    """
    rng, sites = np.random.default_rng(seed), _sites(folder)
    heard: Counter[tuple[str, str, str]] = Counter()
    found = []
    for pair in range(pairs):
        before = _draw_rows(rng)
        after = _change(before, rng)
        first, second = Question.draw(rng), Question.draw(rng)
        site, one, other = (next(sites) for _ in range(3))
        said, told = _hear(site, first, before)
        if said != ANSWERED:
            heard[first.kind, "", said] += 1
            continue
        said, told_then = _hear(site, second, after)
        heard[first.kind, second.kind, said if told_then != [] else "no rows"] += 1
        if said != ANSWERED or told_then == []:
            continue
        depends = _hear(one, first, after)[1] != told
        if depends and _hear(other, second, before)[1] != told_then:
            found.append(f"pair {pair}: {first} tells {told}, {second} {told_then}")
    return heard, found
