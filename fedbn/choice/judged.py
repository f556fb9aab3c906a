"""Choosing by counts where sites have different columns: moves, each judged by the same rows.

    begin_judged    the consensus of the structures, counts -> JudgedClimb
    wanted_moves    JudgedClimb                             -> families to ask for next
    go_on           JudgedClimb, more counts                -> JudgedClimb

A family is counted by the sites that have all of it, so the scores of two families may be of
different rows. Their difference is then no evidence: a column that few sites have would lose
against any that all have. So no structure has a total here. What is compared is a *move*: Insert,
Delete or Turn of a class of structures (`fedbn.search.operators`), which changes the families of
one variable, or of two. Its *judges* are the sites that have every column of all the families that
it changes, before and after; its gain is the difference of the scores of these families over the
judges' rows alone, each score the larger of shared and own (`fedbn.scores.family_scores`, or of
sums of products `fedbn.choice.judged_sums`), less what the edge more or fewer costs or saves
(`fedbn.choice.prior`). A move is taken where its gain is finite and above 0, the largest first, and
where at least `min_judges` sites judge it. So a structure competes with the consensus of the
structures by a path of moves from there, of which each is better on all rows that can tell.

The rule for a Delete is the one of the structures (`fedbn.consensus.judges`), with pooled rows in
place of a vote. Where each move has judges, and all sites are alike and have many rows, the climb
ends at the class of the truth, as with whole tables: every gain then has the sign that it has
there. Gains of different moves are of different rows, so their sum is no score. A path might come
back to where it was; a class that was left is not entered again.

Without judges there is no move: what the structures say of such a pair stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from fedbn.arrays import Bools, Ints
from fedbn.choice.by_counts import TOLERANCE, JudgedMove, Mechanism, is_over
from fedbn.choice.prior import EdgePrior
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.known_class import member_that_keeps
from fedbn.graphs.pdag import PDAG, consistent_extension, dag_to_cpdag
from fedbn.networks.family_counts import Family, FamilyCounts, FamilyTables, families_of
from fedbn.scores.family_scores import FIXED_POINT, bdeu_of_counts
from fedbn.search.operators import Delete, Insert, Operator, Turn

SET = 4
"""Neighbours that one move directs at most."""


@dataclass(frozen=True, eq=False)
class Told:
    """What one site told of one family, or some sites together.

    Attributes
    ----------
    filled : the counts, as `FamilyCounts.filled_cells` gives them.
    own : the sum of their own scores, in units of 1 / FIXED_POINT nats.
    """

    filled: tuple[Ints, Ints]
    own: int


class KnownScores(Protocol):
    """The families that are known, and their scores over the rows of sites that have them."""

    def __contains__(self, family: Family, /) -> bool:
        """Whether all sites that have it, at least one, told what its scores need."""

    def both(self, family: Family, sites: tuple[str, ...]) -> tuple[float, float]:
        """(shared, own) of a known family, in nats."""


@dataclass(frozen=True, eq=False)
class JudgedClimb:
    """The state between two rounds.

    Attributes
    ----------
    schema : the agreed one.
    columns : site -> its columns, as places in the schema; of the sites that answer.
    dag : the structure so far.
    min_judges : how many sites must judge a move.
    prior : what edges must gain.
    known : every family that a score is known of so far.
    moves : that led here from the consensus of the structures.
    left : the classes that were there on the way, as bytes.
    rounds, stuck, done : as in `fedbn.choice.by_counts.Climb`.
    knowledge : what every structure keeps.
    """

    schema: Schema
    columns: Mapping[str, frozenset[int]]
    dag: DAG
    min_judges: int
    prior: EdgePrior
    known: KnownScores
    moves: tuple[JudgedMove, ...] = ()
    left: frozenset[bytes] = frozenset()
    rounds: int = 0
    stuck: bool = False
    done: bool = False
    knowledge: Knowledge | None = None

    @property
    def gain(self) -> float:
        """The sum of the gains, nats: each is of its own rows, so this is no score."""
        return math.fsum(move.nats for move in self.moves)

    def judges(self, families: Iterable[Family]) -> tuple[str, ...]:
        """The sites that have every column of these families, sorted."""
        needed = frozenset().union(*({node, *parents} for node, parents in families))
        return tuple(site for site in sorted(self.columns) if needed <= self.columns[site])


def begin_judged(state: JudgedClimb, end: float | None = None) -> JudgedClimb:
    """The state after the first request, from the consensus of the structures on; no move begins
    after an end on the monotonic clock."""
    return _climb(state, end)


def go_on(state: JudgedClimb, known: KnownScores, end: float | None = None) -> JudgedClimb:
    """The state after a further round; `known` is what is known now, with what was before."""
    found = _climb(replace(state, known=known, rounds=state.rounds + 1), end)
    better = len(found.moves) > len(state.moves)
    return replace(found, stuck=not better, done=not better and state.stuck)


def wanted_moves(state: JudgedClimb, pairs: Bools | None = None) -> set[Family]:
    """The families that moves from here compare, and that are not known.

    Parameters
    ----------
    pairs : bool [n, n], symmetric: the pairs that some site joined, over which there are Inserts,
        and over those at most two edges apart. Over all pairs where None are given, and once
        stuck.
    """
    allowed = _all_pairs(state.dag.n)
    if pairs is not None and not state.stuck:
        allowed = pairs | _near(state.dag)
    cpdag, found = dag_to_cpdag(state.dag), set[Family]()
    for move in _moves_around(cpdag, allowed):
        families = _families_of(move, cpdag)
        new = [family for family in families if family not in state.known]
        if not new or len(state.judges(families)) < state.min_judges:
            continue
        if move.is_valid(cpdag):
            found.update(new)
    return found


def judged_mechanisms(state: JudgedClimb) -> tuple[Mechanism, ...]:
    """One for each variable whose family has a score, by the sites that have all of it."""
    names = state.dag.names
    found = []
    for family in families_of([state.dag]):
        if family in state.known:
            shared, own = state.known.both(family, state.judges([family]))
            if not math.isfinite(max(shared, own)):
                continue
            parents = tuple(names[p] for p in family.parents)
            found.append(Mechanism(names[family.node], parents, shared >= own, abs(shared - own)))
    return tuple(found)


def _climb(state: JudgedClimb, end: float | None) -> JudgedClimb:
    """With all moves among the known families, until then."""
    while not is_over(end) and (found := _best_move(state)) is not None:
        move, dag = found
        left = state.left | {_key(dag_to_cpdag(state.dag))}
        state = replace(state, dag=dag, moves=(*state.moves, move), left=left)
    return state


def _best_move(state: JudgedClimb) -> tuple[JudgedMove, DAG] | None:
    """The move of largest finite gain above 0, and where it leads; ties by kind, x, y and set."""
    cpdag, names = dag_to_cpdag(state.dag), state.dag.names
    costs = {more: state.prior.of(state.dag.n_edges + more) for more in (-1, 0, 1)}
    ranked = []
    for move in _moves_around(cpdag, _all_pairs(cpdag.n)):
        families = _families_of(move, cpdag)
        if any(family not in state.known for family in families):
            continue
        judges = state.judges(families)
        if len(judges) < max(1, state.min_judges):
            continue
        gain = move.gain(_OfJudges(names, state.known, judges), cpdag)
        gain += costs[0] - costs[_edges_more(move)]
        if TOLERANCE < gain < math.inf:
            ranked.append((-round(gain, 6), *_order(move), gain, move, judges))
    ranked.sort(key=lambda each: each[:-3])
    for *_, gain, move, judges in ranked:
        if not move.is_valid(cpdag):
            continue
        target = move.apply(cpdag)
        dag = None if _key(target) in state.left else _member(target, state.knowledge)
        if dag is not None:
            return JudgedMove(move.kind, names[move.x], names[move.y], judges, gain), dag
    return None


def _member(cpdag: PDAG, knowledge: Knowledge | None) -> DAG | None:
    """A DAG of the class that keeps the knowledge."""
    dag = consistent_extension(cpdag)
    return dag if knowledge is None else member_that_keeps(dag, knowledge)


def _key(cpdag: PDAG) -> bytes:
    return np.packbits(cpdag.adjacency).tobytes()


def _order(move: Operator) -> tuple[str, int, int, tuple[int, ...]]:
    """By which moves of equal gain are ordered."""
    return move.kind, move.x, move.y, tuple(sorted(_set_of(move)))


def _set_of(move: Operator) -> frozenset[int]:
    match move:
        case Insert():
            return move.T
        case Delete():
            return move.H
        case Turn():
            return move.C


def _edges_more(move: Operator) -> int:
    match move:
        case Insert():
            return 1
        case Delete():
            return -1
        case Turn():
            return 0


def _all_pairs(n: int) -> Bools:
    return np.ones((n, n), dtype=np.bool_)


def _near(dag: DAG) -> Bools:
    """bool [n, n]: the pairs at most two edges apart."""
    joined = dag.adjacency | dag.adjacency.T | np.eye(dag.n, dtype=np.bool_)
    return np.asarray((joined.astype(np.int64) @ joined) > 0)


# --- scores over the rows of some sites ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CountsOfSites:
    """BDeu of counts, each family's over the same sites found once.

    Parameters
    ----------
    schema : the agreed one.
    ess : equivalent sample size.
    told : family -> sites -> what they told together: all that have the family, or else nothing of
        it. Sites that are together have the same columns, so they judge together.
    """

    schema: Schema
    ess: float
    told: Mapping[Family, Mapping[tuple[str, ...], Told]]

    @property
    def families(self) -> frozenset[Family]:
        """Those that are known."""
        return frozenset(self.told)

    def __contains__(self, family: Family, /) -> bool:
        return family in self.told

    def both(self, family: Family, sites: tuple[str, ...]) -> tuple[float, float]:
        """(shared, own) of a known family, in nats; of one site the same, as none is rounded."""
        key = family, sites
        if key not in self._found:
            told = [each for names, each in self.told[family].items() if names[0] in sites]
            counts = _sum(FamilyTables(self.schema, (family,)), [each.filled for each in told])
            shared = float(bdeu_of_counts(counts, self.ess)[0])
            own = sum(each.own for each in told) / FIXED_POINT if len(sites) > 1 else shared
            self._found[key] = shared, own
        return self._found[key]

    @cached_property
    def _found(self) -> dict[tuple[Family, tuple[str, ...]], tuple[float, float]]:
        return {}


def _sum(tables: FamilyTables, filled: Sequence[tuple[Ints, Ints]]) -> FamilyCounts:
    """The counts of one family over sites."""
    places = np.unique(np.concatenate([own for own, _ in filled]))
    counts = np.zeros(places.size, dtype=np.int64)
    for own, cells in filled:
        counts[np.searchsorted(places, own)] += cells
    return FamilyCounts(tables, places, counts)


@dataclass(frozen=True)
class _OfJudges:
    """What families are worth in the judges' rows: the larger of shared and own."""

    names: tuple[str, ...]
    known: KnownScores
    judges: tuple[str, ...]

    @property
    def n(self) -> int:
        return len(self.names)

    def local_score(self, node: int, parents: Iterable[int]) -> float:
        return max(self.known.both(Family(node, tuple(sorted(parents))), self.judges))


@dataclass(frozen=True)
class _Noted:
    """No score: it notes the families whose scores a move is the difference of."""

    names: tuple[str, ...]
    note: Callable[[Family], None]

    @property
    def n(self) -> int:
        return len(self.names)

    def local_score(self, node: int, parents: Iterable[int]) -> float:
        self.note(Family(node, tuple(sorted(parents))))
        return 0.0


def _families_of(move: Operator, cpdag: PDAG) -> list[Family]:
    """The families that a move changes, after and before."""
    found: list[Family] = []
    move.gain(_Noted(cpdag.names, found.append), cpdag)
    return found


# --- the moves ----------------------------------------------------------------------------------


def _moves_around(cpdag: PDAG, pairs: Bools) -> Iterator[Operator]:
    """All valid Inserts over these pairs, Deletes and Turns, and some that are not valid."""
    arcs = cpdag.adjacency
    joined = [set(np.flatnonzero(row).tolist()) for row in arcs | arcs.T]
    open_to = [set(np.flatnonzero(row).tolist()) for row in arcs & arcs.T]
    for x, y in np.argwhere(pairs | arcs | arcs.T).tolist():
        if x == y:
            continue
        common = frozenset(open_to[y] & joined[x])
        if x not in joined[y]:
            if _is_clique(common, joined):
                free = [t for t in sorted(open_to[y] - joined[x]) if common <= joined[t]]
                for chosen in _cliques(free, joined):
                    yield Insert(x, y, chosen)
            continue
        if arcs[x, y]:
            for kept in _cliques(sorted(common), joined, len(common)):
                if len(common - kept) <= SET:
                    yield Delete(x, y, common - kept)
        if arcs[y, x]:
            for chosen in _cliques(sorted(open_to[y] - {x}), joined):
                yield Turn(x, y, chosen)


def _cliques(
    nodes: Sequence[int], joined: Sequence[set[int]], most: int = SET
) -> Iterator[frozenset[int]]:
    """The sets of at most so many of the nodes that are pairwise joined, the empty one first."""
    yield frozenset()
    if most == 0:
        return
    for k, first in enumerate(nodes):
        others = [v for v in nodes[k + 1 :] if v in joined[first]]
        for rest in _cliques(others, joined, most - 1):
            yield rest | {first}


def _is_clique(nodes: Iterable[int], joined: Sequence[set[int]]) -> bool:
    members = list(nodes)
    return all(b in joined[a] for k, a in enumerate(members) for b in members[k + 1 :])
