"""What is rebuilt of rivals for the page of races."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from fedbn.fusion.minimal_imap import minimal_imap
from fedbn.fusion.union import fuse
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import random_dag
from fedbn.networks.catalog import load_network
from fedbn.privacy.releases import PrivateReleaser
from fedbn.scores import make_score, total_score
from fedbn.search.ges import ges
from simulations.studies.rivals import notears_admm
from simulations.studies.rivals.additive import climb_additively
from simulations.studies.rivals.fedges import constrained_ges, fed_ges, shared_arcs
from simulations.studies.rivals.generators import GENERATORS, tables_of
from simulations.studies.rivals.private_numbers import SummingReleaser
from simulations.studies.rivals.sparse_bnsl import SparseRules, learn_sparsely


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
    order = fuse(dags).order
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


@pytest.mark.parametrize("generator", list(GENERATORS))
def test_generators_follow_their_graph(generator: str) -> None:
    """A node is uncorrelated with the root nodes that are not above it, and mostly correlated with
    its parents."""
    truth, sites = tables_of(generator, 8, 3, 4000, np.random.default_rng(6))
    assert sites.shape == (3, 4000, 8)
    reach = truth.adjacency.copy()
    for _ in range(8):
        reach |= reach @ truth.adjacency
    roots = np.flatnonzero(~truth.adjacency.any(axis=0))
    rows = sites[0]
    among = np.abs(np.corrcoef(rows, rowvar=False))
    apart = [(a, b) for a in roots for b in range(8) if a != b and not reach[a, b]]
    assert apart
    assert max(among[a, b] for a, b in apart) < 0.08
    assert np.mean([among[a, b] > 0.08 for a, b in np.argwhere(truth.adjacency)]) > 0.5


def test_an_additive_climb_finds_what_a_line_cannot_see() -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(2, 400))
    y = x**2 + 0.3 * rng.normal(size=x.shape)
    sites = np.stack([x, y], axis=2)
    assert not climb_additively(sites, "linear").any()
    assert climb_additively(sites, "quadratic").tolist() == [[False, True], [False, False]]


def test_a_linear_additive_climb_scores_as_gaussian_bic_does() -> None:
    """Hill climbing on the same local scores ends in a local optimum of Gaussian BIC."""
    table = load_network("random-gaussian:6:6:2").sample(500, np.random.default_rng(7))
    found = DAG(table.names, climb_additively(table.values[None], "linear"))
    score = make_score("gaussian-bic", table)
    best = total_score(score, found)
    for a, b in found.edges:
        fewer = DAG.from_edges(table.names, [e for e in found.edges if e != (a, b)])
        assert total_score(score, fewer) < best


def test_sparse_steps_find_strong_arcs_and_no_cycle() -> None:
    rng = np.random.default_rng(8)
    a = rng.normal(size=4000)
    b = a + 0.5 * rng.normal(size=a.size)
    rows = np.stack([a / a.std(), b / b.std(), rng.normal(size=a.size)], axis=1)
    plain = learn_sparsely(rows.reshape(2, -1, 3), None, rng, SparseRules())
    assert (plain | plain.T).tolist() == [[False, True, False], [True, False, False], [False] * 3]
    noisy = learn_sparsely(rows.reshape(2, -1, 3), 1e-6, rng, SparseRules(threshold=0.0))
    assert DAG(("a", "b", "c"), noisy).n_edges >= 1, "a DAG, whatever the noise"


def test_summed_noise_is_that_of_all_sites() -> None:
    one = PrivateReleaser(Fraction(1), Random(1)).variance_of(1000, Fraction(1, 2))
    assert SummingReleaser(Fraction(1), Random(1), 7).variance_of(1000, Fraction(1, 2)) == 7 * one


def test_notears_by_admm_finds_strong_arcs_of_equal_variance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Directions are known where all noise has one variance (Peters & Bühlmann 2014); a tenth of
    the rounds is enough for three nodes."""
    monkeypatch.setattr(notears_admm, "ROUNDS", 20)
    truth = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
    rng = np.random.default_rng(9)
    a = rng.normal(size=3000)
    b = 1.5 * a + rng.normal(size=a.size)
    c = -1.2 * b + rng.normal(size=a.size)
    found = notears_admm.learn_by_admm(np.stack([a, b, c], axis=1).reshape(3, 1000, 3))
    assert DAG(truth.names, found) == truth
