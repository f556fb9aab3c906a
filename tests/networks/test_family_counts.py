"""Counts of families against counting by hand, and that they add exactly."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import DataError, StructureError
from fedbn.networks.family_counts import (
    LARGEST_TABLE,
    MAX_ROWS,
    Family,
    FamilyCounts,
    FamilyTables,
    count_families,
    families_of,
    sum_of_counts,
)
from fedbn.networks.network import MAX_CELLS
from tests.strategies import dags

ARITIES = (2, 3, 1, 4)


def table(rows: int, seed: int) -> Dataset:
    rng = np.random.default_rng(seed)
    schema = Schema.categorical(
        {f"v{i}": [str(s) for s in range(size)] for i, size in enumerate(ARITIES)}
    )
    return Dataset(schema, np.stack([rng.integers(0, size, rows) for size in ARITIES], axis=1))


def by_hand(data: Dataset, family: Family) -> list[list[int]]:
    """The slow twin: for every configuration and state, look at every row."""
    node, parents = family
    rows = data.codes.tolist()
    return [
        [
            sum(row[node] == state and tuple(row[p] for p in parents) == given for row in rows)
            for state in range(ARITIES[node])
        ]
        for given in product(*(range(ARITIES[p]) for p in parents))
    ]


@settings(max_examples=25, deadline=None)
@given(st.lists(dags(min_nodes=4, max_nodes=4), min_size=1, max_size=3), st.integers(0, 99))
def test_counts_equal_those_by_hand(graphs: list, seed: int) -> None:
    data = table(30, seed)
    families = families_of(graphs)
    counts = count_families(data, families)
    assert counts.rows == 30
    for family in families:
        assert counts.table(family).tolist() == by_hand(data, family)


@settings(max_examples=25, deadline=None)
@given(
    dags(min_nodes=4, max_nodes=4),
    st.lists(st.integers(1, 20), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)
def test_sums_are_the_counts_of_all_rows_in_any_order(graph, sizes: list[int], random) -> None:
    data = table(sum(sizes), 0)
    ends = np.cumsum([0, *sizes])
    parts = [
        count_families(data.take(np.arange(a, b)), families_of([graph])) for a, b in pairwise(ends)
    ]
    random.shuffle(parts)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert total == sum_of_counts(parts) == count_families(data, families_of([graph]))


def test_what_counts_must_be() -> None:
    tables = FamilyTables(table(1, 0).schema, (Family(0, ()), Family(1, (0,))))
    good = np.array([3, 4, 1, 1, 1, 2, 2, 0])
    assert FamilyCounts.of_cells(tables, good).rows == 7
    for cells, words in [
        (good.astype(float), "must be int64 \\[8\\], not float64"),
        (good[:7], "not int64 \\[7\\]"),
        (np.array([8, -1, 1, 1, 1, 2, 2, 0]), "between 0 and"),
        (np.array([4, 4, 1, 1, 1, 2, 2, 0]), "same rows.* has 8, .* has 7"),
        (np.array([2**62, 2**62, 1, 1, 1, 2, 2, 0]), "between 0 and"),
        (np.array([MAX_ROWS, 1, MAX_ROWS, 1, 0, 0, 0, 0]), "same rows, at most"),
    ]:
        with pytest.raises(DataError, match=words):
            FamilyCounts.of_cells(tables, cells)


def test_what_families_must_be() -> None:
    schema = table(1, 0).schema
    for families, words in [
        ((), "at least one"),
        ((Family(0, (0,)),), "different variables 0 to 3"),
        ((Family(4, ()),), "different variables"),
        ((Family(0, (-1,)),), "different variables"),
        ((Family(0, (2, 1)),), "must ascend"),
        ((Family(0, (1, 1)),), "must ascend"),
        ((Family(1, ()), Family(0, ())), "sorted and distinct"),
        ((Family(1, ()), Family(1, ())), "sorted and distinct"),
    ]:
        with pytest.raises(StructureError, match=words):
            FamilyTables(schema, families)
    with pytest.raises(DataError, match="categorical data only"):
        FamilyTables(Schema.gaussian("ab"), (Family(0, ()),))
    many = Schema.categorical({f"v{i:02d}": [str(s) for s in range(9)] for i in range(30)})
    with pytest.raises(DataError, match=f"at most {LARGEST_TABLE} cells, not {9**30}"):
        FamilyTables(many, (Family(0, tuple(range(1, 30))),))


def test_a_table_too_large_to_be_written_is_counted_all_the_same() -> None:
    states = [f"{s:03d}" for s in range(200)]
    schema = Schema.categorical(dict.fromkeys("abcd", states))
    rng = np.random.default_rng(1)
    data = Dataset(schema, rng.integers(0, 200, (50, 4)))
    family = Family(3, (0, 1, 2))
    counts = count_families(data, [family])
    assert counts.rows == 50
    assert counts.filled_cells(family)[0].max() < 200**4
    for write in (
        lambda: counts.table(family),
        lambda: counts.cells,
        counts.tables.require_written,
    ):
        with pytest.raises(DataError, match=f"at most {MAX_CELLS} cells.*, not {200**4}"):
            write()


def test_only_the_same_families_add() -> None:
    data = table(5, 0)
    one, other = (count_families(data, [Family(0, parents)]) for parents in ((), (1,)))
    with pytest.raises(DataError, match="same families"):
        one + other


def test_counts_cannot_be_changed() -> None:
    given = np.array([3, 4])
    places = np.array([0, 1])
    counts = FamilyCounts(FamilyTables(table(1, 0).schema, (Family(0, ()),)), places, given)
    given[0], places[1] = 9, 0
    assert counts.cells.tolist() == [3, 4]
    for array in (counts.counts, counts.places):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_what_filled_cells_must_be() -> None:
    tables = FamilyTables(table(1, 0).schema, (Family(0, ()), Family(1, (0,))))
    places, counts = np.array([1, 2, 7]), np.array([7, 3, 4])
    assert FamilyCounts(tables, places, counts).cells.tolist() == [0, 7, 3, 0, 0, 0, 0, 4]
    for cells, numbers, words in [
        (places[::-1], counts, "must ascend from 0 to 7"),
        (np.array([1, 1, 7]), counts, "must ascend"),
        (np.array([-1, 2, 7]), counts, "must ascend"),
        (np.array([1, 2, 8]), counts, "must ascend"),
        (places, np.array([7, 7, 0]), "between 1 and .*, not 0"),
        (places, np.array([7, 7]), r"counts must be int64 \[3\], not int64 \[2\]"),
        (places.astype(float), counts, "places must be int64"),
        (np.array([1, 2, 3]), np.array([7, 3, 3]), "same rows"),
        (np.array([2, 3]), np.array([3, 3]), "same rows"),
    ]:
        with pytest.raises(DataError, match=words):
            FamilyCounts(tables, cells, numbers)


def many_states(rows: int, seed: int) -> Dataset:
    """Two columns of 150 states, b = a in 90 % of the rows."""
    rng = np.random.default_rng(seed)
    states = [f"{s:03d}" for s in range(150)]
    a, b = rng.integers(0, 150, (2, rows))
    b = np.where(rng.random(rows) < 0.9, a, b)
    return Dataset(Schema.categorical({"a": states, "b": states}), np.stack([a, b], axis=1))


def test_a_table_larger_than_the_rows_has_the_cells_that_count_rows() -> None:
    data = many_states(300, 0)
    family = Family(1, (0,))
    counts = count_families(data, [family, Family(0, ())])
    pairs: dict[tuple[int, int], int] = {}
    for a, b in data.codes.tolist():
        pairs[a, b] = pairs.get((a, b), 0) + 1
    places, numbers = counts.filled_cells(family)
    found = zip(places.tolist(), numbers.tolist(), strict=True)
    assert {divmod(place, 150): n for place, n in found} == pairs
    assert counts.table(family).sum() == counts.rows == 300
    halves = [count_families(data.take(np.arange(k, 300, 2)), [family]) for k in (0, 1)]
    assert halves[0] + halves[1] == counts.of([family])
