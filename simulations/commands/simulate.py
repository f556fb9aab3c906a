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
from fedbn.federation.checkpoint import result_files
from fedbn.federation.private_runs import guarantee_of, require_private_run
from fedbn.federation.run_config import to_run_config
from fedbn.federation.runs import site_run
from fedbn.federation.settings import Experiment
from fedbn.federation.state import FederationResult
from fedbn.privacy.ledger import reserve
from fedbn.results.outcome import Outcome
from fedbn.results.report import check_results_folder, write_results
from fedbn.results.rows import client_rows
from fedbn.results.summary import summarise
from server.checkpoint import forget
from simulations.commands.choice_output import add_pooled, choice_json, print_choice
from simulations.commands.fuse import consensus_json, print_variables, variables_json, warn_of
from simulations.commands.groups_output import groups_json, print_groups
from simulations.commands.simulate_output import (
    missing_remarks,
    parameters_json,
    print_summary,
    promise_of,
    run_content,
    simulated_guarantee,
    truth_of,
    warn_of_parameters,
    with_held_out,
)
from simulations.experiment import result_name, with_absolute_paths
from simulations.progress import stages, starting
from simulations.terminal import (
    print_json,
    warn_of_replacing,
)

if TYPE_CHECKING:
    from fedbn.results.outcome import Outcome
    from simulations.run import ExperimentRun


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
    ray_address: str | None = None,
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
        from simulations.run import run_experiment

    require_private_run(site_run(experiment))
    if ledger is not None:
        _reserve(experiment, ledger)
    target = check_results_folder(out or Path("results") / result_name(experiment))
    if out is None:
        warn_of_replacing(target)
    if experiment.consensus.aggregation != "open":
        from simulations.commands.simulate_sums import simulate_sums

        simulate_sums(
            experiment,
            target,
            gold=gold,
            tables=tables,
            as_json=as_json,
            quiet=quiet,
            ray_address=ray_address,
        )
        return
    experiment = _with_checkpoint(with_absolute_paths(experiment), target)
    truth = truth_of(experiment, gold)
    ready = time.process_time()
    with stages(not (quiet or as_json)) as notify:
        run = run_experiment(experiment, notify, notify.count, gold=truth, ray_address=ray_address)
        result = run.result
        assert isinstance(result, FederationResult)
        outcome = with_held_out(Outcome.of_federation(result, truth), run, experiment)
        if pooled and guarantee_of(experiment.learner) is None and outcome.is_whole:
            notify("learning from the pooled rows, for comparison")
            outcome = add_pooled(outcome, run, result, experiment)
        outcome = replace(outcome, grouping=run.grouping)
        notify("writing tables, figures and report")
        times = {"seconds": run.seconds, "startup_seconds": ready}
        _write(outcome, run, experiment, target, times, tables=tables)
    warn_of(outcome.path, outcome.consensus, outcome.remarks)
    warn_of_parameters(run)
    for words in missing_remarks(run):
        warnings.warn(words, FedbnWarning, stacklevel=2)
    if as_json:
        shared = consensus_json(outcome.path, outcome.consensus, outcome.remarks)
        more = choice_json(result, experiment, outcome)
        sources = {"parameters": parameters_json(run)}
        print_json(
            {
                **shared,
                **times,
                **_extra(outcome, target, experiment),
                **sources,
                **more,
                **groups_json(outcome),
                **variables_json(outcome),
            }
        )
    elif not quiet:
        summary = summarise(outcome)
        print_summary(summary, experiment, target, run, time.monotonic() - started)
        print_choice(result)
        print_groups(outcome.grouping)
        print_variables(outcome)


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
    assert isinstance(run.result, FederationResult)
    content = run_content(experiment, run, times)
    network = run.network if tables else None
    files = result_files(run.result, to_run_config(experiment))
    write_results(outcome, target, run=content, network=network, more=files)
    forget(experiment.output)


def _with_checkpoint(experiment: Experiment, target: Path) -> Experiment:
    """The experiment with its checkpoint, beside the results unless it says where."""
    beside = str(target.with_name(f"{target.name}.checkpoint.json"))
    return experiment.change(checkpoint=experiment.output.checkpoint or beside)


def _extra(outcome: Outcome, target: Path, experiment: Experiment) -> dict[str, Any]:
    """What the JSON of `simulate` has beyond that of `fuse`."""
    summary = summarise(outcome)
    return {
        "clients": [asdict(row) for row in client_rows(outcome)],
        "out": str(target),
        "refused": [{"client": name, "reason": reason} for name, reason in outcome.refused],
        "inputs_to_gold": summary.inputs_to_gold,
        "fusion_to_gold": summary.fusion_to_gold,
        "smhd_to_gold": summary.smhd_to_gold,
        "shd_to_gold": summary.shd_to_gold,
        "sid_to_gold": summary.sid_to_gold,
        "orientation_precision": summary.orientation_precision,
        "orientation_recall": summary.orientation_recall,
        "privacy": promise_of(experiment),
        "held_out": summary.held_out,
        "inputs_held_out": summary.inputs_held_out,
        "log_likelihood": summary.log_likelihood,
    }


def _reserve(experiment: Experiment, ledger: Path) -> None:
    """One line for the run: every row is at one site only, so ε of the run is that of a site."""
    guarantee = simulated_guarantee(experiment)
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
