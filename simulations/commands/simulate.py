"""`fedbn simulate`: a federation in one command, with what only a simulation can know.

The truth (the network that the tables were sampled from) and held-out rows that no client has never
reach the server: they are used here, after the run.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbn.errors import ConfigError, FedbnWarning
from fedbn.federation.parameter_sources import remarks_on
from fedbn.federation.private_runs import guarantee_of, require_private_run
from fedbn.privacy.ledger import reserve
from fedbn.wording import count_of
from simulations.commands.choice_output import add_pooled, choice_json, print_choice
from simulations.commands.fuse import consensus_json, warn_of
from simulations.commands.learn_private import promise_json
from simulations.experiment import Experiment, result_name, with_absolute_paths
from simulations.inputs import one_structure
from simulations.progress import stages, starting
from simulations.terminal import (
    print_json,
    print_table,
    print_written,
    summary_table,
    times_line,
    warn_of_replacing,
)

if TYPE_CHECKING:
    from fedbn.graphs.dag import DAG
    from fedbn.privacy.guarantee import Guarantee
    from fedbn.results.outcome import Client, Outcome
    from fedbn.results.summary import Summary
    from simulations.run import ExperimentRun

__all__ = [
    "print_summary",
    "run_and_report",
    "run_content",
    "title_of",
    "truth_of",
    "warn_of_parameters",
    "with_held_out",
]


def run_and_report(
    experiment: Experiment,
    *,
    gold: Path | None,
    out: Path | None,
    ledger: Path | None,
    as_json: bool,
    quiet: bool,
    pooled: bool = True,
    tables: bool = True,
) -> None:
    """Run the federation, write its results folder, and print what happened.

    With `pooled`, GES learns from all rows together, too, for comparison; never in a private run.
    Without `tables` nothing that is written has parameters.

    Raises
    ------
    FedbnError : a wrong input or setting, found before anything is started where possible.
    """
    started = time.monotonic()
    with starting("loading the server", not (quiet or as_json)):
        from fedbn.federation.rounds import FederationResult
        from fedbn.results.outcome import Outcome
        from fedbn.results.report import check_results_folder
        from fedbn.results.summary import summarise
        from simulations.run import run_experiment

    require_private_run(experiment)
    if ledger is not None:
        _reserve(experiment, ledger)
    target = check_results_folder(out or Path("results") / result_name(experiment))
    if out is None:
        warn_of_replacing(target)
    if experiment.consensus.aggregation != "open":
        from simulations.commands.simulate_sums import simulate_sums

        shown = {"as_json": as_json, "quiet": quiet}
        simulate_sums(experiment, target, gold=gold, tables=tables, **shown)
        return
    experiment = _with_checkpoint(with_absolute_paths(experiment), target)
    truth = truth_of(experiment, gold)
    ready = time.process_time()
    with stages(not (quiet or as_json)) as notify:
        run = run_experiment(experiment, notify, notify.count, gold=truth)
        result = run.result
        assert isinstance(result, FederationResult)
        outcome = with_held_out(Outcome.of_federation(result, truth), run, experiment)
        if pooled and guarantee_of(experiment.learner) is None:
            notify("learning from the pooled rows, for comparison")
            outcome = add_pooled(outcome, run, result, experiment)
        notify("writing tables, figures and report")
        times = {"seconds": run.seconds, "startup_seconds": ready + run.startup_seconds}
        _write(outcome, run, experiment, target, times, tables=tables)
    warn_of(outcome.path, outcome.consensus)
    warn_of_parameters(run)
    if as_json:
        shared = consensus_json(outcome.path, outcome.consensus)
        more = choice_json(result, experiment, outcome)
        sources = {"parameters": parameters_json(run)}
        print_json({**shared, **times, **_extra(outcome, target, experiment), **sources, **more})
    elif not quiet:
        summary = summarise(outcome)
        print_summary(summary, experiment, target, run, time.monotonic() - started)
        print_choice(result)


def _write(
    outcome: Outcome,
    run: ExperimentRun,
    experiment: Experiment,
    target: Path,
    times: Mapping[str, float],
    *,
    tables: bool,
) -> None:
    """The results folder, without parameters unless `tables`; then the checkpoint is not needed."""
    from fedbn.federation.checkpoint import result_files
    from fedbn.federation.rounds import FederationResult
    from fedbn.results.report import write_results
    from server.checkpoint import forget

    assert isinstance(run.result, FederationResult)
    content = run_content(experiment, run, times)
    network = run.network if tables else None
    files = result_files(run.result, experiment)
    write_results(outcome, target, run=content, network=network, more=files)
    forget(experiment)


def _with_checkpoint(experiment: Experiment, target: Path) -> Experiment:
    """The experiment with its checkpoint, beside the results unless it says where."""
    beside = str(target.with_name(f"{target.name}.checkpoint.json"))
    return experiment.change(checkpoint=experiment.output.checkpoint or beside)


def truth_of(experiment: Experiment, gold: Path | None) -> DAG | None:
    """The structure to compare with: a given one, or that of the sampled network."""
    if gold is not None:
        return one_structure(str(gold), network_dir=_folder(experiment))
    if experiment.data.network is None:
        return None
    from fedbn.networks.catalog import load_network

    return load_network(experiment.data.network, experiment.data.network_dir).dag


def _folder(experiment: Experiment) -> Path | None:
    return None if experiment.data.network_dir is None else Path(experiment.data.network_dir)


def with_held_out(outcome: Outcome, run: ExperimentRun, experiment: Experiment) -> Outcome:
    """The outcome with scores of the consensus and of every client's DAGs on held-out rows."""
    if run.simulation.held_out is None:
        return outcome
    from fedbn.scores import make_score, total_score

    name, ess = experiment.learner.score, experiment.learner.ess
    score = make_score(name, run.simulation.held_out.with_schema(run.result.schema), ess=ess)

    def add_score(client: Client) -> Client:
        total = sum(
            float(share) * total_score(score, dag)
            for share, dag in zip(client.shares, client.dags, strict=True)
        )
        return replace(client, held_out=total / float(sum(client.shares)))

    return replace(
        outcome,
        clients=tuple(add_score(client) for client in outcome.clients),
        held_out=total_score(score, outcome.consensus.dag),
        held_out_name=name,
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
    from fedbn.federation.run_config import to_run_config
    from fedbn.results.record import command_line
    from fedbn.results.report import versions

    return {
        "command": "simulate",
        "command_line": command_line(),
        "engine": experiment.engine,
        "settings": to_run_config(experiment),
        "seed": experiment.seed,
        "versions": versions(),
        "timings": {**times, "wall_seconds": dict(run.wall_seconds)},
        "privacy": _promise(experiment),
        "parameters": parameters_json(run),
    }


def _extra(outcome: Outcome, target: Path, experiment: Experiment) -> dict[str, Any]:
    """What the JSON of `simulate` has beyond that of `fuse`."""
    from fedbn.results.rows import client_rows
    from fedbn.results.summary import summarise

    summary = summarise(outcome)
    return {
        "clients": [asdict(row) for row in client_rows(outcome)],
        "out": str(target),
        "refused": [{"client": name, "reason": reason} for name, reason in outcome.refused],
        "inputs_to_gold": summary.inputs_to_gold,
        "fusion_to_gold": summary.fusion_to_gold,
        "smhd_to_gold": summary.smhd_to_gold,
        "shd_to_gold": summary.shd_to_gold,
        "privacy": _promise(experiment),
        "held_out": summary.held_out,
        "inputs_held_out": summary.inputs_held_out,
    }


def print_summary(
    summary: Summary, experiment: Experiment, target: Path, run: ExperimentRun, wall: float
) -> None:
    """The table of figures, what it took, and where the results are."""
    learner = experiment.learner
    print_table(summary_table(summary, title_of(experiment, summary.clients), learner.score))
    guarantee = _guarantee(experiment)
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
    source = data.network or data.table or f"{count_of(len(data.sites), 'site')}"
    private = guarantee_of(learner) is not None
    how = f"at ε {learner.epsilon:g}" if private else f"with {learner.score}"
    return (
        f"{Path(source).name}: {count_of(clients, 'client')}, {learner.learner} {how}, "
        f"{experiment.engine}"
    )


def _guarantee(experiment: Experiment) -> Guarantee | None:
    """What a private learner would promise; a simulation's noise is that of its seed."""
    guarantee = guarantee_of(experiment.learner)
    return None if guarantee is None else replace(guarantee, seeded=True)


def _promise(experiment: Experiment) -> Mapping[str, Any] | None:
    guarantee = _guarantee(experiment)
    return None if guarantee is None else promise_json(guarantee)


def _reserve(experiment: Experiment, ledger: Path) -> None:
    """One line for the run: every row is at one site only, so ε of the run is that of a site."""
    guarantee = _guarantee(experiment)
    if guarantee is None:
        name = experiment.learner.learner
        raise ConfigError(f"--ledger is for private learners, not for {name!r}")
    reserve(
        ledger,
        guarantee,
        run="simulate",
        round=1,
        table="simulated",
        mechanism=experiment.learner.learner,
        parameters={"dp-edges": experiment.learner.dp_edges, "noise": "seeded"},
    )
