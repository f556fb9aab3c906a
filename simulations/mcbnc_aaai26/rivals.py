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
from fedbn.consensus.polish import polish
from fedbn.consensus.threshold import select_consensus
from fedbn.fusion.baselines import edge_vote, fuse_by, intersection
from fedbn.fusion.median import median_dag
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd
from simulations.mcbnc_aaai26.grid import Judge, judge_of
from simulations.mcbnc_aaai26.inputs import fingerprint, first_inputs
from simulations.study_cases import Case

__all__ = ["RIVALS", "run_rivals", "run_runtime"]

HALF = Fraction(1, 2)
MEASURES = ("edges", "width", "smhd_gold", "bdeu")


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
    found = {name: _judged(judge, rival(dags), dags) for name, rival in RIVALS.items()}
    found["gold"] = _judged(judge, judge.gold, dags)
    found["empty"] = _judged(judge, DAG.empty(judge.gold.names), dags)
    each = np.array([judge.measures(dag) for dag in dags], dtype=float)
    found["inputs"] = dict(zip(MEASURES, each.mean(axis=0).tolist(), strict=True))
    path = mcbnc_path(dags, seconds=settings["seconds"], pooling=settings["pooling"])
    polished = polish(select_consensus(path), path)
    found["polished"] = _judged(judge, polished.dag, dags)
    exact = float(np.mean(each[:, 2] == 0))
    return {"inputs": fingerprint(dags), "methods": found, "inputs_equal_to_gold": exact}


def _judged(judge: Judge, dag: DAG, dags: Sequence[DAG]) -> dict[str, float]:
    aligned = dag if dag.names == judge.gold.names else dag.reordered(judge.gold.names)
    measures = dict(zip(MEASURES, map(float, judge.measures(aligned)), strict=True))
    return measures | {"smhd_inputs": float(mean_smhd(aligned, dags))}


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
    return {"seconds": took, **_judged(judge, dag, dags)}
