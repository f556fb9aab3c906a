"""What serves large sets: representatives, integer programmes, depth-first lists, draws, limits."""

import math
from itertools import islice

import numpy as np
import pytest

from fedbn.credible import building
from fedbn.credible import classes as credible_classes
from fedbn.credible import enumerate as credible_enumerate
from fedbn.credible import filter as credible_filter
from fedbn.credible.averaging import ancestor_posteriors, class_edge_posteriors, posterior
from fedbn.credible.class_size import class_size
from fedbn.credible.classes import markov_classes
from fedbn.credible.enumerate import credible_set
from fedbn.credible.limits import DiagramLimit, Limits
from fedbn.credible.probing import integer_probe
from fedbn.credible.pruning import (
    candidate_sets,
    listed_candidates,
    paper_parent_sets,
    read_scores,
    write_scores,
)
from fedbn.credible.sampling import sample_dags
from fedbn.credible.superstructure import superstructure_candidates
from fedbn.errors import ConfigError, SearchError
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.limits import Limit
from fedbn.scores import make_score
from fedbn.search.families import parent_sets as sets_by_levels
from fedbn.search.families.cluster_lp import ClusterLP
from fedbn.search.families.families import Families
from fedbn.search.families.subset_dp import subset_tables
from tests import naive_credible as naive


def table(seed: int, n: int, rows: int = 40, copied: bool = False):
    rng = np.random.default_rng(seed)
    return naive.table(rng, rows, [int(a) for a in rng.integers(2, 4, size=n)], copied=copied)


def refuse(*_arguments, **_settings):
    raise DiagramLimit("it does not fit")


@pytest.mark.parametrize("seed", range(6))
def test_representatives_give_the_classes_of_the_whole_list(seed, monkeypatch) -> None:
    found = credible_set(candidate_sets(table(seed, 8, copied=seed % 2 == 0), bayes_factor=20.0))
    listed = [(item.excess, item.members, dag_to_cpdag(item.dag)) for item in markov_classes(found)]
    monkeypatch.setattr(credible_classes, "LISTED_DAGS", 0)
    few = markov_classes(found)
    assert few.count == len(listed)
    chosen = [(item.excess, item.members, dag_to_cpdag(item.dag)) for item in few]
    key = lambda item: (round(item[0], 7), item[2].adjacency.tobytes())  # noqa: E731
    assert sorted(chosen, key=key) == [
        (pytest.approx(x, abs=1e-9), size, cpdag) for x, size, cpdag in sorted(listed, key=key)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_counts_by_inclusion_and_exclusion(seed, monkeypatch) -> None:
    candidates = candidate_sets(table(seed + 50, 6, rows=25, copied=seed == 0), bayes_factor=20.0)
    found = credible_set(candidates)
    limit = found.opt + found.budget
    assert found.count == naive.count_by_exclusion(candidates.families, limit) > 20
    monkeypatch.setattr(building, "PIECE", 50)
    again = credible_set(candidates)
    assert again.profile.count == found.profile.count
    assert again.profile.value == pytest.approx(found.profile.value, abs=1e-10)


@pytest.mark.slow
def test_a_set_with_more_paths_than_62_bits_is_counted_to_the_end() -> None:
    data = naive.table(np.random.default_rng(0), 130, [2] * 20, copied=False)
    found = credible_set(candidate_sets(data, bayes_factor=150.0), memory=2 << 30)
    assert found.complete
    listed = [excess for part in found.parts for _, excess in part.listing(found.budget)]
    assert sum(len(excess) for excess in listed) == found.count > 3_000_000
    fewer = credible_set(candidate_sets(data, bayes_factor=20.0))
    assert found.profile.within(fewer.budget) == fewer.count
    assert sum(int((excess <= fewer.budget).sum()) for excess in listed) == fewer.count


@pytest.mark.parametrize("n", [3, 4])
def test_class_sizes_against_all_dags(n: int) -> None:
    names = tuple("abcd"[:n])
    dags = [naive.dag_of(names, choice) for choice in naive.all_parent_sets(n)]
    sizes = naive.class_sizes(dags)
    assert all(class_size(dag) == sizes[dag_to_cpdag(dag).adjacency.tobytes()] for dag in dags)


@pytest.mark.parametrize("seed", range(12))
def test_integer_programmes_give_the_min_marginals(seed: int) -> None:
    families = candidate_sets(table(seed, 7), bayes_factor=150.0).families
    tables = subset_tables(families)
    bound = ClusterLP(families).close(rounds=1)
    worst = tuple(int(f) for f in families.start[:-1])  # the best families, as if acyclic
    start = tables.chosen if not families.dag(tables.chosen).n_edges else _empty(families)
    assert len(worst) == families.n
    cost = float(families.cost[list(start)].sum())
    probe = integer_probe(families, (cost, start), 2.0, bound, Limits())
    assert probe.proven
    assert probe.cost == pytest.approx(tables.opt, abs=1e-9)
    assert np.array_equal(probe.keep, tables.marginal <= tables.opt + 2.0)


def _empty(families: Families) -> tuple[int, ...]:
    return tuple(int(f) for f in np.flatnonzero(~families.has_parent.any(axis=1)))


@pytest.mark.parametrize("seed", range(4))
def test_a_depth_first_list_is_the_diagram(seed: int, monkeypatch) -> None:
    candidates = candidate_sets(table(seed, 7), bayes_factor=20.0)
    expected = credible_set(candidates)
    monkeypatch.setattr(credible_enumerate, "build_diagram", refuse)
    found = credible_set(candidates)
    assert found.complete
    assert found.count == expected.count
    assert found.opt == pytest.approx(expected.opt)
    assert found.edge_posteriors == pytest.approx(expected.edge_posteriors, abs=1e-9)
    assert {item.dag for item in found} == {item.dag for item in expected}
    assert markov_classes(found).count == markov_classes(expected).count


@pytest.mark.parametrize("nodes", [0, 20])
def test_no_time_is_said(nodes: int, monkeypatch) -> None:
    monkeypatch.setattr(credible_filter, "TABLE_NODES", nodes)
    candidates = candidate_sets(table(5, 8), bayes_factor=150.0)
    whole = credible_set(candidates)
    found = credible_set(candidates, seconds=0.0)
    assert not found.complete
    assert "time limit" in found.limit
    assert 1 <= found.count <= whole.count
    assert found.least <= whole.opt + 1e-9 <= found.opt + 2e-9
    assert found.optimal == ("proven" in found.proof)
    assert {item.dag for item in found} <= {item.dag for item in whole} or not found.optimal


def test_ctrl_c_in_the_filter_and_in_a_kernel(monkeypatch) -> None:
    candidates = candidate_sets(table(6, 8), bayes_factor=150.0)
    real = credible_filter.subset_tables
    pressed = []

    def press_once(*arguments, **settings):
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        return real(*arguments, **settings)

    monkeypatch.setattr(credible_filter, "subset_tables", press_once)
    found = credible_set(candidates)
    assert not found.complete
    assert "interrupted" in found.limit
    limits = Limits()
    limits.interrupt()
    assert limits.run(lambda stop: stop.is_set)
    with pytest.raises(DiagramLimit, match="interrupted"):
        limits.require_time()


def test_candidates_stop_inside_a_level() -> None:
    data = table(7, 9)
    with pytest.raises(SearchError, match="before any parent set"):
        candidate_sets(data, "bdeu", seconds=0.0)

    def press(size: int, _kept: int) -> None:
        if size == 2:
            raise KeyboardInterrupt

    stopped = candidate_sets(data, "bdeu", progress=press)
    assert stopped.met == {Limit.INTERRUPTION}
    assert stopped.families.has_parent.sum(axis=1).max() == 2


def test_an_interrupted_level_is_left_out(monkeypatch) -> None:
    data = table(8, 7)
    search = sets_by_levels._LevelSearch
    real = search._level

    def press(self, size, bounds, below, own):
        if size == 3:
            raise KeyboardInterrupt
        return real(self, size, bounds, below, own)

    monkeypatch.setattr(search, "_level", press)
    candidates = candidate_sets(data, "bdeu", bayes_factor=150.0)
    assert candidates.met == {Limit.INTERRUPTION}
    assert candidates.scope == "at most 2 parents per variable"
    found = credible_set(candidates)
    assert not found.complete
    assert "at most 2 parents" in found.proof
    monkeypatch.undo()
    capped = candidate_sets(data, "bdeu", bayes_factor=150.0, max_parents=2)
    assert np.array_equal(capped.families.bits, candidates.families.bits)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.slow
def test_the_last_level_by_itself(seed: int, monkeypatch) -> None:
    rng = np.random.default_rng(seed)
    data = table(seed, int(rng.integers(4, 9)), rows=int(rng.choice([10, 30, 100])))
    score = make_score(("bic", "aic")[seed % 2], data)
    expected = sets_by_levels.parent_sets(score, slack=3.0).families
    monkeypatch.setattr(sets_by_levels._LevelSearch, "_are_many", lambda *_: True)
    found = sets_by_levels.parent_sets(score, slack=3.0).families
    assert np.array_equal(found.bits, expected.bits)
    assert np.array_equal(found.node, expected.node)
    assert found.cost == pytest.approx(expected.cost, abs=1e-9)


def test_the_last_level_is_not_above_the_limit_of_parents(monkeypatch) -> None:
    data = naive.table(np.random.default_rng(0), 32, [2] * 9, copied=False)
    score = make_score("bic", data)
    search, reached = sets_by_levels._LevelSearch, []
    real = search._last_level

    def look(self, size, *of):
        reached.append(size)
        real(self, size, *of)

    monkeypatch.setattr(search, "_last_level", look)
    monkeypatch.setattr(search, "_are_many", lambda *_: True)
    assert sets_by_levels.parent_sets(score).complete
    (last,) = reached
    capped = sets_by_levels.parent_sets(score, max_parents=last - 1)
    assert (capped.largest, capped.met) == (last - 1, {Limit.PARENTS})
    assert capped.families.has_parent.sum(axis=1).max() <= last - 1


@pytest.mark.parametrize("seed", range(12))
def test_bdeu_of_all_sets_at_once(seed: int, monkeypatch) -> None:
    rng = np.random.default_rng(seed)
    data = table(
        seed, int(rng.integers(4, 9)), rows=int(rng.choice([10, 60])), copied=seed % 3 == 0
    )
    score = make_score("bdeu", data, ess=(0.3, 1.0, 5.0)[seed % 3])
    monkeypatch.setattr(sets_by_levels, "ALL_COUNTS", 0)
    expected = _costs(sets_by_levels.parent_sets(score, slack=3.0).families)
    monkeypatch.setattr(sets_by_levels, "ALL_COUNTS", 1 << 28)
    monkeypatch.setattr(sets_by_levels, "ALL_SETS_FROM", 1)
    found = _costs(sets_by_levels.parent_sets(score, slack=3.0).families)
    assert found == pytest.approx(expected, abs=1e-9)


def _costs(families: Families) -> dict:
    """Costs by (node, parents)."""
    return {
        (int(families.node[f]), families.parents(f)): float(families.cost[f])
        for f in range(families.size)
    }


def test_draws_have_the_weights_of_the_set() -> None:
    found = credible_set(candidate_sets(table(9, 5), bayes_factor=20.0))
    expected = {item.dag: math.exp(-item.excess) / found.total_weight for item in found}
    number = 4000
    drawn: dict = {}
    for dag in islice(sample_dags(found, np.random.default_rng(2)), number):
        drawn[dag] = drawn.get(dag, 0) + 1
    assert set(drawn) <= set(expected)
    for dag, share in expected.items():
        error = 5 * math.sqrt(share * (1 - share) / number) + 1e-3
        assert drawn.get(dag, 0) / number == pytest.approx(share, abs=error)
    rng = np.random.default_rng(3)
    shares = ancestor_posteriors(found, samples=500, rng=rng)
    assert shares == pytest.approx(ancestor_posteriors(found), abs=0.12)
    with pytest.raises(ConfigError, match="rng"):
        posterior(found, lambda dag: 1.0, samples=3)


@pytest.mark.parametrize("seed", range(4))
def test_every_class_once(seed: int) -> None:
    data = table(seed, 4)
    _, expected = naive.credible(naive.local_costs(data, "bic", 1.0), 4, math.log(20.0))
    found = credible_set(candidate_sets(data, bayes_factor=20.0))
    shares = class_edge_posteriors(markov_classes(found))
    assert shares == pytest.approx(naive.class_edge_posteriors(expected, data.names), abs=1e-8)


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_the_papers_bookkeeping(score: str) -> None:
    for seed in range(5):
        data = table(seed, 5)
        costs = naive.local_costs(data, score, 1.0)
        assert paper_parent_sets(data, score, epsilon=3.1) == naive.chained_sets(costs, 3.1)


def test_a_superstructure_of_all_neighbours_is_the_whole(tmp_path) -> None:
    data = table(11, 5)
    whole = candidate_sets(data, bayes_factor=20.0)
    near = superstructure_candidates(data, bayes_factor=20.0, neighbours=4)
    assert np.array_equal(near.families.bits, whole.families.bits)
    assert not near.complete
    assert "4 neighbours" in credible_set(near).proof
    few = superstructure_candidates(data, bayes_factor=20.0, neighbours=1)
    assert few.families.has_parent.sum(axis=1).max() <= 1
    write_scores(whole.families, tmp_path / "a.jkl")
    again = listed_candidates(read_scores(tmp_path / "a.jkl"), bayes_factor=20.0)
    assert credible_set(again).count == credible_set(whole).count
    smaller = listed_candidates(whole.families, bayes_factor=3.0)
    exact = candidate_sets(data, bayes_factor=3.0)
    assert np.array_equal(smaller.families.bits, exact.families.bits)
