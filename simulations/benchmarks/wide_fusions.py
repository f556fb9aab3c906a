"""The consensus of ten sparse structures over thousands of columns: CPU seconds, memory.

    python -m simulations.benchmarks.wide_fusions --columns 1000,2000,4000,5000

The ten DAGs derive from one random DAG with two edges per column: each lacks 2 % of these edges and
has 1 % more, in the same order of columns. Every number of columns has a process of its own, which
measures its peak memory: `path` is the order, the I-maps and all deletions, `choice` the
consensus on the path.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import poolings_of, select_among
from fedbn.graphs.dag import DAG
from simulations.benchmarks.arguments import count, counts, seed

SITES, PER_COLUMN, LOST, NEW = 10, 2, 0.02, 0.01


def structures(columns: int, rng: np.random.Generator) -> list[DAG]:
    """The ten DAGs; an edge goes from a column to a later one."""
    names = [f"X{i:05d}" for i in range(columns)]
    common = _pairs(columns, PER_COLUMN * columns, rng)
    found = []
    for _ in range(SITES):
        kept = common[rng.random(len(common)) >= LOST]
        new = _pairs(columns, round(NEW * len(common)), rng)
        found.append(DAG.from_arcs(names, np.concatenate([kept, new])))
    return found


def _pairs(columns: int, number: int, rng: np.random.Generator) -> np.ndarray:
    """Random pairs of different columns, the earlier one first."""
    first = rng.integers(0, columns, number)
    second = (first + rng.integers(1, columns, number)) % columns
    return np.sort(np.column_stack([first, second]), axis=1)


def measure(columns: int, of: int) -> str:
    """One row of the table."""
    dags = structures(columns, np.random.default_rng(of))
    began = time.process_time()
    paths = mcbnc_paths(dags, None, poolings_of("best"))
    fused = time.process_time()
    _, consensus = select_among(paths)
    chosen = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    cells = (
        f"{columns:,}",
        f"{fused - began:.1f}",
        f"{chosen - fused:.1f}",
        f"{peak:,.0f}",
        f"{consensus.dag.n_edges:,}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, a row when it is known."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--columns", type=counts, default=[1_000, 2_000, 4_000, 5_000])
    parser.add_argument("--seed", type=seed, default=1)
    parser.add_argument("--only", type=count, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only is not None:
        print(measure(given.only, given.seed))
        return
    print("| columns | path, CPU s | choice, CPU s | MB | edges of the consensus |")
    print("|---|---|---|---|---|")
    for columns in given.columns:
        command = [sys.executable, "-m", "simulations.benchmarks.wide_fusions"]
        command += ["--only", str(columns), "--seed", str(given.seed)]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
