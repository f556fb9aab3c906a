"""The dialogue of choosing by counts where sites have different columns; no network, and no clock
but where a time limit is given.

`open_judged` begins a `JudgedCounting`, which has the methods of `Counting` (`counting.py`). What
differs is what is compared: moves, each by the rows of its judges (`fedbn.choice.judged`). So the
server keeps every site's counts, and no sums. The first request is about the families of all states
of the paths, and about those that moves from the consensus of the structures compare. Every site is
asked for its own families alone (`whole_families.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from fedbn.arrays import Bools
from fedbn.choice.by_counts import CountedChoice
from fedbn.choice.candidates import (
    Candidate,
    CandidateLimits,
    Candidates,
    candidates_of,
    cells_of,
)
from fedbn.choice.choosing_time import ChoosingTime
from fedbn.choice.judged import (
    CountsOfSites,
    JudgedClimb,
    KnownScores,
    Told,
    begin_judged,
    go_on,
    judged_mechanisms,
    wanted_moves,
)
from fedbn.choice.neighbours import joined_pairs, within_limits
from fedbn.choice.prior import EdgePrior
from fedbn.errors import ConfigError
from fedbn.federation.choice_record import with_choice
from fedbn.federation.counting import states_of_classes
from fedbn.federation.family_message import FamilyAnswer, FamilyRequest
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import FederationResult
from fedbn.federation.whole_families import columns_of
from fedbn.networks.family_counts import Family, FamilyTables


@dataclass(frozen=True, eq=False)
class JudgedCounting:
    """The dialogue between two requests; what is not said here is as in `Counting`.

    Attributes
    ----------
    climb : where it is; before the first answer at the consensus of the structures.
    known : what sites told of every family so far, which the climb's scores are of.
    candidates : whose families the first request is about.
    rows : rows by the name of the site that answered; empty before the first answer.
    time : what of the time limit is gone.
    """

    climb: JudgedClimb
    known: CountsOfSites
    pairs: Bools
    candidates: Candidates
    rounds_left: int
    limits: CandidateLimits
    rows: Mapping[str, int]
    ended: bool = False
    time: ChoosingTime = ChoosingTime()

    def request(self) -> FamilyRequest | None:
        """What is to be asked next, of every site that has all of a family; None at the end."""
        climb = self.climb
        if self.ended or (self.rows and (self._has_climbed or self.time.is_searched)):
            return None
        more = () if self.rows else self.candidates.families
        rows = sum(self.rows.values()) if self.rows else None
        families = families_to_look_at(climb, self.pairs, rows, self.limits, more)
        return (
            FamilyRequest(FamilyTables(climb.schema, families), with_own=True) if families else None
        )

    def hear(self, answers: Mapping[str, FamilyAnswer]) -> JudgedCounting:
        """The dialogue after the answers of the sites that gave one; at least one."""
        work = self.time.begin()
        return replace(self._hear(answers, work.end), time=work.stop())

    def _hear(self, answers: Mapping[str, FamilyAnswer], end: float | None) -> JudgedCounting:
        first, climb = not self.rows, self.climb
        rows = {site: answers[site].counts.rows for site in sorted(answers)}
        if first:
            climb = replace(climb, columns={site: climb.columns[site] for site in rows})
        told, whole = _what_sites_told(answers, climb)
        known = replace(self.known, told=MappingProxyType({**self.known.told, **told}))
        if first:
            climb = begin_judged(replace(climb, known=known), end)
            return replace(self, climb=climb, known=known, rows=rows)
        if not whole or any(self.rows.get(site) != own for site, own in rows.items()):
            return replace(self, ended=True)
        left = self.rounds_left - 1
        return replace(self, climb=go_on(climb, known, end), known=known, rounds_left=left)

    def conclude(self, result: FederationResult) -> FederationResult:
        """The result with what the moves led to; as it was where nobody answered or nothing moved,
        but for the choice."""
        if not self.rows:
            return result
        return with_moves(
            result,
            self.climb,
            self.known.told,
            self.candidates.left_out,
            self.rows,
            cut_short=self.time.is_searched,
        )

    @property
    def _has_climbed(self) -> bool:
        """Whether there is no further round, however much time is left."""
        return self.climb.done or self.rounds_left == 0


def open_judged(
    result: FederationResult,
    settings: ConsensusSettings,
    ess: float,
    limits: CandidateLimits | None = None,
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
    bounds, known = limits or CandidateLimits(), CountsOfSites(result.schema, ess, {})
    return JudgedCounting(
        climb=climb_from(result, settings, known, EdgePrior.over(result.schema.n)),
        known=known,
        pairs=pairs_of(result),
        candidates=candidates_near(result, bounds),
        rounds_left=settings.count_rounds if settings.choose == "climb" else 0,
        limits=bounds,
        rows={},
        time=ChoosingTime(settings.seconds),
    )


def climb_from(
    result: FederationResult, settings: ConsensusSettings, known: KnownScores, prior: EdgePrior
) -> JudgedClimb:
    """A climb before its first move, at the consensus of the structures."""
    return JudgedClimb(
        schema=result.schema,
        columns=columns_of(result),
        dag=result.consensus.dag,
        min_judges=settings.min_judges,
        prior=prior,
        known=known,
        knowledge=result.path.knowledge,
    )


def pairs_of(result: FederationResult) -> Bools:
    """The pairs that some structure of some class joins."""
    return joined_pairs(dag for fused in result.classes for dag in fused.path.inputs.dags)


def candidates_near(result: FederationResult, limits: CandidateLimits) -> Candidates:
    """The states of all classes, whose families are looked at first."""
    consensus = Candidate(result.row_weight, result.consensus.state, result.consensus.dag)
    return candidates_of(states_of_classes(result), result.schema, consensus, limits)


def families_to_look_at(
    climb: JudgedClimb,
    pairs: Bools,
    rows: int | None,
    limits: CandidateLimits,
    more: Iterable[Family] = (),
) -> tuple[Family, ...]:
    """The families that moves from here compare, and some more, within the limits, of which some
    site has all columns. Where there are none, those of the moves over all pairs."""

    def askable(families: Iterable[Family]) -> tuple[Family, ...]:
        somewhere = [family for family in families if climb.judges([family])]
        return within_limits(somewhere, climb.schema, rows, limits)

    wanted = wanted_moves(climb, pairs).union(more)
    return askable(wanted) or askable(wanted_moves(climb))


def with_moves(
    result: FederationResult,
    climb: JudgedClimb,
    families: Collection[Family],
    left_out: tuple[Family, ...],
    rows: Mapping[str, int],
    **more: Any,
) -> FederationResult:
    """The result with what the moves led to; as it was where nothing moved, but for the choice.

    Parameters
    ----------
    families, left_out : that were looked at, and that the limits left out.
    rows : by site.
    more : what is otherwise than by counts.
    """
    choice = CountedChoice(
        dag=climb.dag,
        score=climb.gain,
        row_weight=result.row_weight,
        candidate_score=0.0,
        mechanisms=judged_mechanisms(climb),
        counts=None,
        requests=1 + climb.rounds,
        families=len(families),
        cells=sum(cells_of(climb.schema, family) for family in families),
        left_out=left_out,
        sites=tuple(rows),
        rows=rows,
        moves=climb.moves,
    )
    choice = replace(choice, **more)
    return with_choice(result, choice) if choice.moves else replace(result, choice=choice)


def _what_sites_told(
    answers: Mapping[str, FamilyAnswer], climb: JudgedClimb
) -> tuple[dict[Family, dict[str, Told]], bool]:
    """What is known of every family that all sites told which have it; whether that are all."""
    found: dict[Family, dict[str, Told]] = {}
    for site in sorted(answers):
        counts, own = answers[site].counts, answers[site].own
        for family, score in zip(counts.tables.families, own.tolist(), strict=True):
            told = Told(counts.filled_cells(family), score)
            found.setdefault(family, {})[site] = told
    known = {
        family: told for family, told in found.items() if tuple(told) == climb.judges([family])
    }
    return known, len(known) == len(found)
