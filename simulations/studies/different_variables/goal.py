"""Is the default as near to the network as the goal says?

    python -m simulations.studies.different_variables.goal alarm child --seeds 701 730

Sites lack variables as in the study of different variables, with its rows, GES and BDeu. For every
network the mean SMHD to it, over all variables, of the study's rules and of

    first     by what pairs are judged: the path's state that is nearest to all sites, or the judged
              vote where it is nearer by more than 5 %. It was the default before judges of pairs
              chose

and how much nearer the default is than that, with the standard error of the mean over seeds. The
goal is that the default is at most at the vote and at pair judges, and within a tenth of whole
tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import mean, stdev

from fedbn.consensus.judged_vote import judged_vote_of
from fedbn.consensus.mcbnc import mcbnc_path, mcbnc_paths
from fedbn.consensus.pooling import NEARER, poolings_of, prefer, select_among
from fedbn.consensus.threshold import select_consensus
from fedbn.consensus.votes import mean_smhd_by_votes, votes_of
from fedbn.fusion.baselines import edge_vote
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.networks.catalog import load_network
from simulations.studies.different_variables.report import NEAR
from simulations.studies.different_variables.runs import own_structures, whole_structures


def rivals(own: Sequence[DAG], whole: Sequence[DAG], seconds: float) -> dict[str, DAG]:
    """Name of a column -> its structure."""
    best = poolings_of("best")
    of_whole = mcbnc_paths(whole, poolings=best, seconds=seconds)
    paths = mcbnc_paths(own, poolings=best, variables="union", seconds=seconds)
    pair = mcbnc_path(own, variables="union", min_judges=len(own), seconds=seconds)
    path, first = prefer(paths, select_consensus)
    judged, votes = judged_vote_of(path.inputs), votes_of(path.inputs)
    is_nearer = judged and mean_smhd_by_votes(judged, votes) < NEARER * first.mean_smhd
    return {
        "whole": select_among(of_whole)[1].dag,
        "vote": edge_vote(own, threshold=0.5, variables="union"),
        "pair": select_consensus(pair, "search").dag,
        "first": judged if judged and is_nearer else first.dag,
        "default": select_among(paths)[1].dag,
    }


def main() -> None:
    """Print a line for every network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--seeds", nargs=2, type=int, default=(1, 2), help="first and last")
    parser.add_argument("--pattern", default="random-20")
    parser.add_argument("--sites", type=int, default=10)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=600.0, help="of each path")
    given = parser.parse_args()
    first, last = given.seeds
    for network in given.networks:
        truth = load_network(network).dag
        found: dict[str, list[int]] = {}
        for seed in range(first, last + 1):
            case = {"network": network, "rows": given.rows, "sites": given.sites, "seed": seed}
            case |= {"pattern": given.pattern, "blocks": 5}
            own, whole = own_structures(case), whole_structures(case)
            for name, dag in rivals(own, whole, given.seconds).items():
                found.setdefault(name, []).append(smhd(dag.reorder(truth.names), truth))
        means = {name: mean(of) for name, of in found.items()}
        nearer = [a - b for a, b in zip(found["first"], found["default"], strict=True)]
        limits = {"whole": NEAR * means["whole"], "vote": means["vote"], "pair": means["pair"]}
        missed = [name for name, limit in limits.items() if means["default"] > limit]
        told = [f"{name} {value:.2f}" for name, value in means.items()]
        error = stdev(nearer) / len(nearer) ** 0.5
        told += [f"nearer {mean(nearer):.2f} +- {error:.2f}", f"missed: {', '.join(missed) or '-'}"]
        print(network, f"{len(nearer)} seeds", *told, sep=", ", flush=True)


if __name__ == "__main__":
    main()
