"""Counts once: what two contracts would tell of a few rows is not told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.cuts import interval_codes
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.errors import PolicyError, ResultsError
from fedbn.federation import counted, kept_lines
from fedbn.federation.counted import counted_beside, enter_counts, enter_sums, tables_of
from fedbn.federation.policy import SitePolicy
from fedbn.networks.family_counts import Family, count_families
from fedbn.privacy.told_counts import ToldCounts, missing_cells
from tests.naive_small_counts import Row, fewest_between

LEAST = 5
FAMILY = Family(0, (1,))
rows_of = st.lists(
    st.tuples(st.integers(0, 6).map(float), st.sampled_from(["n", "y"])), min_size=1, max_size=30
)
cut_points = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=3, unique=True).map(sorted)


def tables(rows: list[Row], cuts: list[float], contract: str) -> list[ToldCounts]:
    """The counts of the family {number, state}, in either order of its columns."""
    schema = Schema((Variable.cut("age", cuts), Variable("b", ("n", "y"))))
    codes = np.column_stack(
        [
            interval_codes(cuts, np.array([number for number, _ in rows])),
            [("n", "y").index(state) for _, state in rows],
        ]
    )
    return tables_of(count_families(Dataset(schema, codes), [FAMILY]), contract)


def refused(path: Path, told: list[ToldCounts], least: int = LEAST) -> bool:
    try:
        enter_counts(path, told, least)
    except PolicyError as error:
        return error.args[0] == "min-cell"
    return False


@settings(max_examples=300, deadline=None)
@given(rows_of, rows_of, cut_points, cut_points)
def test_differences_are_those_of_a_slow_twin(
    before: list[Row], after: list[Row], cuts: list[float], others: list[float]
) -> None:
    (first,), (second,) = tables(before, cuts, "1"), tables(after, others, "2")
    fewest = fewest_between(before, after, cuts, others)
    same_cells = cuts == others
    for least in (1, 2, 5, 9):
        said = second.differs_by_few(first, least)
        assert said == first.differs_by_few(second, least)
        if not same_cells:
            assert said == (0 < fewest < least)


def test_a_column_that_bears_the_name_of_a_share_is_none(tmp_path: Path) -> None:
    """Its counts are compared as counts, and do not stand for the share of the other column."""
    path = counted_beside(tmp_path / "t.csv")
    name = "missing cells of x"
    schema = Schema.categorical({name: ("there", "gone")})
    own = ToldCounts("one", schema, np.array([160, 40]))
    assert not own.share
    assert own.rows_with_a_cell(LEAST) is None
    assert not refused(path, [own])
    shares = [missing_cells("one", each, 200, 60) for each in ("x", name)]
    assert not refused(path, shares)
    _, known = counted.read_tables([json.loads(line) for line in path.read_text().splitlines()])
    assert sorted(each.share for each in known) == [False, True, True]
    assert refused(path, [missing_cells("other", "x", 200, 61)])
    assert refused(path, [ToldCounts("other", schema, np.array([161, 39]))])
    assert not refused(path, [ToldCounts("other", schema, np.array([140, 60]))])


def test_one_person_between_two_cut_points(tmp_path: Path) -> None:
    rows = [(float(k), "y" if k % 3 else "n") for k in range(90)]
    path = counted_beside(tmp_path / "t.csv")
    assert not refused(path, tables(rows, [40.0], "1"))
    assert not refused(path, tables(rows, [40.0], "1"))
    assert refused(path, tables(rows, [41.0], "2"))
    assert not refused(path, tables(rows, [70.0], "2"))
    assert len(path.read_text().splitlines()) == 5  # three columns, two tables


def test_a_table_with_one_more_row_and_with_another_row(tmp_path: Path) -> None:
    rows = [(float(k), "y" if k % 3 else "n") for k in range(90)]
    path = counted_beside(tmp_path / "t.csv")
    assert not refused(path, tables(rows, [40.0], "1"))
    assert refused(path, tables([*rows, (3.0, "n")], [40.0], "2"))
    assert refused(path, tables([(0.0, "y"), *rows[1:]], [40.0], "2"))
    more = [(float(k), state) for k in (1, 80) for state in "ny" for _ in range(5)]
    assert not refused(path, tables([*rows, *more], [40.0], "2"))


def test_two_columns_that_share_one(tmp_path: Path) -> None:
    """The table over (a, b) under one contract, that over a alone under another."""
    schema = Schema.categorical({"a": "01", "b": "01"})
    codes = np.array([[k % 2, k // 2 % 2] for k in range(80)])
    counts = count_families(Dataset(schema, codes), [FAMILY])
    one = Schema.categorical({"a": "01"})
    changed = count_families(Dataset(one, np.vstack([codes[:, :1], [[1]]])), [Family(0, ())])
    path = counted_beside(tmp_path / "t.csv")
    assert not refused(path, tables_of(counts, "1"))
    assert refused(path, tables_of(changed, "2"))


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("first", ["shares", "counts"])
def test_shares_of_missing_cells_and_counts_of_their_state(
    tmp_path: Path, first: str, cut: bool
) -> None:
    """One contract imputes, another counts missing cells as a state, with others lost or found."""
    read = Variable.cut("x", [4.0], missing=True) if cut else Variable("x", ("0", "1", "missing"))
    for lost, expected in ((20, False), (22, True), (25, False)):
        counts = ToldCounts("counts", Schema((read,)), np.array([40, 60, 20]))
        both = [[missing_cells("shares", "x", 100 + 2 * lost, lost)], [counts]]
        earlier, later = both if first == "shares" else both[::-1]
        path = tmp_path / f"{lost}"
        enter_counts(path, earlier, LEAST)
        assert refused(path, later) == expected


@pytest.mark.parametrize("first", ["shares", "counts"])
@pytest.mark.parametrize("known", ["share", "state"])
def test_rows_with_a_cell_and_counts_of_a_table_without_the_others(
    tmp_path: Path, first: str, known: str
) -> None:
    """Of 200 rows 40 lack x, as one contract tells; another drops rows, also those without y."""
    state = ToldCounts("shares", Schema.categorical({"x": ("0", "missing")}), np.array([160, 40]))
    share = missing_cells("shares", "x", 200, 40) if known == "share" else state
    for without_y, expected in ((0, False), (1, True), (4, True), (5, False)):
        rest = np.array([100, 60 - without_y])
        counts = ToldCounts("counts", Schema.categorical({"b": ("n", "y")}), rest)
        earlier, later = ([share], [counts]) if first == "shares" else ([counts], [share])
        path = tmp_path / f"{without_y}"
        enter_counts(path, earlier, LEAST)
        assert refused(path, later) == expected


def test_shares_of_two_columns_are_not_compared(tmp_path: Path) -> None:
    """Which rows lack x says nothing of which lack y."""
    path = tmp_path / "counted"
    enter_counts(path, [missing_cells("one", "x", 200, 40)], LEAST)
    assert not refused(path, [missing_cells("other", "y", 200, 41)])


def test_moments_of_a_table_that_differs_by_few_rows(tmp_path: Path) -> None:
    path = counted_beside(tmp_path / "t.csv")
    enter_sums(path, None, "aa", 100, LEAST)
    enter_sums(path, None, "aa", 100, LEAST)
    for rows in (100, 101, 96):
        with pytest.raises(PolicyError, match="about these rows differ"):
            enter_sums(path, None, "bb", rows, LEAST)
    enter_sums(path, None, "bb", 105, LEAST)
    assert len(path.read_text().splitlines()) == 2


def test_a_file_that_cannot_be_read_stops_the_site(tmp_path: Path) -> None:
    path = counted_beside(tmp_path / "t.csv")
    path.write_text("{}\n")
    with pytest.raises(ResultsError, match="must hold what was counted"):
        enter_counts(path, tables([(1.0, "n")], [1.0], "1"), LEAST)


def wide(cuts: list[float], contract: str, columns: int) -> list[ToldCounts]:
    """The counts of a family of numbers of which each has so many intervals."""
    names = [f"n{k}" for k in range(columns)]
    schema = Schema(tuple(Variable.cut(name, cuts) for name in names))
    codes = np.zeros((20, columns), dtype=np.int32)
    family = Family(0, tuple(range(1, columns)))
    return tables_of(count_families(Dataset(schema, codes), [family]), contract)


def test_what_is_too_much_to_compare_is_refused(tmp_path: Path) -> None:
    cuts = [float(k) for k in range(16)]
    path = tmp_path / "counted"
    assert not refused(path, wide(cuts, "1", 3))
    assert refused(path, wide([cut + 0.5 for cut in cuts], "2", 3))
    assert not refused(path, wide(cuts, "1", 3))


def test_a_table_too_large_to_be_compared_leaves_only_where_nothing_is_compared(
    tmp_path: Path,
) -> None:
    states = [f"{k:03}" for k in range(400)]
    schema = Schema.categorical({"a": states, "b": states})
    data = Dataset(schema, np.zeros((20, 2), dtype=np.int32))
    large, alone = Family(0, (1,)), Family(1, ())
    counts = count_families(data, [large, alone])
    assert [each.names for each in tables_of(counts, "1")] == [("b",)]
    careful, open_policy = SitePolicy(min_cell=5), SitePolicy()
    assert open_policy.permit_counts(counts, compared=True) == counts
    assert careful.permit_counts(counts, compared=False).tables.families == (alone,)
    with pytest.raises(PolicyError, match="not compared"):
        careful.permit_counts(counts, compared=True)
    assert not refused(tmp_path / "counted", tables_of(counts.of([large]), "1"))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(rows_of, cut_points), min_size=1, max_size=4))
def test_what_was_told_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[list[Row], list[float]]]
) -> None:
    path = tmp_path_factory.mktemp("counted") / "counted"
    kept = []
    for number, (rows, cuts) in enumerate(told):
        found = tables(rows, cuts, str(number))
        enter_counts(path, found, 1)
        kept += found
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    _, read = counted.read_tables(lines)
    assert [(each.digest, each.schema, each.cells.tolist()) for each in read] == [
        (each.digest, each.schema, each.cells.tolist()) for each in kept
    ]


def test_a_marginal_table_of_one_that_was_told_takes_no_room(tmp_path: Path) -> None:
    path, rows = tmp_path / "counted", [(float(k), "y" if k % 3 else "n") for k in range(90)]
    (both,) = tables(rows, [40.0], "1")
    enter_counts(path, [both.over(["b"]), both], LEAST)
    size = path.stat().st_size
    enter_counts(path, [both.over(["age"])], LEAST)
    assert path.stat().st_size == size
    (other,) = tables([*rows, (3.0, "n")], [40.0], "2")
    assert refused(path, [other.over(["b"])])


def test_a_large_table_with_few_cells_takes_little_room(tmp_path: Path) -> None:
    path = tmp_path / "counted"
    enter_counts(path, wide([float(k) for k in range(45)], "1", 3), LEAST)
    assert path.stat().st_size < 8_000  # 97,336 cells, of which one is above 0


def test_where_there_is_no_room_nothing_new_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rows = tmp_path / "counted", [(float(k), "y" if k % 3 else "n") for k in range(90)]
    known, other = tables(rows, [40.0], "1"), tables(rows, [70.0], "2")
    enter_counts(path, known, LEAST)
    monkeypatch.setattr(kept_lines, "MAX_KEPT", path.stat().st_size + 20)
    content = path.read_bytes()
    for enter in (lambda: enter_counts(path, other, LEAST),
                  lambda: enter_sums(path, None, "aa", 500, LEAST)):  # fmt: skip
        with pytest.raises(PolicyError, match="is full") as refusal:
            enter()
        assert refusal.value.args[0] == "counts"
    assert path.read_bytes() == content
    enter_counts(path, known, LEAST)
