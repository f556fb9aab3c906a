"""Before the handshake: cut points common to all sites, by sums of their histograms.

The rounds themselves are `fedbn.data.quantiles`; here its questions become messages, and the
replies checked histograms. A site that refuses has no say in where the cuts are, nor has one whose
answers are wrong or not of the same numbers in all rounds: then the rounds begin anew without it.
Where the run has secure sums, the rounds are under masks (`server.masked_cuts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

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
from fedbn.federation.runs import ServerRun
from server.masked_cuts import masked_selection
from server.replies import LOG, read_replies, values_in

HISTOGRAM = f"{MessageType.QUERY}.histogram"

Answer = TypeVar("Answer")


def find_cuts(
    grid: Grid, nodes: Iterable[int], run: ServerRun, timeout: float | None
) -> dict[str, Cuts]:
    """The cut points that the setting `discretise` asks for; none where it does not.

    Parameters
    ----------
    grid, nodes : whom to ask.
    run : the settings.
    timeout : seconds to wait for the replies of one round.

    Raises
    ------
    ConfigError : a column asked for does not hold numbers at some site.
    QuorumError : no site answers.
    """
    tables, limits = run.tables, run.limits
    if not tables.discretise:
        return {}

    def read_kinds(text: object, node: int) -> dict[str, bool]:
        return kinds_from_text(text, limits, sender=_name(node))

    found = _answers(grid, nodes, question_to_text(None), timeout, read_kinds)
    kinds = {_name(node): answer for node, answer in found.items()}
    given = tables.preparation().cuts
    wanted = wanted_intervals(tables.intervals, kinds, given)
    for remark in uncut_remarks(tables.intervals, kinds, given):
        LOG.warning("%s", remark)
    if run.consensus.aggregation == "open":
        state = _select(grid, set(found), Selection(wanted), limits, timeout)
    else:
        state = masked_selection(grid, found, Selection(wanted), run, timeout)
    for remark in state.remarks():
        LOG.warning("%s", remark)
    LOG.info("cut points, for the sites' contracts: %s", " ".join(cuts_text(state.cuts())))
    return state.cuts()


def _select(
    grid: Grid, nodes: set[int], begin: Selection, limits: Limits, timeout: float | None
) -> Selection:
    """All rounds, begun anew with fewer nodes whenever one of them drops out."""
    state, before, weights = begin, dict[int, Histogram](), list[dict[str, int]]()
    rounds: list[Mapping[int, Histogram]] = []
    while not state.done:
        question = state.question()
        read = partial(_read_counts, question=question, before=before, limits=limits)
        answers = _answers(grid, nodes, question_to_text(question), timeout, read)
        if set(answers) == nodes:
            found = [answers[node] for node in sorted(answers)]
            weights = weights if before else weights_of(found)
            state, before = state.after(total_of(found, weights)), answers
            rounds.append(answers)
        else:
            nodes, state, before, rounds = set(answers), begin, {}, []
    _warn_of_scales(rounds)
    return state


def _warn_of_scales(rounds: Sequence[Mapping[int, Histogram]]) -> None:
    """Say whose numbers are on another scale, and who told the same as somebody else throughout."""
    answers = {_name(node): [each[node] for each in rounds] for node in rounds[0]}
    for remark in scale_remarks({name: found[0] for name, found in answers.items()}):
        LOG.warning("%s", remark)
    for one, other in same_histograms(answers):
        LOG.warning(
            "%s and %s have the same histograms throughout: is it one table, given twice?",
            one,
            other,
        )


def _read_counts(
    text: object, node: int, question: Question, before: Mapping[int, Histogram], limits: Limits
) -> Histogram:
    """The histogram of a node; raises MessageError unless it is of the numbers of its last one."""
    answer = histogram_from_text(text, question, limits, sender=_name(node))
    if node in before and not before[node].is_refined_by(answer, question):
        raise MessageError(f"{_name(node)}: counts must be those of the round before")
    return answer


def _name(node: int) -> str:
    return f"node {node}"


def _answers(
    grid: Grid,
    nodes: Iterable[int],
    question: str,
    timeout: float | None,
    read: Callable[[object, int], Answer],
) -> dict[int, Answer]:
    """Node -> its answer, of those that answer well; why another does not is logged."""
    names = {node: _name(node) for node in sorted(nodes)}
    record = ConfigRecord({"text": question})
    requests = [Message(RecordDict({"question": record}), node, HISTOGRAM) for node in names]

    def read_text(reply: RecordDict, node: int) -> Answer:
        return read(values_in(reply, FORM, names[node])["text"], node)

    answers, refused = read_replies(grid, requests, names, timeout, read_text)
    for reason in refused.values():
        LOG.warning("no histogram: %s", reason)
    if not answers:
        raise QuorumError("cut points need the histograms of one site at least; none answered")
    return answers
