"""The dialogue of choosing by counts, as pure functions on frozen state; no network, and no clock
but where a time limit is given.

    open_counting         result of the rounds                -> Counting
    Counting.request      what is asked next                  -> FamilyRequest, or None at the end
    Counting.hear         the answers of all sites            -> Counting
    Counting.hear_sums    the sums of the answers             -> Counting
    Counting.conclude     the result                          -> it with its choice

Under secure sums the server has the sums alone (`secure_counting.py`). Where sites have different
columns the dialogue is `JudgedCounting`, which has the same methods; `judged_counting.py` takes the
one that fits.

The sites of the first answer are the sites of the whole dialogue: sums over other sites would be of
other rows. Where one of them does not answer again, or counts other rows than before, the dialogue
ends with what is known. So it does where the time limit is over (`fedbn.choice.choosing_time`): the
best structure so far is chosen, and the choice says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from fedbn.arrays import Bools, Ints
from fedbn.choice.by_counts import (
    Climb,
    Counted,
    CountedChoice,
    at_candidate,
    begin,
    choice_of,
    climb_on,
    counted_families,
    counted_of,
    family_rule,
    is_over,
    worth_of,
)
from fedbn.choice.candidates import (
    Candidate,
    CandidateLimits,
    Candidates,
    candidates_of,
    with_column,
)
from fedbn.choice.choosing_time import SEARCHING, ChoosingTime, Work
from fedbn.choice.decisive import verdict_on
from fedbn.choice.further_families import sent_families, voted_families
from fedbn.choice.groups import Groups, confirm_parts, medoid, split_by_structures
from fedbn.choice.neighbours import joined_pairs, neighbours
from fedbn.choice.prior import FREE, EdgePrior
from fedbn.choice.site_sums import Liking, Sites, Sums, Worth, are_few
from fedbn.consensus.threshold import PathState, path_states
from fedbn.consensus.votes import votes_of
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError
from fedbn.federation.choice_record import with_choice
from fedbn.federation.family_message import FamilyAnswer, FamilyRequest
from fedbn.federation.far_sites import far_sites
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import FederationResult
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.networks.family_counts import (
    Family,
    FamilyCounts,
    FamilyTables,
    families_of,
    sum_of_counts,
)
from fedbn.scores.family_scores import FIXED_POINT, family_scores

ClassStates = Sequence[tuple[float, Iterable[PathState]]]
"""The row weight of every class, and its states, both readings of all its paths."""

Told = Mapping[str, tuple[FamilyAnswer, ...]]
"""Site -> its answers, one for each request."""

STREAM = 6
"""Number of the random stream of the ordering search, after the run's seed."""


@dataclass(frozen=True, eq=False)
class Counting:
    """The dialogue between two requests.

    Attributes
    ----------
    schema : the agreed one.
    pairs : bool [n, n], symmetric: the pairs that some site joined.
    consensus : what the structures alone chose.
    candidates : what the first request is about.
    rounds_left : how many further requests there may be.
    ess, seed, limits : of the scores, of the ordering search, and of the tables.
    rows : rows by the name of the site that answered, or of all sites together by the names of all;
        empty before the first answer.
    told : site -> all that it answered; empty where only sums are known.
    unheard, unheard_rows : the sites whose rows alone would decide (`fedbn.choice.decisive`), and
        how many these are: they are asked on, and what they answer is left out.
    pivotal, moved : the sites on which the choice hangs, and how far it would be without them.
    stands : whether the consensus of the structures does, because what counts prefer is better by
        the rows of few sites alone.
    climb : after the first answer.
    site_column : a column that explains how the sites differ; then no family has a table for each
        site, for such tables explain it as well.
    structures : site -> what it sent, where that is known.
    split : two parts of the sites that their structures tell apart, to be looked at by counts.
    groups : the parts, where counts say so, too; then nothing is chosen by counts over both, but by
        those over the larger one if the other is few sites.
    ended : whether nothing more is to be asked.
    knowledge : what the structure keeps.
    prior : what edges must gain.
    time : what of the time limit is gone.
    cut_short, unguarded : whether its end cut a search short, and the look at whether the choice
        hangs on few sites.
    """

    schema: Schema
    pairs: Bools
    consensus: Candidate
    candidates: Candidates
    rounds_left: int
    ess: float
    seed: int
    limits: CandidateLimits
    rows: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    told: Told = field(default_factory=dict)
    unheard: tuple[str, ...] = ()
    unheard_rows: int = 0
    pivotal: tuple[str, ...] = ()
    moved: int = 0
    stands: bool = False
    climb: Climb | None = None
    site_column: str | None = None
    structures: Mapping[str, DAG] = field(default_factory=dict)
    split: Groups | None = None
    groups: Groups | None = None
    ended: bool = False
    knowledge: Knowledge | None = None
    prior: EdgePrior = FREE
    time: ChoosingTime = ChoosingTime()
    cut_short: bool = False
    unguarded: bool = False

    def request(self) -> FamilyRequest | None:
        """What all sites are to be asked next; None when nothing is left to ask."""
        if self.ended:
            return None
        if self.climb is None:
            return FamilyRequest(FamilyTables(self.schema, self.candidates.families), True)
        if self._has_climbed or self.time.is_searched:
            return None
        families = neighbours(self.climb, self.pairs, self.limits)
        return FamilyRequest(FamilyTables(self.schema, families), True) if families else None

    def hear(self, answers: Mapping[str, FamilyAnswer]) -> Counting:
        """The dialogue after the checked answers of the sites that gave one; at least one."""
        work = self.time.begin()
        return replace(self._hear(answers, work), time=work.stop())

    def _hear(self, answers: Mapping[str, FamilyAnswer], work: Work) -> Counting:
        state, first = self, self.climb is None
        if first:
            heard = replace(self, told={site: (answer,) for site, answer in answers.items()})
            rows_of = {site: answer.counts.rows for site, answer in answers.items()}
            state = self._of_groups(heard._confirm(rows_of, work), rows_of)
        if state.ended:
            return state
        given = {site: each for site, each in answers.items() if site not in state.unheard}
        if not given:
            return state._at_its_end()
        rows: dict[tuple[str, ...], int] = {
            (site,): given[site].counts.rows for site in sorted(given)
        }
        heard = state._hear_sums(rows, *_sum(list(given.values())), work)
        if heard.ended or self.site_column is not None:
            return heard
        told = {site: (*self.told.get(site, ()), each) for site, each in given.items()}
        state = replace(heard, told=told)
        return state._without_decisive(work) if first else state

    def hear_sums(self, answers: Mapping[tuple[str, ...], FamilyAnswer]) -> Counting:
        """The dialogue after the sums over all sites, by their names; it ends where their number
        of rows has changed."""
        work, ((names, sums),) = self.time.begin(), answers.items()
        rows = {names: sums.counts.rows}
        heard = self._hear_sums(rows, sums.counts, sums.own, work)
        return replace(heard, time=work.stop())

    def _hear_sums(
        self, rows: Mapping[tuple[str, ...], int], counts: FamilyCounts, own: Ints, work: Work
    ) -> Counting:
        if self.climb is not None and rows != self.rows:
            return self._at_its_end()
        scores = family_scores(counts, own, self.ess)
        if self.site_column is not None:
            scores = replace(scores, own=scores.shared)
        counted = counted_of(counts, scores)
        end = work.search_end
        if self.climb is None:
            climb = self._begin(counted, self.prior, end)
            return replace(self, rows=rows, climb=climb, cut_short=is_over(end))
        rng = np.random.default_rng([self.seed, STREAM, 1 + self.climb.rounds])
        climb, left = climb_on(self.climb, counted, rng, end), self.rounds_left - 1
        return replace(self, climb=climb, rounds_left=left, cut_short=is_over(end))

    def conclude(self, result: FederationResult) -> FederationResult:
        """The result with what the counts chose, or as it was if nobody answered, and with the
        groups that the sites are. Who alone decides is looked at after the first request, and after
        the last."""
        if self.groups is not None:
            result = replace(result, groups=self.groups)
        last = self.climb is not None and self.climb.rounds > 0 and bool(self.told)
        choice = (self._without_decisive(self.time.begin()) if last else self).choice
        return result if choice is None else with_choice(result, choice)

    @property
    def choice(self) -> CountedChoice | None:
        """What the counts chose; None if nobody answered."""
        if self.climb is None:
            return None
        climb = at_candidate(self.climb, self.consensus) if self.stands else self.climb
        choice = choice_of(climb, self.candidates, self.rows, self.unheard)
        return replace(
            choice,
            pivotal=self.pivotal,
            moved=self.moved,
            stands=self.stands,
            cut_short=self.cut_short or (not self._has_climbed and self.time.is_searched),
            unguarded=self.unguarded,
        )

    @property
    def _has_climbed(self) -> bool:
        """Whether there is no further round, however much time is left."""
        return self.rounds_left == 0 or (self.climb is not None and self.climb.done)

    def _at_its_end(self) -> Counting:
        return replace(self, ended=True)

    def _of_groups(self, groups: Groups | None, rows: Mapping[str, int]) -> Counting:
        """The dialogue with the larger of two groups alone, if the other one is few sites; at its
        end otherwise; as it was, if there are none."""
        if groups is None:
            return self
        told = replace(self, groups=groups)
        if not are_few(groups[1], rows):
            return told._at_its_end()
        return replace(told, unheard=groups[1], unheard_rows=sum(rows[s] for s in groups[1]))

    def _confirm(self, rows: Mapping[str, int], work: Work) -> Groups | None:
        """The parts of the sites that told something, where a structure for each is better than a
        common one; see `fedbn.choice.groups`. None where time cut it short: totals that were
        searched for less long cannot be compared."""
        here = [tuple(site for site in part if site in rows) for part in self.split or ()]
        if not (here and all(here)):
            return None

        def best_of(sites: Sites) -> tuple[DAG, float]:
            found = self._best_of(sites, work.search_end)
            return (DAG.empty(self.schema.names), -np.inf) if found is None else found

        parts = confirm_parts((here[0], here[1]), best_of, self._liking((*here[0], *here[1])))
        return None if is_over(work.search_end) else parts

    def _without_decisive(self, work: Work) -> Counting:
        """The dialogue where sites whose rows alone would decide are left out."""
        assert self.climb is not None
        rows, rivals = {site: own for (site,), own in self.rows.items()}, list[DAG]()

        def choice_of(sites: Sites) -> DAG:
            rivals.append(self._choice_of(sites, work.end))
            return rivals[-1]

        sums = Sums(
            rows,
            sum(rows.values()) + self.unheard_rows,
            self._liking(tuple(rows)),
            cache(self._worth_to),
            cache(choice_of),
        )
        candidates = [candidate.dag for candidate in self.candidates.listed]
        of = self.climb.dag, self.consensus.dag, candidates, sums, len(self.unheard)
        verdict = verdict_on(*of, lambda: is_over(work.end))
        better = None if is_over(work.end) else self._better(rivals, sums, work)
        if better is not None:
            return better._without_decisive(work)
        few = verdict.decisive
        if not few:
            return replace(
                self,
                pivotal=verdict.pivotal,
                moved=verdict.moved,
                stands=verdict.stands,
                unguarded=verdict.unended,
            )
        heard = {names: own for names, own in self.rows.items() if names[0] not in few}
        climb = self._begin_anew(tuple(site for (site,) in heard), work.end)
        return replace(
            self,
            rows=heard,
            climb=replace(climb, rounds=self.climb.rounds),
            unheard=tuple(sorted((*self.unheard, *few))),
            unheard_rows=self.unheard_rows + sum(rows[site] for site in few),
            cut_short=self.cut_short or is_over(work.end),
        )._without_decisive(work)

    def _liking(self, sites: Sites) -> Liking:
        """By how much the sites' own scores are for one structure against another, nats; a family
        without a score says nothing."""
        own = {site: self._own_scores(site) for site in sites}

        def nats(site: str, families: Iterable[Family]) -> float:
            return math.fsum(filter(math.isfinite, map(own[site], families)))

        def liking(one: DAG, other: DAG) -> dict[str, float]:
            here, there = (set(families_of([dag])) for dag in (one, other))
            return {site: nats(site, here - there) - nats(site, there - here) for site in own}

        return liking

    def _worth_to(self, sites: Sites) -> Worth:
        """What structures are worth by the sums over some sites; each family's score is found once,
        and only where a structure has it."""
        assert self.climb is not None
        known: dict[Family, Counted] = {}
        uncounted = self.climb.uncounted

        def worth(dag: DAG) -> float:
            new = {family for family in counted_families(dag, uncounted) if family not in known}
            known.update(self._known_to(sites, new))
            return worth_of(dag, known, self.prior, uncounted)

        return worth

    # What sites told, which sums of products tell in another way (`summing.py`).

    def _known_to(
        self, sites: Sites, wanted: Iterable[Family] | None = None
    ) -> dict[Family, Counted]:
        """What is known of these families by the counts of some sites; None: of all that were asked
        for. Families that nobody was asked for are not known."""
        known: dict[Family, Counted] = {}
        for answers in zip(*(self.told[site] for site in sites), strict=True):
            if wanted is not None:
                place = answers[0].counts.tables.place
                here = sorted({family for family in wanted if family in place})
                if not here:
                    continue
                places = [place[family] for family in here]
                tables = FamilyTables(answers[0].counts.tables.schema, tuple(here))
                answers = tuple(
                    FamilyAnswer(answer.counts.over(tables), answer.own[places])
                    for answer in answers
                )
            counts, own = _sum(answers)
            known |= counted_of(counts, family_scores(counts, own, self.ess))
        return known

    def _own_scores(self, site: str) -> Callable[[Family], float]:
        """Family -> the site's own score of it, nats; -inf where it was not counted."""

        def own(family: Family) -> float:
            for answer in self.told[site]:
                place = answer.counts.tables.place.get(family)
                if place is not None:
                    return int(answer.own[place]) / FIXED_POINT
            return -math.inf

        return own

    def _best_of(self, sites: Sites, end: float | None) -> tuple[DAG, float] | None:
        """The best structure by the sums over some sites, and its total; None where none has one.
        Totals of several sets of sites are to be compared."""
        found = self._begin(self._known_to(sites), end=end)
        return found.dag, found.value

    def _begin_anew(self, sites: Sites, end: float | None) -> Climb:
        """The climb over these sites alone, before any further round."""
        return self._begin(self._known_to(sites), self.prior, end)

    def _choice_of(self, sites: Sites, end: float | None) -> DAG:
        """What the sums over some sites choose, looked for from what all sites chose."""
        assert self.climb is not None
        return self._begin(self._known_to(sites), self.prior, end, self.climb.dag).dag

    def _better(self, rivals: Sequence[DAG], sums: Sums, work: Work) -> Counting | None:
        """The dialogue with what is better by the sums of all that are heard than what they chose,
        of what those of some chose: these looked for it from there."""
        return None

    def _begin(
        self,
        counted: Mapping[Family, Counted],
        prior: EdgePrior = FREE,
        end: float | None = None,
        beside: DAG | None = None,
    ) -> Climb:
        rng = np.random.default_rng([self.seed, STREAM, 0])
        of = self.candidates, self.schema, counted, rng, self.knowledge, prior, end, beside
        return begin(*of)


def open_counting(
    result: FederationResult, settings: ConsensusSettings, ess: float, seed: int
) -> Counting:
    """The dialogue before its first request, about what the last round gave, with all its classes.

    Of the settings are `choose`, `count_rounds`, `seconds` and `site_column`. The site column is
    constant within every site: it may be a parent of any other column. Raises ConfigError where it
    is not constant within every site, or is the same everywhere; DataError as `open_dialogue`.
    """
    site_column = settings.site_column
    if site_column is not None and site_column not in result.divided:
        raise ConfigError(
            f"site-column must be constant within every site and differ between sites; "
            f"{site_column!r} is not among {list(result.divided)}"
        )
    structures = {reply.client: reply.dags[0] for reply in result.fused_replies}
    split = _split(result, structures)
    asked_too = families_of([medoid(sites, structures) for sites in split or ()])
    sent = [fused.path.inputs for fused in result.classes]
    voted = voted_families(votes_of(inputs) for inputs in sent)
    asked_too = (*asked_too, *sent_families(sent), *voted)
    if site_column is not None:
        opened = _over_sites(dialogue_about(result, settings, ess, seed), site_column, asked_too)
    else:
        keeps = family_rule(result.path.knowledge, result.schema.names)
        opened = dialogue_about(result, settings, ess, seed, tuple(filter(keeps, asked_too)))
        opened = replace(opened, time=ChoosingTime(settings.seconds, SEARCHING))
    return replace(opened, structures=structures, split=split)


def dialogue_about(
    result: FederationResult,
    settings: ConsensusSettings,
    ess: float,
    seed: int,
    more: Sequence[Family] = (),
) -> Counting:
    """`open_dialogue` about all classes of a result, whose knowledge is kept."""
    return open_dialogue(
        [
            (fused.row_weight, (state for path in fused.paths for state in path_states(path)))
            for fused in result.classes
        ],
        result.schema,
        joined_pairs(dag for fused in result.classes for dag in fused.path.inputs.dags),
        Candidate(result.row_weight, result.consensus.state, result.consensus.dag),
        settings,
        ess=ess,
        seed=seed,
        more=more,
        knowledge=result.path.knowledge,
    )


def _split(result: FederationResult, structures: Mapping[str, DAG]) -> Groups | None:
    """Two parts of the sites that counts should look at: those that had no say in the consensus and
    the rest, or else two groups."""
    if result.consensus.reading == "others":
        far = far_sites(result)
        near = tuple(site for site in sorted(structures) if site not in far)
        if far and near:
            return near, far
    return split_by_structures(structures)


def _over_sites(state: Counting, site_column: str, more: Iterable[Family]) -> Counting:
    """The dialogue where one column may be joined with all others, and explains the sites; `more`
    are families that are asked for, too, with that column and without."""
    column = state.schema.names.index(site_column)
    keeps = family_rule(state.knowledge, state.schema.names)
    both = (
        Family(node, tuple(sorted({*parents, *own})))
        for node, parents in more
        for own in ((), (column,))
        if node != column or not own
    )
    candidates = with_column(
        state.candidates, state.schema, column, state.limits, filter(keeps, both)
    )
    pairs = state.pairs.copy()
    pairs[column], pairs[:, column] = True, True
    pairs[column, column] = False
    return replace(state, candidates=candidates, pairs=pairs, site_column=site_column)


def open_dialogue(
    classes: ClassStates,
    schema: Schema,
    pairs: Bools,
    consensus: Candidate,
    settings: ConsensusSettings,
    *,
    ess: float,
    seed: int,
    limits: CandidateLimits | None = None,
    more: Sequence[Family] = (),
    knowledge: Knowledge | None = None,
) -> Counting:
    """The dialogue before its first request; raises DataError where the columns are numbers.

    Parameters
    ----------
    classes, schema : what may be chosen, and the agreed schema.
    pairs : bool [n, n], symmetric: the pairs that some site joined, where a climb begins.
    consensus : what the structures alone chose.
    settings : of them are `choose` ("counts" makes one request, "climb" as many more as
        `count_rounds`), and `seconds`, the time limit of the server's own work.
    ess, seed : equivalent sample size of BDeu; seed of the run.
    limits : of candidates and tables.
    more : families that are asked for, too, as for `candidates_of`.
    knowledge : what the structure keeps.
    """
    bounds = limits or CandidateLimits()
    preferred = [
        (row_weight, sorted(states, key=lambda state: (state.mean_smhd, state.n_edges)))
        for row_weight, states in classes
    ]
    candidates = candidates_of(preferred, schema, consensus, bounds, more)
    rounds = settings.count_rounds if settings.choose == "climb" else 0
    prior, time = EdgePrior.over(schema.n), ChoosingTime(settings.seconds)
    of = schema, pairs, consensus, candidates, rounds, ess, seed, bounds
    return Counting(*of, knowledge=knowledge, prior=prior, time=time)


def _sum(answers: Sequence[FamilyAnswer]) -> tuple[FamilyCounts, Ints]:
    """The counts and own scores over all sites; whole numbers, so no order matters."""
    counts = sum_of_counts([answer.counts for answer in answers])
    return counts, np.sum([answer.own for answer in answers], axis=0)
