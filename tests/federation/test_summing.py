"""Choosing by sums of products: two groups of sites, and the time limit."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedbn.choice.by_counts import Climb, at_candidate
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.federation import counting, summing
from fedbn.federation.counting import open_counting
from fedbn.federation.rounds import server_round
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, FederationResult, ServerState
from fedbn.federation.summing import choose_by_sums
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.networks.catalog import load_network
from fedbn.networks.family_counts import Family, families_of
from fedbn.scores import make_score
from fedbn.scores.scatter import Scatter, scatter_of_table
from fedbn.search.ges import ges

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


def fused_chains(rng: np.random.Generator) -> tuple[FederationResult, dict[str, Scatter]]:
    """Seven sites whose rows follow the chain; three of them sent it, four no edge."""
    sites = {f"s{place}": CHAIN if place < 3 else DAG.empty("abcd") for place in range(7)}
    replies = [ClientReply(site, (dag,), (1.0,), "complete") for site, dag in sites.items()]
    result = server_round(ServerState(SCHEMA, 7), replies, (), ConsensusSettings()).result
    assert result is not None
    return result, {site: scatter_of_table(table(CHAIN, rng)) for site in sites}


def test_families_that_sites_sent_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fusion joins and directs otherwise than the sites."""
    source, rng = load_network("random-gaussian:8:12:3"), np.random.default_rng(4)
    tables = [source.sample(60, rng) for _ in range(6)]
    dags = [ges(make_score("gaussian-bic", rows)).dag for rows in tables]
    replies = [ClientReply(f"s{k}", (dag,), (1.0,), "complete") for k, dag in enumerate(dags)]
    state = ServerState(tables[0].schema, len(dags))
    result = server_round(state, replies, (), ConsensusSettings()).result
    assert result is not None
    rule = ConsensusSettings(choose="counts")

    def looked_at() -> set[Family]:
        return set(open_counting(result, rule, ess=1.0, seed=1).candidates.families)

    asked = looked_at()
    for name in ("sent_families", "voted_families"):
        monkeypatch.setattr(counting, name, lambda _: [])
    further = asked - looked_at()
    assert further & set(families_of(dags))


def test_what_fewer_sites_find_is_taken_where_it_is_better_to_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The search on the sums of all sites ends where it begins; those on fewer do not."""
    result, scatters = fused_chains(np.random.default_rng(3))
    search = summing.chosen_by_scatters

    def short(candidates, schema, scores, *others, **more):  # type: ignore[no-untyped-def]
        found = search(candidates, schema, scores, *others, **more)
        return at_candidate(found, candidates.listed[0]) if len(scores.places) == 7 else found

    monkeypatch.setattr(summing, "chosen_by_scatters", short)
    chosen = choose_by_sums(result, scatters, ConsensusSettings(choose="counts"), seed=1)
    assert chosen.choice is not None
    assert chosen.choice.unheard == ()
    assert dag_to_cpdag(chosen.choice.dag) == dag_to_cpdag(CHAIN)


def test_a_refused_family_of_the_consensus_ends_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One site's sums, large and singular, refuse families that the others do not refuse; those of
    the others lead to a structure without the family of the consensus that is refused."""
    rng, names = np.random.default_rng(3), [f"s{place}" for place in range(7)]
    replies = [ClientReply(site, (CHAIN,), (1.0,), "complete") for site in names]
    result = server_round(ServerState(SCHEMA, 7), replies, (), ConsensusSettings()).result
    assert result is not None
    rows = [scatter_of_table(table(DAG.empty("abcd"), rng)) for _ in names]
    scatters = {
        site: replace(each, products=each.products * 1e-6)
        for site, each in zip(names, rows, strict=True)
    }
    scatters["s0"] = replace(scatters["s0"], products=np.full((4, 4), 1e12))
    tries, taking = itertools.count(1), summing.taking

    def counted(*of: Any) -> Climb:
        assert next(tries) < 20, "the search tries the same structure again and again"
        return taking(*of)

    monkeypatch.setattr(summing, "taking", counted)
    chosen = choose_by_sums(result, scatters, ConsensusSettings(choose="climb"), seed=1)
    assert chosen.choice is not None
