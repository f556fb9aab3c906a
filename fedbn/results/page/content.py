"""What the report shows, as one JSON object: words, numbers, and where everything is drawn.

Names are printable here: characters that show nothing are "·". Nothing in it depends on times.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.writing import structure_text
from fedbn.networks.parameter_sources import held_back_in
from fedbn.results.outcome import Outcome
from fedbn.results.page.groups import group_pairs, group_words, groups_content
from fedbn.results.page.parameters import (
    told_not_given,
    told_numbers,
    told_parameters,
    told_remarks,
)
from fedbn.results.page.states import Pairs, decimal, readings_of, site_distances
from fedbn.results.page.variables import unknown_of, variables_content
from fedbn.results.page.words import GroupWords, answers, headline
from fedbn.results.placement import (
    HALF,
    Placement,
    curve_through,
    place_network,
    printable_label,
    printable_name,
)
from fedbn.results.record import repeat_line
from fedbn.results.rows import (
    ConsensusRow,
    bare_rows,
    client_rows,
    consensus_rows,
    edge_rows,
    edge_status,
)
from fedbn.results.summary import Summary, summarise
from fedbn.results.variables import JudgedEdgeRow, judged_edge_rows, unknown_pairs
from fedbn.results.written_rows import rows_text

if TYPE_CHECKING:
    from fedbn.networks.conditional_gaussian import Network

FORMAT = "fedbn-report-2"
INCH = 72.0 / 7.0 * 12.0
"""Pixels of an inch of the drawing: its font of 7 points has 12 pixels on the page."""

NO_SITES = (
    "Under secure sums nobody sees a site's structure: which site has an edge, and how far a site "
    "is from the consensus, is not known and not shown. Supports are sums over all sites."
)
NO_PATH = (
    "There is no path over θ here: this run chose one structure without deleting edge by edge."
)


def report_content(
    outcome: Outcome,
    run: Mapping[str, Any],
    network: Network | None = None,
    hashes: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The content of a run with a path.

    Parameters
    ----------
    run : what `run.json` says of settings, seed, versions, command.
    network : the consensus with its parameters, where they are known and may be shown.
    hashes : name -> SHA-256 of files of the folder.
    """
    summary = summarise(outcome)
    dag = outcome.consensus.dag
    rows = _rows(outcome)
    pairs = Pairs((row.i, row.j) for row in rows)
    sites = _sites(outcome, pairs) if outcome.votes is None else None
    drawn = [(dag.names[i], dag.names[j]) for i, j in pairs.pairs]
    drawing = _drawing(dag, outcome.gold, [*drawn, *unknown_of(outcome)])
    paths = drawing.pop("paths")
    edges = consensus_rows(outcome)
    content = {
        **_head(run, summary, dag, outcome.refused),
        "answers": _answers(summary, dag, run, edges, outcome),
        **drawing,
        "paths": paths[: len(drawn)],
        "pairs": [row.to_list() for row in rows],
        "readings": readings_of(outcome, pairs),
        "chosen": _start_state(outcome),
        "bound": decimal(summary.lower_bound),
        "sites": sites,
        "distances": site_distances(outcome) if sites else None,
        "missing": [NO_SITES] if outcome.votes is not None else [],
        "remarks": list(summary.remarks),
        "lone_states": [list(map(printable_name, triple)) for triple in outcome.lone_states],
        "gold": _gold(summary),
        "pooled": _pooled_reference(outcome),
        "consensus": rows_text(ConsensusRow, edges),
        **_groups(outcome),
        **variables_content(outcome, paths[len(drawn) :]),
    }
    return content | _tail(run, dag, network, hashes)


def voted_content(
    dag: DAG,
    run: Mapping[str, Any],
    summary: Mapping[str, Any],
    refused: Sequence[tuple[str, str]] = (),
    network: Network | None = None,
    hashes: Mapping[str, str] | None = None,
    missing: Sequence[str] = (),
    knowledge: Knowledge | None = None,
) -> dict[str, Any]:
    """The content of a consensus without a path and without the sites' structures.

    summary : mean_smhd, lower_bound and whatever else is known of it.
    knowledge : what it keeps.
    """
    joined = [(i, j) for i, j in np.argwhere(dag.adjacency).tolist()]
    pairs = Pairs(joined)
    codes = pairs.codes(dag, knowledge)
    state = {
        "theta": None,
        "decimal": None,
        "edges": dag.n_edges,
        "smhd": decimal(summary["mean_smhd"]),
        "gold": summary.get("smhd_to_gold"),
        "changes": [int(n) for k, code in enumerate(codes) for n in (k, code)],
    }
    method = str(summary.get("method", "vote"))
    content = {
        **_head(run, summary, dag, refused),
        "answers": _answers(summary, dag, run, bare_rows(dag)),
        **_drawing(dag, None, dag.edges),
        "pairs": [_Row(i, j).to_list() for i, j in joined],
        "readings": [{"reading": method, "states": [state]}],
        "chosen": [0, 0],
        "bound": decimal(summary["lower_bound"]),
        "sites": None,
        "distances": None,
        "missing": [NO_PATH, *missing],
        "remarks": [],
        "lone_states": [],
        "gold": None,
        "consensus": rows_text(ConsensusRow, bare_rows(dag)),
    }
    return content | _tail(run, dag, network, hashes)


def _head(
    run: Mapping[str, Any],
    summary: Summary | Mapping[str, Any],
    dag: DAG,
    refused: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    facts = summary if isinstance(summary, Mapping) else vars(summary)
    return {
        "format": FORMAT,
        "public": False,
        "title": headline(run, int(facts.get("clients", 0))),
        "names": [printable_name(name) for name in dag.names],
        "refused": [[printable_name(client), printable_name(why)] for client, why in refused],
    }


def _answers(
    summary: Summary | Mapping[str, Any],
    dag: DAG,
    run: Mapping[str, Any],
    edges: Sequence[ConsensusRow],
    outcome: Outcome | None = None,
) -> list[list[str]]:
    """Rows of the page's first table: question, answer, answer for the public."""
    facts = summary if isinstance(summary, Mapping) else vars(summary)
    n_rows, distances, groups, unknown, measured = None, None, GroupWords(), 0, None
    if outcome is not None and outcome.votes is None:
        sites = client_rows(outcome)
        known = [row.rows for row in sites if row.rows is not None]
        n_rows = sum(known) if len(known) == len(sites) else None
        distances = {row.client: row.smhd_to_consensus for row in sites}
        groups = groups if outcome.grouping is None else group_words(outcome.grouping)
        if not outcome.is_whole:
            unknown = len(unknown_pairs(outcome))
            sizes = [client.dags[0].n for client in outcome.clients]
            measured = min(sizes), max(sizes)
    found = answers(facts, dag, run, edges, n_rows, distances, groups, unknown, measured)
    return [[each.question, each.text, each.public] for each in found]


def _tail(
    run: Mapping[str, Any],
    dag: DAG,
    network: Network | None,
    hashes: Mapping[str, str] | None,
) -> dict[str, Any]:
    text = structure_text(dag, ".json")
    own = {"consensus.json": hashlib.sha256(text.encode("utf-8")).hexdigest()}
    settings = run.get("settings") or {}
    given = {key: value for key, value in settings.items() if value is not None}
    return {
        **told_parameters(network, held_back_in(run, "run.json"), dag.names),
        **told_numbers(network, run),
        **told_not_given(run),
        **told_remarks(run),
        "settings": {key: _text(value) for key, value in given.items()},
        "versions": dict(run.get("versions") or {}),
        "inputs": list(run.get("inputs") or ()),
        "hashes": own | dict(hashes or {}),
        "imputed": _imputed_cells(run),
        "command": repeat_line(run),
    }


def _imputed_cells(run: Mapping[str, Any]) -> list[list[str]]:
    """[site, column, share of its cells], the largest share of a site first, as `run.json` has it:
    those of a simulation, or what deployed sites tell of theirs."""
    seen, told = run.get("imputed") or {}, run.get("imputed_at_most") or {}
    return [
        [
            printable_name(site),
            printable_name(column),
            f"{100 * share:.1f} %" if site in seen else f"at most {share} %",
        ]
        for site, shares in sorted({**told, **seen}.items())
        for column, share in sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    ]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    return str(value)


# --- pairs and sites ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    """A pair i -> j as the page lists it."""

    i: int
    j: int
    support: float | None = None
    theta: Fraction | None = None
    psi: Fraction | None = None
    status: str = ""
    sites: int | None = None
    heard: tuple[int | None, ...] = ()

    def to_list(self) -> list[Any]:
        """[i, j, support, θ, Ψ, status, number of sites that join it], and where sites have
        different variables the numbers of those that have both, and that judged."""
        theta = None if self.theta is None else str(self.theta)
        psi = None if self.psi is None else str(self.psi)
        told = [self.i, self.j, decimal(self.support), theta, psi, self.status, self.sites]
        return [*told, *self.heard]


def _rows(outcome: Outcome) -> list[_Row]:
    """All pairs that somebody, or a state of the path, joins, sorted by parent and child."""
    found = _known_rows(outcome)
    names = outcome.consensus.dag.names
    seen = {frozenset((row.i, row.j)) for row in found}
    deleted = {frozenset((step.x, step.y)): step for step in outcome.path.steps}
    union = outcome.path.union.reorder(names)
    gold = () if outcome.gold is None else (outcome.gold,)
    status = edge_status(outcome.consensus.dag, outcome.gold)
    structures = (outcome.consensus.dag, *gold, union, *(s.dag for s in outcome.consensus.states))
    for structure in structures:
        for i, j in np.argwhere(structure.adjacency).tolist():
            if frozenset((i, j)) in seen:
                continue
            seen.add(frozenset((i, j)))
            edge = (names[i], names[j])
            step = deleted.get(frozenset(edge))
            support = outcome.support(i, j)
            row = _Row(
                i,
                j,
                support,
                theta=None if step is None else step.theta,
                psi=None if step is None else step.psi,
                status=status.get(edge, ""),
                sites=round(support * len(outcome.cohort)) if outcome.cohort else None,
                heard=() if outcome.is_whole else (outcome.seeing(*edge), None),
            )
            found.append(row)
    return sorted(found, key=lambda row: (row.i, row.j))


def _known_rows(outcome: Outcome) -> list[_Row]:
    """The rows of edges.csv; none where no site's structures are known."""
    if outcome.votes is not None:
        return []
    position = {name: i for i, name in enumerate(outcome.consensus.dag.names)}
    rows = edge_rows(outcome) if outcome.is_whole else judged_edge_rows(outcome)
    return [
        _Row(position[row.parent], position[row.child], row.support, row.theta, row.psi, row.status,
             len(row.supporters),
             (row.seeing, row.judges) if isinstance(row, JudgedEdgeRow) else ())
        for row in rows if row.support is not None
    ]  # fmt: skip


def _sites(outcome: Outcome, pairs: Pairs) -> list[dict[str, Any]]:
    """What is known of every site."""
    return [
        {
            "name": printable_name(client.label),
            "status": row.status,
            "rows": row.rows,
            "edges": decimal(row.edges),
            "gold": decimal(row.smhd_to_gold),
            "held_out": decimal(row.held_out),
            "arcs": steps(pairs.arcs(dags)),
        }
        for client, dags, row in zip(
            outcome.clients, outcome.placed, client_rows(outcome), strict=True
        )
    ]


def steps(ascending: Iterable[int]) -> list[int]:
    """The first number and then the differences, which are short.

    >>> steps([3, 4, 9])
    [3, 1, 5]
    """
    found, last = [], 0
    for number in ascending:
        found.append(number - last)
        last = number
    return found


def _start_state(outcome: Outcome) -> list[int]:
    """Which reading, and which of its states."""
    consensus = outcome.consensus
    readings = list(dict.fromkeys(state.reading for state in consensus.states))
    if consensus.reading == "counts":
        return [len(readings), 0]
    some = [state.theta for state in consensus.states if state.reading == consensus.reading]
    return [readings.index(consensus.reading), some.index(consensus.theta)]


def _pooled_reference(outcome: Outcome) -> dict[str, Any] | None:
    """What was learned from all rows together, where a simulation did so."""
    if outcome.pooled is None:
        return None
    dag = outcome.pooled.dag
    return {
        "edges": dag.n_edges,
        "smhd": smhd(dag, outcome.consensus.dag),
        "closed": decimal(outcome.pooled.closed),
    }


def _groups(outcome: Outcome) -> dict[str, Any]:
    """The groups, where they were asked for: names drawn where the consensus of all has them."""
    grouping = outcome.grouping
    if grouping is None:
        return {}
    dag = outcome.consensus.dag
    pairs = [(dag.names[i], dag.names[j]) for i, j in group_pairs(grouping)]
    return {"groups": groups_content(grouping, _drawing(dag, None, pairs))}


def _gold(summary: Summary) -> dict[str, Any] | None:
    """The gold network's distances, where it is known."""
    if summary.smhd_to_gold is None:
        return None
    return {
        "inputs": decimal(summary.inputs_to_gold),
        "fusion": decimal(summary.fusion_to_gold),
        "consensus": decimal(summary.smhd_to_gold),
        "pooled": decimal(summary.pooled_to_gold),
    }


# --- the drawing --------------------------------------------------------------------------------


@dataclass
class _Canvas:
    """From inches of a placement to whole pixels with y downwards."""

    placement: Placement
    margin: float = 14.0
    lowest: float = field(default=0.0)

    def x(self, inches: float) -> int:
        return round(inches * INCH + self.margin)

    def y(self, inches: float) -> int:
        self.lowest = max(self.lowest, -inches)
        return round((HALF - inches) * INCH + self.margin)

    def path(self, points: Sequence[tuple[float, float]]) -> str:
        curve = [f"{self.x(x)},{self.y(y)}" for x, y in curve_through(points)]
        return f"M{curve[0]}C{' '.join(curve[1:])}"


def _drawing(dag: DAG, gold: DAG | None, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Boxes, and a path per pair from its first to its second variable."""
    missing = sorted(e for e, word in edge_status(dag, gold).items() if word == "missing")
    labels = {name: printable_label(name) for name in dag.names}
    placement = place_network(dag, labels, missing)
    canvas = _Canvas(placement)
    paths = []
    for pair in pairs:
        back = pair[::-1]
        known = next((edge for edge in (pair, back) if edge in placement.routes), None)
        route = placement.route_around(pair) if known is None else placement.routes[known]
        paths.append(canvas.path(route[::-1] if placement.is_upside_down(pair) else route))
    boxes = [
        [canvas.x(x - placement.widths[name] / 2), canvas.y(y + HALF),
         round(placement.widths[name] * INCH)]
        for name, (x, y) in ((name, placement.positions[name]) for name in dag.names)
    ]  # fmt: skip
    bottom = max(placement.height - 2 * HALF, canvas.lowest)
    return {
        "labels": [labels[name] for name in dag.names],
        "boxes": boxes,
        "box_height": round(2 * HALF * INCH),
        "paths": paths,
        "size": [canvas.x(placement.width) + 14, canvas.y(-bottom) + round(HALF * INCH) + 14],
    }
