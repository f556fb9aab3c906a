"""Proven optima: methods beside each other, by score, gap and CPU seconds.

    python -m simulations.benchmarks.optimal --golden golden.json
    python -m simulations.benchmarks.optimal --gaussian 25:1.0 --samples 3 --methods auto,subsets
    python -m simulations.benchmarks.optimal --networks child,insurance --rows 20000 --seconds 180

`--golden` is a file of instances with known optima: Gaussian ones by covariance, N and optimum,
discrete ones by a table beside the file; the command fails unless every instance is proven optimal
at the given optimum within 1e-6 relative. `--gaussian NODES:DEGREE` are instances of the CG-DCA
paper's generator with N = `--rows`. Every method runs in a process of its own after a small warm-up
that is not counted, so that the peak of memory is its own; the making of
the score is not counted either.
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from rich.table import Table

from fedbn.data.tables import read_dataset
from fedbn.errors import ConfigError, FedbnError
from fedbn.networks.catalog import load_network
from fedbn.networks.random import node_names
from fedbn.scores import TabulatedScore, make_score
from fedbn.scores.gaussian import gaussian_from_covariance
from fedbn.search.optimal import METHODS, OptimalResult, learn_optimal
from simulations.benchmarks.arguments import count
from simulations.benchmarks.gaussian_instances import gaussian_instance
from simulations.terminal import print_table, show_error

AGREEMENT = 1e-6  # relative


@dataclass(frozen=True)
class Instance:
    """A score to maximise, and its optimum where that is known."""

    name: str
    score: TabulatedScore
    optimum: float | None = None


@dataclass(frozen=True)
class Row:
    """One method on one instance; memory in MiB, of the whole process."""

    instance: Instance
    method: str
    result: OptimalResult
    seconds: float
    memory: float

    @property
    def right(self) -> bool:
        """Whether a known optimum was reached and proven."""
        known = self.instance.optimum
        if known is None:
            return True
        near = abs(self.result.score - known) <= AGREEMENT * abs(known)
        return near and self.result.status == "optimal"


def golden_instances(path: Path) -> Iterator[Instance]:
    """The instances of a file of known optima."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the known optima {path}: {error}") from error
    for entry in entries:
        if entry["kind"] == "gaussian":
            covariance = np.array(entry["covariance"])
            score = gaussian_from_covariance(node_names(entry["n"]), covariance, entry["N"])
        else:
            score = make_score("bic", read_dataset(path.parent / entry["file"], "categorical"))
        yield Instance(entry["id"], score, entry["optimum"])


def gaussian_instances(sizes: Sequence[str], rows: int, samples: int) -> Iterator[Instance]:
    """Instances of the generator, NODES:DEGREE each."""
    for size in sizes:
        try:
            nodes, degree = size.split(":")
            n, d = int(nodes), float(degree)
        except ValueError:
            raise ConfigError(
                f"--gaussian must be NODES:DEGREE, like 20:1.5, not {size!r}"
            ) from None
        for sample in range(samples):
            dataset = gaussian_instance(n, d, rows, sample)[1]
            score = make_score("gaussian-bic", dataset)
            yield Instance(f"gaussian {size} {rows} #{sample}", score)


def network_instances(
    networks: Sequence[str], score: str, rows: int, samples: int, network_dir: Path | None
) -> Iterator[Instance]:
    """Tables sampled from networks."""
    for name in networks:
        network = load_network(name, network_dir)
        for sample in range(samples):
            dataset = network.sample(rows, np.random.default_rng([rows, sample]))
            yield Instance(f"{name} {rows} #{sample}", make_score(score, dataset))


def measure(instance: Instance, method: str, seconds: float | None) -> Row:
    """One run after a warm-up."""
    few = instance.score.over(np.arange(min(4, instance.score.n)))
    for warm in ("subsets", "branch-and-cut", method):
        learn_optimal(few, warm, rng=np.random.default_rng(0))
    gc.collect()
    began = time.process_time()
    result = learn_optimal(instance.score, method, seconds=seconds, rng=np.random.default_rng(1))
    spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return Row(instance, method, result, spent, peak)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 1 if a known optimum was missed or not proven."""
    options = _parser().parse_args(arguments)
    try:
        return _measure(options)
    except FedbnError as error:
        show_error(error)
        return 1


def _measure(options: argparse.Namespace) -> int:
    """Every instance by every method; 1 if a known optimum was missed."""
    instances = [
        *(golden_instances(options.golden) if options.golden else ()),
        *gaussian_instances(options.gaussian, options.rows, options.samples),
        *network_instances(
            options.networks, options.score, options.rows, options.samples, options.network_dir
        ),
    ]
    rows = []
    for instance in instances:
        for method in options.methods:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                row = process.submit(measure, instance, method, options.seconds).result()
            rows.append(row)
            print(_line(row), file=sys.stderr, flush=True)
    print_table(_table(rows))
    return 0 if all(row.right for row in rows) else 1


def _line(row: Row) -> str:
    return f"{row.instance.name} {row.method}: {row.result.status}, {row.seconds:.3f} s"


def _table(rows: Sequence[Row]) -> Table:
    table = Table("instance", "n", "method", "status", "score", "gap %", "off the optimum %")
    for column in ("CPU s", "MiB", "parent sets", "largest part"):
        table.add_column(column, justify="right")
    for row in rows:
        known = row.instance.optimum
        off = "" if known is None else f"{100 * (row.result.score / known - 1):.1e}"
        table.add_row(
            row.instance.name, str(row.instance.score.n), row.method, row.result.status,
            f"{row.result.score:,.3f}", f"{100 * row.result.gap / abs(row.result.score):.4f}", off,
            f"{row.seconds:.3f}", f"{row.memory:,.0f}", f"{row.result.counters['parent_sets']:,}",
            str(row.result.counters["largest_component"]),
        )  # fmt: skip
    return table


def _parser() -> argparse.ArgumentParser:
    def words(text: str) -> list[str]:
        return text.split(",")

    parser = argparse.ArgumentParser(
        prog="python -m simulations.benchmarks.optimal",
        description="Proven optima: methods beside each other, by score, gap and CPU seconds.",
    )
    parser.add_argument("--golden", type=Path, help="instances with known optima, .json")
    parser.add_argument("--gaussian", type=words, default=[], help="NODES:DEGREE, ...")
    parser.add_argument("--networks", type=words, default=[], help="names or files, ...")
    parser.add_argument("--network-dir", type=Path, help="folder with more networks")
    parser.add_argument("--score", default="bic", help="of the networks' tables")
    parser.add_argument("--rows", type=count, default=5000)
    parser.add_argument("--samples", type=count, default=1, help="instances of each kind")
    parser.add_argument("--seconds", type=float, help="wall-clock limit of each run")
    parser.add_argument("--methods", type=words, default=["auto"], help=f"of {', '.join(METHODS)}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
