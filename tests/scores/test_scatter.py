"""Sums of products within sites: added in any order, blind to constants of a site's own."""

from __future__ import annotations

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.errors import DataError
from fedbn.scores.mixed import block_columns, block_widths
from fedbn.scores.scatter import Scatter, scatter_of_table, sum_of_scatters

SCHEMA = Schema((Variable("a"), Variable("b", ("x", "y", "z")), Variable("c")))


def table(seed: int, rows: int = 50, shift: float = 0.0) -> Dataset:
    rng = np.random.default_rng(seed)
    b = rng.integers(0, 3, rows)
    a = b + rng.normal(size=rows)
    return Dataset(SCHEMA, np.column_stack([a + shift, b, a + rng.normal(size=rows) - shift]))


def test_sums_are_those_of_the_columns_less_their_sites_means() -> None:
    tables = [table(seed, rows) for seed, rows in ((1, 50), (2, 80), (3, 7))]
    found = sum_of_scatters([scatter_of_table(each) for each in tables])
    columns = [block_columns(each)[0] for each in tables]
    centred = np.concatenate([each - each.mean(axis=0) for each in columns])
    assert found.rows == 137
    assert found.products.shape == (4, 4)
    assert block_widths(SCHEMA) == (1, 2, 1)
    assert np.allclose(found.products, centred.T @ centred, rtol=1e-12, atol=1e-12)


def test_no_order_of_sites_changes_a_bit() -> None:
    scatters = [scatter_of_table(table(seed, 10 + seed)) for seed in range(6)]
    forwards, backwards = sum_of_scatters(scatters), sum_of_scatters(scatters[::-1])
    assert forwards.products.tobytes() == backwards.products.tobytes()


def test_a_constant_of_a_site_is_not_seen() -> None:
    plain, shifted = scatter_of_table(table(1)), scatter_of_table(table(1, shift=64.0))
    assert np.allclose(plain.products, shifted.products, rtol=1e-9)


@pytest.mark.parametrize(
    ("rows", "products", "words"),
    [
        (0, np.eye(2), "at least 1 row"),
        (5, np.ones((2, 3)), "must be square"),
        (5, np.array([[1.0, np.nan], [np.nan, 1.0]]), "finite"),
        (5, np.array([[1.0, 0.5], [0.4, 1.0]]), "symmetric"),
    ],
)
def test_what_is_none_is_refused(rows: int, products: np.ndarray, words: str) -> None:
    with pytest.raises(DataError, match=words):
        Scatter(rows, products)
