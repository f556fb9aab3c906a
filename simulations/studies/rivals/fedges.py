"""FedGES, rebuilt: GES at every site, a few edges a round, from what the server fused.

Torrijos, Gámez & Puerta 2024 (Discovery Science; arXiv 2502.01538), by its abstract and by the
program that its authors publish (BayesFL). A round:

1. Every site runs GES on its rows from the DAG that it has: at most `edges` Inserts, then Deletes
   until none gains.
2. If the sites' mean score is not above that of the round before, or every site has a DAG that it
   had before, the run ends with the last fusion.
3. The server fuses the DAGs: one order, a minimal I-map of each, and the arcs that at least a
   `share` of the I-maps have. With a share of 0 that is their union.
4. Every site goes on from the union of its own DAG and the fusion.

What differs: an Insert here considers every T, theirs builds T up greedily; ties go by names; the
score is BDeu with an equivalent sample size of 1 (theirs of 10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fedbn._core.search import ClassSearch, Kind, Outcome
from fedbn.fusion.union import fuse
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.dag import DAG
from fedbn.scores.base import TabulatedScore


@dataclass(frozen=True)
class Round:
    """What the sites sent, and what the server made of it."""

    sent: tuple[DAG, ...]
    fusion: DAG


def fed_ges(
    scores: Sequence[TabulatedScore], *, edges: int, share: Fraction, limit: int
) -> tuple[list[Round], int]:
    """The rounds that ended with a fusion, and how many times the sites were asked.

    Parameters
    ----------
    scores : of the sites' tables, over the same names.
    edges : largest number of Inserts of a site in a round.
    share : of the I-maps that must have an arc; 0 for the union.
    limit : largest number of rounds.
    """
    local = [DAG.empty(score.names) for score in scores]
    seen: list[set[DAG]] = [set() for _ in scores]
    rounds: list[Round] = []
    best = -np.inf
    for asked in range(1, limit + 1):
        found = [constrained_ges(s, dag, edges) for s, dag in zip(scores, local, strict=True)]
        sent, values = zip(*found, strict=True)
        mean = float(np.mean(values))
        if mean <= best or all(dag in old for dag, old in zip(sent, seen, strict=True)):
            return rounds, asked
        best = mean
        for dag, old in zip(sent, seen, strict=True):
            old.add(dag)
        fusion = shared_arcs(sent, share)
        rounds.append(Round(tuple(sent), fusion))
        local = [fuse([dag, fusion]).union for dag in sent]
    return rounds, limit


def constrained_ges(score: TabulatedScore, start: DAG, edges: int) -> tuple[DAG, float]:
    """GES from a DAG with at most `edges` Inserts, then every Delete that gains; and its score."""
    search = ClassSearch(score.core, pack(start.reorder(score.names).adjacency.T))
    while search.steps[0] < edges and search.climb([Kind.insert], 0) != Outcome.done:
        pass  # a budget of 0 pauses after one Insert at the latest
    search.climb([Kind.delete], None)
    parents = search.member()
    assert parents is not None
    return DAG(score.names, unpack(parents, score.n).T), search.total()


def shared_arcs(dags: Sequence[DAG], share: Fraction) -> DAG:
    """The arcs that at least this share of the minimal I-maps under one order have, in whole
    I-maps rounded down as in the authors' program, and at least one."""
    fusion = fuse(dags)
    least = max(1, int(share * len(dags)))
    names = fusion.union.names
    votes = np.sum([imap.reorder(names).adjacency for imap in fusion.imaps], axis=0)
    return DAG(names, np.asarray(votes >= least))
