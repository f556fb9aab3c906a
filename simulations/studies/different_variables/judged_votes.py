"""How near to the network are the default, its path alone, the edge vote, and what judges leave?

    python -m simulations.studies.different_variables.judged_votes andes --seeds 1 2

Sites lack variables as in the study of different variables, with its rows, GES and BDeu. For every
network, pattern and seed: SMHD to the network over all variables, and, in brackets, the mean SMHD
to the sites' own structures, by which a state is chosen.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fedbn.consensus.judged_vote import judged_vote
from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import poolings_of, prefer, select_among
from fedbn.consensus.threshold import select_consensus
from fedbn.consensus.votes import mean_smhd_by_votes, votes_of
from fedbn.fusion.baselines import edge_vote
from fedbn.fusion.inputs import merge_inputs
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.networks.catalog import load_network
from simulations.studies.different_variables.runs import own_structures


def rivals(own: Sequence[DAG], seconds: float) -> dict[str, DAG]:
    """Name -> its structure. A path that takes longer is cut short, and says so by its name."""
    paths = mcbnc_paths(own, poolings=poolings_of("best"), variables="union", seconds=seconds)
    cut = any(path.cut_short for path in paths)
    return {
        "default, cut short" if cut else "default": select_among(paths)[1].dag,
        "path": prefer(paths, select_consensus)[1].dag,
        "vote": edge_vote(own, threshold=0.5, variables="union"),
        "judged vote": judged_vote(own),
    }


def main() -> None:
    """Print a line for every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--patterns", nargs="+", default=["random-20"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--sites", type=int, default=10)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=600.0, help="of each default")
    given = parser.parse_args()
    for network in given.networks:
        truth = load_network(network).dag
        for seed in given.seeds:
            for pattern in given.patterns:
                case = {"network": network, "rows": given.rows, "sites": given.sites}
                case |= {"pattern": pattern, "blocks": 5, "seed": seed}
                own = own_structures(case)
                votes = votes_of(merge_inputs(own, None, "union"))
                told = []
                for name, dag in rivals(own, given.seconds).items():
                    near = float(mean_smhd_by_votes(dag.reorder(votes.names), votes))
                    told.append(f"{name} {smhd(dag.reorder(truth.names), truth)} ({near:.1f})")
                print(network, pattern, seed, "; ".join(told), sep=", ", flush=True)


if __name__ == "__main__":
    main()
