"""Attacks on structures, with learners whose leaks are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from fedbn.attacks.flips import canary, flip_rate, flips_of
from fedbn.attacks.samples import Share, Structures, with_row, without_row
from fedbn.attacks.shadow import shadow_membership
from fedbn.attacks.single_sites import moral_votes, reidentify, unique_votes
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.graphs.moral import moral_graph
from tests.strategies import dag_lists

SCHEMA = Schema.categorical(dict.fromkeys("abc", ("0", "1")))
EMPTY, CHAIN = DAG.empty("abc"), DAG.from_edges("abc", [("a", "b"), ("b", "c")])


def table(rows: list[list[int]]) -> Dataset:
    return Dataset(SCHEMA, np.array(rows, dtype=np.int32))


def constant(dataset: Dataset, rng: np.random.Generator) -> Structures:
    """Leaks nothing."""
    return (CHAIN,), (1.0,)


def parity(dataset: Dataset, rng: np.random.Generator) -> Structures:
    """Leaks whether the number of rows with a = 1 is even."""
    return (CHAIN if dataset.codes[:, 0].sum() % 2 else EMPTY,), (1.0,)


def counted(dataset: Dataset, rng: np.random.Generator) -> Structures:
    """Leaks the number of rows through a weight, not through structures."""
    return (CHAIN, EMPTY), (dataset.n_rows, 1.0)


def rows_of(n: int, seed: int = 0) -> Dataset:
    return table(np.random.default_rng(seed).integers(0, 2, size=(n, 3)).tolist())


def test_flip_rates_of_known_leaks() -> None:
    data, rng = rows_of(50), np.random.default_rng(1)
    ones = int(data.codes[:, 0].sum())
    found = flip_rate(data, parity, rng, removals=50)
    assert (found.classes.hits, found.classes.of) == (ones, 50)
    assert found.classes.low < ones / 50 < found.classes.high
    assert (found.largest_change, found.mean_change) == (2, 2 * ones / 50)
    assert flip_rate(data, constant, rng, removals=9).messages.hits == 0
    leak = flip_rate(data, counted, rng, removals=9)
    assert (leak.classes.hits, leak.messages.hits) == (0, 9)


def test_equivalent_structures_are_no_flip() -> None:
    reverse = DAG.from_edges("abc", [("c", "b"), ("b", "a")])

    def learn(dataset: Dataset, rng: np.random.Generator) -> Structures:
        return (CHAIN if dataset.n_rows % 2 else reverse,), (1.0,)

    assert flip_rate(rows_of(8), learn, np.random.default_rng(1), removals=8).classes.hits == 0


def test_neighbours_differ_in_one_row() -> None:
    data = rows_of(6)
    assert without_row(data, 2) == data.take([0, 1, 3, 4, 5])
    more = with_row(data, np.array([1, 1, 1]), copies=2)
    assert (more.n_rows, more.codes[-1].tolist()) == (8, [1, 1, 1])
    found = flips_of(data, [more], constant, np.random.default_rng(0))
    assert found.messages.of == 1


def test_a_canary_has_the_rarest_states() -> None:
    assert canary(table([[0, 1, 1], [0, 1, 0], [1, 0, 1]])).tolist() == [1, 0, 0]


def test_membership_is_seen_where_it_leaks_and_only_there() -> None:
    """Every member has a = 1 and nobody else has: then one bit says it all."""

    def population(rows: int, rng: np.random.Generator) -> Dataset:
        return table(np.zeros((rows, 3), dtype=int).tolist())

    target, rng = np.array([1, 1, 1], dtype=np.int32), np.random.default_rng(1)
    options = {"targets": 4, "shadows": 20, "row": target}
    leak = shadow_membership(population, parity, 12, rng, **options)
    assert (leak.auc, leak.tpr, leak.targets, leak.tables) == (1.0, 1.0, 4, 80)
    silent = shadow_membership(population, constant, 12, rng, **options)
    assert (silent.auc, silent.tpr) == (0.5, 0.0)
    assert 0.1 < silent.error < 0.15


def test_membership_needs_shadows() -> None:
    with pytest.raises(ConfigError, match="4 shadows"):
        shadow_membership(
            lambda n, rng: rows_of(n), constant, 9, np.random.default_rng(0), shadows=2
        )


@given(dag_lists(min_nodes=2, max_dags=5))
@settings(max_examples=50, deadline=None)
def test_differencing_gives_a_site_away_completely(dags: list[DAG]) -> None:
    """Votes of a cohort with and without a site: its moral graph without a wrong edge."""
    with_site = moral_votes([*dags, dags[0]])
    assert np.array_equal(with_site - moral_votes(dags) == 1, moral_graph(dags[0]))


def test_votes_that_point_at_one_site() -> None:
    found = unique_votes([CHAIN, CHAIN, DAG.from_edges("abc", [("a", "c")])])
    assert (found.one.hits, found.all_but_one.hits, found.one.of) == (1, 2, 3)
    with pytest.raises(ConfigError):
        unique_votes([EMPTY])


def test_reidentification() -> None:
    fork = DAG.from_edges("abc", [("a", "b"), ("a", "c")])
    collider = DAG.from_edges("abc", [("a", "b"), ("c", "b")])
    assert reidentify([CHAIN, fork, EMPTY], [CHAIN, fork, EMPTY]).hits == 3
    assert reidentify([EMPTY] * 3, [EMPTY] * 3).hits == 1
    assert reidentify([CHAIN, collider], [collider, CHAIN]).hits == 0
    with pytest.raises(ConfigError, match="same sites"):
        reidentify([CHAIN], [])


def test_shares_have_exact_intervals() -> None:
    """Clopper and Pearson 1934: 10 of 100 is 4.90 % to 17.62 %."""
    share = Share.of_trials(10, 100)
    assert (round(share.low, 4), round(share.high, 4)) == (0.0490, 0.1762)
    with pytest.raises(ConfigError, match="at least one trial"):
        Share.of_trials(0, 0)
