"""How often alike sites are said to stand alone, and how often a changed one is.

    python -m simulations.benchmarks.lone_sites sachs water hepar2 --federations 12

Ten sites sample one network, 1,000 rows each, or 200 to 5,000 with logarithms drawn uniformly, and
learn by GES. A site is changed by ten edges of its structure. One line for each network and choice
of rows: federations, those in which a site stands alone, and those in which the changed one does.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fedbn.graphs.dag import DAG
from fedbn.graphs.random import perturb
from fedbn.groups.outliers import outliers_of
from fedbn.groups.profiles import SiteStructures, profiles_of
from fedbn.groups.tree import tree_of
from fedbn.networks.catalog import load_network
from fedbn.scores import make_score
from fedbn.search.ges import ges

SITES, EDGES, CHANGED = 10, 10, 3
EQUAL, LEAST, MOST = 1_000, 200, 5_000


def alone(dags: Sequence[DAG], rows: Sequence[int]) -> tuple[int, ...]:
    """The sites that stand alone, all in one group."""
    sites = [
        SiteStructures(f"{i}", (dag,), (Fraction(1),), r)
        for i, (dag, r) in enumerate(zip(dags, rows, strict=True))
    ]
    return outliers_of(tree_of(profiles_of(sites)), (0,) * len(sites))


def federation(network: str, unequal: bool, seed: int) -> tuple[bool, bool]:
    """Whether a site stands alone among alike ones, and whether the changed one does."""
    rng = np.random.default_rng([99, seed, len(network)])
    logs = rng.uniform(np.log(LEAST), np.log(MOST), SITES)
    rows = [int(np.exp(each)) if unequal else EQUAL for each in logs]
    source = load_network(network)
    dags = [ges(make_score("bdeu", source.sample(r, rng))).dag for r in rows]
    changed = list(dags)
    changed[CHANGED] = perturb(dags[CHANGED], EDGES, rng=rng)
    return bool(alone(dags, rows)), CHANGED in alone(changed, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every network with both choices of rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--federations", type=int, default=12)
    options = parser.parse_args(arguments)
    for network in options.networks:
        for unequal in (False, True):
            found = [federation(network, unequal, seed) for seed in range(options.federations)]
            alarms, hits = (sum(column) for column in zip(*found, strict=True))
            rows = f"{LEAST} to {MOST:,} rows" if unequal else f"{EQUAL:,} rows"
            print(f"{network}, {rows}: {len(found)} federations, {alarms}, {hits}", flush=True)


if __name__ == "__main__":
    main()
