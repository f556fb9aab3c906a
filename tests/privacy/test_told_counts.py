"""Tables of counts that read a column in different ways, against a slow twin; counts in sums."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.cuts import interval_codes
from fedbn.data.dataset import Dataset
from fedbn.data.schema import MISSING_STATE, Schema, Variable
from fedbn.federation.counted import tables_of
from fedbn.networks.family_counts import Family
from fedbn.privacy.counts_in_sums import OTHER, counts_in_sums, rows_off_a_common_value
from fedbn.privacy.told_counts import ToldCounts
from tests.naive_small_counts import fewest_between, fewest_of_readings, fewest_off_a_common_value

numbers_of = st.lists(st.integers(0, 4).map(float), min_size=1, max_size=25)
readings = st.one_of(
    st.just("states"),
    st.just("values"),
    st.lists(st.integers(0, 4).map(float), min_size=1, max_size=3, unique=True).map(sorted),
)


def tell(numbers: list[float], reading: str | list[float], digest: str) -> ToldCounts:
    """The counts of a column: as states, as a number with few values, or cut."""
    if reading == "values":
        counts = counts_in_sums(Dataset(Schema.gaussian("x"), np.array(numbers)[:, None]), [])
        assert counts is not None
        (table,) = tables_of(counts, digest)
        return table
    if reading == "states":
        variable = Variable("x", tuple("01234"))
        codes = np.array(numbers, dtype=np.int64)
    else:
        variable = Variable.cut("x", reading)
        codes = interval_codes(reading, np.array(numbers))
    cells = np.bincount(codes, minlength=len(variable.states or ()))
    return ToldCounts(digest, Schema((variable,)), cells)


@settings(max_examples=300, deadline=None)
@given(numbers_of, numbers_of, readings, readings)
def test_readings_are_compared_as_a_slow_twin_does(
    before: list[float], after: list[float], one: str | list[float], other: str | list[float]
) -> None:
    first, second = tell(before, one, "1"), tell(after, other, "2")
    fewest = fewest_of_readings(before, after, one, other)
    for least in (2, 5, 9):
        said = second.differs_by_few(first, least)
        assert said == first.differs_by_few(second, least)
        assert said == (0 < fewest < least)


def lone(states: tuple[str, ...], counts: list[int], digest: str = "2") -> ToldCounts:
    return ToldCounts(digest, Schema((Variable("x", states),)), np.array(counts))


def test_a_state_under_another_name() -> None:
    before = lone(("no", "yes"), [40, 60], "1")
    assert before.differs_by_few(lone(("n", "y"), [41, 59]), 5)
    assert not before.differs_by_few(lone(("n", "y"), [40, 60]), 5)
    assert before.differs_by_few(lone(("no", "y"), [39, 61]), 5)
    assert before.differs_by_few(lone((OTHER, "0.0"), [41, 59]), 5)
    assert not before.differs_by_few(lone(("n", "y"), [41, 59], "1"), 5)  # the same rows


def test_two_spellings_of_one_number_in_one_column() -> None:
    before = lone(("01", "1"), [40, 60], "1")
    assert before.differs_by_few(lone(("01", "1", "2"), [41, 59, 0]), 5)
    assert not before.differs_by_few(lone(("01", "1", "2"), [40, 60, 20]), 5)


def test_missing_cells_beside_other_cut_points() -> None:
    """Eleven new rows, ten with a number and one without."""
    one, other = (Variable.cut("x", [cut], missing=True) for cut in (4.0, 5.0))
    before = ToldCounts("1", Schema((one,)), np.array([50, 30, 20]))
    after = ToldCounts("2", Schema((other,)), np.array([60, 30, 21]))
    assert after.differs_by_few(before, 5)
    assert before.schema is not None
    assert (before.schema.variables[0].states or ())[-1] == MISSING_STATE


def test_sums_of_other_rows_need_more_or_fewer_rows() -> None:
    sums, counts = ToldCounts("1", None, np.array(100), sums=True), lone(("n", "y"), [50, 50], "1")
    for rows in (96, 100, 104):
        half = rows // 2
        there = ToldCounts("2", None, np.array(rows), sums=True), lone(("n", "y"), [half, half])
        assert sums.differs_by_few(there[0], 5)
        assert sums.differs_by_few(there[1], 5)
        assert counts.differs_by_few(there[0], 5)
    for sum_too in (True, False):
        assert not sums.differs_by_few(ToldCounts("2", None, np.array(105), sum_too), 5)


def test_of_as_many_rows_their_number_tells_nothing() -> None:
    sums, rows = (ToldCounts("1", None, np.array(100), each) for each in (True, False))
    for other, few in ((100, False), (101, True), (104, True), (105, False)):
        for told in (sums, rows):
            assert told.differs_by_few(ToldCounts("2", None, np.array(other)), 5) == few


def test_the_counts_that_sums_hold() -> None:
    """By hand: three states of which nobody has one, a number of two values, and one of many."""
    schema = Schema((Variable("many"), Variable("sex", ("f", "m", "x")), Variable("yes")))
    rows = np.column_stack([np.arange(12.0), [0] * 8 + [1] * 4, [0.0] * 11 + [1.0]])
    counts = counts_in_sums(Dataset(schema, rows), list(combinations(range(3), 2)))
    assert counts is not None
    assert counts.tables.schema.to_dict() == {"sex": ["f", "m", "x"], "yes": ["0.0", "1.0"]}
    assert counts.table(Family(1, (0,))).tolist() == [[8, 0], [3, 1], [0, 0]]
    assert counts.table(Family(0, ())).tolist() == [[8, 4, 0]]
    alone = counts_in_sums(Dataset(schema, rows), [(0, 1)])
    assert alone is not None
    assert alone.tables.families == (Family(0, ()), Family(1, ()))
    assert counts_in_sums(Dataset(Schema.gaussian("a"), np.arange(11.0)[:, None]), []) is None


@pytest.mark.parametrize(("zeros", "found"), [(12, None), (13, [12, 13])])
def test_a_number_that_more_than_half_have(zeros: int, found: list[int] | None) -> None:
    numbers = np.array([0.0] * zeros + [1.5 + k for k in range(12)])
    counts = counts_in_sums(Dataset(Schema.gaussian("a"), numbers[:, None]), [])
    assert (None if counts is None else counts.cells.tolist()[::-1]) == found
    if counts is not None:
        assert counts.tables.schema.to_dict() == {"a": ["0.0", OTHER]}


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(-2, 14)), min_size=1, max_size=40),
    st.integers(2, 12),
)
def test_rows_off_a_common_value_are_those_of_a_slow_twin(
    rows: list[tuple[int, int]], least: int
) -> None:
    """The smallest number of rows from 1 to least - 1 is found, whatever else is."""
    numbers = [0.0 if number < 0 else float(number) for _, number in rows]
    schema = Schema((Variable("a", tuple("012")), Variable("b")))
    data = Dataset(schema, np.column_stack([[float(state) for state, _ in rows], numbers]))
    found = rows_off_a_common_value(data, [(0, 1)], least)
    expected = fewest_off_a_common_value([state for state, _ in rows], numbers)
    if counts_in_sums(data, []).tables.schema.n == 2:  # type: ignore[union-attr]
        assert found.size == 0
    elif 0 < expected < least:
        # of a group of `least` rows or more, or of one that its own count refuses
        smallest = min((int(each) for each in found if each), default=0)
        few = [n for n in np.bincount([state for state, _ in rows]).tolist() if 0 < n < least]
        assert smallest == expected or few
    else:
        assert not ((found > 0) & (found < least)).any()


def test_differences_of_cuts_are_those_of_both_twins() -> None:
    """The two twins agree where both can be asked."""
    before, after = [0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 3.0]
    pairs = [[(number, "n") for number in rows] for rows in (before, after)]
    for one, other in (([1.0], [2.0]), ([0.0, 2.0], [1.0])):
        expected = fewest_between(pairs[0], pairs[1], one, other)
        assert fewest_of_readings(before, after, one, other) == expected
