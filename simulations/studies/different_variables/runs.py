"""One case of the study: sites that lack variables, and the rules that fuse what they send."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from fedbn.arrays import Bools
from fedbn.consensus.judges import never_together
from fedbn.consensus.mcbnc import mcbnc_path, mcbnc_paths
from fedbn.consensus.path import McbncPath
from fedbn.consensus.pooling import poolings_of, select_among
from fedbn.consensus.threshold import select_consensus
from fedbn.data.dataset import Dataset
from fedbn.data.lacking import draw_columns
from fedbn.fusion.baselines import edge_vote
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.learners import LearnerSettings, learn
from fedbn.networks.catalog import load_network
from simulations.study_cases import Case, Row

RULES = ("whole", "padded", "vote", "pair", "search", "union")
"""whole: no site lacks anything. padded: what a site lacks is isolated at it, and counts. vote:
edges that more than half of the sites have that see both ends. pair: who sees both ends judges,
whatever else. search: judges, the mean cut, the reading "search". union: fedbn's default."""

STUDY = 433
"""Seeds of the study."""


def cases(settings: dict[str, Any], seeds: int | None = None) -> Iterator[Case]:
    """The cases, the first seeds of all networks together, so that a run cut short is balanced."""
    study = settings["study"]
    for place in range(seeds or study["seeds"]):
        for network in study["networks"]:
            seed = study["first_of"].get(network, study["first"]) + place
            for federation in study["federations"]:
                for pattern in federation["patterns"]:
                    yield {
                        "network": network,
                        "rows": study["rows"],
                        "sites": federation["sites"],
                        "pattern": pattern,
                        "blocks": study["blocks"],
                        "seconds": study["seconds"],
                        "seed": seed,
                    }


def has_columns(case: Case, truth: DAG) -> Bools:
    """bool [sites, n], which site has which variable.

    random-20 : every site lacks 20 % of the variables, drawn.
    panels-20 : the variables are dealt out to panels, and a site lacks 20 % of the panels.
    hubs-20 : as random, but the chance of a variable is in proportion to its neighbours.
    """
    kind, _, percent = str(case["pattern"]).partition("-")
    joined = (truth.adjacency | truth.adjacency.T).sum(axis=0).astype(np.int64)
    return draw_columns(
        truth.n,
        case["sites"],
        int(percent) / 100,
        rng_of(case, case["pattern"]),
        blocks=case["blocks"] if kind == "panels" else None,
        neighbours=joined if kind == "hubs" else None,
    )


def run_case(case: Case) -> Row:
    """For every rule SMHD to the network over all variables; what is not known; CPU seconds."""
    truth = load_network(str(case["network"])).dag
    truth = truth.reorder(sorted(truth.names))
    whole = whole_structures(case)
    own = own_structures(case)
    found, cut_short = _fuse_all(whole, own, truth.names, case["seconds"])
    row: Row = {rule: smhd(dag.reorder(truth.names), truth) for rule, dag in found.items()}
    row["cut_short"] = cut_short
    limit = case["seconds"]
    row["whole_seconds"], _ = _time_path(lambda: mcbnc_path(whole, seconds=limit))
    row["union_seconds"], path = _time_path(
        lambda: mcbnc_path(own, variables="union", seconds=limit)
    )
    row["unknown"] = len(never_together(path.inputs))
    return row


def own_structures(case: Case, rows: int | None = None) -> list[DAG]:
    """What the sites of a case learn, each over the variables that it has; of tables of so many
    rows, where not the case's."""
    truth = load_network(str(case["network"])).dag
    tables = _tables(case["network"], rows or case["rows"], case["sites"], case["seed"])
    has = has_columns(case, truth.reorder(sorted(truth.names)))
    return [
        _learn_by_ges(
            table.select([name for name, there in zip(table.names, row, strict=True) if there])
        )
        for table, row in zip(tables, has, strict=True)
    ]


def whole_structures(case: Case) -> tuple[DAG, ...]:
    """What the sites of a case would learn if they lacked nothing."""
    return _whole(case["network"], case["rows"], case["sites"], case["seed"])


def _fuse_all(
    whole: Sequence[DAG], own: Sequence[DAG], names: Sequence[str], seconds: float
) -> tuple[dict[str, DAG], int]:
    """Rule -> its consensus; and how many paths did not end in so many seconds."""
    best = poolings_of("best")
    padded = [dag.extend(names) for dag in own]
    of_whole = mcbnc_paths(whole, poolings=best, seconds=seconds)
    of_padded = mcbnc_paths(padded, poolings=best, seconds=seconds)
    of_own = mcbnc_paths(own, poolings=best, variables="union", seconds=seconds)
    pair = mcbnc_path(own, variables="union", min_judges=len(own), seconds=seconds)
    found = {
        "whole": select_among(of_whole)[1].dag,
        "padded": select_among(of_padded)[1].dag,
        "vote": edge_vote(own, threshold=0.5, variables="union"),
        "pair": select_consensus(pair, "search").dag,
        "search": select_consensus(of_own[0], "search").dag,
        "union": select_among(of_own)[1].dag,
    }
    return found, sum(path.cut_short for path in (*of_whole, *of_padded, *of_own, pair))


def _time_path(make: Callable[[], McbncPath]) -> tuple[float, McbncPath]:
    """CPU seconds of a path, and the path."""
    began = time.process_time()
    path = make()
    return time.process_time() - began, path


@lru_cache(maxsize=1)
def _tables(network: str, rows: int, sites: int, seed: int) -> tuple[Dataset, ...]:
    """The sites' whole tables, the same for all patterns."""
    loaded = load_network(network)
    rng = rng_of({"network": network, "rows": rows, "sites": sites, "seed": seed}, "tables")
    return tuple(loaded.sample(rows, rng) for _ in range(sites))


@lru_cache(maxsize=1)
def _whole(network: str, rows: int, sites: int, seed: int) -> tuple[DAG, ...]:
    """What sites learn that lack nothing."""
    return tuple(map(_learn_by_ges, _tables(network, rows, sites, seed)))


def _learn_by_ges(table: Dataset) -> DAG:
    """GES with BDeu, as a site runs it by default."""
    found = learn(table, LearnerSettings(), np.random.default_rng(1))
    return found.dags[0].reorder(sorted(table.names))


def rng_of(case: Case, purpose: str) -> np.random.Generator:
    """The generator of one purpose in a case."""
    words = f"{case['network']} {purpose}"
    return np.random.default_rng(
        [STUDY, case["seed"], case["rows"], case["sites"], *map(ord, words)]
    )
