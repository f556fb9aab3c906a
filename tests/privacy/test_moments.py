"""The learner dp-moments: what one row moves, what is charged, what is found."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, DataError
from fedbn.graphs.distances import smhd
from fedbn.networks.catalog import load_network
from fedbn.privacy.evidence import MIN_NOISE, PRIOR_VARIANCE, Evidence
from fedbn.privacy.features import UNIT, Features, squared_bound, weighted_products
from fedbn.privacy.moments import dp_moments, moment_class, phases
from fedbn.privacy.releases import PrivateReleaser
from fedbn.privacy.zcdp import rho_of
from tests import naive_privacy


@st.composite
def made_features(draw: st.DrawFn) -> tuple[Features, list[int]]:
    """Features for two to four variables of one to four states with shares down to 1 in 1000."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=4))
    weight = st.integers(1, 1000)
    shares = [draw(st.lists(weight, min_size=r, max_size=r)) for r in sizes]
    return Features.of([np.array(share) / sum(share) for share in shares]), sizes


def pairs_of(n: int, chosen: list[bool]) -> np.ndarray:
    pairs = np.zeros((n, n), dtype=np.bool_)
    pairs[np.triu_indices(n, 1)] = chosen
    return pairs | pairs.T


def blocks(features: Features, pairs: np.ndarray) -> np.ndarray:
    """Which products are released."""
    sizes = [table.shape[1] for table in features.tables]
    return np.triu(np.repeat(np.repeat(pairs, sizes, axis=0), sizes, axis=1))


@given(made_features(), st.data())
@settings(max_examples=60, deadline=None)
def test_no_row_moves_the_sums_by_more_than_is_claimed(
    made: tuple[Features, list[int]], data: st.DataObject
) -> None:
    """Brute force: every row of every combination of states, against UNIT² B, exactly."""
    features, sizes = made
    n = len(sizes)
    n_pairs = n * (n - 1) // 2
    pairs = pairs_of(n, data.draw(st.lists(st.booleans(), min_size=n_pairs, max_size=n_pairs)))
    claimed = UNIT**2 * squared_bound(int(pairs.sum()) // 2)
    released = blocks(features, pairs)
    for row in product(*map(range, sizes)):
        codes = np.array([row], dtype=np.int32)
        sums = weighted_products(codes, features, pairs)[released]
        assert sum(int(entry) ** 2 for entry in sums) <= claimed


def test_the_claim_is_nearly_attained() -> None:
    """A row of rare states is cut to the bound, and no further than rounding."""
    features = Features.of([np.array([0.95, 0.05])] * 6)
    pairs = ~np.eye(6, dtype=np.bool_)
    sums = weighted_products(np.ones((1, 6), dtype=np.int32), features, pairs)
    squared = sum(int(entry) ** 2 for entry in sums[blocks(features, pairs)])
    claimed = UNIT**2 * squared_bound(15)
    assert 0.7 * claimed <= squared <= claimed


@given(made_features(), st.data())
@settings(max_examples=60, deadline=None)
def test_sums_are_their_twin(made: tuple[Features, list[int]], data: st.DataObject) -> None:
    features, sizes = made
    n = len(sizes)
    row = st.tuples(*(st.integers(0, r - 1) for r in sizes))
    rows = data.draw(st.lists(row, min_size=1, max_size=12))
    pairs = ~np.eye(n, dtype=np.bool_)
    found = weighted_products(np.array(rows, dtype=np.int32), features, pairs)
    tables = [table.tolist() for table in features.tables]
    bound = squared_bound(n * (n - 1) // 2)
    wanted = naive_privacy.products(rows, tables, bound, UNIT)
    assert found[blocks(features, pairs)].tolist() == wanted


def test_features_have_mean_zero_and_the_spread_they_say() -> None:
    share = np.array([0.6, 0.3, 0.1])
    features = Features.of([share])
    table = features.tables[0]
    assert np.abs(share @ table).max() <= 1
    assert np.trace(features.spreads[0]) == pytest.approx(64**2, rel=0.02)


@given(st.fractions(Fraction(1, 1000), 5, max_denominator=1000), st.integers(0, 50))
@settings(max_examples=12, deadline=None)
def test_both_phases_charge_no_more_than_there_is(rho: Fraction, seed: int) -> None:
    data = load_network("asia").sample(300, np.random.default_rng(seed))
    _, transcript = dp_moments(data, rho=rho, source=Random(seed))
    assert Fraction(99, 100) * rho <= transcript.charged <= rho
    of_releases, of_draws, _ = phases(rho, data.n)
    assert transcript.releases.charged <= of_releases
    assert transcript.draws.budget.charged <= of_draws


def test_shares_of_more_than_the_budget_are_refused() -> None:
    releaser = PrivateReleaser(Fraction(1), Random(1))
    sums = np.zeros(2, dtype=np.int64)
    releaser.release("first", sums, 1, Fraction(3, 4))
    with pytest.raises(ConfigError, match="more than the budget"):
        releaser.release("second", sums, 1, Fraction(1, 2))
    with pytest.raises(ConfigError, match="ρ above 0"):
        PrivateReleaser(Fraction(0), Random(1))


def test_evidence_of_one_entry_is_that_of_two_normal_distributions() -> None:
    """ln N(c; 0, s² + ν²) - ln N(c; 0, ν²) for two binary variables, by the definition."""
    from scipy.stats import norm

    features = Features.of([np.array([0.5, 0.5])] * 2)
    evidence, rows, variance = Evidence(features, 1000), 1000, 10**12
    pairs = ~np.eye(2, dtype=np.bool_)
    products = np.array([[0, 5e7], [5e7, 0]])
    evidence.add(pairs, products, variance)
    spread = float(features.spreads[0][0, 0])
    value = 5e7 / (UNIT * rows * spread)
    noise = variance / (UNIT * rows * spread) ** 2 + 1 / rows
    assert noise > MIN_NOISE
    wide, narrow = norm(0, np.sqrt(PRIOR_VARIANCE + noise)), norm(0, np.sqrt(noise))
    wanted = wide.logpdf(value) - narrow.logpdf(value)
    assert evidence.of(0, 1) == evidence.of(1, 0) == pytest.approx(wanted)


def test_evidence_given_what_separates_is_against() -> None:
    """A chain a - b - c: a and c depend on each other, but not given b."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 20_000)
    b = np.where(rng.random(a.size) < 0.1, 1 - a, a)
    c = np.where(rng.random(a.size) < 0.1, 1 - b, b)
    codes = np.stack([a, b, c], axis=1).astype(np.int32)
    features = Features.of([np.array([0.5, 0.5])] * 3)
    pairs = ~np.eye(3, dtype=np.bool_)
    evidence = Evidence(features, a.size)
    products = weighted_products(codes, features, pairs).astype(float)
    evidence.add(pairs, products * ~np.eye(3, dtype=np.bool_), 1)
    assert min(evidence.of(0, 1), evidence.of(1, 2), evidence.of(0, 2)) > 10
    assert evidence.of(0, 2, frozenset({1})) < 0 < evidence.of(0, 1, frozenset({2}))


def test_it_finds_the_strong_edges_and_repeats_itself() -> None:
    network = load_network("sachs")
    data = network.sample(20_000, np.random.default_rng(3))
    rho = Fraction(rho_of(10, 1e-6))
    dag, transcript = dp_moments(data, rho=rho, source=Random(3))
    assert smhd(dag, network.dag) <= 4
    assert (dag, transcript) == dp_moments(data, rho=rho, source=Random(3))


def test_so_many_pairs_that_sums_could_overflow_are_refused() -> None:
    schema = Schema.categorical({f"v{i:04}": "01" for i in range(5794)})
    data = Dataset(schema, np.zeros((1, 5794), dtype=np.int32))
    releaser = PrivateReleaser(Fraction(1), Random(1))
    with pytest.raises(DataError, match="at most 5,793 variables, not 5794"):
        moment_class(data, releaser, 4)
    assert not releaser.releases


def test_variables_of_one_state_and_few_rows_are_no_error() -> None:
    schema = Schema.categorical({"a": "0", "b": "01", "c": "012"})
    data = Dataset(schema, np.array([[0, 0, 1], [0, 1, 2]], dtype=np.int32))
    dag, _ = dp_moments(data, rho=Fraction(1), source=Random(1))
    assert dag.adjacency[0].sum() == dag.adjacency[:, 0].sum() == 0
