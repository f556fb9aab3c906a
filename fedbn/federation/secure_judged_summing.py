"""Choosing by sums of products under masks where sites have different columns.

What `judged_summing.py` does in the open, with sums over blocks in place of those of sites. The
sums of own scores are asked for where they are needed: of the families that are looked at first,
and of each round of a climb.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import cast

from fedbn.arrays import Ints
from fedbn.choice.by_counts import is_over
from fedbn.choice.candidates import CandidateLimits
from fedbn.choice.judged import JudgedClimb
from fedbn.choice.judged_sums import ScattersOfBlocks
from fedbn.errors import DataError, MessageError, QuorumError
from fedbn.federation.judged_counting import by_moves
from fedbn.federation.judged_summing import judging_by_sums, moved_by_sums
from fedbn.federation.runs import ServerRun
from fedbn.federation.secure_counting import Lacking, open_summed, with_summed_choice
from fedbn.federation.secure_rounds import SecureResult
from fedbn.networks.family_counts import Family
from fedbn.scores.scatter import Scatter
from fedbn.secure.requests import SumRequest
from fedbn.secure.scatter_sums import OwnScores, sum_own_scores


def summed_moves(
    result: SecureResult, run: ServerRun, scatters: Sequence[Scatter]
) -> Generator[SumRequest, Ints, tuple[SecureResult, Lacking]]:
    """Where moves lead to by these sums of all blocks, and why there were no more; errors may be
    thrown in as into `secure_counting.summed_choice`, and mean the same."""
    answering, settings = result.answering, run.consensus
    blocks = [result.answering_for([frozenset(each.columns)]) for each in answering.blocks]
    sites = dict(zip(result.clients, map(frozenset, answering.columns), strict=True))
    sums = {names[0]: own for names, own in zip(blocks, scatters, strict=True)}
    known = ScattersOfBlocks(result.schema, sites, sums)
    opened = by_moves(open_summed(result, run, CandidateLimits()), sites, settings.min_judges)
    opened = replace(opened, rows={names: sums[names[0]].rows for names in blocks})
    rounds = settings.count_rounds if settings.choose == "climb" else 0
    climb: JudgedClimb | None = None
    requests, seen, lacking = 0, 0, None
    work = opened.time.begin()
    judging = judging_by_sums(opened, known, rounds, lambda: work.end)
    try:
        wanted = next(judging)
        while True:
            spent, heard = work.stop(), cast("ScattersOfBlocks | None", known)
            if wanted:
                try:
                    found = yield from sum_own_scores(
                        wanted, [own.rows for own in scatters], answering
                    )
                except QuorumError as error:
                    lacking, heard = str(error), None
                except (DataError, MessageError) as error:  # the sums were seen all the same
                    seen += len(wanted)
                    return replace(result, lacking=str(error), families=seen), str(error)
                else:
                    requests, seen = requests + 1, seen + len(wanted)
                    heard = known = known.hearing(_by_family(found, blocks))
            work = spent.begin()
            wanted = judging.send(heard)
    except StopIteration as stop:
        climb = stop.value
    result = replace(result, families=seen)
    if climb is None:
        return with_summed_choice(result, None, lacking), lacking
    cut_short = is_over(work.end)
    choice = moved_by_sums(climb, known, opened, requests=2 + requests, cut_short=cut_short)
    return with_summed_choice(result, choice, lacking), lacking


def _by_family(
    found: Sequence[OwnScores], blocks: Sequence[Sequence[str]]
) -> dict[Family, dict[str, float]]:
    """Family -> the first site of each block that has it -> the block's own scores of it."""
    told: dict[Family, dict[str, float]] = {}
    for own, names in zip(found, blocks, strict=True):
        for family, score in zip(own.families, own.scores.tolist(), strict=True):
            told.setdefault(family, {})[names[0]] = score
    return told
