"""Columns that look like identifiers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.identifiers import IdentifierRule, identifying_columns
from fedbn.data.schema import Schema, Variable
from fedbn.errors import ConfigError


def table(columns: dict[str, list[str]]) -> Dataset:
    schema = Schema.categorical({name: sorted(set(cells)) for name, cells in columns.items()})
    codes = [
        [states.index(cell) for cell in columns[name]]
        for name, states in zip(schema.names, schema.states, strict=True)
    ]
    return Dataset(schema, np.array(codes).T)


def cells(*counts: int) -> list[str]:
    """State i as often as `counts` says."""
    return [f"s{i:03}" for i, count in enumerate(counts) for _ in range(count)]


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ((5,) * 50, ""),
        ((5,) * 51, "51 states, more than 50"),
        ((5, 5), ""),
        ((5, 4), "a state of fewer than 5 rows"),
        ((30, 4, 1), "2 states of fewer than 5 rows"),
        ((4, 4, 1), "3 states of fewer than 5 rows"),
        ((4, 3, 1), "3 states in 8 rows"),
        ((1,), "1 state in 1 row"),
    ],
)
def test_each_limit_is_met_exactly(counts: tuple[int, ...], why: str) -> None:
    found = identifying_columns(table({"a": cells(*counts)}))
    assert found == ({"a": why} if why else {})


def test_limits_can_be_off_and_columns_allowed() -> None:
    data = table({"id": [f"{i}" for i in range(60)], "sex": ["f", "m"] * 30})
    assert list(identifying_columns(data)) == ["id"]
    assert identifying_columns(data, allowed=["id"]) == {}
    off = IdentifierRule(max_states=100, rows_per_state=0, min_state_rows=0)
    assert identifying_columns(data, off) == {}


def test_intervals_missing_cells_and_floats_are_no_identifiers() -> None:
    cut = Schema((Variable.cut("age", range(60)), Variable("b", ("missing", "x"))))
    rows = np.array([[i % 61, int(i > 0)] for i in range(61)])
    assert identifying_columns(Dataset(cut, rows)) == {}
    floats = Dataset(Schema.gaussian(["a"]), np.arange(9.0).reshape(-1, 1))
    assert identifying_columns(floats) == {}


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=60))
def test_states_that_no_row_has_do_not_count(values: list[str]) -> None:
    wide = Schema.categorical({"a": "abcdefghijklm"})
    data = table({"a": values})
    assert identifying_columns(data.with_schema(wide)) == identifying_columns(data)


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(ConfigError, match="min-state-rows must be at least 0, not -1"):
        IdentifierRule(min_state_rows=-1)
