"""CPU seconds of credible sets on sampled tables: scoring, the set, its classes, its posteriors.

Run `python -m simulations.benchmarks.credible [NETWORK ROWS BF]...`; each case prints one line,
after a first case that is not counted. Compare on a quiet machine: CPU time still depends on
what shares the caches.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from fedbn.credible.classes import markov_classes
from fedbn.credible.enumerate import credible_set
from fedbn.credible.pruning import candidate_sets
from fedbn.data.dataset import Dataset
from fedbn.networks.catalog import load_network

CASES = (("asia", 200, 20.0), ("asia", 1000, 150.0), ("child", 500, 20.0), ("alarm", 1000, 3.0))


def measure(network: str, rows: int, bayes_factor: float) -> str:
    """One line for one case."""
    data = load_network(network).sample(rows, np.random.default_rng(1))
    assert isinstance(data, Dataset)
    clock = [time.process_time()]
    candidates = candidate_sets(data, "bic", bayes_factor=bayes_factor)
    clock.append(time.process_time())
    found = credible_set(candidates, seconds=300.0)
    dags = found.count
    clock.append(time.process_time())
    classes = markov_classes(found).count
    clock.append(time.process_time())
    found.edge_posteriors.sum()
    clock.append(time.process_time())
    score, whole, by_class, posterior = np.diff(clock)
    sets = candidates.families.size
    return (
        f"{network} {rows} rows BF {bayes_factor:g}: {sets} parent sets, {dags} DAGs, "
        f"{classes} classes{'' if found.complete else ' (at least)'}; CPU s: scores {score:.3f}, "
        f"set {whole:.3f}, classes {by_class:.3f}, posteriors {posterior:.3f}"
    )


def main(arguments: list[str]) -> None:
    """Run the cases that are named, or the default ones."""
    triples = [arguments[k : k + 3] for k in range(0, len(arguments), 3)]
    cases = [(name, int(rows), float(bf)) for name, rows, bf in triples] or list(CASES)
    measure("asia", 100, 3.0)
    for case in cases:
        print(measure(*case), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
