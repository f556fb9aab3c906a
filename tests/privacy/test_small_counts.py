"""The rules of offices for small counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, PolicyError
from fedbn.federation.policy import SitePolicy
from fedbn.networks.family_counts import Family, FamilyCounts, count_families
from fedbn.privacy.small_counts import RULES, round_counts

SCHEMA = Schema.categorical({"a": "01", "b": "012"})
FAMILIES = (Family(0, ()), Family(1, (0,)))


def counted(cells: list[int]) -> FamilyCounts:
    """The counts of a table with so many rows for every pair of states."""
    pairs = [(a, b) for a in range(2) for b in range(3)]
    codes = [pair for pair, rows in zip(pairs, cells, strict=True) for _ in range(rows)]
    return count_families(Dataset(SCHEMA, np.array(codes)), FAMILIES)


large = st.lists(st.one_of(st.just(0), st.integers(8, 60)), min_size=6, max_size=6).filter(any)


@given(large)
def test_rounded_counts_are_multiples_near_the_counts(cells: list[int]) -> None:
    counts, rule = counted(cells), RULES["opensafely"]
    rounded = round_counts(counts, rule)
    assert not (rounded.cells % 5).any()
    assert rounded.rows == 5 * round(counts.rows / 5)
    assert (rounded.cells[counts.cells == 0] == 0).all()
    assert (rounded.cells[counts.cells > 0] > 0).all()
    assert np.abs(rounded.cells - counts.cells).max() < 10


@pytest.mark.parametrize(
    ("policy", "smallest"),
    [
        (SitePolicy(), 1),
        (SitePolicy(min_cell=5), 5),
        (SitePolicy(disclosure="pcornet"), 11),
        (SitePolicy(disclosure="opensafely"), 8),
        (SitePolicy(disclosure="pcornet", min_cell=20), 20),
        (SitePolicy(disclosure="opensafely", min_cell=3), 8),
    ],
)
def test_the_smallest_count_that_leaves(policy: SitePolicy, smallest: int) -> None:
    kept = counted([smallest, 60, 60, 60, 60, 60])
    assert policy.permit_counts(kept, compared=True).tables == kept.tables
    if smallest > 1:
        held = counted([smallest - 1, 60, 60, 60, 60, 60])
        assert policy.permit_counts(held, compared=False).tables.families == FAMILIES[:1]
        with pytest.raises(PolicyError, match="min-cell"):
            policy.permit_counts(held, compared=True)


def test_what_cannot_be_rounded_does_not_leave() -> None:
    for rule in ("pcornet", "opensafely"):
        with pytest.raises(PolicyError, match="min-cell"):
            SitePolicy(disclosure=rule).require_unrounded()
    SitePolicy().require_unrounded()


def test_another_word_is_refused() -> None:
    with pytest.raises(ConfigError, match="disclosure .* must be one of none, pcornet, opensafely"):
        SitePolicy(disclosure="pcor")
