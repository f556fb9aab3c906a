"""`fedbn update`: a consensus of other clients, knowledge or groups, from what its run kept."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fedbn.data.schema import Schema
from fedbn.data.tables import table_stem
from fedbn.errors import ConfigError, FedbnWarning, StructureError
from fedbn.federation.checkpoint import Checkpoint, result_files
from fedbn.federation.rounds import update_clients
from fedbn.federation.run_config import to_run_config
from fedbn.federation.state import ClientReply
from fedbn.graphs.files import read_structures
from fedbn.graphs.knowledge import read_knowledge
from fedbn.results.groups import with_groups
from fedbn.results.outcome import Outcome
from fedbn.results.record import command_line
from fedbn.results.report import check_results_folder, versions, write_results
from fedbn.results.summary import summarise
from fedbn.wording import count_of
from simulations.commands.fuse import consensus_json, print_variables, variables_json, warn_of
from simulations.commands.groups_output import groups_json, print_groups
from simulations.commands.kept_run import read_kept
from simulations.progress import stages
from simulations.terminal import (
    print_json,
    print_table,
    print_written,
    summary_table,
    times_line,
    warn_of_replacing,
)


def update_and_report(
    folder: Path,
    out: Path | None,
    knowledge: Path | None = None,
    *,
    add: Sequence[Path],
    remove: Sequence[str],
    groups_file: Path | None = None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fuse what the run kept, without some clients and with others, and write a results folder.

    With knowledge this is kept instead of the run's, by the fusion alone: no site learns again.

    Raises
    ------
    ResultsError : the folder is no result of a federated run, or nothing can be written.
    ConfigError : nothing is to be changed, a name is unknown or taken, or a client has no group.
    StructureError : a new client's file cannot be read, or has other variables.
    """
    started = time.monotonic()
    if not add and not remove and knowledge is None and groups_file is None:
        raise ConfigError(
            "name a change: --add FILE, --remove CLIENT, --knowledge FILE or --groups-file FILE"
        )
    target = check_results_folder(out or folder.with_name(f"{folder.resolve().name}-updated"))
    if out is None:
        warn_of_replacing(target)
    with stages(not (quiet or as_json)) as notify:
        notify("reading what the run kept")
        before = _with_groups_file(_read(folder), folder, groups_file)
        before = _with_knowledge(before, knowledge)
        kind = before.experiment.consensus.variables
        newcomers = [_reply(file, before.state.schema, kind) for file in add]
        notify("fusing anew")
        began = time.process_time()
        settings = before.experiment.consensus
        after = update_clients(before.state, settings, added=newcomers, removed=remove)
        seconds = time.process_time() - began
        run = _record(before, newcomers, remove, seconds)
        resampled = before.experiment.learner.learner == "bootstrap" and not newcomers
        outcome = with_groups(Outcome.of_federation(after.fused), settings, resampled=resampled)
        notify("writing tables, figures and report")
        write_results(outcome, target, run=run, more=result_files(after.fused, before.settings))
    clients = [client.label for client in outcome.clients]
    warn_of(outcome.path, outcome.consensus)
    if as_json:
        content = consensus_json(outcome.path, outcome.consensus)
        more = {"seconds": seconds, "out": str(target), "clients": clients}
        print_json({**content, **more, **groups_json(outcome), **variables_json(outcome)})
    elif not quiet:
        title = f"{count_of(len(clients), 'client')} after the update"
        print_table(summary_table(summarise(outcome), title, ""))
        print(times_line(fusion=seconds, wall=time.monotonic() - started))
        print_written(target)
        print_groups(outcome.grouping)
        print_variables(outcome)


def _with_groups_file(before: Checkpoint, folder: Path, given: Path | None) -> Checkpoint:
    """With the groups that are given now, or else with those that were given to the run."""
    known = before.experiment.consensus.groups_file
    if known is None and given is None:
        return before
    path = str(given or folder / "groups.csv")
    experiment = before.experiment.change(groups="no", groups_file=path)
    return replace(before, settings=to_run_config(experiment))


def _record(
    before: Checkpoint, newcomers: Sequence[ClientReply], remove: Sequence[str], seconds: float
) -> dict[str, Any]:
    """What `run.json` says besides the figures."""
    return {
        "command": "update",
        "command_line": command_line(),
        "added": [reply.client for reply in newcomers],
        "removed": list(remove),
        "settings": before.settings,
        "seed": before.experiment.seed,
        "versions": versions(),
        "timings": {"seconds": seconds},
    }


def _read(folder: Path) -> Checkpoint:
    """What the run kept; warns where an update is not the run with other clients."""
    checkpoint = read_kept(folder)
    if checkpoint.state.result is not None and checkpoint.state.result.rounds > 1:
        words = "the structures of the last round depend on all clients of the rounds before"
        warnings.warn(words, FedbnWarning, stacklevel=3)
    if checkpoint.state.result is not None and checkpoint.state.result.choice is not None:
        words = "the structures alone choose now: the sites are not asked for counts again"
        warnings.warn(words, FedbnWarning, stacklevel=3)
    return checkpoint


def _with_knowledge(before: Checkpoint, file: Path | None) -> Checkpoint:
    """With the knowledge of a file instead of the run's."""
    if file is None:
        return before
    told = read_knowledge(file)
    told.required_matrix(before.state.schema.names)  # which names are known
    told_now = before.experiment.change(knowledge=told.text)
    return replace(before, settings=to_run_config(told_now))


def _reply(file: Path, schema: Schema, variables: str) -> ClientReply:
    """The structures of a file as the reply of a client that is called like the file."""
    found = read_structures(file, nodes=schema.names)
    names = set(found[0].dag.names) if variables == "union" else set(schema.names)
    for entry in found:
        if set(entry.dag.names) != names or not names <= set(schema.names):
            raise StructureError(f"{file}: the structures must be over the run's variables")
    return ClientReply(
        client=table_stem(file) or file.name.split(".")[0],
        dags=tuple(entry.dag.reorder(sorted(names)) for entry in found),
        weights=tuple(float(entry.weight) for entry in found),
        status="complete",
    )
