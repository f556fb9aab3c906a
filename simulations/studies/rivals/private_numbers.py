"""Private structures of tables of numbers: dp-moments against DP-Fed-Sparse-BNSL, rebuilt.

    python -m simulations.studies.rivals.private_numbers --output results/rivals/private

Erdős-Rényi networks of as many edges as nodes, coefficients ±U(0.5, 2), Gaussian noise of variance
1 at every node (NOTEARS's ground: with equal variances directions can be known beyond the class),
rows divided evenly among the sites. ε is per row, added or removed, at δ 1e-5; bounds are ±5 of a
column's standard deviations. F1 is of the edges of classes, as `fedbn compare` has it, of the
skeleton, and of arcs, at which a program that knows the class alone guesses.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import fedbn as fb
from fedbn.arrays import Bools, Floats
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import precision_recall_f1
from fedbn.graphs.pdag import consistent_extension
from fedbn.graphs.random import random_dag
from fedbn.networks.random import node_names, random_linear_gaussian_network
from fedbn.privacy.bounds import Bounds
from fedbn.privacy.number_moments import dp_number_moments, number_class
from fedbn.privacy.releases import PrivateReleaser
from fedbn.privacy.zcdp import rho_of
from simulations.benchmarks.arguments import counts
from simulations.studies.rivals.records import Row, mean_of, run_race, write_table
from simulations.studies.rivals.sparse_bnsl import SparseRules, learn_sparsely

DELTA = 1e-5
EPSILONS = (0.5, 1.0, 3.0)
DEVIATIONS = 5
PARENTS = 4
SIZES = ((10, 1), (10, 10), (20, 1), (20, 10))
ROWS = (5_000, 20_000)


class SummingReleaser(PrivateReleaser):
    """Sums over all sites, each of which added noise of its own: measured, not offered by fedbn.

    A row is at one site, so that what a site pays is what the run costs per row.
    """

    def __init__(self, rho: Fraction, source: Random, sites: int) -> None:
        super().__init__(rho, source)
        self._sites = sites

    def variance_of(self, squared_sensitivity: int, share: Fraction) -> int:
        """σ² of all sites' noise together."""
        return self._sites * super().variance_of(squared_sensitivity, share)


def main() -> None:
    """Run the cases that have no rows, and print the means."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=counts, default=[5311, 5312, 5313])
    parser.add_argument("--minutes", type=float, default=None, help="CPU minutes; begin no more")
    parser.add_argument("--output", type=Path, default=Path("results/rivals/private"))
    given = parser.parse_args()
    cases = [
        {"nodes": nodes, "sites": sites, "rows": rows, "seed": number}
        for rows in ROWS
        for number in given.seeds
        for nodes, sites in SIZES
    ]
    _print(run_race(cases, run_ways, given.output / "private.jsonl", given.minutes))


def run_ways(case: Mapping[str, Any]) -> Iterator[Row]:
    """F1 of every way at every ε, and without noise."""
    n, parties = case["nodes"], case["sites"]
    rng = np.random.default_rng([case["seed"], n, parties, case["rows"]])
    truth = random_dag(node_names(n), rng=rng, edges=n)
    network = random_linear_gaussian_network(truth, rng=rng, noise=(1.0, 1.0))
    table = network.sample(case["rows"], rng)
    deviations = table.values.std(axis=0)
    bounds = Bounds(-DEVIATIONS * deviations, DEVIATIONS * deviations)
    scaled = (table.values - table.values.mean(axis=0)) / deviations
    parts = scaled.reshape(parties, -1, n)
    plain = fb.learn(table, learner="ges").dag
    yield {"way": "GES on all rows, no noise", "epsilon": None, **_accuracy(plain, truth)}
    bare = _sparse(parts, None, rng)
    yield {"way": "Sparse-BNSL, no noise", "epsilon": None, **_accuracy(bare, truth)}
    for epsilon in EPSILONS:
        rho = rho_of(epsilon, DELTA)
        source = Random(int(rng.integers(1 << 62)))
        ways = {
            "dp-moments": _moments(table, parties, bounds, rho, source),
            "measured: noisy sums added up": _sums(table, parties, bounds, rho, source),
            "DP-Fed-Sparse-BNSL": _sparse(parts, rho, rng),
        }
        for way, dag in ways.items():
            yield {"way": way, "epsilon": epsilon, **_accuracy(dag, truth)}


def _moments(table: Dataset, sites: int, bounds: Bounds, rho: float, source: Random) -> DAG:
    """The consensus of the sites' private structures."""
    structures = []
    for rows in np.split(table.values, sites):
        part = Dataset(Schema.gaussian(table.names), rows)
        structures.append(dp_number_moments(part, bounds, rho=Fraction(rho), source=source)[0])
    return structures[0] if sites == 1 else fb.fuse(structures).dag


def _sums(table: Dataset, sites: int, bounds: Bounds, rho: float, source: Random) -> DAG:
    releaser = SummingReleaser(Fraction(rho), source, sites)
    return consistent_extension(number_class(table, bounds, releaser, PARENTS))


def _sparse(parts: Floats, rho: float | None, rng: np.random.Generator) -> DAG:
    return DAG(node_names(parts.shape[2]), learn_sparsely(parts, rho, rng, SparseRules()))


def _accuracy(dag: DAG, truth: DAG) -> Row:
    dag = dag.reorder(truth.names)
    found, wanted = dag.adjacency, truth.adjacency
    return {
        "f1": precision_recall_f1(dag, truth).f1,
        "f1_skeleton": _f1(found | found.T, wanted | wanted.T),
        "f1_arcs": _f1(found, wanted),
    }


def _f1(found: Bools, wanted: Bools) -> float:
    return float(2 * (found & wanted).sum() / max(1, found.sum() + wanted.sum()))


def _print(rows: list[Row]) -> None:
    lines = []
    for size in ROWS:
        for nodes, sites in SIZES:
            at = {"nodes": nodes, "sites": sites, "rows": size}
            own = [r for r in rows if all(r["case"][k] == v for k, v in at.items())]
            for way in dict.fromkeys(row["way"] for row in own):
                cells = []
                for epsilon in (*EPSILONS, None):
                    found = [r for r in own if r["way"] == way and r["epsilon"] == epsilon]
                    keys = ("f1", "f1_skeleton", "f1_arcs")
                    words = ", ".join(f"{mean_of(found, key):.2f}" for key in keys)
                    cells.append(words if found else "–")
                lines.append([f"{size:,}", nodes, sites, way, *cells])
    heads = ("rows", "nodes", "sites", "way", *(f"ε {e:g}" for e in EPSILONS), "no noise")
    write_table(heads, lines)


if __name__ == "__main__":
    main()
