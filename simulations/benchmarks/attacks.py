"""What hostile sites can do to a consensus: its drift, and what the fusion costs.

    python -m simulations.benchmarks.attacks
    python -m simulations.benchmarks.attacks --networks alarm --sites 4,6,11,14 --hostile 1,2,3,4

Honest sites learn by GES (BDeu), each from rows of its own. Hostile ones know the consensus of the
honest and the limits of the server, and collude: all send the same, except for `many-dags`.

    densest      as many parents as a message may have, 16, under the reverse of the honest order
    order        as many edges as pass the server's door, under that order: what G+ grows most by
    wrong-edges  the honest consensus without half of its edges, with as many others, in that order
    weight       as `order`, with a weight of 1e300
    many-dags    20 structures with the pairs of `order`, each directed by an order of its own

    search       with --search TRIES: the worst that a search through the true server finds
                 (`simulations.benchmarks.attack_search`), from the honest consensus, `wrong-edges`
                 and `order`, and near the honest consensus; hostile sites are then part of --sites.
                 With --sums the consensus is that of secure sums, which see no site to be far

With --lacking each honest site learns without so large a share of the variables, at random, and the
hostile sites have all of them; a search then begins at the empty structure, too.

Everything goes through `server_round` with its default settings. Drift is the SMHD from the honest
consensus; seconds are CPU, the least of three runs; ratio is that to the honest fusion.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

from fedbn.consensus.far_inputs import TIMES as TIMES_AS_FAR
from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import prefer
from fedbn.consensus.remarks import remarks
from fedbn.consensus.threshold import select_consensus
from fedbn.data.schema import Schema
from fedbn.errors import FedbnError
from fedbn.federation.density import PAIRS_PER_VARIABLE
from fedbn.federation.reply_limits import Limits
from fedbn.federation.rounds import server_round
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, FederationResult, ServerState
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import induced_smhd, smhd
from simulations.benchmarks.arguments import count, counts, parser_of, seed, share
from simulations.benchmarks.attack_search import search_attack
from simulations.benchmarks.consensus.inputs import learn

TIMES = 3


@dataclass(frozen=True)
class Row:
    """One attack; `warned`: whether the result says that something is wrong with an input.

    With sums that is not looked at; times, refusals and the pooling are those of the open run.
    """

    network: str
    honest: int
    hostile: int
    attack: str
    refused: int
    honest_edges: int
    edges: int
    drift: int
    pooling: str
    warned: bool
    honest_seconds: float
    seconds: float
    ratio: float


@dataclass(frozen=True)
class Target:
    """What the hostile sites know: the honest consensus and how many edges pass the door."""

    consensus: DAG
    edges: int
    rng: np.random.Generator

    @property
    def n(self) -> int:
        """How many variables there are."""
        return self.consensus.n


def under_order(names: tuple[str, ...], order: Sequence[int], edges: int, in_degree: int) -> DAG:
    """So many edges, every node from those next before it in `order`, evenly."""
    matrix = np.zeros((len(names), len(names)), dtype=bool)
    left = edges
    for distance in range(1, in_degree + 1):
        for place in range(distance, len(order)):
            if left > 0:
                matrix[order[place - distance], order[place]] = True
                left -= 1
    return DAG(names, matrix)


def reverse_order(dag: DAG) -> list[int]:
    """The reverse of a topological order."""
    return list(dag.topological_order())[::-1]


def densest(target: Target) -> list[DAG]:
    dag, limits = target.consensus, Limits()
    return [under_order(dag.names, reverse_order(dag), limits.max_edges, limits.max_in_degree)]


def adversarial_order(target: Target) -> list[DAG]:
    dag = target.consensus
    return [under_order(dag.names, reverse_order(dag), target.edges, Limits().max_in_degree)]


def wrong_edges(target: Target) -> list[DAG]:
    dag = target.consensus
    order = reverse_order(dag)
    kept = dag.adjacency & (target.rng.random(dag.adjacency.shape) < 0.5)
    matrix = kept.T.copy()
    taken = dag.adjacency | dag.adjacency.T
    free = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :] if not taken[a, b]]
    chosen = target.rng.permutation(len(free))[: dag.n_edges - int(kept.sum())]
    for k in chosen:
        matrix[free[k]] = True
    return [DAG(dag.names, matrix)]


def many_dags(target: Target) -> list[DAG]:
    (one,) = adversarial_order(target)
    joined = one.adjacency | one.adjacency.T
    found = []
    for _ in range(Limits().max_dags):
        place = target.rng.permutation(one.n)
        found.append(DAG(one.names, joined & (place[:, None] < place[None, :])))
    return found


ATTACKS: dict[str, tuple[Callable[[Target], list[DAG]], float]] = {
    "densest": (densest, 1.0),
    "order": (adversarial_order, 1.0),
    "wrong-edges": (wrong_edges, 1.0),
    "weight": (adversarial_order, 1e300),
    "many-dags": (many_dags, 1.0),
}
"""Name -> what one hostile site sends, and the weight of each of its DAGs."""


def fuse(replies: Sequence[ClientReply]) -> tuple[FederationResult, float]:
    """The round with the default settings, and the least CPU seconds of it."""
    min_seconds = float("inf")
    for _ in range(TIMES):
        began = time.process_time()
        result = fuse_once(replies)
        min_seconds = min(min_seconds, time.process_time() - began)
        if min_seconds > 1:
            break
    return result, min_seconds


def fuse_once(replies: Sequence[ClientReply]) -> FederationResult:
    """The round with the default settings."""
    sets = [reply.dags[0].names for reply in replies]
    names = sorted(set().union(*sets))
    schema = Schema.categorical(dict.fromkeys(names, ("0", "1")))
    settings = ConsensusSettings(variables="union" if _lack_some(sets) else "same")
    return server_round(ServerState(schema, len(replies)), replies, [], settings).fused


def _lack_some(sets: Sequence[tuple[str, ...]]) -> bool:
    return len(set(sets)) > 1


def attack(
    network: str, dags: Sequence[DAG], hostile: int, attacks: Sequence[str], seed: int
) -> Iterator[Row]:
    """One row per attack of `hostile` sites on the honest sites that send `dags`."""
    honest = [ClientReply(f"honest {i:02}", (dag,), (1.0,), "ok") for i, dag in enumerate(dags)]
    before, honest_seconds = fuse(honest)
    consensus = before.consensus.dag
    edges = _edges_at_the_door(dags, consensus.n)
    for name in attacks:
        make, weight = ATTACKS[name]
        rng = np.random.default_rng(seed)
        same = make(Target(consensus, edges, rng))
        replies = list(honest)
        for i in range(hostile):
            sent = make(Target(consensus, edges, rng)) if name == "many-dags" else same
            replies.append(ClientReply(f"site {i}", tuple(sent), (weight,) * len(sent), "ok"))
        result, seconds = fuse(replies)
        yield Row(
            network=network,
            honest=len(dags),
            hostile=hostile,
            attack=name,
            refused=len(result.refused),
            honest_edges=consensus.n_edges,
            edges=result.consensus.dag.n_edges,
            drift=smhd(consensus, result.consensus.dag),
            pooling=result.consensus.pooling,
            warned=_is_warned(result),
            honest_seconds=round(honest_seconds, 4),
            seconds=round(seconds, 4),
            ratio=round(seconds / honest_seconds, 1),
        )


def consensus_of(replies: Sequence[ClientReply], *, sums: bool) -> DAG:
    """Of the round with the default settings; what secure sums find is a state of the paths."""
    if not sums:
        return fuse_once(replies).consensus.dag
    dags = [dag for reply in replies for dag in reply.dags]
    return prefer(mcbnc_paths(dags), select_consensus)[1].dag


def search_structure(
    network: str, dags: Sequence[DAG], hostile: int, tries: int, seed: int, *, sums: bool = False
) -> Row:
    """The worst attack of `hostile` sites that a search finds, on honest sites that send `dags`."""
    honest = [ClientReply(f"honest {i:02}", (dag,), (1.0,), "ok") for i, dag in enumerate(dags)]
    _, honest_seconds = fuse(honest)
    consensus, rng = consensus_of(honest, sums=sums), np.random.default_rng([seed, hostile])
    target = Target(consensus, _edges_at_the_door(dags, consensus.n), rng)

    def with_hostile(dag: DAG) -> list[ClientReply]:
        sent = [ClientReply(f"site {i}", (dag,), (1.0,), "ok") for i in range(hostile)]
        return [*honest, *sent]

    def consensus_with(dag: DAG) -> DAG:
        return consensus_of(with_hostile(dag), sums=sums)

    starts = [consensus, *wrong_edges(target), *adversarial_order(target)]
    if _lack_some([dag.names for dag in dags]):
        starts.append(DAG.empty(consensus.names))
    usual = statistics.median_low(induced_smhd(consensus, dag) for dag in dags)
    found = max(
        (
            search_attack(
                some,
                consensus_with,
                consensus,
                rng,
                tries=tries // 2,
                max_edges=target.edges,
                within=within,
            )
            for some, within in ((starts, None), (starts[:1], max(TIMES_AS_FAR * usual, target.n)))
        ),
        key=lambda each: each.drift,
    )
    result, seconds = fuse(with_hostile(found.dag))
    return Row(
        network=network,
        honest=len(dags),
        hostile=hostile,
        attack="search of sums" if sums else "search",
        refused=len(result.refused),
        honest_edges=consensus.n_edges,
        edges=consensus_with(found.dag).n_edges,
        drift=found.drift,
        pooling=result.consensus.pooling,
        warned=not sums and _is_warned(result),
        honest_seconds=round(honest_seconds, 4),
        seconds=round(seconds, 4),
        ratio=round(seconds / honest_seconds, 1),
    )


def _is_warned(result: FederationResult) -> bool:
    said = (*remarks(result.path, result.consensus), *run_remarks(result))
    return bool(said) or bool(result.refused)


def _edges_at_the_door(dags: Sequence[DAG], n: int) -> int:
    ratio = ConsensusSettings().max_edges_ratio
    assert ratio is not None
    return int(max(ratio * min(dag.n_edges for dag in dags), PAIRS_PER_VARIABLE * n))


def honest_structures(
    network: str, sites: int, rows: int, seed: int, lacking: float = 0.0
) -> list[DAG]:
    """What GES learns at sites that lack so large a share of the variables, names sorted."""
    dags = learn(network, None, sites, rows, seed, lacking).dags
    return [dag.reorder(sorted(dag.names)) for dag in dags]


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = parser_of("attacks", __doc__)
    add = parser.add_argument
    add("--networks", default="alarm,child,win95pts", help="names, by commas")
    add("--honest", type=counts, default=[3, 5, 10], help="numbers of honest sites (3,5,10)")
    add("--sites", type=counts, help="numbers of all sites, instead of --honest")
    add("--hostile", type=counts, default=[1, 2, 3], help="numbers of hostile sites (1,2,3)")
    add("--attacks", nargs="+", choices=sorted(ATTACKS), default=list(ATTACKS))
    add("--search", type=count, help="tries of a search for the worst structure, instead")
    add("--sums", action="store_true", help="search against secure sums")
    add("--lacking", type=share, default=0.0, help="of the variables, at honest sites (0)")
    add("--rows", type=count, default=5000, help="rows of every honest site (5000)")
    add("--seed", type=seed, default=1, help="of everything random (1)")
    add("--out", type=Path, help="CSV file for the table, too")
    options = parser.parse_args(arguments)
    if options.sums and options.lacking:
        parser.error("--sums goes with whole tables only")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, a row as it is done."""
    options = options_of(arguments)
    cases = [
        (sites - hostile if options.sites else sites, hostile)
        for sites in options.sites or options.honest
        for hostile in options.hostile
    ]
    cases = [(honest, hostile) for honest, hostile in cases if honest > 0]
    found = []
    columns = [column.name for column in fields(Row)]
    print("\t".join(columns))
    for network in options.networks.split(","):
        most = max(honest for honest, _ in cases)
        dags = honest_structures(network, most, options.rows, options.seed, options.lacking)
        for honest, hostile in cases:
            rows: Iterable[Row]
            if options.search:
                some, tries = dags[:honest], options.search
                rows = [
                    search_structure(network, some, hostile, tries, options.seed, sums=options.sums)
                ]
            else:
                rows = attack(network, dags[:honest], hostile, options.attacks, options.seed)
            for row in rows:
                found.append(row)
                print("\t".join(str(value) for value in astuple(row)), flush=True)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with options.out.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerows([columns, *(astuple(row) for row in found)])


if __name__ == "__main__":
    try:
        main()
    except FedbnError as error:
        sys.exit(f"error: {error}")
