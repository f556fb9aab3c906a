"""Choosing by sums of products, for numbers and for tables of numbers and categories.

What counts are for categories, sums of products within sites are here (`fedbn.scores.scatter`): a
family's score is the larger of *shared* (mixed BIC of the sums over all sites: coefficients for all
of them) and *own* (the sum of the sites' mixed BIC: coefficients for each). Means are each site's
own in both, so laboratories that are shifted against each other do no harm. The residual covariance
of a block of w columns costs w (w + 1) / 2 parameters, once or at each site: mixed BIC leaves it
out, as it is the same for all parents, but it is not the same for shared and own.

The sums of all pairs of columns give the score of every family. So one request is enough, and a
climb goes on, asking nobody, until it ends; it also looks at what GES finds on the shared scores,
which is GES on all rows less their sites' means.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bools, Floats
from fedbn.choice.by_counts import Climb, Counted, begin, climb_on, is_over, taking
from fedbn.choice.candidates import CandidateLimits, Candidates
from fedbn.choice.neighbours import neighbours
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.networks.family_counts import Family, families_of
from fedbn.scores.base import TabulatedScore
from fedbn.scores.family_scores import FIXED_POINT, rounded_down
from fedbn.scores.mixed import block_widths, mixed_from_covariance
from fedbn.scores.scatter import Scatter, sum_of_scatters
from fedbn.search.constraints import SearchRules
from fedbn.search.ges import ges

ROUNDS = 50
"""Rounds of a climb at most."""


@dataclass(frozen=True, eq=False)
class OwnScores:
    """Mixed BIC of the sites, each by itself; each family is scored once, whoever asks.

    Attributes
    ----------
    sites : the scores of each site's sums.
    costs : float64 [sites, n], of the residual covariances, in nats.
    """

    sites: tuple[TabulatedScore, ...]
    costs: Floats
    _of_sets: dict[tuple[int, ...], Floats] = field(default_factory=dict, repr=False)
    _of_families: dict[Family, Floats] = field(default_factory=dict, repr=False)

    def units(self, family: Family) -> Floats:
        """Whole 1 / `FIXED_POINT` nats of each site, float64 [sites]; -inf where it refuses.

        As of counts (`fedbn.scores.family_scores`), what a site's score is the difference of is
        rounded down to whole units: the scores of all columns together, and of the parents; or the
        score itself, where a parent is determined by the others.
        """
        if family not in self._of_families:
            self._of_families[family] = self._units(family)
        return self._of_families[family]

    def _units(self, family: Family) -> Floats:
        node, parents = family
        alone = np.array([each.local_score(*family) for each in self.sites]) - self.costs[:, node]
        refused = ~np.isfinite(alone)
        whole, above = self._of_set(tuple(sorted((*parents, node)))), self._of_set(parents)
        has_both = np.isfinite(whole) & np.isfinite(above)
        units = rounded_down(np.where(refused, 0.0, np.where(has_both, whole, alone)))
        units -= rounded_down(np.where(has_both, above, 0.0))
        return np.where(refused, -np.inf, units.astype(np.float64))

    def _of_set(self, columns: tuple[int, ...]) -> Floats:
        """The score of each site for a complete DAG over some variables, ascending; -inf where one
        is determined by those before it."""
        if not columns:
            return np.zeros(len(self.sites))
        if columns not in self._of_sets:
            before, last = columns[:-1], columns[-1]
            scores: Floats = np.array([each.local_score(last, before) for each in self.sites])
            self._of_sets[columns] = self._of_set(before) + scores - self.costs[:, last]
        return self._of_sets[columns]


@dataclass(frozen=True, eq=False)
class ScatterScores:
    """Mixed BIC of sums over sites.

    Attributes
    ----------
    shared : of the sums over all of them.
    shared_costs : float64 [n], of the residual covariances, in nats.
    own : of each site, and perhaps of others.
    places : int [sites], of the sites among those.
    """

    shared: TabulatedScore
    shared_costs: Floats
    own: OwnScores
    places: NDArray[np.intp]

    def score_all(self, families: Iterable[Family]) -> dict[Family, Counted]:
        """Family -> its scores."""
        return {family: self._score(family) for family in families}

    def score_until(self, families: Iterable[Family], end: float | None) -> dict[Family, Counted]:
        """The scores of the first of these families, as many as there is time for."""
        return self.score_all(takewhile(lambda _: not is_over(end), families))

    def shared_score(self, family: Family) -> float:
        """Of the sums over all sites, nats; -inf where the family is refused."""
        return self.shared.local_score(*family) - float(self.shared_costs[family.node])

    def own_score(self, family: Family) -> float:
        """The sum of the sites' own, nats; -inf where some site refuses the family."""
        return float(self.own.units(family)[self.places].sum()) / FIXED_POINT

    def _score(self, family: Family) -> Counted:
        shared = self.shared_score(family)
        own = self.own_score(family) if len(self.places) > 1 else shared
        return scores_of_family(shared, own, self.shared.n_rows)


def scores_of_family(shared: float, own: float, rows: int) -> Counted:
    """The two scores of a family, nats.

    One that is refused, shared or at some site by itself (a member determined by the others), has
    the other score for both; -inf where both are refused.
    """
    known = [score for score in (shared, own) if math.isfinite(score)]
    instead = known[0] if known else -math.inf
    return Counted(
        shared if math.isfinite(shared) else instead, own if math.isfinite(own) else instead, rows
    )


def scatter_scores(schema: Schema, scatters: Sequence[Scatter]) -> ScatterScores:
    """The scores of what the sites sent.

    Parameters
    ----------
    schema : the agreed one.
    scatters : of each site, at least one.
    """
    return scores_of_some(schema, scatters, own_scores(schema, scatters), range(len(scatters)))


def own_scores(schema: Schema, scatters: Sequence[Scatter]) -> OwnScores:
    """The scores of each site by itself."""
    return OwnScores(
        tuple(_score(schema, each) for each in scatters),
        np.array([_costs(schema, each) for each in scatters]),
    )


def scores_of_some(
    schema: Schema, scatters: Sequence[Scatter], own: OwnScores, places: Sequence[int]
) -> ScatterScores:
    """The scores of the sums over some of the sites; `own` is of all of them."""
    together = sum_of_scatters([scatters[place] for place in places])
    return ScatterScores(
        _score(schema, together), _costs(schema, together), own, np.array(places, dtype=np.intp)
    )


def _score(schema: Schema, scatter: Scatter) -> TabulatedScore:
    covariance = scatter.products / scatter.rows
    (found,) = mixed_from_covariance(schema.names, block_widths(schema), covariance, scatter.rows)
    return found


def _costs(schema: Schema, scatter: Scatter) -> Floats:
    """What the residual covariance of each block costs; constants and unseen states are away."""
    varies = np.diag(scatter.products) > 0
    blocks = np.split(varies, np.cumsum(block_widths(schema))[:-1])
    sizes = np.array([int(block.sum()) for block in blocks])
    found: Floats = 0.5 * math.log(scatter.rows) * sizes * (sizes + 1) / 2
    return found


def chosen_by_scatters(
    candidates: Candidates,
    schema: Schema,
    scores: ScatterScores,
    pairs: Bools,
    rng: np.random.Generator,
    *,
    consensus: DAG | None,
    climbs: bool,
    knowledge: Knowledge | None = None,
    limits: CandidateLimits | None = None,
    seconds: float | None = None,
) -> Climb | None:
    """The best structure that is found; None where every candidate has a refused family, unless
    the consensus is given.

    Parameters
    ----------
    scores : of the same columns as the schema.
    seconds : time limit, wall clock; what was found until then is taken. The families of the
        candidates are scored in any case, and what has begun ends.

    The others are those of `choosing_by_scatters`.
    """
    end = None if seconds is None else time.monotonic() + seconds
    choosing = choosing_by_scatters(
        candidates,
        schema,
        scores.shared,
        pairs,
        rng,
        consensus=consensus,
        climbs=climbs,
        knowledge=knowledge,
        limits=limits,
        left=lambda: None if end is None else end - time.monotonic(),
    )
    try:
        wanted = next(choosing)
        while True:
            until = end if wanted.may_lack else None
            wanted = choosing.send(scores.score_until(wanted.families, until))
    except StopIteration as stop:
        found: Climb | None = stop.value
        return found


class Wanted(NamedTuple):
    """Families whose scores are wanted, and whether any of them may be left out."""

    families: Iterable[Family]
    may_lack: bool = False


Choosing = Generator[Wanted, Mapping[Family, Counted], Climb | None]


def choosing_by_scatters(
    candidates: Candidates,
    schema: Schema,
    shared: TabulatedScore,
    pairs: Bools,
    rng: np.random.Generator,
    *,
    consensus: DAG | None,
    climbs: bool,
    knowledge: Knowledge | None = None,
    limits: CandidateLimits | None = None,
    rounds: int = ROUNDS,
    left: Callable[[], float | None] = lambda: None,
) -> Choosing:
    """The same as a dialogue: yields families, is sent their scores, ends with what is found: None
    where it is sent no score of the first families, what it has where it is sent none later.

    A refused family of the consensus stays, as one that cannot be counted does: no time limit and
    no other candidate loses what the structures alone have.

    Parameters
    ----------
    candidates : what the structures gave, and the families that are looked at first.
    schema : the agreed one.
    shared : mixed BIC of the sums over all sites.
    pairs : bool [n, n], symmetric: the pairs that some site joined.
    rng : for the ordering search.
    consensus : what the structures alone chose, a candidate; None where totals of several sets of
        sites are to be compared, for which no family may be left out.
    climbs : whether to go on beyond the families of the candidates.
    knowledge : what the candidates keep.
    limits : of the families that a climb looks at.
    rounds : of a climb, at most, after what GES finds.
    left : how many seconds of the time limit are left; None: there is none.
    """
    scores = yield Wanted(candidates.families)
    usable, counted = _usable(candidates, scores, consensus)
    if not (scores and usable.listed):
        return None
    state = begin(usable, schema, counted, rng, knowledge, end=_end(left))
    if not climbs:
        return state
    pooled = _ges_on_shared(state, shared, left())
    if pooled is not None:
        scored = yield Wanted(families_of([pooled]))
        state = taking(state, pooled, scored, rng, _end(left))
    for _ in range(rounds):
        families = () if state.done or is_over(_end(left)) else neighbours(state, pairs, limits)
        scored = (yield Wanted(families, may_lack=True)) if families else {}
        if not scored:
            break
        state = climb_on(state, scored, rng, _end(left))
    return state


def _end(left: Callable[[], float | None]) -> float | None:
    """The end of a time limit on the monotonic clock."""
    seconds = left()
    return None if seconds is None else time.monotonic() + seconds


def _usable(
    candidates: Candidates, counted: Mapping[Family, Counted], consensus: DAG | None
) -> tuple[Candidates, dict[Family, Counted]]:
    """The candidates that have a score but for the families of the consensus that are refused or
    were left out, and these; with the families of the other variables."""
    scored = {each for each, found in counted.items() if math.isfinite(found.score)}

    def refusals(dag: DAG) -> set[Family]:
        return set(families_of([dag])) - scored

    kept = set() if consensus is None else refusals(consensus)
    usable = tuple(each for each in candidates.listed if refusals(each.dag) == kept)
    fixed = {family.node for family in kept}
    others = {each: scores for each, scores in counted.items() if each.node not in fixed}
    return replace(candidates, listed=usable, uncounted=tuple(sorted(kept))), others


def _ges_on_shared(state: Climb, shared: TabulatedScore, left: float | None) -> DAG | None:
    """What GES finds on the shared scores; half of the seconds that are left are for it."""
    if left is not None and left <= 0:
        return None
    seconds = None if left is None else left / 2
    return ges(shared, SearchRules(knowledge=state.knowledge, seconds=seconds)).dag
