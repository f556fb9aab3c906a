"""The client app: decode a request, call `fedbn.federation.rounds`, encode the reply. Nothing else.

    query.histogram -> record "histogram": {text}, where the run looks for cut points
    query         -> record "schema": {text, hash}
    query.report  -> record "receipt": {received}
    query.moments -> record "moments": rows, means, sums of products of a DAG's families
    query.counts  -> record "counts": the arrays of a FamilyAnswer
    train         -> record "structures": the arrays of a StructureMessage
    query.keys    -> record "keys": {public[, name, signature]}, of secure sums
    train.sums    -> record "sums": {masked}

Where the run's `share-diagnostics` and the site's policy want it, the record "diagnostics" goes
with them: the site's label, or label, rows and seconds. Nothing of the table itself is in any
reply. What the site's policy forbids is refused before anything is learned or sent.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from clients.admission import admit_numbers, admit_run, admit_site, require_agreed
from clients.disclosures import budget, disclose
from clients.divided_table import Site
from clients.local_data import partition_id
from clients.mods import LOG, firewall, redact, shares_diagnostics
from clients.private_runs import (
    admit,
    keep_structures,
    kept_structures,
    own_schema,
    require_open,
    reserve_budget,
)
from clients.requests import (
    agreed_of,
    consensus_of,
    cuts_of,
    families_of_request,
    question_of,
    report_of,
    require_version,
    task_of,
)
from clients.secure_sums import begin_sums, has_begun, masked_answer, own_key
from clients.site import is_deployed, read_decisions
from fedbn.data.quantiles import histogram
from fedbn.errors import MessageError
from fedbn.federation.histogram_message import histogram_to_text, kinds_to_text
from fedbn.federation.message import StructureMessage, to_arrays
from fedbn.federation.schema_text import schema_to_text
from fedbn.federation.site_table import many_numbers

app = ClientApp(mods=[redact, disclose, redact, budget, firewall])
"""The inner `redact` makes an answer of every failure, so that `disclose` sees all that leaves; the
outer one is for a log that cannot be written."""


@app.query("histogram")
def tell_histogram(message: Message, context: Context) -> Message:
    """Tell which columns hold numbers, or how many of them are in which bucket."""
    experiment = admit_run(context)
    require_open(experiment)
    read_decisions(context).policy.require_histograms()
    numbers = admit_numbers(experiment, context)
    question = question_of(message)
    if question is None:
        text = kinds_to_text(many_numbers(numbers))
    else:
        text = histogram_to_text(histogram(question, numbers))
    content = RecordDict({"histogram": ConfigRecord({"text": text})})
    return Message(content, reply_to=message)


@app.query()
def describe(message: Message, context: Context) -> Message:
    """Tell the names, states and kind of this site's columns."""
    require_version(message)
    experiment = admit_run(context)
    site = admit_site(experiment, context, cuts_of(message))
    admit(experiment, context)
    schema = own_schema(experiment, context, site.dataset, agreed_of(message))
    content = RecordDict(
        {"schema": ConfigRecord({"text": schema_to_text(schema), "hash": schema.hash})}
    )
    if shares_diagnostics(context) and site.label:
        content["diagnostics"] = ConfigRecord({"label": site.label})
    return Message(content, reply_to=message)


@app.query("report")
def report(message: Message, context: Context) -> Message:
    """Log how this site differs from what was agreed."""
    LOG.warning("the agreed columns and this site: %s", report_of(message))
    return Message(RecordDict({"receipt": ConfigRecord({"received": True})}), reply_to=message)


@app.query("counts")
def count(message: Message, context: Context) -> Message:
    """Count families in this site's table under the agreed schema, where the policy allows it."""
    from fedbn.federation.family_message import answer_request, answer_to_arrays

    experiment = admit_run(context)
    require_open(experiment)
    task = task_of(message)
    policy = read_decisions(context).policy
    policy.require_open()
    site = admit_site(experiment, context, task.schema.cuts)
    require_agreed(site, task.schema, context)
    request = families_of_request(message, task.schema)
    policy.require_counts(site.dataset.n_rows, request.tables.families)
    table = site.dataset.with_schema(task.schema)
    answer = answer_request(request, table, experiment.learner.ess)
    answer = replace(answer, counts=policy.permit_counts(answer.counts, compared=request.with_own))
    arrays = {key: Array(array) for key, array in answer_to_arrays(request, answer).items()}
    return Message(RecordDict({"counts": ArrayRecord(arrays)}), reply_to=message)


@app.query("moments")
def tell_moments(message: Message, context: Context) -> Message:
    """Moments of the consensus' families in this site's table, where the policy allows counts."""
    from fedbn.federation.moments_message import moments_to_arrays
    from fedbn.networks.family_counts import families_of
    from fedbn.networks.moments import family_pairs, moments_of

    experiment = admit_run(context)
    task = task_of(message)
    site = admit_site(experiment, context, task.schema.cuts)
    policy, dag = read_decisions(context).policy, consensus_of(message, task.schema)
    if dag is None:
        raise MessageError("server: a request for moments must hold a consensus")
    require_agreed(site, task.schema, context)
    policy.require_counts(site.dataset.n_rows, families_of([dag]))
    policy.require_cells(np.array([site.dataset.n_rows]))
    table = site.dataset.with_schema(task.schema)
    found = moments_to_arrays(moments_of(table, family_pairs(dag)), dag, task.schema)
    arrays = {key: Array(array) for key, array in found.items()}
    return Message(RecordDict({"moments": ArrayRecord(arrays)}), reply_to=message)


@app.train()
def train(message: Message, context: Context) -> Message:
    """Learn structures from this site's table under the agreed schema."""
    read_decisions(context).policy.require_open()
    site, structures, seconds = learn(message, context)
    arrays = {key: Array(array) for key, array in to_arrays(structures).items()}
    content = RecordDict({"structures": ArrayRecord(arrays)})
    if shares_diagnostics(context):
        content["diagnostics"] = diagnostics(site, seconds)
    return Message(content, reply_to=message)


@app.query("keys")
def keys(message: Message, context: Context) -> Message:
    """Learn as in `train`, keep the structures here, and tell a public key for secure sums."""
    site: Site | None = None
    seconds = 0.0
    if not has_begun(message, context):
        site, structures, seconds = learn(message, context)
        begin_sums(message, context, structures)
    content = RecordDict({"keys": own_key(context)})
    if shares_diagnostics(context) and site is not None:
        content["diagnostics"] = diagnostics(site, seconds)
    return Message(content, reply_to=message)


@app.train("sums")
def sums(message: Message, context: Context) -> Message:
    """Answer a request for a sum, masked."""
    began = time.process_time()
    content = RecordDict({"sums": ArrayRecord({"masked": Array(masked_answer(message, context))})})
    if shares_diagnostics(context):
        content["diagnostics"] = ConfigRecord({"seconds": time.process_time() - began})
    return Message(content, reply_to=message)


def learn(message: Message, context: Context) -> tuple[Site, StructureMessage, float]:
    """This site, the structures that may leave it, and the CPU seconds of learning them."""
    from fedbn.federation.rounds import client_round

    experiment = admit_run(context)
    task = task_of(message)
    site = admit_site(experiment, context, task.schema.cuts)
    if task.report:
        LOG.warning("the agreed columns and this site: %s", task.report)
    require_agreed(site, task.schema, context)
    learner = admit(experiment, context)
    before = kept_structures(learner, task, context)
    if before is not None:
        return site, before, 0.0
    start = consensus_of(message, task.schema)
    rng = learner_rng(experiment.seed, context, task.round)
    reserve_budget(learner, site.dataset, task, context)
    given = experiment.data.schema is not None
    reply, rungs = client_round(site.dataset, task.schema, learner, rng, start, given=given)
    structures = read_decisions(context).policy.permit(reply)
    keep_structures(learner, task, context, structures)
    return site, structures, sum(result.seconds for result in rungs)


def learner_rng(seed: int, context: Context, number: int) -> np.random.Generator:
    """A learner's random numbers: of the run's seed in a simulation, never in a deployment.

    There a run that chose the seed could ask one table a question of its own per seed.
    """
    from fedbn.federation.rounds import site_rng

    if is_deployed(context):
        return np.random.default_rng()
    return site_rng(seed, partition_id(context.node_config), number)


def diagnostics(site: Site, seconds: float) -> ConfigRecord:
    """What a site may tell about itself, where that is agreed."""
    record = ConfigRecord({"rows": site.dataset.n_rows, "seconds": seconds})
    if site.rows_dropped:
        record["rows_dropped"] = site.rows_dropped
    if site.label:
        record["label"] = site.label
    return record
