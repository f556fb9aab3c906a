"""What a run under secure sums in given groups leaves behind.

groups.csv, differences.csv and groups/ are as in the open, as far as sums tell; cohorts/1,
cohorts/2 and so on are the results of every group, whole folders as `sums.py` writes them. There is
no consensus of all sites.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbn.federation.grouped_sums import GroupedSums, GroupOfSums
from fedbn.graphs.dag import DAG
from fedbn.graphs.directions import directed_words
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.writing import write_structure
from fedbn.groups.differences import Difference
from fedbn.networks.json_file import write_json_network
from fedbn.results.dictionary import write_readme
from fedbn.results.groups import FOLDER
from fedbn.results.record import sendable
from fedbn.results.report import results_folder, write_run, write_table
from fedbn.results.sums import write_sums

if TYPE_CHECKING:
    from fedbn.results.outcome import Outcome

COHORTS = "cohorts"


@dataclass(frozen=True)
class SiteOfGroup:
    """One site, its group, from 1, and the group's name."""

    site: str
    group: int
    group_name: str


def write_grouped_sums(
    grouped: GroupedSums,
    folder: str | Path,
    *,
    run: Mapping[str, Any],
    outcomes: tuple[Outcome | None, ...] | None = None,
    gold: DAG | None = None,
    tables: bool = True,
) -> Path:
    """Write the results folder and return its absolute path.

    Parameters
    ----------
    folder, run : as for `write_results`.
    outcomes : of every group, as `outcome` of `write_sums`; by default made there.
    gold : the true DAG, where known; of a group that lacks some of its variables, not told.
    tables : whether parameters are written.

    Raises
    ------
    ResultsError : the folder may not be replaced or cannot be written.
    """
    made = outcomes or (None,) * len(grouped.groups)
    with results_folder(folder) as place:
        sites = [
            SiteOfGroup(site, number, group.name)
            for number, group in enumerate(grouped.groups, start=1)
            for site in group.result.clients
        ]
        write_table(place / "groups.csv", SiteOfGroup, sorted(sites, key=lambda row: row.site))
        if grouped.differences is not None:
            write_table(place / "differences.csv", Difference, grouped.differences)
        (place / FOLDER).mkdir()
        (place / COHORTS).mkdir()
        for number, (group, outcome) in enumerate(zip(grouped.groups, made, strict=True), start=1):
            network = group.network if tables else None
            write_sums(
                group.result,
                place / COHORTS / str(number),
                run={**run, "group": group.name, "parameters": _sources(group)},
                outcome=outcome,
                gold=gold_of(group, gold),
                network=network,
            )
            stem, known = place / FOLDER / f"group-{number}", grouped.known_in(number)
            _write_structure(grouped.consensuses[number - 1], stem, known)
            if network is not None:
                write_json_network(network, place / FOLDER / f"network-{number}.json")
        _write_structure(grouped.core.dag, place / FOLDER / "core", grouped.known_in_all)
        record = {**sendable(run), "groups": grouped_facts(grouped)}
        write_run(place / "run.json", record, {}, grouped.refused)
        write_readme(place)
    return Path(folder).expanduser().resolve()


def gold_of(group: GroupOfSums, gold: DAG | None) -> DAG | None:
    """The true DAG for a group that has all of its variables; else a distance would be none of the
    group's."""
    return gold if gold is None or gold.n == group.result.schema.n else None


def grouped_facts(grouped: GroupedSums) -> dict[str, Any]:
    """What `run.json` and --json say of the groups, with the keys of groups in the open."""
    core = grouped.core
    return {
        "how": "given",
        "groups": [list(group.result.clients) for group in grouped.groups],
        "names": [group.name for group in grouped.groups],
        "parameters": [_sources(group) for group in grouped.groups],
        "core_edges": core.dag.n_edges,
        "own_edges": [len(own) for own in core.own],
        "common_order": None if core.order is None else list(core.order),
        "order_conflict": list(core.conflict),
        "lines": list(grouped.lines()),
    }


def _sources(group: GroupOfSums) -> dict[str, Any] | None:
    return None if group.sources is None else group.sources.to_dict()


def _write_structure(dag: DAG, path: Path, known: Knowledge | None) -> None:
    directed = directed_words(dag, known)
    for suffix in (".csv", ".json"):
        write_structure(dag, path.with_name(path.name + suffix), directed=directed)
