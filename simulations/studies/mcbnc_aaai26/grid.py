"""One cell of the grid: the whole path of one fusion, every state measured against the truth.

Ψ is a multiple of 1/r, so θ is kept as the integer θ r; G+ is None. What does not depend on the
repetition (the truth, the inputs, the rivals) is in `rivals.py`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.path import McbncPath
from fedbn.consensus.polish import polish
from fedbn.consensus.threshold import PathState, select_consensus
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd, smhd
from fedbn.graphs.treewidth import dag_treewidth
from fedbn.scores import TabulatedScore, make_score
from simulations.studies.mcbnc_aaai26.inputs import fingerprint, first_inputs, network_of
from simulations.study_cases import Case

STATE = ("theta_r", "deletions", "edges", "width", "smhd_inputs", "smhd_gold", "bdeu")
"""What a row keeps of each state, in this order: θ r, deletions, edges, upper bound of the
treewidth, mean SMHD to the inputs, SMHD to the truth, BDeu of the test table by its rows."""

MEASURES = ("edges", "width", "smhd_gold", "bdeu")
"""What a judge measures of one DAG."""

TEST_SEED = 10**6


@dataclass
class Judge:
    """Distances to a network's DAG and scores on its test table; what was measured is kept."""

    gold: DAG
    score: TabulatedScore
    rows: int
    families: dict[tuple[int, bytes], float] = field(default_factory=dict)
    states: dict[bytes, tuple[int, int, int, float]] = field(default_factory=dict)

    def measures(self, dag: DAG) -> tuple[int, int, int, float]:
        """(edges, width, SMHD to the truth, BDeu by row) of a DAG over the truth's names."""
        key = blake2b(np.packbits(dag.adjacency).tobytes(), digest_size=16).digest()
        if key not in self.states:
            distance = smhd(dag, self.gold)
            bdeu = sum(self._family(dag, v) for v in range(dag.n)) / self.rows
            self.states[key] = (dag.n_edges, dag_treewidth(dag), distance, bdeu)
        return self.states[key]

    def judge(self, dag: DAG, inputs: Sequence[DAG]) -> dict[str, float]:
        """All measures by name, and the mean SMHD to the inputs."""
        aligned = dag if dag.names == self.gold.names else dag.reorder(self.gold.names)
        named = dict(zip(MEASURES, map(float, self.measures(aligned)), strict=True))
        return named | {"smhd_inputs": float(mean_smhd(aligned, inputs))}

    def _family(self, dag: DAG, node: int) -> float:
        key = (node, np.packbits(dag.adjacency[:, node]).tobytes())
        if key not in self.families:
            self.families[key] = self.score.local_score(node, dag.parents(node))
        return self.families[key]


@cache
def judge_of(network: str, rows: int, seed: int, network_dir: Path | None) -> Judge:
    """The judge of a network, made once a process; its test table has the seed [seed, 10^6]."""
    truth = network_of(network, network_dir)
    table = truth.sample(rows, np.random.default_rng([seed, TEST_SEED]))
    return Judge(truth.dag, make_score("bdeu", table), rows)


def run_cell(
    case: Case, folder: Path, settings: Mapping[str, Any], network_dir: Path | None
) -> dict[str, Any]:
    """The states of a path by reading, those that are chosen, and the clock along the search.

    Parameters
    ----------
    case : network, rows, seed, r, repetition, k_max, pooling.
    folder : has the inputs.
    settings : of the grid: test_rows, seconds.
    """
    dags = first_inputs(folder, case, network_dir)
    judge = judge_of(case["network"], settings["test_rows"], case["seed"], network_dir)
    path, clock = _time_path(case, dags, settings["seconds"])
    result: dict[str, Any] = {
        "inputs": fingerprint(dags),
        "status": path.status,
        "union_edges": path.union.n_edges,
        "deletions": len(path.steps),
        "fallen": _fallen(path),
        "clock": clock,
    }
    chosen = {name: select_consensus(path, name) for name in ("search", "refusion", "best")}
    by_reading: dict[str, list[PathState]] = {}
    for state in chosen["best"].states:
        by_reading.setdefault(state.reading, []).append(state)
    for name, states in by_reading.items():
        result[name] = [_measure(state, judge, case["r"]) for state in states]
    for name, consensus in chosen.items():
        thetas = [state.theta for state in by_reading[consensus.reading]]
        result[f"chosen_{name}"] = [consensus.reading, thetas.index(consensus.theta)]
    polished = judge.judge(polish(chosen["best"], path).dag, dags)
    return result | {"polished": polished, "lower_bound": float(chosen["best"].lower_bound)}


def _time_path(
    case: Case, dags: list[DAG], seconds: float
) -> tuple[McbncPath, list[tuple[int, float]]]:
    """The path, and (deletions, CPU seconds) along it; the search tells them every 64 deletions."""
    repetition = case["repetition"]
    at = [case["seed"], case["r"], repetition]
    rng = np.random.default_rng(at) if repetition else None
    clock: list[tuple[int, float]] = []
    began = time.process_time()

    def progress(done: int, edges: int) -> None:
        clock.append((done, round(time.process_time() - began, 4)))

    path = mcbnc_path(
        dags, k_max=case["k_max"], rng=rng, seconds=seconds, pooling=case["pooling"],
        progress=progress,
    )  # fmt: skip
    clock.append((len(path.steps), round(time.process_time() - began, 4)))
    return path, clock


def _fallen(path: McbncPath) -> int:
    """Steps whose Ψ is below that of a step before: Lemma 1 says that there are none."""
    return sum(step.psi < step.theta for step in path.steps)


def _measure(state: PathState, judge: Judge, r: int) -> list[float | int | None]:
    """A state as in STATE."""
    edges, width, distance, bdeu = judge.measures(state.dag)
    theta_r = None if state.theta is None else int(state.theta * r)
    distances = [float(state.mean_smhd), distance]
    return [theta_r, state.deletions, edges, width, *distances, round(bdeu, 9)]
