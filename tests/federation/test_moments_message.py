"""Moments on the wire, from sites that are not trusted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import MessageError
from fedbn.federation.sums_message import MAX_VALUE, moments_from_arrays, moments_to_arrays
from fedbn.graphs.dag import DAG
from fedbn.networks.moments import Moments, family_pairs, moments_of, pooled_moments
from fedbn.scores.scatter import MAX_SITE_ROWS

SCHEMA = Schema.gaussian(["a", "b", "c"])
DAG_ABC = DAG.from_edges("abc", [("a", "c"), ("b", "c")])
PAIRS = family_pairs(DAG_ABC)  # aa ab ac bb bc cc
GOOD = Moments(9, np.array([1.0, 2.0, 3.0]), np.array([2.0, 0.5, 1.0, 2.0, 1.0, 4.0]))


def arrive(**changed: Any) -> Moments:
    arrays = moments_to_arrays(GOOD, DAG_ABC, SCHEMA) | changed
    return moments_from_arrays(arrays, DAG_ABC, SCHEMA)


def floats(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


BAD = {
    "huge means": (
        {"means": floats(1e308, 0, 0)},
        "means must be .* at most 1e\\+130 and finite, not 1e\\+308",
    ),
    "huge scatter": (
        {"scatter": floats(1.7e308, 0, 0, 1, 0, 1.7e308)},
        "scatter must be .* at most 1e\\+260 and finite, not 1.7e\\+308",
    ),
    "no number": ({"means": floats(np.nan, 0, 0)}, "and finite, not nan"),
    "many rows": (
        {"rows": np.array([MAX_SITE_ROWS + 1])},
        f"rows must be .* at most {MAX_SITE_ROWS}, not",
    ),
    "no row": ({"rows": np.array([0])}, "rows must be at least 1 "),
    "below 0": ({"scatter": floats(2, 0, 0, -1, 0, 4)}, "family of 'b' must not be below 0"),
    "a correlation of 2": ({"scatter": floats(1, 2, 0, 1, 0, 1)}, "family of 'c' are those of no"),
    "three that cannot be": ({"scatter": floats(1, -0.9, 0.9, 1, 0.9, 1)}, "'c' are those of no"),
    "none of its own": ({"scatter": floats(0, 5, 0, 1, 0, 1)}, "'c' are those of no table"),
    "too few": ({"scatter": floats(1, 0, 0, 1, 0)}, r"scatter must be \[P\] with P = 6, not \[5\]"),
    "another type": ({"means": np.zeros(3, dtype=np.int64)}, "means must be float64"),
}


@pytest.mark.parametrize("case", BAD)
def test_moments_of_no_table_are_refused(case: str) -> None:
    changed, reason = BAD[case]
    with pytest.raises(MessageError, match=f".*{reason}"):
        arrive(**changed)


def test_the_largest_that_arrive_can_be_put_together() -> None:
    """One dishonest site must not end the run by numbers that overflow in the sums."""
    largest = MAX_VALUE**2
    worst = {"rows": np.array([MAX_SITE_ROWS]), "scatter": floats(*[largest] * 6)}
    sites = {"north": arrive()}
    for i, sign in enumerate((1, -1, 1, 1)):
        sites[f"s{i}"] = arrive(means=sign * floats(*[MAX_VALUE] * 3), **worst)
    pooled = pooled_moments(sites, PAIRS)
    assert pooled.rows == 9 + 4 * MAX_SITE_ROWS


@given(
    st.lists(st.tuples(*(st.floats(-1e6, 1e6),) * 3), min_size=1, max_size=6),
    st.sampled_from([1e-170, 1e-9, 1.0, 1e100]),
)
def test_moments_of_tables_arrive(rows: list[tuple[float, ...]], unit: float) -> None:
    """Also where columns are constant, or determine each other up to rounding."""
    values = np.array(rows) * [unit, 1.0, 1.0]
    values[:, 2] = values[:, 1] * 3 + 0.1
    sent = moments_of(Dataset(SCHEMA, values), PAIRS)
    arrays = moments_to_arrays(sent, DAG_ABC, SCHEMA)
    found = moments_from_arrays(arrays, DAG_ABC, SCHEMA)
    assert found.scatter.tobytes() == sent.scatter.tobytes()
