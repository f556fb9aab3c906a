"""`fedbn simulate --aggregation secure-sums` or `moral-votes`: the server saw sums only.

What it prints and writes has no site's structure. The truth, held-out rows and the pooled tables
are the simulation's, as in the open run.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbn.federation.grouped_sums import GroupedSums
from fedbn.federation.secure_rounds import SecureResult, statements
from fedbn.federation.settings import Experiment
from fedbn.results.summary import summarise
from simulations.commands.choice_output import print_counts
from simulations.commands.fuse import warn_of
from simulations.commands.simulate_output import (
    print_summary,
    run_content,
    title_of,
    truth_of,
    warn_of_parameters,
    with_held_out,
)
from simulations.commands.sums_output import cost_words, sums_json
from simulations.experiment import with_absolute_paths
from simulations.progress import stages
from simulations.terminal import print_json, print_table, print_written, readable, rows_table

if TYPE_CHECKING:
    from fedbn.federation.secure_rounds import SecureResult
    from fedbn.results.outcome import Outcome
    from simulations.run import ExperimentRun


def simulate_sums(
    experiment: Experiment,
    target: Path,
    *,
    gold: Path | None,
    tables: bool,
    as_json: bool,
    quiet: bool,
    ray_address: str | None = None,
) -> None:
    """Run the federation, write its results folder, and print what happened and what it cost."""
    from fedbn.results.sums import outcome_of_sums, write_sums
    from simulations.commands.simulate_cohorts import simulate_cohorts
    from simulations.run import run_experiment

    started = time.monotonic()
    experiment = with_absolute_paths(experiment)
    truth = truth_of(experiment, gold)
    ready = time.process_time()
    with stages(not (quiet or as_json)) as notify:
        run = run_experiment(experiment, notify, notify.count, gold=truth, ray_address=ray_address)
        notify("writing tables and figures")
        result = run.result
        if isinstance(result, GroupedSums):
            simulate_cohorts(
                result, run, experiment, target, truth,
                startup=ready, tables=tables, as_json=as_json, quiet=quiet,
            )  # fmt: skip
            return
        assert isinstance(result, SecureResult)
        outcome = outcome_of_sums(result, truth)
        if outcome is not None:
            outcome = with_held_out(outcome, run, experiment)
        times = {"seconds": run.seconds, "startup_seconds": ready}
        content = run_content(experiment, run, times)
        network = run.network if tables else None
        write_sums(result, target, run=content, outcome=outcome, gold=truth, network=network)
    if outcome is not None:
        warn_of(outcome.path, outcome.consensus, outcome.remarks)
    warn_of_parameters(run)
    if as_json:
        print_json({**sums_json(result, outcome, truth), **times, "out": str(target)})
    elif not quiet:
        _print(result, outcome, truth, experiment, target, run, time.monotonic() - started)


def _print(
    result: SecureResult,
    outcome: Outcome | None,
    truth: Any,
    experiment: Experiment,
    target: Path,
    run: ExperimentRun,
    wall: float,
) -> None:
    from fedbn.results.sums import voted_content

    if outcome is not None:
        print_summary(summarise(outcome), experiment, target, run, wall)
    else:
        rows = [(name, readable(value)) for name, value in voted_content(result, truth).items()]
        print_table(rows_table(("", ""), rows, title_of(experiment, len(result.clients))))
        print_written(target)
    print_counts(result.choice)
    print(f"\nSecure sums: {cost_words(result)}.")
    for sentence in statements(result):
        print(sentence)
