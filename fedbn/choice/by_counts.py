"""Choosing by exact counts of families: one request, then as many rounds as are allowed.

    candidates_of   classes of states        -> what may become the consensus, families to ask for
    counted_of      counts, their scores     -> what is known of these families
    begin           what is known of them    -> Climb
    neighbours      Climb                    -> families to ask for next
    climb_on        Climb, what is known now -> Climb

All of it is pure: no table, no network, and no clock but where a time limit is given. A family's
score is the larger of *shared* (BDeu of the summed counts: one table for all sites) and *own* (sum
of the sites' BDeu: a table each); where sites are alike this is the pooled BDeu, and where they
differ in some mechanisms it is not misled by the mixture (`fedbn.scores.family_scores`). For
numbers, and tables of numbers and categories, scores of sums of products take their place
(`fedbn.choice.by_scatters`).

A DAG needs its families only, and these may come from different candidates. So after the first
request the consensus is the best DAG over *all counted families* that the ordering search
(`fedbn.search.families`) finds, or one that operators of classes lead to from there
(`fedbn.choice.class_moves`): never below the best candidate, and often far above it. A further
round asks for families near it (`fedbn.choice.neighbours`), and the search goes on among all that
is known. After a round that brought nothing better the next one asks from where one edge less leads
to, too; when that brings nothing, either, the climb ends.

What is maximised is the sum of the families' scores less what a structure of that many edges costs
(`fedbn.choice.prior`); a search pays the price of an edge at the structure that it begins with.
Scores that are reported are without it.

A variable keeps its family of the consensus of the structures where that family is too large to be
counted, or where sums of products give it no score.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from fedbn.arrays import Ints
from fedbn.choice.candidates import Candidate, Candidates, cells_of
from fedbn.choice.class_moves import look_around
from fedbn.choice.prior import FREE, EdgePrior
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.networks.family_counts import (
    Family,
    FamilyCounts,
    FamilyTables,
    counts_of_filled,
    families_of,
)
from fedbn.scores.family_scores import FamilyScores

TOLERANCE = 1e-6
"""Nats: a structure is better when its value is larger by more than this."""

STARTS = 5
"""The neighbours of so many of the best candidates are asked for in the first round."""

RESTARTS = 400
"""Of the ordering search, and two more for each variable."""

FEW_RESTARTS = 20
"""Of the ordering search where what some of the sites choose is compared with what all do."""


@dataclass(frozen=True, eq=False)
class Counted:
    """What is known of one family.

    Attributes
    ----------
    shared, own : scores in nats.
    rows : of all sites together.
    filled : the summed counts, as `FamilyCounts.filled_cells` gives them; None where scores are of
        sums of products.
    """

    shared: float
    own: float
    rows: int
    filled: tuple[Ints, Ints] | None = None

    @property
    def score(self) -> float:
        """The larger of the two scores."""
        return max(self.shared, self.own)


@dataclass(frozen=True, eq=False)
class Climb:
    """The state between two rounds.

    Attributes
    ----------
    schema : the agreed one.
    dag : the best structure so far, over the agreed names.
    value : the sum of its families' scores less what its edges cost, nats.
    candidate : the best of the candidates, with which the search began.
    known : every family counted so far.
    uncounted : families of the consensus of the structures that cannot be counted; they stay.
    starts : other structures whose neighbours the next round asks for, too.
    rounds : how many requests there were after the first.
    stuck : whether the last round brought nothing better.
    done : whether the last two rounds did not.
    knowledge : what every structure keeps: no other family is known, or asked for.
    prior : what edges cost.
    """

    schema: Schema
    dag: DAG
    value: float
    candidate: Candidate
    known: Mapping[Family, Counted]
    uncounted: tuple[Family, ...] = ()
    starts: tuple[DAG, ...] = ()
    rounds: int = 0
    stuck: bool = False
    done: bool = False
    knowledge: Knowledge | None = None
    prior: EdgePrior = FREE

    @property
    def edge_cost(self) -> float:
        """Nats that an edge costs from here (`EdgePrior.an_edge`)."""
        return self.prior.an_edge(self.dag.n_edges)


def counted_of(counts: FamilyCounts, scores: FamilyScores) -> dict[Family, Counted]:
    """What is known of the families of an answer: their counts over all sites, and the scores."""
    return {
        family: Counted(
            float(scores.shared[f]),
            float(scores.own[f]),
            counts.rows,
            counts.filled_cells(family),
        )
        for f, family in enumerate(counts.tables.families)
    }


def begin(
    candidates: Candidates,
    schema: Schema,
    counted: Mapping[Family, Counted],
    rng: np.random.Generator,
    knowledge: Knowledge | None = None,
    prior: EdgePrior = FREE,
    end: float | None = None,
    beside: DAG | None = None,
) -> Climb:
    """The state after the first request.

    Parameters
    ----------
    candidates : whose families were asked for.
    schema : the agreed one.
    counted : what is known of these families.
    rng : for the ordering search.
    knowledge : what the candidates keep.
    prior : what edges cost.
    end : on the monotonic clock; the search begins nothing more then.
    beside : what the sums of all sites chose, where `counted` is of some of them. The better of it
        and the best candidate is where a shorter search begins: what differs then differs for a
        reason, and not because two searches end elsewhere.
    """
    start, order = _at_best_candidate(candidates, schema, counted, knowledge, prior)
    if beside is not None:
        return _search(_better_of(start, beside), rng, end, shortly=True)
    found = _search(start, rng, end)
    return replace(found, starts=tuple(candidates.listed[i].dag for i in order[:STARTS]))


def _at_best_candidate(
    candidates: Candidates,
    schema: Schema,
    counted: Mapping[Family, Counted],
    knowledge: Knowledge | None,
    prior: EdgePrior,
) -> tuple[Climb, list[int]]:
    """The state at the best of the candidates, and their places, the best first."""
    totals = [
        worth_of(candidate.dag, counted, prior, candidates.uncounted)
        for candidate in candidates.listed
    ]
    order = sorted(
        range(len(totals)),
        key=lambda i: (-round(totals[i], 6), candidates.listed[i].state.n_edges, i),
    )
    best = candidates.listed[order[0]]
    state = Climb(
        schema=schema,
        dag=best.dag,
        value=totals[order[0]],
        candidate=best,
        known=MappingProxyType(_keeping(counted, schema, knowledge)),
        uncounted=candidates.uncounted,
        knowledge=knowledge,
        prior=prior,
    )
    return state, order


def climb_on(
    state: Climb,
    counted: Mapping[Family, Counted],
    rng: np.random.Generator,
    end: float | None = None,
) -> Climb:
    """The state after a further round with these families, which `neighbours` named; `end` as in
    `begin`."""
    more = _keeping(counted, state.schema, state.knowledge)
    known = MappingProxyType({**state.known, **more})
    found = _search(replace(state, known=known, starts=(), rounds=state.rounds + 1), rng, end)
    better = found.value > state.value + TOLERANCE
    return replace(found, stuck=not better, done=not better and state.stuck)


def taking(
    state: Climb,
    dag: DAG,
    counted: Mapping[Family, Counted],
    rng: np.random.Generator,
    end: float | None = None,
) -> Climb:
    """The state with another structure's families, and with the structure where it is better.

    Parameters
    ----------
    dag : over the agreed names; it is not taken where a family of it is not known.
    counted : what is known of its families.
    rng : for the ordering search.
    end : as in `begin`.
    """
    more = _keeping(counted, state.schema, state.knowledge)
    wider = replace(state, known=MappingProxyType({**state.known, **more}))
    return _search(_better_of(wider, dag), rng, end)


def at_candidate(state: Climb, candidate: Candidate) -> Climb:
    """The state with a candidate, whatever it is worth."""
    value = worth_of(candidate.dag, state.known, state.prior, state.uncounted)
    return replace(state, dag=candidate.dag, candidate=candidate, value=value)


@dataclass(frozen=True)
class Mechanism:
    """How the sites' parameters of one variable compare in the chosen structure.

    Attributes
    ----------
    variable, parents : names.
    shared : whether one table for all sites explains the rows better than a table each.
    nats : by how much the better explanation is better.
    """

    variable: str
    parents: tuple[str, ...]
    shared: bool
    nats: float


@dataclass(frozen=True)
class JudgedMove:
    """A move that was taken.

    Attributes
    ----------
    kind : insert, delete or turn.
    x, y : names; the move is one of x -> y.
    judges : the sites that have all columns of the families that it changes.
    nats : by how much these are better on the judges' rows.
    """

    kind: str
    x: str
    y: str
    judges: tuple[str, ...]
    nats: float


@dataclass(frozen=True, eq=False)
class CountedChoice:
    """What choosing by counts gave.

    Attributes
    ----------
    dag, score : the chosen structure and the sum of its families' scores, nats.
    row_weight : the class of the candidate that the search began with.
    candidate_score : of that candidate.
    mechanisms : one per variable, in name order; none of a variable whose family is uncounted.
    counts : the summed counts of the structure's families, but for the uncounted; None where sums
        of products chose.
    requests : how often counts were asked for.
    families, cells : how many were asked for in all.
    left_out : the families that the limits left out (`fedbn.choice.candidates`).
    sites : names of the sites whose counts were summed.
    rows : of each of them, where it answered alone; empty under masks.
    unheard : names of the sites whose rows alone would have decided (`fedbn.choice.decisive`): they
        were counted, and left out.
    pivotal, moved : the sites on which the choice hangs, though they do not decide alone, and the
        SMHD from it to what the others choose without them.
    unscored : the families of the structure to which sums of products give no score
        (`fedbn.choice.by_scatters`).
    cut_short : whether the time limit ended the search for the structure.
    unguarded : whether it ended the look at whether the choice hangs on few sites.
    stands : whether it is the consensus of the structures because what counts preferred is better
        by the rows of few sites alone.
    moves : where sites have different columns, the moves from the consensus of the structures to
        the chosen one (`fedbn.choice.judged`); None elsewhere. There is no total then: `score` is
        the sum of their gains, `candidate_score` 0.
    unjudged : where sites have different columns, the families of the candidates that no site has
        all columns of, so that nobody counts them.
    """

    dag: DAG
    score: float
    row_weight: float
    candidate_score: float
    mechanisms: tuple[Mechanism, ...]
    counts: FamilyCounts | None
    requests: int
    families: int
    cells: int
    left_out: tuple[Family, ...]
    sites: tuple[str, ...]
    rows: Mapping[str, int] = field(default_factory=dict)
    unheard: tuple[str, ...] = ()
    pivotal: tuple[str, ...] = ()
    moved: int = 0
    unscored: tuple[Family, ...] = ()
    cut_short: bool = False
    unguarded: bool = False
    stands: bool = False
    moves: tuple[JudgedMove, ...] | None = None
    unjudged: tuple[Family, ...] = ()

    @property
    def uncounted(self) -> tuple[Family, ...]:
        """The families of the structure that the structures alone chose: they are left out, or have
        no score."""
        without = {*self.left_out, *self.unscored}
        return tuple(family for family in families_of([self.dag]) if family in without)


def worth_of(
    dag: DAG, counted: Mapping[Family, Counted], prior: EdgePrior, uncounted: Iterable[Family] = ()
) -> float:
    """The sum of the scores of a structure's families, but for those that cannot be counted, less
    what its edges cost; what is maximised, in nats."""
    families = counted_families(dag, uncounted)
    return math.fsum(counted[each].score for each in families) - prior.of(dag.n_edges)


def choice_of(
    state: Climb,
    candidates: Candidates,
    rows: Mapping[tuple[str, ...], int],
    unheard: tuple[str, ...] = (),
) -> CountedChoice:
    """The result at the end of a climb, or after the first request.

    Parameters
    ----------
    state, candidates : of the dialogue.
    rows : rows by the names of the sites that they were summed over.
    unheard : the sites that were left out.
    """

    def score_of(dag: DAG) -> float:
        return worth_of(dag, state.known, FREE, state.uncounted)

    names = state.dag.names
    mechanisms = []
    for family in counted_families(state.dag, state.uncounted):
        counted = state.known[family]
        mechanisms.append(
            Mechanism(
                variable=names[family.node],
                parents=tuple(names[p] for p in family.parents),
                shared=counted.shared >= counted.own,
                nats=abs(counted.shared - counted.own),
            )
        )
    return CountedChoice(
        dag=state.dag,
        score=score_of(state.dag),
        row_weight=state.candidate.row_weight,
        candidate_score=score_of(state.candidate.dag),
        mechanisms=tuple(mechanisms),
        counts=shared_counts(state),
        requests=1 + state.rounds,
        families=len(state.known),
        cells=sum(cells_of(state.schema, family) for family in state.known),
        left_out=candidates.left_out,
        sites=tuple(name for names in rows for name in names),
        rows={names[0]: own for names, own in rows.items() if len(names) == 1},
        unheard=unheard,
        unscored=tuple(sorted(set(state.uncounted) - set(candidates.left_out))),
    )


def shared_counts(state: Climb) -> FamilyCounts | None:
    """The summed counts of the chosen structure's families, from which its shared tables follow;
    None where sums of products chose."""
    families = counted_families(state.dag, state.uncounted)
    filled = [cells for each in families if (cells := state.known[each].filled) is not None]
    if len(filled) < len(families):
        return None
    return counts_of_filled(FamilyTables(state.schema, families), filled)


def counted_families(dag: DAG, uncounted: Iterable[Family]) -> tuple[Family, ...]:
    """The families of a DAG but for those that cannot be counted."""
    left = set(uncounted)
    return tuple(family for family in families_of([dag]) if family not in left)


def _keeping(
    counted: Mapping[Family, Counted], schema: Schema, knowledge: Knowledge | None
) -> dict[Family, Counted]:
    """The families that keep the knowledge, and that have a score."""
    keeps = family_rule(knowledge, schema.names)
    return {
        family: each
        for family, each in counted.items()
        if keeps(family) and math.isfinite(each.score)
    }


def family_rule(knowledge: Knowledge | None, names: tuple[str, ...]) -> Callable[[Family], bool]:
    """Whether a family has all required and no forbidden parents; a DAG of such keeps it all."""
    if knowledge is None:
        return lambda _: True
    forbidden, required = knowledge.forbidden_matrix(names), knowledge.required_matrix(names)
    needed = [frozenset(np.flatnonzero(column).tolist()) for column in required.T]
    barred = [frozenset(np.flatnonzero(column).tolist()) for column in forbidden.T]
    return lambda of: needed[of.node] <= {*of.parents} and not barred[of.node] & {*of.parents}


def useful_families(state: Climb) -> list[list[tuple[float, tuple[int, ...]]]]:
    """For every node the (cost, parents) of the known families that may be in a best DAG.

    Cost is minus the score, and what the edges cost from here. A family that one with fewer of the
    same parents equals or beats is in no better DAG, so it is left out. A variable with an
    uncounted family has no other; its cost is 0 in every DAG.
    """
    lists: list[list[tuple[float, tuple[int, ...]]]] = [[] for _ in range(state.dag.n)]
    an_edge = state.edge_cost
    for (node, parents), counted in sorted(state.known.items(), key=lambda item: item[0]):
        lists[node].append((an_edge * len(parents) - counted.score, parents))
    useful = [_drop_dominated(pairs) for pairs in lists]
    for node, parents in state.uncounted:
        useful[node] = [(0.0, parents)]
    return useful


def scores_of_one_model(state: Climb) -> dict[Family, float]:
    """The shared scores of all known families, less what edges cost; the own ones if these are
    larger for the structure.

    The larger of both for each family is not the same for all members of a class, as the operators
    of classes need it. An uncounted family has 0.
    """
    of_dag = [state.known[each] for each in counted_families(state.dag, state.uncounted)]
    shared = math.fsum(c.shared for c in of_dag) >= math.fsum(c.own for c in of_dag)
    an_edge = state.edge_cost
    scores = {
        each: (c.shared if shared else c.own) - an_edge * len(each.parents)
        for each, c in state.known.items()
    }
    return scores | dict.fromkeys(state.uncounted, 0.0)


def _search(
    state: Climb, rng: np.random.Generator, end: float | None = None, *, shortly: bool = False
) -> Climb:
    """With the best DAG over the known families that is found from here; once more where it has
    another number of edges, for these then have another price."""
    found = _search_at_one_price(state, rng, end, shortly=shortly)
    while found.edge_cost != state.edge_cost and not is_over(end):
        state, found = found, _search_at_one_price(found, rng, end, shortly=shortly)
    return found


def is_over(end: float | None) -> bool:
    """Whether a time limit on the monotonic clock is over; None: there is none."""
    return end is not None and time.monotonic() >= end


def _search_at_one_price(
    state: Climb, rng: np.random.Generator, end: float | None, *, shortly: bool
) -> Climb:
    """With the best DAG over the known families that the ordering search finds from here."""
    if is_over(end):
        return state
    from fedbn.search.families.families import Families
    from fedbn.search.families.ordering import ordering_search

    families = Families.from_parents(state.dag.names, _with_way_out(useful_families(state), state))
    order = np.array(state.dag.topological_order(), dtype=np.int64)
    left = None if end is None else end - time.monotonic()
    restarts = FEW_RESTARTS if shortly else RESTARTS + 2 * state.dag.n
    _, chosen = ordering_search(families, rng, start=order, restarts=restarts, seconds=left)
    dag = families.dag(chosen)
    if state.knowledge is not None and state.knowledge.breaches(dag):
        return state
    better = _better_of(state, dag)
    return better if is_over(end) else _better_by_classes(better, kicks=not shortly)


def _better_by_classes(state: Climb, *, kicks: bool) -> Climb:
    """With what the operators of classes lead to among the known families."""
    scores = scores_of_one_model(state)
    return _better_of(state, look_around(state.dag, scores, state.knowledge, kicks=kicks)[0])


def _better_of(state: Climb, dag: DAG) -> Climb:
    """With a DAG, if its families are known, but for all that are uncounted, and it is better."""
    families = families_of([dag])
    if not set(state.uncounted) <= set(families) <= {*state.known, *state.uncounted}:
        return state
    value = worth_of(dag, state.known, state.prior, state.uncounted)
    return replace(state, dag=dag, value=value) if value > state.value + TOLERANCE else state


def _with_way_out(
    useful: list[list[tuple[float, tuple[int, ...]]]], state: Climb
) -> list[list[tuple[float, tuple[int, ...]]]]:
    """With a family that no good DAG has for every variable whose only one is uncounted, or of
    which parents are required: else most orders would be no DAG's, and the search would not find
    its way from one to the next."""
    spans = [max(costs) - min(costs) for costs in ([cost for cost, _ in of] for of in useful)]
    dear = 1.0 + math.fsum(spans)
    fixed = {family.node for family in state.uncounted}
    if state.knowledge is not None:
        needing = state.knowledge.required_matrix(state.dag.names).any(axis=0)
        fixed |= set(np.flatnonzero(needing).tolist())
    return [[*of, (dear, ())] if node in fixed else of for node, of in enumerate(useful)]


def _drop_dominated(
    pairs: list[tuple[float, tuple[int, ...]]],
) -> list[tuple[float, tuple[int, ...]]]:
    """The (cost, parents) that no subset of the parents equals or beats."""
    kept: list[tuple[float, tuple[int, ...]]] = []
    for cost, parents in sorted(pairs, key=lambda pair: (len(pair[1]), pair)):
        if not any(other <= cost and set(smaller) <= set(parents) for other, smaller in kept):
            kept.append((cost, parents))
    return kept
