"""What every kind of simulation says of its run: to compare with, in run.json, in the terminal."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbn.errors import FedbnWarning
from fedbn.federation.grouped_sums import GroupedSums
from fedbn.federation.private_runs import guarantee_of
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.learners.completion import missingness_remarks
from fedbn.networks.catalog import load_network
from fedbn.networks.parameter_sources import remarks_on
from fedbn.results.record import command_line
from fedbn.results.report import versions
from fedbn.scores import make_score, total_score
from fedbn.wording import count_of
from simulations.commands.choice_output import counts_json
from simulations.commands.learn_private import promise_json
from simulations.inputs import one_structure
from simulations.terminal import print_table, print_written, summary_table, times_line

if TYPE_CHECKING:
    from fedbn.graphs.dag import DAG
    from fedbn.privacy.guarantee import Guarantee
    from fedbn.results.outcome import Client, Outcome
    from fedbn.results.summary import Summary
    from simulations.run import ExperimentRun


def truth_of(experiment: Experiment, gold: Path | None) -> DAG | None:
    """The structure to compare with: a given one, or that of the sampled network."""
    if gold is not None:
        return one_structure(str(gold), network_dir=_folder(experiment))
    if experiment.data.network is None:
        return None
    return load_network(experiment.data.network, experiment.data.network_dir).dag


def _folder(experiment: Experiment) -> Path | None:
    return None if experiment.data.network_dir is None else Path(experiment.data.network_dir)


def with_held_out(outcome: Outcome, run: ExperimentRun, experiment: Experiment) -> Outcome:
    """The outcome with scores of the consensus and of every client's DAGs on held-out rows."""
    if run.simulation.held_out is None:
        return outcome
    from fedbn.networks.likelihood import log_likelihood

    name, ess = experiment.learner.score, experiment.learner.ess
    schema = run.result.schema
    rows = run.simulation.held_out.select(schema.names).with_schema(schema)
    score = make_score(name, rows, ess=ess)

    def add_score(client: Client) -> Client:
        if client.dags[0].n < outcome.consensus.dag.n:
            return client
        total = sum(
            float(share) * total_score(score, dag)
            for share, dag in zip(client.shares, client.dags, strict=True)
        )
        return replace(client, held_out=total / float(sum(client.shares)))

    fits = None
    if run.network is not None and run.network.dag.n == outcome.consensus.dag.n:
        rows = run.simulation.held_out.with_schema(run.network.schema)
        fits = log_likelihood(run.network, rows, "the held-out rows")
    return replace(
        outcome,
        clients=tuple(add_score(client) for client in outcome.clients),
        held_out=total_score(score, outcome.consensus.dag),
        held_out_name=name,
        log_likelihood=fits,
    )


def warn_of_parameters(run: ExperimentRun) -> None:
    """Say whose rows they are without, or why there are none, as the server's log would.

    Within `run_experiment` that part of the log is silent on the engine in-process.
    """
    for line in remarks_on(run.sources) if run.sources is not None else ():
        warnings.warn(line, FedbnWarning, stacklevel=2)


def parameters_json(run: ExperimentRun) -> dict[str, Any] | None:
    """Whose rows the parameters are of; None where nobody was asked for them."""
    return None if run.sources is None else run.sources.to_dict()


def run_content(
    experiment: Experiment, run: ExperimentRun, times: Mapping[str, float]
) -> dict[str, Any]:
    """What `run.json` says besides the figures; `times` are CPU seconds."""
    return {
        "command": "simulate",
        "command_line": command_line(),
        "engine": experiment.engine,
        "settings": to_run_config(experiment),
        "seed": experiment.seed,
        "versions": versions(),
        "timings": {**times, "wall_seconds": dict(run.wall_seconds)},
        "privacy": promise_of(experiment),
        "parameters": parameters_json(run),
        **missing_json(run),
        **counts_json(getattr(run.result, "choice", None), run.result.schema),
    }


def missing_json(run: ExperimentRun) -> dict[str, Any]:
    """Site -> column -> share of its cells that were imputed; nothing where none was.

    Only a simulation sees them: no site sends them.
    """
    shares = {
        site.label: {
            name: round(float(share), 4)
            for name, share in zip(
                site.dataset.names, site.dataset.gone.mean(axis=0).tolist(), strict=True
            )
            if share
        }
        for site in run.simulation.sites
        if site.dataset.gone is not None
    }
    return {"imputed": shares} if shares else {}


def missing_remarks(run: ExperimentRun) -> list[str]:
    """At which sites missing cells depend on a neighbour in the consensus."""
    assert not isinstance(run.result, GroupedSums)
    dag = run.result.consensus.dag
    return [
        f"{site.label}: {words}"
        for site in run.simulation.sites
        for words in missingness_remarks(site.dataset, dag.restrict(site.dataset.names))
    ]


def print_summary(
    summary: Summary, experiment: Experiment, target: Path, run: ExperimentRun, wall: float
) -> None:
    """The table of figures, what it took, and where the results are."""
    learner = experiment.learner
    print_table(summary_table(summary, title_of(experiment, summary.clients), learner.score))
    guarantee = simulated_guarantee(experiment)
    if guarantee is not None:
        print(f"The structures of the sites: {guarantee.words}.")
    searches = [getattr(reply, "seconds", None) for reply in getattr(run.result, "replies", ())]
    known = [each for each in searches if each is not None]
    print(times_line(fusion=run.seconds, wall=wall, searches=sum(known) if known else None))
    print_written(target)


def title_of(experiment: Experiment, clients: int) -> str:
    """What was run, in a few words."""
    learner = experiment.learner
    data = experiment.data
    source = data.network or data.table
    who = f"{Path(source).name}: {count_of(clients, 'client')}" if source else ""
    private = guarantee_of(learner) is not None
    how = f"at ε {learner.epsilon:g}" if private else f"with {learner.score}"
    return f"{who or count_of(clients, 'site')}, {learner.learner} {how}, {experiment.engine}"


def simulated_guarantee(experiment: Experiment) -> Guarantee | None:
    """What a private learner would promise; a simulation's noise is that of its seed."""
    guarantee = guarantee_of(experiment.learner)
    return None if guarantee is None else replace(guarantee, seeded=True)


def promise_of(experiment: Experiment) -> Mapping[str, Any] | None:
    """What `run.json` and --json say of that promise."""
    guarantee = simulated_guarantee(experiment)
    return None if guarantee is None else promise_json(guarantee)
