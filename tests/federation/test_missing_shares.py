"""Shares of missing cells: rounded up, and read as they are told."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import MessageError
from fedbn.federation.missing_shares import missing_shares, read_shares, shares_text


@given(st.lists(st.integers(0, 40), min_size=1, max_size=5), st.integers(41, 90))
def test_what_is_told_is_the_next_multiple_and_comes_back(missing: list[int], rows: int) -> None:
    names = tuple("abcde"[: len(missing)])
    gone = np.array([[r < m for m in missing] for r in range(rows)])
    table = Dataset(Schema.categorical(dict.fromkeys(names, "01")), np.zeros_like(gone, int), gone)
    told = missing_shares(table)
    assert [name for name, _ in told] == [n for n, m in zip(names, missing, strict=True) if m]
    for name, share in told:
        exact = 100 * missing[names.index(name)] / rows
        assert exact <= share < exact + 5
        assert share % 5 == 0
    assert read_shares(shares_text(told), names) == told


@pytest.mark.parametrize(
    "text",
    ["", "[1]", "{", '{"z":5}', '{"a":0}', '{"a":7}', '{"a":105}', '{"a":5.0}', '{"a":true}'],
)
def test_other_shares_are_refused(text: str) -> None:
    with pytest.raises(MessageError, match="missing cells must be"):
        read_shares(text, ("a", "b"))


def test_the_order_of_the_text_is_the_names_own() -> None:
    assert json.loads(shares_text((("b", 5), ("a", 10)))) == {"a": 10, "b": 5}
