"""How sure every pair of variables is: one table of all that a run knows of its edges."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.arrays import Floats
from fedbn.bounded_file import read_bounded
from fedbn.consensus.strength import site_interval
from fedbn.consensus.sureness import pairs_of, probabilities
from fedbn.consensus.votes import Votes, votes_of
from fedbn.errors import ResultsError
from fedbn.fusion.inputs import merge_inputs
from fedbn.fusion.weights import integer_weights
from fedbn.graphs.averaging import averaged_dag, significance_threshold
from fedbn.graphs.dag import DAG
from fedbn.results.outcome import Outcome
from fedbn.results.rows import edge_rows
from fedbn.spreadsheet import read_cell
from fedbn.whole_file import write_whole

FILE = "strengths.csv"

FEWEST, MOST = 3, 20
"""Numbers of sites whose votes have a probability: those that the study of strengths fitted."""

STUDIED = {
    "learner": "ges",
    "score": "bdeu",
    "ess": 1.0,
    "row-weight": 1.0,
    "rounds-limit": 1,
}
"""Settings of the runs that it fitted."""

ENDS = (0.01, 0.99)
"""Least and greatest probability that is written: the study knows nothing nearer to certainty."""


@dataclass(frozen=True)
class StrengthRow:
    """One pair that a structure joins; None where a measure is not known.

    `sites` of `of` sites have a structure that joins it; `low` and `high` are the exact 95 %
    interval of that share. `probability` is that of an edge in the network that the rows come from,
    see `fedbn.consensus.sureness`; only runs like those of the study have it. `bootstrap` and
    `credible` are the mean share within the sites that sent resampled, or credible, structures.
    `posterior` is the share by counts of all sites' rows, see `fedbn parameters --average`.
    """

    parent: str
    child: str
    in_consensus: bool
    directed: str
    sites: int
    of: int
    low: float
    high: float
    probability: float | None
    bootstrap: float | None
    credible: float | None
    posterior: float | None


def strength_rows(outcome: Outcome, settings: Mapping[str, Any]) -> tuple[StrengthRow, ...]:
    """One row per pair that a structure joins, as in edges.csv; no votes instead of structures."""
    learner = settings.get("learner")
    shares = _shares_within(outcome)
    probable = _probable(outcome) if _is_studied(outcome, settings) else None
    rows = []
    for edge in edge_rows(outcome):
        joining = len(edge.supporters)
        if not joining:
            continue
        sites = outcome.seeing(edge.parent, edge.child)
        low, high = site_interval(joining, sites)
        at = outcome.places[edge.parent], outcome.places[edge.child]
        share = shares[min(at), max(at)]
        rows.append(
            StrengthRow(
                parent=edge.parent,
                child=edge.child,
                in_consensus=edge.in_consensus,
                directed=edge.directed,
                sites=joining,
                of=sites,
                low=low,
                high=high,
                probability=None if probable is None else float(probable[at]),
                bootstrap=share if learner == "bootstrap" else None,
                credible=share if learner == "credible" else None,
                posterior=None,
            )
        )
    return tuple(rows)


def _is_studied(outcome: Outcome, settings: Mapping[str, Any]) -> bool:
    """Whether the run is like those of the study: so many sites, with all variables, one structure
    each, learnt so, from nothing but rows without imputed cells, and in one group if groups were
    asked for. What a site's own file imputes, and searches that a limit ended, are not known here.
    """
    grouping = outcome.grouping
    return (
        FEWEST <= len(outcome.clients) <= MOST
        and all(len(client.dags) == 1 for client in outcome.clients)
        and outcome.is_whole
        and outcome.path.knowledge is None
        and (grouping is None or len(grouping.consensuses) == 1)
        and settings.get("missing-cells") != "impute"
        and all(settings.get(key) == value for key, value in STUDIED.items())
    )


def _probable(outcome: Outcome) -> Floats:
    """[n, n]: the probability of every pair that a site joins, to two decimals; 0 for others."""
    structures = [dags[0].adjacency for dags in outcome.placed]
    votes = sum((own | own.T).astype(np.int64) for own in structures)
    pairs = pairs_of(np.asarray(votes), len(structures))
    stated = probabilities(pairs, len(structures), outcome.consensus.dag.n)
    found = np.zeros((outcome.consensus.dag.n,) * 2)
    found[pairs.one, pairs.other] = found[pairs.other, pairs.one] = stated.clip(*ENDS).round(2)
    return found


def _shares_within(outcome: Outcome) -> dict[tuple[int, int], float]:
    """Of the pairs (i, j), i < j, that a site joins: over the sites that have both variables the
    mean of the weighted share of their own structures that join it."""
    own = [[float(s / sum(c.shares)) for s in c.shares] for c in outcome.clients]
    having = outcome.seen
    return {
        (i, j): joined / max(int((having[:, i] & having[:, j]).sum()), 1)
        for (i, j), joined in outcome.weights_joining(own).items()
    }


def vote_above_threshold(outcome: Outcome) -> tuple[Fraction, DAG]:
    """bnlearn's `inclusion.threshold` of the supports, and the DAG of the edges above it."""
    votes = outcome.votes or _votes(outcome)
    of = votes.total if votes.seen is None else votes.seen
    arcs = votes.arc_votes
    return significance_threshold(arcs, of), averaged_dag(votes.names, arcs, of)


def write_posterior(folder: Path, weighted: Sequence[tuple[DAG, float]]) -> None:
    """Fill the column `posterior` of a folder's strengths.csv, if there is one.

    Parameters
    ----------
    weighted : structures with weights that sum to 1.

    Raises
    ------
    ResultsError : the file is not as fedbn wrote it, or cannot be written.
    """
    file = folder / FILE
    if not file.is_file():
        return
    header, *rows = csv.reader(io.StringIO(read_bounded(file).decode("utf-8"), newline=""))
    if header != [column.name for column in fields(StrengthRow)]:
        raise ResultsError(f"{file} is not as fedbn wrote it: its columns are {header}")
    at = header.index("posterior")
    for row in rows:
        a, b = (read_cell(cell) for cell in row[:2])
        row[at] = repr(math.fsum(w for dag, w in weighted if _joins(dag, a, b)))
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    write_whole(file, out.getvalue())


def _joins(dag: DAG, a: str, b: str) -> bool:
    i, j = dag.names.index(a), dag.names.index(b)
    return bool(dag.adjacency[i, j] or dag.adjacency[j, i])


def _votes(outcome: Outcome) -> Votes:
    """The votes of the inputs; shares of several structures of one client are rounded as for their
    fusion, since sums are not exact otherwise."""
    dags: list[DAG] = []
    shares: list[Fraction] = []
    for client in outcome.clients:
        (units,) = integer_weights([client.shares], [client.dags])
        unit = sum(client.shares, Fraction(0)) / sum(units)
        kept = [(dag, k * unit) for dag, k in zip(client.dags, units, strict=True) if k]
        dags += [dag for dag, _ in kept]
        shares += [share for _, share in kept]
    return votes_of(merge_inputs(dags, shares, "union"))
