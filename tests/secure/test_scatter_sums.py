"""Sums of products under masks: whole numbers that fit, as near to the sums as is said."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.arrays import Ints
from fedbn.choice.by_scatters import scatter_scores
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.errors import DataError, MessageError
from fedbn.networks.family_counts import Family
from fedbn.scores.mixed import scatter_of
from fedbn.scores.scatter import Scatter, scatter_of_table
from fedbn.secure.requests import ScatterRequest, ScoreRequest, SizeRequest
from fedbn.secure.scatter_sums import (
    LEVELS,
    PooledSums,
    fixed_scatter,
    fixed_scores,
    largest_error,
    levels_above,
    own_sums,
    scatter_of_fixed,
    sum_from_zero,
    sum_levels,
    sum_own_scores,
    sum_scatters,
)
from tests import naive_scatter_sums
from tests.naive_scatter_sums import level, total, whole_numbers

SCHEMA = Schema((Variable("a"), Variable("b", ("x", "y", "z")), Variable("c")))
FAMILIES = (Family(0, (1,)), Family(1, ()), Family(2, (0, 1)))


def table(seed: int, rows: int = 50, unit: float = 1.0) -> Dataset:
    rng = np.random.default_rng(seed)
    b = rng.integers(0, 3, rows)
    a = b + rng.normal(size=rows)
    return Dataset(SCHEMA, np.column_stack([a * unit, b, a + rng.normal(size=rows)]))


def levels_of(scatters: list[Scatter]) -> tuple[int, ...]:
    return tuple(
        level([each.products[k, k] for each in scatters]) for k in range(len(scatters[0].products))
    )


@given(
    st.integers(1, 9),
    st.lists(st.integers(-240, 240), min_size=3, max_size=3),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=40, deadline=None)
def test_whole_numbers_are_those_of_the_definition_and_their_sum_is_as_near_as_is_said(
    sites: int, powers: list[int], seed: int
) -> None:
    """In any units, also where the sites' differ."""
    rng = np.random.default_rng(seed)
    units = [np.ldexp(1.0, np.array(powers) + rng.integers(-9, 9, 3)) for _ in range(sites)]
    scatters = [Scatter(9, scatter_of(rng.normal(size=(9, 3)) * unit)) for unit in units]
    levels = levels_of(scatters)
    above = np.sum([levels_above(each) for each in scatters], axis=0).reshape(3, LEVELS)
    assert tuple((np.flatnonzero(own)[-1] + 1) for own in above) == levels
    told = [fixed_scatter(each, levels, sites) for each in scatters]
    for own, each in zip(told, scatters, strict=True):
        assert own.tolist() == whole_numbers(each, levels, sites)
    summed = np.sum(told, axis=0)
    assert summed.tolist() == [sum(map(int, cells)) for cells in zip(*told, strict=True)]
    assert max(map(abs, summed.tolist())) <= 2**61 + sites
    found = scatter_of_fixed(summed, levels, sites)
    error = largest_error(found, levels, sites)
    np.testing.assert_allclose(error, naive_scatter_sums.largest_error(found, levels, sites))
    largest = np.array([max(each.products[k, k] for each in scatters) for k in range(3)])
    stated = sites * 2.0 ** (3 - 61 + (sites - 1).bit_length())
    for i in range(3):
        for j in range(3):
            off = abs(Fraction(found.products[i, j]) - total(scatters, i, j))
            assert off <= Fraction(error[i, j])
            rounded = error[i, j] - np.ldexp(abs(found.products[i, j]), -53)
            assert rounded <= 1.0001 * stated * np.sqrt(largest[i]) * np.sqrt(largest[j])


def test_the_largest_sums_fit_into_a_word() -> None:
    for sites in (1, 3, 1000, 2**20):
        top = np.ldexp(1.0, 4 * 7)  # the largest sum of squares of its level
        own = fixed_scatter(Scatter(1, np.array([[top, -top], [-top, top]])), (135, 135), sites)
        assert own[1] == -own[2] == own[3]
        assert sites * int(own[1]) <= 2**61


def test_what_does_not_fit_is_refused_before_it_is_told() -> None:
    scatter = scatter_of_table(table(1))
    levels = levels_of([scatter])
    for wrong in ((levels[0] - 1, *levels[1:]), levels[1:], (0, *levels[1:]), (257, *levels[1:])):
        with pytest.raises(MessageError, match=r"server: .*level"):
            fixed_scatter(scatter, wrong, 3)
    for scale in (1e200, 1e-200):
        with pytest.raises(DataError, match="take another unit"):
            levels_above(Scatter(3, np.array([[scale]])))
    assert not levels_above(Scatter(3, np.zeros((1, 1)))).any()
    for families in ((), (Family(0, (9,)),), FAMILIES[::-1]):
        with pytest.raises(MessageError, match="server: "):
            fixed_scores(scatter, SCHEMA, families, 3)


def answered(search: Any, tables: list[Dataset], lie: Ints | None) -> Any:
    """What a search finds; with a lie in the sums of products."""
    request = next(search)
    try:
        while True:
            sums = np.sum([own_sums(request, each, len(tables)) for each in tables], axis=0)
            if lie is not None and isinstance(request, ScatterRequest):
                sums = sums + lie if sums.shape == lie.shape else lie
            request = search.send(sums)
    except StopIteration as end:
        return end.value


def asked(tables: list[Dataset], lie: Ints | None = None):
    """The sums of products, as a server gets them."""
    sites = len(tables)

    def both():
        levels = yield from sum_levels(SCHEMA)
        return (yield from sum_scatters(SCHEMA, levels, sites))

    return answered(both(), tables, lie)


def test_a_server_gets_the_sums_and_the_own_scores() -> None:
    tables = [table(seed, unit=10.0**seed) for seed in range(4)]
    found = asked(tables)
    products = np.sum([scatter_of_table(each).products for each in tables], axis=0)
    assert found.rows == 200
    assert np.allclose(found.products, products, rtol=1e-13, atol=0)
    search = sum_own_scores(SCHEMA, FAMILIES, found.rows, 4)
    request = next(search)
    assert request == ScoreRequest(FAMILIES)
    with pytest.raises(StopIteration) as end:
        search.send(np.sum([own_sums(request, each, 4) for each in tables], axis=0))
    exact = scatter_scores(SCHEMA, [scatter_of_table(each) for each in tables])
    for family, score in zip(FAMILIES, end.value.value.scores, strict=True):
        assert score == exact.own_score(family)


def test_a_family_that_a_site_refuses_has_no_own_score() -> None:
    one = table(1)
    rows = np.array(one.table)
    rows[:, 2] = rows[:, 0]  # c is determined by a
    tables = [one, Dataset(SCHEMA, rows)]
    families = (Family(2, ()), Family(2, (0,)))
    search = sum_own_scores(SCHEMA, families, 100, 2)
    request = next(search)
    with pytest.raises(StopIteration) as end:
        search.send(np.sum([own_sums(request, each, 2) for each in tables], axis=0))
    first, second = end.value.value.scores
    assert np.isfinite(first)
    assert second == -np.inf


@pytest.mark.parametrize(
    ("place", "what"),
    [(0, "rows"), (1, "those of no table"), (5, "no indicators"), (None, "must be 11 int64")],
)
def test_sums_of_no_sites_are_refused(place: int | None, what: str) -> None:
    lie = np.zeros(11 if place is not None else 3, dtype=np.int64)
    if place is not None:
        lie[place] = -200 if place == 0 else -(2**59) if place == 1 else 2**60
    with pytest.raises(MessageError, match=what):
        asked([table(1), table(2)], lie)


def test_scores_that_no_sites_have_are_refused() -> None:
    search = sum_own_scores(SCHEMA, (Family(0, ()),), 100, 2)
    next(search)
    with pytest.raises(DataError, match="masks hide which"):
        search.send(np.array([2**60, 0]))


# --- Sums about 0, for parameters ------------------------------------------------------------

NUMBERS = Schema((Variable("a"), Variable("b"), Variable("c")))


def pooled(tables: list[Dataset], lie: Ints | None = None) -> PooledSums:
    """The pooled means and sums of products, as a server gets them."""
    sites = len(tables)
    products = np.sum([scatter_of_table(each).products for each in tables], axis=0)
    within = Scatter(sum(each.n_rows for each in tables), products)

    def both():
        levels = yield from sum_levels(NUMBERS, from_zero=True)
        return (yield from sum_from_zero(NUMBERS, levels, sites, within))

    return answered(both(), tables, lie)


@given(
    st.integers(1, 5),
    st.lists(st.integers(-99, 99), min_size=3, max_size=3),
    st.floats(0, 1000),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=40, deadline=None)
def test_pooled_means_and_products_are_those_of_all_rows(
    sites: int, powers: list[int], off: float, seed: int
) -> None:
    """In any units, and up to 1,000 standard deviations from 0."""
    rng = np.random.default_rng(seed)
    units = np.ldexp(1.0, np.array(powers))
    tables = [
        Dataset(NUMBERS, (off + rng.normal(size=(30, 3)) + rng.normal(size=3)) * units)
        for _ in range(sites)
    ]
    found = pooled(tables)
    rows = [[Fraction(float(x)) for x in row] for each in tables for row in each.table]
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    assert found.rows == len(rows) == 30 * sites
    for i in range(3):
        spread = sum((row[i] - means[i]) ** 2 for row in rows)
        assert (Fraction(float(found.means[i])) - means[i]) ** 2 <= Fraction(1e-16) * spread
        for j in range(3):
            exact = sum((row[i] - means[i]) * (row[j] - means[j]) for row in rows)
            other = sum((row[j] - means[j]) ** 2 for row in rows)
            wrong = Fraction(float(found.products[i, j])) - exact
            assert wrong**2 <= Fraction(1e-16) * spread * other


def numbers(scale: float = 1.0, off: float = 0.0, rows: int = 30) -> Dataset:
    return Dataset(NUMBERS, off + scale * np.random.default_rng(1).normal(size=(rows, 3)))


def test_a_column_far_from_zero_has_no_parameters() -> None:
    pooled([numbers(1.0, 1500.0)] * 3)
    with pytest.raises(DataError, match="column 'a' lies too far from 0"):
        pooled([numbers(1.0, 5000.0)] * 3)
    with pytest.raises(DataError, match=r"column 'a' lies too far from 0 .* its mean is 1e\+06"):
        pooled([numbers(1.0, 1e6)] * 3)


def test_a_column_that_is_constant_everywhere_has_no_products() -> None:
    tables = []
    for _ in range(3):
        rows = np.array(numbers().table)
        rows[:, 1] = 1e9 / 3
        tables.append(Dataset(NUMBERS, rows))
    found = pooled(tables)
    assert not found.products[1].any()
    assert found.means[1] == pytest.approx(1e9 / 3)


def test_sums_about_zero_are_of_numbers_alone() -> None:
    for request in (SizeRequest(from_zero=True), ScatterRequest((1,) * 5, from_zero=True)):
        with pytest.raises(MessageError, match="of numbers alone"):
            own_sums(request, table(1), 3)


@pytest.mark.parametrize(
    ("place", "more", "what"),
    [
        (0, 1, "must be 60, as before, not 61 and 60"),
        (0, -90, "must be 60, as before, not -30"),
        (10, 2**50, "must be 60, as before, not 60 and"),
        (1, -(2**56), "smaller together than within"),
        (1, -(2**60), "must not be below 0"),
        (None, 0, "must be 11 int64"),
    ],
)
def test_sums_about_zero_that_no_sites_have_are_refused(
    place: int | None, more: int, what: str
) -> None:
    lie = np.zeros(11 if place is not None else 3, dtype=np.int64)
    if place is not None:
        lie[place] = more
    with pytest.raises(MessageError, match=what):
        pooled([numbers(), numbers()], lie)
