"""Structural EM: its kernel against a twin, orders that must not matter, and what it is for."""

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn._core.scores import draw_missing, draw_missing_mixed
from fedbn.data.dataset import Dataset
from fedbn.data.preparation import Preparation
from fedbn.data.schema import Schema, Variable
from fedbn.data.tables import read_dataset
from fedbn.errors import ArgumentError, ConfigError, DataError, FedbnWarning
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.graphs.random import random_dag
from fedbn.learners import LearnerSettings, learn, learn_ladder
from fedbn.learners.completion import (
    RICHER,
    ROUNDS,
    SEARCHES,
    missingness_remarks,
    pairs_there,
)
from fedbn.learners.learner import Found, Learner
from fedbn.networks.catalog import load_network
from fedbn.networks.random import random_linear_gaussian_network
from tests import naive_completion


def with_gaps(dataset: Dataset, share: float, seed: int = 0) -> Dataset:
    gone = np.random.default_rng(seed).random(dataset.table.shape) < share
    return Dataset(dataset.schema, dataset.table, gone)


def edges(dataset: Dataset, seed: int = 3, **more: object) -> tuple[tuple[str, str], ...]:
    wanted = replace(LearnerSettings(learner="hc"), **more)  # type: ignore[arg-type]
    return learn(dataset, wanted, np.random.default_rng(seed)).dags[0].edges


@settings(deadline=None, max_examples=30)
@given(
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.integers(1, 12),
    st.integers(0, 2),
    st.integers(0, 3),
)
def test_the_kernel_draws_as_its_twin(seed: int, n: int, rows: int, fits: int, sweeps: int) -> None:
    rng = np.random.default_rng(seed)
    arities = rng.integers(1, 4, n).tolist()
    codes = np.array([rng.integers(0, r, rows) for r in arities], dtype=np.uint16)
    gone = rng.random((n, rows)) < 0.4
    order = rng.permutation(n)
    parents = [
        [int(p) for p in order[:k] if rng.random() < 0.5] for k in np.argsort(order, kind="stable")
    ]
    arguments = (codes, gone, arities, parents, 1.0, fits, sweeps, seed)
    assert np.array_equal(draw_missing(*arguments), naive_completion.draw_missing(*arguments))


@given(st.integers(0, 2**32))
def test_configurations_that_no_row_has_take_no_memory(seed: int) -> None:
    """The parents of the first column have 65,535^3 configurations; rows have a few."""
    rng = np.random.default_rng(seed)
    arities = [3, *[65_535] * 3]
    codes = rng.integers(0, 3, (4, 9)).astype(np.uint16)
    gone = rng.random((4, 9)) < 0.3
    gone[1:] = False
    parents = [[1, 2, 3], [], [], []]
    arguments = (codes, gone, arities, parents, 1.0, 2, 2, seed)
    assert np.array_equal(draw_missing(*arguments), naive_completion.draw_missing(*arguments))


@pytest.mark.parametrize("parents", [3, 4])
def test_more_configurations_than_can_be_numbered_are_refused(parents: int) -> None:
    """65,535^3 are below 2^62, and 65,535^4 above it."""
    n = 1 + parents
    codes, gone = np.ones((n, 5), dtype=np.uint16), np.zeros((n, 5), dtype=bool)
    gone[0, 0] = True
    structure = [list(range(1, n)), *[[]] * parents]
    arguments = (codes, gone, [2, *[65_535] * parents], structure, 1.0, 1, 1, 0)
    if parents == 3:
        assert draw_missing(*arguments).shape == (n, 5)
        return
    with pytest.raises(ArgumentError, match="at most 4611686018427387904 configurations"):
        draw_missing(*arguments)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**32),
    st.text("cn", min_size=1, max_size=4),
    st.integers(0, 2),
    st.integers(0, 2),
)
def test_cells_of_both_kinds_are_drawn_as_by_the_twin(
    seed: int, kinds: str, fits: int, sweeps: int
) -> None:
    rng = np.random.default_rng(seed)
    states = [0 if kind == "n" else int(rng.integers(1, 4)) for kind in kinds]
    rows, n = int(rng.integers(8, 25)), len(kinds)
    table = np.array(
        [rng.integers(0, r, rows) if r else rng.normal(3, 2, rows) for r in states], dtype=float
    )
    gone = rng.random(table.shape) < 0.3
    near = rng.random((n, n)) < 0.5
    blankets = [[u for u in range(n) if u != v and near[u, v]] for v in range(n)]
    given_to_both = (table, gone, states, blankets, fits, sweeps, seed)
    found, expected = (
        draw_missing_mixed(*given_to_both),
        naive_completion.draw_mixed(*given_to_both),
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert np.array_equal(found[~gone], table[~gone])


@pytest.mark.parametrize("power", [-1000, -664, 664, 1016])
def test_cells_of_any_scale_are_drawn_as_those_of_scale_one(power: int) -> None:
    """Squares of 1e200 are infinite, and those of 1e-200 vanish."""
    rng = np.random.default_rng(8)
    states = [0, 3, 0, 0]
    table = np.array([rng.normal(3, 2, 40), rng.integers(0, 3, 40), *rng.normal(size=(2, 40))])
    table[2] += table[0]
    gone = rng.random(table.shape) < 0.3
    blankets = [[1, 2], [0, 2], [0, 1, 3], [2]]
    factors = np.array([2.0**power, 1.0, 2.0**power, 1.0])[:, None]
    found = draw_missing_mixed(table * factors, gone, states, blankets, 2, 2, 5)
    assert np.array_equal(
        found / factors, draw_missing_mixed(table, gone, states, blankets, 2, 2, 5)
    )
    expected = naive_completion.draw_mixed(table, gone, states, blankets, 2, 2, 5)
    np.testing.assert_allclose(found / factors, expected, rtol=1e-6, atol=1e-6)


def test_cells_at_the_largest_number_are_finite() -> None:
    largest = np.finfo(float).max
    table = np.random.default_rng(2).choice([-1.0, 1.0], size=(2, 50)) * largest
    gone = np.random.default_rng(3).random(table.shape) < 0.4
    assert np.isfinite(draw_missing_mixed(table, gone, [0, 0], [[1], [0]], 2, 2, 0)).all()


def mixed_rows(seed: int, rows: int) -> Dataset:
    """group → dose → answer ← group, and a category that two numbers make."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, rows)
    dose = 2 * group + rng.normal(size=rows)
    answer = dose + rng.normal(size=rows)
    ill = (answer + rng.normal(size=rows) > 2).astype(int)
    noise = rng.normal(size=rows)
    schema = Schema(
        (Variable("answer"), Variable("dose"), Variable("group", ("a", "b", "c")),
         Variable("ill", ("no", "yes")), Variable("noise"))
    )  # fmt: skip
    return Dataset(schema, np.column_stack([answer, dose, group, ill, noise]))


def test_imputing_a_mixed_table_finds_what_the_complete_one_has() -> None:
    complete = mixed_rows(1, 1500)
    whole = {frozenset(edge) for edge in edges(complete, score="mixed-bic")}
    table = with_gaps(complete, 0.15)
    found = edges(table, score="mixed-bic")
    assert len({frozenset(edge) for edge in found} ^ whole) <= 1
    shuffled = table.take(np.random.default_rng(2).permutation(1500))
    assert edges(shuffled, score="mixed-bic") == found
    with pytest.raises(DataError, match="cells are missing; they are imputed while"):
        _ = table.column(0)


def test_copies_and_constants_do_no_harm_to_draws() -> None:
    number = np.random.default_rng(3).normal(size=60)
    table = np.array([number, np.ones(60), 10 * number])
    gone = np.zeros(table.shape, dtype=bool)
    gone[2, :20] = True
    found = draw_missing_mixed(table, gone, [0, 0, 0], [[2], [2], [0, 1]], 1, 1, 0)
    assert np.abs(found[2, :20] - table[2, :20]).max() < 4


def test_no_row_is_refused() -> None:
    gone = np.zeros((1, 0), dtype=bool)
    with pytest.raises(ArgumentError, match="at least 1 row"):
        draw_missing(np.zeros((1, 0), dtype=np.uint16), gone, [2], [[]], 1.0, 1, 1, 0)
    with pytest.raises(ArgumentError, match="at least 1 row"):
        draw_missing_mixed(np.zeros((1, 0)), gone, [0], [[]], 1, 1, 0)


def test_neither_rows_nor_columns_have_an_order() -> None:
    table = with_gaps(load_network("asia").sample(400, np.random.default_rng(1)), 0.1)
    found = edges(table)
    assert edges(table) == found
    assert edges(table.take(np.random.default_rng(2).permutation(400))) == found
    assert len(found) > 3


def test_every_rung_of_a_ladder_learns_from_one_table() -> None:
    table = with_gaps(load_network("asia").sample(400, np.random.default_rng(1)), 0.1)
    ladder = LearnerSettings(learner="hc", row_weight="ladder", row_weights="1 2")
    first, _ = learn_ladder(table, ladder, np.random.default_rng(3))
    assert first.dags[0].edges == edges(table)


@pytest.mark.parametrize("row_weight", [1.0, "ladder"])
def test_several_imputations_are_as_many_completed_tables(row_weight: float | str) -> None:
    table = with_gaps(load_network("asia").sample(200, np.random.default_rng(1)), 0.3)
    one = LearnerSettings(learner="hc", row_weight=row_weight, row_weights="1 2")
    rng = np.random.default_rng(3)
    found = learn_ladder(table, replace(one, imputations=5), rng)
    first = learn_ladder(table, one, np.random.default_rng(3))
    for several, alone in zip(found, first, strict=True):
        assert alone.dags[0] in several.dags
        assert 2 <= len(several.dags) <= 5
        assert sum(several.weights) == pytest.approx(1)
        assert all(round(5 * weight, 9) % 1 == 0 for weight in several.weights)
        assert several.score is None
    whole = load_network("asia").sample(200, np.random.default_rng(1))
    assert len(learn(whole, replace(one, row_weight=1.0, imputations=5), rng).dags) == 1
    for count in (0, 101):
        with pytest.raises(
            ConfigError, match=f"imputations must lie between 1 and 100, not {count}"
        ):
            LearnerSettings(imputations=count)


@pytest.mark.parametrize("learn_it", [learn, learn_ladder])
def test_all_searches_of_a_table_share_its_limits(
    monkeypatch: pytest.MonkeyPatch, learn_it: Callable[..., object]
) -> None:
    limits: list[tuple[float | None, float]] = []

    def look(table: Dataset, each: LearnerSettings, *_: object) -> Found:
        limits.append((each.seconds, each.memory_mb))
        return Found((DAG.empty(table.names),), (1.0,), None)

    monkeypatch.setattr(sys.modules[learn.__module__], "learner_for", lambda _: Learner(look))
    whole = load_network("asia").sample(100, np.random.default_rng(1))
    wanted = LearnerSettings(learner="hc", imputations=3, seconds=120.0, memory_mb=90.0)
    learn_it(with_gaps(whole, 0.3), wanted, np.random.default_rng(3))
    assert limits == [(120.0 / (3 * SEARCHES), 30.0)] * 3 * SEARCHES
    limits.clear()
    learn_it(whole, wanted, np.random.default_rng(3))
    assert limits == [(120.0, 90.0)]


def test_row_weights_after_the_first_complete_no_table_and_share_their_limit_without_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[tuple[float, float | None, float]] = []

    def look(table: Dataset, each: LearnerSettings, *_: object) -> Found:
        limits.append((each.row_weight, each.seconds, each.memory_mb))
        return Found((DAG.empty(table.names),), (1.0,), None)

    monkeypatch.setattr(sys.modules[learn.__module__], "learner_for", lambda _: Learner(look))
    table = with_gaps(load_network("asia").sample(100, np.random.default_rng(1)), 0.3)
    wanted = LearnerSettings(
        row_weight="ladder", row_weights="1 2", imputations=3, seconds=120.0, memory_mb=90.0
    )
    learn_ladder(table, wanted, np.random.default_rng(3))
    share = 120.0 / (3 * SEARCHES)
    completing = [(k, share, 30.0) for k in (*[RICHER] * (ROUNDS - 1), 1.0)]
    first, second = (1.0, share, 30.0), (2.0, 120.0 / 3, 30.0)
    assert limits == completing * 3 + [first] * 3 + [second] * 3


@pytest.mark.slow
def test_imputing_is_nearer_to_the_complete_table_than_a_state_of_its_own() -> None:
    network = load_network("child")
    complete = network.sample(1000, np.random.default_rng(5))
    table = with_gaps(complete, 0.15)

    def distance(dataset: Dataset) -> int:
        found = learn(dataset, LearnerSettings(), np.random.default_rng(0)).dags[0]
        return smhd(found, network.dag)

    assert table.gone is not None
    states = {v.name: (*(v.states or ()), "zz missing") for v in network.schema.variables}
    schema = Schema.categorical(states)
    coded = complete.with_schema(schema).table
    as_state = Dataset(schema, np.where(table.gone, schema.cardinalities - 1, coded))
    whole = distance(complete)
    assert distance(table) <= max(1.25 * whole, whole + 2) < distance(as_state)


def test_missing_cells_are_for_structures_alone() -> None:
    table = with_gaps(load_network("asia").sample(50, np.random.default_rng(1)), 0.1)
    with pytest.raises(DataError, match="of 400 cells are missing; they are imputed while"):
        _ = table.codes
    private = LearnerSettings(learner="dp-climb", epsilon=1.0)
    with pytest.raises(ConfigError, match="dp-climb cannot impute missing cells"):
        learn(table, private, np.random.default_rng(0))


def test_imputing_numbers_finds_what_the_complete_table_has() -> None:
    rng = np.random.default_rng(4)
    network = random_linear_gaussian_network(random_dag("abcdefgh", edges=10, rng=rng), rng=rng)
    complete = network.sample(3000, rng)
    how = {"learner": "ges", "score": "gaussian-bic"}
    whole = {frozenset(edge) for edge in edges(complete, **how)}
    for seed in range(5):
        found = edges(with_gaps(complete, 0.15), seed, **how)
        assert len(whole ^ {frozenset(edge) for edge in found}) <= 2


def test_filled_cells_of_numbers_are_no_evidence_of_edges() -> None:
    """Counted as rows without gaps they were: 12 against 7 in the mean of such networks."""
    complete, imputed = 0, 0
    for seed in range(10):
        rng = np.random.default_rng([7, seed])
        dag = random_dag([f"x{v:02}" for v in range(20)], edges=30, rng=rng)
        table = random_linear_gaussian_network(dag, rng=rng).sample(5000, rng)
        how = LearnerSettings(score="gaussian-bic")
        complete += smhd(learn(table, how, rng).dags[0], dag)
        imputed += smhd(learn(with_gaps(table, 0.15, seed), how, rng).dags[0], dag)
    assert imputed <= 1.25 * complete


@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 8))
def test_rows_count_with_the_share_of_pairs_that_are_there(seed: int, n: int, rows: int) -> None:
    gone = np.random.default_rng(seed).random((n, rows)) < 0.5
    pairs = list(product(range(rows), combinations(range(n), 2)))
    there = [pair for pair in pairs if not any(gone[v, pair[0]] for v in pair[1])]
    expected = max(len(there), 1) / max(len(pairs), 1)
    assert pairs_there(gone) == pytest.approx(expected)


def test_missingness_that_depends_on_a_neighbour_is_said() -> None:
    rng = np.random.default_rng(7)
    x = rng.integers(0, 2, 2000)
    y = np.where(rng.random(2000) < 0.8, x, 1 - x)
    schema = Schema.categorical({"x": "01", "y": "01"})
    dag = DAG.from_edges(("x", "y"), [("x", "y")])
    gone = np.zeros((2000, 2), dtype=bool)
    gone[:, 1] = rng.random(2000) < 0.2
    table = np.column_stack([x, y])
    assert missingness_remarks(Dataset(schema, table, gone), dag) == []
    gone[:, 1] = rng.random(2000) < np.where(x == 1, 0.4, 0.05)
    (said,) = missingness_remarks(Dataset(schema, table, gone), dag)
    assert said.startswith("whether 'y' is missing (")
    assert "depends on 'x': imputing is right only if" in said


def test_a_table_is_read_with_its_missing_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,n,s\nx,1,u\n,5,v\ny,,v\nx,9,\n")
    found = read_dataset(path, "categorical", Preparation(missing_cells="impute", cuts={"n": (4,)}))
    assert found.schema.to_dict()["a"] == ["x", "y"]
    assert found.gone is not None
    assert found.gone.tolist() == [
        [False, False, False], [True, False, False], [False, True, False], [False, False, True],
    ]  # fmt: skip
    path.write_text("a,n\nx,1\nx,5\nx,\nx,9\n")
    with pytest.warns(FedbnWarning, match="constant"):
        read_dataset(path, "categorical", Preparation(missing_cells="impute"))
    path.write_text("a,n\nx,\ny,\n")
    with pytest.raises(DataError, match="column 'n' has missing cells only"):
        read_dataset(path, "categorical", Preparation(missing_cells="impute"))
