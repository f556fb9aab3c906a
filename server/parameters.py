"""After the last round: the parameters of the consensus, from sums over the sites.

Categorical: one request for the exact counts of the consensus' families, whose sum gives the tables
of the pooled rows, byte for byte. Gaussian: moments of the families, put together. A site's policy
lets neither leave unless it says so; without any answer the run ends without parameters. A site may
hold back families with small counts; then the log says which tables are without its rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

from fedbn.errors import DataError, MessageError, NetworkError
from fedbn.federation.family_message import FamilyRequest
from fedbn.federation.message import StructureMessage, to_arrays
from fedbn.federation.moments_message import MOMENTS_KEYS, moments_from_arrays
from fedbn.federation.rounds import FederationResult
from fedbn.federation.schema_text import schema_to_text
from fedbn.federation.settings import Experiment
from fedbn.networks.family_counts import FamilyTables, families_of
from fedbn.networks.fitting import parameters_of_sites
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.moments import Moments, family_pairs, linear_gaussian_of, pooled_moments
from fedbn.networks.network import BayesianNetwork
from server.counting import answers_to
from server.replies import LOG, arrays_in, content_of

MOMENTS = f"{MessageType.QUERY}.moments"

SHOWN = 8
"""Variables that a line of the log names."""

Network = BayesianNetwork | LinearGaussianNetwork


def fit_parameters(
    grid: Grid,
    result: FederationResult,
    clients: Mapping[int, str],
    experiment: Experiment,
    timeout: float | None,
) -> Network | None:
    """The consensus with parameters; None, with a warning in the log, where there are none.

    Parameters
    ----------
    grid, clients : whom to ask, node id -> client name.
    result : of the rounds.
    experiment : the settings.
    timeout : seconds to wait for the replies.
    """
    taking_part = {reply.client for reply in result.replies}
    nodes = {node: name for node, name in clients.items() if name in taking_part}
    ask = _tables if result.schema.kind == "categorical" else _equations
    try:
        return ask(grid, result, nodes, experiment, timeout)
    except (DataError, NetworkError) as error:
        LOG.warning("no parameters: %s", error)
        return None


def _tables(
    grid: Grid,
    result: FederationResult,
    nodes: Mapping[int, str],
    experiment: Experiment,
    timeout: float | None,
) -> Network | None:
    dag = result.consensus.dag
    wanted = FamilyRequest(FamilyTables(result.schema, families_of([dag])), with_own=False)
    answers, refused = answers_to(grid, nodes, wanted, result, experiment, timeout)
    _tell_lacking(refused, len(answers))
    if not answers:
        return None
    for site in sorted(answers):
        held = [
            repr(dag.names[family.node])
            for family in wanted.tables.families
            if family not in answers[site].counts.tables.place
        ]
        if held:
            LOG.warning("the tables of %s are without the rows of %s: min-cell", _list(held), site)
    counts = [answers[site].counts for site in sorted(answers)]
    return parameters_of_sites(dag, counts, experiment.parameter_ess)


def _list(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _equations(
    grid: Grid,
    result: FederationResult,
    nodes: Mapping[int, str],
    experiment: Experiment,
    timeout: float | None,
) -> Network | None:
    dag, schema = result.consensus.dag, result.schema
    asked = StructureMessage(schema.hash, schema.names, (dag,), (1.0,), "complete")
    record = ArrayRecord({key: Array(array) for key, array in to_arrays(asked).items()})
    task = ConfigRecord(
        {"text": schema_to_text(schema), "hash": schema.hash, "round": result.rounds}
    )
    messages = [
        Message(RecordDict({"task": task, "consensus": record}), node, MOMENTS)
        for node in sorted(nodes)
    ]
    moments: dict[str, Moments] = {}
    refused: dict[str, str] = {}
    for reply in grid.send_and_receive(messages, timeout=timeout):
        client = nodes[reply.metadata.src_node_id]
        try:
            moments[client] = _moments(reply, client, result, experiment)
        except MessageError as error:
            refused[client] = str(error)
    refused |= {name: f"{name}: no reply" for name in {*nodes.values()} - {*moments, *refused}}
    _tell_lacking(refused, len(moments))
    if not moments:
        return None
    return linear_gaussian_of(dag, pooled_moments(moments, family_pairs(dag)))


def _moments(
    reply: Message, client: str, result: FederationResult, experiment: Experiment
) -> Moments:
    content, limits = content_of(reply, client), experiment.limits
    arrays = arrays_in(content, "moments", client=client, limits=limits, keys=MOMENTS_KEYS)
    return moments_from_arrays(arrays, result.consensus.dag, result.schema, sender=client)


def _tell_lacking(refused: Mapping[str, str], answers: int) -> None:
    for name in sorted(refused):
        LOG.warning("parameters are without the rows of %s: %s", name, refused[name])
    if not answers:
        LOG.warning("no parameters: no site's policy lets them leave (counts = true)")
