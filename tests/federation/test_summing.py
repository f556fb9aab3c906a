"""Choosing by sums of products: two groups of sites, and the time limit."""

from __future__ import annotations

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.federation.rounds import server_round
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, ServerState
from fedbn.federation.summing import choose_by_sums
from fedbn.graphs.dag import DAG
from fedbn.scores.scatter import scatter_of_table

SCHEMA = Schema.gaussian("abcd")
CHAIN = DAG.from_edges("abcd", ["ab", "bc", "cd"])
OTHER = DAG.from_edges("abcd", ["ad", "ac", "bd"])


def table(dag: DAG, rng: np.random.Generator, rows: int = 300) -> Dataset:
    values = np.zeros((rows, dag.n))
    for node in dag.topological_order():
        values[:, node] = values[:, list(dag.parents(node))].sum(axis=1) + rng.normal(size=rows)
    return Dataset(SCHEMA, values)


@pytest.mark.parametrize(("seconds", "told"), [(None, True), (600.0, True), (0.0, False)])
def test_totals_that_time_cut_short_tell_no_groups(seconds: float | None, told: bool) -> None:
    rng = np.random.default_rng(1)
    dags = {f"s{place}": CHAIN if place < 5 else OTHER for place in range(8)}
    scatters = {site: scatter_of_table(table(dag, rng)) for site, dag in dags.items()}
    replies = [ClientReply(site, (dag,), (1.0,), "complete") for site, dag in dags.items()]
    settings = ConsensusSettings(choose="counts")
    result = server_round(ServerState(SCHEMA, 8), replies, (), settings).result
    assert result is not None
    limited = ConsensusSettings(choose="counts", seconds=seconds)
    chosen = choose_by_sums(result, scatters, limited, seed=1)
    assert bool(chosen.groups) == told
    assert (chosen.choice is None) == told
