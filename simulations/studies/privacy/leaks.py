"""What structures leak: flip rates, sets and weights, shadow membership, re-identification."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from fedbn.attacks.flips import FlipRate, canary, flip_rate
from fedbn.attacks.samples import Learn, Share, Structures
from fedbn.attacks.shadow import shadow_membership
from fedbn.attacks.single_sites import reidentify
from fedbn.credible.client import credible_structures
from fedbn.data.dataset import Dataset
from fedbn.data.partition import partition_dirichlet_latent, partition_iid
from fedbn.graphs.dag import DAG
from fedbn.networks.catalog import load_network
from fedbn.scores import make_score
from fedbn.search.ges import ges
from simulations.studies.privacy.cases import learn_site

REPETITIONS = 5
"""Partitions of a re-identification."""


def run_leaks(case: Mapping[str, Any]) -> dict[str, Any]:
    """The result of one game."""
    return _GAMES[case["game"]](case)


def _flips(case: Mapping[str, Any]) -> dict[str, Any]:
    """Flip rate of GES, its rows counted once or several times."""
    rates = _over_tables(case, partial(_ges, row_weight=case["row_weight"]))
    total = Share.of_trials(
        sum(rate.classes.hits for rate in rates), sum(rate.classes.of for rate in rates)
    )
    return {
        "flips": total.hits,
        "of": total.of,
        "low": total.low,
        "high": total.high,
        "mean_change": float(np.mean([rate.mean_change for rate in rates])),
        "largest_change": max(rate.largest_change for rate in rates),
    }


def _sets(case: Mapping[str, Any]) -> dict[str, Any]:
    """Removals that change a credible set, or its weights: exact, of two digits, or uniform."""
    found = {}
    for weights in ("exact", "two digits", "uniform"):
        rates = _over_tables(case, partial(_credible, factor=case["bf"], weights=weights))
        found[weights] = sum(rate.messages.hits for rate in rates)
        found["sets"] = sum(rate.classes.hits for rate in rates)
        found["of"] = sum(rate.messages.of for rate in rates)
    return found


def _over_tables(case: Mapping[str, Any], learn: Learn) -> list[FlipRate]:
    """Flip rates over several tables of the network, some removals from each."""
    network, rates = load_network(case["network"]), []
    for number in range(case["removals"] // case["per_table"]):
        rng = np.random.default_rng([1, case["rows"], number])
        table = network.sample(case["rows"], rng)
        rates.append(flip_rate(table, learn, rng, case["per_table"]))
    return rates


def _shadow(case: Mapping[str, Any]) -> dict[str, Any]:
    """The weak game, for rows of the population or for a canary."""
    network = load_network(case["network"])
    rng = np.random.default_rng(4)
    found = shadow_membership(
        lambda rows, generator: network.sample(rows, generator),
        _by(case["mechanism"], case["epsilon"]),
        case["rows"],
        rng,
        targets=case["targets"],
        shadows=case["shadows"],
        row=canary(network.sample(10_000, rng)) if case["canary"] else None,
    )
    return {"auc": found.auc, "error": found.error, "tpr": found.tpr, "tables": found.tables}


def _reidentify(case: Mapping[str, Any]) -> dict[str, Any]:
    """Sites found again by structures of fresh rows; IID, or unlike by latent clusters."""
    hits = trials = 0
    sites, rows = case["sites"], case["rows"]
    learn = _by(case["mechanism"], case["epsilon"])
    for repetition in range(REPETITIONS):
        rng = np.random.default_rng([5, repetition])
        table = load_network(case["network"]).sample(2 * sites * rows, rng)
        if case["alpha"] is None:
            parts = partition_iid(table.n_rows, sites, rng)
        else:
            parts = partition_dirichlet_latent(table, sites, case["alpha"], rng)
        runs: tuple[list[DAG], list[DAG]] = ([], [])
        for part in parts:
            mixed = rng.permutation(part)
            for half, run in zip(np.array_split(mixed, 2), runs, strict=True):
                run.append(learn(table.take(half), rng)[0][0])
        found = reidentify(*runs)
        hits, trials = hits + found.hits, trials + found.of
    return {"found": hits, "of": trials, "chance": 1 / sites}


_GAMES = {"flips": _flips, "sets": _sets, "shadow": _shadow, "reidentify": _reidentify}


def _by(mechanism: str, epsilon: float | None) -> Learn:
    def learn(table: Dataset, rng: np.random.Generator) -> Structures:
        seed = int(rng.integers(1 << 62))
        return (learn_site(table, mechanism, epsilon, 1e-6, seed),), (1.0,)

    return learn


def _ges(table: Dataset, rng: np.random.Generator, *, row_weight: float) -> Structures:
    return (ges(make_score("bdeu", table, row_weight=row_weight)).dag,), (1.0,)


def _credible(
    table: Dataset, rng: np.random.Generator, *, factor: float, weights: str
) -> Structures:
    found = credible_structures(table, "bic", bayes_factor=factor, max_dags=1000, rng=rng)
    if weights == "exact":
        return found.dags, found.weights
    if weights == "uniform":
        return found.dags, (1.0,) * len(found.dags)
    return found.dags, tuple(round(weight, 2) for weight in found.weights)
