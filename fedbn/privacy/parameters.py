"""Parameters of a given structure from noisy counts: what may be said of a table's distribution.

All counts of all families are one release: a row, added or removed, changes one count of every
family by 1, so Δ² = n. Counts below 0 become 0 and rows are made to sum to 1, with the usual
smoothing; whatever is computed from the network afterwards, synthetic rows above all, costs nothing
more. Nothing is promised of the structure: it must come from a private learner, from other data, or
from knowledge.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np

from fedbn.arrays import Ints
from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError, DataError
from fedbn.graphs.dag import DAG
from fedbn.networks.network import BayesianNetwork, configuration_index, table_shape
from fedbn.privacy.releases import PrivateReleaser, Release

MAX_CELLS = 1_000_000
"""Counts that a release may have: each takes an exact draw."""


def noisy_network(
    dag: DAG, table: Dataset, *, rho: Fraction, source: Random, ess: float = 1.0
) -> tuple[BayesianNetwork, Release]:
    """The network on a structure under ρ-zCDP per row, and the release, which must not leave.

    Parameters
    ----------
    dag : over the table's names; it costs nothing and is promised nothing.
    table : categorical, coded for a schema that was given and not read from it.
    rho : budget.
    source : of random bits; `random.SystemRandom()` wherever it protects anybody.
    ess : equivalent sample size of the smoothing, above 0.

    Raises
    ------
    ConfigError : ρ or ess is not positive, or there would be more than `MAX_CELLS` counts.
    DataError : the table is not categorical.
    StructureError : the variables differ.
    """
    if not ess > 0:
        raise ConfigError(f"ess must be above 0, not {ess}: noisy counts may all be 0")
    counts = tables_of_counts(dag, table)
    dag = dag.reorder(table.names)
    exact = np.concatenate([each.ravel() for each in counts])
    releaser = PrivateReleaser(rho, source)
    noisy, _ = releaser.release(("counts", dag.edges), exact, table.n, Fraction(1))
    parts = np.split(np.maximum(noisy, 0.0), np.cumsum([each.size for each in counts])[:-1])
    cpts = []
    for count, part in zip(counts, parts, strict=True):
        smooth = part.reshape(count.shape) + ess / count.size
        cpts.append(smooth / smooth.sum(axis=1, keepdims=True))
    return BayesianNetwork(dag, table.schema, tuple(cpts)), releaser.releases[0]


def tables_of_counts(dag: DAG, table: Dataset) -> list[Ints]:
    """[q, r] per variable in the table's order: rows of every configuration, also where none is.

    Raises
    ------
    ConfigError, DataError, StructureError : as `noisy_network`.
    """
    if table.kind != "categorical":
        raise DataError(f"noisy counts need categorical data, these are {table.kind}")
    dag, sizes = dag.reorder(table.names), table.cardinalities
    shapes = [
        table_shape(name, sizes[list(parents)], int(sizes[node]))
        for node, (name, parents) in enumerate(zip(dag.names, dag.parent_sets(), strict=True))
    ]
    cells = sum(q * r for q, r in shapes)
    if cells > MAX_CELLS:
        raise ConfigError(f"{cells} counts would need noise, the limit is {MAX_CELLS}")
    found = []
    for node, parents in enumerate(dag.parent_sets()):
        q, r = shapes[node]
        row = configuration_index(table.codes[:, list(parents)], sizes[list(parents)])
        found.append(np.bincount(row * r + table.codes[:, node], minlength=q * r).reshape(q, r))
    return found
