"""learn_cg_dca: never above the optimum, its score is that of its DAG, limits are kept."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, DataError, FedbnWarning, SearchError
from fedbn.learners import LearnerSettings, learn
from fedbn.limits import Limit
from fedbn.scores import make_score, total_score
from fedbn.search.cg_dca import in_child_process, learn_cg_dca
from fedbn.search.cg_dca.choices import PRICINGS
from fedbn.search.cg_dca.dca_pricing import DCAPricing
from fedbn.search.cg_dca.in_child_process import learn_isolated
from fedbn.search.cg_dca.local_search import LocalSearch
from fedbn.search.cg_dca.restricted_integer_master import best_dag
from fedbn.search.cg_dca.start_points import Hybrid, Random, Warm
from fedbn.search.cg_dca.violated_clusters import Separation
from fedbn.search.families.families import Families
from simulations.studies.cg_dca.ties import GreedyOrder
from tests import naive_credible
from tests.search_cg_dca.test_dca_pricing import WAYS, table


def best_of_all_dags(score) -> float:
    return max(
        sum(score.local_score(i, parents) for i, parents in enumerate(choice))
        for choice in naive_credible.all_parent_sets(score.n)
    )


@pytest.mark.parametrize("pricing", [*PRICINGS, "random", "permutations", "greedy"])
@pytest.mark.parametrize("name", ["bic", "aic", "gaussian-bic", "gaussian-aic"])
@pytest.mark.slow
def test_never_above_the_best_dag(pricing: str, name: str) -> None:
    rng = np.random.default_rng(7)
    reached = 0
    for _ in range(4):
        data = table(rng, "gaussian" if "gaussian" in name else "categorical", n=4)
        score = make_score(name, data)
        best = best_of_all_dags(score)
        for start in (Hybrid(), Random(), Warm()):
            result = learn_cg_dca(
                score,
                pricing=WAYS[pricing],
                start=start,
                rng=rng,
            )
            assert result.score <= best + 1e-8
            assert total_score(score, result.dag) == pytest.approx(result.score, abs=1e-9)
            assert (result.status, result.upper_bound, result.gap) == ("heuristic", None, None)
            assert result.proof is None
            assert not result.met
            reached += result.score > best - 1e-6
    assert reached >= 6


@pytest.mark.parametrize("name", ["bdeu", "bge"])
def test_local_search_prices_any_score(name: str) -> None:
    rng = np.random.default_rng(3)
    score = make_score(name, table(rng, "gaussian" if name == "bge" else "categorical", n=4))
    result = learn_cg_dca(score, pricing=PRICINGS["local-search"], rng=rng)
    assert result.score == pytest.approx(best_of_all_dags(score), abs=1e-7)


@pytest.mark.slow
def test_rows_with_k_above_1_keep_the_result_sound() -> None:
    rng = np.random.default_rng(11)
    score = make_score("gaussian-bic", table(rng, "gaussian", n=5, rows=200))
    best = best_of_all_dags(score)
    for sizes in ((1,), (1, 2), (1, 2, 3)):
        result = learn_cg_dca(score, separation=Separation(sizes=sizes), rng=rng)
        assert result.score <= best + 1e-8


def test_the_same_seed_gives_the_same_result() -> None:
    score = make_score("gaussian-bic", table(np.random.default_rng(5), "gaussian", n=8, rows=300))
    first = learn_cg_dca(score, rng=np.random.default_rng(1))
    again = learn_cg_dca(score, rng=np.random.default_rng(1))
    assert first == again


@pytest.mark.slow
def test_limits_are_kept_and_told() -> None:
    score = make_score("gaussian-bic", table(np.random.default_rng(5), "gaussian", n=12, rows=300))
    stopped = learn_cg_dca(score, seconds=1e-6, rng=np.random.default_rng(1))
    assert stopped.met == {Limit.TIME}
    assert stopped.dag.n == 12
    capped = learn_cg_dca(score, max_parents=1, rng=np.random.default_rng(1))
    assert capped.dag.adjacency.sum(axis=0).max() <= 1
    short = learn_cg_dca(score, memory=1024, rng=np.random.default_rng(1))
    assert short.met == {Limit.MEMORY}
    assert short.counters["rmips_cut_short"] > 0
    assert short.dag.n == 12
    for wrong in ({"seconds": -1.0}, {"max_parents": -1}):
        with pytest.raises(ConfigError):
            learn_cg_dca(score, rng=np.random.default_rng(1), **wrong)


@pytest.mark.slow
def test_a_process_of_its_own_gives_the_same_and_its_crash_is_an_error() -> None:
    score = make_score("gaussian-bic", table(np.random.default_rng(5), "gaussian", n=5, rows=300))
    here = learn_cg_dca(score, rng=np.random.default_rng(1))
    assert learn_isolated(score, rng=np.random.default_rng(1)).result == here
    for program in ("import os; os.abort()", "import time; time.sleep(60)"):
        child = (sys.executable, "-c", program)
        with pytest.raises(SearchError, match="SIGABRT|did not end"):
            learn_isolated(score, seconds=-29.0, rng=np.random.default_rng(1), child=child)
    with pytest.raises(ConfigError):
        learn_isolated(score, max_parents=-1, rng=np.random.default_rng(1))


def test_a_client_survives_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def crashed(*_: object, **__: object) -> None:
        raise SearchError("the search's process ended with code -11")

    monkeypatch.setattr(in_child_process, "learn_isolated", crashed)
    data = table(np.random.default_rng(5), "gaussian", n=4, rows=300)
    settings = LearnerSettings(learner="cg-dca", score="gaussian-bic")
    with pytest.warns(FedbnWarning, match="cg-dca failed"):
        learned = learn(data, settings, np.random.default_rng(0))
    assert learned.status == "fallback"
    assert learned.dags[0].n == 4


def test_bad_tables_are_named() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 3))

    def learned(columns: np.ndarray) -> None:
        schema = Schema.gaussian([f"c{j}" for j in range(columns.shape[1])])
        learn_cg_dca(make_score("gaussian-bic", Dataset(schema, columns)), rng=rng)

    with pytest.raises(DataError, match="'c3'"):
        learned(np.column_stack([values, values[:, 0] + values[:, 1]]))
    with pytest.raises(DataError, match=r"'c1'.*constant"):
        learned(np.column_stack([values[:, 0], np.ones(50)]))
    with pytest.raises(DataError, match="more rows"):
        learned(rng.normal(size=(3, 4)))


@pytest.mark.parametrize(("n", "max_parents"), [(1, None), (2, None), (66, 1)])
@pytest.mark.slow
def test_few_and_many_variables(n: int, max_parents: int | None) -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(150, n))
    values[:, n - 1] += 2.0 * values[:, 0] if n > 1 else 0.0
    data = Dataset(Schema.gaussian([f"c{j:02d}" for j in range(n)]), values)
    score = make_score("gaussian-bic", data)
    result = learn_cg_dca(score, max_parents=max_parents, rng=rng)
    assert result.dag.n == n
    if n > 1:
        assert result.dag.adjacency[0, n - 1] or result.dag.adjacency[n - 1, 0]


@pytest.mark.slow
def test_restricted_optimum_is_exact_on_every_component() -> None:
    rng = np.random.default_rng(4)
    for _ in range(3):
        lists = [
            [(0.0, ())]
            + [
                (
                    -float(rng.random()),
                    rng.choice([j for j in range(5) if j != i], 2, replace=False),
                )
                for _ in range(3)
            ]
            for i in range(5)
        ]
        families = Families.from_parents("abcde", [[(c, tuple(p)) for c, p in f] for f in lists])
        found = best_dag(families, rng)
        cost = {
            (int(families.node[f]), families.parents(f)): float(families.cost[f])
            for f in reversed(range(families.size))
        }
        best = min(
            sum(cost.get((i, tuple(sorted(p))), np.inf) for i, p in enumerate(choice))
            for choice in naive_credible.all_parent_sets(5)
        )
        assert not found.met
        assert found.cost == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("pricing", [DCAPricing(), DCAPricing(ties=GreedyOrder()), LocalSearch()])
@pytest.mark.parametrize("constant", [0, 2])
def test_a_column_of_one_state_stays_alone(pricing, constant: int) -> None:
    rng = np.random.default_rng(4)
    codes = np.repeat(rng.integers(0, 2, size=(200, 1)), 4, axis=1)
    codes[:, constant] = 0
    states = dict.fromkeys("abcd", ("0", "1")) | {"abcd"[constant]: ("0",)}
    score = make_score("bic", Dataset(Schema.categorical(states), codes))
    found = learn_cg_dca(score, pricing=pricing, rng=np.random.default_rng(1))
    assert "abcd"[constant] not in {name for edge in found.dag.edges for name in edge}
    assert found.dag.n_edges == 2
    assert found.score == total_score(score, found.dag)
