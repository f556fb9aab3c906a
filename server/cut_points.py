"""Before the handshake: cut points common to all sites, by sums of their histograms.

The rounds themselves are `fedbn.data.quantiles`; here its questions become messages, and the
replies checked histograms. A site that refuses has no say in where the cuts are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

from fedbn.data.cuts import Cuts
from fedbn.data.quantiles import Histogram, Selection, wanted_intervals
from fedbn.errors import MessageError, QuorumError
from fedbn.federation.histogram_message import (
    histogram_from_text,
    kinds_from_text,
    question_to_text,
)
from fedbn.federation.settings import Experiment
from server.replies import LOG, content_of

HISTOGRAM = f"{MessageType.QUERY}.histogram"


def find_cuts(
    grid: Grid, nodes: Iterable[int], experiment: Experiment, timeout: float | None
) -> dict[str, Cuts]:
    """The cut points that the setting `discretise` asks for; none where it does not.

    Parameters
    ----------
    grid, nodes : whom to ask.
    experiment : the settings.
    timeout : seconds to wait for the replies of one round.

    Raises
    ------
    ConfigError : a column asked for does not hold numbers at some site.
    QuorumError : no site answers.
    """
    tables, limits = experiment.tables, experiment.limits
    if not tables.discretise:
        return {}
    kinds = {
        name: kinds_from_text(text, limits, sender=name)
        for name, text in _answers(grid, nodes, question_to_text(None), timeout).items()
    }
    state = Selection(wanted_intervals(tables.intervals, kinds, tables.preparation().cuts))
    while not state.done:
        question = state.question()
        texts = _answers(grid, nodes, question_to_text(question), timeout)
        total = Histogram({name: {} for name in question.prefixes})
        for name, text in texts.items():
            total = total + histogram_from_text(text, question, limits, sender=name)
        state = state.after(total)
    for remark in state.remarks():
        LOG.warning("%s", remark)
    return state.cuts()


def _answers(
    grid: Grid, nodes: Iterable[int], question: str, timeout: float | None
) -> Mapping[str, object]:
    """Node -> the text of its answer, of those that answer well; a refusal is logged."""
    requests = [
        Message(RecordDict({"question": ConfigRecord({"text": question})}), node, HISTOGRAM)
        for node in sorted(nodes)
    ]
    texts: dict[str, object] = {}
    for reply in grid.send_and_receive(requests, timeout=timeout):
        name = f"node {reply.metadata.src_node_id}"
        try:
            record = content_of(reply, name).get("histogram")
            if not isinstance(record, ConfigRecord):
                raise MessageError(f"{name}: a reply must hold a histogram")
            texts[name] = record.get("text")
        except MessageError as error:
            LOG.warning("no histogram: %s", error)
    if not texts:
        raise QuorumError("cut points need the histograms of one site at least; none answered")
    return dict(sorted(texts.items()))
