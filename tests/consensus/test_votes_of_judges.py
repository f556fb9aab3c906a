"""Who is heard on a pair, where sites have different variables, and what they choose."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.consensus.judged_vote import judged_vote_of
from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import NEARER, prefer, select_among
from fedbn.consensus.remarks import remarks
from fedbn.consensus.threshold import choose_by_judges, path_states, select_consensus
from fedbn.consensus.votes import votes_of
from fedbn.consensus.votes_of_judges import votes_of_judges
from fedbn.fusion.inputs import merge_inputs
from fedbn.graphs.averaging import averaged_dag
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from tests import naive_variables as twin
from tests.naive_variables import given as as_dags

HALF = Fraction(1, 2)


@given(seed=st.integers(0, 100_000))
@settings(max_examples=60, deadline=None)
def test_votes_are_those_of_the_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(2, 7)), int(rng.integers(2, 7))
    sites = twin.random_sites(rng, n, r, 0.4, 0.6)
    inputs = merge_inputs(*as_dags(sites, n), "union")
    if inputs.observed is None:
        return
    dag = DAG(inputs.names, twin.random_dag(n, 0.5, rng))
    votes = votes_of_judges(inputs, dag)
    places = {tuple(pair): k for k, pair in enumerate(votes.pairs.tolist())}
    for x, y in combinations(range(n), 2):
        found = twin.heard(sites, x, y, dag.adjacency)
        assert votes.seen[x, y] * inputs.unit == sum(site.weight for site in found)
        wanted = [Fraction(0)] * 6
        for site in found:
            a, b = site.nodes.index(x), site.nodes.index(y)
            pattern = dag_to_cpdag(DAG(twin.names_of(len(site.nodes)), site.dag)).adjacency
            says = [
                twin.joins(site, x, y),
                pattern[a, b] and not pattern[b, a],
                pattern[b, a] and not pattern[a, b],
                pattern[a, b] and pattern[b, a],
                site.dag[a, b],
                site.dag[b, a],
            ]
            wanted = [
                sum_ + site.weight * bool(said) for sum_, said in zip(wanted, says, strict=True)
            ]
        if (x, y) in places:
            k = places[x, y]
            numbers = [votes.moral[k], *votes.classes[:, k], *votes.arcs[:, k]]
            assert [int(number) * inputs.unit for number in numbers] == wanted
        else:
            assert not any(wanted)


def test_an_edge_that_is_explained_says_nothing() -> None:
    """x -> m -> y: who lacks m joins x and y; one without m that does not is heard."""
    chain, without = DAG.from_edges("xmy", ["xm", "my"]), DAG.from_edges("xy", ["xy"])
    inputs = merge_inputs([chain, without, without], None, "union")
    first = chain.reorder(inputs.names)
    assert votes_of_judges(inputs, first).seen.tolist() == [[1, 1, 1], [1, 3, 1], [1, 1, 3]]
    apart = merge_inputs([DAG.from_edges("mx", ["mx"]), without, DAG.empty("xy")], None, "union")
    heard = votes_of_judges(apart, first)
    assert (heard.seen[1, 2], heard.matrix(heard.moral)[1, 2]) == (1, 0)
    alone = merge_inputs([DAG.from_edges("mx", ["mx"]), without], None, "union")
    heard = votes_of_judges(alone, first)
    assert (heard.seen[1, 2], heard.matrix(heard.moral)[1, 2]) == (1, 1)


@given(seed=st.integers(0, 100_000))
@settings(max_examples=40, deadline=None)
def test_judges_prefer_the_nearest_of_all(seed: int) -> None:
    """Of the states of the path, what judges leave of the vote, and what their own votes elect; a
    state of the path where it is as near. The knowledge is kept, where there is some."""
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(3, 7)), int(rng.integers(2, 7))
    sites = twin.random_sites(rng, n, r, 0.4, 0.6)
    dags, weights = as_dags(sites, n)
    known = twin.random_knowledge(rng, n) if rng.random() < 0.5 else None
    paths = mcbnc_paths(dags, weights, variables="union", knowledge=known)
    path, chosen = select_among(paths)
    assert known is None or not known.breaches(chosen.dag)
    assert chosen.mean_smhd == twin.distance(chosen.dag.adjacency, sites)
    inputs = paths[0].inputs
    if inputs.observed is None:
        return
    _, first = prefer(paths, select_consensus)
    vote, dag = judged_vote_of(inputs, knowledge=known), first.dag
    assert vote is not None
    if twin.distance(vote.adjacency, sites) < NEARER * first.mean_smhd:
        dag = vote
    assert select_among(paths, by_judges=False)[1].dag == dag
    assert select_among((path,))[1].dag == chosen.dag  # a run that is resumed has no other path
    heard = votes_of_judges(inputs, dag)
    elected = [
        averaged_dag(inputs.names, heard.arc_votes, heard.seen, threshold, known)
        for threshold in (None, HALF)
    ]

    def near(each: DAG) -> Fraction:
        return twin.distance_to_judges(each.adjacency, sites, dag.adjacency)

    on_path = min(near(state.dag) for state in path_states(path))
    beside = min(map(near, [vote, *elected]))
    first, away = select_among(paths, by_judges=False)[1], Fraction(n, 6)
    judged = choose_by_judges(path, prefer(paths, select_consensus)[1], first, vote)
    farther, usual = (twin.usual_distance(d.adjacency, sites) for d in (judged.dag, vote))
    assert chosen.led_away == (farther - usual > away)
    assert chosen.dag == (vote if chosen.led_away else judged.dag)
    chosen = judged
    assert near(chosen.dag) == min(on_path, beside)
    assert (chosen.reading == "vote") == (beside < on_path)
    narrow = choose_by_judges(path, prefer(paths, select_consensus)[1], first, vote, n)
    assert narrow.dag == chosen.dag


def test_dense_sites_that_lead_away_do_not_judge_alone() -> None:
    """Three of ten sites join everything: by what they led to nobody else judges. What they choose
    is far from half of the sites, and the judged vote is the consensus."""
    rng = np.random.default_rng(1)
    names = twin.names_of(12)
    true = DAG(names, twin.random_dag(12, 0.15, rng))
    dense = [DAG(names, twin.random_dag(12, 0.95, rng)) for _ in range(3)]
    own = [true.restrict([v for v in names if rng.random() < 0.8]) for _ in range(7)]
    paths = mcbnc_paths([*dense, *own], variables="union")
    path, chosen = select_among(paths)
    vote = judged_vote_of(path.inputs)
    assert (chosen.dag, chosen.reading) == (vote, "vote")
    assert any("far from half of the sites" in said for said in remarks(path, chosen))
    _, first = select_among(paths, by_judges=False)
    judged = choose_by_judges(path, prefer(paths, select_consensus)[1], first, vote)
    assert judged.dag.n_edges > 2 * vote.n_edges > 2 * true.n_edges


@given(seed=st.integers(0, 100_000))
@settings(max_examples=30, deadline=None)
def test_within_a_treewidth_distances_are_to_all_inputs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sites = twin.random_sites(rng, 6, 4, 0.3, 0.8)
    dags, weights = as_dags(sites, 6)
    _, narrow = select_among(mcbnc_paths(dags, weights, variables="union"), max_treewidth=1)
    assert narrow.dag.n_edges < 6
    assert narrow.mean_smhd == twin.distance(narrow.dag.adjacency, sites)


def test_all_votes_count_where_nothing_is_lacking_between() -> None:
    """By the empty graph everybody judges what it has."""
    rng = np.random.default_rng(3)
    sites = twin.random_sites(rng, 6, 5, 0.3, 0.6)
    inputs = merge_inputs(*as_dags(sites, 6), "union")
    heard, votes = votes_of_judges(inputs, DAG.empty(inputs.names)), votes_of(inputs)
    assert np.array_equal(heard.moral, votes.moral)
    assert np.array_equal(heard.classes, votes.classes)
    assert np.array_equal(heard.arcs, votes.arcs)
    assert np.array_equal(heard.seen, votes.seen)
