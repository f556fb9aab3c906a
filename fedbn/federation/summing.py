"""Choosing by sums of products, where columns are numbers: one request, and what follows from it.

Every site sends the sums of products of all its columns, about its own means
(`fedbn.federation.sums_message`); the server adds them and chooses (`fedbn.choice.by_scatters`).
A climb asks for nothing more: the sums give every family's score.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial

import numpy as np

from fedbn.choice.by_counts import (
    TOLERANCE,
    Climb,
    Counted,
    at_candidate,
    choice_of,
    is_over,
    taking,
    worth_of,
)
from fedbn.choice.by_scatters import ScatterScores, chosen_by_scatters, own_scores, scores_of_some
from fedbn.choice.decisive import Verdict, verdict_on
from fedbn.choice.groups import Groups, confirm_parts
from fedbn.choice.prior import FREE
from fedbn.choice.site_sums import Sites, Sums, Worth, are_few
from fedbn.errors import ConfigError
from fedbn.federation.choice_record import with_choice
from fedbn.federation.counting import STREAM, Counting, open_counting
from fedbn.federation.judged_summing import choose_by_judged_sums
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import FederationResult
from fedbn.federation.whole_families import columns_differ
from fedbn.graphs.dag import DAG
from fedbn.networks.family_counts import Family, families_of
from fedbn.scores.scatter import Scatter


def choose_by_sums(
    result: FederationResult,
    scatters: Mapping[str, Scatter],
    settings: ConsensusSettings,
    seed: int,
) -> FederationResult:
    """The result of the rounds, over columns of which some are numbers, with the structure that the
    sums of the sites choose; with the sites' groups, where the sums say that they are two; as it
    was where no site sent any.

    Raises ConfigError: a site column is given, which no sum within sites can see.
    """
    if settings.site_column is not None:
        raise ConfigError(
            f"site-column {settings.site_column!r} needs columns of categories alone: sums of "
            "products are taken within sites, where it is constant"
        )
    if not scatters:
        return result
    if columns_differ(result):
        return choose_by_judged_sums(result, scatters, settings)
    opened = open_counting(result, settings, ess=1.0, seed=seed)
    end = None if settings.seconds is None else time.monotonic() + settings.seconds
    groups = _groups(opened, scatters, end)
    apart = Sites()
    if groups is not None:
        result = replace(result, groups=groups)
        if not are_few(groups[1], {site: scatter.rows for site, scatter in scatters.items()}):
            return result
        apart = groups[1]
    climbs = settings.choose == "climb"
    dag = result.consensus.dag
    found, cut_short, unheard, verdict = _choose(
        opened, scatters, dag, apart, climbs=climbs, end=end
    )
    heard = tuple(site for site in sorted(scatters) if site not in unheard)
    size = len(scatters[heard[0]].products)
    rows: dict[tuple[str, ...], int] = {(site,): scatters[site].rows for site in heard}
    if verdict.stands:
        found = at_candidate(found, opened.consensus)
    choice = choice_of(found, opened.candidates, rows, unheard)
    choice = replace(
        choice,
        requests=1,
        cells=size * (size + 1) // 2,
        pivotal=verdict.pivotal,
        moved=verdict.moved,
        stands=verdict.stands,
        cut_short=cut_short,
        unguarded=verdict.unended,
    )
    return with_choice(result, choice)


def _choose(
    opened: Counting,
    scatters: Mapping[str, Scatter],
    consensus: DAG,
    unheard: Sites,
    *,
    climbs: bool,
    end: float | None,
) -> tuple[Climb, bool, tuple[str, ...], Verdict]:
    """What the sums choose until an end on the monotonic clock, whether that cut the search short,
    the sites that are left out: those before, and those whose rows alone would decide; and the
    verdict on the others."""
    sites = tuple(site for site in sorted(scatters) if site not in unheard)
    scores_of = _scores_of(opened, scatters)

    @cache
    def chosen_by(sites: Sites) -> Climb:
        found = _best(opened, scores_of(sites), consensus, climbs=climbs, end=end)
        assert found is not None
        return found

    found = chosen_by(sites)
    while True:
        cut_short, rivals = is_over(end), list[DAG]()

        def choice_of(few: Sites, rivals: list[DAG] = rivals) -> DAG:
            rivals.append(chosen_by(few).dag)
            return rivals[-1]

        sums = Sums(
            {site: scatters[site].rows for site in sites},
            sum(scatter.rows for scatter in scatters.values()),
            partial(_liking, {site: scores_of((site,)) for site in sites}),
            partial(_worth_to, scores_of, found.uncounted),
            choice_of,
        )
        listed = [each.dag for each in opened.candidates.listed]
        of = found.dag, consensus, listed, sums, len(unheard)
        verdict = verdict_on(*of, lambda: is_over(end))
        if not is_over(end) and (better := _better(rivals, sums, found)) is not None:
            scored = scores_of(sites).score_all(families_of([better]))
            taken = taking(found, better, scored, _rng(opened), end)
            if taken.value > found.value:  # else it lacks a family of the consensus that is refused
                found = taken
                continue
        if not verdict.decisive:
            return found, cut_short, unheard, verdict
        sites = tuple(site for site in sites if site not in verdict.decisive)
        unheard = tuple(sorted((*unheard, *verdict.decisive)))
        found = chosen_by(sites)


def _better(rivals: Iterable[DAG], sums: Sums, found: Climb) -> DAG | None:
    """What is better by the sums of all that are heard than what they found, of what the sums of
    fewer sites found: a search of theirs may end where that of all did not."""
    worth = sums.worth_to(sums.without(()))
    best = max(rivals, key=worth, default=found.dag)
    return best if worth(best) > worth(found.dag) + TOLERANCE else None


def _liking(scores_of: Mapping[str, ScatterScores], one: DAG, other: DAG) -> dict[str, float]:
    """Site -> by how much its own scores are for one structure against another, nats; a family
    without a score says nothing."""
    here, there = (set(families_of([dag])) for dag in (one, other))
    found = {}
    for site, scores in scores_of.items():
        gains = scores.score_all(here - there).values()
        losses = scores.score_all(there - here).values()
        known = [[c.own for c in each if math.isfinite(c.own)] for each in (gains, losses)]
        found[site] = math.fsum(known[0]) - math.fsum(known[1])
    return found


def _scores_of(
    opened: Counting, scatters: Mapping[str, Scatter]
) -> Callable[[Sites], ScatterScores]:
    """Some sites -> the scores of their sums."""
    names = sorted(scatters)
    each = [scatters[site] for site in names]
    own = own_scores(opened.schema, each)

    def scores_of(sites: Sites) -> ScatterScores:
        return scores_of_some(opened.schema, each, own, [names.index(site) for site in sites])

    return scores_of


def _worth_to(
    scores_of: Callable[[Sites], ScatterScores], uncounted: tuple[Family, ...], sites: Sites
) -> Worth:
    scores = scores_of(sites)
    known: dict[Family, Counted] = {}

    def worth(dag: DAG) -> float:
        known.update(scores.score_all(set(families_of([dag])) - set(known)))
        return worth_of(dag, known, FREE, uncounted)

    return worth


def _groups(opened: Counting, scatters: Mapping[str, Scatter], end: float | None) -> Groups | None:
    """The two parts of the sites that structures tell apart, if the sums do, too, before an end on
    the monotonic clock: totals that were searched for less long cannot be compared."""
    here = [tuple(site for site in part if site in scatters) for part in opened.split or ()]
    if not (here and all(here)):
        return None

    scores_of = _scores_of(opened, scatters)

    def best_of(sites: Sites) -> tuple[DAG, float]:
        found = _best(opened, scores_of(tuple(sorted(sites))), None, climbs=False, end=end)
        if found is None:
            return DAG.empty(opened.schema.names), -np.inf
        return found.dag, found.value

    liking = partial(_liking, {site: scores_of((site,)) for part in here for site in part})
    parts = confirm_parts((here[0], here[1]), best_of, liking)
    return None if is_over(end) else parts


def _best(
    opened: Counting,
    scores: ScatterScores,
    consensus: DAG | None,
    *,
    climbs: bool,
    end: float | None,
) -> Climb | None:
    """The best structure by the sums of some sites that is found until then."""
    return chosen_by_scatters(
        opened.candidates,
        opened.schema,
        scores,
        opened.pairs,
        _rng(opened),
        consensus=consensus,
        climbs=climbs,
        knowledge=opened.knowledge,
        limits=opened.limits,
        seconds=None if end is None else max(0.0, end - time.monotonic()),
    )


def _rng(opened: Counting) -> np.random.Generator:
    return np.random.default_rng([opened.seed, STREAM, 0])
