"""`fedbn fuse`: DAG files to one consensus."""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbn.graphs.dag import DAG
from fedbn.graphs.files import NamedDAG
from simulations.inputs import one_structure
from simulations.terminal import print_json, print_table, progress_bars, rows_table, summary_table

if TYPE_CHECKING:
    from fedbn.consensus.mcbnc import McbncPath
    from fedbn.consensus.threshold import Consensus

__all__ = ["consensus_json", "fraction_text", "fuse_and_report", "steps_json", "warm_up"]


def warm_up() -> None:
    """Compile or load the kernels of fusion and consensus, on three variables."""
    from fedbn.consensus.mcbnc import mcbnc_path
    from fedbn.consensus.threshold import select_consensus

    inputs = [
        DAG.from_edges("abc", [("a", "c"), ("b", "c")]),
        DAG.from_edges("abc", [("a", "b"), ("b", "c")]),
    ]
    select_consensus(mcbnc_path(inputs))


def fuse_and_report(
    inputs: Sequence[NamedDAG],
    *,
    reading: Any,
    theta: str | None,
    k_max: int,
    seconds: float | None,
    tie_seed: int | None,
    steps: bool,
    gold: Path | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fuse, write the results folder if one is wanted, and print what happened."""
    import numpy as np

    from fedbn.consensus.mcbnc import mcbnc_path
    from fedbn.consensus.threshold import select_consensus
    from fedbn.outcome import Client, Outcome, summarise
    from fedbn.report import check_results_folder

    truth = None if gold is None else one_structure(str(gold), nodes=inputs[0].dag.names)
    if out is not None:
        check_results_folder(out)
    rng = None if tie_seed is None else np.random.default_rng(tie_seed)
    warm_up()
    began = time.process_time()
    with progress_bars(not (quiet or as_json)) as tracker:
        path = mcbnc_path(
            [entry.dag for entry in inputs],
            [entry.weight for entry in inputs],
            k_max=k_max,
            rng=rng,
            seconds=seconds,
            progress=None if as_json else tracker("deleting edges"),
        )
    consensus = select_consensus(path, reading, theta)
    times = {"seconds": time.process_time() - began, "startup_seconds": began}
    clients = tuple(
        Client(entry.label, (entry.dag.reordered(path.names),), (entry.weight,)) for entry in inputs
    )
    aligned = None if truth is None else truth.reordered(path.names)
    outcome = Outcome(clients, path, consensus, gold=aligned)
    if out is not None:
        settings = {"reading": reading, "theta": theta, "k-max": k_max, "seconds": seconds}
        _write(outcome, out, settings, tie_seed, times)
    if as_json:
        extra = steps_json(path) if steps else {}
        print_json({**consensus_json(consensus), **times, **extra})
    elif not quiet:
        print_table(summary_table(summarise(outcome), f"{len(inputs)} structures fused", ""))
        _print_structure(outcome, out)


def _write(
    outcome: Any, out: Path, settings: dict[str, Any], tie_seed: int | None, times: dict[str, float]
) -> None:
    from fedbn.report import versions, write_results

    run = {
        "command": "fuse",
        "settings": settings,
        "seed": tie_seed,
        "versions": versions(),
        "timings": times,
    }
    write_results(outcome, out, run=run)


def _print_structure(outcome: Any, out: Path | None) -> None:
    if out is not None:
        print(f"Results are in {out}: consensus.csv, path.csv, edges.csv, figures/smhd.png ...")
        return
    dag = outcome.consensus.dag
    support = outcome.edge_support(dag.edges)
    rows = [(parent, child, support[parent, child]) for parent, child in dag.edges]
    print_table(rows_table(("parent", "child", "support"), rows, "Consensus"))


def fraction_text(theta: Fraction | None) -> str | None:
    """θ as exact text, "2/3"; None, for G+ itself, stays None."""
    return None if theta is None else str(theta)


def consensus_json(consensus: Consensus) -> dict[str, Any]:
    """The keys that `fuse` and `simulate` promise, but for their times.

    `path` has one entry per θ, ascending, G+ (null) first: of the readings that were compared, the
    state that is nearer to the inputs (ties: fewer edges, then search).
    """
    nearest: dict[Fraction | None, Any] = {}
    for state in consensus.states:
        rival = nearest.get(state.theta)
        if rival is None or (state.mean_smhd, state.n_edges) < (rival.mean_smhd, rival.n_edges):
            nearest[state.theta] = state
    return {
        "nodes": list(consensus.dag.names),
        "edges": [list(edge) for edge in consensus.dag.edges],
        "theta": fraction_text(consensus.theta),
        "mean_smhd": float(consensus.mean_smhd),
        "lower_bound": float(consensus.lower_bound),
        "reading": consensus.reading,
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
