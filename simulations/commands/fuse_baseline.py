"""`fedbn fuse --method`: a baseline instead of MCBNC, with no path and no θ."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from fedbn.consensus.judges import never_together
from fedbn.consensus.remarks import on_inputs
from fedbn.consensus.votes import lower_bound, mean_smhd_by_votes, votes_of
from fedbn.errors import ConfigError, FedbnWarning
from fedbn.federation.fusions import FUSIONS, fuse_weighted
from fedbn.federation.settings import ConsensusSettings
from fedbn.fusion.inputs import MergedInputs, Variables, merge_inputs
from fedbn.fusion.median import descend_to_median
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import induced_smhd, smhd
from fedbn.graphs.files import NamedDAG
from fedbn.results.record import command_line, hash_files
from fedbn.results.report import versions, write_voted
from fedbn.spreadsheet import written_text
from fedbn.wording import count_of
from simulations.commands.fuse_options import FuseOptions, settings_record
from simulations.terminal import print_json, print_rows, print_table, rows_table


def fuse_by_baseline(inputs: Sequence[NamedDAG], options: FuseOptions, truth: DAG | None) -> None:
    """Fuse, write the results folder if one is wanted, and print what happened.

    Raises
    ------
    ConfigError : the method is unknown, or an option has no meaning for it.
    """
    _check(options)
    dags, weights = [e.dag for e in inputs], [e.weight for e in inputs]
    began = time.process_time()
    rule = ConsensusSettings(
        fusion=options.method,
        known=options.known,
        max_treewidth=options.max_treewidth,
        variables=options.variables,
        min_sites=options.min_sites,
    )
    rng = np.random.default_rng(options.seed)
    dag = fuse_weighted(dags, weights, rule, rng)[2].dag
    merged = merge_inputs(dags, weights, cast(Variables, options.variables))
    if options.polish:
        dag = descend_to_median(merged, dag, options.known, options.max_treewidth)
    seconds = time.process_time() - began
    for words in on_inputs(merged):
        warnings.warn(words, FedbnWarning, stacklevel=2)
    content = _facts(dag, merged, options, truth)
    content |= {"seconds": seconds, "startup_seconds": began}
    if options.out is not None:
        _write(dag, inputs, content, options)
    if options.as_json:
        print_json(content)
    elif not options.quiet:
        shown = {
            "method": options.method,
            "edges": dag.n_edges,
            "mean SMHD to the inputs": content["mean_smhd"],
            "lower bound for any DAG": content["lower_bound"],
        }
        if truth is not None:
            shown["SMHD to the gold network"] = content["smhd_to_gold"]
        title = f"{count_of(len(inputs), 'structure')} fused in {seconds:.2f} s (CPU)"
        print_table(rows_table(tuple(shown), [tuple(shown.values())], title))
        print_rows(("parent", "child"), dag.edges, "Edges of the consensus")


def _check(options: FuseOptions) -> None:
    if options.method not in FUSIONS:
        raise ConfigError(
            f"--method must be one of {', '.join(FUSIONS.names())}, got {options.method!r}"
        )
    defaults = FuseOptions()
    for name in (
        "reading",
        "theta",
        "k_max",
        "quorum",
        "seconds",
        "robust",
        "steps",
        "explain",
        "min_judges",
    ):
        if getattr(options, name) != getattr(defaults, name):
            raise ConfigError(f"--{name.replace('_', '-')} is for --method mcbnc only")


def _facts(
    dag: DAG, inputs: MergedInputs, options: FuseOptions, truth: DAG | None
) -> dict[str, Any]:
    """What --json says, but for the times."""
    votes = votes_of(inputs)
    distance, least = mean_smhd_by_votes(dag, votes), lower_bound(votes)
    facts = {
        "method": options.method,
        "nodes": list(dag.names),
        "edges": [list(edge) for edge in dag.edges],
        "mean_smhd": float(distance),
        "lower_bound": float(least),
    }
    if inputs.observed is not None:
        facts["never_together"] = [list(pair) for pair in never_together(inputs)]
    return facts if truth is None else {**facts, "smhd_to_gold": smhd(dag, truth)}


def _write(
    dag: DAG, inputs: Sequence[NamedDAG], content: dict[str, Any], options: FuseOptions
) -> None:
    assert options.out is not None
    facts = {key: value for key, value in content.items() if key not in ("nodes", "edges")}
    run = {
        "command": "fuse",
        "command_line": command_line(),
        "settings": settings_record(options),
        "inputs": list(hash_files("inputs", [str(file) for file in options.files])),
        "seed": options.seed,
        "versions": versions(),
        **facts,
    }
    summary = {"clients": len(inputs), **facts}
    clients = _clients_text(dag, inputs)
    write_voted(
        dag,
        options.out,
        run=run,
        summary=summary,
        refused=(),
        more={"clients.csv": clients},
        knowledge=options.known,
    )


def _clients_text(dag: DAG, inputs: Sequence[NamedDAG]) -> str:
    rows = ((e.label, e.dag.n_edges, induced_smhd(dag, e.dag)) for e in inputs)
    return written_text([("client", "edges", "smhd_to_consensus"), *rows])
