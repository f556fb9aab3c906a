"""The dialogue of choosing by counts where sites have different columns; no network, no clock.

    open_judged    result of the rounds, settings       -> JudgedCounting
    request_judged JudgedCounting                       -> FamilyRequest, or None at the end
    hear_judged    JudgedCounting, the answers          -> JudgedCounting
    end_judged     result, JudgedCounting               -> result with its choice

It is that of `counting.py` but for what is compared: moves, each by the rows of its judges
(`fedbn.choice.judged`). So the server keeps every site's counts, and no sums. The first request is
about the families of all states of the paths, and about those that moves from the consensus of the
structures compare. Every site is asked for its own families alone (`whole_families.py`).

The sites of the first answer are the sites of the whole dialogue. Where one of them does not answer
again, or counts other rows than before, the dialogue ends with what is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fedbn.arrays import Bools
from fedbn.choice.by_counts import CountedChoice
from fedbn.choice.candidates import (
    Candidate,
    CandidateLimits,
    Candidates,
    candidates_of,
    cells_of,
)
from fedbn.choice.judged import (
    JudgedClimb,
    Known,
    Told,
    begin_judged,
    go_on,
    judged_mechanisms,
    wanted_moves,
)
from fedbn.choice.neighbours import joined_pairs, within_limits
from fedbn.choice.prior import edge_cost
from fedbn.errors import ConfigError
from fedbn.federation.choice_record import with_choice
from fedbn.federation.counting import states_of_classes
from fedbn.federation.family_message import FamilyAnswer, FamilyRequest
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import FederationResult
from fedbn.federation.whole_families import columns_of
from fedbn.networks.family_counts import Family, FamilyTables

__all__ = [
    "JudgedCounting",
    "end_judged",
    "hear_judged",
    "open_judged",
    "request_judged",
]


@dataclass(frozen=True, eq=False)
class JudgedCounting:
    """The dialogue between two requests.

    Attributes
    ----------
    climb : where it is; before the first answer at the consensus of the structures.
    pairs : bool [n, n], symmetric: the pairs that some site joined.
    candidates : whose families the first request is about.
    rounds_left : how many requests there may be after the first.
    limits : of the tables.
    rows : rows by the name of the site that answered; empty before the first answer.
    ended : whether nothing more is to be asked.
    """

    climb: JudgedClimb
    pairs: Bools
    candidates: Candidates
    rounds_left: int
    limits: CandidateLimits
    rows: Mapping[str, int]
    ended: bool = False


def open_judged(
    result: FederationResult,
    settings: ConsensusSettings,
    ess: float,
    limits: CandidateLimits | None = None,
) -> JudgedCounting:
    """The dialogue before its first request, about what the rounds gave.

    Parameters
    ----------
    result : of the last round, with all its classes.
    settings : `choose`, `count_rounds` and `min_judges`.
    ess : equivalent sample size of BDeu.
    limits : of the tables.

    Raises
    ------
    ConfigError : a column is to explain how the sites differ.
    DataError : the columns are numbers.
    """
    if settings.site_column is not None:
        raise ConfigError(
            f"site-column {settings.site_column!r} is for sites with the same columns: no move of "
            "its edges would have a site for a judge"
        )
    bounds, schema, dag = limits or CandidateLimits(), result.schema, result.consensus.dag
    consensus = Candidate(result.row_weight, result.consensus.state, dag)
    inputs = [dag for fused in result.classes for dag in fused.path.inputs.dags]
    return JudgedCounting(
        climb=JudgedClimb(
            schema=schema,
            columns=columns_of(result),
            dag=dag,
            ess=ess,
            min_judges=settings.min_judges,
            edge_cost=edge_cost(dag),
            known={},
            knowledge=result.path.knowledge,
        ),
        pairs=joined_pairs(inputs),
        candidates=candidates_of(states_of_classes(result), schema, consensus, bounds),
        rounds_left=settings.count_rounds if settings.choose == "climb" else 0,
        limits=bounds,
        rows={},
    )


def request_judged(state: JudgedCounting) -> FamilyRequest | None:
    """What is to be asked next, of every site that has all of a family; None at the end."""
    climb = state.climb
    if state.ended or (state.rows and (climb.done or state.rounds_left == 0)):
        return None
    wanted = wanted_moves(climb, state.pairs)
    if not state.rows:
        wanted.update(state.candidates.families)
    families = _askable(wanted, state) or _askable(wanted_moves(climb), state)
    return FamilyRequest(FamilyTables(climb.schema, families), with_own=True) if families else None


def hear_judged(state: JudgedCounting, answers: Mapping[str, FamilyAnswer]) -> JudgedCounting:
    """The dialogue after the answers of the sites that gave one; at least one."""
    first = not state.rows
    rows = {site: answers[site].counts.rows for site in sorted(answers)}
    climb = state.climb
    if first:
        climb = replace(climb, columns={site: climb.columns[site] for site in rows})
    known, whole = _what_sites_told(answers, climb)
    changed = any(state.rows.get(site) != own for site, own in rows.items())
    if not first and (changed or not whole):
        return replace(state, ended=True)
    if first:
        return replace(state, climb=begin_judged(replace(climb, known=known)), rows=rows)
    return replace(state, climb=go_on(climb, known), rounds_left=state.rounds_left - 1)


def _what_sites_told(answers: Mapping[str, FamilyAnswer], climb: JudgedClimb) -> tuple[Known, bool]:
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


def _askable(families: set[Family], state: JudgedCounting) -> tuple[Family, ...]:
    """Those within the limits that some site has all columns of."""
    climb = state.climb
    rows = sum(state.rows.values()) if state.rows else None
    somewhere = [family for family in families if climb.judges([family])]
    return within_limits(somewhere, climb.schema, rows, state.limits)


def end_judged(result: FederationResult, state: JudgedCounting) -> FederationResult:
    """The result with what the moves led to; as it was where nobody answered or nothing moved, but
    for the choice."""
    if not state.rows:
        return result
    choice = _choice_of(state, result)
    return with_choice(result, choice) if choice.moves else replace(result, choice=choice)


def _choice_of(state: JudgedCounting, result: FederationResult) -> CountedChoice:
    climb = state.climb
    return CountedChoice(
        dag=climb.dag,
        score=climb.gain,
        row_weight=result.row_weight,
        candidate_score=0.0,
        mechanisms=judged_mechanisms(climb),
        counts=None,
        requests=1 + climb.rounds,
        families=len(climb.known),
        cells=sum(cells_of(climb.schema, family) for family in climb.known),
        left_out=state.candidates.left_out,
        sites=tuple(state.rows),
        moves=climb.moves,
    )
