"""The tree over sites, the test of one population, the cut, and where groups differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx import Graph
from networkx.algorithms.community import louvain_communities

from fedbn.errors import ConfigError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.graphs.moral import moral_graph
from fedbn.graphs.random import perturb, random_dag
from fedbn.groups.alike_sizes import differing_pairs, have_alike_sizes
from fedbn.groups.core import core_of
from fedbn.groups.cut import SEED, Split, cut_by_test, cut_into, cut_of
from fedbn.groups.differences import differences_of, holm
from fedbn.groups.grouping import Grouping, given_groups, group_sites
from fedbn.groups.one_population import (
    DRAWS,
    MOST_SITES,
    coherence,
    communities,
    explained_by_parts,
    explained_by_spans,
    residuals_of,
)
from fedbn.groups.outliers import outliers_of
from fedbn.groups.profiles import BLOCK, SiteStructures, distances_in_blocks, profiles_of
from fedbn.groups.redrawn import p_of_redrawn
from fedbn.groups.regions import regions_between
from fedbn.groups.requested import requested_groups
from fedbn.groups.size_adjusted import COLUMNS, PRECISIONS, beyond_rows, turned_apart
from fedbn.groups.tree import SiteTree, tree_of
from fedbn.networks.random import node_names
from tests import naive_groups as naive
from tests.strategies import dag_lists

ONE = (Fraction(1),)


def sites_of(dags: list[DAG], rows: int | None = None) -> list[SiteStructures]:
    return [SiteStructures(f"s{i:03}", (dag,), ONE, rows) for i, dag in enumerate(dags)]


def two_populations(sizes: tuple[int, ...], seed: int, moved: int = 12) -> list[SiteStructures]:
    """Sites around DAGs that differ by so many changes; a site by three more of its own."""
    rng = np.random.default_rng(seed)
    names = [f"v{i:02}" for i in range(24)]
    first = random_dag(names, rng=rng, edges=30)
    centres = [first, *(perturb(first, moved, rng=rng) for _ in sizes[1:])]
    dags = [
        perturb(centre, 3, rng=rng)
        for centre, size in zip(centres, sizes, strict=True)
        for _ in range(size)
    ]
    return sites_of(dags, rows=1000)


def first_dag(entries: object) -> DAG:
    return entries[0].dags[0]  # type: ignore[index, no-any-return]


@given(dag_lists(max_dags=6), st.integers(1, 7))
def test_distances_are_mean_smhds(dags: list[DAG], split: int) -> None:
    half = [dags[i : i + 2] for i in range(0, len(dags), 2)]
    weighted = []
    for group in half:
        share = Fraction(split, 8) if len(group) == 2 else Fraction(1)
        weighted.append(list(zip(group, (share, 1 - share), strict=False)))
    entries = [
        SiteStructures(f"s{i}", tuple(d for d, _ in w), tuple(s for _, s in w))
        for i, w in enumerate(weighted)
    ]
    found = distances_in_blocks(profiles_of(entries).shares)
    expected = [naive.mean_smhd_between(a, b) for a, b in combinations(weighted, 2)]
    assert found.tolist() == [float(e) for e in expected]


def test_distances_do_not_depend_on_the_blocks() -> None:
    rng = np.random.default_rng(5)
    shares = rng.integers(0, 2, size=(BLOCK + 9, 30)).astype(float)
    found = distances_in_blocks(shares)
    place = {pair: k for k, pair in enumerate(combinations(range(len(shares)), 2))}
    for i, j in [
        (0, 1),
        (0, BLOCK + 8),
        (BLOCK - 1, BLOCK),
        (BLOCK, BLOCK + 8),
        (BLOCK + 7, BLOCK + 8),
    ]:
        assert found[place[i, j]] == np.abs(shares[i] - shares[j]).sum()


@given(st.integers(2, 7), st.integers(0, 10_000))
def test_heights_are_those_of_average_linkage(m: int, seed: int) -> None:
    shares = np.random.default_rng(seed).random((m, 5))
    square = np.zeros((m, m))
    square[np.triu_indices(m, k=1)] = distances_in_blocks(shares)
    square += square.T
    tree = SiteTree(
        profiles_of(sites_of([DAG.empty("ab")] * m)), *_link(distances_in_blocks(shares))
    )
    assert np.allclose(sorted(naive.heights(square.tolist())), tree.linkage[:, 2])


def _link(distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from scipy.cluster.hierarchy import average

    return distances, average(distances)


def test_every_cut_is_nested_in_the_one_above() -> None:
    tree = tree_of(profiles_of(two_populations((5, 4), seed=1)))
    for k in range(1, 9):
        cut, finer = cut_into(tree, k).groups, cut_into(tree, k + 1).groups
        assert len(set(cut)) == k
        assert len(set(zip(cut, finer, strict=True))) == k + 1
    with pytest.raises(ConfigError, match="1 to 9 groups of 9 sites, got 10"):
        cut_into(tree, 10)


@given(st.integers(2, 6), st.integers(1, 4), st.data())
def test_explained_is_the_sum_over_pairs_of_sites(
    m: int, columns: int, data: st.DataObject
) -> None:
    seed = data.draw(st.integers(0, 10_000))
    residuals = np.random.default_rng(seed).normal(size=(m, columns))
    part = np.zeros(m, bool)
    part[: data.draw(st.integers(1, m - 1))] = True
    found = explained_by_parts(residuals, part[None])[0]
    assert found == pytest.approx(naive.explained(residuals.tolist(), part.tolist()), abs=1e-9)


@given(st.integers(3, 9), st.integers(0, 10_000))
def test_spans_are_explained_as_parts_are(m: int, seed: int) -> None:
    residuals = np.random.default_rng(seed).normal(size=(m, 4))
    spans = np.array([(a, b) for a in range(m) for b in range(a + 1, m + 1) if b - a < m])
    parts = np.array([(np.arange(m) >= a) & (np.arange(m) < b) for a, b in spans])
    assert np.allclose(explained_by_spans(residuals, spans), explained_by_parts(residuals, parts))


@given(st.integers(3, 9), st.integers(0, 10_000))
def test_residuals_are_orthogonal_to_the_covariate(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares, covariate = rng.random((m, 4)), rng.random(m)
    left = residuals_of(shares, covariate)
    for power in range(3):
        assert np.allclose(covariate**power @ left, 0)


def test_a_line_is_taken_out_of_two_values() -> None:
    shares, covariate = np.random.default_rng(0).random((5, 3)), np.array([1.0, 1, 4, 4, 4])
    left = residuals_of(shares, covariate)
    assert np.allclose(covariate @ left, 0)
    assert np.abs(left).max() > 0.1


@settings(max_examples=15)
@given(st.integers(2, 9), st.integers(0, 10_000))
def test_what_rows_explain_is_a_logistic_regression(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.integers(0, 3, size=(m, 3)) / 2
    logs = np.log(rng.integers(1, 10_000, size=m))
    found = shares - beyond_rows(shares, logs)
    for column, own in zip(shares.T, found.T, strict=True):
        expected = naive.expected_shares(column.tolist(), logs.tolist(), PRECISIONS)
        assert own == pytest.approx(expected, abs=1e-7)


def test_a_lacking_edge_surprises_at_a_large_site_only() -> None:
    logs = np.log([100, 150, 200, 300, 4000, 5000, 6000, 9000])
    shares = np.array([[0.0, 0, 0, 0, 1, 1, 1, 0]]).T
    left = np.abs(beyond_rows(shares, logs)[:, 0])
    assert left[7] > 3 * left[:3].max()
    more = beyond_rows(shares, logs + np.log(7))
    assert np.allclose(np.abs(more[:, 0]), left)


@pytest.mark.parametrize("pairs", [0, 1, COLUMNS - 1, COLUMNS, COLUMNS + 1])
def test_pairs_are_fitted_each_by_itself(pairs: int) -> None:
    rng = np.random.default_rng(pairs)
    shares, logs = rng.integers(0, 2, size=(6, pairs)).astype(float), np.log(rng.integers(9, 99, 6))
    whole = beyond_rows(shares, logs)
    assert whole.shape == shares.shape
    for k in range(0, pairs, 50):
        assert np.allclose(whole[:, k], beyond_rows(shares[:, [k]], logs)[:, 0], atol=1e-8)


@given(st.integers(2, 6), st.integers(0, 10_000))
def test_sites_are_apart_by_the_cosine_of_their_residuals(m: int, seed: int) -> None:
    rows = np.random.default_rng(seed).integers(-2, 3, size=(m, 3)).astype(float)
    expected = [naive.turned(a, b) for a, b in combinations(rows.tolist(), 2)]
    assert turned_apart(rows) == pytest.approx(expected, abs=1e-6)


def test_turned_apart_does_not_depend_on_the_blocks() -> None:
    rows = np.random.default_rng(6).normal(size=(BLOCK + 3, 4))
    found = turned_apart(rows)
    place = {pair: k for k, pair in enumerate(combinations(range(len(rows)), 2))}
    for i, j in [(0, 1), (0, BLOCK), (BLOCK - 1, BLOCK), (BLOCK, BLOCK + 2)]:
        expected = naive.turned(rows[i].tolist(), rows[j].tolist())
        assert found[place[i, j]] == pytest.approx(expected, abs=1e-6)


def test_sites_of_few_rows_join_their_population_not_each_other() -> None:
    """Small sites have a third of their population's edges, those that need few rows."""
    rng = np.random.default_rng(4)
    names = [f"v{i:02}" for i in range(30)]
    first = random_dag(names, rng=rng, edges=40)
    centres = (first, perturb(first, 20, rng=rng))
    truth = (0, 1) * 6
    rows = [(150, 400, 1200, 3000, 6000, 9000)[k // 2] for k in range(12)]
    sites = []
    for k, (group, own) in enumerate(zip(truth, rows, strict=True)):
        edges = centres[group].edges
        kept = edges[: int(len(edges) * min(1.0, (np.log(own) - 3) / 5))]
        dag = perturb(DAG.from_edges(names, kept), 2, rng=rng)
        sites.append(SiteStructures(f"s{k:02}", (dag,), ONE, own))
    told = tree_of(profiles_of(sites))
    silent = tree_of(profiles_of([replace(site, rows=None) for site in sites]))
    assert told.cut(2) == truth
    assert silent.cut(2) != truth
    assert cut_by_test(told).groups == truth


def test_equal_rows_take_the_mean_away() -> None:
    shares = np.random.default_rng(2).random((5, 7))
    left = beyond_rows(shares, np.full(5, np.log(700)))
    assert np.array_equal(left, shares - shares.mean(axis=0))
    nearly = beyond_rows(shares, np.log([700, 700, 700, 700, 701]))
    assert np.abs(nearly - left).max() < 0.05


def test_rows_that_are_not_told_leave_the_tree_to_smhd() -> None:
    silent = [replace(site, rows=None) for site in two_populations((5, 4), seed=3)]
    tree = tree_of(profiles_of(silent))
    assert tree.distances.tolist() == distances_in_blocks(tree.profiles.shares).tolist()


@given(st.integers(0, 10_000))
def test_regions_are_counted_as_a_walk_counts_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = np.array([(a, b) for a in range(7) for b in range(a + 1, 7)])
    part = np.arange(4) < 2
    shares = np.where(part[:, None], rng.random(len(pairs)) < 0.2, 0.0)
    apart = [tuple(pair) for pair, share in zip(pairs.tolist(), shares[0], strict=True) if share]
    shares[1] = shares[0]
    assert regions_between(shares, pairs, part) == naive.regions(apart)


def test_a_small_difference_in_one_region_is_no_population() -> None:
    """Six pairs in two regions are a group; in one region, eight are needed."""
    chain = Split((0, 1), (2, 3), 0.001, 0.03, 7.5, regions=1)
    apart = replace(chain, regions=2)
    assert (chain.made, apart.made) == (False, True)
    assert [replace(chain, pairs=pairs).made for pairs in (7.99, 8.0)] == [False, True]
    assert [replace(apart, pairs=pairs).made for pairs in (5.99, 6.0)] == [False, True]
    assert [replace(apart, regions=regions).made for regions in (0, 1, 3)] == [False, False, True]
    assert replace(chain, pairs=2.0, redrawn=True).made
    assert chain.significant


@given(st.integers(3, 7), st.integers(0, 10_000))
def test_differing_pairs_are_sums_over_pairs_of_sites(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares, part = rng.integers(0, 3, size=(m, 5)) / 2, np.arange(m) < 1 + seed % (m - 1)
    expected = naive.differing_pairs(shares.tolist(), part.tolist())
    assert differing_pairs(shares, part) == pytest.approx(expected, abs=1e-9)


def test_alike_sizes_need_little_spread_and_differences_both_ways() -> None:
    part = np.arange(8) < 4
    both = np.repeat(np.where(part[:, None], [1, 1, 0, 0], [0, 0, 1, 1]), 3, axis=1).astype(float)
    nested = np.repeat(part[:, None], 12, axis=1).astype(float)
    assert have_alike_sizes(both, part)
    assert not have_alike_sizes(np.hstack([nested, np.ones((8, 9))]), part)
    uneven = np.hstack([both, np.tril(np.ones((8, 8)))])
    assert not have_alike_sizes(uneven, part)


def test_parts_of_different_sizes_have_no_alike_ones() -> None:
    """Six pairs against twelve: each part is of alike sites, and the parts differ both ways."""
    part, common = np.arange(8) < 4, np.ones((8, 12))
    few, many = np.repeat(part[:, None], 6, axis=1), np.repeat(~part[:, None], 12, axis=1)
    assert not have_alike_sizes(np.hstack([common, few, many]).astype(float), part)
    assert have_alike_sizes(np.hstack([common, few, many[:, :7]]).astype(float), part)


def random_several(
    rng: np.random.Generator, m: int, pairs: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of every site two or three structures, which agree in some pairs, and their shares."""
    found = []
    for _ in range(m):
        k = int(rng.integers(2, 4))
        joined = rng.integers(0, 2, (k, pairs)).astype(float)
        joined[:, : pairs // 3] = joined[0, : pairs // 3]
        found.append((joined, rng.dirichlet(np.ones(k))))
    return found


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_what_rows_explain_goes_out_of_means_and_redrawn_alike(seed: int, told: bool) -> None:
    rng = np.random.default_rng(seed)
    structures, logs = random_several(rng, 5, 3), np.log(rng.integers(50, 5_000, size=5))
    part = np.arange(5) < 2
    means = np.stack([shares @ joined for joined, shares in structures])

    def left(shares: np.ndarray) -> list[list[float]]:
        if not told:
            return residuals_of(shares, logs).tolist()
        expected = [naive.expected_shares(c.tolist(), logs.tolist(), PRECISIONS) for c in shares.T]
        return (shares - np.transpose(expected)).tolist()

    draws, count = np.random.default_rng(seed), 5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedbn.groups.redrawn.DRAWS", count)
        take = beyond_rows if told else residuals_of
        found = p_of_redrawn(
            structures, lambda shares: take(shares, logs), part, np.random.default_rng(seed)
        )
    chosen = [draws.choice(len(s), size=count, p=s) for _, s in structures]
    redrawn = [
        left(np.stack([joined[c[i]] for (joined, _), c in zip(structures, chosen, strict=True)]))
        for i in range(count)
    ]
    assert found == naive.p_of_redrawn(left(means), redrawn, part.tolist())


def several(shift: int, seed: int) -> list[SiteStructures]:
    """Eight sites, with five structures each that vary in two edges; half have `shift` others."""
    rng = np.random.default_rng(seed)
    base = random_dag([f"v{i:02}" for i in range(14)], rng=rng, edges=18)
    other = perturb(base, shift, rng=rng)
    return [
        SiteStructures(
            f"s{i}",
            tuple(perturb(base if i < 4 else other, 2, rng=rng) for _ in range(5)),
            (Fraction(1, 5),) * 5,
            1000,
        )
        for i in range(8)
    ]


def test_several_structures_show_a_difference_of_few_edges() -> None:
    cuts = [cut_by_test(tree_of(profiles_of(several(4, seed)))) for seed in range(4)]
    assert [cut.groups for cut in cuts] == [(0,) * 4 + (1,) * 4] * 4
    silent = [
        [replace(s, rows=None, resampled=True) for s in several(4, seed)] for seed in range(4)
    ]
    assert [cut_by_test(tree_of(profiles_of(each))).groups for each in silent] == [
        (0,) * 4 + (1,) * 4
    ] * 4
    alone = [replace(s, dags=s.dags[:1], shares=(Fraction(1),)) for s in several(4, 0)]
    assert set(cut_by_test(tree_of(profiles_of(alone))).groups) == {0}


def test_several_structures_of_unequal_rows_are_tested_as_the_tree_sees_them() -> None:
    """The p-value of a set is that of the residuals by which its branch was found."""
    rows = (100, 9_000, 400, 2_000, 8_000, 150, 3_000, 600)
    sites = [replace(s, rows=n) for s, n in zip(several(4, 0), rows, strict=True)]
    profiles = profiles_of(sites)
    cut = cut_by_test(tree_of(profiles))
    assert cut.groups == (0,) * 4 + (1,) * 4
    first = cut.splits[0]
    part = np.isin(np.arange(8), first.part)
    left = beyond_rows(profiles.shares, profiles.covariate)
    assert first.pairs == explained_by_parts(left, part[None])[0] / 2
    own = [profiles.structures_of(i) for i in range(8)]
    assert first.p == p_of_redrawn(
        own,
        lambda shares: beyond_rows(shares, profiles.covariate),
        part,
        np.random.default_rng(SEED),
    )


@given(st.integers(2, 5), st.integers(0, 10_000))
def test_structures_that_vary_stand_for_rows_that_are_not_told(m: int, seed: int) -> None:
    """By the definition: the mean SMHD over all pairs of a site's own structures."""
    rng = np.random.default_rng(seed)
    sites = []
    for i in range(m):
        weights = [int(w) for w in rng.integers(1, 5, size=int(rng.integers(2, 4)))]
        dags = tuple(random_dag(list("abcde"), rng=rng, edges=5) for _ in weights)
        shares = tuple(Fraction(w, sum(weights)) for w in weights)
        sites.append(SiteStructures(f"s{i}", dags, shares, resampled=True))
    expected = []
    for site in sites:
        own = list(zip(site.dags, site.shares, strict=True))
        apart = sum(s * t * smhd(a, b) for a, s in own for b, t in own)
        expected.append(-2.0 * np.log(1.0 + float(apart)))
    profiles = profiles_of(sites)
    assert profiles.shows_rows
    assert profiles.covariate == pytest.approx(expected, abs=1e-4)
    one = profiles_of([replace(s, dags=s.dags[:1], shares=ONE) for s in sites])
    cut = profiles_of([*sites[1:], replace(sites[0], resampled=False)])
    for other in (one, cut):
        assert not other.shows_rows
        assert other.covariate.tolist() == other.shares.sum(axis=1).tolist()


def of_few_and_of_many_rows(seed: int) -> list[SiteStructures]:
    """Ten sites of one population: five find other edges than the rest, as tables of few rows let
    them, and their structures vary more. All structures have equally many moral edges."""
    rng = np.random.default_rng(seed)
    many = random_dag([f"v{i:02}" for i in range(20)], rng=rng, edges=28)
    few = next(as_large(many, 6, rng))
    return [
        SiteStructures(
            f"s{i}",
            tuple(islice(as_large(few, 4, rng) if i < 5 else as_large(many, 1, rng), 10)),
            (Fraction(1, 10),) * 10,
            resampled=True,
        )
        for i in range(10)
    ]


def as_large(dag: DAG, changes: int, rng: np.random.Generator) -> Iterator[DAG]:
    """DAGs so many changes away whose moral graphs have as many edges."""
    while True:
        other = perturb(dag, changes, rng=rng)
        if moral_graph(other).sum() == moral_graph(dag).sum():
            yield other


def test_sites_of_few_rows_that_are_not_told_are_no_population() -> None:
    cuts = [cut_by_test(tree_of(profiles_of(of_few_and_of_many_rows(seed)))) for seed in range(4)]
    assert {cut.groups for cut in cuts} == {(0,) * 10}
    assert all(split.redrawn for cut in cuts for split in cut.splits)


def test_alike_sites_with_several_structures_stay_together() -> None:
    cuts = [cut_by_test(tree_of(profiles_of(several(0, seed)))) for seed in range(6)]
    assert {cut.groups for cut in cuts} == {(0,) * 8}
    assert all(split.redrawn for cut in cuts for split in cut.splits)


@pytest.mark.parametrize("sizes", [(6, 4), (7, 3), (6, 6, 6)])
def test_populations_that_differ_are_found(sizes: tuple[int, ...]) -> None:
    truth = tuple(g for g, size in enumerate(sizes) for _ in range(size))
    right = 0
    for seed in range(4):
        tree = tree_of(profiles_of(two_populations(sizes, seed, moved=20)))
        right += cut_by_test(tree).groups == truth
    assert right == 4


def test_alike_sites_are_one_group_and_a_tested_one() -> None:
    splits = [cut_by_test(tree_of(profiles_of(two_populations((10,), seed)))) for seed in range(10)]
    assert [max(cut.groups) for cut in splits] == [0] * 10
    assert all(not split.made for cut in splits for split in cut.splits)


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_groups_found_have_two_sites_at_least(seed: int) -> None:
    cut = cut_by_test(tree_of(profiles_of(two_populations((4, 3), seed))), alpha=1.0)
    assert min(np.bincount(cut.groups)) >= 2


def test_a_difference_in_one_block_alone_is_not_coherent() -> None:
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    part = np.arange(10) < 5
    shares = np.repeat(part[:, None], 3, axis=1).astype(float)
    residuals = residuals_of(shares, np.zeros(10))
    assert coherence(residuals, pairs, shares.sum(axis=0), part, np.random.default_rng(0)) == 1.0


def test_votes_by_which_networkx_does_not_end_have_communities() -> None:
    """Sachs, ten sites of two populations: networkx 3.6.1 sends a variable to and fro for ever."""
    text = """0 1 2  0 3 4  0 7 4  0 9 1  1 3 6  1 7 6  2 7 6  2 8 6  3 7 1  3 8 1  3 10 2  4 5 2
    4 6 2  4 7 4  4 8 4  5 6 4  5 9 5  6 9 3  7 8 1  7 10 1  8 9 1  8 10 2  9 10 1"""
    told = np.array(text.split(), dtype=np.int64).reshape(-1, 3)
    found = communities(told[:, :2], told[:, 2].astype(np.float64))
    assert found.shape == (11,)
    assert 1 < len(set(found)) < 11
    assert [*dict.fromkeys(found)] == [*range(max(found) + 1)]


@given(st.integers(2, 9), st.integers(0, 10_000))
def test_communities_are_those_of_networkx(n: int, seed: int) -> None:
    """With votes of which no two differ by chance alone, so that it ends."""
    rng = np.random.default_rng(seed)
    pairs = np.array([*combinations(range(n), 2)])
    votes = rng.random(len(pairs)) * (rng.random(len(pairs)) < 0.5)
    graph = Graph()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from(
        (int(a), int(b), float(v)) for (a, b), v in zip(pairs, votes, strict=True) if v > 0
    )
    expected = {frozenset(each) for each in louvain_communities(graph, seed=0)}
    found = communities(pairs, votes)
    assert {frozenset(np.flatnonzero(found == c).tolist()) for c in set(found)} == expected


def test_many_sites_are_tested_by_some() -> None:
    rng = np.random.default_rng(3)
    part = np.arange(300) < 20
    pairs = np.array([[3 * k, 3 * k + 1] for k in range(8)])
    shares = (rng.random((300, 8)) < np.where(part, 0.9, 0.1)[:, None]).astype(float)
    assert len(part) > MOST_SITES
    p = coherence(residuals_of(shares, np.zeros(300)), pairs, shares.sum(axis=0), part, rng)
    assert p == 1 / (1 + DRAWS)


def test_the_order_of_sites_and_names_does_not_matter() -> None:
    sites = two_populations((5, 4), seed=3, moved=20)
    turned = [
        SiteStructures(s.site, tuple(d.reorder(d.names[::-1]) for d in s.dags), s.shares, s.rows)
        for s in reversed(sites)
    ]
    one, other = (group_sites(each, "auto", first_dag) for each in (sites, turned))
    assert one.cut == other.cut
    assert one.differences == other.differences
    assert one.count == 2


def test_rows_that_are_not_told_cost_power_and_are_said() -> None:
    told = two_populations((6, 4), seed=2, moved=20)
    silent = [SiteStructures(s.site, s.dags, s.shares) for s in told]
    assert "with the sites' numbers of rows" in group_sites(told, "auto", first_dag).lines()[1]
    assert "without the sites' rows" in group_sites(silent, "auto", first_dag).lines()[1]


def test_an_outlier_is_named_and_stays() -> None:
    sites = two_populations((9,), seed=4)
    rng = np.random.default_rng(0)
    odd = random_dag(sites[0].dags[0].names, rng=rng, edges=60)
    grouping = group_sites([*sites, SiteStructures("odd", (odd,), ONE, 1000)], "auto", first_dag)
    assert [grouping.tree.profiles.sites[i] for i in grouping.outliers] == ["odd"]
    assert grouping.count == 1
    assert "'odd' stands alone" in grouping.lines()[1]
    assert group_sites(sites, "auto", first_dag).outliers == ()


def test_alike_sites_seldom_stand_alone() -> None:
    """In 10 of these 100 federations some did, when sites that agree well had a constant spread."""
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        truth = random_dag(node_names(20), edges=25, rng=rng)
        dags = [perturb(truth, int(rng.poisson(3)), rng=rng) for _ in range(8)]
        alarms += bool(outliers_of(tree_of(profiles_of(sites_of(dags))), (0,) * 8))
    assert alarms <= 2


def test_one_group_has_the_consensus_of_all() -> None:
    sites = sites_of([DAG.from_edges("abc", ["ab"])] * 4)
    whole = DAG.from_edges("abc", ["ab", "bc"])
    grouping = group_sites(sites, "auto", first_dag, whole)
    assert grouping.consensuses == (whole,)
    assert (
        "p = 1.000 (level 0.05); the two parts differ in 0.0 pairs of variables: no sign of"
        in grouping.lines()[1]
    )
    assert group_sites(sites[:3], "auto", first_dag).lines()[1].startswith("Too few sites")


def test_given_groups_are_taken_and_checked() -> None:
    sites = sites_of([DAG.from_edges("abc", ["ab"]), DAG.empty("abc"), DAG.empty("abc")])
    grouping = given_groups(sites, {"s000": "west", "s001": "east", "s002": "east"}, first_dag)
    assert grouping.cut.groups == (0, 1, 1)
    assert grouping.members(2) == ("s001", "s002")
    with pytest.raises(ConfigError, match="'s002' has no group"):
        given_groups(sites, {"s000": "west", "s001": "east"}, first_dag)
    with pytest.raises(ConfigError, match="groups 1 to 2, not 3"):
        grouping.members(3)


@given(st.integers(0, 6), st.integers(1, 6), st.integers(0, 6), st.integers(1, 6))
def test_p_values_are_those_of_fisher(a: int, m: int, b: int, k: int) -> None:
    a, b = min(a, m), min(b, k)
    with_edge, without = DAG.from_edges("ab", ["ab"]), DAG.empty("ab")
    dags = [with_edge] * a + [without] * (m - a) + [with_edge] * b + [without] * (k - b)
    (row,) = differences_of((0,) * m + (1,) * k, sites_of(dags), (with_edge, without))
    assert (row.votes, row.sites, row.other_votes, row.other_sites) == (a, m, b, k)
    assert row.p == pytest.approx(float(naive.fisher(a, m, b, k)))
    assert (row.kind, row.mark, row.other_mark) == ("edge", "-", "")


def test_directions_are_told_apart_from_the_skeleton() -> None:
    collider = DAG.from_edges("abc", ["ac", "bc"])
    chain = DAG.from_edges("abc", ["ac", "cb"])
    rows = differences_of((0, 0, 1, 1), sites_of([collider] * 2 + [chain] * 2), (collider, chain))
    assert [(r.kind, r.variable, r.second, r.mark, r.other_mark) for r in rows] == [
        ("direction", "a", "c", "->", "-"),
        ("direction", "b", "c", "->", "-"),
    ]
    assert [(r.votes, r.other_votes) for r in rows] == [(2, 0), (2, 0)]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_rejects_as_the_procedure_steps(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for level in (0.01, 0.05, 0.2):
        left = sorted(p_values)
        rejected = 0
        while rejected < len(left) and left[rejected] * (len(left) - rejected) <= level:
            rejected += 1
        assert sum(p <= level for p in adjusted) == rejected


def test_core_and_order() -> None:
    one = DAG.from_edges("abcd", ["ac", "bc", "cd"])
    other = DAG.from_edges("abcd", ["ac", "bc", "ad"])
    core = core_of((one, other))
    assert core.dag.edges == (("a", "c"), ("b", "c"))
    assert core.own == ((("c", "d"),), (("a", "d"),))
    assert core.order is not None
    assert core.conflict == ()


def test_where_no_common_order_exists_a_cycle_is_told() -> None:
    one = DAG.from_edges("abcd", ["ab", "cb", "bd"])
    other = DAG.from_edges("abcd", ["ba", "da", "ac"])
    core = core_of((one, other))
    assert core.order is None
    assert set(core.conflict) <= set("abcd")
    assert len(core.conflict) == 2


def test_wrong_input_is_refused_by_name() -> None:
    for text in ("none", "0", "-1", "2.5", ""):
        with pytest.raises(ConfigError, match="no, auto or a number"):
            requested_groups(text)
    with pytest.raises(StructureError, match="at least one site"):
        profiles_of([])
    twice = sites_of([DAG.empty("ab")]) * 2
    with pytest.raises(ConfigError, match="'s000'"):
        profiles_of(twice)
    with pytest.raises(StructureError, match=r"'b' is not in all.*s001"):
        profiles_of([*sites_of([DAG.empty("ab")]), SiteStructures("s001", (DAG.empty("ac"),), ONE)])
    with pytest.raises(ConfigError, match="'s0'.* 2 for 1"):
        profiles_of([SiteStructures("s0", (DAG.empty("ab"),), ONE * 2)])


def test_lines_say_groups_certainty_and_differences() -> None:
    sites = two_populations((6, 4), seed=2, moved=20)
    grouping: Grouping = group_sites(sites, "2", first_dag)
    groups, certainty, differ = grouping.lines()
    assert groups.startswith("2 groups of 10 sites: 1 (s000, s001, s002, s003 and 2 more), 2 (s006")
    assert certainty.startswith("The number of groups was given, 2; nothing was tested.")
    assert "The groups differ in" in differ
    assert cut_of(grouping.tree, "no").groups == (0,) * 10
