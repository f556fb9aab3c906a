"""Choosing by counts, and parameters, where the server has sums over the sites and nothing else.

Both are questions that go on where those on structures ended, under the same masks. Every sum is
that of the open run, so both choose and estimate as it does; but nobody knows the families that
single sites sent, which the open run asks about, too. All sites must answer: without one of them
there are no counts, and the result stays as it is. Where sites have different columns, moves
choose, and what would be a site's answer in the open is the sum over a block. Where columns are
numbers, sums of products choose (`secure_summing.py`).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from fedbn.arrays import Ints
from fedbn.choice.by_counts import CountedChoice, family_rule
from fedbn.choice.candidates import SUMMED_LIMITS, Candidate, CandidateLimits
from fedbn.choice.further_families import voted_families
from fedbn.consensus.threshold import Consensus, states_of
from fedbn.consensus.votes import mean_smhd_by_votes
from fedbn.errors import DataError, MessageError, NetworkError, QuorumError, StructureError
from fedbn.federation.choice_record import counted_consensus
from fedbn.federation.counting import Counting, open_dialogue
from fedbn.federation.family_message import FamilyAnswer
from fedbn.federation.judged_counting import JudgedCounting, by_moves
from fedbn.federation.secure_rounds import SecureResult
from fedbn.federation.settings import Experiment
from fedbn.networks.family_counts import Family, FamilyTables, families_of
from fedbn.networks.fitting import parameters_of, parameters_where_known
from fedbn.networks.parameter_sources import FittedParameters, ParameterSources
from fedbn.secure.family_sums import (
    families_within,
    require_few_cells,
    sum_families_of_blocks,
)
from fedbn.secure.requests import SumRequest

Lacking = str | None
"""Why there are no counts, or no more."""


def summed_choice(
    result: SecureResult, run: Experiment
) -> Generator[SumRequest, Ints, tuple[SecureResult, Lacking]]:
    """Ask for counts, and choose by them; QuorumError may be thrown in where a site has none, and
    MessageError where their answers make no sum.

    Where a site falls silent, what was counted until then chooses. Where sums are none that honest
    sites can have, no sum before is to be trusted, either: the structures alone choose.
    """
    columns, lacking, seen = result.columns_answered, None, 0
    dialogue = _open_dialogue(result, run)
    while (wanted := dialogue.request()) is not None:
        try:
            parts = yield from sum_families_of_blocks(wanted.tables, columns, run.learner.ess)
        except QuorumError as error:
            lacking = str(error)
            break
        except (DataError, MessageError) as error:
            seen += len(wanted.tables.families)
            return replace(result, lacking=str(error), families=seen), str(error)
        seen += len(wanted.tables.families)
        dialogue = dialogue.hear_sums(
            {result.answering_for(part.blocks): FamilyAnswer(*sums) for part, sums in parts}
        )
    result = replace(result, families=seen)
    return with_summed_choice(result, dialogue.choice, lacking), lacking


def with_summed_choice(
    result: SecureResult, choice: CountedChoice | None, lacking: Lacking
) -> SecureResult:
    """The result with what sums chose, and why there were no more of them."""
    result = replace(result, lacking=lacking or "", choice=choice)
    if choice is None or choice.moves == ():
        return result
    assert isinstance(result.consensus, Consensus)
    distance = mean_smhd_by_votes(choice.dag, result.votes)
    consensus = counted_consensus(result.consensus, choice, distance)
    return replace(result, consensus=consensus)


def _open_dialogue(result: SecureResult, run: Experiment) -> Counting | JudgedCounting:
    """The dialogue that fits the columns. Every block has cells of its own in an answer, which is
    to be no longer for that."""
    columns = result.columns_answered
    if all(len(own) == result.schema.n for own in columns):
        keeps = family_rule(run.consensus.known, result.schema.names)
        voted = tuple(filter(keeps, voted_families([result.votes])))
        return open_summed(result, run, SUMMED_LIMITS, voted)
    cells = SUMMED_LIMITS.cells // len(set(columns))
    opened = open_summed(result, run, replace(SUMMED_LIMITS, cells=cells))
    of_sites = dict(zip(result.clients, map(frozenset, columns), strict=True))
    return by_moves(opened, of_sites, run.consensus.min_judges)


def open_summed(
    result: SecureResult, run: Experiment, limits: CandidateLimits, more: Sequence[Family] = ()
) -> Counting:
    """The dialogue about the states of all paths; pairs that some site joined have votes.

    limits : of candidates and tables.
    more : families that are asked for, too, as for `candidates_of`.
    """
    consensus = result.consensus
    assert result.path is not None
    assert isinstance(consensus, Consensus)
    states = [
        state
        for branch in result.path.branches
        for state in states_of(branch, "best", branch.fusions, result.votes)
    ]
    votes = result.votes
    return open_dialogue(
        [(1.0, states)],
        result.schema,
        votes.matrix(votes.classes.sum(axis=0)) > 0,
        Candidate(1.0, consensus.state, consensus.dag),
        run.consensus,
        ess=run.learner.ess,
        seed=run.seed,
        limits=limits,
        more=more,
        knowledge=run.consensus.known,
    )


def summed_parameters(
    result: SecureResult, run: Experiment
) -> Generator[SumRequest, Ints, tuple[SecureResult, FittedParameters]]:
    """Ask for the counts of the consensus' families, and give it parameters: those of the pooled
    rows, to the last digit; where sites have different columns, each table of the rows of those
    that answer for its columns. QuorumError and MessageError may be thrown in."""
    dag, ess, seen = result.consensus.dag, run.parameter_ess, result
    sources = ParameterSources(tuple(sorted(result.clients)))
    columns = result.columns_answered
    families = families_of([dag])
    if columns:
        families = tuple(
            each for each in families if any(families_within([each], own) for own in columns)
        )
    try:
        tables = FamilyTables(result.schema, families)
        require_few_cells([tables])
        seen = replace(result, families=result.families + len(families))
        parts = yield from sum_families_of_blocks(tables, columns)
        counts = [sums.counts for _, sums in parts]
        if not columns:
            return seen, FittedParameters(parameters_of(dag, counts[0], ess), sources)
        network, lacking = parameters_where_known(dag, counts, ess)
    except QuorumError as error:
        return result, FittedParameters.without(str(error))
    except (MessageError, DataError, NetworkError, StructureError) as error:
        return seen, FittedParameters.without(str(error))
    of_sites = dict(zip(result.clients, map(frozenset, columns), strict=True))
    sources = sources.without(dag, lacking, of_sites).in_blocks()
    return seen, FittedParameters.of_known(network, sources)
