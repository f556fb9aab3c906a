"""Scores against their formulas, and the properties that the search rests on."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn._core.scores import DiscreteScore, ScoreKind
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, DataError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.learners.settings import LearnerSettings
from fedbn.scores import SCORES, TabulatedScore, make_score, total_score
from fedbn.scores.bdeu import bdeu
from fedbn.scores.gaussian import gaussian_from_covariance, require_regular
from tests import naive_search as naive
from tests.naive_search import class_of
from tests.strategies import dags


def categorical(rows: int, arities: list[int], seed: int = 0) -> Dataset:
    """Related columns; the last state of each is never seen."""
    rng = np.random.default_rng(seed)
    codes = np.empty((rows, len(arities)), dtype=np.int32)
    for column, arity in enumerate(arities):
        noise = rng.integers(0, max(1, arity - 1), rows)
        copied = codes[:, column - 1] % max(1, arity - 1) if column else noise
        codes[:, column] = np.where(rng.random(rows) < 0.6, copied, noise)
    states = {f"v{i}": [f"{s:03d}" for s in range(arity)] for i, arity in enumerate(arities)}
    return Dataset(Schema.categorical(states), codes)


def gaussian(rows: int, n: int, seed: int = 0) -> Dataset:
    values = np.random.default_rng(seed).standard_normal((rows, n)) @ np.triu(np.ones((n, n)))
    return Dataset(Schema.gaussian(f"v{i}" for i in range(n)), 3.0 + values)


def one_by_one(score: TabulatedScore, y: int, parents: list[int], xs: list[int]) -> list[float]:
    """s(y, P ∪ {x}) for each of the xs, of sets that are counted alone."""
    joint = score.core.joint
    return [joint([*parents, x, y]) - joint([*parents, x]) for x in xs]


FAMILIES = [(0, ()), (1, (0,)), (2, (0, 1)), (3, (1, 2)), (0, (1, 2, 3)), (3, (0, 1, 2))]


@pytest.mark.parametrize(("node", "parents"), FAMILIES)
@pytest.mark.parametrize("rows", [1, 63, 64, 700])
def test_categorical_formulas(node: int, parents: tuple[int, ...], rows: int) -> None:
    data = categorical(rows, [2, 3, 4, 5])
    expected = {
        "bdeu": naive.bdeu(data, node, parents, 2.5),
        "bic": naive.penalised(data, node, parents, math.log(rows) / 2),
        "aic": naive.penalised(data, node, parents, 1.0),
    }
    for name, value in expected.items():
        score = make_score(name, data, ess=2.5)
        assert score.local_score(node, parents) == pytest.approx(value, rel=1e-10, abs=1e-9)


@pytest.mark.parametrize(("node", "parents"), FAMILIES)
def test_gaussian_formulas(node: int, parents: tuple[int, ...]) -> None:
    data = gaussian(200, 5)
    value = make_score("gaussian-bic", data).local_score(node, parents)
    assert value == pytest.approx(naive.gaussian_bic(data, node, parents), rel=1e-10)
    aic = value + (0.5 * math.log(data.n_rows) - 1.0) * len(parents)
    assert make_score("gaussian-aic", data).local_score(node, parents) == pytest.approx(aic)
    known = gaussian_from_covariance(data.names, np.cov(data.values.T, bias=True), data.n_rows)
    assert known.local_score(node, parents) == pytest.approx(value)
    expected = naive.bge_total(data, (*parents, node)) - naive.bge_total(data, parents)
    assert make_score("bge", data).local_score(node, parents) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", list(SCORES))
@settings(max_examples=20, deadline=None)
@given(dag=dags(min_nodes=4, max_nodes=4))
def test_equivalent_graphs_score_the_same(name: str, dag: DAG) -> None:
    """All five are score equivalent, AIC too: equivalent DAGs have as many parameters."""
    data = categorical(90, [2, 3, 2, 4]) if SCORES[name].kind == "categorical" else gaussian(90, 4)
    score = make_score(name, data)
    value = total_score(score, dag)
    for member in class_of(dag):
        assert total_score(score, member) == pytest.approx(value, rel=1e-9)


def test_twenty_parents_of_arity_ten() -> None:
    data = categorical(400, [10] * 21)
    parents = tuple(range(20))
    assert make_score("bdeu", data).local_score(20, parents) == pytest.approx(
        naive.bdeu(data, 20, parents, 1.0), rel=1e-9
    )
    assert make_score("bic", data).local_score(20, parents) == pytest.approx(
        naive.penalised(data, 20, parents, math.log(400) / 2), rel=1e-9
    )


def test_hundreds_of_states() -> None:
    data = categorical(500, [700, 300, 3, 400])
    for node, parents in FAMILIES:
        assert make_score("bdeu", data).local_score(node, parents) == pytest.approx(
            naive.bdeu(data, node, parents, 1.0), rel=1e-9
        )


def test_a_small_store_changes_no_score() -> None:
    data = categorical(60, [3] * 20)
    rng = np.random.default_rng(1)
    roomy, small = bdeu(data), bdeu(data, memory_mb=1)
    for _ in range(15_000):
        node, *parents = rng.choice(20, size=5, replace=False).tolist()
        assert small.local_score(node, parents) == roomy.local_score(node, parents)
    assert small.core.emptied > 0
    assert roomy.core.emptied == 0


def test_order_of_parents_rows_and_states_does_not_matter() -> None:
    data = categorical(200, [3, 3, 3, 3])
    shuffled = data.take(np.random.default_rng(0).permutation(200))
    value = make_score("bdeu", data).local_score(0, (3, 1))
    assert make_score("bdeu", shuffled).local_score(0, (1, 3)) == value


def test_constant_and_collinear_columns_stay_finite() -> None:
    values = np.random.default_rng(0).standard_normal((50, 4))
    values[:, 1] = 2.0 * values[:, 0]
    values[:, 2] = 7.0
    data = Dataset(Schema.gaussian(f"v{i}" for i in range(4)), values)
    for name in ("gaussian-bic", "bge"):
        score = make_score(name, data)
        for node, parents in FAMILIES:
            assert math.isfinite(score.local_score(node, parents))


def test_wrong_requests() -> None:
    data = categorical(20, [2, 2])
    with pytest.raises(ConfigError, match=r"'bdue'.*one of bdeu"):
        make_score("bdue", data)
    with pytest.raises(DataError, match="gaussian-bic needs gaussian data"):
        make_score("gaussian-bic", data)
    with pytest.raises(ConfigError, match="must be above 0 and at most .*, not -1"):
        make_score("bdeu", data, ess=-1)
    with pytest.raises(ConfigError, match="at least 1 MB"):
        bdeu(data, memory_mb=0)
    for node, parents in [(0, (0,)), (0, (2,)), (2, ()), (0, (1, 1)), (-1, ())]:
        with pytest.raises(StructureError, match="different indices below 2"):
            make_score("bdeu", data).local_score(node, parents)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 300),
    st.lists(st.integers(1, 5), min_size=3, max_size=5),
    st.integers(0, 99),
    st.sampled_from([0.01, 1.0, 50.0]),
)
def test_batched_counting_equals_one_by_one(
    rows: int, arities: list[int], seed: int, ess: float
) -> None:
    """Bitmaps, merged rows, dense or hashed cells against J of each set alone."""
    data = categorical(rows, arities, seed)
    n = len(arities)
    y, *parents = np.random.default_rng(seed).permutation(n)[: max(1, n - 2)].tolist()
    xs = [x for x in range(n) if x != y and x not in parents]
    assert bdeu(data, ess).core.local_with(y, parents, xs).tolist() == one_by_one(
        bdeu(data, ess), y, parents, xs
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["gaussian-bic", "bge"]))
def test_gaussian_bits_do_not_depend_on_what_was_asked_before(seed: int, name: str) -> None:
    """One score that keeps rows of its last factor, against a new score for every question, and
    the columns that go side by side against each alone."""
    data, rng = gaussian(60, 12, seed), np.random.default_rng(seed)
    used = make_score(name, data)
    for _ in range(12):
        y, *others = rng.permutation(12).tolist()
        k = int(rng.integers(0, 5))
        parents, nodes = sorted(others[:k]), rng.permutation(12)[: 1 + k]
        over, again = used.over(nodes), make_score(name, data).over(nodes)
        assert over.local_score(0, range(1, 1 + k)) == again.local_score(0, range(1, 1 + k))
        assert used.local_score(y, parents) == make_score(name, data).local_score(y, parents)
        together = used.core.local_with(y, parents, others[k:]).tolist()
        for x, found in zip(others[k:], together, strict=True):
            assert make_score(name, data).core.local_with(y, parents, [x]).tolist() == [found]
            assert found == pytest.approx(used.local_score(y, [*parents, x]), rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("name", ["gaussian-bic", "gaussian-aic"])
@pytest.mark.parametrize("rows", [1, 3, 30])
def test_a_score_that_holds_the_rows_is_that_of_the_matrix(
    name: str, rows: int, monkeypatch
) -> None:
    data, rng = gaussian(rows, 9, 5), np.random.default_rng(rows)
    of_matrix = make_score(name, data, row_weight=2.5)
    monkeypatch.setattr("fedbn.scores.gaussian.WIDEST_MATRIX", 0)
    of_rows = make_score(name, data, row_weight=2.5)
    assert (of_rows.label, of_rows.parameter) == (of_matrix.label, of_matrix.parameter)
    assert of_rows.is_gaussian
    assert not of_rows.is_mixed
    assert np.array_equal(of_rows.core.gram, of_rows.core.gram.T)
    assert of_rows.core.gram == pytest.approx(of_matrix.core.gram, rel=1e-9, abs=1e-12)
    again = pickle.loads(pickle.dumps(of_rows.core))
    for _ in range(20 if rows > 9 else 0):
        y, *others = rng.permutation(9).tolist()
        parents = others[: int(rng.integers(5))]
        value = of_rows.local_score(y, parents)
        assert value == pytest.approx(of_matrix.local_score(y, parents), rel=1e-9)
        assert value == again.local(y, sorted(parents))
        part = of_rows.over(np.array([y, *sorted(parents)]))
        assert value == part.local_score(0, range(1, 1 + len(parents)))


@pytest.mark.parametrize("name", ["gaussian-bic", "gaussian-aic", "bge"])
@pytest.mark.parametrize("seed", range(6))
def test_columns_that_others_determine_keep_equivalent_dags_equal(name: str, seed: int) -> None:
    """Both directions of an edge between equal families, also as the searches ask for them: or else
    each of two operators that undo one another could gain, and a search would not end."""
    rng = np.random.default_rng(seed)
    values = gaussian(400, 7, seed).values.copy()
    values[:, 3] = values[:, 0] + values[:, 5]
    values[:, 1] = np.round(values[:, 2] - values[:, 6], 6)
    score = make_score(name, Dataset(Schema.gaussian([f"v{i}" for i in range(7)]), values))
    for _ in range(200):
        x, y, *others = rng.permutation(7).tolist()
        P = sorted(others[: int(rng.integers(0, 6))])
        one = score.local_score(x, P) + score.local_score(y, [*P, x])
        other = score.local_score(y, P) + score.local_score(x, [*P, y])
        assert one == pytest.approx(other, rel=1e-9)
        [batched] = score.core.local_with(y, P, [x])
        assert batched == pytest.approx(score.local_score(y, [*P, x]), abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(600, 3000), st.integers(0, 99), st.sampled_from(["bdeu", "bic"]))
def test_rows_and_bitmaps_count_the_same(rows: int, seed: int, name: str) -> None:
    """Rare states are counted by rows where there are many of them, common ones by bitmaps."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack(
        [rng.integers(0, 3, (rows, 3)), rng.random((rows, 9)) < rng.uniform(0.0, 0.1, 9)]
    ).astype(np.int32)
    states = {f"v{i:02d}": "012"[: 3 if i < 3 else 2] for i in range(12)}
    data = Dataset(Schema.categorical(states), codes)
    xs = list(range(3, 12))
    found = make_score(name, data).core.local_with(0, [1, 2], xs).tolist()
    assert found == one_by_one(make_score(name, data), 0, [1, 2], xs)
    for x, value in zip(xs, found, strict=True):
        if name == "bdeu":
            expected = naive.bdeu(data, 0, (1, 2, x), 1.0)
        else:
            expected = naive.penalised(data, 0, (1, 2, x), math.log(rows) / 2)
        assert value == pytest.approx(expected, rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 400), st.lists(st.integers(1, 70), min_size=1, max_size=9), st.integers(0, 9))
def test_what_is_made_of_a_table(rows: int, arities: list[int], seed: int) -> None:
    """Merged rows and rows outside the modes, against numpy."""
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, r, rows) for r in arities], dtype=np.uint16)
    codes = np.ascontiguousarray(codes[:, rng.integers(0, 1 + rows // 2, rows)])
    [core] = DiscreteScore.rungs(ScoreKind.bdeu, codes, arities, [(1.0, 1.0)], 1 << 20)
    merged, weights = core.merged_rows()
    expected, counts = np.unique(codes, axis=1, return_counts=True)
    twin = dict(zip(map(tuple, expected.T.tolist()), counts.tolist(), strict=True))
    assert dict(zip(map(tuple, merged.T.tolist()), weights.tolist(), strict=True)) == twin
    outside = [column.size - int(np.bincount(column).max()) for column in merged]
    assert core.rows_outside_modes.tolist() == outside


def test_a_covariance_is_checked() -> None:
    with pytest.raises(DataError, match="2 by 2"):
        gaussian_from_covariance(("a", "b"), np.eye(3), 10)
    with pytest.raises(DataError, match="symmetric"):
        gaussian_from_covariance(("a", "b"), np.array([[1.0, 0.5], [0.0, 1.0]]), 10)
    with pytest.raises(DataError, match="sorted"):
        gaussian_from_covariance(("b", "a"), np.eye(2), 10)


def test_columns_without_a_best_structure_are_named() -> None:
    values = np.random.default_rng(0).standard_normal((50, 4))
    names = [f"v{i}" for i in range(4)]

    def refused(table: np.ndarray, match: str) -> None:
        score = make_score("gaussian-bic", Dataset(Schema.gaussian(names), table))
        with pytest.raises(DataError, match=match):
            require_regular(score)

    require_regular(make_score("gaussian-bic", Dataset(Schema.gaussian(names), values)))
    constant = values.copy()
    constant[:, 2] = 0.1
    refused(constant, "'v2' is constant")
    collinear = values.copy()
    collinear[:, 3] = collinear[:, 0] - 2.0 * collinear[:, 1]
    refused(collinear, "'v0', 'v1', 'v3'")
    refused(values[:4], "more rows than columns")


@pytest.mark.parametrize("ess", [1.0, 1e4, 1e8])
def test_bdeu_keeps_its_digits_up_to_the_largest_ess(ess: float) -> None:
    """Γ(n + α) / Γ(α) is α (α + 1) ... (α + n - 1), whose logarithms lose nothing."""
    data = categorical(1000, [3, 4])
    score = make_score("bdeu", data, ess=ess)
    pairs = data.table[:, 0] * 4 + data.table[:, 1]

    def total(cells: np.ndarray, size: int) -> float:
        counts = np.bincount(cells).tolist()
        return math.fsum(math.log(ess / size + i) for count in counts for i in range(count))

    alone = total(data.table[:, 1], 4) - math.fsum(math.log(ess + i) for i in range(1000))
    both = total(pairs, 12) - total(data.table[:, 0], 3)
    gain = score.local_score(1, (0,)) - score.local_score(1, ())
    assert gain == pytest.approx(both - alone, abs=1e-6)
    assert gain > 1e-3


@pytest.mark.parametrize("ess", [0.0, -1.0, 1.01e8, math.inf, math.nan])
def test_bdeu_refuses_an_ess_out_of_range(ess: float) -> None:
    with pytest.raises(ConfigError, match=r"must be above 0 and at most 1e\+08"):
        bdeu(categorical(10, [2, 3]), ess)
    with pytest.raises(ConfigError, match="^ess, the equivalent sample size of BDeu, must be"):
        LearnerSettings(ess=ess)
