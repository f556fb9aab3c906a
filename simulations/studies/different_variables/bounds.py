"""What would the default need to be as near to the network as whole tables?

    python -m simulations.studies.different_variables.bounds alarm child --seeds 411 440

Ten sites lack variables as in the study of different variables, with its rows, GES and BDeu. Every
column is a mean SMHD to the network over all variables:

    whole k   the consensus of the first k sites, which lack nothing
    default   of sites that lack variables
    best      the nearest to the network of all states that the default chooses among: a bound, no
              rule
    marginal  the default, but each site sends a minimal I-map of the network over its own
              variables, under the network's order; and the best state of that
    more rows the default, but sites learn from 20 times the rows; and the best state of that
    beyond    default less 1.1 times whole 10, with the standard error of the mean over seeds
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import mean, stdev

from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import poolings_of, select_among
from fedbn.consensus.threshold import path_states
from fedbn.fusion.minimal_imap import marginal_imap
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.networks.catalog import load_network
from simulations.studies.different_variables.report import NEAR
from simulations.studies.different_variables.runs import own_structures, whole_structures

SITES, ROWS = 10, 5000
MORE = 20
WHOLE = (4, 5, 6, 8, SITES)


def distances(dags: Sequence[DAG], truth: DAG, seconds: float) -> tuple[int, int]:
    """SMHD to the network of the default's consensus, and of the nearest state that it chooses
    among."""
    paths = mcbnc_paths(dags, poolings=poolings_of("best"), variables="union", seconds=seconds)
    chosen = select_among(paths)[1].dag
    states = [state.dag for path in paths for state in path_states(path)]
    far = [smhd(dag.reorder(truth.names), truth) for dag in [chosen, *states]]
    return far[0], min(far)


def run_seed(network: str, pattern: str, seed: int, seconds: float) -> dict[str, float]:
    """Name of a column -> its SMHD."""
    truth = load_network(network).dag
    truth = truth.reorder(sorted(truth.names))
    case = {"network": network, "rows": ROWS, "sites": SITES, "seed": seed}
    whole = whole_structures(case)
    found: dict[str, float] = {f"whole {k}": distances(whole[:k], truth, seconds)[0] for k in WHOLE}
    own = own_structures(case | {"pattern": pattern, "blocks": 5})
    found["default"], found["best"] = distances(own, truth, seconds)
    right = [marginal_imap(truth, dag.names) for dag in own]
    found["marginal"], found["its best"] = distances(right, truth, seconds)
    more = own_structures(case | {"pattern": pattern, "blocks": 5}, MORE * ROWS)
    found["more rows"], found["their best"] = distances(more, truth, seconds)
    found["beyond"] = found["default"] - NEAR * found[f"whole {SITES}"]
    return found


def main() -> None:
    """Print a line for every network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--seeds", nargs=2, type=int, default=(1, 2), help="first and last")
    parser.add_argument("--pattern", default="random-20")
    parser.add_argument("--seconds", type=float, default=600.0, help="of each path")
    given = parser.parse_args()
    first, last = given.seeds
    for network in given.networks:
        rows = [
            run_seed(network, given.pattern, seed, given.seconds) for seed in range(first, last + 1)
        ]
        told = [f"{name} {mean(row[name] for row in rows):.1f}" for name in rows[0]]
        error = stdev(row["beyond"] for row in rows) / len(rows) ** 0.5
        print(network, f"{len(rows)} seeds", *told, sep=", ", end=f" +- {error:.1f}\n", flush=True)


if __name__ == "__main__":
    main()
