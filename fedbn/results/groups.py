"""The groups of a run as tables and files.

groups.csv        one row per site: its group, whether it stands alone, distances
differences.csv   one row per pair of variables in which two groups differ
families.csv      one row per variable and pair of groups: what differs, by counts
groups/           every group's consensus and the core that all share, and every group's network
                  with its parameters, where the run has them
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from fedbn.consensus.pooling import Robust
from fedbn.consensus.threshold import Reading
from fedbn.errors import ResultsError
from fedbn.federation.settings import ConsensusSettings
from fedbn.fusion.inputs import Variables
from fedbn.graphs.dag import DAG
from fedbn.graphs.directions import directed_words
from fedbn.graphs.distances import induced_smhd
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.writing import write_structure
from fedbn.groups.fusing import GroupFusion
from fedbn.groups.given import groups_of_sites
from fedbn.groups.grouping import Fuse, Grouping, given_groups, group_sites
from fedbn.groups.profiles import SiteStructures
from fedbn.networks.json_file import write_json_network
from fedbn.results.outcome import Outcome
from fedbn.wording import list_some

FOLDER = "groups"


@dataclass(frozen=True)
class SiteRow:
    """One site: its group from 1, whether it stands alone, mean SMHDs of its structures to the
    consensus of its group and to that of the nearest other one (None where there is none), over the
    pairs that the site has, and the name of its group (None where groups were found)."""

    site: str
    group: int
    alone: bool
    smhd_to_group: float
    nearest_other: int | None
    smhd_to_other: float | None
    group_name: str | None


def grouping_of(
    outcome: Outcome,
    groups: str,
    fuse: Fuse,
    given: Mapping[str, str] | None = None,
    *,
    resampled: bool = False,
) -> Grouping:
    """The groups of a fusion's clients.

    Parameters
    ----------
    groups : "auto" or a number; not looked at with
    given : the name of every client's group.
    resampled : whether the clients' structures are of bootstrap samples.

    Raises
    ------
    ConfigError : see `group_sites` and `given_groups`.
    """
    structures = [
        SiteStructures(client.label, client.dags, client.shares, client.rows, resampled)
        for client in outcome.clients
    ]
    if given is not None:
        found = given_groups(structures, dict(given), fuse, outcome.consensus.dag)
    else:
        found = group_sites(structures, groups, fuse, outcome.consensus.dag)
    return replace(found, knowledge=outcome.path.knowledge)


def with_groups(
    outcome: Outcome, settings: ConsensusSettings, *, resampled: bool = False
) -> Outcome:
    """The outcome of a federated run with the groups that its settings ask for, or that are given;
    raises ConfigError as `grouping_of`, of which `resampled` is, and `groups_of_sites`."""
    if settings.groups == "no" and settings.groups_file is None:
        return outcome
    given = None
    if settings.groups_file is not None:
        given, _ = groups_of_sites(settings.groups_file, (each.label for each in outcome.clients))
    fusion = GroupFusion(
        cast(Reading, settings.reading),
        cast(Robust, settings.robust),
        settings.k_max,
        settings.quorum,
        settings.seconds,
        known=settings.known,
        max_treewidth=settings.max_treewidth,
        variables=cast(Variables, settings.variables),
        min_judges=settings.min_judges,
        by_judges=settings.choose == "smhd",
    )
    grouping = grouping_of(outcome, settings.groups, fusion, given, resampled=resampled)
    return replace(outcome, grouping=grouping)


def site_rows(grouping: Grouping) -> tuple[SiteRow, ...]:
    """One row per site, by label."""
    rows = []
    for place, (entry, group) in enumerate(
        zip(grouping.structures, grouping.cut.groups, strict=True)
    ):
        total = sum(entry.shares)
        means = [
            float(
                sum(s * induced_smhd(c, d) for d, s in zip(entry.dags, entry.shares, strict=True))
                / total
            )
            for c in grouping.consensuses
        ]
        others = [(mean, g) for g, mean in enumerate(means) if g != group]
        nearest = min(others) if others else None
        rows.append(
            SiteRow(
                site=entry.site,
                group=group + 1,
                alone=place in grouping.outliers,
                smhd_to_group=means[group],
                nearest_other=None if nearest is None else nearest[1] + 1,
                smhd_to_other=None if nearest is None else nearest[0],
                group_name=grouping.names[group] if grouping.names else None,
            )
        )
    return tuple(rows)


def groups_facts(grouping: Grouping) -> dict[str, Any]:
    """What `run.json` and --json say: groups, tests, who stands alone, what is shared."""
    sites, core = grouping.tree.profiles.sites, grouping.core
    return {
        "how": grouping.how,
        "rows_told": grouping.tree.profiles.rows is not None,
        "groups": [list(grouping.members(g)) for g in range(1, grouping.count + 1)],
        "names": list(grouping.names),
        "parameters": list(grouping.sources),
        "alone": [sites[i] for i in grouping.outliers],
        "tests": [
            {
                "part": [sites[i] for i in split.part],
                "rest": len(split.rest),
                "p": split.p,
                "level": split.level,
                "differing_pairs": split.pairs,
                "regions": split.regions,
                "redrawn": split.redrawn,
                "split": split.made,
            }
            for split in grouping.cut.splits
        ],
        "core_edges": core.dag.n_edges,
        "own_edges": [len(own) for own in core.own],
        "common_order": None if core.order is None else list(core.order),
        "order_conflict": list(core.conflict),
        "lines": list(grouping.lines()),
    }


def group_called(run: Mapping[str, Any], group: str, source: str) -> int:
    """The number of a group, from 1, that is called by its number or its name.

    Parameters
    ----------
    run : the content of `run.json`, as `groups_facts` wrote it.
    group : what was typed; a name that is there goes before a number.
    source : the folder, for errors.

    Raises
    ------
    ResultsError : the run has no groups, or no such one.
    """
    told = run.get("groups")
    if not isinstance(told, Mapping) or not isinstance(told.get("groups"), list):
        raise ResultsError(f"{source} has no groups of sites: run with --groups or --groups-file")
    count, names = len(told["groups"]), list(told.get("names") or ())
    if group in names:
        return names.index(group) + 1
    if group.isascii() and group.isdigit() and 1 <= int(group) <= count:
        return int(group)
    known = f"1 to {count}" + (f", called {list_some(names)}" if names else "")
    raise ResultsError(f"{source} has groups {known}; none is {group!r}")


def write_structures(grouping: Grouping, place: Path) -> None:
    """The consensus of every group, with its parameters if it has some, and the core.

    `support` is the share of the group's sites, or of all, that join the pair.
    """
    folder = place / FOLDER
    folder.mkdir()
    for group, dag in enumerate(grouping.consensuses):
        own = [
            entry
            for entry, g in zip(grouping.structures, grouping.cut.groups, strict=True)
            if g == group
        ]
        _write_structure(dag, folder / f"group-{group + 1}", own, grouping.known_in(group + 1))
    for group, network in enumerate(grouping.networks, start=1):
        if network is not None:
            write_json_network(network, folder / f"network-{group}.json")
    _write_structure(grouping.core.dag, folder / "core", grouping.structures, grouping.known_in_all)


def _write_structure(
    dag: DAG, stem: Path, entries: Sequence[SiteStructures], known: Knowledge | None
) -> None:
    """The edges as CSV, with the support by these sites and the directions under the knowledge, and
    the DAG as JSON."""
    support, directed = _support(dag.edges, entries), directed_words(dag, known)
    for suffix in (".csv", ".json"):
        write_structure(dag, stem.with_suffix(suffix), support=support, directed=directed)


def _support(
    edges: tuple[tuple[str, str], ...], entries: Sequence[SiteStructures]
) -> dict[tuple[str, str], float]:
    """The weighted share of the structures of sites with both ends that join each edge, in either
    direction."""
    sums, totals = (dict.fromkeys(edges, Fraction(0)) for _ in range(2))
    for entry in entries:
        for dag, share in zip(entry.dags, entry.shares, strict=True):
            joined = dag.adjacency | dag.adjacency.T
            position = {name: k for k, name in enumerate(dag.names)}
            for a, b in edges:
                if a in position and b in position:
                    totals[a, b] += share
                    if joined[position[a], position[b]]:
                        sums[a, b] += share
    return {edge: float(sums[edge] / (totals[edge] or 1)) for edge in edges}
