"""The server app: settings -> handshake -> rounds -> results.

After every round the state is kept in the checkpoint (`server.checkpoint`), from which a later run
with `resume` goes on; it is removed once the results folder, `out-dir` in the run config, is
written.
"""

from __future__ import annotations

import logging
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedbn.data.schema import Schema, suits
from fedbn.data.tables import read_schema
from fedbn.errors import ConfigError
from fedbn.federation.checkpoint import result_files
from fedbn.federation.choice_record import choice_facts
from fedbn.federation.grouped_sums import GroupedSums
from fedbn.federation.private_runs import require_private_run
from fedbn.federation.run_config import from_run_config, to_run_config
from fedbn.federation.runs import site_run
from fedbn.federation.secure_rounds import SecureResult
from fedbn.federation.settings import Experiment
from fedbn.federation.state import FederationResult, ServerState
from fedbn.groups.given import groups_of_sites
from fedbn.groups.grouping import Grouping
from fedbn.learners import kind_of_score
from fedbn.networks.conditional_gaussian import Network
from fedbn.networks.parameter_sources import FittedParameters, ParameterSources
from server.awaited import WatchedGrid
from server.checkpoint import forget, hold, resume
from server.counting import choose_by_counts
from server.courier import with_couriers
from server.cut_points import find_cuts
from server.groups import find_groups
from server.handshake import Handshake, shake_hands, wait_for_nodes
from server.parameters import fit_parameters
from server.replies import LOG, Sites
from server.rounds import another_round, run_rounds
from server.secure_sums import grouped_federation, secure_federation

RUN = "{run}"
"""What stands for the run's id in the paths of results and checkpoint."""

SIMULATION_SECONDS = 5.0
"""How long to wait for nodes to connect in a simulation."""

app = ServerApp()


@dataclass(frozen=True)
class Federated:
    """A result, the CPU seconds that its fusions took, the consensus with parameters and whose rows
    they are of (None where nobody was asked), and the groups of the sites, if the run wanted them.
    Of groups under secure sums the result has all."""

    result: FederationResult | SecureResult | GroupedSums
    seconds: float
    fitted: FittedParameters | None = None
    grouping: Grouping | None = None

    @property
    def network(self) -> Network | None:
        """The consensus with parameters, if sites gave them."""
        return None if self.fitted is None else self.fitted.network

    @property
    def sources(self) -> ParameterSources | None:
        """Whose rows they are of."""
        return None if self.fitted is None else self.fitted.sources


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the federation that the run config describes."""
    show_lines()
    experiment = of_run(from_run_config(context.run_config), context.run_id)
    run_and_write(grid, experiment, context.run_id)


def show_lines() -> None:
    """Print what the app logs: `flwr run --stream` and `flwr log` show what it prints."""
    if LOG.hasHandlers():
        return
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter("%(levelname)s fedbn: %(message)s"))
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)


def of_run(experiment: Experiment, run_id: int) -> Experiment:
    """The experiment with the run's id for RUN in the paths of results, checkpoint and files."""
    output = experiment.output
    paths = {
        "out_dir": output.out_dir,
        "checkpoint": output.checkpoint,
        "courier_dir": experiment.couriers.folder,
    }
    changed = {name: path.replace(RUN, str(run_id)) for name, path in paths.items() if path}
    return experiment.change(**changed)


def run_and_write(grid: Grid, run: Experiment, run_id: int = 0) -> None:
    """Run the federation and write its results folder, if one is wanted; `run.json` has the id.
    Raises ResultsError, before anything is run, when the folder cannot be written; else as
    `federate` does."""
    if run.output.out_dir is None:
        federate_live(grid, run, run_id)
        return
    from fedbn.results.report import check_results_folder

    check_results_folder(run.output.out_dir)
    write_folder(federate_live(grid, run, run_id), run, run_id)
    forget(run.output)
    folder = Path(run.output.out_dir).absolute()
    LOG.info("the results of run %s are in %s", run_id, folder)


def federate_live(grid: Grid, run: Experiment, run_id: int) -> Federated:
    """`federate` over the nodes and the couriers, with a log that says who is awaited."""
    with with_couriers(grid, run, run_id) as joined:
        return federate(WatchedGrid(joined), run)


def federate(grid: Grid, run: Experiment, *, name: str | None = None) -> Federated:
    """Handshake, rounds, result; `name` is that of a run under secure sums, as `secure_federation`
    has it.

    Raises
    ------
    ConfigError : the number of nodes is not that of the simulated clients, there is nothing to
        resume, another run writes the same checkpoint, or a private learner is to run in a way that
        is not private.
    SchemaError : the clients cannot agree on a schema.
    QuorumError : there are too few good replies.
    ResultsError : the state cannot be kept, or not be read to resume.
    """
    require_private_run(site_run(run))
    require_choosable(run)
    if run.consensus.aggregation != "open":
        shaken = handshake(grid, run, None)
        if run.consensus.groups_file is not None:
            return Federated(*grouped_federation(shaken, run, name))
        summed, fitted, seconds = secure_federation(shaken, run, name)
        return Federated(summed, seconds, fitted)
    with hold(run.output):
        before = resume(run)
        asks = run.consensus.choose != "smhd" or run.rounds.parameters == "federated"
        if before is None or asks or another_round(before, run):
            return further_rounds(grid, run, before)
    return Federated(before.fused, 0.0, grouping=find_groups(Sites(grid, {}, None), before, run))


def further_rounds(grid: Grid, run: Experiment, before: ServerState | None) -> Federated:
    """The result of all rounds, from the first or after those of `before`, with the choice by
    counts and the parameters, where they are wanted."""
    shaken = handshake(grid, run, before)
    sites = shaken.sites
    if run.consensus.groups_file is not None:
        _, missing = groups_of_sites(run.consensus.groups_file, sites.clients.values())
        if missing:
            LOG.warning("groups are given for sites that are not here: %s", ", ".join(missing))
    state, seconds = run_rounds(shaken, run)
    began = time.process_time()
    state = choose_by_counts(sites, state, run)
    seconds += time.process_time() - began
    fitted = fit_parameters(sites, state.fused, run)
    grouping = find_groups(sites, state, run, fitted)
    return Federated(state.fused, seconds, fitted, grouping)


def require_choosable(run: Experiment) -> None:
    """Raise ConfigError where the score is for numbers, but a column is to explain how sites
    differ."""
    kind = kind_of_score(run.learner.score)
    rule = run.consensus
    if kind == "categorical" or rule.choose == "smhd":
        return
    if rule.site_column is not None:
        raise ConfigError(
            f"site-column {rule.site_column!r} needs columns of categories alone, score "
            f"{run.learner.score!r} is for {kind} ones"
        )


def handshake(grid: Grid, run: Experiment, before: ServerState | None) -> Handshake:
    """Who takes part, and the agreed schema; a grid that watches hears the names."""
    nodes, agreed = connected_nodes(grid, run), agreed_schema(run)
    known = agreed if before is None else before.schema
    found = find_cuts(grid, nodes, run) if known is None else known.cuts
    cuts = {**run.tables.preparation().cuts, **found}
    shaken = shake_hands(grid, nodes, run, agreed=agreed, cuts=cuts, before=before)
    if isinstance(grid, WatchedGrid):
        grid.names = shaken.sites.clients
    return shaken


def agreed_schema(run: Experiment) -> Schema | None:
    """The schema that the run's settings give, if they do."""
    if run.data.schema is None:
        return None
    schema = read_schema(run.data.schema)
    kind = kind_of_score(run.learner.score)
    if not suits(kind, schema.kind):
        raise ConfigError(
            f"score {run.learner.score!r} is for {kind} columns, those of "
            f"{run.data.schema!r} are {schema.kind}"
        )
    return schema


def connected_nodes(grid: Grid, run: Experiment) -> tuple[int, ...]:
    """The ids of the nodes that take part. A deployment begins once as many nodes as there must be
    good replies are there; a simulation raises ConfigError unless there is one node for each
    client."""
    clients = run.data.client_count
    if clients is None:
        return wait_for_nodes(grid, run.consensus.min_replies, run.federation.connect_seconds)
    nodes = wait_for_nodes(grid, clients, SIMULATION_SECONDS)
    if clients and len(nodes) != clients:
        raise ConfigError(
            f"there must be one node per client, but there are {len(nodes)} nodes and {clients} "
            f'clients: use flwr run with --federation-config "num-supernodes={clients}", or '
            f'--run-config "clients={len(nodes)}"'
        )
    return nodes


def write_folder(federated: Federated, run: Experiment, run_id: int) -> None:
    """The results folder, without what only a simulation knows (truth, tables)."""
    from fedbn.results.grouped_sums import write_grouped_sums
    from fedbn.results.outcome import Outcome
    from fedbn.results.report import versions, write_results
    from fedbn.results.sums import write_sums

    assert run.output.out_dir is not None
    content = {
        "run_id": str(run_id),
        "settings": to_run_config(run),
        "seed": run.seed,
        "versions": versions(),
        "seconds": federated.seconds,
        "parameters": None if federated.sources is None else federated.sources.to_dict(),
    }
    if isinstance(federated.result, GroupedSums):
        write_grouped_sums(federated.result, run.output.out_dir, run=content)
        return
    if federated.result.choice is not None:
        content["counts"] = choice_facts(federated.result.choice, federated.result.schema)
    if isinstance(federated.result, SecureResult):
        network = federated.network
        write_sums(federated.result, run.output.out_dir, run=content, network=network)
        return
    shares = {str(reply.client): dict(reply.missing) for reply in federated.result.replies}
    content["imputed_at_most"] = {client: told for client, told in shares.items() if told}
    outcome = replace(Outcome.of_federation(federated.result), grouping=federated.grouping)
    files = result_files(federated.result, to_run_config(run))
    write_results(outcome, run.output.out_dir, run=content, network=federated.network, more=files)
