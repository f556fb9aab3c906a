"""The learner dp-moments on numbers: what one row moves, what is charged, what is found."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.attacks.flips import canary
from fedbn.attacks.release_audit import replay_releases
from fedbn.attacks.samples import with_row, without_row
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import DataError
from fedbn.graphs.distances import smhd
from fedbn.graphs.pdag import PDAG
from fedbn.networks.catalog import load_network
from fedbn.privacy.bounds import Bounds
from fedbn.privacy.features import SCALE, UNIT, squared_bound
from fedbn.privacy.number_moments import (
    CLIP,
    GRID,
    dp_number_moments,
    number_class,
    on_grid,
    repair_correlations,
    standardise,
)
from fedbn.privacy.releases import PrivateReleaser, Releaser, ReleaseTranscript
from fedbn.privacy.zcdp import rho_of
from simulations.studies.privacy.broken import HalfReleaser, PeekingReleaser
from tests import naive_privacy

NUMBER = st.floats(-1e6, 1e6)


def numbers(rows: list[list[float]]) -> Dataset:
    names = [f"v{i}" for i in range(len(rows[0]))]
    return Dataset(Schema.gaussian(names), np.array(rows))


def tables(largest: int = 8) -> st.SearchStrategy[list[list[float]]]:
    def of(n: int) -> st.SearchStrategy[list[list[float]]]:
        row = st.lists(NUMBER, min_size=n, max_size=n)
        return st.lists(row, min_size=1, max_size=largest)

    return st.integers(1, 4).flatmap(of)


def released(table: Dataset, bounds: Bounds, seed: int) -> tuple[PrivateReleaser, PDAG]:
    releaser = PrivateReleaser(Fraction(1), Random(seed))
    return releaser, number_class(table, bounds, releaser, 4)


@given(tables(), st.floats(0.1, 1e5), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_sums_are_their_twins(rows: list[list[float]], bound: float, seed: int) -> None:
    """Both releases, from cells that a second program clips, squares and weighs one by one."""
    table = numbers(rows)
    n = table.n
    releaser, _ = released(table, Bounds.of(f"{-bound}:{bound}", table.names), seed)
    cells = [tuple(naive_privacy.grid_cell(v, -bound, bound, GRID) for v in row) for row in rows]
    margins, products = releaser.releases
    assert list(margins.sums) == naive_privacy.margins(cells, GRID)

    asked = products.asked
    assert isinstance(asked, tuple)
    means, deviations = (np.frombuffer(each, dtype=np.float64) for each in asked[1:])
    features = [tuple(map(int, row)) for row in standardise(np.array(cells), means, deviations)]
    assert max(abs(entry) for row in features for entry in row) <= CLIP * SCALE
    limit = squared_bound(n * (n + 1) // 2)
    assert list(products.sums) == naive_privacy.number_products(features, limit, UNIT)


@given(tables(), st.lists(NUMBER, min_size=4, max_size=4), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_no_row_moves_a_release_by_more_than_is_claimed(
    rows: list[list[float]], other: list[float], seed: int
) -> None:
    """Any row at all, added to any table: the replay compares every sum, in whole numbers."""
    table = numbers(rows)
    bounds = Bounds.of("-1000:500", table.names)
    releaser, _ = released(table, bounds, seed)
    transcript = ReleaseTranscript(releaser.rho, tuple(releaser.releases))
    neighbour = with_row(table, np.array(other[: table.n]))

    def mechanism(side: Dataset, answers: Releaser) -> PDAG:
        return number_class(side, bounds, answers, 4)

    found = replay_releases(mechanism, transcript, neighbour, releaser.rho)
    assert not found.caught
    assert found.releases == 2


def test_the_claims_are_attained_or_nearly() -> None:
    """A row in the corner of the bounds moves the first release by all of Δ, the second nearly."""
    table = numbers([[0.0, 0.1, -0.1]] * 50)
    bounds = Bounds.of("-1:1", table.names)
    releaser, _ = released(table, bounds, 1)
    transcript = ReleaseTranscript(releaser.rho, tuple(releaser.releases))
    corner = with_row(table, np.array([1.0, -1.0, 1.0]))
    found = replay_releases(
        lambda side, answers: number_class(side, bounds, answers, 4),
        transcript,
        corner,
        releaser.rho,
    )
    assert 0.95 < found.largest_share <= 1


@pytest.mark.parametrize(
    ("fault", "is_caught"), [("none", False), ("half the width", True), ("peeking", True)]
)
def test_the_audit_catches_a_broken_mechanism_and_no_sound_one(fault: str, is_caught: bool) -> None:
    """Replays on neighbours with and without a canary, as the other private learners have."""
    table = load_network("random-gaussian:5:5:1").sample(60, np.random.default_rng(6))
    bounds, rho = Bounds.of("-10:10", table.names), Fraction(rho_of(1, 1e-6))

    def mechanism(side: Dataset, releaser: Releaser) -> PDAG:
        answers = PeekingReleaser(releaser) if fault == "peeking" else releaser
        return number_class(side, bounds, answers, 4)

    caught = []
    for number in range(10):
        make = HalfReleaser if fault == "half the width" else PrivateReleaser
        releaser = make(rho, Random(number))
        mechanism(table, releaser)
        transcript = ReleaseTranscript(rho, tuple(releaser.releases))
        odd = number % 2
        neighbour = with_row(table, canary(table)) if odd else without_row(table, number)
        caught.append(replay_releases(mechanism, transcript, neighbour, rho).caught)
    assert any(caught) == is_caught


@given(st.fractions(Fraction(1, 1000), 5, max_denominator=1000), st.integers(0, 50))
@settings(max_examples=12, deadline=None)
def test_no_more_is_charged_than_there_is(rho: Fraction, seed: int) -> None:
    table = load_network("random-gaussian:4:4:1").sample(200, np.random.default_rng(seed))
    bounds = Bounds.of("-8:8", table.names)
    _, transcript = dp_number_moments(table, bounds, rho=rho, source=Random(seed))
    assert Fraction(99, 100) * rho <= transcript.charged <= rho


@given(st.integers(1, 6), st.integers(0, 999), st.floats(0, 2))
@settings(max_examples=60, deadline=None)
def test_a_repaired_matrix_is_one_of_correlations(n: int, seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    matrix = np.corrcoef(rng.normal(size=(50, n)), rowvar=False).reshape(n, n)
    noisy = matrix + np.tril(rng.normal(scale=noise, size=(n, n)), -1)
    noisy = np.tril(noisy) + np.tril(noisy, -1).T
    found = repair_correlations(noisy, 1e-3)
    assert np.linalg.eigvalsh(found).min() > 0
    assert np.diag(found) == pytest.approx(np.ones(n))
    if noise == 0:
        assert found == pytest.approx(matrix, abs=1e-9)


def test_it_finds_the_strong_edges_and_repeats_itself() -> None:
    network = load_network("random-gaussian:8:8:4")
    table = network.sample(20_000, np.random.default_rng(3))
    bounds, rho = Bounds.of("-12:12", table.names), Fraction(rho_of(10, 1e-6))
    dag, transcript = dp_number_moments(table, bounds, rho=rho, source=Random(3))
    assert smhd(dag, network.dag) <= 4
    assert (dag, transcript) == dp_number_moments(table, bounds, rho=rho, source=Random(3))


def test_cells_beyond_their_bounds_count_as_the_bound() -> None:
    bounds = Bounds.of("0:10", ["a"])
    found = on_grid(np.array([[-5.0], [0.0], [5.0], [10.0], [math.nextafter(1e9, 0)]]), bounds)
    assert found[:, 0].tolist() == [-GRID, -GRID, 0, GRID, GRID]


def test_constant_columns_and_one_row_are_no_error() -> None:
    table = numbers([[1.0, 2.0, 3.0]])
    dag, _ = dp_number_moments(
        table, Bounds.of("0:4", table.names), rho=Fraction(1), source=Random(1)
    )
    assert dag.names == table.names


def test_categories_and_too_many_columns_are_refused_before_anything_is_asked() -> None:
    releaser = PrivateReleaser(Fraction(1), Random(1))
    schema = Schema.categorical({"a": "01"})
    with pytest.raises(DataError, match="need numbers, these are categorical"):
        number_class(
            Dataset(schema, np.zeros((1, 1), dtype=np.int32)),
            Bounds.of("0:1", ["a"]),
            releaser,
            4,
        )
    names = [f"v{i:04}" for i in range(5793)]
    wide = Dataset(Schema.gaussian(names), np.zeros((1, 5793)))
    with pytest.raises(DataError, match="at most 5,792 columns of numbers, not 5793"):
        number_class(wide, Bounds.of("0:1", names), releaser, 4)
    assert not releaser.releases
