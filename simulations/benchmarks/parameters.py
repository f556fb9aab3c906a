"""What a consensus with summed counts is worth: log-likelihood of held-out rows.

Ten sites learn with GES and BDeu; the consensus gets its tables from the sums of their counts. It
is compared, on rows that nobody had, with GES on the pooled rows, with the best single site's own
network, and with the network that the rows were sampled from.

    python -m simulations.benchmarks.parameters --rows 200 --rows 5000
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import typer

from fedbn.data.dataset import Dataset
from fedbn.federation.rounds import server_round
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, ServerState
from fedbn.learners import LearnerSettings, learn
from fedbn.networks.catalog import load_network
from fedbn.networks.family_counts import count_families, families_of
from fedbn.networks.fitting import fit_parameters, parameters_of
from fedbn.networks.likelihood import log_likelihood
from fedbn.networks.network import BayesianNetwork

TEST_ROWS = 10_000


def compare(name: str, rows: int, sites: int, seed: int, ess: float) -> dict[str, Any]:
    """The log-likelihoods of one draw."""
    truth = load_network(name)
    assert isinstance(truth, BayesianNetwork)
    rng = np.random.default_rng([seed, rows])
    tables = [truth.sample(rows, rng) for _ in range(sites)]
    test = truth.sample(TEST_ROWS, rng)
    pooled = Dataset(truth.schema, np.concatenate([table.codes for table in tables]))
    learned = [_learn(table, seed) for table in tables]
    replies = [
        ClientReply(client=f"{i:03}", dags=(dag,), weights=(1.0,), status="complete")
        for i, dag in enumerate(learned)
    ]
    state = server_round(ServerState(truth.schema, sites), replies, (), ConsensusSettings())
    consensus = state.fused.consensus.dag
    counts = [count_families(table, families_of([consensus])) for table in tables]
    network = parameters_of(consensus, functools.reduce(operator.add, counts), ess)
    own = [fit_parameters(dag, table, ess) for dag, table in zip(learned, tables, strict=True)]
    return {
        "network": name,
        "rows": rows,
        "seed": seed,
        "true network": log_likelihood(truth, test),
        "consensus, summed counts": log_likelihood(network, test),
        "pooled GES, pooled counts": log_likelihood(
            fit_parameters(_learn(pooled, seed), pooled, ess), test
        ),
        "best single site": max(log_likelihood(each, test) for each in own),
        "mean single site": float(np.mean([log_likelihood(each, test) for each in own])),
        "cells asked for": int(sum(cpt.size for cpt in network.cpts)),
    }


def _learn(table: Dataset, seed: int) -> Any:
    return learn(table, LearnerSettings(), np.random.default_rng(seed)).dags[0]


def main(
    network: Annotated[str, typer.Option(help="A network of the catalogue.")] = "alarm",
    rows: Annotated[list[int] | None, typer.Option(help="Rows per site; several.")] = None,
    sites: Annotated[int, typer.Option(min=1, help="Number of sites.")] = 10,
    seeds: Annotated[int, typer.Option(min=1, help="Draws.")] = 1,
    ess: Annotated[float, typer.Option(help="Equivalent sample size of the tables.")] = 1.0,
) -> None:
    """Print one JSON line per draw and number of rows."""
    counts: Sequence[int] = rows or [200, 5000]
    for each in counts:
        for seed in range(1, seeds + 1):
            print(json.dumps(compare(network, each, sites, seed, ess)), flush=True)


if __name__ == "__main__":
    typer.run(main)
