"""The dialogue of choosing by counts where sites have different columns; no network, and no clock
but where a time limit is given.

`open_judged` begins a `JudgedCounting`, which has the methods of `Counting` (`counting.py`). What
differs is what is compared: moves, each by the rows of its judges (`fedbn.choice.judged`). So the
server keeps the counts of every site, or under secure sums those of every block of sites with the
same columns. The first request is about the families of all states of the paths, and about those
that moves from the consensus of the structures compare. Every site is asked for its own families
alone (`whole_families.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from fedbn.arrays import Bools
from fedbn.choice.by_counts import CountedChoice
from fedbn.choice.candidates import CandidateLimits, Candidates, cells_of
from fedbn.choice.choosing_time import ChoosingTime
from fedbn.choice.judged import (
    CountsOfSites,
    JudgedClimb,
    Told,
    begin_judged,
    go_on,
    judged_mechanisms,
    wanted_moves,
)
from fedbn.choice.judged_sums import ScattersOfSites
from fedbn.choice.neighbours import within_limits
from fedbn.errors import ConfigError
from fedbn.federation.choice_record import with_choice
from fedbn.federation.counting import Counting, dialogue_about, open_counting
from fedbn.federation.family_message import FamilyAnswer, FamilyRequest
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import FederationResult
from fedbn.federation.whole_families import Columns, columns_differ, columns_of
from fedbn.networks.family_counts import Family, FamilyTables


@dataclass(frozen=True, eq=False)
class JudgedCounting:
    """The dialogue between two requests; what is not said here is as in `Counting`. With sums of
    products (`judged_summing.py`) it is `next_families` and `look_at`; what is asked in between is
    not its own.

    Attributes
    ----------
    climb : where it is; before the first answer at the consensus of the structures.
    known : what sites told of every family so far, which the climb's scores are of.
    candidates : whose families the first request is about.
    rows : rows by the name of the site that answered, or of the sites that are summed; empty where
        nobody has told any.
    row_weight : of the class whose consensus the climb begins with.
    begun : whether the first families are known.
    time : what of the time limit is gone.
    """

    climb: JudgedClimb
    known: CountsOfSites | ScattersOfSites
    pairs: Bools
    candidates: Candidates
    rounds_left: int
    limits: CandidateLimits
    rows: Mapping[tuple[str, ...], int]
    row_weight: float
    begun: bool = False
    ended: bool = False
    time: ChoosingTime = ChoosingTime()

    def request(self) -> FamilyRequest | None:
        """What is to be asked next, of every site that has all of a family; None at the end."""
        if families := self.next_families():
            return FamilyRequest(FamilyTables(self.climb.schema, families), with_own=True)
        return None

    def next_families(self) -> tuple[Family, ...]:
        """The families that are to be looked at next, none at the end: those that moves from here
        compare, and at first those of the candidates, within the limits, of which some site has all
        columns. Where there are none, those of the moves over all pairs."""
        climb, limits = self.climb, self.limits
        climbed = climb.done or self.rounds_left == 0 or self.time.is_searched
        if self.ended or (self.begun and climbed):
            return ()
        rows = sum(self.rows.values()) if self.rows else None

        def askable(families: Iterable[Family]) -> tuple[Family, ...]:
            somewhere = [family for family in families if climb.judges([family])]
            return within_limits(somewhere, climb.schema, rows, limits)

        wanted = wanted_moves(climb, self.pairs)
        more = () if self.begun else self.candidates.families
        return askable(wanted.union(more)) or askable(wanted_moves(climb))

    def look_at(self, known: CountsOfSites | ScattersOfSites) -> JudgedCounting:
        """The dialogue once what was wanted is known."""
        work, left = self.time.begin(), self.rounds_left
        if self.begun:
            climb, left = go_on(self.climb, known, work.end), left - 1
        else:
            climb = begin_judged(replace(self.climb, known=known), work.end)
        after = replace(self, climb=climb, known=known, rounds_left=left, begun=True)
        return replace(after, time=work.stop())

    def hear(self, answers: Mapping[str, FamilyAnswer]) -> JudgedCounting:
        """The dialogue after the answers of the sites that gave one; at least one."""
        return self.hear_sums({(site,): answers[site] for site in sorted(answers)})

    def hear_sums(self, answers: Mapping[tuple[str, ...], FamilyAnswer]) -> JudgedCounting:
        """The dialogue after the sums over sites that have the same columns, by their names."""
        assert isinstance(self.known, CountsOfSites)
        state, rows = self, {names: each.counts.rows for names, each in answers.items()}
        if not self.begun:
            here = {site for names in rows for site in names}
            columns = {site: own for site, own in self.climb.columns.items() if site in here}
            state = replace(self, climb=replace(self.climb, columns=columns), rows=rows)
        told, whole = _what_sites_told(answers, state.climb)
        if self.begun and not (whole and all(self.rows.get(each) == rows[each] for each in rows)):
            return replace(self, ended=True)
        known = {**self.known.told, **told}
        return state.look_at(replace(self.known, told=MappingProxyType(known)))

    def conclude(self, result: FederationResult) -> FederationResult:
        """The result with what the moves led to; as it was where nobody answered or nothing moved,
        but for the choice."""
        choice = self.choice
        return result if choice is None else with_moves(result, choice)

    @property
    def choice(self) -> CountedChoice | None:
        """What the moves led to; None if nobody answered."""
        if not self.begun:
            return None
        climb, families = self.climb, self.known.families
        return CountedChoice(
            dag=climb.dag,
            score=climb.gain,
            row_weight=self.row_weight,
            candidate_score=0.0,
            mechanisms=judged_mechanisms(climb),
            counts=None,
            requests=1 + climb.rounds,
            families=len(families),
            cells=sum(cells_of(climb.schema, family) for family in families),
            left_out=self.candidates.left_out,
            sites=tuple(sorted(name for names in self.rows for name in names)),
            rows={names[0]: own for names, own in self.rows.items() if len(names) == 1},
            cut_short=self.time.is_searched,
            moves=climb.moves,
            unjudged=tuple(each for each in self.candidates.families if not climb.judges([each])),
        )


def begin_choosing(
    result: FederationResult, settings: ConsensusSettings, ess: float, seed: int
) -> Counting | JudgedCounting:
    """The dialogue before its first request, about what the rounds gave: totals of structures where
    all sites have the same columns (`counting.py`), else moves by their judges; raises as the two
    do."""
    if columns_differ(result):
        return open_judged(result, settings, ess)
    return open_counting(result, settings, ess, seed)


def open_judged(
    result: FederationResult, settings: ConsensusSettings, ess: float
) -> JudgedCounting:
    """The dialogue before its first request, about what the last round gave, with all its classes.

    Of the settings are `choose`, `count_rounds`, `min_judges` and `seconds`. Raises ConfigError
    where a column is to explain how the sites differ.
    """
    if settings.site_column is not None:
        raise ConfigError(
            f"site-column {settings.site_column!r} is for sites with the same columns: no move of "
            "its edges would have a site for a judge"
        )
    opened = dialogue_about(result, settings, ess, seed=0)
    return by_moves(opened, columns_of(result), settings.min_judges)


def by_moves(opened: Counting, columns: Columns, min_judges: int) -> JudgedCounting:
    """The dialogue of the same candidates and limits, about moves, each judged by at least
    `min_judges` of the sites with these columns. It draws nothing, so no seed has a part in it."""
    known = CountsOfSites(opened.schema, opened.ess, {})
    return JudgedCounting(
        climb=JudgedClimb(
            schema=opened.schema,
            columns=columns,
            dag=opened.consensus.dag,
            min_judges=min_judges,
            prior=opened.prior,
            known=known,
            knowledge=opened.knowledge,
        ),
        known=known,
        pairs=opened.pairs,
        candidates=opened.candidates,
        rounds_left=opened.rounds_left,
        limits=opened.limits,
        rows={},
        row_weight=opened.consensus.row_weight,
        time=opened.time,
    )


def with_moves(result: FederationResult, choice: CountedChoice) -> FederationResult:
    """The result with what the moves led to; as it was where nothing moved, but for the choice."""
    return with_choice(result, choice) if choice.moves else replace(result, choice=choice)


def _what_sites_told(
    answers: Mapping[tuple[str, ...], FamilyAnswer], climb: JudgedClimb
) -> tuple[dict[Family, dict[tuple[str, ...], Told]], bool]:
    """What is known of every family that all sites told which have it; whether that are all."""
    found: dict[Family, dict[tuple[str, ...], Told]] = {}
    for names, answer in answers.items():
        counts, own = answer.counts, answer.own
        for family, score in zip(counts.tables.families, own.tolist(), strict=True):
            told = Told(counts.filled_cells(family), score)
            found.setdefault(family, {})[names] = told
    known = {
        family: told
        for family, told in found.items()
        if {site for names in told for site in names} == {*climb.judges([family])}
    }
    return known, len(known) == len(found)
