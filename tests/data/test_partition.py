"""Partitions: every row once, no client empty, mixes as asked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.partition import (
    latent_clusters,
    part_sizes,
    partition_by_column,
    partition_dirichlet,
    partition_dirichlet_latent,
    partition_iid,
)
from fedbn.data.schema import Schema
from fedbn.errors import DataError

sizes = st.sampled_from(["equal", "skewed"])


def assert_covers(parts, n_rows, clients):
    assert len(parts) == clients
    assert all(len(part) > 0 for part in parts)
    assert all((np.diff(part) > 0).all() for part in parts)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(n_rows))


@given(st.data(), st.integers(1, 60), sizes, st.integers(0, 99))
def test_every_row_is_used_exactly_once(data, n_rows, sizes, seed):
    clients = data.draw(st.integers(1, n_rows))
    alpha = data.draw(st.floats(1e-9, 1e9))
    labels = data.draw(st.lists(st.sampled_from("abcd"), min_size=n_rows, max_size=n_rows))
    rng = np.random.default_rng(seed)
    assert_covers(partition_iid(n_rows, clients, rng, sizes), n_rows, clients)
    assert_covers(partition_dirichlet(labels, clients, alpha, rng, sizes), n_rows, clients)
    states = sorted(set(labels))
    table = Dataset(
        Schema.categorical({"x": states}), np.array([[states.index(label)] for label in labels])
    )
    parts = partition_dirichlet_latent(table, clients, alpha, rng, sizes, clusters=3)
    assert_covers(parts, n_rows, clients)
    assert_covers(partition_by_column(labels), n_rows, len(states))


@given(st.integers(1, 40), st.integers(0, 500), sizes, st.integers(0, 9))
def test_sizes_sum_to_the_rows(clients, more, sizes, seed):
    wanted = part_sizes(clients + more, clients, np.random.default_rng(seed), sizes)
    assert wanted.sum() == clients + more
    assert wanted.min() >= 1
    if sizes == "equal":
        assert wanted.max() - wanted.min() <= 1


def test_skewed_sizes_are_skewed():
    wanted = np.sort(part_sizes(10_000, 10, np.random.default_rng(0), "skewed"))
    assert wanted[-1] == pytest.approx(10 * wanted[0], rel=0.02)


def test_the_same_seed_gives_the_same_parts():
    labels = np.arange(200) % 7
    first, second = (
        partition_dirichlet(labels, 6, 0.3, np.random.default_rng(5), "skewed") for _ in range(2)
    )
    assert all(map(np.array_equal, first, second))


def label_spread(parts, labels):
    """Mean over clients of the total variation distance of the labels' mix to the overall mix."""
    overall = np.bincount(labels) / labels.size
    mixes = [np.bincount(labels[part], minlength=overall.size) / len(part) for part in parts]
    return np.mean([np.abs(mix - overall).sum() / 2 for mix in mixes])


def test_small_alpha_separates_the_labels_and_large_alpha_does_not():
    rng = np.random.default_rng(3)
    labels = rng.integers(4, size=4_000)
    near = label_spread(partition_dirichlet(labels, 8, 1e6, rng), labels)
    far = label_spread(partition_dirichlet(labels, 8, 0.05, rng), labels)
    assert near < 0.05
    assert far > 0.5


def test_latent_clusters_find_well_separated_groups():
    rng = np.random.default_rng(1)
    group = rng.integers(2, size=3_000)
    noisy = np.where(rng.random((3_000, 12)) < 0.05, 1 - group[:, None], group[:, None])
    schema = Schema.categorical({f"x{i:02d}": ["0", "1"] for i in range(12)})
    for table in (
        Dataset(schema, noisy),
        Dataset(Schema.gaussian(schema.names), noisy + 0.1 * rng.standard_normal(noisy.shape)),
    ):
        labels = latent_clusters(table, 2, np.random.default_rng(0))
        agreement = np.mean(labels == group)
        assert max(agreement, 1 - agreement) > 0.99


def test_by_column_is_sorted_by_value():
    assert [part.tolist() for part in partition_by_column(["b", "a", "10", "b"])] == [
        [2],
        [1],
        [0, 3],
    ]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda rng: partition_iid(3, 4, rng), "4 clients, 3 rows"),
        (lambda rng: partition_iid(3, 0, rng), "at least 1, not 0"),
        (lambda rng: partition_iid(3, 2, rng, "odd"), "'odd'"),
        (lambda rng: partition_dirichlet(["a"], 2, 1.0, rng), "2 clients, 1 row"),
        (lambda rng: partition_dirichlet(["a"], 1, 0.0, rng), "above 0, not 0.0"),
        (lambda rng: partition_dirichlet(["a"], 1, float("nan"), rng), "above 0, not nan"),
        (lambda _: partition_by_column([]), "at least one row"),
        (
            lambda rng: latent_clusters(Dataset(Schema.gaussian("x"), np.zeros((1, 1))), 0, rng),
            "at least 1, not 0",
        ),
    ],
)
def test_impossible_partitions_are_refused(call, words):
    with pytest.raises(DataError, match=words):
        call(np.random.default_rng(0))
