"""Does GES return the true equivalence class when there are very many rows?

    python -m simulations.benchmarks.recovery --score bdeu --runs 200 --output results/recovery
    python -m simulations.benchmarks.recovery --score gaussian-bic --runs 200

Every run draws a network of 8 to 10 nodes with 1.3 edges a node: two or three states and rows
from Dirichlet(1), drawn again for a node until the mutual information with each of its parents is
at least 0.01 nats; or linear equations with coefficients of absolute value 0.3 to 1 and noise of
variance 1. With a million rows GES should find its class (Chickering 2002, theorem 4 is about the
limit). Where it does not, the row compares its score with the truth's: one at least as good means
that the rows ask for another class, a lower one that the search ended in a local optimum; then the
row says whether turning with repetition, XGES-0 or XGES gets further. `denied_nats` is what the
class found costs in truth: rows × the divergence of the true distribution from the nearest one of
that class. Below `penalty_nats`, what BIC takes for one parameter, so many rows cannot tell. For
linear equations `enough_rows` is the least of 1, 10, 100 times as many rows with which GES finds
the class where no chance is left: from the true covariance matrix. One JSON line a run is appended
to `--output`/rows.jsonl; runs in the file are not made again. What came out, and why, is in
docs/decisions/006-ges-stays-forward-and-backward.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.arrays import Floats
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.graphs.random import random_dag
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.random import (
    node_names,
    random_bayesian_network,
    random_linear_gaussian_network,
)
from fedbn.scores import SCORES, make_score, total_score
from fedbn.scores.gaussian import gaussian_from_covariance
from fedbn.search.constraints import SearchRules
from fedbn.search.ges import ges
from fedbn.search.xges import xges, xges0
from simulations.benchmarks.arguments import count, parser_of, seed
from simulations.progress import progress_bars
from simulations.study import Study, show_on

EDGES_PER_NODE = 1.3
MIN_INFORMATION = 0.01
"""Nats between the ends of every edge of a categorical network."""
COEFFICIENTS = (0.3, 1.0)
_EQUAL = 1e-9
_DRAWS = 10_000


def joint_distribution(network: BayesianNetwork) -> Floats:
    """P of all variables, one axis each; for few variables."""
    sizes = network.schema.cardinalities
    joint = np.ones(tuple(sizes))
    for node in range(network.dag.n):
        family = [*network.dag.parents(node), node]
        table = network.cpts[node].reshape(tuple(sizes[family]))
        axes = np.argsort(family)
        shape = [int(sizes[v]) if v in family else 1 for v in range(network.dag.n)]
        joint = joint * table.transpose(axes).reshape(shape)
    return joint


def mutual_information(joint: Floats, x: int, y: int) -> float:
    """I(x; y) in nats."""
    others = tuple(v for v in range(joint.ndim) if v not in (x, y))
    both = joint.sum(axis=others)
    apart = both.sum(axis=1, keepdims=True) * both.sum(axis=0, keepdims=True)
    some = both > 0
    return float((both[some] * np.log(both[some] / apart[some])).sum())


def divergence(network: BayesianNetwork | LinearGaussianNetwork, dag: DAG) -> float:
    """Nats per row between the network's distribution and the nearest one that factorises by
    `dag`: Σ_y [H(y, Pa(y)) - H(Pa(y))] - H(all)."""
    n = network.dag.n
    families = enumerate(dag.parent_sets())
    if isinstance(network, LinearGaussianNetwork):
        covariance = covariance_matrix(network)

        def entropy(members: list[int]) -> float:  # but for terms that cancel
            return 0.5 * float(np.linalg.slogdet(covariance[np.ix_(members, members)])[1])
    else:
        joint = joint_distribution(network)

        def entropy(members: list[int]) -> float:
            marginal = joint.sum(axis=tuple(v for v in range(n) if v not in members))
            some = marginal[marginal > 0]
            return -float((some * np.log(some)).sum())

    return sum(entropy([y, *P]) - entropy(list(P)) for y, P in families) - entropy(list(range(n)))


def covariance_matrix(network: LinearGaussianNetwork) -> Floats:
    """Σ of the equations x = Bᵀ x + e."""
    effects = np.linalg.inv(np.eye(network.dag.n) - network.coefficients.T)
    found: Floats = effects @ np.diag(network.standard_deviations**2) @ effects.T
    return found


def weakest_edge(network: BayesianNetwork, children: list[int]) -> float:
    """The least mutual information between the ends of an edge into one of `children`."""
    joint = joint_distribution(network)
    return min(
        (mutual_information(joint, p, y) for y in children for p in network.dag.parents(y)),
        default=np.inf,
    )


def strong_bayesian_network(dag: DAG, rng: np.random.Generator) -> BayesianNetwork:
    """Two or three states, Dirichlet(1) rows; a node's table is drawn again until its edges are
    strong enough. A whole new network is begun where that does not happen."""
    for _ in range(_DRAWS):
        network = random_bayesian_network(dag, rng=rng, states=(2, 3))
        for node in dag.topological_order():
            for _ in range(100):
                if weakest_edge(network, [node]) >= MIN_INFORMATION:
                    break
                cpts = list(network.cpts)
                cpts[node] = rng.dirichlet(np.ones(cpts[node].shape[1]), size=len(cpts[node]))
                network = BayesianNetwork(network.dag, network.schema, tuple(cpts))
        if weakest_edge(network, list(range(dag.n))) >= MIN_INFORMATION:
            return network
    raise RuntimeError("no network with strong edges found")


def drawn_network(
    kind: str, rng: np.random.Generator
) -> tuple[BayesianNetwork | LinearGaussianNetwork, float]:
    """A network of the benchmark, and its weakest edge: the least mutual information between the
    ends of one, or the least absolute coefficient."""
    n = int(rng.integers(8, 11))
    dag = random_dag(node_names(n), edges=int(EDGES_PER_NODE * n), rng=rng)
    if kind == "gaussian":
        equations = random_linear_gaussian_network(
            dag, rng=rng, coefficients=COEFFICIENTS, noise=(1.0, 1.0)
        )
        weights = np.abs(equations.coefficients)
        return equations, float(weights[weights > 0].min())
    network = strong_bayesian_network(dag, rng)
    return network, weakest_edge(network, list(range(n)))


def one_run(case: Mapping[str, Any]) -> dict[str, Any]:
    """Draw a network, sample, search, compare; the case has score, seed, rows and run."""
    score_name, rows = case["score"], case["rows"]
    rng = np.random.default_rng([case["seed"], case["run"]])
    network, weakest = drawn_network(SCORES[score_name].kind, rng)
    dag = network.dag
    score = make_score(score_name, network.sample(rows, rng))
    truth, found = total_score(score, dag), ges(score)
    row: dict[str, Any] = {
        "nodes": dag.n,
        "edges": dag.n_edges,
        "weakest_edge": weakest,
        "recovered": found.cpdag == dag_to_cpdag(dag),
        "found_minus_truth": found.score - truth,
    }
    if not row["recovered"]:
        further = {
            "turning_repeat": ges(score, turning=True, repeat=True),
            "xges0": xges0(score),
            "xges": xges(score),
            "from_truth": ges(score, SearchRules(start=dag)),
        }
        for name, result in further.items():
            row[f"{name}_recovered"] = result.cpdag == dag_to_cpdag(dag)
            row[f"{name}_minus_truth"] = result.score - truth
        row["denied_nats"] = rows * divergence(network, found.dag)
        row["penalty_nats"] = 0.5 * np.log(rows)
        row["enough_rows"] = enough_rows(network, rows)
        row["local_optimum"] = found.score < truth - _EQUAL * abs(truth)
    return row


def enough_rows(network: BayesianNetwork | LinearGaussianNetwork, rows: int) -> int | None:
    """The first of 1, 10 and 100 times `rows` for which GES, given the true covariance, returns the
    true class; None if none does, or the network is categorical."""
    if isinstance(network, BayesianNetwork):
        return None
    covariance, truth = covariance_matrix(network), dag_to_cpdag(network.dag)
    for number in (rows, 10 * rows, 100 * rows):
        score = gaussian_from_covariance(network.dag.names, covariance, number)
        if ges(score).cpdag == truth:
            return number
    return None


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    """What the runs show, in lines of text."""
    misses = [row for row in rows if not row["recovered"]]
    local = [row for row in misses if row["local_optimum"]]
    lines = [
        f"{len(rows) - len(misses)} of {len(rows)} classes recovered "
        f"({100 * (1 - len(misses) / len(rows)):.1f} %)",
        f"{len(misses) - len(local)} misses score at least as well as the truth, "
        f"{len(local)} are local optima below it",
        f"{sum(row['denied_nats'] < row['penalty_nats'] for row in misses)} of the {len(misses)} "
        "misses deny less than one parameter costs",
    ]
    for option in ("turning_repeat", "xges0"):
        helped = sum(row[f"{option}_recovered"] for row in misses)
        lines.append(f"{option} recovers {helped} of the {len(misses)} misses")
    for row in misses:
        lines.append(
            f"  run {row['run']}: {row['found_minus_truth']:+.2f} nats against the truth, "
            f"turning {row['turning_repeat_minus_truth']:+.2f}, "
            f"xges0 {row['xges0_minus_truth']:+.2f}; "
            f"denies {row['denied_nats']:.2f} nats, one parameter costs {row['penalty_nats']:.2f}"
            f"; enough rows: {row['enough_rows'] or 'not found'}"
        )
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = parser_of("recovery", __doc__)
    made.add_argument("--score", choices=tuple(SCORES), default="bdeu")
    made.add_argument("--runs", type=count, default=200)
    made.add_argument("--rows", type=count, default=1_000_000)
    made.add_argument("--seed", type=seed, default=1)
    made.add_argument("--output", type=Path, default=Path("results/recovery"))
    return made


def main(arguments: list[str] | None = None) -> None:
    """Make the runs that are missing, print the summary."""
    options = parser().parse_args(arguments)
    cases = [
        {"score": options.score, "seed": options.seed, "rows": options.rows, "run": run}
        for run in range(options.runs)
    ]
    study = Study(options.output)
    with progress_bars(True) as tracker:
        rows = study.collect(cases, one_run, show_on(tracker(options.score)))
    print(summary(rows))
    print(f"written to {study.path}")


if __name__ == "__main__":
    main()
