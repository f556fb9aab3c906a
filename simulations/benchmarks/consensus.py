"""Speed and quality of the consensus: `python -m simulations.benchmarks.consensus`.

Synthetic inputs: a random base DAG with 1.5 n edges, and r copies of it with 0.75 n random changes
each. With --files: the first r DAGs of each file. One warm core; CPU seconds of order, union and
the complete path to the empty graph, then of choosing the consensus over both readings.
"""

from __future__ import annotations

import argparse
import csv
import math
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import select_consensus
from fedbn.graphs.dag import DAG
from fedbn.graphs.files import read_structures
from fedbn.graphs.random import perturbed, random_dag
from fedbn.metrics import smhd


class Row(NamedTuple):
    """One run; smhd_half: SMHD to the base DAG at θ = 0.5, empty for files."""

    inputs: str
    n: int
    r: int
    union_edges: int
    thetas: int
    path_seconds: float
    select_seconds: float
    mean_smhd: float
    lower_bound: float
    smhd_half: str
    peak_megabytes: int
    status: str


def measured(label: str, dags: Sequence[DAG], base: DAG | None, seconds: float) -> Row:
    """Run one instance."""
    began = time.process_time()
    path = mcbnc_path(dags, seconds=seconds)
    middle = time.process_time()
    consensus = select_consensus(path)
    end = time.process_time()
    half = "" if base is None else str(smhd(select_consensus(path, "best", "1/2").dag, base))
    return Row(
        inputs=label,
        n=len(path.names),
        r=len(dags),
        union_edges=path.union.n_edges,
        thetas=len(path.thetas),
        path_seconds=round(middle - began, 5),
        select_seconds=round(end - middle, 5),
        mean_smhd=round(float(consensus.mean_smhd), 3),
        lower_bound=round(float(consensus.lower_bound), 3),
        smhd_half=half,
        peak_megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        status=path.status,
    )


def synthetic(n: int, r: int, seed: int) -> tuple[DAG, list[DAG]]:
    """A base DAG and r perturbed copies."""
    rng = np.random.default_rng(seed)
    names = [f"v{i:04d}" for i in range(n)]
    base = random_dag(names, edges=min(3 * n // 2, n * (n - 1) // 2), rng=rng)
    return base, [perturbed(base, 3 * n // 4, rng=rng) for _ in range(r)]


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Every run that the options ask for."""
    warm = synthetic(5, 3, 0)[1]
    select_consensus(mcbnc_path(warm))
    for file in options.files:
        dags = [entry.dag for entry in read_structures(file)]
        for r in options.r:
            if r <= len(dags):
                yield measured(file.name.split(".")[0], dags[:r], None, options.seconds)
    if options.files:
        return
    for n in options.n:
        for r in options.r:
            for seed in range(options.seeds):
                base, dags = synthetic(n, r, seed)
                yield measured(f"seed {seed}", dags, base, options.seconds)


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


def plot(found: Sequence[Row], file: Path) -> None:
    """Median path seconds over r, one line per n, both axes logarithmic."""
    from matplotlib.figure import Figure

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


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table as runs end; with --out, write it as CSV and draw it."""
    parser = argparse.ArgumentParser(prog="consensus", description=__doc__)
    parser.add_argument("--files", type=Path, nargs="+", default=[], help="several-DAGs files")
    parser.add_argument("--n", type=int, nargs="+", default=[10, 30, 50])
    parser.add_argument("--r", type=int, nargs="+", default=[10, 30, 50, 100])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=120.0, help="budget of one run")
    parser.add_argument("--out", type=Path, help="folder for consensus.csv and consensus.png")
    options = parser.parse_args(arguments)
    writer = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
    writer.writerow(Row._fields)
    found = []
    for row in rows(options):
        found.append(row)
        writer.writerow(row)
        sys.stdout.flush()
    for of in ("n", "r"):
        exponent = growth(found, of)
        if exponent is not None:
            print(f"path seconds grow as {of}^{exponent:.2f}")
    if options.out is not None and found:
        options.out.mkdir(parents=True, exist_ok=True)
        with (options.out / "consensus.csv").open("w", newline="", encoding="utf-8") as stream:
            table = csv.writer(stream, lineterminator="\n")
            table.writerows([Row._fields, *found])
        plot(found, options.out / "consensus.png")


if __name__ == "__main__":
    main()
