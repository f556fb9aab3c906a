"""CPU time of the compiled algorithms of two versions of fedbn, in turn in one run.

    python -m simulations.benchmarks.core_speed --old ../old/.venv/bin/python --repeats 5

One process per version stays alive; each case is run by one and then by the other, so both meet the
same machine, and the least CPU seconds of each count. What is measured begins at a table or at DAGs
in memory: a search includes the preparation of its score. Only public functions are called, so the
program runs with either version. --only takes the cases with one of these words in their names.
"""

from __future__ import annotations

import argparse
import gzip
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import select_consensus
from fedbn.credible.classes import markov_classes
from fedbn.credible.enumerate import credible_set
from fedbn.credible.pruning import candidate_sets
from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import perturb
from fedbn.networks.catalog import load_network
from fedbn.networks.random import node_names
from fedbn.scores import make_score
from fedbn.search.cg_dca import learn_cg_dca
from fedbn.search.ges import ges
from fedbn.search.hill_climbing import hill_climbing
from fedbn.search.iterated_local_search import KickRules, iterated_local_search
from fedbn.search.optimal import learn_optimal
from fedbn.search.xges import xges0

NETWORKS = ("asia", "child", "insurance", "alarm", "hailfinder", "win95pts", "andes")
ROWS = (5_000, 100_000)
CREDIBLE = (("asia", 200, 20.0), ("asia", 1000, 150.0), ("child", 500, 20.0), ("alarm", 1000, 3.0))
LEAST_SECONDS = 0.2
"""A case that is shorter is repeated within one measurement until it takes so long."""

Case = Callable[[], Any]


def cases(mcbnc: Path | None) -> Iterator[tuple[str, Case]]:
    """Names, and what is called for them."""
    for rows in ROWS:
        for network in NETWORKS:
            for name, run in SEARCHES.items():
                yield f"search {name} {network} {rows}", partial(_search, run, network, rows)
    for network in ("asia", "child"):
        yield f"search optimal {network} 5000", partial(_search, learn_optimal, network, 5_000)
    yield "search optimal asia 100000", partial(_search, learn_optimal, "asia", 100_000)
    for path in sorted(mcbnc.glob("*.r100.txt.gz")) if mcbnc else ():
        for sites in (10, 50, 100):
            yield f"fuse {path.name} {sites}", partial(_fuse_file, path, sites)
    for network, sites in (("alarm", 10), ("alarm", 50), ("alarm", 100), ("alarm", 1000)):
        yield f"fuse {network} {sites}", partial(_fuse, network, sites, 0)
    for sites in (20, 1000):  # without a common graph, 1,000 take over 15 minutes
        yield f"fuse win95pts {sites} x 5", partial(_fuse, "win95pts", sites, 5)
    for sites in (100, 200, 1000):
        yield f"fuse random 40 {sites} x 3", partial(_fuse, "", sites, 3)
    for network, rows, factor in CREDIBLE:
        yield f"credible {network} {rows}", partial(_credible, network, rows, factor)
    for network in ("asia", "child"):
        yield f"cg-dca {network} 1000", partial(_cg_dca, network)


def _ils(score: Any) -> Any:
    rng = np.random.default_rng(1)
    return iterated_local_search(score, rng=rng, kicks=KickRules(patience=100))


SEARCHES: dict[str, Callable[[Any], Any]] = {
    "ges": ges,
    "xges0": xges0,
    "hc": hill_climbing,
    "ils": _ils,
}


@cache
def _table(network: str, rows: int) -> Dataset:
    data = load_network(network).sample(rows, np.random.default_rng(rows))
    assert isinstance(data, Dataset)
    return data


def _search(run: Callable[[Any], Any], network: str, rows: int) -> Case:
    data = _table(network, rows)
    return lambda: run(make_score("bdeu", data))


@cache
def _near(network: str, sites: int, parents: int) -> tuple[DAG, ...]:
    """DAGs of at most `parents` parents a node over the nodes of a network (of 40, without one), or
    with 0 the network's own, changed in a few edges."""
    rng = np.random.default_rng(sites)
    names = load_network(network).dag.names if network else node_names(40)
    if not parents:
        return tuple(perturb(load_network(network).dag, 5, rng=rng) for _ in range(sites))
    return tuple(_random_parents(names, parents, rng) for _ in range(sites))


def _random_parents(names: tuple[str, ...], parents: int, rng: np.random.Generator) -> DAG:
    """A random order, and up to so many parents for each node, the others drawn uniformly."""
    order = rng.permutation(len(names))
    edges = [
        (names[u], names[order[k]])
        for k in range(1, len(names))
        for u in rng.choice(order[:k], size=min(k, parents), replace=False)
    ]
    return DAG.from_edges(names, edges)


def _fuse(network: str, sites: int, parents: int) -> Case:
    dags = _near(network, sites, parents)
    return lambda: select_consensus(mcbnc_path(dags))


def _fuse_file(path: Path, sites: int) -> Case:
    dags = _read(path)[:sites]
    return lambda: select_consensus(mcbnc_path(dags))


@cache
def _read(path: Path) -> tuple[DAG, ...]:
    """The DAGs of a file: "nodes a,b" once, then blocks of "dag NAME" and lines "parent,child"."""
    with gzip.open(path, "rt") as file:
        lines = file.read().splitlines()
    names = tuple(lines[0].removeprefix("nodes ").split(","))
    edges: list[list[tuple[str, str]]] = []
    for line in lines[1:]:
        if line.startswith("dag "):
            edges.append([])
        elif line and not line.startswith("#"):
            parent, child = line.split(",")
            edges[-1].append((parent, child))
    return tuple(DAG.from_edges(names, one) for one in edges)


def _credible(network: str, rows: int, factor: float) -> Case:
    data = _table(network, rows)

    def run() -> None:
        found = credible_set(candidate_sets(data, "bic", bayes_factor=factor), seconds=300.0)
        assert found.count
        assert markov_classes(found).count
        found.edge_posteriors.sum()

    return run


def _cg_dca(network: str) -> Case:
    data = _table(network, 1_000)
    return lambda: learn_cg_dca(make_score("bdeu", data), rng=np.random.default_rng(0))


def work(mcbnc: Path | None) -> None:
    """Read names of cases, a line each, and answer with the CPU seconds of one run."""
    known, ready = dict(cases(mcbnc)), {}
    for line in sys.stdin:
        name = line.strip()
        if name not in ready:
            run = known[name]()
            run()
            ready = {name: (run, max(1, math.ceil(LEAST_SECONDS / _seconds(run))))}
        run, times = ready[name]
        began = time.process_time()
        for _ in range(times):
            run()
        print((time.process_time() - began) / times, flush=True)


def _seconds(run: Case) -> float:
    began = time.process_time()
    run()
    return max(1e-4, time.process_time() - began)


class Worker:
    """A process that runs cases with one version."""

    def __init__(self, python: str, mcbnc: Path | None) -> None:
        command = [python, str(Path(__file__).resolve()), "--work"]
        if mcbnc:
            command += ["--mcbnc", str(mcbnc)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, case: str) -> float:
        """CPU seconds of one run of a case."""
        assert self._process.stdin
        assert self._process.stdout
        print(case, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())


def compare(python: str, mcbnc: Path | None, words: Sequence[str], repeats: int) -> None:
    """Print a line for each case, and the geometric mean of each kind of case."""
    old, new = Worker(python, mcbnc), Worker(sys.executable, mcbnc)
    ratios: dict[str, list[float]] = {}
    for name, _ in cases(mcbnc):
        if not any(word in name for word in words):
            continue
        runs = [(old.seconds(name), new.seconds(name)) for _ in range(repeats)]
        before, after = (min(seconds) for seconds in zip(*runs, strict=True))
        ratios.setdefault(name.split()[0], []).append(after / before)
        print(f"{name:36} {before:9.4f} {after:9.4f} {after / before:6.2f}", flush=True)
    for kind, some in ratios.items():
        mean = math.exp(sum(map(math.log, some)) / len(some))
        print(f"{kind}: geometric mean {mean:.3f}, largest {max(some):.2f}, of {len(some)}")


def main() -> None:
    """Compare, or answer the one that compares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--old", help="the interpreter of the other version's environment")
    parser.add_argument("--mcbnc", type=Path, help="folder of files *.r100.txt.gz with DAGs")
    parser.add_argument("--only", nargs="*", default=[""], help="words of the names of cases")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(args.mcbnc)
    else:
        compare(args.old, args.mcbnc, args.only, args.repeats)


if __name__ == "__main__":
    main()
