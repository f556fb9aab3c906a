"""Inputs over different variables: the twin, what is guaranteed, and what is not."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest

from fedbn._core.consensus import Outcome
from fedbn.consensus.deletions import new_deletions
from fedbn.consensus.judges import never_together
from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.path import POOLINGS
from fedbn.consensus.path_files import path_from_dict, path_to_dict
from fedbn.consensus.threshold import path_states, select_consensus
from fedbn.errors import ConfigError, StructureError
from fedbn.fusion.baselines import edge_vote, intersection
from fedbn.fusion.inputs import merge_inputs
from fedbn.fusion.union import fuse, fuse_in_stages
from fedbn.graphs.bits import pack
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from tests import naive_consensus as naive
from tests import naive_variables as twin
from tests.naive import all_dags


def told(path):
    return path.order, path.union, path.steps, path.inputs.unit


@pytest.mark.parametrize("seed", range(40))
def test_every_step_is_that_of_the_twin(seed: int) -> None:
    twin.random_comparison(10_000 + seed)


@pytest.mark.parametrize("seed", range(20))
def test_g1_what_the_union_separates_every_site_separates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    sites = twin.random_sites(rng, n, 3, 0.3, 0.5)
    dags, _ = twin.given(sites, n)
    path = mcbnc_path(dags, variables="union")
    union = path.union.adjacency
    for site in sites:
        for x, y in combinations(site.nodes, 2):
            rest = [v for v in site.nodes if v not in (x, y)]
            for size in range(len(rest) + 1):
                for s in combinations(rest, size):
                    if naive.separated(union, x, y, set(s)):
                        (a,), (b,) = site.own({x}), site.own({y})
                        assert naive.separated(site.dag, a, b, site.own(set(s)))


def statements(dag: np.ndarray, nodes: tuple[int, ...]) -> set[tuple[int, int, frozenset[int]]]:
    """All (x, y, S) over the nodes, of which the matrix rows are, that the graph separates."""
    place = {v: k for k, v in enumerate(nodes)}
    found = set()
    for x, y in combinations(nodes, 2):
        rest = [v for v in nodes if v not in (x, y)]
        for size in range(len(rest) + 1):
            for s in combinations(rest, size):
                if naive.separated(dag, place[x], place[y], {place[v] for v in s}):
                    found.add((x, y, frozenset(s)))
    return found


def all_sites(n: int) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """Every set of two nodes or more, with every DAG over it."""
    found = []
    for size in range(2, n + 1):
        matrices = [dag.adjacency for dag in all_dags(size)]
        found += [(nodes, m) for nodes in combinations(range(n), size) for m in matrices]
    return found


@pytest.mark.parametrize("n", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_g1_for_all_pairs_of_sites(n: int) -> None:
    """Every pair of sets of variables that are n together, with every DAG over each.

    Exhaustive for pairs at n = 3; at n = 4 every eighth pair, and all of them with
    FEDBN_TWIN_CASES. Of more sites or variables the proof needs no other case: G+ contains each
    site's I-map under the common order, and a path of a subgraph stays a path.
    """
    sites = all_sites(n)
    names = [f"v{i}" for i in range(n)]
    dags = [DAG(tuple(names[v] for v in nodes), matrix) for nodes, matrix in sites]
    own = [statements(matrix, nodes) for nodes, matrix in sites]
    of_union: dict[bytes, set] = {}
    step = 1 if n == 3 or "FEDBN_TWIN_CASES" in os.environ else 8
    checked = 0
    for i, j in combinations_with_replacement(range(len(sites)), 2):
        if len({*sites[i][0], *sites[j][0]}) < n or (i + j) % step:
            continue
        union = fuse([dags[i], dags[j]], variables="union").union.adjacency
        key = union.tobytes()
        if key not in of_union:
            of_union[key] = statements(union, tuple(range(n)))
        for k in (i, j):
            nodes = set(sites[k][0])
            asked = {s for s in of_union[key] if {s[0], s[1], *s[2]} <= nodes}
            assert asked <= own[k]
        checked += 1
    assert checked > 500


@pytest.mark.parametrize("seed", range(20))
def test_the_intersection_is_what_all_have_that_see_both_ends(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sites = twin.random_sites(rng, 5, 4, 0.3, 0.7)
    dags, _ = twin.given(sites, 5)
    shared = intersection(dags, variables="union")
    fusion = fuse(dags, variables="union")
    for a, b in combinations(shared.names, 2):
        for edge in ((a, b), (b, a)):
            maps = [
                imap
                for dag, imap in zip(dags, fusion.imaps, strict=True)
                if {a, b} <= set(dag.names)
            ]
            assert (edge in shared.edges) == bool(maps and all(edge in m.edges for m in maps))


@pytest.mark.parametrize("seed", range(5))
def test_g2_the_same_variables_give_the_same_path(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dags, weights = twin.given(twin.random_sites(rng, 5, 4, 0.0, 0.5), 5)
    assert told(mcbnc_path(dags, weights, variables="union")) == told(mcbnc_path(dags, weights))


@pytest.mark.parametrize("seed", range(10))
def test_g3_order_copies_and_a_site_of_no_variable_change_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dags, _ = twin.given(twin.random_sites(rng, 5, 3, 0.3, 0.6), 5)
    path = mcbnc_path(dags, [2, 1, 1], variables="union")
    mixed = [dags[2], dags[0].reorder(dags[0].names[::-1]), dags[1], dags[0]]
    assert told(mcbnc_path(mixed, variables="union"))[:3] == told(path)[:3]
    more = mcbnc_path([*dags, DAG.empty(())], [2, 1, 1, 1], variables="union")
    assert (more.union, more.steps) == (path.union, path.steps)


def test_a_site_of_one_variable_may_change_the_order() -> None:
    """It separates nothing, but there its variable is a sink, which lowers the mean cost."""
    dags, _ = twin.given(twin.random_sites(np.random.default_rng(7), 5, 3, 0.3, 0.6), 5)
    path = mcbnc_path(dags, [2, 1, 1], variables="union")
    lone = mcbnc_path([*dags, DAG.empty([dags[0].names[0]])], [2, 1, 1, 1], variables="union")
    assert lone.order != path.order


def test_g4_sites_without_a_common_variable_have_consensuses_of_their_own() -> None:
    one, other = DAG.from_edges("abc", ["ab", "bc"]), DAG.from_edges("xyz", ["xz", "yz"])
    both = select_consensus(mcbnc_path([one, other], variables="union")).dag
    assert set(both.edges) == {*one.edges, *other.edges}


def test_g6_the_share_is_that_of_the_judges() -> None:
    edge, none = DAG.from_edges("ab", ["ab"]), DAG.empty("ab")
    path = mcbnc_path([edge, edge, none, DAG.empty("c")], variables="union")
    assert [step.psi for step in path.steps] == [Fraction(2, 3)]


def test_sites_without_the_middle_of_a_chain_do_not_vote_for_its_ends() -> None:
    """Four sites lack b and truly see a - c; one has b and knows better."""
    whole, cut = DAG.from_edges("abc", ["ab", "bc"]), DAG.from_edges("ac", ["ac"])
    path = mcbnc_path([whole, cut, cut, cut, cut], variables="union")
    first = path.steps[0]
    assert ({first.x, first.y}, first.given, first.psi) == ({"a", "c"}, ("b",), 0)


def test_c1_a_pair_that_nobody_sees_is_not_joined_whatever_the_truth() -> None:
    path = mcbnc_path([DAG.empty("ab"), DAG.empty("bc")], variables="union")
    assert path.union.n_edges == 0
    place = path.inputs.names.index
    assert path.inputs.seen[place("a"), place("c")] == 0


def test_c2_without_a_judge_a_spurious_edge_stays_to_the_end() -> None:
    pairs = [DAG.from_edges(pair, [pair]) for pair in ("xy", "yz", "xz")]
    path = mcbnc_path(pairs, variables="union")
    assert path.union.n_edges == 3
    assert path.thetas == (Fraction(1),)


def test_c6_few_judges_are_joined_by_those_who_see_less() -> None:
    whole, cut = DAG.from_edges("abc", ["ab", "bc"]), DAG.from_edges("ac", ["ac"])
    dags = [whole, cut, cut, cut, cut]
    asked = mcbnc_path(dags, variables="union", min_judges=2)
    assert asked.steps[0].psi != 0


def test_c3_a_lost_cause_leaves_an_edge_too_many_until_it_is_judged() -> None:
    """a -> b <- L -> c <- d without L: no DAG over the rest has just its independences."""
    whole = DAG.from_edges("Labcd", ["ab", "Lb", "Lc", "dc"])
    names = "abcd"
    wanted = statements(whole.adjacency, tuple(range(5)))
    wanted = {s for s in wanted if 0 not in {s[0], s[1], *s[2]}}
    for dag in all_dags(4):
        found = statements(dag.adjacency, (1, 2, 3, 4))
        assert found != wanted
    site = DAG.from_edges(names, ["ab", "ac", "bc", "dc"])  # an I-map of what it sees
    assert statements(site.adjacency, (1, 2, 3, 4)) <= wanted
    path = mcbnc_path([whole, site, site], variables="union")
    first = path.steps[0]
    assert {first.x, first.y} in ({"a", "c"}, {"b", "c"})
    assert ("L" in first.given, first.psi) == (True, 0)


def test_c4_an_edge_of_those_who_see_less_is_in_the_union_whatever_the_others_say() -> None:
    """The sites agree on a -> b -> c where b is seen; G+ has a - c all the same, until its Ψ."""
    whole, cut = DAG.from_edges("abc", ["ab", "bc"]), DAG.from_edges("ac", ["ac"])
    path = mcbnc_path([whole, cut], variables="union")
    assert {"a", "c"} in [{*edge} for edge in path.union.edges]
    assert path.thetas[0] == 0
    assert {"a", "c"} not in [{*edge} for edge in path_states(path, "search")[1].dag.edges]


def test_c5_two_sites_are_right_and_disagree_on_a_direction() -> None:
    """a -> c <- b, c -> d: with b the arrow at c is compelled, without it a - c is not."""
    truth = DAG.from_edges("abcd", ["ac", "bc", "cd"])
    one = DAG.from_edges("abc", ["ac", "bc"])
    other = DAG.from_edges("acd", ["dc", "ca"])  # over a, c, d equivalent to the truth
    cut = {s for s in statements(truth.adjacency, (0, 1, 2, 3)) if 1 not in {s[0], s[1], *s[2]}}
    assert statements(other.adjacency, (0, 2, 3)) == cut
    assert ("a", "c") in one.edges
    assert ("c", "a") in other.edges
    consensus = select_consensus(mcbnc_path([one, other], variables="union")).dag
    place = consensus.names.index
    assert not naive.separated(consensus.adjacency, place("a"), place("b"), set())


@pytest.mark.parametrize("n", [5, 6])
def test_g1_random_pairs_of_sites(n: int) -> None:
    """Sets and DAGs at random where there are too many for all."""
    rng = np.random.default_rng(n)
    for _ in range(12):
        sites = twin.random_sites(rng, n, 2, 0.2, float(rng.choice([0.3, 0.7])))
        dags, _ = twin.given(sites, n)
        union = statements(fuse(dags, variables="union").union.adjacency, tuple(range(n)))
        for site in sites:
            seen = set(site.nodes)
            asked = {s for s in union if {s[0], s[1], *s[2]} <= seen}
            assert asked <= statements(site.dag, tuple(site.nodes))


@pytest.mark.parametrize("seed", range(6))
def test_g3_variables_that_nobody_joins_change_no_step(seed: int) -> None:
    """The same sites on 70 more variables, which makes their sets of several words."""
    rng = np.random.default_rng(seed)
    dags, weights = twin.given(twin.random_sites(rng, 6, 4, 0.2, 0.6), 6)
    more = [f"v{i % 6}x{i}" for i in range(70)]
    names = [sorted({*rng.permutation(more)[:60].tolist(), *dag.names}) for dag in dags]
    wide = [dag.extend(own) for dag, own in zip(dags, names, strict=True)]
    pooling = POOLINGS[seed % 3]
    few = mcbnc_path(dags, weights, variables="union", pooling=pooling)
    many = mcbnc_path(wide, weights, variables="union", pooling=pooling)
    assert [v for v in many.order if v not in more] == list(few.order)
    assert many.steps == few.steps


def test_g5_edges_decrease_and_every_prefix_is_the_path_to_its_threshold() -> None:
    dags, weights = twin.given(twin.random_sites(np.random.default_rng(5), 6, 4, 0.3, 0.6), 6)
    path = mcbnc_path(dags, weights, variables="union")
    edges = [state.n_edges for state in path_states(path, "search")]
    assert edges == sorted(set(edges), reverse=True)
    for theta in path.thetas:
        part = mcbnc_path(dags, weights, variables="union", threshold=theta)
        done = sum(step.theta <= theta for step in path.steps)
        assert part.steps == path.steps[:done]


def test_who_never_judges_splits_no_family() -> None:
    """A site without `f1` and `f2` joins nothing, but some other site always has more of S. A bound
    that lets it judge alone is 0 for all of the 2^12 sets between two of the others."""
    middle = [f"c{i:02}" for i in range(14)]
    every = ["f1", "f2", *middle]

    def complete(names: list[str]) -> DAG:
        pairs = [edge for edge in combinations(names, 2) if edge != ("f1", "f2")]
        return DAG.from_edges(names, pairs)

    low, high = [*every[:2], *middle[7:]], [*every[:2], *middle[:7]]
    dags = [complete(names) for names in (["f2", *middle], low, high)]
    inputs = merge_inputs([*dags, DAG.empty(middle)], variables="union")
    union = complete(every).reorder(inputs.names).adjacency
    search = new_deletions(inputs, pack(union.T), 10, "mean")
    search.advance(1, 10**6, 2**62, 1)
    assert search.done == 1
    assert len(search.known()) < 1000


def test_a_quorum_asks_all_who_see_a_pair_where_they_are_fewer() -> None:
    """Only one of three sees c; a - b has two of three."""
    edge = DAG.from_edges("ab", ["ab"])
    dags = [DAG.from_edges("abc", ["ab", "bc"]), edge, DAG.empty("ab")]
    joined = [mcbnc_path(dags, variables="union", quorum=q).union.edges for q in (1, 2, 3)]
    assert joined == [(("a", "b"), ("b", "c"))] * 2 + [(("b", "c"),)]


def test_a_required_edge_is_there_though_no_site_has_both_ends() -> None:
    known = Knowledge(required=(("a", "c"),))
    dags = [DAG.from_edges("ab", ["ab"]), DAG.from_edges("bc", ["bc"])]
    path = mcbnc_path(dags, variables="union", knowledge=known)
    assert ("a", "c") in path.union.edges
    assert ("a", "c") in select_consensus(path).dag.edges
    assert never_together(path.inputs) == (("a", "c"),)
    with pytest.raises(ConfigError, match="d"):
        mcbnc_path(dags, variables="union", knowledge=Knowledge(required=(("a", "d"),)))


def test_a_vote_is_counted_among_those_who_see_the_pair() -> None:
    dags = [DAG.from_edges("ab", ["ab"])] * 2 + [DAG.empty("c")] * 3
    assert edge_vote(dags, threshold=Fraction(1, 2), variables="union").edges == (("a", "b"),)


def test_a_path_is_read_back_from_a_file() -> None:
    dags, _ = twin.given(twin.random_sites(np.random.default_rng(3), 5, 3, 0.3, 0.6), 5)
    path = mcbnc_path(dags, variables="union")
    again = path_from_dict(json.loads(json.dumps(path_to_dict(path))))
    assert told(again) == told(path)
    assert [step.given for step in again.steps] == [step.given for step in path.steps]
    assert np.array_equal(again.inputs.observed, path.inputs.observed)


def test_sites_of_few_kinds_need_few_minimum_cuts() -> None:
    """Sites that lack the same panel judge together. If each of them might judge alone, some
    deletions of this path would take more than 2,000 cuts."""
    rng, n, sites = np.random.default_rng(1), 50, []
    for site in range(10):
        has = np.flatnonzero(np.arange(n) % 5 != site % 4)
        order = rng.permutation(len(has))
        arcs = np.triu(rng.random((len(has),) * 2) < 0.1, 1)[np.ix_(order, order)]
        sites.append(DAG(tuple(f"v{v:02}" for v in has), arcs))
    inputs = merge_inputs(sites, None, "union")
    _, union = fuse_in_stages(inputs, None, lambda *_: None)
    search = new_deletions(inputs, union, 10, "mean")
    outcomes = {search.advance(64, 2000, 2**62, 1) for _ in range(search.n_edges // 64 + 1)}
    assert outcomes == {Outcome.limit, Outcome.done}


def test_what_does_not_fit_is_refused() -> None:
    dags = [DAG.from_edges("ab", ["ab"]), DAG.empty("ac")]
    with pytest.raises(StructureError, match="differs from DAG 1"):
        mcbnc_path(dags)
    with pytest.raises(ConfigError, match="min_judges"):
        mcbnc_path(dags, variables="union", min_judges=0)
    with pytest.raises(ConfigError, match="variables must be"):
        mcbnc_path(dags, variables="some")  # type: ignore[arg-type]
