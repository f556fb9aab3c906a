"""Choosing by sums of products, where columns are numbers: one request, and what follows from it.

Every site sends the sums of products of all its columns, about its own means
(`fedbn.federation.sums_message`); the server adds them and chooses (`fedbn.choice.by_scatters`).
A climb asks for nothing more: the sums give every family's score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fedbn.choice.by_counts import Climb, choice_of
from fedbn.choice.by_scatters import chosen_by_scatters, scatter_scores
from fedbn.choice.groups import Groups, confirm_parts
from fedbn.errors import ConfigError
from fedbn.federation.choice_record import with_choice
from fedbn.federation.counting import STREAM, Counting, open_counting
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import FederationResult
from fedbn.federation.whole_families import columns_differ
from fedbn.graphs.dag import DAG
from fedbn.scores.scatter import Scatter

__all__ = ["choose_by_sums"]


def choose_by_sums(
    result: FederationResult,
    scatters: Mapping[str, Scatter],
    settings: ConsensusSettings,
    seed: int,
) -> FederationResult:
    """The result of the rounds, over columns of which some are numbers, with the structure that the
    sums of the sites choose; with the sites' groups, where the sums say that they are two; as it
    was where no site sent any.

    Raises ConfigError: a site column is given, which no sum within sites can see; or sites have
    different columns.
    """
    if settings.site_column is not None:
        raise ConfigError(
            f"site-column {settings.site_column!r} needs columns of categories alone: sums of "
            "products are taken within sites, where it is constant"
        )
    if columns_differ(result):
        raise ConfigError(
            f"choose {settings.choose} of tables with numbers needs sites with the same columns: "
            "sums of products are of all columns of a site"
        )
    if not scatters:
        return result
    opened = open_counting(result, choose=settings.choose, count_rounds=0, ess=1.0, seed=seed)
    groups = _groups(opened, scatters)
    if groups is not None:
        return replace(result, groups=groups)
    sites = tuple(sorted(scatters))
    climbs, seconds = settings.choose == "climb", settings.seconds
    found = _best(opened, scatters, sites, result.consensus.dag, climbs=climbs, seconds=seconds)
    assert found is not None
    size = len(scatters[sites[0]].products)
    choice = choice_of(found, opened.candidates, sites)
    choice = replace(choice, requests=1, cells=size * (size + 1) // 2)
    return with_choice(result, choice)


def _groups(opened: Counting, scatters: Mapping[str, Scatter]) -> Groups | None:
    """The two parts of the sites that structures tell apart, if the sums do, too."""
    here = [tuple(site for site in part if site in scatters) for part in opened.split or ()]
    if not (here and all(here)):
        return None

    def best_of(sites: tuple[str, ...]) -> tuple[DAG, float]:
        found = _best(opened, scatters, sites, None, climbs=False)
        if found is None:
            return DAG.empty(opened.schema.names), -np.inf
        return found.dag, found.value

    return confirm_parts((here[0], here[1]), best_of)


def _best(
    opened: Counting,
    scatters: Mapping[str, Scatter],
    sites: tuple[str, ...],
    consensus: DAG | None,
    *,
    climbs: bool,
    seconds: float | None = None,
) -> Climb | None:
    """The best structure by the sums of some sites that is found in so many seconds."""
    return chosen_by_scatters(
        opened.candidates,
        opened.schema,
        scatter_scores(opened.schema, [scatters[site] for site in sorted(sites)]),
        opened.pairs,
        np.random.default_rng([opened.seed, STREAM, 0]),
        consensus=consensus,
        climbs=climbs,
        knowledge=opened.knowledge,
        limits=opened.limits,
        seconds=seconds,
    )
