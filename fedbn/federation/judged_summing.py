"""Choosing by sums of products where sites have different columns: one request, and what follows.

Every site sends the sums of its own columns, and moves from the consensus of the structures are
judged as by counts (`fedbn.choice.judged`), on mixed BIC (`fedbn.choice.judged_sums`). `counts`
looks at the families that its one request for counts would be about; `climb` goes on by its rounds,
and asks nobody.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from fedbn.choice.by_counts import is_over
from fedbn.choice.by_scatters import ROUNDS
from fedbn.choice.judged import begin_judged, go_on
from fedbn.choice.judged_sums import ScattersOfSites
from fedbn.choice.prior import FREE
from fedbn.federation.judged_counting import (
    families_to_look_at,
    moved_choice,
    open_judged,
    with_moves,
)
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import FederationResult
from fedbn.federation.whole_families import columns_of
from fedbn.networks.family_counts import families_of
from fedbn.scores.scatter import Scatter


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
    climb = replace(opened.climb, columns=columns, known=known, prior=FREE)
    limits, pairs, total = opened.limits, opened.pairs, sum(rows.values())
    more = opened.candidates.families
    known = known.looking_at(families_to_look_at(climb, pairs, total, limits, more))
    climb = begin_judged(replace(climb, known=known), end)
    for _ in range(ROUNDS if settings.choose == "climb" else 0):
        if climb.done or is_over(end):
            break
        more = families_to_look_at(climb, pairs, total, limits)
        if not more:
            break
        known = known.looking_at(more)
        climb = go_on(climb, known, end)
    sizes = [len(scatter.products) for scatter in scatters.values()]
    choice = moved_choice(
        climb,
        known.families,
        opened.candidates,
        rows,
        result.row_weight,
        requests=1,
        cells=max(size * (size + 1) // 2 for size in sizes),
        cut_short=is_over(end),
        unscored=tuple(family for family in families_of([climb.dag]) if known.refuses(family)),
    )
    return with_moves(result, choice)
