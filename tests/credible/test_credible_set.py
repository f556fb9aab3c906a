"""Credible sets against every DAG, and their ways of counting against each other."""

import math
from itertools import pairwise

import numpy as np
import pytest

from fedbn.credible import filter as credible_filter
from fedbn.credible.classes import markov_classes
from fedbn.credible.enumerate import CredibleSet, credible_set
from fedbn.credible.pruning import candidate_sets, read_scores, write_scores
from fedbn.errors import ConfigError, DataError
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from tests import naive_credible as naive

FACTORS = (1.0, 3.0, 20.0, 150.0)


def instances(n: int, count: int, seed: int):
    rng = np.random.default_rng(seed)
    for case in range(count):
        rows = int(rng.choice([2, 3, 5, 10, 30, 100, 1000]))
        arities = [int(a) for a in rng.integers(2, 6 if case % 3 == 0 else 4, size=n)]
        data = naive.table(rng, rows, arities, copied=case % 5 == 0)
        score = ("bic", "bdeu", "aic")[case % 7 % 3]
        yield data, score, FACTORS[case % 4], (1.0, 5.0, 0.3)[case % 3]


def check(data, score: str, factor: float, ess: float) -> None:
    epsilon = math.log(factor)
    costs = naive.local_costs(data, score, ess)
    opt, expected = naive.credible(costs, data.n, epsilon)
    candidates = candidate_sets(data, score, bayes_factor=factor, ess=ess)
    families = candidates.families
    kept = {(int(families.node[f]), families.parents(f)) for f in range(families.size)}
    assert kept == naive.candidates(costs, epsilon)
    found = credible_set(candidates)
    assert found.complete
    assert found.opt == pytest.approx(opt, abs=1e-8)
    assert found.count == len(expected)
    dags = [naive.dag_of(data.names, choice) for _, choice in expected]
    ranked = list(found)
    assert {item.dag for item in ranked} == set(dags)
    assert len(ranked) == len(dags)
    assert all(a.excess <= b.excess for a, b in pairwise(ranked))
    assert [item.excess for item in ranked] == pytest.approx([x for x, _ in expected], abs=1e-8)
    assert found.edge_posteriors == pytest.approx(naive.edge_posteriors(expected, data.n), abs=1e-8)
    sizes = naive.class_sizes(dags)
    classes = markov_classes(found)
    assert classes.count == len(sizes)
    assert classes.coarse_count == naive.coarse_classes(dags)
    listed = {dag_to_cpdag(c.dag).adjacency.tobytes(): c.members for c in classes}
    assert listed == sizes


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.slow
def test_all_dags_of_four_variables(seed: int) -> None:
    for instance in instances(4, 75, seed):
        check(*instance)


@pytest.mark.slow
def test_all_dags_of_five_variables() -> None:
    for instance in instances(5, 12, 99):
        check(*instance)


@pytest.mark.slow
def test_fewer_variables() -> None:
    for n in (1, 2, 3):
        for instance in instances(n, 12, n):
            check(*instance)


@pytest.mark.slow
def test_without_subset_tables_the_relaxation_gives_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(credible_filter, "TABLE_NODES", 0)
    for instance in instances(4, 20, 7):
        check(*instance)


def larger(seed: int, n: int = 8) -> CredibleSet:
    rng = np.random.default_rng(seed)
    data = naive.table(rng, 40, [2] * n, copied=False)
    return credible_set(candidate_sets(data, "bic", bayes_factor=20.0))


@pytest.mark.parametrize("seed", range(3))
def test_listing_counting_and_posteriors_agree(seed: int) -> None:
    found = larger(seed)
    ranked = list(found)
    assert len(ranked) == found.count == len({item.dag for item in ranked})
    weights = np.exp([-item.excess for item in ranked])
    listed = sum(w * item.dag.adjacency for w, item in zip(weights, ranked, strict=True))
    assert found.edge_posteriors == pytest.approx(listed / weights.sum(), abs=1e-8)
    assert [a.dag for a in found.k_best(5)] == [a.dag for a in ranked[:5]]
    assert markov_classes(found).count == len(naive.class_sizes([a.dag for a in ranked]))
    members = sum(c.members for c in markov_classes(found))
    assert members == found.count


def test_independent_variables_multiply_without_a_list() -> None:
    """Twelve pairs of equal columns, each tied both ways: 2^12 DAGs in one class."""
    rng = np.random.default_rng(5)
    rows = 4000
    columns = {}
    for k in range(12):
        values = rng.integers(2, size=rows)
        columns[f"a{k:02}"] = values
        columns[f"b{k:02}"] = values
    from fedbn.data.dataset import Dataset
    from fedbn.data.schema import Schema

    schema = Schema.categorical({name: ["0", "1"] for name in columns})
    data = Dataset(schema, np.stack([columns[name] for name in schema.names], axis=1))
    found = credible_set(candidate_sets(data, "bic", bayes_factor=1.0, max_parents=2))
    assert found.count == 2**12
    assert markov_classes(found).count == 1
    assert found.edge_posteriors[0, 12] == pytest.approx(0.5)
    assert not found.complete  # the cap on parents was binding


def test_a_constant_column_is_set_aside() -> None:
    rng = np.random.default_rng(3)
    from fedbn.data.dataset import Dataset
    from fedbn.data.schema import Schema

    codes = rng.integers(2, size=(50, 4))
    codes[:, 2] = 0
    schema = Schema.categorical({"a": "01", "b": "01", "c": "0", "d": "01"})
    candidates = candidate_sets(Dataset(schema, codes), "bdeu", bayes_factor=3.0)
    assert candidates.set_aside == ("c",)
    found = credible_set(candidates)
    assert not found.edge_posteriors[2].any()
    assert not found.edge_posteriors[:, 2].any()
    assert all(isinstance(item.dag, DAG) for item in found)


@pytest.mark.slow
def test_limits_are_said() -> None:
    rng = np.random.default_rng(11)
    data = naive.table(rng, 20, [2] * 9, copied=False)
    candidates = candidate_sets(data, "bic", bayes_factor=150.0)
    whole = credible_set(candidates)
    less = credible_set(candidates, memory=600_000)
    assert less.count <= whole.count
    assert less.complete == (less.count == whole.count)
    assert less.complete or "MiB" in less.limit


def test_wrong_settings_are_refused() -> None:
    data = naive.table(np.random.default_rng(0), 20, [2, 2], copied=False)
    with pytest.raises(ConfigError, match="at least 1"):
        candidate_sets(data, "bic", bayes_factor=0.5)
    with pytest.raises(DataError, match="2 rows"):
        candidate_sets(data.take([0]), "bic")


def test_files_of_scores_return_what_was_written(tmp_path) -> None:
    data = naive.table(np.random.default_rng(1), 60, [2, 3, 2, 2], copied=False)
    families = candidate_sets(data, "bdeu").families
    write_scores(families, tmp_path / "scores.jkl")
    back = read_scores(tmp_path / "scores.jkl")
    assert back.names == families.names
    assert np.array_equal(back.bits, families.bits)
    assert np.array_equal(back.cost, families.cost)
    (tmp_path / "bad.jkl").write_text("2\na 1\n-1.0 2 b\n")
    with pytest.raises(DataError, match="a file of local scores has"):
        read_scores(tmp_path / "bad.jkl")
