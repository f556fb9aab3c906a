"""Sites of two kinds: counts notice, say who, and do not mix them."""

from __future__ import annotations

import numpy as np
import pytest

from fedbn.choice.groups import cost_of_another, medoid, split_by_structures
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.federation.counting import Counting, open_counting
from fedbn.federation.family_message import answer_request
from fedbn.federation.rounds import server_round
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, FederationResult, ServerState
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.graphs.random import perturb, random_dag
from fedbn.networks.catalog import load_network
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.random import with_parameters_around
from fedbn.scores import make_score
from fedbn.search.ges import ges

CHAIN = DAG.from_edges("abcd", ["ab", "bc", "cd"])
OTHER = DAG.from_edges("abcd", ["ad", "ac", "bd"])


def choose(tables: dict[str, Dataset], schema: Schema) -> tuple[FederationResult, Counting]:
    """The result by counts, and the dialogue at its end."""
    replies = [
        ClientReply(name, (ges(make_score("bdeu", table)).dag,), (1.0,), "complete")
        for name, table in tables.items()
    ]
    settings = ConsensusSettings(choose="counts")
    result = server_round(ServerState(schema, len(tables)), replies, (), settings).result
    assert result is not None
    state = open_counting(
        result, ConsensusSettings(choose="counts", count_rounds=0, seconds=None), ess=1.0, seed=1
    )
    while (wanted := state.request()) is not None:
        answers = {name: answer_request(wanted, table, 1.0) for name, table in tables.items()}
        state = state.hear(answers)
    return state.conclude(result), state


def other_network(network: BayesianNetwork, changes: int, seed: int) -> BayesianNetwork:
    """Another structure over the same columns; the families that it shares have the same tables."""
    rng = np.random.default_rng(seed)
    dag = perturb(network.dag, changes, rng=rng).reorder(network.schema.names)
    sizes, known = network.schema.cardinalities, network.dag.parent_sets()
    cpts = [
        network.cpts[v]
        if parents == known[v]
        else rng.dirichlet(np.full(int(sizes[v]), 0.5), int(np.prod(sizes[list(parents)])))
        for v, parents in enumerate(dag.parent_sets())
    ]
    return BayesianNetwork(dag, network.schema, tuple(cpts))


def test_seven_sites_of_one_kind_and_three_of_another_are_not_mixed() -> None:
    first = load_network("child")
    second, rng = other_network(first, 12, 3), np.random.default_rng(1)
    tables = {f"s{i}": (first if i < 7 else second).sample(800, rng) for i in range(10)}
    result, state = choose(tables, first.schema)
    groups = tuple(f"s{i}" for i in range(7)), ("s7", "s8", "s9")
    assert state.groups == result.groups == groups
    assert result.choice is not None
    assert (result.choice.sites, result.choice.unheard) == groups
    of_structures = result.classes[0].consensus.dag
    assert smhd(result.consensus.dag, first.dag) < smhd(of_structures, first.dag)
    (said,) = [words for words in run_remarks(result) if "two groups" in words]
    assert "s6 and s7, s8, s9" in said
    assert "chosen by the counts of the first alone" in said
    tables["s6"] = second.sample(800, rng)
    result, _ = choose(tables, first.schema)
    assert result.groups == (tuple(f"s{i}" for i in range(6)), ("s6", "s7", "s8", "s9"))
    assert result.choice is None
    assert result.consensus.reading != "counts"
    assert "chosen by the structures alone" in run_remarks(result)[0]


@pytest.mark.parametrize("concentration", [None, 5.0])
def test_sites_with_one_structure_are_no_groups(concentration: float | None) -> None:
    network, rng = load_network("child"), np.random.default_rng(5)
    tables = {
        f"s{i}": (
            network
            if concentration is None
            else with_parameters_around(network, concentration, rng=rng)
        ).sample(800, rng)
        for i in range(10)
    }
    result, state = choose(tables, network.schema)
    assert state.groups is None
    assert result.groups == ()
    assert result.choice is not None


def test_a_split_that_counts_do_not_confirm_is_none() -> None:
    """Structures that differ by chance alone: the tables of all sites are of one network."""
    network, rng = load_network("asia"), np.random.default_rng(5)
    tables = {f"s{i}": network.sample(300, rng) for i in range(6)}
    result, _ = choose(tables, network.schema)
    assert result.choice is not None


def test_the_split_the_medoid_and_what_a_second_structure_costs() -> None:
    dags = {"n": CHAIN, "s": CHAIN, "e": OTHER, "w": OTHER, "x": DAG.from_edges("abcd", ["ab"])}
    assert split_by_structures(dict.fromkeys("nsew", CHAIN)) is None
    assert split_by_structures({name: dags[name] for name in "nse"}) is None
    assert medoid("nsx", dags) == CHAIN
    assert cost_of_another(CHAIN, CHAIN) == 0
    # b has no parent now, c has a, d has a and b: 1 + 2 + 3 times ln 4.
    assert cost_of_another(CHAIN, OTHER) == pytest.approx(6 * np.log(4))


def test_one_site_with_a_table_of_its_own_does_not_decide_what_counts_choose() -> None:
    """Its rows, a tenth of all, would join 14 pairs that nine sites do not."""
    network, rng = load_network("child"), np.random.default_rng(1)
    tables = {f"n{k}": network.sample(2_000, rng) for k in range(9)}
    unlike = random_dag(network.names, edges=25, rng=np.random.default_rng(7))
    cards = network.schema.cardinalities
    cpts = [
        rng.dirichlet(np.full(int(cards[v]), 0.2), int(np.prod(cards[list(parents)])))
        for v, parents in enumerate(unlike.parent_sets())
    ]
    made_up = BayesianNetwork(unlike, network.schema, tuple(cpts))
    tables["x"] = made_up.sample(2_000, rng)
    result, _ = choose(tables, network.schema)
    assert result.choice is not None
    assert result.groups == (tuple(f"n{k}" for k in range(9)), ("x",))
    assert (result.choice.sites, result.choice.unheard) == result.groups
    assert smhd(result.consensus.dag, network.dag) <= 2
    said = run_remarks(result)
    assert any("n8 and x" in each for each in said)


@pytest.mark.slow
def test_one_site_with_many_rows_of_the_same_kind_is_counted() -> None:
    """It finds what small sites miss, so it is far from what they agree on, but counts agree."""
    network, rng = load_network("hailfinder"), np.random.default_rng(1)
    tables = {f"n{k}": network.sample(200, rng) for k in range(8)}
    tables["large"] = network.sample(10_000, rng)
    result, state = choose(tables, network.schema)
    assert state.split == (tuple(f"n{k}" for k in range(8)), ("large",))
    assert result.groups == ()
    assert result.choice is not None
    assert "large" in result.choice.sites
