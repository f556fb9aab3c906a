"""What is rebuilt of rivals for the page of races."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fedbn.fusion.minimal_imap import minimal_imap
from fedbn.fusion.order import heuristic_order
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import random_dag
from fedbn.networks.catalog import load_network
from fedbn.scores import make_score
from fedbn.search.ges import ges
from simulations.studies.rivals.fedges import constrained_ges, fed_ges, shared_arcs


def test_ges_without_a_limit_is_ges_and_with_one_inserts_no_more() -> None:
    table = load_network("child").sample(300, np.random.default_rng(1))
    score = make_score("bdeu", table)
    empty = DAG.empty(score.names)
    whole = ges(score)
    unlimited, value = constrained_ges(score, empty, 10**6)
    assert unlimited == whole.dag
    assert value == pytest.approx(whole.score)
    for edges in range(1, 8):
        dag, value = constrained_ges(score, empty, edges)
        assert dag.n_edges == edges
        assert value < whole.score


def test_shared_arcs_are_counted_as_they_are_defined() -> None:
    rng = np.random.default_rng(2)
    dags = [random_dag("abcdef", rng=rng, edges=6) for _ in range(5)]
    order = heuristic_order(dags)
    votes: dict[tuple[str, str], int] = {}
    for dag in dags:
        for arc in minimal_imap(dag, order).edges:
            votes[arc] = votes.get(arc, 0) + 1
    for share, least in ((Fraction(0), 1), (Fraction(1, 2), 2), (Fraction(1), 5)):
        wanted = {arc for arc, count in votes.items() if count >= least}
        assert set(shared_arcs(dags, share).edges) == wanted


def test_rounds_end_where_no_site_gains() -> None:
    network = load_network("asia")
    rng = np.random.default_rng(3)
    scores = [make_score("bdeu", network.sample(400, rng)) for _ in range(3)]
    rounds, asked = fed_ges(scores, edges=2, share=Fraction(1, 2), limit=50)
    assert 1 <= len(rounds) < asked < 50
    assert max(dag.n_edges for dag in rounds[0].sent) <= 2
