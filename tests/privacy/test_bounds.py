"""Bounds of columns: the form, and that every column has its own."""

from __future__ import annotations

import pytest

from fedbn.errors import ConfigError
from fedbn.privacy.bounds import Bounds, bounds_of_some, require_bounds


def test_named_bounds_come_before_those_of_every_column() -> None:
    bounds = Bounds.of("b=-1:2.5; -4:4 ;x=y=0:1", ["a", "b", "x=y"])
    assert bounds.low.tolist() == [-4.0, -1.0, 0.0]
    assert bounds.high.tolist() == [4.0, 2.5, 1.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "LOW:HIGH for every column"),
        ("4", "LOW:HIGH for every column"),
        ("a=1:b", "LOW:HIGH for every column"),
        ("2:1", "must be below the upper one, and both finite, not '2:1'"),
        ("0:inf", "must be below the upper one, and both finite, not '0:inf'"),
        ("nan:1", "must be below the upper one"),
        ("0:1; 0:2", "twice for every other column"),
        ("a=0:1; a=0:2", "twice for 'a'"),
    ],
)
def test_texts_of_another_form_are_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        require_bounds("bounds", text)


def test_every_column_has_bounds_and_every_bound_a_column() -> None:
    with pytest.raises(ConfigError, match="every column, and 'b' has none"):
        Bounds.of("a=0:1", ["a", "b"])
    with pytest.raises(ConfigError, match="stated for 'c', which is no column"):
        Bounds.of("0:1; c=0:1", ["a", "b"])


def test_bounds_of_columns_that_a_table_lacks_are_left_out() -> None:
    some = bounds_of_some("b=-1:2; -4:4; x=y=0:1; c=0:9", ["a", "b", "c", "x=y"], ["a", "x=y"])
    assert some == "-4:4; x=y=0:1"
    with pytest.raises(ConfigError, match="stated for 'd', which is no column"):
        bounds_of_some("0:1; d=0:1", ["a", "b"], ["a"])
    with pytest.raises(ConfigError, match="every column, and 'b' has none"):
        bounds_of_some("a=0:1", ["a", "b"], ["a"])
