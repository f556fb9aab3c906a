"""The skeletons of CONTRIBUTING.md, run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.learners import LearnerSettings
from fedbn.scores import make_score

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def skeletons() -> dict[str, Any]:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        own: dict[str, Any] = {}
        exec(compile(block, "a skeleton", "exec", dont_inherit=True), own)
        names |= own
    return names


@pytest.fixture(scope="module")
def table() -> Dataset:
    schema = Schema.categorical({"a": "01", "b": "01"})
    return Dataset(schema, np.array([[0, 0], [1, 1], [1, 0]] * 10, dtype=np.int32))


def test_the_learner(skeletons: dict[str, Any], table: Dataset) -> None:
    found = skeletons["ENTRY"].run(table, LearnerSettings(), np.random.default_rng(0), None)
    score = make_score("bdeu", table)
    assert found.dags == (DAG.empty("ab"),)
    assert found.score == pytest.approx(score.local_score(0, []) + score.local_score(1, []))


def test_the_score(skeletons: dict[str, Any], table: Dataset) -> None:
    ours, bic, aic = (
        skeletons["hannan_quinn"](table)[0],
        make_score("bic", table),
        make_score("aic", table),
    )
    likelihood = aic.local_score(0, [1]) + 2
    assert bic.local_score(0, [1]) == pytest.approx(likelihood - np.log(30))
    assert ours.local_score(0, [1]) == pytest.approx(likelihood - 2 * np.log(np.log(30)))


def test_the_fusion(skeletons: dict[str, Any]) -> None:
    edge, empty = DAG.from_edges("ba", [("b", "a")]), DAG.empty("ab")
    assert skeletons["medoid"]([edge, edge, empty]) == edge.reorder("ab")
    assert skeletons["medoid"]([edge, edge, empty], [1, 1, 3]) == empty


def test_its_commands_are_targets() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    targets = re.findall(r"^make (\w+)", text, flags=re.MULTILINE)
    assert targets == ["check", "test", "docs", "core", "lock", "bom", "sanitize"]
    assert all(f"\n{target}:" in makefile for target in targets)
