"""`fedbn fuse --method`: a baseline instead of MCBNC, with no path and no θ."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.consensus.votes import lower_bound, votes_of
from fedbn.errors import ConfigError
from fedbn.fusion.baselines import BASELINES, fuse_by
from fedbn.fusion.inputs import MergedInputs, merge_inputs
from fedbn.fusion.median import descend_to_median
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd, smhd
from fedbn.graphs.files import NamedDAG, write_structure
from fedbn.results.report import results_folder, versions
from simulations.commands.fuse_options import FuseOptions, settings_of
from simulations.terminal import print_json, print_table, rows_table

__all__ = ["fuse_by_baseline"]


def fuse_by_baseline(inputs: Sequence[NamedDAG], options: FuseOptions, truth: DAG | None) -> None:
    """Fuse, write the results folder if one is wanted, and print what happened.

    Raises
    ------
    ConfigError : the method is unknown, or an option has no meaning for it.
    """
    _check(options)
    dags, weights = [e.dag for e in inputs], [e.weight for e in inputs]
    began = time.process_time()
    dag = fuse_by(options.method, dags, weights, np.random.default_rng(options.seed))
    merged = merge_inputs(dags, weights)
    if options.polish:
        dag = descend_to_median(merged, dag)
    seconds = time.process_time() - began
    content = _facts(dag, merged, options, truth)
    content |= {"seconds": seconds, "startup_seconds": began}
    if options.out is not None:
        _write(dag, inputs, content, options)
    if options.as_json:
        print_json(content)
    elif not options.quiet:
        columns = ("method", "edges", "mean_smhd", "lower_bound", "smhd_to_gold", "seconds")
        row = [dag.n_edges if column == "edges" else content.get(column, "") for column in columns]
        print_table(rows_table(columns, [row], f"{len(inputs)} structures fused"))
        print_table(rows_table(("parent", "child"), dag.edges, "Consensus"))


def _check(options: FuseOptions) -> None:
    if options.method not in BASELINES:
        names = ", ".join(["mcbnc", *BASELINES])
        raise ConfigError(f"--method must be one of {names}, got {options.method!r}")
    defaults = FuseOptions()
    for name in ("reading", "theta", "k_max", "quorum", "seconds", "robust", "steps", "explain"):
        if getattr(options, name) != getattr(defaults, name):
            raise ConfigError(f"--{name.replace('_', '-')} is for --method mcbnc only")


def _facts(
    dag: DAG, inputs: MergedInputs, options: FuseOptions, truth: DAG | None
) -> dict[str, Any]:
    """What --json says, but for the times."""
    distance, least = mean_smhd(dag, inputs.dags, inputs.weights), lower_bound(votes_of(inputs))
    facts = {
        "method": options.method,
        "nodes": list(dag.names),
        "edges": [list(edge) for edge in dag.edges],
        "mean_smhd": float(distance),
        "lower_bound": float(least),
    }
    return facts if truth is None else {**facts, "smhd_to_gold": smhd(dag, truth)}


def _write(
    dag: DAG, inputs: Sequence[NamedDAG], content: dict[str, Any], options: FuseOptions
) -> None:
    assert options.out is not None
    run = {
        "program": "fedbn",
        "command": "fuse",
        "settings": settings_of(options),
        "seed": options.seed,
        "versions": versions(),
        **{key: value for key, value in content.items() if key not in ("nodes", "edges")},
    }
    with results_folder(options.out) as place:
        for suffix in (".csv", ".json", ".graphml", ".dot"):
            write_structure(dag, place / f"consensus{suffix}")
        _write_clients(place / "clients.csv", dag, inputs)
        text = json.dumps(run, indent=1, ensure_ascii=False) + "\n"
        (place / "run.json").write_text(text, encoding="utf-8")


def _write_clients(file: Path, dag: DAG, inputs: Sequence[NamedDAG]) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("client", "edges", "smhd_to_consensus"))
        writer.writerows((e.label, e.dag.n_edges, smhd(dag, e.dag)) for e in inputs)
