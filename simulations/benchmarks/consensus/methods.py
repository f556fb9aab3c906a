"""All ways of making one DAG of several, side by side on the same inputs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.path import POOLINGS, McbncPath
from fedbn.consensus.polish import polish
from fedbn.consensus.threshold import READINGS, select_consensus
from fedbn.consensus.votes import lower_bound, votes_of
from fedbn.fusion.baselines import BASELINES, fuse_by
from fedbn.fusion.inputs import merge_inputs
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd, shd, smhd
from fedbn.graphs.treewidth import dag_treewidth


class MethodRow(NamedTuple):
    """One method on one set of inputs; gap: mean SMHD above what no DAG can be below."""

    inputs: str
    r: int
    method: str
    smhd_inputs: float
    gap: float
    smhd_gold: str
    shd_gold: str
    edges: int
    treewidth: int
    seconds: float


def compare(
    label: str, dags: Sequence[DAG], gold: DAG | None, methods: Sequence[str]
) -> Iterator[MethodRow]:
    """One row per method: MCBNC by reading and pooling, polished, and the baselines."""
    bound = lower_bound(votes_of(merge_inputs(dags)))

    def row(method: str, dag: DAG, seconds: float) -> MethodRow:
        distance = mean_smhd(dag, dags)
        return MethodRow(
            inputs=label,
            r=len(dags),
            method=method,
            smhd_inputs=round(float(distance), 3),
            gap=round(float(distance - bound), 3),
            smhd_gold="" if gold is None else str(smhd(dag, gold)),
            shd_gold="" if gold is None else str(shd(dag, gold)),
            edges=dag.n_edges,
            treewidth=dag_treewidth(dag),
            seconds=round(seconds, 3),
        )

    if "mcbnc" in methods:
        for method, dag, seconds in _by_mcbnc(dags):
            yield row(method, dag, seconds)
    for name in BASELINES:
        if name in methods:
            began = time.process_time()
            dag = fuse_by(name, dags, rng=np.random.default_rng(1))
            yield row(name, dag, time.process_time() - began)


def _by_mcbnc(dags: Sequence[DAG]) -> Iterator[tuple[str, DAG, float]]:
    """(method, DAG, CPU seconds) of MCBNC in its variants."""
    for pooling in POOLINGS:
        began = time.process_time()
        path: McbncPath = mcbnc_path(dags, pooling=pooling)
        searched = time.process_time() - began
        for reading in READINGS if pooling == "mean" else READINGS[:1]:
            began = time.process_time()
            consensus = select_consensus(path, reading)
            chosen = time.process_time() - began
            yield f"mcbnc {pooling} {reading}", consensus.dag, searched + chosen
            if (pooling, reading) == ("mean", "best"):
                began = time.process_time()
                polished = polish(consensus, path).dag
                seconds = searched + chosen + time.process_time() - began
                yield "mcbnc polished", polished, seconds
