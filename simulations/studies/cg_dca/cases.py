"""The cases of the reproduction: which there are, and what one gives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.arrays import Bools
from fedbn.data.dataset import Dataset
from fedbn.errors import NetworkError
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.limits import status_of
from fedbn.networks.catalog import load_network
from fedbn.scores import TabulatedScore, make_score, total_score
from fedbn.search.cg_dca import learn_cg_dca
from fedbn.search.cg_dca.dca_pricing import ByName, DCAPricing, Pricing, RandomOrder
from fedbn.search.cg_dca.local_search import LocalSearch
from fedbn.search.cg_dca.start_points import Hybrid, Random, StartPoint, Warm
from fedbn.search.constraints import SearchRules
from fedbn.search.hill_climbing import hill_climbing
from fedbn.search.optimal import learn_optimal
from simulations.benchmarks.gaussian_instances import gaussian_instance, gaussian_test_network
from simulations.studies.cg_dca.kelley import Kelley
from simulations.studies.cg_dca.limited import PEERS, run_peer
from simulations.studies.cg_dca.minlp_pricing import MINLPPricing
from simulations.studies.cg_dca.ties import BestOfPermutations, GreedyOrder
from simulations.study_cases import study_settings

HERE = Path(__file__).parent
HYBRID = Hybrid()
Settings = dict[str, Any]
Case = dict[str, Any]


@dataclass(frozen=True)
class Learned:
    """A structure (bool [n, n] of its CPDAG or PDAG), its score and upper bound if it has them.

    `seconds` is given by what runs in a process of its own, where it came to an end.
    """

    adjacency: Bools | None
    score: float | None = None
    upper_bound: float | None = None
    status: str = ""
    seconds: float | None = None


Method = Callable[[Dataset, TabulatedScore, float | None, np.random.Generator], Learned]


def _cg(start: StartPoint = HYBRID, pricing: Pricing | None = None) -> Method:
    def run(
        data: Dataset, score: TabulatedScore, seconds: float | None, rng: np.random.Generator
    ) -> Learned:
        found = learn_cg_dca(score, start=start, pricing=pricing, seconds=seconds, rng=rng)
        return _of(
            found.dag, found.score, status=status_of(found.met) if found.met else found.status
        )

    return run


def _optimal(method: str) -> Method:
    def run(
        data: Dataset, score: TabulatedScore, seconds: float | None, rng: np.random.Generator
    ) -> Learned:
        found = learn_optimal(score, method, seconds=seconds, rng=rng)
        bound = found.upper_bound
        proven = bound is not None and np.isfinite(bound)
        return _of(found.dag, found.score, bound if proven else None, found.status)

    return run


def _hc(
    data: Dataset, score: TabulatedScore, seconds: float | None, rng: np.random.Generator
) -> Learned:
    found = hill_climbing(score, SearchRules(seconds=seconds))
    return _of(found.dag, found.score)


def _peer(name: str) -> Method:
    def run(
        data: Dataset, score: TabulatedScore, seconds: float | None, rng: np.random.Generator
    ) -> Learned:
        found = run_peer(name, data, seconds)
        return Learned(found.adjacency, status=found.status, seconds=found.seconds)

    return run


def _of(dag: DAG, score: float, upper_bound: float | None = None, status: str = "") -> Learned:
    return Learned(dag_to_cpdag(dag).adjacency, score, upper_bound, status)


METHODS: Mapping[str, Method] = {
    "cg-dca hybrid": _cg(),
    "cg-dca random": _cg(Random()),
    "cg-dca warm": _cg(Warm()),
    "cg-dca random ties": _cg(pricing=DCAPricing(ties=RandomOrder())),
    "cg-dca ties by name": _cg(pricing=DCAPricing(ties=ByName())),
    "cg-dca kelley": _cg(pricing=DCAPricing(Kelley())),
    "cg-dca permutations": _cg(pricing=DCAPricing(ties=BestOfPermutations())),
    "cg-dca greedy": _cg(pricing=DCAPricing(ties=GreedyOrder())),
    "cg local search": _cg(pricing=LocalSearch()),
    "cg-minlp": _cg(pricing=MINLPPricing()),
    "ordering": _optimal("ordering"),
    "optimal": _optimal("auto"),
    "hc": _hc,
    "pc": _peer("pc"),
    "mmhc": _peer("mmhc"),
}


def settings(smoke: bool = False) -> Settings:
    """experiment.toml; with `smoke` its smaller values."""
    return study_settings(HERE, smoke)


def cases(run: Settings, network_dir: Path | None = None) -> Iterator[Case]:
    """Every case, the cheap ones first; tables whose network is not there are left out."""
    test, gaussian, discrete = run["gaussian_test"], run["gaussian"], run["discrete"]
    for method in test["methods"]:
        yield {"part": "gaussian.test", "rows": test["rows"], "method": method}
    for n in gaussian["variables"]:
        for density in gaussian["densities"]:
            for instance in range(gaussian["instances"]):
                for rows in gaussian["rows"]:
                    for method in gaussian["methods"]:
                        yield {
                            "part": "gaussian", "n": n, "rows": rows, "d": density,
                            "instance": instance, "noise": gaussian["noise"], "method": method,
                        }  # fmt: skip
    for network, rows in discrete["tables"]:
        if _there(network, network_dir):
            for method in discrete["methods"]:
                often = discrete["repetitions"] if method in discrete["repeated"] else 1
                for repetition in range(1, often + 1):
                    yield {
                        "part": "discrete", "network": network, "rows": rows, "method": method,
                        "repetition": repetition,
                    }  # fmt: skip


def missing_networks(run: Settings, network_dir: Path | None = None) -> list[str]:
    """The tables' networks that are neither embedded nor in the folder."""
    wanted = [network for network, _ in run["discrete"]["tables"]]
    return [network for network in wanted if not _there(network, network_dir)]


def run_case(case: Case, run: Settings, network_dir: Path | None = None) -> dict[str, Any]:
    """Score, distance to the true structure and CPU seconds of one case."""
    truth, data = _instance(case, network_dir)
    name = "gaussian-bic" if data.kind == "gaussian" else "bic"
    limits = run["peers"] if case["method"] in PEERS else run.get(case["part"], {})
    score = make_score(name, data)
    began = time.process_time()
    rng = np.random.default_rng(case.get("repetition", 1))
    found = METHODS[case["method"]](data, score, limits.get("seconds"), rng)
    took = time.process_time() - began
    return {
        "seconds": found.seconds if case["method"] in PEERS else took,
        "score": found.score,
        "upper_bound": found.upper_bound,
        "status": found.status,
        "true_score": total_score(make_score(name, data), truth),
        **accuracy(found.adjacency, dag_to_cpdag(truth).adjacency),
    }


def accuracy(ours: Bools | None, truth: Bools) -> dict[str, Any]:
    """Precision and recall of the edges of a PDAG against a CPDAG, and SHD; None of no PDAG.

    An edge is right when both join the pair in the same way; SHD counts pairs joined differently.
    """
    if ours is None:
        return dict.fromkeys(("precision", "recall", "shd", "edges"))
    same = (ours == truth) & (ours == truth).T
    right, found, wanted = (_pairs(m) for m in (ours & same, ours, truth))
    return {
        "precision": right / found if found else 1.0,
        "recall": right / wanted if wanted else 1.0,
        "shd": _pairs(ours ^ truth),
        "edges": found,
    }


def _instance(case: Case, network_dir: Path | None) -> tuple[DAG, Dataset]:
    if case["part"] == "gaussian":
        return gaussian_instance(
            case["n"], case["d"], case["rows"], case["instance"], case["noise"]
        )
    if case["part"] == "gaussian.test":
        network: Any = gaussian_test_network()
    else:
        network = load_network(case["network"], network_dir)
    return network.dag, network.sample(case["rows"], np.random.default_rng(1))


def _there(network: str, network_dir: Path | None) -> bool:
    try:
        load_network(network, network_dir)
    except NetworkError:
        return False
    return True


def _pairs(adjacency: Bools) -> int:
    return int(np.triu(adjacency | adjacency.T).sum())
