"""Who measures what, where sites have different variables, and what would have to be measured.

A pair of variables that no site has both of is not known, which is not the same as absent. An edge
of the consensus whose deletion no site could judge with all of its separating set stays for want of
a judge, perhaps. For both, the tables say which site would have to measure what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from fedbn.consensus.judges import Judges, judges_of, never_together
from fedbn.consensus.path import McbncPath, Step
from fedbn.results.outcome import Outcome
from fedbn.results.rows import EdgeRow, edge_rows
from fedbn.spreadsheet import written_text

NEVER = "never together"
UNJUDGED = "no judge of all"


@dataclass(frozen=True)
class JudgedEdgeRow(EdgeRow):
    """An edge row with those who may say something of the pair, in numbers of sites.

    `seeing` sites have both variables; `judges` of them judged the deletion that removes the pair,
    and the one with the fewest variables of its separating set lacks `lacking` of them.
    """

    seeing: int
    judges: int | None
    lacking: int | None


def judged_edge_rows(outcome: Outcome) -> tuple[JudgedEdgeRow, ...]:
    """The rows of `edge_rows`, and one for every pair that no site has both variables of."""
    heard = _heard(outcome)
    apart = set(unknown_pairs(outcome))
    rows = []
    for row in edge_rows(outcome):
        pair = frozenset((row.parent, row.child))
        judges = heard[pair][1] if pair in heard else None
        values = {**vars(row), "status": NEVER if tuple(sorted(pair)) in apart else row.status}
        rows.append(
            JudgedEdgeRow(
                **values,
                seeing=outcome.seeing(row.parent, row.child),
                judges=None if judges is None else judges.judging,
                lacking=None if judges is None else judges.lacking,
            )
        )
    known = {tuple(sorted((row.parent, row.child))) for row in rows}
    rows += [_unknown(a, b) for a, b in sorted(apart - known)]
    return tuple(sorted(rows, key=lambda row: (row.parent, row.child)))


def _unknown(a: str, b: str) -> JudgedEdgeRow:
    """A pair of which nobody knows anything."""
    return JudgedEdgeRow(
        parent=a,
        child=b,
        support=None,
        same=0,
        reversed=0,
        theta=None,
        theta_decimal=None,
        psi=None,
        psi_decimal=None,
        in_fusion=False,
        in_consensus=False,
        directed="",
        status=NEVER,
        supporters=(),
        seeing=0,
        judges=None,
        lacking=None,
    )


@dataclass(frozen=True)
class UndecidedRow:
    """What a site would have to measure for a pair to be decided.

    `why` is "never together" for a pair that no site has both variables of, and "no judge of all"
    for an edge of the consensus of which no site has the whole separating set `given`. `lacks` are
    the variables that this site, one of those that lack the fewest, would have to measure.
    """

    variable: str
    other: str
    why: str
    given: tuple[str, ...]
    site: str
    lacks: tuple[str, ...]


def undecided_rows(outcome: Outcome) -> tuple[UndecidedRow, ...]:
    """For every undecided pair the sites that lack the fewest variables, by names."""
    rows = []
    for a, b, why, given in _undecided_pairs(outcome):
        wanted = {a, b, *given}
        lacks = {
            client.label: tuple(sorted(wanted - set(client.dags[0].names)))
            for client in outcome.clients
        }
        fewest = min(map(len, lacks.values()))
        rows += [
            UndecidedRow(a, b, why, given, site, own)
            for site, own in lacks.items()
            if len(own) == fewest
        ]
    return tuple(rows)


@dataclass(frozen=True)
class CollectRow:
    """What one more column at one site would decide.

    `pairs` that no site has both variables of would be seen, and `edges` of the consensus would
    have a judge with all of their separating set.
    """

    site: str
    column: str
    pairs: int
    edges: int


def collect_rows(outcome: Outcome) -> tuple[CollectRow, ...]:
    """Every column that decides something by itself at a site, those that decide most first."""
    found: Counter[tuple[str, str, str]] = Counter(
        (row.site, row.lacks[0], row.why) for row in undecided_rows(outcome) if len(row.lacks) == 1
    )
    places = {(site, column) for site, column, _ in found}
    rows = [
        CollectRow(*place, pairs=found[(*place, NEVER)], edges=found[(*place, UNJUDGED)])
        for place in places
    ]
    return tuple(sorted(rows, key=lambda r: (-r.pairs - r.edges, -r.pairs, r.site, r.column)))


def variables_text(outcome: Outcome) -> str:
    """variables.csv: a row per variable, the number of its sites, and a 1 under each of them."""
    labels = (client.label for client in outcome.clients)
    columns = zip(outcome.consensus.dag.names, outcome.seen.T, strict=True)
    rows = ((name, int(own.sum()), *("1" if has else "" for has in own)) for name, own in columns)
    return written_text([("variable", "sites", *labels), *rows])


def variables_facts(outcome: Outcome, shown: int = 20) -> dict[str, Any]:
    """What JSON says of them: who lacks what, and the first of what is undecided."""
    names = set(outcome.consensus.dag.names)
    apart, collect = unknown_pairs(outcome), collect_rows(outcome)
    return {
        "lacking": {c.label: sorted(names - set(c.dags[0].names)) for c in outcome.clients},
        "never_together": len(apart),
        "first_never_together": [list(pair) for pair in apart[:shown]],
        "edges_without_judge_of_all": sum(
            w == UNJUDGED for _, _, w, _ in _undecided_pairs(outcome)
        ),
        "collect": [asdict(row) for row in collect[:shown]],
    }


def _undecided_pairs(outcome: Outcome) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Both names, why, and the separating set: first pairs never together, then edges."""
    for a, b in unknown_pairs(outcome):
        yield a, b, NEVER, ()
    heard = _heard(outcome)
    owned = [frozenset(client.dags[0].names) for client in outcome.clients]
    for edge in outcome.consensus.dag.edges:
        found = heard.get(frozenset(edge))
        if found is None:
            continue
        given = found[0].given
        if not any(own.issuperset({*edge, *given}) for own in owned):
            yield *edge, UNJUDGED, given


def _heard(outcome: Outcome) -> dict[frozenset[str], tuple[Step, Judges]]:
    """Pair -> its deletion, and who judged it."""
    path = outcome.path
    if not isinstance(path, McbncPath):
        return {}
    return {frozenset((step.x, step.y)): (step, judges) for step, judges in judges_of(path)}


def unknown_pairs(outcome: Outcome) -> tuple[tuple[str, str], ...]:
    """The pairs that no site has both variables of."""
    path = outcome.path
    return never_together(path.inputs) if isinstance(path, McbncPath) else ()
