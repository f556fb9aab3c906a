"""What the core makes of a table before it counts: merged rows, modes, bitmaps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fedbn._core.scores import DiscreteScore, ScoreKind
from fedbn.errors import ArgumentError

EDGES_OF_BLOCKS = (1, 2, 63, 64, 65, 128, 511, 512, 513, 2049, 8200)
ARITIES = (1, 2, 3, 15, 16, 17, 40)  # up to 16 states are looked for one after the other


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(EDGES_OF_BLOCKS) | st.integers(1, 3000),
    st.lists(st.sampled_from(ARITIES), min_size=1, max_size=6),
    st.integers(0, 9),
    st.sampled_from((np.uint16, np.int32)),
)
@example(1351, [1], 0, np.uint16)
@example(70, [1, 1, 3], 0, np.int32)
def test_what_is_made_of_a_table(rows: int, arities: list[int], seed: int, width: type) -> None:
    """Against numpy: every row's kind and weight, rows outside modes, and counts of pairs."""
    rng = np.random.default_rng(seed)
    columns = [np.minimum(rng.integers(0, r, rows), rng.integers(0, r, rows)) for r in arities]
    codes: np.ndarray = np.array(columns, dtype=width)
    score = DiscreteScore.rungs(ScoreKind.information, codes, arities, [(1.0, 1e-300)], 64 << 20)[0]
    kinds, weights = score.merged_rows()
    order = np.lexsort(kinds[::-1])
    expected, counts = np.unique(codes, axis=1, return_counts=True)
    assert (kinds[:, order] == expected).all()
    assert (weights[order] == counts).all()
    outside = [expected.shape[1] - np.bincount(column).max() for column in expected]
    assert list(score.rows_outside_modes) == outside
    for x in range(1, len(arities)):
        found = score.local_with(0, [], [x])[0]
        assert np.isclose(found, _joint(codes[[0, x]]) - _joint(codes[[x]]), rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("code", [-1, 2, 1 << 16, 2 << 16])
def test_wide_codes_are_not_cut_off(code: int) -> None:
    codes = np.zeros((1, 5000), dtype=np.int32)
    codes[0, -1] = code
    with pytest.raises(ArgumentError, match="a code must be"):
        DiscreteScore.rungs(ScoreKind.bdeu, codes, [2], [(1.0, 1.0)], 1 << 20)


def _joint(codes: np.ndarray) -> float:
    """Σ n ln n over the configurations."""
    counts = np.unique(codes, axis=1, return_counts=True)[1]
    return float((counts * np.log(counts)).sum())
