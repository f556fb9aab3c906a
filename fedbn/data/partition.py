"""Which rows of a table go to which client.

Every function returns one array of row indices per client, ascending; every row is used exactly
once and no client is empty.

Non-IID parts follow Hsu, Qi and Brown 2019 ("Measuring the effects of non-identical data
distribution for federated visual classification"): client i draws the mix of classes q_i from a
Dirichlet distribution with parameter alpha times the classes' shares in the table, then its rows
from the classes in these proportions, without replacement; when a class runs out, q_i is
renormalised over the others. So the sizes of the parts are free to be equal or skewed, whatever the
mix. Small alpha gives clients of almost one class, large alpha nearly IID parts. Clients that draw
late get what is left over, so the last parts follow their mix less closely.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Array, Floats, Indices, Ints32
from fedbn.data.dataset import Dataset
from fedbn.errors import DataError
from fedbn.wording import count_of

Sizes = Literal["equal", "skewed"]

_CLUSTERING_ROWS = 2_000
"""Rows from which cluster centres are learned; all rows are then assigned to them."""

_CLUSTERING_ROUNDS = 20


def partition_iid(
    n_rows: int, clients: int, rng: np.random.Generator, sizes: Sizes = "equal"
) -> list[Indices]:
    """Rows dealt at random.

    Parameters
    ----------
    n_rows, clients : 1 <= clients <= n_rows.
    rng : the source of randomness.
    sizes : see `part_sizes`.

    Raises
    ------
    DataError : there are fewer rows than clients, or no client.
    """
    ends = np.cumsum(part_sizes(n_rows, clients, rng, sizes))
    return [np.sort(part) for part in np.split(rng.permutation(n_rows), ends[:-1])]


def partition_dirichlet(
    labels: Sequence[str] | NDArray[np.integer],
    clients: int,
    alpha: float,
    rng: np.random.Generator,
    sizes: Sizes = "equal",
) -> list[Indices]:
    """Parts whose mixes of labels differ, as in the module's docstring.

    Parameters
    ----------
    labels : the class of every row: codes of a column, its texts, or latent clusters.
    alpha : above 0; the smaller, the more the clients differ.
    clients, rng, sizes : as for `partition_iid`.

    Raises
    ------
    DataError : there are fewer rows than clients, no client, or alpha is not above 0.
    """
    if not (alpha > 0 and np.isfinite(alpha)):
        raise DataError(f"alpha of a Dirichlet partition must be above 0, not {alpha}")
    classes, members = np.unique(np.asarray(labels), return_inverse=True)
    wanted = part_sizes(members.size, clients, rng, sizes)
    queues = [rng.permutation(np.flatnonzero(members == label)) for label in range(classes.size)]
    left = np.array([queue.size for queue in queues])
    share = left / members.size
    parts = []
    for size in wanted:
        taken = _class_counts(_dirichlet(alpha * share, rng), left, int(size), rng)
        rows = [queue[n - k : n] for queue, n, k in zip(queues, left, taken, strict=True)]
        parts.append(np.sort(np.concatenate(rows)))
        left = left - taken
    return parts


def partition_dirichlet_latent(
    dataset: Dataset,
    clients: int,
    alpha: float,
    rng: np.random.Generator,
    sizes: Sizes = "equal",
    clusters: int = 5,
) -> list[Indices]:
    """As `partition_dirichlet`, over clusters of similar rows in place of a column.

    Raises
    ------
    DataError : as there, or clusters is below 1.
    """
    labels = latent_clusters(dataset, clusters, rng)
    return partition_dirichlet(labels, clients, alpha, rng, sizes)


def partition_by_column(values: Sequence[str]) -> list[Indices]:
    """One part per distinct value of a site column, in the order of `sorted(set(values))`.

    Raises
    ------
    DataError : there is no row.
    """
    if len(values) == 0:
        raise DataError("a partition by column needs at least one row")
    texts = sorted(set(values))
    position = {text: part for part, text in enumerate(texts)}
    members = np.array([position[value] for value in values])
    return [np.flatnonzero(members == part) for part in range(len(texts))]


def part_sizes(
    n_rows: int, clients: int, rng: np.random.Generator, sizes: Sizes = "equal"
) -> Indices:
    """Rows per client, each at least 1, that sum to n_rows.

    "equal": they differ by one at most, the first clients having the larger parts. "skewed": in
    proportion to 1, 1/2, 1/3, ... (Zipf), dealt to the clients at random.

    Raises
    ------
    DataError : there are fewer rows than clients, no client, or `sizes` is another word.
    """
    if clients < 1:
        raise DataError(f"the number of clients must be at least 1, not {clients}")
    if clients > n_rows:
        raise DataError(
            f"every client needs at least one row: {count_of(clients, 'client')}, "
            f"{count_of(n_rows, 'row')}"
        )
    if sizes == "equal":
        return n_rows // clients + (np.arange(clients) < n_rows % clients).astype(np.intp)
    if sizes != "skewed":
        raise DataError(f"sizes must be 'equal' or 'skewed', not {sizes!r}")
    weight = 1 / np.arange(1, clients + 1)
    exact = (n_rows - clients) * weight / weight.sum()
    whole = np.floor(exact).astype(np.intp)
    short = n_rows - clients - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:short]] += 1
    return rng.permutation(whole + 1)


def latent_clusters(dataset: Dataset, clusters: int, rng: np.random.Generator) -> Ints32:
    """A cluster of similar rows for every row, int32 [rows].

    k-means (Lloyd) on the states' indicators, or on the standardised values, with centres
    learned from at most 2,000 rows. Only element-wise arithmetic is used, so that the number of
    threads cannot change a label.

    Parameters
    ----------
    clusters : at least 1; some may end up empty.

    Raises
    ------
    DataError : clusters is below 1.
    """
    if clusters < 1:
        raise DataError(f"the number of clusters must be at least 1, not {clusters}")
    features = _features(dataset)
    count = min(_CLUSTERING_ROWS, dataset.n_rows)
    sample = features[:, np.sort(rng.choice(dataset.n_rows, size=count, replace=False))]
    start = rng.choice(count, size=min(clusters, count), replace=False)
    centres = sample[:, start]
    for _ in range(_CLUSTERING_ROUNDS):
        label = _nearest(sample, centres)
        moved = centres.copy()
        for cluster in np.unique(label):
            moved[:, cluster] = sample[:, label == cluster].mean(axis=1)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return _nearest(features, centres)


def _features(dataset: Dataset) -> Floats:
    """float [features, rows]: an indicator per state, or a standardised value per column."""
    features: list[Array] = []
    for place, variable in enumerate(dataset.schema.variables):
        column = dataset.column(place)
        if variable.states is not None:
            features += [column == state for state in range(len(variable.states))]
        else:
            spread = column.std()
            features.append((column - column.mean()) / (spread if spread > 0 else 1.0))
    return np.array(features, dtype=np.float64)


def _nearest(features: Floats, centres: Floats) -> Ints32:
    """The nearest centre per row, the first of equals.

    Parameters
    ----------
    features : float [features, rows]
    centres : float [features, clusters]
    """
    distance = np.zeros((centres.shape[1], features.shape[1]))
    for value, centre in zip(features, centres, strict=True):
        distance += (value - centre[:, None]) ** 2
    return np.asarray(distance.argmin(axis=0), dtype=np.int32)


def _dirichlet(alpha: Floats, rng: np.random.Generator) -> Floats:
    """One draw; for parameters so small that every gamma variate is 0, one class has it all."""
    q = rng.dirichlet(alpha)
    if np.isfinite(q).all() and q.sum() > 0:
        return q
    q = np.zeros(alpha.size)
    q[rng.choice(alpha.size, p=alpha / alpha.sum())] = 1.0
    return q


def _class_counts(q: Floats, left: Indices, size: int, rng: np.random.Generator) -> Indices:
    """How many rows to take of each class: `size` in all, in proportions q while they last."""
    taken = np.zeros(left.size, dtype=np.intp)
    while (missing := size - int(taken.sum())) > 0:
        room = left - taken
        weight = np.where(room > 0, q, 0.0)
        if weight.sum() <= 0:
            weight = room.astype(np.float64)
        drawn = rng.multinomial(missing, weight / weight.sum())
        taken += np.minimum(drawn, room)
    return taken
