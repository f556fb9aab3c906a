"""The attack table: what hostile sites send, and that the defaults hold."""

from __future__ import annotations

import numpy as np
import pytest

from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import poolings_of, prefer, select_among
from fedbn.consensus.threshold import select_consensus
from fedbn.federation.reply_limits import Limits
from fedbn.federation.state import ClientReply
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.graphs.random import perturb
from fedbn.networks.catalog import load_network
from simulations.benchmarks import count_attacks
from simulations.benchmarks.attack_search import search_attack
from simulations.benchmarks.attacks import (
    ATTACKS,
    Target,
    attack,
    consensus_of,
    honest_structures,
    main,
    search_structure,
    under_order,
)


def test_an_order_and_a_number_of_edges() -> None:
    dag = under_order(("a", "b", "c", "d"), [3, 1, 0, 2], 5, in_degree=2)
    assert dag.edges == (("a", "c"), ("b", "a"), ("b", "c"), ("d", "a"), ("d", "b"))
    assert under_order(("a", "b", "c"), [0, 1, 2], 9, in_degree=2).n_edges == 3


def test_hostile_structures_are_as_they_are_said_to_be() -> None:
    alarm = load_network("alarm").dag
    truth = alarm.reorder(sorted(alarm.names))
    for name, (make, weight) in ATTACKS.items():
        dags = make(Target(truth, 138, np.random.default_rng(1)))
        assert len(dags) == (20 if name == "many-dags" else 1)
        assert weight == (1e300 if name == "weight" else 1.0)
        wanted = {"densest": 456, "wrong-edges": truth.n_edges}.get(name, 138)
        assert {dag.n_edges for dag in dags} == {wanted}


def test_fewer_than_a_third_hostile_hardly_move_the_consensus() -> None:
    alarm = load_network("alarm").dag
    truth = alarm.reorder(sorted(alarm.names))
    rng = np.random.default_rng(3)
    honest: list[DAG] = [perturb(truth, 6, rng=rng) for _ in range(5)]
    rows = list(attack("alarm", honest, 2, ("densest", "order", "wrong-edges", "weight"), 1))
    assert [row.refused for row in rows] == [2, 0, 0, 0]
    assert rows[0].drift == 0
    assert max(row.drift for row in rows) <= 6
    assert rows[1].drift == rows[3].drift  # weights are shares of a client


def test_the_table_is_printed_and_written(tmp_path, capsys) -> None:
    file = tmp_path / "table.csv"
    network = ["--networks", "asia", "--rows", "300"]
    options = [*network, "--honest", "3", "--hostile", "1", "--attacks", "order", "densest"]
    main([*options, "--out", str(file)])
    printed = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[3] for line in printed] == ["attack", "order", "densest"]
    assert len(file.read_text(encoding="utf-8").splitlines()) == 3


def test_honest_sites_may_lack_variables() -> None:
    honest = honest_structures("child", 7, 300, 1, lacking=0.2)
    sets = [set(dag.names) for dag in honest]
    assert len(set().union(*sets)) == 20 > max(map(len, sets))
    row = search_structure("child", honest, 3, 16, 1)
    _, alone = select_among(mcbnc_paths(honest, poolings=poolings_of("best"), variables="union"))
    assert row.drift > 0
    assert row.honest_edges == alone.dag.n_edges
    with pytest.raises(SystemExit):
        main(["--lacking", "0.2", "--sums"])


def test_a_search_keeps_to_the_door_and_finds_what_moves_most() -> None:
    """Where the server takes whatever is sent, the search goes as far as it may."""
    start = DAG.empty("abcdef")
    seen: list[DAG] = []

    def obey(dag: DAG) -> DAG:
        seen.append(dag)
        return dag

    rng = np.random.default_rng(1)
    found = search_attack([start, start], obey, start, rng, tries=60, max_edges=7)
    assert found.tries == len(seen) == 60
    assert found.drift == max(smhd(start, dag) for dag in seen) > 5
    assert smhd(start, found.dag) == found.drift
    assert max(dag.n_edges for dag in seen) <= 7
    assert max(int(dag.adjacency.sum(axis=0).max()) for dag in seen) <= Limits().max_in_degree
    again = search_attack(
        [start, start], obey, start, np.random.default_rng(1), tries=60, max_edges=7
    )
    assert again == found


def test_what_a_search_finds_against_child_is_small_and_warned_of() -> None:
    child = load_network("child").dag
    truth = child.reorder(sorted(child.names))
    rng = np.random.default_rng(3)
    honest = [perturb(truth, 4, rng=rng) for _ in range(7)]
    row = search_structure("child", honest, 3, 60, 1)
    assert row.drift <= 5
    assert row.warned or row.drift <= 3


def test_a_search_of_sums_moves_what_sums_choose() -> None:
    child = load_network("child").dag
    truth = child.reorder(sorted(child.names))
    honest = [perturb(truth, 4, rng=np.random.default_rng(k)) for k in range(7)]
    row = search_structure("child", honest, 3, 12, 1, sums=True)
    replies = [ClientReply(str(k), (dag,), (1.0,), "ok") for k, dag in enumerate(honest)]
    paths = mcbnc_paths(honest)
    assert consensus_of(replies, sums=True) == prefer(paths, select_consensus)[1].dag
    assert (row.attack, row.warned) == ("search of sums", False)


def test_the_search_against_counts_and_its_honest_federations_are_printed(capsys) -> None:
    network = ["--networks", "asia", "--rows", "200"]
    count_attacks.main([*network, "--hostile", "1", "--tries", "2"])
    head, row = capsys.readouterr().out.splitlines()
    found = dict(zip(head.split("\t"), row.split("\t"), strict=True))
    assert (found["network"], found["hostile"], found["tries"]) == ("asia", "1", "2")
    assert int(found["drift"]) >= 0
    count_attacks.main([*network, "--honest", "1"])
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split("\t")[:3] for row in rows] == [
        ["asia", kind, "1"] for kind in count_attacks.KINDS
    ]


def test_the_search_against_sums_of_products_is_printed(capsys) -> None:
    network = ["--networks", "random-gaussian:6:8:1", "--rows", "200", "--times", "3"]
    count_attacks.main([*network, "--hostile", "1", "--tries", "2"])
    head, row = capsys.readouterr().out.splitlines()
    found = dict(zip(head.split("\t"), row.split("\t"), strict=True))
    assert int(found["drift"]) >= 0
    assert int(found["unguarded"]) >= 0


def test_made_up_numbers_follow_their_parents() -> None:
    dag = DAG.from_edges(("a", "b", "c"), [("a", "b"), ("b", "c")])
    schema = load_network("random-gaussian:3:2:1").sample(9, np.random.default_rng(1)).schema
    made = count_attacks.followed_numbers(
        count_attacks.Attack(dag, follow=0.9), schema, 20_000, np.random.default_rng(2)
    )
    found = np.abs(np.corrcoef(made.T))[[0, 1, 0], [1, 2, 2]]
    assert np.allclose(found, [0.9, 0.9, 0.81], atol=0.02)
    assert np.allclose(made.std(axis=0), 1, atol=0.02)
