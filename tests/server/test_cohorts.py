"""Secure sums in groups that are given: every group is a cohort of its own, in one run."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Message

from fedbn.errors import ConfigError, QuorumError, ResultsError
from fedbn.federation.grouped_sums import GroupedSums
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.state import FederationResult
from fedbn.results.groups import group_called
from fedbn.secure.session import Terms
from server.server_app import federate, run_and_write
from simulations.commands.kept_run import read_kept
from simulations.in_process_grid import InProcessGrid
from simulations.run import node_configs, run_experiment

OPEN = Experiment.of(network="asia", rows=60, clients=7, engine="in-process", seed=4)
GROUPS = {1: "west", 2: "east", 3: "west", 4: "east", 5: "east", 6: "west", 7: "west"}


def given(folder: Path, groups: dict[int, str], aggregation: str = "secure-sums") -> Experiment:
    lines = ["site,group", *(f"client {k},{group}" for k, group in groups.items())]
    (folder / "groups.csv").write_text("\n".join(lines) + "\n")
    return OPEN.change(aggregation=aggregation, groups_file=str(folder / "groups.csv"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, GroupedSums]:
    """The same groups in the open and as cohorts."""
    folder = tmp_path_factory.mktemp("groups")
    opened = run_experiment(given(folder, GROUPS, "open"))
    summed = run_experiment(given(folder, GROUPS).change(parameters="federated"))
    assert isinstance(opened.result, FederationResult)
    assert isinstance(summed.result, GroupedSums)
    return opened.grouping, summed.result


def test_every_group_has_the_consensus_that_it_has_in_the_open(
    runs: tuple[Any, GroupedSums],
) -> None:
    grouping, grouped = runs
    assert grouping is not None
    assert [group.name for group in grouped.groups] == list(grouping.names) == ["west", "east"]
    for number, (group, dag) in enumerate(
        zip(grouped.groups, grouping.consensuses, strict=True), start=1
    ):
        assert group.result.clients == grouping.members(number)
        assert group.result.consensus.dag.edges == dag.edges
        assert group.network is not None
    assert grouped.core.dag.edges == grouping.core.dag.edges


def test_differences_by_summed_votes_are_those_of_the_structures(
    runs: tuple[Any, GroupedSums],
) -> None:
    grouping, grouped = runs
    assert grouping.differences
    assert grouped.differences == grouping.differences
    assert grouped.lines()[2] == grouping.lines()[2]


def test_no_roster_has_sites_of_two_groups(tmp_path: Path) -> None:
    rosters: dict[tuple[str, ...], set[int]] = {}
    experiment = given(tmp_path, GROUPS)
    grid = InProcessGrid(to_run_config(experiment), node_configs(7))
    ask = grid.send_and_receive

    def watched(messages: Any, *, timeout: float | None = None) -> Any:
        asked = list(messages)
        for message in asked:
            if "sums" in message.content and "terms" in message.content["sums"]:
                terms = Terms.from_text(str(message.content["sums"]["terms"]))
                names = tuple(member.name for member in terms.members)
                rosters.setdefault(names, set()).add(message.metadata.dst_node_id)
        return ask(asked, timeout=timeout)

    grid.send_and_receive = watched
    federate(grid, experiment)
    expected = [
        tuple(f"client {k}" for k, name in GROUPS.items() if name == group)
        for group in ("west", "east")
    ]
    assert list(rosters) == expected
    assert [len(nodes) for nodes in rosters.values()] == [4, 3]
    assert not set.intersection(*rosters.values())


def test_min_cohort_counts_the_group(tmp_path: Path) -> None:
    few = {**GROUPS, 2: "west"}
    with pytest.raises(QuorumError, match=r"group 'east'.*min-cohort"):
        run_experiment(given(tmp_path, few))


def test_a_site_that_is_lost_ends_the_run_and_its_group_is_named(tmp_path: Path) -> None:
    experiment = given(tmp_path, GROUPS)

    def lose(node: int, reply: Message) -> Message | None:
        return None if node == 5 and reply.has_content() and "sums" in reply.content else reply

    grid = InProcessGrid(to_run_config(experiment), node_configs(7), fault=lose)
    with pytest.raises(QuorumError, match=r"group '(west|east)': .* did not, after 4 requests"):
        federate(grid, experiment)


def test_every_site_must_have_a_group(tmp_path: Path) -> None:
    lacking = {k: group for k, group in GROUPS.items() if k != 3}
    with pytest.raises(ConfigError, match="no group for site 'client 3'"):
        run_experiment(given(tmp_path, lacking))


def test_groups_are_not_found_from_sums() -> None:
    with pytest.raises(ConfigError, match="or give them"):
        OPEN.change(aggregation="secure-sums", groups="2")


def test_the_folder_of_a_server(tmp_path: Path) -> None:
    out = tmp_path / "out"
    experiment = given(tmp_path, GROUPS).change(out_dir=str(out), parameters="federated")
    grid = InProcessGrid(to_run_config(experiment), node_configs(7))
    run_and_write(grid, experiment, 3)
    with (out / "groups.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["group"] for row in rows] == [
        {"west": "1", "east": "2"}[g] for g in GROUPS.values()
    ]
    assert [row["group_name"] for row in rows] == list(GROUPS.values())
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert group_called(run, "east", "out") == 2
    with pytest.raises(ResultsError, match="secure sums, which keep no site's structures"):
        read_kept(out)
    for number in ("1", "2"):
        own = out / "cohorts" / number
        assert (
            json.loads((own / "sums.json").read_text())["sites"]
            == run["groups"]["groups"][int(number) - 1]
        )
        network = (out / "groups" / f"network-{number}.json").read_bytes()
        assert (own / "network.json").read_bytes() == network
    assert not (out / "consensus.csv").exists()
    assert "open cohorts/1/report.html first" in (out / "README.txt").read_text(encoding="utf-8")


def test_votes_alone_have_no_differences_but_a_core(tmp_path: Path) -> None:
    result = run_experiment(given(tmp_path, GROUPS, "moral-votes")).result
    assert isinstance(result, GroupedSums)
    assert result.differences is None
    assert result.lines()[2].startswith("All share")
