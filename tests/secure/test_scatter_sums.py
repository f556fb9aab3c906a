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
from fedbn.secure.blocks import Answering
from fedbn.secure.requests import ScatterRequest, ScoreRequest, SizeRequest
from fedbn.secure.scatter_sums import (
    LEVELS,
    fixed_scatter,
    fixed_scores,
    largest_error,
    levels_above,
    own_sums,
    scatter_of_fixed,
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
    above = np.sum([levels_above(np.diag(each.products)) for each in scatters], axis=0).reshape(
        3, LEVELS
    )
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
            levels_above(np.array([scale]))
    assert not levels_above(np.zeros(1)).any()
    for families in ((), (Family(0, (9,)),), FAMILIES[::-1]):
        with pytest.raises(MessageError, match="server: "):
            fixed_scores(scatter, SCHEMA, families, 3)


def answered(search: Any, tables: list[Dataset], lie: Ints | None) -> Any:
    """What a search finds; with a lie in the sums of products."""
    request = next(search)
    try:
        while True:
            among = Answering.of(SCHEMA, len(tables))
            sums = np.sum([own_sums(request, each, among) for each in tables], axis=0)
            if lie is not None and isinstance(request, ScatterRequest):
                sums = sums + lie if sums.shape == lie.shape else lie
            request = search.send(sums)
    except StopIteration as end:
        return end.value


def asked(tables: list[Dataset], lie: Ints | None = None):
    """The sums of products, as a server gets them."""

    def both():
        levels = yield from sum_levels(SizeRequest(), 4)
        (found,) = yield from sum_scatters(levels, Answering.of(SCHEMA, len(tables)))
        return found

    return answered(both(), tables, lie)


def test_a_server_gets_the_sums_and_the_own_scores() -> None:
    tables = [table(seed, unit=10.0**seed) for seed in range(4)]
    found = asked(tables)
    products = np.sum([scatter_of_table(each).products for each in tables], axis=0)
    assert found.rows == 200
    assert np.allclose(found.products, products, rtol=1e-13, atol=0)
    among = Answering.of(SCHEMA, 4)
    search = sum_own_scores(FAMILIES, [found.rows], among)
    request = next(search)
    assert request == ScoreRequest(FAMILIES)
    with pytest.raises(StopIteration) as end:
        search.send(np.sum([own_sums(request, each, among) for each in tables], axis=0))
    exact = scatter_scores(SCHEMA, [scatter_of_table(each) for each in tables])
    (told,) = end.value.value
    for family, score in zip(FAMILIES, told.scores, strict=True):
        assert score == exact.own_score(family)


def test_a_family_that_a_site_refuses_has_no_own_score() -> None:
    one = table(1)
    rows = np.array(one.table)
    rows[:, 2] = rows[:, 0]  # c is determined by a
    tables = [one, Dataset(SCHEMA, rows)]
    families = (Family(2, ()), Family(2, (0,)))
    among = Answering.of(SCHEMA, 2)
    search = sum_own_scores(families, [100], among)
    request = next(search)
    with pytest.raises(StopIteration) as end:
        search.send(np.sum([own_sums(request, each, among) for each in tables], axis=0))
    ((_, (first, second)),) = end.value.value
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
    search = sum_own_scores((Family(0, ()),), [100], Answering.of(SCHEMA, 2))
    next(search)
    with pytest.raises(DataError, match="masks hide which"):
        search.send(np.array([2**60, 0]))
