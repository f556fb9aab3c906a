"""Iterated local search: XGES-0 and BOSS, then kicks and climbs on counts that mostly are known.

Lourenço, Martin & Stützle 2003, "Iterated local search". The search begins at the DAG that XGES-0
ends with, or at that to which BOSS leads from its order, where that scores more; on at most 40
nodes BOSS then kicks the order, too. A *kick* of the DAG takes the edge away that costs least of
those not yet tried; then the DAG climbs by single edges while the pair is tabu, and again when it
is free. The first climb takes removals before reversals before additions, as XGES-0 takes its
operators; the second takes the best move of all, as `hill_climbing.py` does. Before both climbs a
*walk* reverses covered edges at most two edges away from the pair at random, which leads to another
member of the equivalence class (Chickering 1995; Castelo & Kočka 2003 climb between such walks).
The DAG goes on from there if its score is at least the best one, else from where it was kicked.

When all edges were tried without a better DAG, kicks become stronger, as in a variable
neighbourhood search (Mladenović & Hansen 1997): with the edge they take another one away, drawn
among those into the pair and its neighbours, in the next round two others, and so on up to
`strongest` edges; after a better DAG they begin with one edge again. The search ends when
`patience` kicks were in vain, of which a better DAG forgives half.

A step asks for few new counts, as it looks only at *candidates*: for each node its Markov blanket
in the DAG at the start, and those that would gain most there as a further parent (Friedman, Nachman
& Pe'er 1999 restrict parents so). Ties within 1e-9 (1 + |score|) as in hill climbing; of edges that
cost the same, the first by (child, parent).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fedbn._core.search import Kicks
from fedbn.errors import ConfigError
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.dag import DAG
from fedbn.limits import NOTHING_MET, Limit
from fedbn.scores.base import TabulatedScore
from fedbn.search.boss import boss
from fedbn.search.class_search import ClassSearch
from fedbn.search.constraints import FREE, SearchRules
from fedbn.search.result import SearchResult
from fedbn.search.xges import RELATIVE, xges0

if TYPE_CHECKING:
    from fedbn._core.search import Kicks

_KICKS_BETWEEN_LOOKS_AT_THE_CLOCK = 10
_FEW_NODES = 40


@dataclass(frozen=True)
class KickRules:
    """How the search kicks.

    Parameters
    ----------
    patience : kicks in vain before the search ends; a better DAG halves their number.
    reversals : edges that a walk draws; those that are covered are reversed.
    candidates : further parents that are looked at, per node.
    strongest : edges that a kick takes away at most.

    Raises
    ------
    ConfigError : a number is negative, or `strongest` is 0.
    """

    patience: int = 200
    reversals: int = 30
    candidates: int = 10
    strongest: int = 5

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            least = 1 if name == "strongest" else 0
            if value < least:
                raise ConfigError(f"{name} must be at least {least}, not {value}")


def usual_kicks(n: int) -> KickRules:
    """How the learner `ils` kicks on n nodes: longer and among more candidates on few nodes, where
    a kick takes less time.

    >>> usual_kicks(8).patience, usual_kicks(37).patience, usual_kicks(441).patience
    (450, 450, 200)
    >>> usual_kicks(8).candidates, usual_kicks(76).candidates, usual_kicks(441).candidates
    (20, 14, 10)
    """
    patience, candidates = 22_000 // max(n, 1), 1100 // max(n, 1)
    return KickRules(min(max(patience, 200), 450), candidates=min(max(candidates, 10), 20))


def iterated_local_search(
    score: TabulatedScore,
    rules: SearchRules = FREE,
    *,
    rng: np.random.Generator,
    kicks: KickRules | None = None,
) -> SearchResult:
    """The best DAG that XGES-0, BOSS, kicks and climbs find.

    Parameters
    ----------
    score, rules : those of `xges0`, which `rules` hold for as they do for the kicks.
    rng : for the walks, and for kicks of orders.
    kicks : how long and how far the search goes; None for `usual_kicks`.

    Raises
    ------
    ConfigError : knowledge contradicts the start.

    >>> from fedbn.data.dataset import Dataset, Schema
    >>> from fedbn.scores import make_score
    >>> rows = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]] * 25
    >>> data = Dataset(Schema.categorical({"a": "01", "b": "01", "c": "01"}), rows)
    >>> found = iterated_local_search(make_score("bdeu", data), rng=np.random.default_rng(0))
    >>> found.dag.edges
    (('a', 'b'),)
    """

    deadline = None if rules.seconds is None else time.monotonic() + rules.seconds
    seed = int(rng.integers(1 << 63))
    begun = first_structure(score, rules, rng)
    search = begin_kicks(score, rules, begun.dag, kicks or usual_kicks(score.n), seed)
    budget = None if deadline is None else _KICKS_BETWEEN_LOOKS_AT_THE_CLOCK
    finished = False
    while not finished and (deadline is None or time.monotonic() < deadline):
        finished = search.iterate(budget)
    best = DAG(score.names, unpack(search.hill.best(), score.n).T)
    found = ClassSearch(score, replace(rules, start=best, rng=None)).result()
    met = {Limit.PARENTS} if search.hill.met_max_parents else NOTHING_MET
    met |= NOTHING_MET if finished else {Limit.TIME}
    counters = dict(begun.counters) | {"kicks": search.kicks, "steps": search.hill.steps}
    return replace(found, met=begun.met | met, counters=counters)


def first_structure(
    score: TabulatedScore, rules: SearchRules, rng: np.random.Generator
) -> SearchResult:
    """Where the kicks begin: the best that XGES-0 finds, and BOSS from its order.

    Where BOSS scores more, the table is one of many edges, and on few nodes its order is kicked.
    """
    began = time.monotonic()
    found = [xges0(score, rules)]
    for kicked in (False, True) if score.n <= _FEW_NODES else (False,):
        left = None if rules.seconds is None else rules.seconds - (time.monotonic() - began)
        if left is not None and left <= 0:
            break
        at_best = replace(rules, max_t=None, start=found[-1].dag, seconds=left)
        found.append(boss(score, at_best, rng=rng if kicked else None))
        if not _is_better(found[-1], found[-2]):
            break
    best = found[0]
    for each in found[1:]:
        if _is_better(each, best):
            best = each
    moves = sum(each.counters["moves"] for each in found[1:])
    counters = dict(found[0].counters) | ({"moves": moves} if found[1:] else {})
    return replace(best, met=frozenset().union(*(f.met for f in found)), counters=counters)


def _is_better(one: SearchResult, other: SearchResult) -> bool:
    return one.score > other.score + RELATIVE * (1.0 + abs(other.score))


def begin_kicks(
    score: TabulatedScore, rules: SearchRules, dag: DAG, kicks: KickRules, seed: int
) -> Kicks:
    """The compiled search at `dag`, before the first kick."""
    return Kicks(
        score.core,
        pack(dag.adjacency.T),
        **rules.known.bits(score.names),
        max_parents=rules.max_parents,
        **vars(kicks),
        seed=seed,
    )
