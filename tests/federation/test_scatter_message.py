"""Sums of products on the wire, from sites that are not trusted."""

from __future__ import annotations

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.errors import DataError, MessageError
from fedbn.federation.sums_message import (
    require_askable,
    scatter_from_arrays,
    scatter_to_arrays,
)
from fedbn.scores.scatter import scatter_of_table

SCHEMA = Schema((Variable("age"), Variable("sex", ("f", "m")), Variable("stage", ("1", "2", "3"))))


def table(rows: int = 60) -> Dataset:
    rng = np.random.default_rng(1)
    return Dataset(
        SCHEMA,
        np.column_stack(
            [rng.normal(size=rows), rng.integers(0, 2, rows), rng.integers(0, 3, rows)]
        ),
    )


SENT = scatter_of_table(table())


def arrive(**changed: np.ndarray):
    arrays = scatter_to_arrays(SENT, SCHEMA) | changed
    return scatter_from_arrays(arrays, SCHEMA)


def test_what_is_sent_arrives() -> None:
    found = arrive()
    assert found.rows == 60
    assert np.array_equal(found.products, SENT.products)


def changed(place: int, value: float) -> dict[str, np.ndarray]:
    products = SENT.products[np.triu_indices(4)].copy()
    products[place] = value
    return {"products": products}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rows": np.array([0])}, "rows must be at least 1 "),
        (changed(0, np.inf), "and finite, not inf"),
        (changed(0, -1.0), "must not be below 0"),
        (changed(1, 1e6), "those of no table"),
        (changed(4, 16.0), "the sums of 'sex' are those of no indicators in 60 rows"),
        ({"products": np.zeros(9)}, r"products must be \[P\] with P = 10"),
        ({"products": np.zeros(10, dtype=np.int64)}, "products must be float64"),
    ],
)
def test_sums_of_no_table_are_refused(change: dict[str, np.ndarray], words: str) -> None:
    with pytest.raises(MessageError, match=f".*{words}"):
        arrive(**change)


def test_sums_are_of_the_agreed_schema() -> None:
    other = Schema((*SCHEMA.variables[:2], Variable("stage", ("1", "2", "4"))))
    with pytest.raises(MessageError, match="schema"):
        scatter_from_arrays(scatter_to_arrays(SENT, SCHEMA), other)


def test_categories_alone_and_too_many_columns_are_not_asked_for() -> None:
    with pytest.raises(DataError, match="categories are counted"):
        require_askable(Schema.categorical({"a": "01"}))
    with pytest.raises(DataError, match="at most 2000 columns"):
        require_askable(Schema.gaussian([f"v{k:04}" for k in range(2001)]))
    require_askable(Schema.gaussian([f"v{k:04}" for k in range(2000)]))
