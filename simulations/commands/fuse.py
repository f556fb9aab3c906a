"""`fedbn fuse`: DAG files to one consensus."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import typer

from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import Robust, poolings_of, select_among
from fedbn.consensus.remarks import remarks
from fedbn.consensus.threshold import Reading, preference
from fedbn.consensus.votes import missing_pairs, votes_of
from fedbn.errors import FedbnWarning
from fedbn.federation.fusions import require_sites
from fedbn.fusion.inputs import Variables
from fedbn.graphs.dag import DAG
from fedbn.graphs.directions import directed_words
from fedbn.graphs.files import NamedDAG
from fedbn.groups.fusing import GroupFusion
from fedbn.groups.given import read_groups
from fedbn.results.groups import grouping_of
from fedbn.results.outcome import Client, Outcome
from fedbn.results.record import command_line, hash_files
from fedbn.results.report import check_results_folder, versions, write_results
from fedbn.results.rows import client_rows, edge_rows
from fedbn.results.summary import summarise
from fedbn.results.variables import collect_rows, variables_facts
from fedbn.wording import count_of
from simulations.commands.fuse_options import FuseOptions, settings_record
from simulations.commands.groups_output import groups_json, print_groups
from simulations.inputs import one_structure
from simulations.progress import progress_bars, stages
from simulations.terminal import (
    print_json,
    print_rows,
    print_table,
    print_written,
    readable,
    summary_table,
    times_line,
)

if TYPE_CHECKING:
    from fedbn.consensus.path import DeletionPath, McbncPath
    from fedbn.consensus.threshold import Consensus, PathState


def fuse_and_report(
    inputs: Sequence[NamedDAG], options: FuseOptions, gold: Path | None = None
) -> None:
    """Fuse, write the results folder if one is wanted, and print what happened."""
    started = time.monotonic()
    names = sorted({name for entry in inputs for name in entry.dag.names})
    truth = None if gold is None else one_structure(str(gold), nodes=names)
    if options.out is not None:
        check_results_folder(options.out)
    if options.method != "mcbnc":
        from simulations.commands.fuse_baseline import fuse_by_baseline

        fuse_by_baseline(inputs, options, truth)
        return
    options.require_possible(len(inputs))
    began = time.process_time()
    path, consensus, before = _search(inputs, options)
    times = {"seconds": time.process_time() - began, "startup_seconds": began}
    warn_of(path, consensus)
    outcome = _with_groups(
        _outcome(inputs, path, consensus, truth, options.rows_of(len(inputs))), options
    )
    if options.out is not None:
        with stages(not (options.quiet or options.as_json)) as notify:
            notify("writing tables, figures and report")
            _write(outcome, options, times)
    if options.as_json:
        content = {**consensus_json(path, consensus), **times}
        print_json(content | _more_content(path, outcome, options, before) | groups_json(outcome))
    elif not options.quiet:
        print_table(
            summary_table(summarise(outcome), f"{count_of(len(inputs), 'structure')} fused", "")
        )
        if before is not None:
            after = readable(float(consensus.mean_smhd))
            print(f"Polished: mean SMHD {readable(float(before))} before, {after} after.")
        _print_structure(outcome, options)
        print_groups(outcome.grouping)
        wall = time.monotonic() - started
        typer.echo(times_line(fusion=times["seconds"], wall=wall), err=True)


def _more_content(
    path: McbncPath, outcome: Outcome, options: FuseOptions, before: Fraction | None
) -> dict[str, Any]:
    """What --json prints on demand; `before` is the mean SMHD before polishing."""
    content: dict[str, Any] = {} if before is None else {"polished_from": float(before)}
    if options.steps:
        content |= steps_json(path)
    if options.explain:
        content |= explanation_json(outcome)
    return content | claims_json(outcome) | variables_json(outcome)


def _search(
    inputs: Sequence[NamedDAG], options: FuseOptions
) -> tuple[McbncPath, Consensus, Fraction | None]:
    """The path, the consensus, and its mean SMHD before it was polished, if it was."""
    from fedbn.consensus.polish import polish

    require_sites([entry.dag for entry in inputs], options.min_sites)
    end = None if options.seconds is None else time.monotonic() + options.seconds
    with progress_bars(not (options.quiet or options.as_json)) as tracker:
        bars: dict[str, Callable[[int, int], None]] = {}

        def tell(stage: str, done: int, total: int) -> None:
            if stage not in bars:
                bars[stage] = tracker(stage)
            bars[stage](done, total)

        paths = mcbnc_paths(
            [entry.dag for entry in inputs],
            [entry.weight for entry in inputs],
            poolings_of(cast(Robust, options.robust)),
            k_max=options.k_max,
            quorum=options.quorum,
            rng=np.random.default_rng(options.seed) if options.random_ties else None,
            seconds=options.seconds,
            stages=tell,
            progress=lambda done, total: tell("deleting edges", done, total),
            knowledge=options.known,
            variables=cast(Variables, options.variables),
            min_judges=options.min_judges,
        )
    reading = cast(Reading, options.reading)
    path, consensus = select_among(paths, reading, options.theta, options.max_treewidth, end)
    if not options.polish:
        return path, consensus, None
    better = polish(consensus, path, options.max_treewidth)
    polished = replace(
        consensus,
        dag=better.dag,
        mean_smhd=better.mean_smhd,
        gap=better.gap,
        missing_pairs=missing_pairs(better.dag, votes_of(path.inputs)),
    )
    return path, polished, consensus.mean_smhd


def _outcome(
    inputs: Sequence[NamedDAG],
    path: McbncPath,
    consensus: Consensus,
    truth: DAG | None,
    rows: Sequence[int | None],
) -> Outcome:
    clients = tuple(
        Client(
            entry.label,
            (entry.dag.reorder(sorted(entry.dag.names)),),
            (entry.weight,),
            rows=own,
        )
        for entry, own in zip(inputs, rows, strict=True)
    )
    return Outcome(
        clients, path, consensus, gold=None if truth is None else truth.reorder(path.names)
    )


def _with_groups(outcome: Outcome, options: FuseOptions) -> Outcome:
    """With the groups that were asked for, or given."""
    if options.groups == "no" and options.groups_file is None:
        return outcome
    fusion = GroupFusion(
        cast(Reading, options.reading),
        cast(Robust, options.robust),
        options.k_max,
        options.quorum,
        options.seconds,
        options.theta,
        options.known,
        options.max_treewidth,
        cast(Variables, options.variables),
        options.min_judges,
    )
    given = None if options.groups_file is None else read_groups(options.groups_file)
    return replace(outcome, grouping=grouping_of(outcome, options.groups, fusion, given))


def _write(outcome: Outcome, options: FuseOptions, times: dict[str, float]) -> None:
    assert options.out is not None
    run = {
        "command": "fuse",
        "command_line": command_line(),
        "settings": settings_record(options),
        "inputs": list(hash_files("inputs", [str(file) for file in options.files])),
        "seed": options.seed if options.random_ties else None,
        "versions": versions(),
        "timings": times,
    }
    write_results(outcome, options.out, run=run)


def _print_structure(outcome: Outcome, options: FuseOptions) -> None:
    if options.out is not None:
        print_written(options.out.resolve())
    else:
        dag = outcome.consensus.dag
        support = outcome.edge_support(dag.edges)
        words = directed_words(dag, outcome.path.knowledge)
        rows = [(*edge, words[edge], support[edge]) for edge in dag.edges]
        print_rows(("parent", "child", "directed", "support"), rows, "Edges of the consensus")
    if outcome.claims:
        told = [(c.variable, c.other, ", ".join(c.given), float(c.against)) for c in outcome.claims]
        heads = ("variable", "other", "independent given", "weight against it")
        print_rows(heads, told, "Claimed for the knowledge's sake")
    print_variables(outcome)
    if options.explain:
        pairs = [
            (
                f"{row.parent} - {row.child}",
                row.support,
                fraction_text(row.psi) or "",
                ", ".join(row.supporters),
            )
            for row in edge_rows(outcome)
        ]
        columns = ("pair", "support", "Ψ when deleted", "clients that have it")
        print_rows(columns, pairs, "Why: pairs that an input or G+ joins")
        distances = [(row.client, row.edges, row.smhd_to_consensus) for row in client_rows(outcome)]
        titles = ("client", "edges", "SMHD to the consensus")
        print_rows(titles, distances, "Who disagrees")


def print_variables(outcome: Outcome, shown: int = 10) -> None:
    """Which columns at which site would decide most; what is not known the warnings have said."""
    if outcome.is_whole:
        return
    rows = [(row.site, row.column, row.pairs, row.edges) for row in collect_rows(outcome)[:shown]]
    if rows:
        heads = ("site", "would have to measure", "pairs then seen", "edges then judged")
        print_rows(heads, rows, "What one more column would decide")


def variables_json(outcome: Outcome) -> dict[str, Any]:
    """Who lacks what and what is not known; nothing where all have the same variables."""
    if outcome.is_whole:
        return {}
    return {"variables": variables_facts(outcome)}


def claims_json(outcome: Outcome) -> dict[str, Any]:
    """Independences that the consensus claims for the knowledge's sake; nothing without any."""
    if outcome.path.knowledge is None:
        return {}
    return {
        "claims": [
            {
                "pair": [claim.variable, claim.other],
                "given": list(claim.given),
                "against": float(claim.against),
            }
            for claim in outcome.claims
        ]
    }


def explanation_json(outcome: Outcome) -> dict[str, Any]:
    """Per pair that somebody joins: support, clients, and when it went; per client: its SMHD."""
    return {
        "pairs": [
            {
                "pair": [row.parent, row.child],
                "in_consensus": row.in_consensus,
                "support": row.support,
                "psi": fraction_text(row.psi),
                "theta": fraction_text(row.theta),
                "clients": list(row.supporters),
            }
            for row in edge_rows(outcome)
        ],
        "clients": [
            {"client": row.client, "edges": row.edges, "smhd_to_consensus": row.smhd_to_consensus}
            for row in client_rows(outcome)
        ],
    }


def fraction_text(theta: Fraction | None) -> str | None:
    """θ as exact text, "2/3"; None, for G+ itself, stays None."""
    return None if theta is None else str(theta)


def warn_of(path: DeletionPath, consensus: Consensus, more: Sequence[str] = ()) -> None:
    """Warn of all that a reader of the consensus must be told, and of `more`."""
    for remark in (*remarks(path, consensus), *more):
        warnings.warn(remark, FedbnWarning, stacklevel=2)


def consensus_json(
    path: DeletionPath, consensus: Consensus, more: Sequence[str] = ()
) -> dict[str, Any]:
    """The keys that `fuse` and `simulate` promise, but for their times.

    `path` has one entry per θ, ascending, G+ (null) first: of the readings that were compared, the
    state that the rule of the choice prefers. `more` are remarks on the run.
    """
    nearest: dict[Fraction | None, PathState] = {}
    for state in consensus.states:
        rival = nearest.get(state.theta)
        if rival is None or preference(state) < preference(rival):
            nearest[state.theta] = state
    return {
        "nodes": list(consensus.dag.names),
        "edges": [list(edge) for edge in consensus.dag.edges],
        "directed": list(directed_words(consensus.dag, path.knowledge).values()),
        "theta": fraction_text(consensus.theta),
        "mean_smhd": float(consensus.mean_smhd),
        "lower_bound": float(consensus.lower_bound),
        "reading": consensus.reading,
        "pooling": consensus.pooling,
        "missing_pairs": [list(pair) for pair in consensus.missing_pairs],
        "remarks": [*remarks(path, consensus), *more],
        "path": [
            {
                "theta": fraction_text(state.theta),
                "edges": state.n_edges,
                "mean_smhd": float(state.mean_smhd),
                "reading": state.reading,
            }
            for state in nearest.values()
        ],
        "complete": consensus.complete,
    }


def steps_json(path: McbncPath) -> dict[str, Any]:
    """σ, and every deletion down to the empty graph, for a replay by another program."""
    return {
        "order": list(path.order),
        "steps": [
            {
                "x": step.x,
                "y": step.y,
                "h": list(step.h),
                "psi": str(step.psi),
                "theta": str(step.theta),
            }
            for step in path.steps
        ],
    }
