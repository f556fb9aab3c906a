"""Hashes of results of all compiled algorithms, to compare two versions of fedbn to the last bit.

    python -m simulations.benchmarks.parity --seeds 50 > new.csv
    ../old/.venv/bin/python simulations/benchmarks/parity.py --seeds 50 > old.csv
    python -m simulations.benchmarks.parity --compare old.csv new.csv

A line is the name of a case and the hash of its result: graphs, scores to the last bit, steps and
other counts. Only public functions are called, so the program runs with any version that has them:
in a copy for de56b29 boss goes, and two modules of rules have other names. ils goes over boss
since, and both kick orders, with other results. --only takes the cases whose names begin so; --text
prints the results themselves in place of hashes.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.path import POOLINGS
from fedbn.consensus.path_files import path_to_dict
from fedbn.consensus.threshold import READINGS, select_consensus
from fedbn.credible.client import credible_structures
from fedbn.credible.pruning import candidate_sets
from fedbn.data.dataset import Dataset
from fedbn.errors import FedbnError
from fedbn.fusion.union import fuse
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.random import perturb, random_dag
from fedbn.networks.catalog import load_network
from fedbn.networks.random import (
    node_names,
    random_bayesian_network,
    random_linear_gaussian_network,
)
from fedbn.scores import SCORES, make_score
from fedbn.search.boss import boss
from fedbn.search.cg_dca import learn_cg_dca
from fedbn.search.constraints import SearchRules
from fedbn.search.ges import ges
from fedbn.search.hill_climbing import hill_climbing
from fedbn.search.iterated_local_search import KickRules, iterated_local_search
from fedbn.search.optimal import learn_optimal
from fedbn.search.result import SearchResult
from fedbn.search.xges import xges, xges0

SIZES = (1, 2, 3, 5, 8, 12, 20, 63, 64, 65, 130)
SMALL = 8
"""Variables up to which what takes exponential time is run, too."""

Case = Callable[[], Any]


def cases(seeds: int, networks: Sequence[str], rows: Sequence[int]) -> Iterator[tuple[str, Case]]:
    """Names, and what is called for them."""
    for seed in range(seeds):
        for kind in ("categorical", "gaussian"):
            data = random_table(kind, seed)
            for name, score in SCORES.items():
                if score.kind == kind:
                    yield from cases_of_table(f"{name} {data.n} {seed}", data, name, seed)
        for sites in (2, 5, 30):
            yield from cases_of_graphs(f"graphs {sites} {seed}", random_inputs(sites, seed))
    for network in networks:
        for n_rows in rows:
            data = load_network(network).sample(n_rows, np.random.default_rng(n_rows))
            yield from searches(f"{network} {n_rows}", partial(make_score, "bdeu", data), 0)


def random_table(kind: str, seed: int) -> Dataset:
    """Rows of a random network over 1 to 130 variables."""
    rng = np.random.default_rng([seed, kind == "gaussian"])
    n = SIZES[seed % len(SIZES)]
    density = rng.uniform(0, min(1.0, 3 / n))
    dag = random_dag(node_names(n), edge_probability=density, rng=rng)
    rows = int(rng.integers(n + 3, 400))
    if kind == "gaussian":
        return random_linear_gaussian_network(dag, rng=rng).sample(rows, rng)
    return random_bayesian_network(dag, rng=rng, states=(2, 4)).sample(rows, rng)


def random_inputs(sites: int, seed: int) -> list[DAG]:
    """DAGs near to each other."""
    rng = np.random.default_rng([seed, sites, 2])
    n = SIZES[seed % len(SIZES)]
    dag = random_dag(node_names(n), edge_probability=min(0.5, 2 / n), rng=rng)
    return [perturb(dag, min(dag.n_edges, 3), rng=rng) for _ in range(sites)]


def cases_of_table(place: str, data: Dataset, name: str, seed: int) -> Iterator[tuple[str, Case]]:
    """Every algorithm that begins at a table."""
    make = partial(make_score, name, data)
    yield from searches(place, make, seed)
    if data.n <= SMALL and data.n_rows > data.n + 1:
        seeded = partial(np.random.default_rng, seed)
        yield f"{place} families", lambda: candidate_sets(data, name, max_parents=3).families
        yield f"{place} credible", lambda: credible_structures(data, name, rng=seeded())
        yield f"{place} optimal", lambda: learn_optimal(make())
        yield f"{place} ordering", lambda: learn_optimal(make(), "ordering", rng=seeded())
        yield f"{place} cg-dca", lambda: learn_cg_dca(make(), rng=seeded())


def searches(place: str, make: Callable[[], Any], seed: int) -> Iterator[tuple[str, Case]]:
    """The greedy searches, plain and under rules."""
    limits, known = SearchRules(max_parents=2, max_t=1), random_rules(make().names, seed)
    for rule, rules in (("", SearchRules()), (" limits", limits), (" knowledge", known)):
        for name, run in _searches_under(rules, make, seed).items():
            yield f"{place} {name}{rule}", partial(_without_recounts, run, place)


def _searches_under(
    rules: SearchRules, make: Callable[[], Any], seed: int
) -> dict[str, Callable[[], SearchResult]]:
    of_hills = replace(rules, max_t=None)
    kicks = KickRules(patience=20, candidates=5)

    def rng() -> np.random.Generator:
        return np.random.default_rng(seed)

    runs: dict[str, Callable[[], SearchResult]] = {
        "ges": lambda: ges(make(), rules),
        "turning": lambda: ges(make(), rules, turning=True, repeat=True),
        "xges0": lambda: xges0(make(), rules),
        "ties": lambda: xges0(make(), replace(rules, rng=rng())),
        "hc": lambda: hill_climbing(make(), of_hills, tabu=10),
        "restarts": lambda: hill_climbing(make(), replace(of_hills, rng=rng()), restarts=2),
        "boss": lambda: boss(make(), of_hills, rng=rng()),
        "ils": lambda: iterated_local_search(make(), rules, rng=rng(), kicks=kicks),
    }
    if make().n <= SMALL:
        runs["xges"] = lambda: xges(make(), rules)
    return runs


def _without_recounts(run: Callable[[], SearchResult], place: str) -> SearchResult:
    """A result without a count that depended on room: numba's searches looked at a row again when
    their record of operators grew, and a Gaussian score keeps no values."""
    found = run()
    if not place.startswith(("gaussian", "bge")):
        return found
    counters = {name: k for name, k in found.counters.items() if name != "sets counted"}
    return replace(found, counters=counters)


def random_rules(names: tuple[str, ...], seed: int) -> SearchRules:
    """A start, two tiers, and forbidden and required edges that contradict neither."""
    rng = np.random.default_rng([seed, 3])
    late = names[len(names) // 2 :]
    early = names[: len(names) // 2]
    start = DAG.empty(names)
    if not early:
        return SearchRules(start=start, knowledge=Knowledge())
    required = ((str(rng.choice(early)), str(rng.choice(late))),)
    forbidden = ((early[0], late[-1]), (late[0], early[-1]))
    return SearchRules(
        start=start,
        knowledge=Knowledge(
            required=required,
            forbidden=tuple(edge for edge in forbidden if edge not in required),
            tiers=(early[:3], late[:3]),
        ),
    )


def cases_of_graphs(place: str, dags: list[DAG]) -> Iterator[tuple[str, Case]]:
    """Every algorithm that begins at DAGs."""
    yield f"{place} fuse", partial(fuse, dags)
    yield f"{place} fuse ties", lambda: fuse(dags, rng=np.random.default_rng(0))
    for pooling in POOLINGS:
        path = partial(mcbnc_path, dags, pooling=pooling, k_max=4)
        yield f"{place} path {pooling}", partial(_then, path, path_to_dict)
        for reading in READINGS:
            choose = partial(select_consensus, reading=reading)
            yield f"{place} {reading} {pooling}", partial(_then, path, choose)


def _then(first: Case, second: Callable[[Any], Any]) -> Any:
    return second(first())


def text_of(value: Any) -> str:
    """All of a result in words: numbers to the last bit, arrays whole, sets in order."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, np.ndarray):
        return text_of([value.shape, value.ravel().tolist()])
    if isinstance(value, Mapping):
        return text_of(sorted(value.items()))
    if isinstance(value, list | tuple):
        return "[" + " ".join(map(text_of, value)) + "]"
    if isinstance(value, set | frozenset):
        return text_of(sorted(map(text_of, value)))
    if hasattr(value, "edges"):
        return text_of([value.names, value.edges])
    if hasattr(value, "mean_shd"):  # a state of a path: versions keep its graph in other ways
        told = value.theta, value.reading, value.pooling, value.dag, value.mean_smhd, value.mean_shd
        return text_of(told)
    if hasattr(value, "adjacency"):
        return text_of([value.names, value.adjacency])
    if hasattr(value, "__dataclass_fields__"):
        return text_of([getattr(value, name) for name in value.__dataclass_fields__])
    return repr(value)


def result_of(case: Case) -> str:
    """The text of a result, or of the error that the case ends with."""
    try:
        return text_of(case())
    except FedbnError as error:
        return f"{type(error).__name__}: {error}"


def compare(first: str, second: str) -> list[str]:
    """The names whose hashes differ, or that one file lacks."""
    with open(first, newline="") as one, open(second, newline="") as other:
        old, new = (dict(csv.reader(file)) for file in (one, other))
    return [name for name in old | new if old.get(name) != new.get(name)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the hashes, or what differs between two files of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=11, help="random tables and inputs")
    parser.add_argument("--networks", default="asia,child,alarm", help="names by commas, or none")
    parser.add_argument("--rows", default="500", help="rows of the networks' tables, by commas")
    parser.add_argument("--only", default="", help="a word in the names of the cases to run")
    parser.add_argument("--text", action="store_true", help="print results, not hashes")
    parser.add_argument("--compare", nargs=2, metavar="FILE", help="two outputs to compare")
    args = parser.parse_args(arguments)
    if args.compare:
        differing = compare(*args.compare)
        print(f"{len(differing)} cases differ", *differing, sep="\n")
        sys.exit(1 if differing else 0)
    networks = [name for name in args.networks.split(",") if name]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for name, case in cases(args.seeds, networks, [int(k) for k in args.rows.split(",")]):
        if args.only in name:
            text = result_of(case)
            writer.writerow((name, text if args.text else _hash(text)))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


if __name__ == "__main__":
    main()
