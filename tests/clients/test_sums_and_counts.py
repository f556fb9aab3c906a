"""Counts, moments and sums of products under two contracts: no two answers differ by few people."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fedbn.data.schema import Schema, Variable
from fedbn.federation.counted import counted_beside
from fedbn.federation.disclosure_log import log_beside
from fedbn.federation.family_message import FamilyRequest
from fedbn.federation.settings import Experiment
from fedbn.learners import LearnerSettings
from fedbn.networks.family_counts import Family, FamilyTables
from fedbn.privacy.told_counts import ToldCounts
from simulations.benchmarks.sites.deployed_site import (
    ANSWERED,
    DeployedSite,
    any_dag,
    task,
    word,
)
from simulations.benchmarks.sites.subtractions import subtract

CATEGORIES = Schema((Variable.cut("age", [60.0]), Variable("yes", ("0", "1"))))
CUT = Schema((Variable.cut("age", [60.0]), Variable.cut("yes", [0.5])))
MIXED = Schema((Variable("age"), Variable("yes", ("0", "1"))))
NUMBERS = Schema((Variable("age"), Variable("yes")))
FILE = """schema = "schema.json"
[policy]
counts = true
min-cell = {least}
min-state-rows = 0
"""

Ask = Callable[[DeployedSite], str]


def lines(yes: int = 52, rows: int = 100) -> list[str]:
    rng = np.random.default_rng(3)
    ages = rng.normal(60, 10, rows)
    states = rng.permutation(np.arange(rows) < yes).astype(int)
    return [f"{age:.3f},{state}" for age, state in zip(ages, states, strict=True)]


def new_rows(yes: int, no: int) -> list[str]:
    """Half of them older than 60."""
    return [f"{45.5 + 30 * (k % 2)},{int(k < yes)}" for k in range(yes + no)]


def text(rows: list[str]) -> str:
    return "\n".join(["age,yes", *rows, ""])


def site_in(folder: Path) -> DeployedSite:
    (folder / "schema.json").write_text(json.dumps(CATEGORIES.to_dict()))
    return DeployedSite(folder, text(FIRST), FILE.format(least=10))


def prepare(
    site: DeployedSite, schema: Schema, rows: list[str], *, least: int = 10, more: str = ""
) -> None:
    site.table.with_name("schema.json").write_text(json.dumps(schema.to_dict()))
    site.file.write_text(FILE.format(least=least) + more)
    site.table.write_text(text(rows))
    assert site.prepare(confirmed=True) == ""


def run_of(schema: Schema) -> Experiment:
    score = {"categorical": "bdeu", "mixed": "mixed-bic", "gaussian": "bge"}[schema.kind]
    return Experiment.of(learner=LearnerSettings(score=score))


def counts(site: DeployedSite, schema: Schema) -> str:
    wanted = FamilyRequest(FamilyTables(schema, (Family(0, ()), Family(1, ()))), with_own=False)
    return site.counts(run_of(schema), wanted)[1]


def moments(site: DeployedSite, schema: Schema) -> str:
    content = task(schema)
    content["consensus"] = any_dag(schema, np.random.default_rng(0))
    return word(site.send(run_of(schema), "query.moments", content))


def scatter(site: DeployedSite, schema: Schema) -> str:
    return word(site.send(run_of(schema), "query.scatter", task(schema)))


ANSWERS: dict[str, tuple[Schema, Callable[[DeployedSite, Schema], str]]] = {
    "counts": (CATEGORIES, counts),
    "counts of intervals": (CUT, counts),
    "scatter": (MIXED, scatter),
    "scatter of numbers": (NUMBERS, scatter),
    "moments": (NUMBERS, moments),
}
FIRST = lines()
PLACE = next(k for k, line in enumerate(FIRST) if line.endswith(",0"))
CHANGES = {
    "a row less": [*FIRST[:PLACE], *FIRST[PLACE + 1 :]],
    "a row more": [*FIRST, "61.5,1"],
    "another row": [*FIRST[:PLACE], "61.5,1", *FIRST[PLACE + 1 :]],
}


@pytest.mark.parametrize("first", ANSWERS)
def test_no_two_answers_differ_by_a_row(tmp_path: Path, first: str) -> None:
    """Of all pairs of answers, in either order, the second is refused, and leaves nothing behind
    that would stop the next."""
    site = site_in(tmp_path)
    schema, ask = ANSWERS[first]
    prepare(site, schema, FIRST)
    assert ask(site, schema) == ANSWERED
    assert ask(site, schema) == ANSWERED
    path = counted_beside(log_beside(site.table))
    told = path.read_bytes()
    for second, (other, ask_other) in ANSWERS.items():
        for change, rows in CHANGES.items():
            prepare(site, other, rows)
            assert ask_other(site, other) == "min-cell", (second, change)
            assert path.read_bytes() == told


@pytest.mark.parametrize("second", ANSWERS)
@pytest.mark.parametrize("first", ANSWERS)
def test_many_new_rows_of_which_one_has_a_state(tmp_path: Path, first: str, second: str) -> None:
    """Twenty new rows are enough by their number, but one of them alone is a yes."""
    site = site_in(tmp_path)
    schema, ask = ANSWERS[first]
    prepare(site, schema, FIRST)
    assert ask(site, schema) == ANSWERED
    schema, ask = ANSWERS[second]
    prepare(site, schema, [*FIRST, *new_rows(1, 19)])
    assert ask(site, schema) == "min-cell"
    prepare(site, schema, [*FIRST, *new_rows(30, 30)])
    assert ask(site, schema) == ANSWERED


@pytest.mark.parametrize("kind", ["scatter of numbers", "moments"])
def test_what_is_refused_is_not_taken_for_told(tmp_path: Path, kind: str) -> None:
    """A question that is refused in the end leaves no table behind that stops later ones."""
    site = site_in(tmp_path)
    prepare(site, CATEGORIES, FIRST)
    assert counts(site, CATEGORIES) == ANSWERED
    path = counted_beside(log_beside(site.table))
    before = path.read_bytes()
    prepare(site, NUMBERS, CHANGES["a row less"])
    assert ANSWERS[kind][1](site, NUMBERS) == "min-cell"
    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", ["scatter of numbers", "moments"])
@pytest.mark.parametrize("yes", [3, 97])
def test_a_number_of_two_values_of_which_one_is_rare(tmp_path: Path, kind: str, yes: int) -> None:
    site = site_in(tmp_path)
    prepare(site, NUMBERS, lines(yes=yes))
    assert ANSWERS[kind][1](site, NUMBERS) == "min-cell"


def with_costs(costs: list[float]) -> list[str]:
    return [f"{line.split(',')[0]},{cost}" for line, cost in zip(FIRST, costs, strict=True)]


@pytest.mark.parametrize("kind", ["scatter of numbers", "moments"])
def test_a_number_that_is_zero_for_nearly_all(tmp_path: Path, kind: str) -> None:
    """Costs of eleven different values; those who have some are few, or enough."""
    site = site_in(tmp_path)
    for some, least, expected in ((12, 13, "min-cell"), (12, 12, ANSWERED), (45, 46, "min-cell")):
        costs = [0.0] * (100 - some) + [1.5 * k + 7 for k in range(some)]
        prepare(site, NUMBERS, with_costs(costs), least=least)
        counted_beside(log_beside(site.table)).unlink(missing_ok=True)
        assert ANSWERS[kind][1](site, NUMBERS) == expected


def test_a_number_that_is_zero_for_nearly_all_with_a_state(tmp_path: Path) -> None:
    """Who says no has no costs, but for one; over all rows, fewer than half have none."""
    site = site_in(tmp_path)
    schema = Schema((Variable("age"), Variable("yes", ("0", "1"))))
    for spared, expected in ((1, "min-cell"), (0, ANSWERED), (12, ANSWERED)):
        rows, left = [], spared
        for k, line in enumerate(lines(yes=60)):
            own = line.split(",")[1]
            cost = 0.0 if own == "0" and left == 0 else 20.25 + k
            left -= own == "0" and left > 0
            rows.append(f"{cost},{own}")
        prepare(site, schema, rows)
        counted_beside(log_beside(site.table)).unlink(missing_ok=True)
        assert scatter(site, schema) == expected


def rows_told(site: DeployedSite, schema: Schema) -> object:
    run = run_of(schema).change(share_diagnostics=True)
    return site.send(run, "train", task(schema)).content["diagnostics"].get("rows")


def test_rows_in_diagnostics_differ_by_no_few(tmp_path: Path) -> None:
    """A number of rows is an answer like all others: told first, or after another one."""
    site = site_in(tmp_path)
    for rows, expected in ((FIRST, 100), (CHANGES["a row more"], None), (FIRST, 100)):
        prepare(site, CATEGORIES, rows, more="diagnostics = true\n")
        assert rows_told(site, CATEGORIES) == expected
    prepare(site, CATEGORIES, CHANGES["a row less"])
    assert counts(site, CATEGORIES) == "min-cell"
    prepare(site, NUMBERS, CHANGES["another row"])
    assert moments(site, NUMBERS) == ANSWERED  # the same number of rows was all that was told
    prepare(site, CATEGORIES, [*FIRST, *new_rows(30, 30)], more="diagnostics = true\n")
    assert rows_told(site, CATEGORIES) == 160


@pytest.mark.slow
def test_a_search_finds_no_subtraction(tmp_path: Path) -> None:
    heard, found = subtract(tmp_path, pairs=20, seed=3)
    assert found == []
    assert {first for first, *_ in heard} == {
        "train",
        *(f"query.{kind}" for kind in ("counts", "moments", "scatter", "conditional")),
    }
    assert {"min-cell", ANSWERED} <= {said for *_, said in heard}


@pytest.mark.slow
def test_the_search_finds_some_where_nothing_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToldCounts, "differs_by_few", lambda *_: False)
    _, found = subtract(tmp_path, pairs=10, seed=3)
    told = " ".join(found)
    assert {kind for kind in ("counts", "moments", "scatter") if f"query.{kind}" in told} == {
        "counts",
        "moments",
        "scatter",
    }
