"""One case of the study: ten sites' tables, and consensuses by mixed scores and by cutting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from fedbn.arrays import Floats
from fedbn.data.cuts import interval_codes
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.federation.rounds import client_round, server_round, site_rng
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, FederationResult, ServerState
from fedbn.federation.summing import choose_by_sums
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.graphs.random import random_dag
from fedbn.learners import LearnerSettings, learn
from fedbn.networks.catalog import load_network
from fedbn.networks.random import node_names
from fedbn.scores.scatter import scatter_of_table
from simulations.studies.real_tables.mechanisms import MixedNetwork, random_mixed_network
from simulations.study_cases import Case, Row

CUTTINGS = tuple(product((2, 3, 4, 5), ("bdeu", "bic")))
"""Intervals of equal frequency, and the score that reads them."""

ROW_WEIGHTS = (1.0, 2.0)

STUDY = 938
"""Seeds of the study."""

VARIABLES, EDGES = 20, 30
"""Of a network at random: a mean degree of 3."""


def site_cases(settings: dict[str, Any], seeds: int | None = None) -> Iterator[Case]:
    """Sites whose laboratories agree, and sites that are shifted; those of a seed together."""
    study = settings["study"]
    networks = [*study["networks"], *_at_random(study["random"])]
    for seed in range(1, 1 + (seeds or study["seeds"])):
        for rows, shifted, network in product(study["rows"], (False, True), networks):
            yield {
                "network": network,
                "mechanism": "linear",
                "rows": rows,
                "sites": study["sites"],
                "shifted": shifted,
                "seed": seed,
            }


def sum_cases(settings: dict[str, Any], seeds: int | None = None) -> Iterator[Case]:
    """The same federations, in which sums of products choose; no case of theirs is one of these."""
    for case in site_cases(settings, seeds):
        if case["rows"] in settings["sums"]["rows"]:
            yield {"part": "sums"} | {k: v for k, v in case.items() if k != "mechanism"}


def blind_cases(settings: dict[str, Any], seeds: int | None = None) -> Iterator[Case]:
    """Dependences that covariances do not show."""
    study, blind = settings["study"], settings["blind"]
    for seed in range(1, 1 + (seeds or study["seeds"])):
        for rows, mechanism, network in product(
            blind["rows"], blind["mechanisms"], _at_random(blind["random"])
        ):
            yield {
                "network": network,
                "mechanism": mechanism,
                "rows": rows,
                "sites": study["sites"],
                "shifted": False,
                "seed": seed,
            }


def _at_random(number: int) -> list[str]:
    return [f"random-{place:02d}" for place in range(1, 1 + number)]


def run_case(case: Case) -> Row:
    """SMHD to the network of every way; `site_*` is the mean over the sites by themselves."""
    network, tables = _federation(case)
    row: Row = {}
    ways = {"mixed": (tables, "mixed-bic")}
    ways |= {f"{score}_{k}": (cut_together(tables, k), score) for k, score in CUTTINGS}
    for way, (of_sites, score) in ways.items():
        for k in ROW_WEIGHTS:
            row |= _consensus(f"{way}_k{k:g}", of_sites, score, k, case, network.dag)
        row[f"pooled_{way}"] = _learn_pooled(of_sites, score, network.dag)
    centred = [_centre(table) for table in tables]
    row["pooled_mixed_centred"] = _learn_pooled(centred, "mixed-bic", network.dag)
    return row


def run_sums(case: Case) -> Row:
    """SMHD to the network where structures alone choose, and where sums of products do."""
    network, tables = _federation({**case, "mechanism": "linear"})
    settings = LearnerSettings(score="mixed-bic", row_weight="ladder")
    result = _result(tables, settings, case["seed"])
    scatters = {f"{place:03}": scatter_of_table(table) for place, table in enumerate(tables)}
    row: Row = {
        "ladder": smhd(result.consensus.dag, network.dag),
        "pooled_mixed": _learn_pooled(tables, "mixed-bic", network.dag),
    }
    for choose in ("counts", "climb"):
        rule = ConsensusSettings(choose=choose)
        chosen = choose_by_sums(result, scatters, rule, case["seed"])
        row[choose] = smhd(chosen.consensus.dag, network.dag)
        row[f"{choose}_groups"] = bool(chosen.groups)
    return row


def _federation(case: Case) -> tuple[MixedNetwork, list[Dataset]]:
    """The network of a case, and the sites' tables."""
    network = _network(case)
    words = f"{case['network']} {case['mechanism']}"
    rng = np.random.default_rng(
        [STUDY, case["seed"], case["rows"], int(case["shifted"]), *map(ord, words)]
    )
    tables = [network.sample(case["rows"], rng) for _ in range(case["sites"])]
    if case["shifted"]:
        tables = [_shift(table, rng) for table in tables]
    return network, tables


def _network(case: Case) -> MixedNetwork:
    """The same in all cases of this name and mechanism, whatever the seed and the rows."""
    name = str(case["network"])
    rng = np.random.default_rng([STUDY, *map(ord, f"{name} {case['mechanism']}")])
    if name.startswith("random-"):
        dag = random_dag(node_names(VARIABLES), rng=rng, edges=EDGES)
    else:
        dag = load_network(name).dag
    return random_mixed_network(dag, case["mechanism"], rng)


def _numbers(schema: Schema) -> list[int]:
    return [schema.index(name) for name in schema.numbers]


def _shift(table: Dataset, rng: np.random.Generator) -> Dataset:
    """A constant of this site's own on every number, as large as the number's own spread."""
    found, numbers = np.array(table.table), _numbers(table.schema)
    spread = found[:, numbers].std(axis=0)
    found[:, numbers] += rng.normal(size=len(numbers)) * spread
    return Dataset(table.schema, found)


def _centre(table: Dataset) -> Dataset:
    """The site's own mean taken off every number; categories stay."""
    found, numbers = np.array(table.table), _numbers(table.schema)
    found[:, numbers] -= found[:, numbers].mean(axis=0)
    return Dataset(table.schema, found)


def cut_together(tables: Sequence[Dataset], intervals: int) -> list[Dataset]:
    """The tables with numbers cut at the quantiles of all sites' rows, as `--cuts` agrees them."""
    schema = tables[0].schema
    shares = np.arange(1, intervals) / intervals
    cuts = {
        name: np.unique(
            np.quantile(
                np.concatenate([table.column(schema.index(name)) for table in tables]),
                shares,
                method="inverted_cdf",
            )
        ).tolist()
        for name in schema.numbers
    }
    agreed = Schema(
        tuple(
            Variable.cut(each.name, cuts[each.name]) if each.name in cuts else each
            for each in schema.variables
        )
    )
    return [Dataset(agreed, _code(table, cuts)) for table in tables]


def _code(table: Dataset, cuts: Mapping[str, Sequence[float]]) -> Floats:
    columns = [
        interval_codes(cuts[name], table.column(place)) if name in cuts else table.column(place)
        for place, name in enumerate(table.names)
    ]
    return np.column_stack(columns)


def _consensus(
    way: str, tables: Sequence[Dataset], score: str, k: float, case: Case, truth: DAG
) -> Row:
    """What a run of one round gives: the sites' structures, and their fusion."""
    settings = LearnerSettings(score=score, row_weight=k)
    result = _result(tables, settings, case["seed"])
    alone = [smhd(reply.dags[0], truth) for reply in result.replies]
    return {way: smhd(result.consensus.dag, truth), f"site_{way}": float(np.mean(alone))}


def _result(tables: Sequence[Dataset], settings: LearnerSettings, seed: int) -> FederationResult:
    replies = []
    for place, table in enumerate(tables):
        message, _ = client_round(table, table.schema, settings, site_rng(seed, place, 1))
        replies.append(
            ClientReply(
                f"{place:03}",
                message.dags,
                message.weights,
                "complete",
                row_weights=message.row_weights,
            )
        )
    state = ServerState(tables[0].schema, len(replies))
    result = server_round(state, replies, (), ConsensusSettings()).fused
    return result


def _learn_pooled(tables: Sequence[Dataset], score: str, truth: DAG) -> int:
    whole = Dataset(tables[0].schema, np.concatenate([table.table for table in tables]))
    found = learn(whole, LearnerSettings(score=score), np.random.default_rng(0))
    return smhd(found.dags[0], truth)
