"""The client app: decode a request, call `fedbn.rounds`, encode the reply. Nothing else.

    query  -> record "schema": {text, hash}
    train  -> record "structures": the arrays of a StructureMessage

With the run config's `share-diagnostics`, the record "diagnostics" goes with either: the site's
label, or label, rows and seconds. Nothing of the table itself is in any reply.
"""

from __future__ import annotations

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from clients.local_data import Site, local_site, partition_id
from clients.mods import firewall, redact
from fedbn.data.dataset import Schema
from fedbn.graphs.dag import DAG
from fedbn.message import (
    Limits,
    arrays_of_npy,
    from_arrays,
    schema_from_text,
    schema_to_text,
    to_arrays,
)
from fedbn.settings import from_run_config

LEARNER_STREAM = 4

app = ClientApp(mods=[redact, firewall])


@app.query()
def describe(message: Message, context: Context) -> Message:
    """Tell the names, states and kind of this site's columns."""
    experiment = from_run_config(context.run_config)
    site = local_site(experiment, context.node_config)
    schema = site.dataset.schema
    content = RecordDict(
        {"schema": ConfigRecord({"text": schema_to_text(schema), "hash": schema.hash})}
    )
    if experiment.share_diagnostics:
        content["diagnostics"] = ConfigRecord({"label": site.label})
    return Message(content, reply_to=message)


@app.train()
def train(message: Message, context: Context) -> Message:
    """Learn structures from this site's table under the agreed schema."""
    from fedbn.rounds import client_round

    experiment = from_run_config(context.run_config)
    site = local_site(experiment, context.node_config)
    task = message.content["task"]
    schema = schema_from_text(task["text"], task["hash"], sender="server")
    start = consensus_of(message, schema)
    rng = np.random.default_rng(
        [experiment.seed, LEARNER_STREAM, partition_id(context.node_config), int(task["round"])]
    )
    reply, learned = client_round(site.dataset, schema, experiment.learner, rng, start)
    arrays = {key: Array(array) for key, array in to_arrays(reply).items()}
    content = RecordDict({"structures": ArrayRecord(arrays)})
    if experiment.share_diagnostics:
        content["diagnostics"] = diagnostics(site, learned.seconds)
    return Message(content, reply_to=message)


def consensus_of(message: Message, schema: Schema) -> DAG | None:
    """The consensus to start from, or None in the first round; raises MessageError."""
    if "consensus" not in message.content:
        return None
    record = message.content["consensus"]
    limits = Limits(max_in_degree=schema.n, max_edges=schema.n**2, max_dags=1)
    parts = [(key, array.data) for key, array in record.items()]
    arrays = arrays_of_npy(parts, limits=limits, sender="server")
    return from_arrays(arrays, schema, limits=limits, sender="server").dags[0]


def diagnostics(site: Site, seconds: float) -> ConfigRecord:
    """What a site may tell about itself, where that is agreed."""
    return ConfigRecord({"label": site.label, "rows": site.dataset.n_rows, "seconds": seconds})
