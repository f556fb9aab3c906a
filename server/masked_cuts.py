"""Cut points by sums under masks: no site's histogram is seen. Every site that says which of its
columns hold numbers must answer all that follows, or the run ends."""

from __future__ import annotations

import secrets

from flwr.app import ConfigRecord, MessageType, RecordDict

from fedbn.arrays import Ints
from fedbn.data.quantiles import Histogram, Selection
from fedbn.errors import MessageError, QuorumError
from fedbn.federation.runs import ServerRun
from fedbn.federation.secure_cuts import (
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
from server.replies import Sites
from server.secure_sums import Cohort, ask_masked, members_of

__all__ = ["masked_selection"]

CUT_KEYS, CUT_SUMS = f"{MessageType.QUERY}.cut_keys", f"{MessageType.QUERY}.cut_sums"


def masked_selection(sites: Sites, begin: Selection, run: ServerRun) -> Selection:
    """All rounds of a selection, by sums over these sites.

    Raises QuorumError: a site does not answer or refuses, or a sum cannot be one of histograms;
    DataError: nobody has numbers of a column.
    """
    cohort = Cohort(sites, run.consensus.sum_retries)
    name, columns = secrets.token_hex(16), tuple(sorted(begin.wanted))
    task = RecordDict({"task": ConfigRecord({"round": 1, "run": name})})
    members = members_of(cohort, CUT_KEYS, dict.fromkeys(sites.clients, task))
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
            f"cut points under masks: {error}; some site is wrong, and nobody can say which"
        ) from None
    return state


def _sum_of(cohort: Cohort, request: CutSumRequest, terms: Terms) -> Ints:
    data = to_bytes(request, terms.session, cohort.rounds)
    return unmasked_sum(ask_masked(cohort, data, terms, CUT_SUMS))
