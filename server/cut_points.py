"""Before the handshake: cut points common to all sites, by sums of their histograms
(`fedbn.data.quantiles`).

A site that refuses has no say in where the cuts are, nor has one whose answers are wrong or not of
the same numbers in all rounds: then the rounds begin anew without it. Where the run has secure
sums, the rounds are under masks: no site's histogram is seen, and every site must answer all that
follows.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from flwr.app import ConfigRecord, MessageType, RecordDict
from flwr.serverapp import Grid

from fedbn.arrays import Ints
from fedbn.data.cuts import Cuts, cuts_text
from fedbn.data.quantiles import (
    Histogram,
    Question,
    Selection,
    total_of,
    uncut_remarks,
    wanted_intervals,
    weights_of,
)
from fedbn.data.scales import same_histograms, scale_remarks
from fedbn.errors import MessageError, QuorumError
from fedbn.federation.histogram_message import (
    histogram_from_text,
    kinds_from_text,
    question_to_text,
)
from fedbn.federation.records import HISTOGRAM as FORM
from fedbn.federation.reply_limits import Limits
from fedbn.federation.settings import Experiment
from fedbn.secure.cut_sums import (
    BucketRequest,
    CutSumRequest,
    SizeRequest,
    counts_of,
    cut_terms,
    most_of,
    to_bytes,
)
from fedbn.secure.masks import unmasked_sum
from fedbn.secure.session import Terms
from server.replies import LOG, Sites
from server.secure_sums import Cohort, ask_masked, members_of

HISTOGRAM = f"{MessageType.QUERY}.histogram"
CUT_KEYS, CUT_SUMS = f"{MessageType.QUERY}.cut_keys", f"{MessageType.QUERY}.cut_sums"

Answer = TypeVar("Answer")


def find_cuts(grid: Grid, nodes: Iterable[int], run: Experiment) -> dict[str, Cuts]:
    """The cut points that the setting `discretise` asks for; none where it does not. Raises
    ConfigError where a column asked for does not hold numbers at some site, QuorumError where no
    site answers."""
    tables, limits = run.tables, run.limits
    if not tables.discretise:
        return {}
    sites = Sites(grid, {node: f"node {node}" for node in sorted(nodes)}, run.reply_seconds)
    asked_all = dict.fromkeys(sites.clients.values(), None)
    kinds = _answers(sites, asked_all, lambda text, _: kinds_from_text(text, limits))
    sites = sites.only(kinds)
    asked = tables.intervals, kinds, tables.preparation().cuts, run.consensus.variables
    wanted = wanted_intervals(*asked)
    for remark in uncut_remarks(*asked):
        LOG.warning("%s", remark)
    if not wanted:
        return {}
    if run.consensus.aggregation == "open":
        having = [name for name, own in kinds.items() if not wanted.keys().isdisjoint(own)]
        state = _select(sites.only(having), kinds, Selection(wanted), limits)
    else:
        state = masked_selection(sites, Selection(wanted), run)
    for remark in state.remarks():
        LOG.warning("%s", remark)
    LOG.info("cut points, for the sites' contracts: %s", " ".join(cuts_text(state.cuts())))
    return state.cuts()


def _select(
    sites: Sites, kinds: Mapping[str, Container[str]], begin: Selection, limits: Limits
) -> Selection:
    """All rounds, begun anew with fewer sites whenever one of them drops out, for the columns that
    the others have. A site is asked for the columns alone that it has, by `kinds`."""
    state, before, weights = begin, dict[str, Histogram](), list[dict[str, int]]()
    rounds: list[Mapping[str, Histogram]] = []
    while not state.done:
        question = state.question()
        asked = {name: question.only(kinds[name]) for name in sites.clients.values()}
        read = partial(_read_counts, asked=asked, before=before, limits=limits)
        answers = _answers(sites, asked, read)
        if len(answers) == len(sites.clients):
            found = [answer.over(question) for answer in answers.values()]
            weights = weights if before else weights_of(found)
            state, before = state.after(total_of(found, weights)), answers
            rounds.append(answers)
        else:
            sites, before, rounds = sites.only(answers), {}, []
            state = begin = _of_columns_at(begin, [kinds[name] for name in answers])
    _warn_of_scales(rounds)
    return state


def _of_columns_at(begin: Selection, kinds: Sequence[Container[str]]) -> Selection:
    """The same of the columns that one of these sites has; the others are logged."""
    wanted = {
        name: intervals
        for name, intervals in begin.wanted.items()
        if any(name in own for own in kinds)
    }
    for name in sorted(begin.wanted.keys() - wanted.keys()):
        LOG.warning("column %.60r is not cut: every site that has it dropped out", name)
    return Selection(wanted)


def _warn_of_scales(rounds: Sequence[Mapping[str, Histogram]]) -> None:
    """Say whose numbers are on another scale, and who told the same as somebody else throughout."""
    answers = {client: [each[client] for each in rounds] for client in rounds[0]}
    for remark in scale_remarks({name: found[0] for name, found in answers.items()}):
        LOG.warning("%s", remark)
    for one, other in same_histograms(answers):
        LOG.warning(
            "%s and %s have the same histograms throughout: is it one table, given twice?",
            one,
            other,
        )


def _read_counts(
    text: object,
    client: str,
    asked: Mapping[str, Question],
    before: Mapping[str, Histogram],
    limits: Limits,
) -> Histogram:
    """The histogram of a site; raises MessageError unless it is of the numbers of its last one."""
    answer = histogram_from_text(text, asked[client], limits)
    if client in before and not before[client].is_refined_by(answer, asked[client]):
        raise MessageError("counts must be those of the round before")
    return answer


def _answers(
    sites: Sites, asked: Mapping[str, Question | None], read: Callable[[object, str], Answer]
) -> dict[str, Answer]:
    """Site -> its answer to what it is asked, of those that answer well; why another does not is
    logged."""
    contents = {
        name: RecordDict({"question": ConfigRecord({"text": question_to_text(question)})})
        for name, question in asked.items()
    }

    def read_text(reply: RecordDict, client: str) -> Answer:
        return read(FORM.read(reply.get(FORM.name))["text"], client)

    answers, refused = sites.ask_each(HISTOGRAM, contents, read_text)
    for reason in refused.values():
        LOG.warning("no histogram: %s", reason)
    if not answers:
        raise QuorumError("cut points need the histograms of one site at least; none answered")
    return answers


def masked_selection(sites: Sites, begin: Selection, run: Experiment) -> Selection:
    """All rounds of a selection, by sums over these sites.

    Raises QuorumError: a site does not answer or refuses, or a sum cannot be one of histograms;
    DataError: nobody has numbers of a column.
    """
    cohort = Cohort(sites, run.consensus.sum_retries)
    name, columns = secrets.token_hex(16), tuple(sorted(begin.wanted))
    task = RecordDict({"task": ConfigRecord({"round": 1, "run": name})})
    keys = members_of(cohort, CUT_KEYS, dict.fromkeys(sites.clients, task))
    members = list(keys.values())
    terms, count = cut_terms(name, columns, members), len(members)
    sizes = SizeRequest(columns)
    try:
        most = most_of(sizes, _sum_of(cohort, sizes, terms), count)
        state, before = begin, None
        while not state.done:
            asked = BucketRequest(state.question(), most)
            total: Histogram = counts_of(asked, _sum_of(cohort, asked, terms), count, before)
            state, before = state.after(total), total
    except MessageError as error:
        raise QuorumError(
            f"cut points under masks: {error}; some site sent wrong sums, and masks hide which one"
        ) from None
    return state


def _sum_of(cohort: Cohort, request: CutSumRequest, terms: Terms) -> Ints:
    data = to_bytes(request, terms.session, cohort.rounds)
    return unmasked_sum(ask_masked(cohort, data, terms, CUT_SUMS))
