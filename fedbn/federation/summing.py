"""Choosing by sums of products, where columns are numbers: one request, and what follows from it.

Every site sends the sums of products of all its columns, about its own means
(`fedbn.federation.sums_message`); the server adds them and chooses (`fedbn.choice.by_scatters`).
A climb asks for nothing more: the sums give every family's score.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from fedbn.choice.by_counts import TOLERANCE, Climb, Counted, CountedChoice, is_over, taking
from fedbn.choice.by_scatters import (
    ScatterScores,
    chosen_by_scatters,
    own_scores,
    scores_of_some,
)
from fedbn.choice.choosing_time import ChoosingTime, Work
from fedbn.choice.prior import FREE
from fedbn.choice.site_sums import Sites, Sums
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError
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
    summing = Summing(
        **{**vars(opened), "prior": FREE, "time": ChoosingTime(settings.seconds)},
        scatters=scatters,
        scores_of=_scores_of(opened.schema, scatters),
        climbs=settings.choose == "climb",
    )
    return summing.hear_all().conclude(result)


def _scores_of(schema: Schema, scatters: Mapping[str, Scatter]) -> Callable[[Sites], ScatterScores]:
    """Some sites -> the scores of their sums."""
    names, each = sorted(scatters), [scatters[site] for site in sorted(scatters)]
    own = own_scores(schema, each)
    return cache(
        lambda sites: scores_of_some(schema, each, own, [names.index(site) for site in sites])
    )


@dataclass(frozen=True, eq=False)
class Summing(Counting):
    """The dialogue where sites have sent sums of products: nothing is left to ask.

    Attributes
    ----------
    scatters : site -> its sums.
    scores_of : some sites -> the scores of the sums over them.
    climbs : whether to go on beyond the families of the candidates.
    searched : sites -> what their sums choose; it grows.
    """

    scatters: Mapping[str, Scatter] = field(kw_only=True)
    scores_of: Callable[[Sites], ScatterScores] = field(kw_only=True)
    climbs: bool = False
    searched: dict[Sites, Climb] = field(default_factory=dict)

    def hear_all(self) -> Counting:
        """The dialogue at its end."""
        work = self.time.begin()
        rows = {site: self.scatters[site].rows for site in sorted(self.scatters)}
        state = self._of_groups(self._confirm(rows, work), rows)
        if state.ended:
            return state
        heard: dict[tuple[str, ...], int] = {
            (site,): own for site, own in rows.items() if site not in state.unheard
        }
        climb = self._begin_anew(tuple(site for (site,) in heard), work.end)
        state = replace(state, rows=heard, climb=climb, cut_short=is_over(work.end), rounds_left=0)
        return state._without_decisive(work)

    @property
    def choice(self) -> CountedChoice | None:
        """What the sums chose, by one request for them; None where they are of two groups."""
        choice = super().choice
        if choice is None:
            return None
        size = len(self.scatters[choice.sites[0]].products)
        return replace(choice, requests=1, cells=size * (size + 1) // 2)

    def _known_to(
        self, sites: Sites, wanted: Iterable[Family] | None = None
    ) -> dict[Family, Counted]:
        return self.scores_of(sites).score_all(wanted or ())

    def _own_scores(self, site: str) -> Callable[[Family], float]:
        return self.scores_of((site,)).shared_score

    def _best_of(self, sites: Sites, end: float | None) -> tuple[DAG, float] | None:
        found = self._search(tuple(sorted(sites)), None, end)
        return None if found is None else (found.dag, found.value)

    def _begin_anew(self, sites: Sites, end: float | None) -> Climb:
        if sites not in self.searched:
            found = self._search(sites, self.consensus.dag, end)
            assert found is not None
            self.searched[sites] = found
        return self.searched[sites]

    def _choice_of(self, sites: Sites, end: float | None) -> DAG:
        return self._begin_anew(sites, end).dag

    def _better(self, rivals: Sequence[DAG], sums: Sums, work: Work) -> Counting | None:
        """A search of fewer sites' may end where that of all did not."""
        assert self.climb is not None
        found, worth = self.climb, sums.worth_to(sums.without(()))
        best = max(rivals, key=worth, default=found.dag)
        if worth(best) <= worth(found.dag) + TOLERANCE:
            return None
        scored = self._known_to(sums.without(()), families_of([best]))
        taken = taking(found, best, scored, self._rng, work.end)
        if taken.value <= found.value:  # it lacks a family of the consensus that is refused
            return None
        return replace(self, climb=taken, cut_short=is_over(work.end))

    def _search(self, sites: Sites, consensus: DAG | None, end: float | None) -> Climb | None:
        """The best structure by the sums of some sites that is found until then; without the
        consensus it is to be compared with those of others, and does not climb."""
        return chosen_by_scatters(
            self.candidates,
            self.schema,
            self.scores_of(sites),
            self.pairs,
            self._rng,
            consensus=consensus,
            climbs=self.climbs and consensus is not None,
            knowledge=self.knowledge,
            limits=self.limits,
            seconds=None if end is None else max(0.0, end - time.monotonic()),
        )

    @property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, STREAM, 0])
