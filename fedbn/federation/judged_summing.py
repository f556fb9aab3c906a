"""Choosing by sums of products where sites have different columns: one request, and what follows.

Every site sends the sums of its own columns, and moves from the consensus of the structures are
judged as by counts (`fedbn.choice.judged`), on mixed BIC (`fedbn.choice.judged_sums`). `counts`
looks at the families that its one request for counts would be about; `climb` goes on by its rounds,
and asks nobody. Under secure sums the same dialogue asks for own scores (`secure_summing.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fedbn.choice.by_counts import CountedChoice
from fedbn.choice.by_scatters import ROUNDS
from fedbn.choice.judged_sums import ScattersOfSites
from fedbn.choice.prior import FREE
from fedbn.federation.judged_counting import JudgedCounting, open_judged, with_moves
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
    rows: dict[tuple[str, ...], int] = {(site,): scatters[site].rows for site in sorted(scatters)}
    columns = {site: own for site, own in columns_of(result).items() if site in scatters}
    known = ScattersOfSites(result.schema, columns, scatters)
    opened = open_judged(result, settings, ess=1.0)  # sums of products have none
    rounds = ROUNDS if settings.choose == "climb" else 0
    dialogue = judging_by_sums(replace(opened, rounds_left=rounds), known, rows)
    while (families := dialogue.next_families()) or not dialogue.begun:
        known = known.looking_at(families)
        dialogue = dialogue.look_at(known)
    return with_moves(result, moved_by_sums(dialogue, known, requests=1))


def judging_by_sums(
    opened: JudgedCounting, known: ScattersOfSites, rows: Mapping[tuple[str, ...], int]
) -> JudgedCounting:
    """The dialogue about these sums, of so many rows, in place of counts; no family is looked at
    so far."""
    climb = replace(opened.climb, known=known, columns=known.columns, prior=FREE)
    return replace(opened, climb=climb, known=known, rows=rows)


def moved_by_sums(dialogue: JudgedCounting, known: ScattersOfSites, requests: int) -> CountedChoice:
    """What the moves led to, after so many requests."""
    sizes = [len(scatter.products) for scatter in known.scatters.values()]
    choice, families = dialogue.choice, families_of([dialogue.climb.dag])
    assert choice is not None
    return replace(
        choice,
        requests=requests,
        cells=max(size * (size + 1) // 2 for size in sizes),
        unscored=tuple(family for family in families if known.refuses(family)),
    )
