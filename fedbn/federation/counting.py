"""The dialogue of choosing by counts, as pure functions on frozen state; no network, no clock.

    opened     result of the rounds                  -> Counting
    request    Counting                              -> FamilyRequest, or None at the end
    advanced   Counting, the answers of all sites    -> Counting
    concluded  Counting                              -> result with its choice

The sites of the first answer are the sites of the whole dialogue: sums over other sites would be of
other rows. Where one of them does not answer again, or counts other rows than before, the dialogue
ends with what is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fedbn.choice.by_counts import Climb, begin, choice_of, climb_on, joined_pairs, neighbours
from fedbn.choice.candidates import CandidateLimits, Candidates, candidates_of
from fedbn.consensus.threshold import PathState, path_states
from fedbn.federation.choice_record import with_choice
from fedbn.federation.family_message import FamilyAnswer, FamilyRequest
from fedbn.federation.rounds import FederationResult, FusedClass
from fedbn.networks.family_counts import FamilyCounts, FamilyTables
from fedbn.scores.family_scores import FamilyScores, family_scores

__all__ = ["Counting", "advance", "conclude", "open_counting", "request"]

STREAM = 6
"""Number of the random stream of the ordering search, after the run's seed."""


@dataclass(frozen=True, eq=False)
class Counting:
    """The dialogue between two requests.

    Attributes
    ----------
    result : of the rounds.
    candidates : what the first request is about.
    rounds_left : how many further requests there may be.
    ess, seed : of the scores, and of the ordering search.
    limits : of the tables.
    rows : rows of every site that answered, by its name; empty before the first answer.
    climb : after the first answer.
    ended : whether nothing more is to be asked.
    """

    result: FederationResult
    candidates: Candidates
    rounds_left: int
    ess: float
    seed: int
    limits: CandidateLimits
    rows: Mapping[str, int]
    climb: Climb | None = None
    ended: bool = False


def open_counting(
    result: FederationResult,
    *,
    choose: str,
    count_rounds: int,
    ess: float,
    seed: int,
    limits: CandidateLimits | None = None,
) -> Counting:
    """The dialogue before its first request.

    Parameters
    ----------
    result : of the last round, with all its classes.
    choose : "counts" makes one request, "climb" as many more as `count_rounds`.
    count_rounds : at least 0.
    ess : equivalent sample size of BDeu.
    seed : of the run.
    limits : of candidates and tables.

    Raises
    ------
    DataError : the columns are numbers.
    SearchError : no candidate keeps the limits.
    """
    bounds = limits or CandidateLimits()
    classes = [(fused.row_weight, _states(fused)) for fused in result.classes]
    candidates = candidates_of(classes, result.schema, bounds)
    rounds = count_rounds if choose == "climb" else 0
    return Counting(result, candidates, rounds, ess, seed, bounds, {})


def request(state: Counting) -> FamilyRequest | None:
    """What all sites are to be asked next; None when nothing is left to ask."""
    schema = state.result.schema
    if state.ended:
        return None
    if state.climb is None:
        return FamilyRequest(FamilyTables(schema, state.candidates.families), with_own=True)
    if state.climb.done or state.rounds_left == 0:
        return None
    pairs = joined_pairs(dag for reply in state.result.replies for dag in reply.dags)
    families = neighbours(state.climb, pairs, state.limits)
    if not families:
        return None
    return FamilyRequest(FamilyTables(schema, families), with_own=True)


def advance(state: Counting, answers: Mapping[str, FamilyAnswer]) -> Counting:
    """The dialogue after an answer.

    Parameters
    ----------
    state : that made the request.
    answers : site -> its checked answer, of the sites that gave one; at least one.
    """
    rows = {site: answers[site].counts.rows for site in sorted(answers)}
    if state.climb is not None and rows != state.rows:
        return replace(state, ended=True)
    counts, scores = _sum([answers[site] for site in sorted(answers)], state.ess)
    if state.climb is None:
        rng = np.random.default_rng([state.seed, STREAM, 0])
        return replace(state, rows=rows, climb=begin(state.candidates, counts, scores, rng))
    rng = np.random.default_rng([state.seed, STREAM, 1 + state.climb.rounds])
    climb = climb_on(state.climb, counts, scores, rng)
    return replace(state, climb=climb, rounds_left=state.rounds_left - 1)


def conclude(state: Counting) -> FederationResult:
    """The result with what the counts chose; as it was if nobody answered."""
    if state.climb is None:
        return state.result
    choice = choice_of(state.climb, state.candidates, tuple(state.rows))
    return with_choice(state.result, choice)


def _states(fused: FusedClass) -> list[PathState]:
    """The states of a class, both readings of all its paths, by preference."""
    states = [state for path in fused.paths for state in path_states(path)]
    return sorted(states, key=lambda state: (state.mean_smhd, state.n_edges))


def _sum(answers: list[FamilyAnswer], ess: float) -> tuple[FamilyCounts, FamilyScores]:
    """The counts and the scores over all sites; whole numbers, so no order matters."""
    counts, own = answers[0].counts, answers[0].own
    for answer in answers[1:]:
        counts, own = counts + answer.counts, own + answer.own
    return counts, family_scores(counts, own, ess)
