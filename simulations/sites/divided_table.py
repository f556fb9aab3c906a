"""One table divided over the clients of a simulation, and what a client's table is.

The table is sampled from a network or given. A part depends on the settings and the seed alone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import cast

import numpy as np

from clients.site import Site
from fedbn.arrays import Indices
from fedbn.data.columns import column_names
from fedbn.data.cuts import Cuts
from fedbn.data.dataset import Dataset
from fedbn.data.lacking import draw_columns
from fedbn.data.mapping import SiteMapping
from fedbn.data.partition import (
    Sizes,
    partition_by_column,
    partition_dirichlet,
    partition_dirichlet_latent,
    partition_iid,
)
from fedbn.data.preparation import Prepared
from fedbn.data.schema import Kind, suits
from fedbn.data.table_settings import TableSettings
from fedbn.data.tables import column_values
from fedbn.errors import ConfigError, DataError
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import SiteFile
from fedbn.federation.site_table import site_preparation, site_table
from fedbn.learners import kind_of_score
from fedbn.networks.catalog import load_network
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.random import with_parameters_around

LOG = logging.getLogger("fedbn.client")

SAMPLE_STREAM, PARTITION_STREAM, HELD_OUT_STREAM = 1, 2, 3
SITE_STREAM, LACKING_STREAM = 5, 6
"""What the seed is combined with, so that the rows do not depend on how they are divided."""


@dataclass(frozen=True)
class Simulation:
    """All tables of a simulated run: the clients', and rows that no client has."""

    sites: tuple[Site, ...]
    held_out: Dataset | None


def read_prepared(
    experiment: Experiment,
    path: str,
    decided: SiteFile | None = None,
    cuts: Mapping[str, Cuts] | None = None,
) -> Prepared:
    """A table as the score and the site need it; the log has how many rows were left out."""
    kind = cast(Kind, kind_of_score(experiment.learner.score))
    site = decided or SiteFile()
    settings = experiment.tables
    if experiment.consensus.variables == "union":
        kind, settings, cuts = of_own_columns(kind, settings, path, site, cuts)
    how = site_preparation(settings, site, cuts)
    status = Path(path).stat() if Path(path).is_file() else None
    stamp = (status.st_mtime_ns, status.st_size) if status else None
    named = repr((path, stamp, kind, how, site.mapping, experiment.tables.leave_out_identifiers))
    found = _read_once(_Reading(named, path, kind, settings, site, cuts))
    if found.rows_dropped:
        LOG.info("%s: %d rows are left out, as a cell is missing", path, found.rows_dropped)
    return found


def of_own_columns(
    kind: Kind,
    settings: TableSettings,
    path: str,
    site: SiteFile,
    cuts: Mapping[str, Cuts] | None,
) -> tuple[Kind, TableSettings, Mapping[str, Cuts]]:
    """The kind, settings and cut points of the columns that a table has, where it may lack some."""
    given = site_preparation(settings, site, cuts)
    if not (given.cuts or given.numbers):
        return kind, settings, {}
    own = site.mapping.columns
    known = {own.get(name, name) for name in column_names(path, given.form)}
    agreed = settings.preparation(cuts)
    numbers = tuple(name for name in agreed.numbers if name in known)
    own_cuts = {name: found for name, found in agreed.cuts.items() if name in known}
    if kind == "mixed" and agreed.numbers and not numbers:
        kind = "categorical"
    return kind, replace(settings, numbers=numbers), own_cuts


@dataclass(frozen=True)
class _Reading:
    """A table and how it is read; two are the same if their names are."""

    named: str
    path: str = field(compare=False)
    kind: Kind = field(compare=False)
    settings: TableSettings = field(compare=False)
    site: SiteFile = field(compare=False)
    cuts: Mapping[str, Cuts] | None = field(compare=False)


@lru_cache(maxsize=256)
def _read_once(reading: _Reading) -> Prepared:
    """A simulated site reads its table once, as a deployed one does, not with every message."""
    return site_table(reading.path, reading.kind, reading.settings, reading.site, reading.cuts)


def without_held_out(
    dataset: Dataset, count: int, seed: int, index: int, source: str
) -> tuple[Dataset, Dataset]:
    """The rows that a site keeps, and `count` drawn ones that no client has."""
    if count >= dataset.n_rows:
        raise DataError(
            f"{source}: {count} held-out rows must leave some, there are {dataset.n_rows}"
        )
    order = np.random.default_rng([seed, HELD_OUT_STREAM, index]).permutation(dataset.n_rows)
    return dataset.take(np.sort(order[count:])), dataset.take(np.sort(order[:count]))


@lru_cache(maxsize=2)
def divide(experiment: Experiment, stamp: tuple[int, int] | None) -> Simulation:
    """One table divided over the clients; `stamp` renews it when its file has changed."""
    if experiment.data.network is not None:
        dataset, held_out = _sample(experiment)
        values = _column_of(dataset, experiment.data.partition_column)
    else:
        dataset, held_out, values = _given_table(experiment)
    parts = _parts(experiment, dataset, values)
    if experiment.data.partition == "column":
        labels = sorted(set(values))
    else:
        width = len(str(len(parts)))
        labels = [f"client {i:0{width}}" for i in range(1, len(parts) + 1)]
    if experiment.data.site_parameters is not None:
        tables = _own_tables(experiment, [len(rows) for rows in parts])
    else:
        tables = [dataset.take(rows) for rows in parts]
    if experiment.data.missing_variables:
        tables = _without_columns(experiment, tables)
    sites = tuple(Site(label, table) for label, table in zip(labels, tables, strict=True))
    return Simulation(sites, held_out)


def _without_columns(experiment: Experiment, tables: Sequence[Dataset]) -> list[Dataset]:
    """The tables without the columns that each client lacks."""
    data, names = experiment.data, tables[0].names
    neighbours = None
    if data.missing_hubs:
        joined = load_network(str(data.network), data.network_dir).dag.reorder(names).adjacency
        neighbours = (joined | joined.T).sum(axis=0).astype(np.int64)
    has = draw_columns(
        len(names),
        len(tables),
        data.missing_variables,
        np.random.default_rng([experiment.seed, LACKING_STREAM]),
        blocks=data.missing_blocks,
        neighbours=neighbours,
    )
    return [
        table.select([name for name, there in zip(names, row, strict=True) if there])
        for table, row in zip(tables, has, strict=True)
    ]


def _own_tables(experiment: Experiment, rows: Sequence[int]) -> list[Dataset]:
    """One table per site, each from the network with parameters of the site's own."""
    data, concentration = experiment.data, experiment.data.site_parameters
    network = load_network(str(data.network), data.network_dir)
    if not isinstance(network, BayesianNetwork) or concentration is None:
        raise ConfigError("site-parameters is for networks of probability tables")
    tables = []
    for site, count in enumerate(rows):
        rng = np.random.default_rng([experiment.seed, SITE_STREAM, site])
        own = with_parameters_around(network, concentration, rng=rng)
        tables.append(own.sample(count, rng))
    return tables


def _sample(experiment: Experiment) -> tuple[Dataset, Dataset | None]:
    """rows x clients cases of a network, and held-out cases from a stream of their own."""
    assert experiment.data.network is not None
    network = load_network(experiment.data.network, experiment.data.network_dir)
    score, kind = experiment.learner.score, kind_of_score(experiment.learner.score)
    if not suits(kind, network.schema.kind):
        raise ConfigError(
            f"score {score!r} is for {kind} data, network {experiment.data.network!r} has "
            f"{network.schema.kind} variables"
        )
    seed = experiment.seed
    dataset = network.sample(
        experiment.data.rows * experiment.data.clients, np.random.default_rng([seed, SAMPLE_STREAM])
    )
    if experiment.data.test_rows == 0:
        return dataset, None
    rng = np.random.default_rng([seed, HELD_OUT_STREAM])
    return dataset, network.sample(experiment.data.test_rows, rng)


def _given_table(experiment: Experiment) -> tuple[Dataset, Dataset | None, list[str]]:
    """The table's rows without the held-out ones, those, and the partition column's values.

    A site column is no variable; nor is any partition column among float columns.
    """
    path, column = str(experiment.data.table), experiment.data.partition_column
    numbers = kind_of_score(experiment.learner.score) == "gaussian"
    outside = experiment.data.partition == "column" or numbers
    exclude = (column,) if column is not None and outside else ()
    left_out = SiteFile(mapping=SiteMapping(leave_out=exclude))
    dataset = read_prepared(experiment, path, left_out).dataset
    form = experiment.tables.preparation().form
    values = np.array([] if column is None else column_values(path, column, form), dtype=object)
    if column is not None and len(values) != dataset.n_rows:
        raise ConfigError(
            f"{path}: rows cannot be dropped and divided by column {column!r}; use "
            "--missing-cells state"
        )
    if experiment.data.test_rows == 0:
        return dataset, None, values.tolist()
    if experiment.data.test_rows >= dataset.n_rows:
        raise DataError(
            f"{path}: {experiment.data.test_rows} held-out rows must leave some, "
            f"there are {dataset.n_rows}"
        )
    order = np.random.default_rng([experiment.seed, HELD_OUT_STREAM]).permutation(dataset.n_rows)
    held, kept = (np.sort(part) for part in np.split(order, [experiment.data.test_rows]))
    return dataset.take(kept), dataset.take(held), (values[kept] if column else values).tolist()


def _column_of(dataset: Dataset, column: str | None) -> list[str]:
    """The states of a categorical column, row by row; nothing without a column."""
    if column is None:
        return []
    index = dataset.schema.index(column)
    states = dataset.schema.states[index]
    return [states[code] for code in dataset.column(index)]


def _parts(experiment: Experiment, dataset: Dataset, values: Sequence[str]) -> list[Indices]:
    rng = np.random.default_rng([experiment.seed, PARTITION_STREAM])
    data = experiment.data
    clients, alpha, sizes = data.clients, data.alpha, cast(Sizes, data.sizes)
    match data.partition:
        case "column":
            return partition_by_column(values)
        case "dirichlet":
            return partition_dirichlet(values, clients, alpha, rng, sizes)
        case "dirichlet-latent":
            return partition_dirichlet_latent(dataset, clients, alpha, rng, sizes)
        case _:
            return partition_iid(dataset.n_rows, clients, rng, sizes)


def stamp_of(experiment: Experiment) -> tuple[int, int] | None:
    """Changes when the file of the table or network does; None for a network by name."""
    path = Path(experiment.data.table or experiment.data.network or "")
    if not path.is_file():
        return None
    status = path.stat()
    return status.st_mtime_ns, status.st_size
