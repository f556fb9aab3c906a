"""CPU seconds and memory of the path, one warm core, and how they grow."""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import select_consensus
from fedbn.graphs.distances import smhd
from simulations.benchmarks.consensus.inputs import Inputs


class Row(NamedTuple):
    """One run; smhd_half: SMHD to the base DAG at θ = 0.5, empty where there is none."""

    inputs: str
    n: int
    r: int
    quorum: int
    union_edges: int
    deletions: int
    thetas: int
    path_seconds: float
    select_seconds: float
    mean_smhd: float
    lower_bound: float
    smhd_half: str
    peak_megabytes: int
    status: str


def measure(inputs: Inputs, seconds: float, quorum: int = 1) -> Row:
    """Run one instance: order, union and complete path; then the choice over both readings."""
    began = time.process_time()
    path = mcbnc_path(inputs.dags, quorum=quorum, seconds=seconds)
    middle = time.process_time()
    consensus = select_consensus(path)
    end = time.process_time()
    half = ""
    if inputs.base is not None:
        half = str(smhd(select_consensus(path, "search", "1/2").dag, inputs.base))
    return Row(
        inputs=inputs.label,
        n=len(path.names),
        r=len(inputs.dags),
        quorum=quorum,
        union_edges=path.union.n_edges,
        deletions=len(path.steps),
        thetas=len(path.thetas),
        path_seconds=round(middle - began, 5),
        select_seconds=round(end - middle, 5),
        mean_smhd=round(float(consensus.mean_smhd), 3),
        lower_bound=round(float(consensus.lower_bound), 3),
        smhd_half=half,
        peak_megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        status=path.status,
    )


def growth(found: Sequence[Row], of: str) -> float | None:
    """Exponent b of path seconds ~ size^b, by least squares on logarithms; the other size free."""
    other = "r" if of == "n" else "n"
    complete = [row for row in found if row.status == "complete" and row.path_seconds > 0]
    levels = sorted({getattr(row, other) for row in complete})
    if len({getattr(row, of) for row in complete}) < 2:
        return None
    design = np.array(
        [
            [math.log(getattr(row, of))] + [float(getattr(row, other) == v) for v in levels]
            for row in complete
        ]
    )
    target = np.log([row.path_seconds for row in complete])
    return float(np.linalg.lstsq(design, target, rcond=None)[0][0])


def draw_growth(found: Sequence[Row], file: Path) -> None:
    """Median path seconds over r, one line per n, both axes logarithmic."""
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for n in sorted({row.n for row in found}):
        sizes = sorted({row.r for row in found if row.n == n})
        medians = [
            float(np.median([w.path_seconds for w in found if w.n == n and w.r == r]))
            for r in sizes
        ]
        axes.loglog(sizes, medians, marker="o", label=f"n = {n}")
    axes.set_xlabel("inputs r")
    axes.set_ylabel("CPU seconds, order + union + complete path")
    axes.legend()
    figure.savefig(file)
