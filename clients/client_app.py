"""The client app: what is asked of a site, what must be allowed for it, and how it is answered.

`HANDLERS` is the whole of it: what is not in the table is not answered, and every message goes
through the door (`clients.door`). Where the run's `share-diagnostics` and the site's policy want
it, the record "diagnostics" goes with an answer: the site's label, or label, rows and seconds.
Nothing of the table itself is in any reply.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from clients.agreed_tables import (
    agreed_table,
    exact_table,
    table_of_all_products,
    table_of_families,
    table_of_products,
)
from clients.door import Answer, Handler, enter
from clients.private_runs import keep_structures, kept_structures, reserve_epsilon
from clients.read_requests import (
    CUT_SUMS,
    consensus_of,
    families_of_request,
    question_of,
    report_of,
)
from clients.request import Node, Request, node_of
from clients.secure_sums import (
    begin_sums,
    cut_key,
    has_begun,
    masked_answer,
    masked_cuts,
    own_key,
)
from clients.site import Site
from fedbn.data.common_cuts import many_numbers
from fedbn.errors import MessageError
from fedbn.federation.family_message import ANSWERS, answer_request, answer_to_arrays
from fedbn.federation.histogram_message import histogram_to_text, kinds_to_text
from fedbn.federation.message import STRUCTURES, StructureMessage, to_arrays
from fedbn.federation.missing_shares import missing_shares, shares_text
from fedbn.federation.policy import SitePolicy, refusal
from fedbn.federation.records import HISTOGRAM, KEYS, MASKED, RECEIPT, SCHEMA
from fedbn.federation.schema_text import schema_to_text
from fedbn.federation.sums_message import (
    CONDITIONALS,
    MOMENTS,
    SCATTERS,
    moments_to_arrays,
    scatter_to_arrays,
    sums_to_arrays,
)
from fedbn.federation.whole_families import whole_families, with_own_families
from fedbn.networks.family_counts import families_of
from fedbn.networks.mixed_sums import MixedFamilies, category_tables, mixed_sums
from fedbn.networks.moments import family_pairs, moments_of
from fedbn.scores.family_scores import own_scores
from fedbn.scores.scatter import scatter_of_table
from fedbn.wording import list_some

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.graphs.dag import DAG

LOG = logging.getLogger("fedbn.client")


def tell_histogram(request: Request) -> Answer:
    """Tell which columns hold numbers, or how many of them are in which bucket."""
    question = question_of(request.message)
    if question is None:
        return Answer({"text": kinds_to_text(many_numbers(request.numbers()))})
    return Answer({"text": histogram_to_text(request.histogram(question))})


def describe(request: Request) -> Answer:
    """Tell the names, states and kind of this site's columns."""
    schema, label = request.describe()
    told = {"text": schema_to_text(schema), "hash": schema.hash}
    return Answer(told, lambda: {"label": label} if label else {})


def report(request: Request) -> Answer:
    """Log how this site differs from what was agreed."""
    LOG.warning("the agreed columns and this site: %s", report_of(request.message))
    return Answer({"received": True})


def count(request: Request) -> Answer:
    """Count families in this site's table under the agreed schema, where the policy allows it."""
    schema, policy = request.task.schema, request.site.policy
    wanted = families_of_request(request.message, schema)
    table = exact_table(request, schema, wanted.tables.families, rounded=True)
    answer = answer_request(wanted, table, request.run.learner.ess)
    counts = policy.permit_counts(answer.counts, compared=wanted.with_own)
    request.enter_counts(lambda: answer.counts.of(counts.tables.families))
    scores = own_scores(counts, request.run.learner.ess) if wanted.with_own else answer.own
    told = replace(answer, counts=counts, own=scores)
    return Answer(answer_to_arrays(wanted, told))


def tell_moments(request: Request) -> Answer:
    """Moments of the consensus' families in this site's table, where the policy allows counts."""
    schema = request.task.schema
    dag = consensus_of(request.message, schema)
    if dag is None:
        raise MessageError("server: a request for moments must hold a consensus")
    own = with_own_families(dag, request.own_part(schema).names)
    pairs = family_pairs(own)
    table = table_of_products(request, schema, families_of([own]), pairs)
    return Answer(moments_to_arrays(moments_of(table, pairs), own, table.schema))


def tell_scatter(request: Request) -> Answer:
    """Sums of products of all agreed columns of this table, where the policy allows counts."""
    table = table_of_all_products(request, request.task.schema)
    return Answer(scatter_to_arrays(scatter_of_table(table), table.schema))


def tell_conditional(request: Request) -> Answer:
    """Sums of the families of a DAG of categories and numbers, those that the policy lets leave."""
    from fedbn.privacy.counts_in_sums import tells_few

    schema, policy = request.task.schema, request.site.policy
    dag = consensus_of(request.message, schema)
    if dag is None or schema.kind != "mixed":
        raise MessageError("server: a request for sums must hold a consensus over both kinds")
    own = request.own_part(schema)
    whole = whole_families(dag, own.names)
    wanted = MixedFamilies(with_own_families(dag, own.names), own)
    table = table_of_families(request, schema, wanted)
    counts = category_tables(table, wanted)
    kept = None if counts is None else policy.permit_counts(counts, compared=False)
    told, least = set(), policy.rule.least
    for node, variable in enumerate(own.variables):
        if variable.name not in whole:
            continue
        family = wanted.table_family(node)
        small = family is not None and (kept is None or family not in kept.tables.place)
        if variable.states is None and least > 1:
            small = small or tells_few(table, wanted.number_family(node), least)
        if not small:
            told.add(node)
    if not told:
        raise refusal("min-cell", "every family has a small count")
    families = [each for node in told if (each := wanted.table_family(node)) is not None]
    request.enter_sums(counts.of(families) if counts is not None and families else None)
    found = mixed_sums(table, wanted).only(frozenset(told))
    return Answer(sums_to_arrays(found, wanted))


def train(request: Request) -> Answer:
    """Learn structures from this site's table under the agreed schema."""
    site, structures, seconds = learn(request)
    return Answer(to_arrays(structures), lambda: diagnostics(request, site, seconds))


def keys(request: Request) -> Answer:
    """Learn as in `train`, keep the structures here, and tell a public key for secure sums."""
    if has_begun(request):
        return Answer(own_key(request))
    site, structures, seconds = learn(request)
    begin_sums(request, structures)
    return Answer(own_key(request), lambda: diagnostics(request, site, seconds))


def sums(request: Request) -> Answer:
    """Answer a request for a sum, masked."""
    began = time.process_time()
    told = MASKED.encode(masked=masked_answer(request))
    return Answer(told, lambda: {"seconds": time.process_time() - began})


_ALLOWED = (Request.require_offers, Request.require_contract, Request.require_admitted)
_LEARNING = (*_ALLOWED, Request.require_private, Request.require_task)
_EXACT = (
    Request.require_public,
    SitePolicy.require_exact,
    *_ALLOWED,
    SitePolicy.require_open,
    Request.require_task,
)
_HISTOGRAMS = (Request.require_public, SitePolicy.require_histograms)
_CUTS = (*_HISTOGRAMS, Request.require_peers, Request.require_offers)
_COLUMNS = (
    Request.require_version,
    *_ALLOWED,
    Request.require_private,
    Request.require_question,
)

HANDLERS: Mapping[str, Handler] = {
    "query.histogram": Handler(
        tell_histogram,
        HISTOGRAM,
        (*_HISTOGRAMS, Request.require_open_counts, Request.require_offers),
    ),
    "query.cut_keys": Handler(lambda request: Answer(cut_key(request)), KEYS, _CUTS),
    CUT_SUMS: Handler(
        lambda request: Answer(MASKED.encode(masked=masked_cuts(request))),
        MASKED,
        _CUTS,
        masked=True,
    ),
    "query": Handler(describe, SCHEMA, _COLUMNS),
    "query.report": Handler(report, RECEIPT),
    "query.counts": Handler(count, ANSWERS, _EXACT),
    "query.moments": Handler(tell_moments, MOMENTS, _EXACT),
    "query.scatter": Handler(tell_scatter, SCATTERS, _EXACT),
    "query.conditional": Handler(tell_conditional, CONDITIONALS, _EXACT),
    "train": Handler(train, STRUCTURES, (SitePolicy.require_open, *_LEARNING)),
    "query.keys": Handler(keys, KEYS, (Request.require_peers, *_LEARNING)),
    "train.sums": Handler(sums, MASKED, (Request.require_peers,), masked=True),
}
"""Kind of message -> how it is answered, and what must be allowed before a cell is read."""


class SiteApp(ClientApp):
    """An app that lets every message, of whatever kind, in by the door, in the name of the site
    that `find` gives."""

    def __init__(self, find: Callable[[Context], Node] = node_of) -> None:
        super().__init__()
        self._find = find

    def __call__(self, message: Message, context: Context) -> Message:
        """The reply, which has been looked at and logged."""
        return enter(message, context, HANDLERS, self._find)


app = SiteApp()


def learn(request: Request) -> tuple[Site, StructureMessage, float]:
    """This site, the structures that may leave it, and the CPU seconds of learning them."""
    from fedbn.federation.rounds import client_round

    task, learner = request.task, request.learner
    if task.report:
        LOG.warning("the agreed columns and this site: %s", task.report)
    _tell_lacking(request)
    before = kept_structures(request, task)
    if before is not None:
        return request.table(task.schema.cuts), before, 0.0
    start = consensus_of(request.message, task.schema)
    with reserve_epsilon(request, task):
        site = agreed_table(request, request.task.schema)
        given, rng = request.run.gives_schema, request.rng()
        reply, rungs = client_round(
            site.dataset,
            task.schema,
            learner,
            rng,
            start,
            given=given,
            variables=request.run.variables,
        )
        structures = request.site.policy.permit(reply)
    _warn_of_missing(site.dataset, rungs[0].dags[0])
    keep_structures(request, task, structures)
    return site, structures, sum(result.seconds for result in rungs)


def _tell_lacking(request: Request) -> None:
    """Say here which agreed columns other sites have and this one lacks."""
    if request.run.variables == "union":
        own = set(request.names)
        lacking = [name for name in request.task.schema.names if name not in own]
        if lacking:
            LOG.info("agreed columns that this site lacks: %s", list_some(lacking, 10))


def _warn_of_missing(dataset: Dataset, dag: DAG) -> None:
    """Say here, at the site, what was imputed and what that rests on."""
    if dataset.gone is None:
        return
    from fedbn.learners.completion import missingness_remarks

    LOG.info("%.1f %% of the cells are imputed", 100 * dataset.gone.mean())
    for words in missingness_remarks(dataset, dag):
        LOG.warning("%s", words)


def diagnostics(request: Request, site: Site, seconds: float) -> dict[str, Any]:
    """What a site may tell about itself, where that is agreed."""
    rule = request.site.policy.rule
    record: dict[str, Any] = {"seconds": seconds}
    counted = {"rows": site.dataset.n_rows, "rows_dropped": site.rows_dropped}
    told = {key: rows for key, rows in counted.items() if rows >= max(rule.least, 1)}
    if rule.least <= 1 or (told and request.enter_rows()):
        record.update({key: rule.rows(rows) for key, rows in told.items()})
    shares = request.site.policy.missing_shares and site.dataset.gone is not None
    if shares and (rule.least <= 1 or request.enter_missing(site.dataset)):
        record["missing"] = shares_text(missing_shares(site.dataset, rule.least))
    if site.label:
        record["label"] = site.label
    return record
