"""What stands beside the consensus in every cell: the truth, the inputs, and other fusions.

Everything here is the same in all repetitions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import select_consensus
from fedbn.fusion.baselines import edge_vote, fuse_by, intersection
from fedbn.fusion.median import median_dag
from fedbn.graphs.dag import DAG
from simulations.studies.mcbnc_aaai26.grid import MEASURES, judge_of
from simulations.studies.mcbnc_aaai26.inputs import fingerprint, first_inputs
from simulations.study_cases import Case

HALF = Fraction(1, 2)


def majority(dags: Sequence[DAG]) -> DAG:
    """The edges of more than half of the inputs."""
    return edge_vote(dags, threshold=HALF)


RIVALS: Mapping[str, Callable[[Sequence[DAG]], DAG]] = {
    "vote 1/2": majority,
    "vote automatic": edge_vote,
    "median": median_dag,
    "median from vote": lambda dags: median_dag(dags, start=majority(dags)),
    "intersection": intersection,
}


def run_rivals(
    case: Case, folder: Path, settings: Mapping[str, Any], network_dir: Path | None
) -> dict[str, Any]:
    """Edges, width, SMHD and BDeu of the truth, the empty graph, the inputs' mean, every rival."""
    dags = first_inputs(folder, case, network_dir)
    judge = judge_of(case["network"], settings["test_rows"], case["seed"], network_dir)
    found = {name: judge.judge(rival(dags), dags) for name, rival in RIVALS.items()}
    found["gold"] = judge.judge(judge.gold, dags)
    found["empty"] = judge.judge(DAG.empty(judge.gold.names), dags)
    each = np.array([judge.measures(dag) for dag in dags], dtype=float)
    found["inputs"] = dict(zip(MEASURES, each.mean(axis=0).tolist(), strict=True))
    exact = float(np.mean(each[:, 2] == 0))
    return {"inputs": fingerprint(dags), "methods": found, "inputs_equal_to_gold": exact}


def run_runtime(case: Case, folder: Path, network_dir: Path | None) -> dict[str, Any]:
    """CPU seconds of one method on the inputs of a cell (Figure 4), and what it finds."""
    dags = first_inputs(folder, case, network_dir)
    began = time.process_time()
    if case["method"] == "mcbnc":
        dag = select_consensus(mcbnc_path(dags, pooling="mean"), "refusion").dag
    else:
        dag = fuse_by(case["method"], dags, rng=np.random.default_rng(case["seed"]))
    took = time.process_time() - began
    judge = judge_of(case["network"], case["rows"], case["seed"], network_dir)
    return {"seconds": took, **judge.judge(dag, dags)}
