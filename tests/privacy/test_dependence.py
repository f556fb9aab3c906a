"""The utility: its twin, its sensitivity, its neighbours."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import DataError
from fedbn.privacy.dependence import WIDTH, Dependence, penalty, utility
from tests import naive_privacy

HALF = WIDTH // 2


def dataset_of(rows: list[tuple[int, ...]], arities: list[int]) -> Dataset:
    states = {f"v{i}": [str(s) for s in range(r)] for i, r in enumerate(arities)}
    return Dataset(Schema.categorical(states), np.array(rows, dtype=np.int32))


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], list[int]]:
    """Rows over two to five columns of one to four states."""
    arities = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    row = st.tuples(*(st.integers(0, r - 1) for r in arities))
    return draw(st.lists(row, min_size=1, max_size=40)), arities


@given(tables(), st.data())
@settings(max_examples=150, deadline=None)
def test_utility_is_its_twin(
    table: tuple[list[tuple[int, ...]], list[int]], data: st.DataObject
) -> None:
    rows, arities = table
    x, y, *given = data.draw(st.permutations(range(len(arities))))
    given = given[: data.draw(st.integers(0, len(given)))]
    found = utility(dataset_of(rows, arities), x, y, given)
    assert found == naive_privacy.utility(rows, x, y, given)
    assert found == utility(dataset_of(rows, arities), y, x, given)


@given(tables(), st.data())
@settings(max_examples=150, deadline=None)
def test_one_row_moves_no_utility_by_more_than_half_the_width(
    table: tuple[list[tuple[int, ...]], list[int]], data: st.DataObject
) -> None:
    rows, arities = table
    new = data.draw(st.tuples(*(st.integers(0, r - 1) for r in arities)))
    before = Dependence(dataset_of(rows, arities))
    after = Dependence(dataset_of([*rows, new], arities))
    given = frozenset(range(2, len(arities)))
    assert abs(after.utility(0, 1, given) - before.utility(0, 1, given)) <= HALF


def test_sensitivity_of_all_small_tables_by_brute_force() -> None:
    """All 2 x 2 tables with counts up to 6 and every new row: 9604 changes."""
    moves = []
    for counts in product(range(7), repeat=4):
        cells = np.array(counts).reshape(2, 2)
        before = _of_counts(cells)
        for a, b in product(range(2), repeat=2):
            cells[a, b] += 1
            moves.append(_of_counts(cells) - before)
            cells[a, b] -= 1
    assert len(moves) == 4 * 7**4
    assert -HALF <= min(moves) < 0 < max(moves) <= HALF


def _of_counts(cells: np.ndarray) -> int:
    n = int(cells.sum())
    if n == 0:
        return 0
    part = np.abs(n * cells - np.outer(cells.sum(axis=1), cells.sum(axis=0))).sum()
    return int(64 * int(part) // (2 * n))


def test_the_width_is_attained() -> None:
    """One row moves one utility by +127 and another by -123: the width cannot be much smaller."""
    first = np.array([[10_060, 0], [0, 0]])
    second = np.array([[9_660, 200], [200, 0]])
    moves = []
    for cells in (first, second):
        before = _of_counts(cells)
        cells[1, 1] += 1
        moves.append(_of_counts(cells) - before)
    assert moves == [127, -123]


def test_many_strata_are_relabelled() -> None:
    """With more configurations than rows, strata are those that occur."""
    rng = np.random.default_rng(5)
    rows = [tuple(row) for row in rng.integers(0, 4, size=(60, 8)).tolist()]
    found = utility(dataset_of(rows, [4] * 8), 0, 1, range(2, 8))
    assert found == naive_privacy.utility(rows, 0, 1, range(2, 8))


@given(st.integers(1, 10**9), st.integers(1, 10**4), st.integers(1, 30), st.integers(1, 30))
def test_penalty_is_rounded_exactly(rows: int, strata: int, r_x: int, r_y: int) -> None:
    """|p - 16 sqrt(m)| ≤ 1/2, squared so that no float is needed."""
    inside = 1024 * rows * strata * (r_x - 1) * (r_y - 1)
    p = penalty(rows, strata, r_x, r_y)
    assert max(0, 2 * p - 1) ** 2 <= inside <= (2 * p + 1) ** 2


def test_arguments() -> None:
    data = dataset_of([(0, 1, 0)], [2, 2, 2])
    for x, y, parents in ((0, 0, ()), (0, 1, (1,)), (0, 3, ())):
        with pytest.raises(DataError, match="distinct columns below 3"):
            utility(data, x, y, parents)
    with pytest.raises(DataError, match="values, not codes"):
        utility(Dataset(Schema.gaussian(("a", "b")), np.ones((2, 2))), 0, 1, ())
