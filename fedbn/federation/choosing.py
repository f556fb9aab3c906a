"""Choosing by counts, whichever dialogue it takes.

Where all sites have the same columns, structures with totals are compared (`counting.py`); where
they have different ones, moves, each by the rows of its judges (`judged_counting.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from fedbn.federation.counting import Counting, advance, conclude, open_counting, request
from fedbn.federation.family_message import FamilyAnswer, FamilyRequest
from fedbn.federation.judged_counting import (
    JudgedCounting,
    end_judged,
    hear_judged,
    open_judged,
    request_judged,
)
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import FederationResult
from fedbn.federation.whole_families import columns_differ

__all__ = ["Dialogue", "begin_choosing", "end_choosing", "hear_answers", "next_request"]

Dialogue = Counting | JudgedCounting


def begin_choosing(
    result: FederationResult, settings: ConsensusSettings, ess: float, seed: int
) -> Dialogue:
    """The dialogue before its first request, about what the rounds gave; raises as the two do."""
    if columns_differ(result):
        return open_judged(result, settings, ess)
    return open_counting(
        result,
        choose=settings.choose,
        count_rounds=settings.count_rounds,
        ess=ess,
        seed=seed,
        site_column=settings.site_column,
    )


def next_request(dialogue: Dialogue) -> FamilyRequest | None:
    """What is to be asked next, of every site that has all columns of a family; None at the end."""
    if isinstance(dialogue, JudgedCounting):
        return request_judged(dialogue)
    return request(dialogue)


def hear_answers(dialogue: Dialogue, answers: Mapping[str, FamilyAnswer]) -> Dialogue:
    """The dialogue after the answers of the sites that gave one; at least one."""
    if isinstance(dialogue, JudgedCounting):
        return hear_judged(dialogue, answers)
    return advance(dialogue, answers)


def end_choosing(result: FederationResult, dialogue: Dialogue) -> FederationResult:
    """The result with what the counts chose."""
    if isinstance(dialogue, JudgedCounting):
        return end_judged(result, dialogue)
    return conclude(result, dialogue)
