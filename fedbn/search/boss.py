"""BOSS: best order score search with grow-shrink trees.

Andrews, Ramsey, Sanchez-Romero, Camchong & Kummerfeld 2023 (NeurIPS 36), "Fast scalable and
accurate discovery of DAGs using the best order score search and grow-shrink trees". The score of an
order of the variables is that of the DAG in which every node takes its parents from its
predecessors: it *grows* by the one that gains most until none gains, then *shrinks* by the one
that costs most until none costs. Each node in turn goes to the place where the order scores most,
pass after pass until one changes nothing. At the end Deletes are taken from the class as in the
backward phase of GES, which large-sample optimality rests on.

The first order is drawn at random, or that of a start. A gain counts above 1e-9 (1 + |score|), of
places as good as the best within that the first is taken; a node whose own place is as good stays.

Where that ends the order is *kicked*, as DAGs are in `iterated_local_search.py` (Lourenço, Martin &
Stützle 2003): three nodes at random go to places at random, and the passes begin anew. The search
goes on from the order that this leads to if that scores more by over 1, or the same; less is a
Bayes factor "not worth more than a bare mention" (Kass & Raftery 1995), and on sparse tables it is
mostly an edge too many. `kicks` kicks in a row without such a gain end the search. With none it is
BOSS as published.

Deviations: a trace is followed anew only where it changes, and trees that fill the memory are begun
anew; neither changes what is found. With `candidates`, which is not in the paper, two nodes become
adjacent only where one of them is among those that gain the other most as its only neighbour.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from fedbn._core.search import Boss
from fedbn.errors import ConfigError
from fedbn.graphs.bits import unpack
from fedbn.graphs.dag import DAG
from fedbn.limits import NOTHING_MET, Limit
from fedbn.scores.base import TabulatedScore
from fedbn.scores.counts import MEMORY_MB
from fedbn.search.class_search import ClassSearch
from fedbn.search.constraints import FREE, SearchRules
from fedbn.search.result import SearchResult
from fedbn.search.xges import RELATIVE

_NODES_BETWEEN_LOOKS_AT_THE_CLOCK = 10
_NODES_OF_A_KICK = 3
_WORTH_A_MENTION = 1.0  # of a score that is a log marginal likelihood, or nearly


def usual_kicks(n: int) -> int:
    """After how many kicks in vain the learner `boss` ends on n nodes.

    >>> usual_kicks(20), usual_kicks(100), usual_kicks(5000)
    (40, 20, 0)
    """
    return min(40, 2000 // max(n, 1))


def boss(
    score: TabulatedScore,
    rules: SearchRules = FREE,
    *,
    rng: np.random.Generator | None = None,
    memory_mb: float = MEMORY_MB,
    candidates: int | None = None,
    kicks: int | None = None,
) -> SearchResult:
    """The best DAG that moves of single nodes in an order and kicks find, after a backward phase.

    Parameters
    ----------
    score : from `fedbn.scores.make_score`.
    rules : start, limits and knowledge; no max_t.
    rng : for the first order and for kicks; where there is a start it may be left out, and nothing
        is kicked.
    memory_mb : bound in MB on the trees.
    candidates : neighbours that are considered per node; None for all.
    kicks : in vain in a row before the search ends; None for `usual_kicks`.

    Raises
    ------
    ConfigError : the knowledge contradicts the start, a max_t is given, a number is out of range,
        or there is neither start nor rng.

    >>> from fedbn.data.dataset import Dataset, Schema
    >>> from fedbn.scores import make_score
    >>> rows = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]] * 25
    >>> data = Dataset(Schema.categorical({"a": "01", "b": "01", "c": "01"}), rows)
    >>> boss(make_score("bdeu", data), rng=np.random.default_rng(0)).dag.edges
    (('a', 'b'),)
    """
    patience = usual_kicks(score.n) if kicks is None else kicks
    _require_settings(rules, memory_mb, candidates, patience)
    deadline = None if rules.seconds is None else time.monotonic() + rules.seconds
    search = Boss(
        score.core,
        _first_order(score.names, rules, rng),
        **rules.known.bits(score.names),
        max_parents=rules.max_parents,
        memory=int(memory_mb * (1 << 20)),
        candidates=candidates,
    )
    finished, made = _improve(search, deadline), 0
    if finished and rng is not None:
        kick = partial(_kick, names=score.names, rules=rules, rng=rng)
        finished, made = _improve_kicked(search, kick, patience, deadline)
    dag = DAG(score.names, unpack(search.parents(), score.n).T)
    end = ClassSearch(score, replace(rules, start=dag, seconds=None, rng=None))
    if finished:
        end.climb(("delete",))
    found = end.result()
    met = NOTHING_MET if finished else {Limit.TIME}
    met |= {Limit.PARENTS} if search.met_max_parents else NOTHING_MET
    met |= {Limit.SETS} if search.met_candidates else NOTHING_MET
    counters = dict(found.counters) | {"moves": search.moves, "trees emptied": search.emptied}
    return replace(found, met=found.met | met, counters=counters | {"kicks": made})


def _improve(search: Boss, deadline: float | None) -> bool:
    """Pass after pass; whether there was time until one changed nothing."""
    budget = None if deadline is None else _NODES_BETWEEN_LOOKS_AT_THE_CLOCK
    finished = False
    while not finished and (deadline is None or time.monotonic() < deadline):
        finished = search.improve(budget)
    return finished


def _improve_kicked(
    search: Boss,
    kick: Callable[[list[int]], list[int]],
    patience: int,
    deadline: float | None,
) -> tuple[bool, int]:
    """Kicks until `patience` of them were in vain; whether there was time, and how many there were.

    The search ends at the best order.
    """
    best, order = search.total, search.order.tolist()
    finished, made, vain = True, 0, 0
    while finished and vain < patience:
        search.go_to(kick(order))
        finished = _improve(search, deadline)
        gain = search.total - best
        made, vain = made + 1, 0 if gain > _WORTH_A_MENTION else vain + 1
        if gain > _WORTH_A_MENTION or abs(gain) <= RELATIVE * (1.0 + abs(best)):
            best, order = max(best, search.total), search.order.tolist()
    search.go_to(order)
    return finished, made


def _kick(
    order: list[int], names: tuple[str, ...], rules: SearchRules, rng: np.random.Generator
) -> list[int]:
    """Some nodes at random are at places at random."""
    kicked = list(order)
    for v in rng.choice(order, size=min(_NODES_OF_A_KICK, len(order)), replace=False).tolist():
        kicked.remove(v)
        kicked.insert(int(rng.integers(len(order))), v)
    return _with_required_first(kicked, names, rules)


def _with_required_first(order: list[int], names: tuple[str, ...], rules: SearchRules) -> list[int]:
    """The order changed as little as required edges ask for."""
    if rules.knowledge is None:
        return order
    drawn = [names[i] for i in order]
    required = rules.known.with_required(DAG.empty(drawn))
    return [order[i] for i in required.topological_order()]


def _first_order(
    names: tuple[str, ...], rules: SearchRules, rng: np.random.Generator | None
) -> list[int]:
    """That of the start, or one at random in which required parents come first."""
    if rules.start is not None:
        dag = rules.known.with_required(rules.start.reorder(names))
        return list(dag.topological_order())
    if rng is None:
        raise ConfigError("BOSS begins at an order at random, so it needs a start or an rng")
    return _with_required_first(rng.permutation(len(names)).tolist(), names, rules)


def _require_settings(
    rules: SearchRules, memory_mb: float, candidates: int | None, kicks: int
) -> None:
    if rules.max_t is not None:
        raise ConfigError(f"BOSS has no Insert, so no max_t, got {rules.max_t}")
    if not memory_mb >= 1:
        raise ConfigError(f"the memory of the trees must be at least 1 MB, not {memory_mb}")
    if candidates is not None and candidates < 1:
        raise ConfigError(f"candidates must be at least 1, not {candidates}")
    if kicks < 0:
        raise ConfigError(f"kicks must be at least 0, not {kicks}")
