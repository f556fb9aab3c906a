"""Given groups under secure sums whose sites have different columns: each group is a run of its own
sites over the columns that they have, in blocks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord

from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, QuorumError
from fedbn.federation.grouped_sums import GroupedSums
from fedbn.federation.run_config import to_run_config
from fedbn.federation.secure_rounds import statements
from fedbn.federation.settings import Experiment
from fedbn.groups.grouping import Grouping
from fedbn.secure.past_cohorts import read_cohorts
from fedbn.secure.session import Terms
from server.replies import task_record
from server.server_app import federate
from simulations.experiment import experiment_from
from simulations.in_process_grid import InProcessGrid
from simulations.run import ExperimentRun, run_experiment
from tests.clients.deployed import known_to_each_other, prepared_nodes
from tests.server.test_secure_columns import FEW, LABORATORY, RADIOLOGY, tables

pytestmark = pytest.mark.usefixtures("chosen_once")

LUNGS = ("asia", "bronc", "either", "lung", "smoke")
SITES = {
    **{f"a{k}": LABORATORY for k in range(3)},
    **{f"b{k}": RADIOLOGY for k in range(3)},
    **{f"c{k}": LUNGS for k in range(3)},
}
OF = {site: "west" if site[0] in "ab" else "east" for site in SITES}


def run_in(
    folder: Path, columns: dict[str, Sequence[str]], groups: dict[str, str], **options: Any
) -> ExperimentRun:
    """A run over tables of asia with these groups."""
    if not (folder / "groups.csv").exists():
        tables(folder, {site: tuple(own) for site, own in columns.items()})
    lines = ["site,group", *(f"{site},{group}" for site, group in groups.items())]
    (folder / "groups.csv").write_text("\n".join(lines) + "\n")
    wanted = {
        "sites": [str(folder / f"{site}.csv") for site in columns],
        "variables": "union",
        "groups-file": str(folder / "groups.csv"),
        "share-diagnostics": True,
        "engine": "in-process",
    }
    return run_experiment(experiment_from(wanted | options))


def require_parity(opened: ExperimentRun, summed: ExperimentRun) -> GroupedSums:
    """Each group has the consensus that it has in the open, and so have core and differences."""
    grouping, grouped = opened.grouping, summed.result
    assert isinstance(grouping, Grouping)
    assert isinstance(grouped, GroupedSums)
    assert [group.name for group in grouped.groups] == list(grouping.names)
    assert [dag.edges for dag in grouped.consensuses] == [d.edges for d in grouping.consensuses]
    assert [dag.names for dag in grouped.consensuses] == [d.names for d in grouping.consensuses]
    for number, group in enumerate(grouped.groups, start=1):
        assert group.result.clients == grouping.members(number)
        seen = {name for own in group.result.answered for name in own}
        assert set(group.result.schema.names) == seen
    assert grouped.core.dag.edges == grouping.core.dag.edges
    assert grouped.differences == grouping.differences
    assert grouped.lines()[2] == grouping.lines()[2]
    return grouped


def test_each_group_has_the_consensus_that_it_has_in_the_open(tmp_path: Path) -> None:
    opened = run_in(tmp_path, SITES, OF, parameters="federated")
    summed = run_in(tmp_path, SITES, OF, parameters="federated", aggregation="secure-sums")
    grouped = require_parity(opened, summed)
    west, east = grouped.groups
    assert set(grouped.schema.names) - set(east.result.schema.names) == {"dysp", "tub", "xray"}
    assert east.result.unknown == ()
    assert ("asia", "xray") in west.result.unknown
    assert "blocks of 3, 3 sites" in " ".join(statements(west.result))
    assert [group.network for group in grouped.groups] == list(opened.grouping.networks)


def random_federation(rng: np.random.Generator) -> tuple[dict[str, tuple[str, ...]], dict]:
    """Two or three groups of one or two blocks of three or four sites, whose columns are drawn."""
    names = ("asia", "bronc", "dysp", "either", "lung", "smoke", "tub", "xray")
    columns, groups = {}, {}
    for group in range(rng.integers(2, 4)):
        for block in range(rng.integers(1, 3)):
            own = tuple(sorted(rng.choice(names, rng.integers(3, 8), replace=False).tolist()))
            for k in range(rng.integers(3, 5)):
                site = f"g{group}b{block}s{k}"
                columns[site], groups[site] = own, f"group {group}"
    return columns, groups


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_federations_get_the_groups_of_the_open_run(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, groups = random_federation(rng)
    options: dict[str, Any] = {"min-judges": int(rng.integers(1, 4))}
    if seed % 2 == 0:
        known, names = tmp_path / "known.json", sorted(set().union(*columns.values()))
        a, b, c, d = rng.choice(names, 4, replace=False).tolist()
        known.write_text(json.dumps({"forbidden": [[a, b]], "required": [[b, c], [c, d]]}))
        options["knowledge"] = str(known)
    opened = run_in(tmp_path, columns, groups, **options)
    require_parity(opened, run_in(tmp_path, columns, groups, aggregation="secure-sums", **options))


@pytest.mark.slow
def test_flower_finds_the_same_groups(tmp_path: Path) -> None:
    masked = {"aggregation": "secure-sums", "choose": "counts", "parameters": "federated"}
    here = run_in(tmp_path, SITES, OF, **masked).result
    flower = run_in(tmp_path, SITES, OF, engine="flower", **masked).result
    opened = run_in(tmp_path, SITES, OF, choose="counts").grouping
    assert isinstance(here, GroupedSums)
    assert isinstance(flower, GroupedSums)
    assert [dag.edges for dag in flower.consensuses] == [dag.edges for dag in here.consensuses]
    assert [group.network for group in flower.groups] == [group.network for group in here.groups]
    assert [dag.edges for dag in here.consensuses] == [dag.edges for dag in opened.consensuses]


def test_moral_votes_have_groups_with_different_columns(tmp_path: Path) -> None:
    voted = run_in(tmp_path, SITES, OF, aggregation="moral-votes").result
    assert isinstance(voted, GroupedSums)
    assert voted.differences is None
    assert voted.consensuses[1].names == voted.schema.names


def test_a_group_that_makes_no_blocks_is_refused_before_any_sum(tmp_path: Path) -> None:
    """Two sites of one group have no columns in common with min-alike - 1 others."""
    apart = {site: "east" if site in ("b0", "c0", "c1", "c2") else "west" for site in SITES}
    with pytest.raises(ConfigError, match=r"group 'west': .*min-alike.*leave such sites out"):
        run_in(tmp_path, {**SITES, "b1": ("tub", "xray")}, apart, aggregation="secure-sums")
    two = {**OF, "c0": "west"}
    with pytest.raises(ConfigError, match=r"group 'east': at least 3 sites must answer .* are 2"):
        run_in(tmp_path, SITES, two, aggregation="secure-sums")
    few = {"aggregation": "secure-sums", "min-alike": 2}
    with pytest.raises(QuorumError, match=r"group 'east': .*min-cohort"):
        run_in(tmp_path, SITES, two, **few)


def deployed_in_groups(folder: Path, more: str = "") -> tuple[Experiment, list[dict[str, str]]]:
    """Two groups of sites that know those of their own group; see `FEW`."""
    tables(folder, FEW)
    groups = {site: "east" if site[0] == "b" else "west" for site in FEW}
    for group in ("east", "west"):
        sites = [site for site in FEW if groups[site] == group]
        for name, (first, last) in known_to_each_other(folder, sites).items():
            rules = f"{first}[policy]\nmin-state-rows = 0\nsecure-sums = true\n"
            (folder / f"{name}.toml").write_text(f"{rules}{more}{last}")
    lines = ["site,group", *(f"client {k},{groups[site]}" for k, site in enumerate(FEW, start=1))]
    (folder / "groups.csv").write_text("\n".join(lines) + "\n")
    return Experiment.of(
        variables="union",
        aggregation="secure-sums",
        groups_file=str(folder / "groups.csv"),
        connect_seconds=0.0,
        min_replies=len(FEW),
    ), prepared_nodes(folder, FEW)


def test_a_deployed_group_is_summed_alone_over_its_own_columns(tmp_path: Path) -> None:
    experiment, configs = deployed_in_groups(tmp_path)
    grid, told = InProcessGrid(to_run_config(experiment), configs), {}
    ask = grid.send_and_receive

    def watched(messages: Any, *, timeout: float | None = None) -> Any:
        asked = list(messages)
        for message in asked:
            node, content = message.metadata.dst_node_id, message.content
            if message.metadata.message_type == "query.keys":
                told[node] = set(json.loads(str(content["task"]["columns"])))
            if "sums" in content and "terms" in content["sums"]:
                terms = Terms.from_text(str(content["sums"]["terms"]))
                assert len({member.name[0] for member in terms.members}) == 1
        return ask(asked, timeout=timeout)

    grid.send_and_receive = watched
    federate(grid, experiment)
    laboratory, radiology = {"bronc", "smoke"}, {"either", "lung", "smoke"}
    assert list(dict(sorted(told.items())).values()) == [laboratory] * 3 + [radiology] * 3
    cohorts = read_cohorts(tmp_path / "b3.csv.cohorts.jsonl")
    assert [cohort for _, cohort in cohorts] == [frozenset({"b1", "b2", "b3"})]


def test_a_group_whose_block_is_below_min_cohort_is_refused(tmp_path: Path) -> None:
    experiment, configs = deployed_in_groups(tmp_path, "min-cohort = 4\n")
    grid = InProcessGrid(to_run_config(experiment), configs)
    with pytest.raises(QuorumError, match=r"group '.*min-cohort"):
        federate(grid, experiment)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["smoke"], "policy: query"),
        (["smoke", "bronc"], "must be agreed ones, sorted"),
        (["bronc", "nobody", "smoke"], "must be agreed ones, sorted"),
    ],
)
def test_a_site_refuses_sums_over_other_columns(
    tmp_path: Path,
    columns: list[str],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A server could leave out a column of a site, and so ask about the others alone."""
    experiment, configs = deployed_in_groups(tmp_path)

    def told(schema: Schema, number: int, **more: str) -> ConfigRecord:
        return task_record(schema, number, **more | {"columns": json.dumps(columns)})

    monkeypatch.setattr("server.secure_sums.task_record", told)
    with pytest.raises(QuorumError) as error:
        federate(InProcessGrid(to_run_config(experiment), configs), experiment)
    assert words in f"{error.value}{caplog.text}"
