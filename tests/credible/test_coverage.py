"""The share of the whole posterior that a credible set covers, against the sum over all DAGs."""

import math

import numpy as np
import pytest

from fedbn.credible.coverage import covered_share
from fedbn.credible.enumerate import credible_set
from fedbn.credible.pruning import candidate_sets
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import SearchError
from fedbn.networks.catalog import load_network
from fedbn.scores import make_score
from tests import naive_credible as slow


def chain(n: int, rows: int, noise: float, seed: int = 0) -> Dataset:
    """Each column copies an earlier one but for a share `noise` of fresh draws."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=(rows, n))
    for j in range(1, n):
        source = codes[:, int(rng.integers(j))]
        codes[:, j] = np.where(rng.random(rows) < noise, codes[:, j], source)
    return of(codes, [2] * n)


def of(codes: np.ndarray, arities: list[int]) -> Dataset:
    states = {f"x{j}": [str(s) for s in range(arity)] for j, arity in enumerate(arities)}
    return Dataset(Schema.categorical(states), np.asarray(codes))


def share(data: Dataset, score: str, factor: float) -> float:
    found = credible_set(candidate_sets(data, score, bayes_factor=factor))
    return covered_share(found, make_score(score, data, ess=1.0))


@pytest.mark.parametrize("noise", [0.9, 0.05, 0.0], ids=["weak", "strong", "deterministic"])
@pytest.mark.parametrize(("n", "rows"), [(3, 20), (4, 300), (5, 1000), (4, 20_000)])
@pytest.mark.slow
def test_all_dags_at_any_strength(n: int, rows: int, noise: float) -> None:
    data = chain(n, rows, noise)
    for score in ("bic", "bdeu") if rows < 1000 else ("bic",):
        costs = slow.local_costs(data, score, 1.0)
        for factor in (3.0, 150.0):
            expected = slow.covered_share(costs, n, math.log(factor))
            assert share(data, score, factor) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("rows", [1076, 1080, 20_000])
def test_two_equal_columns_and_a_free_one(rows: int) -> None:
    data = of(np.tile([[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]], (rows // 4, 1)), [2, 2, 2])
    expected = slow.covered_share(slow.local_costs(data, "bic", 1.0), 3, math.log(20.0))
    assert share(data, "bic", 20.0) == pytest.approx(expected, rel=1e-6)
    if rows == 1080:
        assert expected == pytest.approx(0.915, abs=1e-3)


def test_dependence_as_strong_as_that_of_asia() -> None:
    data = load_network("asia").sample(2000, np.random.default_rng(7))
    score = make_score("bic", data)
    whole = slow.log_sum_of_dags(score, data.n)
    for factor in (20.0, 150.0):
        found = credible_set(candidate_sets(data, "bic", bayes_factor=factor))
        expected = math.exp(math.log(found.total_weight) - found.opt - whole)
        assert covered_share(found, score) == pytest.approx(expected, rel=1e-8)


def test_a_column_of_one_state_changes_nothing() -> None:
    data = chain(4, 60, 0.5, seed=3)
    wider = of(np.column_stack([np.zeros(60, dtype=int), data.codes]), [1, 2, 2, 2, 2])
    for score in ("bic", "bdeu"):
        without = share(data, score, 20.0)
        assert share(wider, score, 20.0) == pytest.approx(without, rel=1e-12)
        costs = slow.local_costs(data, score, 1.0)
        assert without == pytest.approx(slow.covered_share(costs, 4, math.log(20.0)), rel=1e-9)


def test_too_many_variables() -> None:
    with pytest.raises(SearchError, match="at most 8 variables, not 9"):
        share(chain(9, 50, 0.9), "bic", 3.0)
