"""Cut points when a site's answers are wrong: before, one such site ended the run for all."""

from __future__ import annotations

import json
import logging
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message

from fedbn.data.quantiles import uncut_remarks
from fedbn.errors import ConfigError, QuorumError
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.wire.texts import canonical
from server.cut_points import find_cuts
from simulations.experiment import experiment_from
from simulations.in_process_grid import InProcessGrid
from simulations.run import run_experiment

PLAN = Experiment.of(discretise=("age:3",))
LIAR = 4
"""The third of three nodes, whose ids count from 2."""

AGES = np.random.default_rng(1).integers(17, 91, (3, 40))


def grid_of(folder: Path, lie: object) -> InProcessGrid:
    nodes = []
    for i, ages in enumerate(AGES):
        (folder / f"s{i}.csv").write_text("age,b\n" + "".join(f"{age},x\n" for age in ages))
        (folder / f"s{i}.toml").write_text("[policy]\nhistograms = true\nmin-state-rows = 0\n")
        nodes.append({"data-path": str(folder / f"s{i}.csv"), "policy": str(folder / f"s{i}.toml")})
    return InProcessGrid(to_run_config(PLAN), nodes, fault=lie)  # type: ignore[arg-type]


def expected(sites: int) -> tuple[float, ...]:
    cuts = np.quantile(AGES[:sites].ravel(), [1 / 3, 2 / 3], method="inverted_cdf")
    return tuple(cuts.tolist())


LIES = {
    "no object": lambda _: [],
    "another column": lambda found: {**found, "b": []},
    "a bucket not asked for": lambda found: {**found, "age": [[1 << 60, 1]]},
    "a count below 0": lambda found: {"age": [[b, -n] for b, n in found["age"]]},
    "nothing any more": lambda found: {"age": []},
    "one number more": lambda found: {
        "age": [[b, n + (k == 0)] for k, (b, n) in enumerate(found["age"])]
    },
}


@pytest.mark.parametrize("case", LIES)
@pytest.mark.parametrize("at", [2, 3])
def test_a_site_whose_counts_are_wrong_has_no_say_in_the_cuts(
    case: str, at: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The first `at` answers of the site are right: its kinds of columns, and a round or two."""
    asked = 0

    def lie(node: int, reply: Message) -> Message:
        nonlocal asked
        if node == LIAR and reply.has_content() and "histogram" in reply.content:
            asked += 1
            record = reply.content["histogram"]
            assert isinstance(record, ConfigRecord)
            if asked > at:
                found = json.loads(str(record["text"]))
                text = canonical({**found, "columns": LIES[case](found["columns"])})
                reply.content["histogram"] = ConfigRecord({"text": text})
        return reply

    with grid_of(tmp_path, lie) as grid, caplog.at_level(logging.WARNING):
        found = find_cuts(grid, grid.get_node_ids(), PLAN)
    assert found == {"age": expected(2)}
    assert asked == at + 1
    assert f"no histogram: node {LIAR}: " in caplog.text


def test_without_a_lie_all_sites_count(tmp_path: Path) -> None:
    with grid_of(tmp_path, None) as grid:
        assert find_cuts(grid, grid.get_node_ids(), PLAN) == {"age": expected(3)}


def test_a_site_that_falls_silent_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked = 0

    def fall_silent(node: int, reply: Message) -> Message | None:
        nonlocal asked
        asked += node == LIAR
        return None if node == LIAR and asked > 2 else reply

    with grid_of(tmp_path, fall_silent) as grid, caplog.at_level(logging.WARNING):
        assert find_cuts(grid, grid.get_node_ids(), PLAN) == {"age": expected(2)}
    assert f"no histogram: node {LIAR}: no reply" in caplog.text


@pytest.mark.parametrize(
    "plan",
    [
        PLAN.change(discretise=("3",), cuts=("age=40,60",)),
        PLAN.change(discretise=("3",), cuts=("age=40,60",), variables="union"),
    ],
)
def test_where_all_cuts_are_given_there_is_nothing_to_find(
    plan: Experiment, tmp_path: Path
) -> None:
    """Nor where no column holds numbers; that ended the run, as nobody had to be asked."""
    with grid_of(tmp_path, None) as grid:
        assert find_cuts(grid, grid.get_node_ids(), plan) == {}


def test_nobody_is_left(tmp_path: Path) -> None:
    def lie(node: int, reply: Message) -> Message:
        reply.content["histogram"] = ConfigRecord({"text": "{"})
        return reply

    with grid_of(tmp_path, lie) as grid, pytest.raises(QuorumError, match="none answered"):
        find_cuts(grid, grid.get_node_ids(), PLAN)


def test_columns_that_are_not_cut_are_told() -> None:
    kinds = {"north": {"age": True, "bmi": False}, "south": {}, "west": {"age": False}}
    said = ["column 'age' is not cut: at south it does not hold numbers only"]
    assert uncut_remarks((4, {}), kinds, ()) == said
    assert uncut_remarks((4, {}), kinds, ("age",)) == []
    assert uncut_remarks((None, {"age": 4}), kinds, ()) == []
    many = {"north": dict.fromkeys((f"v{i}" for i in range(12)), True), "south": {}, "west": {}}
    lines = uncut_remarks((4, {}), many, ())
    assert len(lines) == 9
    assert lines[0].endswith("at south and 1 more it does not hold numbers only")
    assert lines[-1] == "not cut for the same reason: 4 more columns"


def test_one_site_that_claims_a_million_rows_does_not_move_all_cuts(tmp_path: Path) -> None:
    """Its answers are consistent in all rounds; all its numbers are one, beyond the others."""

    def claim(node: int, reply: Message) -> Message:
        if node == LIAR and reply.has_content() and "histogram" in reply.content:
            told = json.loads(str(reply.content["histogram"]["text"]))
            if isinstance(told.get("age"), list):
                first = told["age"][-1:]
                claimed = [[bucket, 10**6] for bucket, _ in first]
                reply.content["histogram"] = ConfigRecord({"text": json.dumps({"age": claimed})})
        return reply

    with grid_of(tmp_path, claim) as grid:
        found = find_cuts(grid, grid.get_node_ids(), PLAN)["age"]
    honest = np.sort(AGES[:2].ravel())
    assert len(found) > 0
    assert honest[0] < found[0] < honest[-1]


COLUMNS = {"s0": ("age",), "s1": ("age", "height"), "s2": ("height",)}


def tables_with_different_columns(folder: Path) -> dict[str, dict[str, list[float]]]:
    """Site -> column -> its numbers. Each has `b`, too."""
    rng, made = np.random.default_rng(4), dict[str, dict[str, list[float]]]()
    for name, columns in COLUMNS.items():
        made[name] = {column: rng.integers(17, 91, 60).tolist() for column in columns}
        rows = zip(*made[name].values(), "xy" * 30, strict=True)
        text = ",".join((*made[name], "b")) + "\n"
        (folder / f"{name}.csv").write_text(
            text + "".join(",".join(map(str, row)) + "\n" for row in rows)
        )
        (folder / f"{name}.toml").write_text("[policy]\nhistograms = true\nmin-state-rows = 0\n")
    return made


def cuts_of(made: dict[str, dict[str, list[float]]], column: str) -> tuple[float, ...]:
    numbers = [value for own in made.values() for value in own.get(column, [])]
    return tuple(np.quantile(numbers, [1 / 3, 2 / 3], method="inverted_cdf").tolist())


def test_a_column_is_cut_over_the_sites_that_have_it(tmp_path: Path) -> None:
    """At deployed sites, each asked for its own columns alone, as in a simulation."""
    made = tables_with_different_columns(tmp_path)
    plan = Experiment.of(discretise=("3",), variables="union")
    asked: list[tuple[int, set[str]]] = []

    def watch(node: int, reply: Message) -> Message:
        if reply.has_content() and "histogram" in reply.content:
            told = json.loads(str(reply.content["histogram"]["text"]))
            asked.append((node, set(told["columns"])))
        return reply

    nodes = [
        {"data-path": str(tmp_path / f"{name}.csv"), "policy": str(tmp_path / f"{name}.toml")}
        for name in made
    ]
    grid = InProcessGrid(to_run_config(plan), nodes, fault=watch)
    cuts = find_cuts(grid, [2, 3, 4], plan)
    assert cuts == {name: cuts_of(made, name) for name in ("age", "height")}
    assert len(asked) == 3 * 4  # with that for the kinds
    assert all(own == set(made[f"s{node - 2}"]) for node, own in asked)
    with pytest.raises(ConfigError, match="there must be a column 'weight'"):
        find_cuts(grid, [2, 3, 4], plan.change(discretise=("weight:3",)))
    named = find_cuts(grid, [2, 3, 4], plan.change(discretise=("height:3",)))
    assert named == {"height": cuts["height"]}


def test_a_column_is_not_cut_where_all_sites_that_have_it_drop_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The others have their cuts all the same."""
    made, asked = tables_with_different_columns(tmp_path), Counter[int]()
    plan = Experiment.of(discretise=("3",), variables="union")

    def fall_silent(node: int, reply: Message) -> Message | None:
        asked[node] += 1
        return None if node != 2 and asked[node] > 2 else reply

    nodes = [
        {"data-path": str(tmp_path / f"{name}.csv"), "policy": str(tmp_path / f"{name}.toml")}
        for name in made
    ]
    with InProcessGrid(to_run_config(plan), nodes, fault=fall_silent) as grid:
        cuts = find_cuts(grid, [2, 3, 4], plan)
    assert cuts == {"age": cuts_of({"s0": made["s0"]}, "age")}
    assert "column 'height' is not cut: every site that has it dropped out" in caplog.text


@pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")
def test_a_simulation_cuts_the_same(tmp_path: Path) -> None:
    made = tables_with_different_columns(tmp_path)
    sites = [str(tmp_path / f"{name}.csv") for name in made]
    wanted = {"sites": sites, "discretise": ["3"], "engine": "in-process"}
    schema = run_experiment(experiment_from({**wanted, "variables": "union"})).result.schema
    assert schema.cuts == {name: cuts_of(made, name) for name in ("age", "height")}
    assert schema.names == ("age", "b", "height")
