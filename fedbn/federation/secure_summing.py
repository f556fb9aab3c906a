"""Choosing by sums of products under masks, and equations, where columns are numbers.

What `summing.py` does in the open. There the sums of each site give every family's score at once;
here the server has their sum, which gives the shared scores, and asks for the sum of the sites' own
scores of the families that it looks at: of those of the candidates, of what GES finds on the shared
scores, and of each round of a climb. Sums are as near to those of the open run as fixed point
allows (`fedbn.secure.scatter_sums`). Nobody sees one site's sums, so no site is left out for
deciding alone, and sites are not told apart as groups.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.choice.by_counts import Climb, Counted, choice_of
from fedbn.choice.by_scatters import (
    Choosing,
    ScatterScores,
    Wanted,
    choosing_by_scatters,
    scatter_scores,
    scores_of_family,
)
from fedbn.choice.candidates import CandidateLimits
from fedbn.data.schema import Schema
from fedbn.errors import DataError, MessageError, QuorumError
from fedbn.federation.counting import STREAM
from fedbn.federation.runs import ServerRun
from fedbn.federation.secure_counting import Lacking, open_summed, with_summed_choice
from fedbn.federation.secure_rounds import SecureResult
from fedbn.federation.sums_message import require_askable
from fedbn.graphs.dag import DAG
from fedbn.networks.family_counts import Family
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.mixed_parameters import gaussian_parameters_of_sums
from fedbn.networks.moments import Moments, family_pairs
from fedbn.networks.parameter_sources import ParameterSources
from fedbn.secure.requests import SumRequest
from fedbn.secure.scatter_sums import (
    sum_from_zero,
    sum_levels,
    sum_own_scores,
    sum_scatters,
)


def summed_choice_by_scatters(
    result: SecureResult, run: ServerRun
) -> Generator[SumRequest, Ints, tuple[SecureResult, Lacking]]:
    """Ask for sums of products, and choose by them; errors may be thrown in as into
    `secure_counting.summed_choice`, and mean the same."""
    sites = len(result.clients)
    try:
        require_askable(result.schema)
        levels = yield from sum_levels(result.schema)
        result = replace(result, columns=len(levels))
        total = yield from sum_scatters(result.schema, levels, sites)
    except (QuorumError, DataError, MessageError) as error:
        return replace(result, lacking=str(error)), str(error)
    result = replace(result, within=total)
    opened = open_summed(result, run, CandidateLimits())
    left = _seconds_left(run.consensus.seconds)
    asked = _Scored(scatter_scores(result.schema, [total]), result.schema, sites)
    choosing = choosing_by_scatters(
        opened.candidates,
        result.schema,
        asked.scores.shared,
        opened.pairs,
        np.random.default_rng([opened.seed, STREAM, 0]),
        consensus=result.consensus.dag,
        climbs=run.consensus.choose == "climb",
        knowledge=opened.knowledge,
        limits=opened.limits,
        rounds=run.consensus.count_rounds,
        left=left,
    )
    try:
        found = yield from asked.drive(choosing)
    except (DataError, MessageError) as error:
        return replace(result, lacking=str(error), families=asked.families), str(error)
    result = replace(result, families=asked.families)
    if found is None:
        return with_summed_choice(result, None, asked.lacking), asked.lacking
    choice = choice_of(found, opened.candidates, {result.clients: total.rows})
    size = len(total.products)
    seconds = left()
    choice = replace(
        choice,
        requests=2 + asked.requests,
        cells=size * (size + 1) // 2,
        cut_short=seconds is not None and seconds <= 0,
    )
    return with_summed_choice(result, choice, asked.lacking), asked.lacking


def summed_equations(
    result: SecureResult,
) -> Generator[
    SumRequest, Ints, tuple[SecureResult, LinearGaussianNetwork | None, ParameterSources]
]:
    """Ask for what the equations of the consensus need where all columns are numbers: those of the
    open run, as near as fixed point allows. QuorumError and MessageError may be thrown in."""
    dag, schema, sites = result.consensus.dag, result.schema, len(result.clients)
    try:
        require_askable(schema)
        within = result.within
        if within is None:
            levels = yield from sum_levels(schema)
            result = replace(result, columns=len(levels))
            within = yield from sum_scatters(schema, levels, sites)
            result = replace(result, within=within)
        levels = yield from sum_levels(schema, from_zero=True)
        result = replace(result, from_zero=1)
        pooled = yield from sum_from_zero(schema, levels, sites, within)
        result = replace(result, from_zero=2)
        network, own = gaussian_parameters_of_sums(
            dag,
            _moments(dag, pooled.means, pooled.rows, pooled.products),
            _moments(dag, pooled.means, pooled.rows, within.products),
            sites,
            pooled.error,
        )
    except (QuorumError, DataError, MessageError) as error:
        return result, None, ParameterSources(failure=str(error))
    shifts = tuple((name, ()) for name in own)
    return result, network, ParameterSources(tuple(sorted(result.clients)), shifts=shifts)


def _moments(dag: DAG, means: Floats, rows: int, products: Floats) -> Moments:
    """Moments of the pairs that stand in a family."""
    return Moments(rows, means, np.array([products[i, j] for i, j in family_pairs(dag)]))


def _seconds_left(seconds: float | None) -> Callable[[], float | None]:
    """How many CPU seconds of this process are left: waiting for sites does not count."""
    began = time.process_time()
    return lambda: None if seconds is None else seconds - (time.process_time() - began)


@dataclass
class _Scored:
    """What is asked for of own scores.

    Attributes
    ----------
    scores : of the sums over all sites.
    known : family -> its scores.
    requests, families : how many were answered, and for how many families.
    lacking : why there are no more.
    """

    scores: ScatterScores
    schema: Schema
    sites: int
    known: dict[Family, Counted] = field(default_factory=dict)
    requests: int = 0
    families: int = 0
    lacking: Lacking = None

    def drive(self, choosing: Choosing) -> Generator[SumRequest, Ints, Climb | None]:
        """What is found; what was known until then, where a site falls silent."""
        try:
            wanted = next(choosing)
            while True:
                yield from self._ask(wanted)
                lacks = self.lacking is not None
                found = {} if lacks else {each: self.known[each] for each in wanted.families}
                wanted = choosing.send(found)
        except StopIteration as end:
            return cast("Climb | None", end.value)

    def _ask(self, wanted: Wanted) -> Generator[SumRequest, Ints, None]:
        new = tuple(sorted(set(wanted.families) - set(self.known)))
        if not new or self.lacking is not None:
            return
        rows = self.scores.shared.n_rows
        try:
            own = yield from sum_own_scores(self.schema, new, rows, self.sites)
        except QuorumError as error:
            self.lacking = str(error)
            return
        except (DataError, MessageError):  # the sums were seen all the same
            self.families += len(new)
            raise
        self.requests += 1
        self.families += len(new)
        for family, score in zip(new, own.scores.tolist(), strict=True):
            self.known[family] = scores_of_family(self.scores.shared_score(family), score, rows)
