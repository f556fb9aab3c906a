"""Choosing by sums of products where sites have different columns: one request, and what follows.

Every site sends the sums of its own columns, and moves from the consensus of the structures are
judged as by counts (`fedbn.choice.judged`), on mixed BIC (`fedbn.choice.judged_sums`). `counts`
looks at the families that its one request for counts would be about; `climb` goes on by its rounds,
and asks nobody. Under secure sums the same dialogue, `judging_by_sums`, asks for own scores
(`secure_judged_summing.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from typing import Any

from fedbn.choice.by_counts import CountedChoice, is_over
from fedbn.choice.by_scatters import ROUNDS
from fedbn.choice.judged import JudgedClimb, begin_judged, go_on
from fedbn.choice.judged_sums import ScattersOfSites
from fedbn.choice.prior import FREE
from fedbn.federation.judged_counting import (
    JudgedCounting,
    families_to_look_at,
    moved_choice,
    open_judged,
    with_moves,
)
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import FederationResult
from fedbn.federation.whole_families import columns_of
from fedbn.networks.family_counts import Family, families_of
from fedbn.scores.scatter import Scatter

Judging = Generator[tuple[Family, ...], ScattersOfSites | None, JudgedClimb | None]


def choose_by_judged_sums(
    result: FederationResult, scatters: Mapping[str, Scatter], settings: ConsensusSettings
) -> FederationResult:
    """The result of the rounds with what moves lead to; as it was where nothing moved, but for the
    choice.

    Parameters
    ----------
    scatters : at least one; site -> the sums of the agreed columns that it has.
    settings : of them are `choose`, `min_judges` and `seconds`, which ends the moves.
    """
    end = None if settings.seconds is None else time.monotonic() + settings.seconds
    rows: dict[tuple[str, ...], int] = {(site,): scatters[site].rows for site in sorted(scatters)}
    columns = {site: own for site, own in columns_of(result).items() if site in scatters}
    known = ScattersOfSites(result.schema, columns, scatters)
    opened = open_judged(result, settings, ess=1.0)  # sums of products have none
    opened = replace(opened, climb=replace(opened.climb, columns=columns), rows=rows)
    rounds = ROUNDS if settings.choose == "climb" else 0
    judging = judging_by_sums(opened, known, rounds, lambda: end)
    climb: JudgedClimb | None = None
    try:
        families = next(judging)
        while True:
            known = known.looking_at(families)
            families = judging.send(known)
    except StopIteration as stop:
        climb = stop.value
    assert climb is not None
    choice = moved_by_sums(climb, known, opened, requests=1, cut_short=is_over(end))
    return with_moves(result, choice)


def judging_by_sums(
    opened: JudgedCounting,
    known: ScattersOfSites,
    rounds: int,
    end: Callable[[], float | None],
) -> Judging:
    """Yields families, is sent the sums with which these may be looked at, and ends with where
    moves lead to; or is sent None where there are no more, and ends with what it has, if anything.

    Parameters
    ----------
    opened : before the first request, but with the rows of all that are summed.
    known : the sums; no family is looked at so far.
    rounds : of a climb, at most.
    end : when the moves are to end, on the monotonic clock.
    """
    limits, pairs, total = opened.limits, opened.pairs, sum(opened.rows.values())
    climb, more = replace(opened.climb, known=known, prior=FREE), opened.candidates.families
    heard = yield families_to_look_at(climb, pairs, total, limits, more)
    if heard is None:
        return None
    climb = begin_judged(replace(climb, known=heard), end())
    for _ in range(rounds):
        families = (
            () if climb.done or is_over(end()) else families_to_look_at(climb, pairs, total, limits)
        )
        heard = (yield families) if families else None
        if heard is None:
            break
        climb = go_on(climb, heard, end())
    return climb


def moved_by_sums(
    climb: JudgedClimb, known: ScattersOfSites, opened: JudgedCounting, **more: Any
) -> CountedChoice:
    """What the moves led to; `more` as in `moved_choice`."""
    sizes = [len(scatter.products) for scatter in known.scatters.values()]
    return moved_choice(
        climb,
        known.families,
        opened.candidates,
        opened.rows,
        opened.row_weight,
        cells=max(size * (size + 1) // 2 for size in sizes),
        unscored=tuple(family for family in families_of([climb.dag]) if known.refuses(family)),
        **more,
    )
