"""Choosing by sums of products under masks, and equations, where columns are numbers.

What `summing.py` does in the open. There the sums of each site give every family's score at once;
here the server has their sum, which gives the shared scores, and asks for the sum of the sites' own
scores of the families that it looks at: of those of the candidates, of what GES finds on the shared
scores, and of each round of a climb. Sums are as near to those of the open run as fixed point
allows (`fedbn.secure.scatter_sums`). Nobody sees one site's sums, so no site is left out for
deciding alone, and sites are not told apart as groups. Where sites have different columns, moves
choose, as in `judged_summing.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from fedbn.arrays import Ints
from fedbn.choice.by_counts import Climb, Counted, choice_of
from fedbn.choice.by_scatters import (
    Choosing,
    ScatterScores,
    choosing_by_scatters,
    scatter_scores,
    scores_of_family,
)
from fedbn.choice.candidates import CandidateLimits
from fedbn.choice.judged_sums import ScattersOfBlocks
from fedbn.errors import DataError, MessageError, NetworkError, QuorumError
from fedbn.federation.counting import STREAM
from fedbn.federation.judged_counting import by_moves
from fedbn.federation.judged_summing import judging_by_sums, moved_by_sums
from fedbn.federation.known_parameters import dag_with_parameters
from fedbn.federation.secure_counting import Lacking, open_summed, with_summed_choice
from fedbn.federation.secure_rounds import SecureResult
from fedbn.federation.settings import Experiment
from fedbn.federation.sums_message import require_askable
from fedbn.networks.family_counts import Family
from fedbn.networks.fitting import smoothed_table
from fedbn.networks.mixed_parameters import known_parameters
from fedbn.networks.mixed_sums import MixedFamilies
from fedbn.networks.parameter_sources import FittedParameters, ParameterSources
from fedbn.networks.summed_regressions import own_weights, regressions_of_sums
from fedbn.scores.mixed import block_widths
from fedbn.scores.scatter import Scatter
from fedbn.secure.blocks import Answering
from fedbn.secure.family_sums import families_within
from fedbn.secure.requests import LevelRequest, SizeRequest, SumRequest
from fedbn.secure.scatter_sums import (
    OwnScores,
    levels_in,
    require_few_sums,
    sum_levels,
    sum_own_scores,
    sum_scatters,
)
from fedbn.secure.summed_families import request_of, sum_equations, sum_place, sum_residuals


def summed_choice_by_scatters(
    result: SecureResult, run: Experiment
) -> Generator[SumRequest, Ints, tuple[SecureResult, Lacking]]:
    """Ask for sums of products, and choose by them; errors may be thrown in as into
    `secure_counting.summed_choice`, and mean the same."""
    answering = result.answering
    try:
        require_askable(result.schema)
        require_few_sums(answering)
        levels = yield from sum_levels(SizeRequest(), levels_in(answering))
        every = sorted({v for block in answering.blocks for v in block.columns})
        result = replace(result, columns=sum(block_widths(answering.part(every))))
        totals = yield from sum_scatters(levels, answering)
    except (QuorumError, DataError, MessageError) as error:
        return replace(result, lacking=str(error)), str(error)
    result = replace(result, within=totals)
    if not answering.for_all:
        return (yield from _summed_moves(result, run, totals))
    (total,) = totals
    opened = open_summed(result, run, CandidateLimits())
    left = _seconds_left(run.consensus.seconds)
    scores, asked = scatter_scores(result.schema, [total]), _Asked([total.rows], answering)
    choosing = choosing_by_scatters(
        opened.candidates,
        result.schema,
        scores.shared,
        opened.pairs,
        np.random.default_rng([opened.seed, STREAM, 0]),
        consensus=result.consensus.dag,
        climbs=run.consensus.choose == "climb",
        knowledge=opened.knowledge,
        limits=opened.limits,
        rounds=run.consensus.count_rounds,
        left=left,
    )
    found = yield from _drive(choosing, scores, asked)
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


def _summed_moves(
    result: SecureResult, run: Experiment, scatters: Sequence[Scatter]
) -> Generator[SumRequest, Ints, tuple[SecureResult, Lacking]]:
    """Where moves lead to by these sums of all blocks, which are what those of sites are in the
    open (`judged_summing.py`). The sums of own scores are asked for where they are needed: of the
    families that are looked at first, and of each round of a climb."""
    answering = result.answering
    blocks = [result.answering_for([frozenset(each.columns)]) for each in answering.blocks]
    sites = dict(zip(result.clients, map(frozenset, answering.columns), strict=True))
    sums = {names[0]: own for names, own in zip(blocks, scatters, strict=True)}
    known = ScattersOfBlocks(result.schema, sites, sums)
    opened = open_summed(result, run, CandidateLimits())
    rows = {names: sums[names[0]].rows for names in blocks}
    dialogue = judging_by_sums(by_moves(opened, sites, run.consensus.min_judges), known, rows)
    asked = _Asked([own.rows for own in scatters], answering)
    while (wanted := dialogue.next_families()) or not dialogue.begun:
        if wanted:
            found = yield from asked.ask(wanted)
            if found is None:
                break
            known = known.hearing(_by_family(found, blocks))
        dialogue = dialogue.look_at(known)
    result, choice = replace(result, families=asked.families), None
    if dialogue.begun and not asked.spoilt:
        choice = moved_by_sums(dialogue, known, requests=2 + asked.requests)
    return with_summed_choice(result, choice, asked.lacking), asked.lacking


def _by_family(
    found: Sequence[OwnScores], blocks: Sequence[Sequence[str]]
) -> dict[Family, dict[str, float]]:
    """Family -> the first site of each block that has it -> the block's own scores of it."""
    told: dict[Family, dict[str, float]] = {}
    for own, names in zip(found, blocks, strict=True):
        for family, score in zip(own.families, own.scores.tolist(), strict=True):
            told.setdefault(family, {})[names[0]] = score
    return told


def summed_equations(
    result: SecureResult, run: Experiment
) -> Generator[SumRequest, Ints, tuple[SecureResult, FittedParameters]]:
    """Ask for what the parameters of the consensus need where columns are numbers: those of the
    open run, as near as fixed point allows; where sites have different columns, each of the rows of
    those that answer for its family. QuorumError and MessageError may be thrown in."""
    schema, answering, known = result.schema, result.answering, run.consensus.known
    ess = 0.0 if schema.kind == "gaussian" else run.parameter_ess
    try:
        dag = dag_with_parameters(result.consensus.dag, schema, known)
        wanted = MixedFamilies(dag, schema)
        levels = yield from sum_levels(LevelRequest(), len(schema.numbers) + 1)
        result = replace(result, equations=1)
        place = yield from sum_place(levels, answering)
        result = replace(result, equations=2)
        asked = request_of(wanted, place)
        sums = yield from sum_equations(asked, wanted, place.rows, answering)
        result = replace(result, equations=3)
        numbers, names = sums.numbers, schema.names
        weights = {v: own_weights(names[v], own) for v, own in numbers.items()}
        left = yield from sum_residuals(asked, numbers, weights, answering.sites)
        result = replace(result, equations=4)
        found = {
            v: regressions_of_sums(names[v], own, weights[v], left[v], ess)
            for v, own in numbers.items()
        }
    except (QuorumError, DataError, MessageError, NetworkError) as error:
        return result, FittedParameters.without(str(error))
    tables = {v: smoothed_table(own, ess) for v, own in sums.tables.items()}
    fitted = known_parameters(
        wanted,
        tables | {v: own for v, (own, _) in found.items()},
        tuple((names[v], ()) for v, (_, own) in sorted(found.items()) if own),
        {v: answering.having((v, *dag.parents(v))) for v in range(dag.n)},
    )
    sites = dict(zip(result.clients, map(frozenset, answering.columns), strict=True))
    sources = ParameterSources(
        tuple(site for site in sorted(sites) if families_within(wanted.families, sites[site])),
        shifts=fitted.shifts,
        apart=fitted.apart,
    )
    sources = sources.of_dag(dag, result.consensus.dag, known)
    sources = sources.without(dag, fitted.lacking, sites, schema.numbers).in_blocks()
    return result, FittedParameters.of_known(fitted.network, sources)


def _seconds_left(seconds: float | None) -> Callable[[], float | None]:
    """How many CPU seconds of this process are left: waiting for sites does not count."""
    began = time.process_time()
    return lambda: None if seconds is None else seconds - (time.process_time() - began)


@dataclass
class _Asked:
    """What is asked for of own scores.

    Attributes
    ----------
    rows, answering : of every block of sites; who is in them.
    requests, families : how many were answered, and for how many families.
    lacking, spoilt : why there are no more; whether as no honest sites can have such sums.
    """

    rows: Sequence[int]
    answering: Answering
    requests: int = 0
    families: int = 0
    lacking: Lacking = None
    spoilt: bool = False

    def ask(
        self, wanted: tuple[Family, ...]
    ) -> Generator[SumRequest, Ints, Sequence[OwnScores] | None]:
        """The sums of every block; None where there are none."""
        try:
            found = yield from sum_own_scores(wanted, self.rows, self.answering)
        except QuorumError as error:
            self.lacking = str(error)
            return None
        except (DataError, MessageError) as error:  # the sums were seen all the same
            self.families += len(wanted)
            self.lacking, self.spoilt = str(error), True
            return None
        self.requests += 1
        self.families += len(wanted)
        return found


def _drive(
    choosing: Choosing, scores: ScatterScores, asked: _Asked
) -> Generator[SumRequest, Ints, Climb | None]:
    """What is found, by scores of the sums over all sites; what was known until then, where a site
    falls silent; nothing where sums are spoilt."""
    known: dict[Family, Counted] = {}
    try:
        wanted = next(choosing)
        while True:
            new = tuple(sorted(set(wanted.families) - set(known)))
            found = (yield from asked.ask(new)) if new and asked.lacking is None else None
            if asked.spoilt:
                return None
            own = found[0].scores.tolist() if found else []
            for family, score in zip(new if own else (), own, strict=True):
                shared = scores.shared_score(family)
                known[family] = scores_of_family(shared, score, scores.shared.n_rows)
            lacks = asked.lacking is not None
            wanted = choosing.send({} if lacks else {each: known[each] for each in wanted.families})
    except StopIteration as end:
        return cast("Climb | None", end.value)
