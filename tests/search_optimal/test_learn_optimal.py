"""learn_optimal against every DAG and against dynamic programming."""

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, DataError, SearchError
from fedbn.limits import Limit
from fedbn.scores import make_score, total_score
from fedbn.search.families.cluster_lp import ClusterLP
from fedbn.search.families.families import Families
from fedbn.search.families.parent_sets import parent_sets
from fedbn.search.families.subset_dp import subset_tables
from fedbn.search.optimal import learn_optimal, parts
from tests import naive_credible as naive


def gaussian(rng: np.random.Generator, rows: int, n: int) -> Dataset:
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.5), 1)
    values = np.zeros((rows, n))
    for j in range(n):
        values[:, j] = values @ weights[:, j] + rng.normal(size=rows)
    return Dataset(Schema.gaussian([f"g{j}" for j in range(n)]), values)


@pytest.mark.parametrize("name", ["bic", "aic", "bdeu", "gaussian-bic", "bge"])
@pytest.mark.parametrize("method", ["auto", "subsets", "clusters"])
@pytest.mark.slow
def test_the_best_of_all_dags(name: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if method == "clusters":
        monkeypatch.setattr(parts, "QUICK_NODES", 2)
    rng = np.random.default_rng(17)
    for case in range(8):
        if name in ("gaussian-bic", "bge"):
            data = gaussian(rng, 30, 4)
        else:
            data = naive.table(rng, 30, [2, 3, 2, 2], copied=case == 0)
        score = make_score(name, data)
        best = max(
            sum(score.local_score(i, parents) for i, parents in enumerate(choice))
            for choice in naive.all_parent_sets(4)
        )
        result = learn_optimal(score, method)
        assert result.upper_bound >= best - 1e-7
        assert result.score <= best + 1e-7
        assert total_score(score, result.dag) == pytest.approx(result.score, abs=1e-7)
        if result.status == "optimal":
            assert result.score == pytest.approx(best, abs=1e-7)
            assert result.gap == 0.0
        else:
            assert result.status == "feasible with bound"
            assert method == "clusters"
            assert result.gap > 0.0
        if method != "clusters":
            assert result.status == "optimal"


def test_min_marginals_and_reduced_costs_are_bounds() -> None:
    rng = np.random.default_rng(2)
    for _ in range(6):
        data = naive.table(rng, 25, [2, 2, 3, 2], copied=False)
        families = parent_sets(make_score("bic", data), slack=3.0).families
        tables = subset_tables(families)
        bound = ClusterLP(families).close(rng=rng)
        assert bound.bound <= tables.opt + 1e-7
        keys = {(int(families.node[f]), families.parents(f)): f for f in range(families.size)}
        least = np.full(families.size, np.inf)
        for choice in naive.all_parent_sets(4):
            chosen = [keys.get((i, parents)) for i, parents in enumerate(choice)]
            if None not in chosen:
                cost = families.cost[chosen].sum()
                least[chosen] = np.minimum(least[chosen], cost)
        assert tables.marginal == pytest.approx(least, abs=1e-8)
        assert (bound.bound + bound.reduced <= least + 1e-7).all()


def test_larger_problems_by_two_methods() -> None:
    rng = np.random.default_rng(4)
    for _ in range(3):
        score = make_score("bic", naive.table(rng, 200, [2] * 10, copied=False))
        exact = learn_optimal(score, "subsets")
        heuristic = learn_optimal(score, "ordering")
        assert exact.status == "optimal"
        assert heuristic.status == "heuristic"
        assert heuristic.score <= exact.score + 1e-7
        assert heuristic.upper_bound == np.inf


def test_under_a_cap_on_parents_the_proof_holds_within_it() -> None:
    rng = np.random.default_rng(6)
    score = make_score("bdeu", naive.table(rng, 100, [2] * 5, copied=False))
    capped = learn_optimal(score, max_parents=1)
    assert (capped.status, capped.met) == ("optimal within limits", {Limit.PARENTS})
    assert "more than 1" in capped.proof
    assert capped.upper_bound == pytest.approx(capped.score)
    assert max(len(p) for p in capped.dag.parent_sets()) <= 1


def test_more_than_64_variables() -> None:
    rng = np.random.default_rng(8)
    codes = rng.integers(2, size=(400, 70))
    codes[:, 69] = codes[:, 0]
    schema = Schema.categorical({f"v{j:02}": "01" for j in range(70)})
    result = learn_optimal(make_score("bic", Dataset(schema, codes)), max_parents=1)
    assert {("v00", "v69"), ("v69", "v00")} & set(result.dag.edges)


def test_settings_and_memory_are_checked() -> None:
    score = make_score("bic", naive.table(np.random.default_rng(0), 20, [2] * 5, copied=False))
    with pytest.raises(ConfigError, match="must be one of"):
        learn_optimal(score, "magic")
    with pytest.raises(SearchError, match="MiB"):
        learn_optimal(score, "subsets", memory=100)


def test_families_are_checked() -> None:
    with pytest.raises(SearchError, match="own candidate"):
        Families.from_parents(("a",), [[(0.0, [0])]])
    with pytest.raises(SearchError, match="has none"):
        Families.from_parents(("a", "b"), [[(0.0, [])], []])
    cyclic = Families.from_parents(("a", "b"), [[(0.0, [1])], [(0.0, [0])]])
    with pytest.raises(SearchError, match="no acyclic"):
        subset_tables(cyclic)
    with pytest.raises(SearchError, match="no acyclic"):
        ClusterLP(cyclic).close()


def test_tables_without_a_best_structure() -> None:
    rng = np.random.default_rng(3)
    table = gaussian(rng, 60, 4)

    def refused(values: np.ndarray, match: str) -> None:
        names = table.names[: values.shape[1]]
        score = make_score("gaussian-bic", Dataset(Schema.gaussian(names), values))
        for method in ("auto", "subsets", "columns", "ordering"):
            with pytest.raises(DataError, match=match):
                learn_optimal(score, method)

    constant = table.values.copy()
    constant[:, 1] = 3.0
    refused(constant, "'g1' is constant")
    collinear = table.values.copy()
    collinear[:, 2] = collinear[:, 0] * 2.0
    refused(collinear, "'g0', 'g2'")
    refused(table.values[:3], "3 rows of 4 columns")


def test_one_variable() -> None:
    rng = np.random.default_rng(3)
    for method in ("auto", "subsets", "clusters", "branch-and-cut", "columns", "ordering"):
        result = learn_optimal(make_score("gaussian-bic", gaussian(rng, 20, 1)), method)
        assert result.dag.n_edges == 0
        assert result.status == ("heuristic" if method == "ordering" else "optimal")
    one = Dataset(Schema.categorical({"a": "01"}), [[0], [1], [1]])
    assert learn_optimal(make_score("bic", one)).status == "optimal"


def test_columns_of_one_state_stay_alone() -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(2, size=(100, 3))
    codes[:, 0] = 0
    codes[:, 2] = codes[:, 1]
    schema = Schema.categorical({"a": "0", "b": "01", "c": "01"})
    result = learn_optimal(make_score("bic", Dataset(schema, codes)))
    assert result.status == "optimal"
    assert {frozenset(edge) for edge in result.dag.edges} == {frozenset("bc")}
    assert total_score(make_score("bic", Dataset(schema, codes)), result.dag) == pytest.approx(
        result.score
    )
    only = Dataset(Schema.categorical({"a": "0"}), [[0], [0]])
    assert learn_optimal(make_score("bic", only)).score == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_limits_are_said() -> None:
    rng = np.random.default_rng(5)
    score = make_score("gaussian-bic", gaussian(rng, 500, 30))
    late = learn_optimal(score, seconds=0.0)
    assert late.status == "heuristic"
    assert late.met == {Limit.TIME}
    assert "met: the time limit" in late.proof
    small = learn_optimal(make_score("gaussian-bic", gaussian(rng, 300, 12)), memory=20_000)
    assert small.status in ("optimal", "feasible with bound")
    assert small.counters["largest_component"] <= 12
    with pytest.raises(ConfigError, match="seconds must be at least 0"):
        learn_optimal(score, seconds=-1.0)
    with pytest.raises(ConfigError, match="gaussian-bic and gaussian-aic"):
        learn_optimal(make_score("bge", gaussian(rng, 30, 3)), "columns")
