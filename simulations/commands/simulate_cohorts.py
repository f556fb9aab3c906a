"""`fedbn simulate` of secure sums with a groups-file: every group is a cohort of its own."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbn.errors import FedbnWarning
from fedbn.federation.secure_rounds import statements
from fedbn.federation.settings import Experiment
from fedbn.graphs.distances import smhd
from fedbn.networks.parameter_sources import remarks_on
from fedbn.wording import count_of
from simulations.commands.fuse import warn_of
from simulations.commands.simulate_output import run_content, with_held_out
from simulations.commands.sums_output import cost_words, sums_json
from simulations.terminal import print_json, print_table, rows_table

if TYPE_CHECKING:
    from fedbn.federation.grouped_sums import GroupedSums, GroupOfSums
    from fedbn.graphs.dag import DAG
    from fedbn.results.outcome import Outcome
    from simulations.run import ExperimentRun


def simulate_cohorts(
    grouped: GroupedSums,
    run: ExperimentRun,
    experiment: Experiment,
    target: Path,
    truth: DAG | None,
    *,
    startup: float,
    tables: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the results folder of a run that is finished; print what happened in every group."""
    from fedbn.results.grouped_sums import write_grouped_sums

    times = {"seconds": run.seconds, "startup_seconds": startup}
    outcomes = tuple(_outcome_of(group, truth, run, experiment) for group in grouped.groups)
    content = run_content(experiment, run, times)
    write_grouped_sums(grouped, target, run=content, outcomes=outcomes, gold=truth, tables=tables)
    for group, outcome in zip(grouped.groups, outcomes, strict=True):
        if outcome is not None:
            warn_of(outcome.path, outcome.consensus, outcome.remarks)
        for line in remarks_on(group.sources) if group.sources is not None else ():
            warnings.warn(f"group {group.name!r}: {line}", FedbnWarning, stacklevel=2)
    if as_json:
        print_json({**_content(grouped, outcomes, truth), **times, "out": str(target)})
    elif not quiet:
        _print(grouped, truth, target)


def _outcome_of(
    group: GroupOfSums, truth: DAG | None, run: ExperimentRun, experiment: Experiment
) -> Outcome | None:
    from fedbn.results.grouped_sums import gold_of
    from fedbn.results.sums import outcome_of_sums

    outcome = outcome_of_sums(group.result, gold_of(group, truth))
    if outcome is None:
        return None
    own = replace(run, result=group.result, network=group.network)
    return with_held_out(outcome, own, experiment)


def _content(
    grouped: GroupedSums, outcomes: tuple[Outcome | None, ...], truth: DAG | None
) -> dict[str, Any]:
    """What --json says: of every group what a run of its sites would say."""
    from fedbn.results.grouped_sums import gold_of, grouped_facts

    parts = zip(grouped.groups, outcomes, strict=True)
    return {
        "grouping": grouped_facts(grouped),
        "cohorts": [
            {"group": group.name, **sums_json(group.result, outcome, gold_of(group, truth))}
            for group, outcome in parts
        ],
        "refused": [list(pair) for pair in grouped.refused],
    }


def _print(grouped: GroupedSums, truth: DAG | None, target: Path) -> None:
    from fedbn.results.grouped_sums import COHORTS, gold_of

    header = ("group", "sites", "edges", "mean SMHD", *(() if truth is None else ("to the gold",)))
    rows = []
    for group in grouped.groups:
        consensus = group.result.consensus
        own = gold_of(group, truth)
        far = "-" if own is None else str(smhd(consensus.dag, own))
        sites, mean = len(group.result.clients), float(consensus.mean_smhd)
        edges, told = str(consensus.dag.n_edges), () if truth is None else (far,)
        rows.append((group.name, str(sites), edges, f"{mean:.2f}", *told))
    title = f"Secure sums, {count_of(len(grouped.groups), 'cohort')}"
    print_table(rows_table(header, rows, title))
    here = Path.cwd()
    shown = target.relative_to(here) if target.is_relative_to(here) else target
    print(f"Results are in {shown}, those of a group in {shown / COHORTS / 'NUMBER'}.")
    for line in grouped.lines():
        print(line)
    for group in grouped.groups:
        print(f"\nGroup {group.name!r}: {cost_words(group.result)}.")
        for sentence in statements(group.result):
            print(sentence)
