"""What ε buys in synthetic rows: how far their marginals are from the table's.

A table is sampled from a network, noisy counts of it give parameters to the network's structure, as
many rows are sampled from them, and the marginals of both are compared: total variation distance,
mean and largest over single variables, mean over all pairs of variables. "no noise" fits without
noise; "other rows" is another table from the same network, which nothing can be much nearer than.

    python -m simulations.benchmarks.synthetic_rows
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from random import Random

import numpy as np
import typer

from fedbn.arrays import Ints32
from fedbn.data.dataset import Dataset
from fedbn.networks.catalog import load_network
from fedbn.networks.fitting import fit_parameters
from fedbn.networks.network import BayesianNetwork
from fedbn.privacy.parameters import noisy_network
from fedbn.privacy.zcdp import rho_of

NETWORKS = ("asia", "child", "alarm")
ROWS = (1_000, 10_000)
EPSILONS = (0.1, 0.5, 1.0, 3.0, 10.0)
DELTA = 1e-6
DRAWS = 3


def marginal_errors(table: Dataset, synthetic: Dataset) -> tuple[float, float, float]:
    """Total variation distances of marginals: mean and largest of one variable, mean of pairs."""
    sizes, n = table.cardinalities.tolist(), table.n
    one = [_distance(table.codes[:, v], synthetic.codes[:, v], sizes[v]) for v in range(n)]
    two = []
    for v, w in combinations(range(n), 2):
        here, there = (t.codes[:, v] * sizes[w] + t.codes[:, w] for t in (table, synthetic))
        two.append(_distance(here, there, sizes[v] * sizes[w]))
    return float(np.mean(one)), max(one), float(np.mean(two))


def _distance(one: Ints32, other: Ints32, size: int) -> float:
    shares = [np.bincount(each, minlength=size) / len(each) for each in (one, other)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def compare(network: BayesianNetwork, rows: int, seed: int) -> dict[str, tuple[float, ...]]:
    """ε, or what stands in its place -> the errors of one draw."""
    rng = np.random.default_rng([seed, rows])
    table = network.sample(rows, rng)
    found: dict[str, tuple[float, ...]] = {}
    for epsilon in EPSILONS:
        rho, source = Fraction(rho_of(epsilon, DELTA)), Random(int(rng.integers(1 << 62)))
        noisy, _ = noisy_network(network.dag, table, rho=rho, source=source)
        found[f"{epsilon:g}"] = marginal_errors(table, noisy.sample(rows, rng))
    fitted = fit_parameters(network.dag, table)
    found["no noise"] = marginal_errors(table, fitted.sample(rows, rng))
    found["other rows"] = marginal_errors(table, network.sample(rows, rng))
    return found


def main() -> None:
    """Print a row of a Markdown table for every network, number of rows and ε."""
    print("| network | rows | ε | one variable, mean | one variable, largest | pairs, mean |")
    print("|---|---|---|---|---|---|")
    for name in NETWORKS:
        network = load_network(name)
        assert isinstance(network, BayesianNetwork)
        for rows in ROWS:
            draws = [compare(network, rows, seed) for seed in range(DRAWS)]
            for key in draws[0]:
                means = np.mean([draw[key] for draw in draws], axis=0)
                told = " | ".join(f"{mean:.3f}" for mean in means)
                print(f"| {name} | {rows:,} | {key} | {told} |", flush=True)


if __name__ == "__main__":
    typer.run(main)
