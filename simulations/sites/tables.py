"""Where the tables of a simulation are.

Flower numbers its nodes (`partition-id`): a node is the partition-id-th part of a sampled or given
table, or reads the partition-id-th of the sites' files. A part depends on the settings and the seed
alone, so that any process of any engine makes the same bytes without a table being sent.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clients.site import Site
from fedbn.arrays import Floats
from fedbn.data.columns import TABLE_SUFFIXES, column_names, require_some_has
from fedbn.data.common_cuts import tables_with_cuts
from fedbn.data.cuts import Cuts, cuts_text
from fedbn.data.dataset import Dataset
from fedbn.data.identifiers import identifying_columns
from fedbn.data.preparation import Prepared
from fedbn.data.schema import union_schema
from fedbn.data.tables import read_schema, table_stem
from fedbn.errors import ConfigError, FedbnWarning
from fedbn.federation.policy import identifier_words
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import SiteFile, is_site_file, read_site_file
from fedbn.federation.site_table import (
    site_numbers,
    site_preparation,
    without_identifiers,
)
from simulations.sites.divided_table import (
    Simulation,
    divide,
    read_prepared,
    stamp_of,
    without_held_out,
)


def partition_id(node_config: Mapping[str, Any]) -> int:
    """Which part this node is."""
    return int(node_config["partition-id"])


def own_table(
    experiment: Experiment, node_config: Mapping[str, Any]
) -> tuple[str, SiteFile] | None:
    """Path and decisions of a site with a table of its own; None for a part of a common one.

    Raises
    ------
    ConfigError : the site's file is wrong, or there are fewer tables than nodes.
    """
    files, index = site_files(experiment), partition_id(node_config)
    if not files:
        return None
    _require_part(index, len(files))
    return open_site(files[index])


def local_site(
    experiment: Experiment,
    node_config: Mapping[str, Any],
    cuts: Mapping[str, Cuts] | None = None,
) -> Site:
    """This client's table.

    Parameters
    ----------
    experiment : the settings.
    node_config : which site this is.
    cuts : column -> cut points; None for those of the settings.

    Raises
    ------
    ConfigError
        The run names no data, there are fewer parts than nodes, or a site's file is wrong.
    DataError, NetworkError, SchemaError
        The data cannot be read, made or mapped.
    """
    index = partition_id(node_config)
    files = site_files(experiment)
    if files:
        _require_part(index, len(files))
        found, _ = _split_site(experiment, files, index, cuts)
        return Site(_labels(files)[index], found.dataset, found.rows_dropped)
    if experiment.data.network is None and experiment.data.table is None:
        raise ConfigError("the run must name its data: network, table, sites or sites-dir")
    sites = divide(_with_cuts(experiment, cuts), stamp_of(experiment)).sites
    _require_part(index, len(sites))
    return sites[index]


def local_numbers(experiment: Experiment, node_config: Mapping[str, Any]) -> Mapping[str, Floats]:
    """This client's columns of numbers, for cut points; raises as `local_site` does."""
    own = own_table(experiment, node_config)
    if own is None:
        raise ConfigError("discretise is for sites with tables of their own, and fedbn simulate")
    path, decided = own
    return site_numbers(path, experiment.tables, decided)


def with_found_cuts(experiment: Experiment) -> Experiment:
    """The experiment of a simulation with all its cut points and identifiers among its settings.

    Those that `discretise` asks for are found over the tables at hand by the rounds that a
    deployment's server goes through; those of an agreed schema are taken from it. What looks like
    an identifier in one table is left out of all.

    Warns
    -----
    FedbnWarning : there are fewer intervals than asked for, or columns are left out.
    """
    require_left_out(experiment)
    tables = experiment.tables
    if not (tables.discretise or tables.leave_out_identifiers or experiment.data.schema):
        return experiment
    if experiment.data.table is not None:
        opened = [(experiment.data.table, SiteFile())]
    else:
        opened = [open_site(file) for file in site_files(experiment)]
    tables = without_identifiers(opened, tables)
    if experiment.data.schema is not None:
        cuts = {**tables.preparation().cuts, **read_schema(experiment.data.schema).cuts}
        tables = replace(tables, cuts=cuts_text(cuts), discretise=())
    elif tables.discretise:
        numbers = {path: site_numbers(path, tables, decided) for path, decided in opened}
        tables = tables_with_cuts(numbers, tables, experiment.consensus.variables)
    return experiment.change(tables=tables)


def require_left_out(experiment: Experiment) -> None:
    """Raise DataError where the run leaves out a column that no table has, or, where sites may lack
    columns, cuts one or says that it has numbers: a slip of the pen."""
    how = experiment.tables.preparation()
    may_lack = experiment.consensus.variables == "union"
    cut, numbers = (how.cuts, how.numbers) if may_lack else ({}, ())
    if not (how.leave_out or cut or numbers):
        return
    table = experiment.data.table
    opened = [open_site(file) for file in site_files(experiment)]
    known: set[str] = set()
    for path, decided in [*opened, *([] if table is None else [(table, SiteFile())])]:
        form = site_preparation(experiment.tables, decided).form
        own = decided.mapping.columns
        known |= {own.get(name, name) for name in column_names(path, form)}
    if known:
        require_some_has(known, how.leave_out)
        require_some_has(known, cut, "has cuts")
        require_some_has(known, numbers, "is said to have numbers")


def simulation(experiment: Experiment) -> Simulation:
    """All tables of a simulated run, and the held-out rows that `test_rows` asks for.

    Raises ConfigError, DataError, SchemaError or NetworkError where a client would: in a simulation
    this is where a wrong input is found, with everything that a client would not tell.
    """
    files = site_files(experiment)
    if not files:
        if experiment.data.network is None and experiment.data.table is None:
            raise ConfigError("a simulation needs data: network, table, sites or sites-dir")
        return divide(experiment, stamp_of(experiment))
    _require_different(files)
    pairs = [_split_site(experiment, files, index) for index in range(len(files))]
    labels = _labels(files)
    sites = tuple(
        Site(label, found.dataset, found.rows_dropped)
        for label, (found, _) in zip(labels, pairs, strict=True)
    )
    _warn_of_identifiers(experiment, files, sites)
    _warn_of_copies(files, sites)
    held_out = [rows for _, rows in pairs if rows is not None]
    if not held_out:
        return Simulation(sites, None)
    schema = union_schema({site.label: site.dataset.schema for site in sites})
    recoded = [rows.with_schema(schema).table for rows in held_out]
    return Simulation(sites, Dataset(schema, np.concatenate(recoded)))


def _require_different(files: Sequence[str]) -> None:
    """Raise ConfigError where two sites have one file."""
    found: dict[Path, str] = {}
    for file in files:
        table = Path(open_site(file)[0]).resolve()
        if table in found:
            raise ConfigError(
                f"every site must have a table of its own: {found[table]} and {file} are both "
                f"{table}; its rows would count twice"
            )
        found[table] = file


def _warn_of_copies(files: Sequence[str], sites: Sequence[Site]) -> None:
    """Say which tables hold the same rows in the same order."""
    found: dict[tuple[str, bytes], str] = {}
    for file, site in zip(files, sites, strict=True):
        held = site.dataset.schema.hash, hashlib.sha256(site.dataset.table.tobytes()).digest()
        if held in found:
            words = f"{found[held]} and {file} hold the same rows: is it one table, given twice?"
            warnings.warn(words, FedbnWarning, stacklevel=3)
        found.setdefault(held, file)


def _warn_of_identifiers(
    experiment: Experiment, files: Sequence[str], sites: Sequence[Site]
) -> None:
    """Say what a deployed site would refuse of tables that come without a site's file."""
    if experiment.data.schema is not None:
        return
    found = {
        file: identifying_columns(site.dataset)
        for file, site in zip(files, sites, strict=True)
        if not is_site_file(file)
    }
    refusing = [file for file, columns in found.items() if columns]
    if refusing:
        more = f" (so would {len(refusing) - 1} more)" if len(refusing) > 1 else ""
        words = identifier_words(found[refusing[0]])
        text = f"{refusing[0]}: a deployed site would refuse{more}: {words}"
        warnings.warn(text, FedbnWarning, stacklevel=3)


def site_files(experiment: Experiment) -> tuple[str, ...]:
    """The clients' own files, if the run names files: as given, or sorted by name in the folder."""
    if experiment.data.sites_dir is None:
        return experiment.data.sites
    folder = Path(experiment.data.sites_dir)
    if not folder.is_dir():
        raise ConfigError(f"sites-dir must be a folder, {str(folder)!r} is none")
    found = sorted(path for path in folder.iterdir() if table_stem(path) is not None)
    if not found:
        raise ConfigError(
            f"sites-dir must hold {', '.join(TABLE_SUFFIXES)} files, {str(folder)!r} has none"
        )
    return tuple(str(path) for path in found)


def open_site(file: str) -> tuple[str, SiteFile]:
    """A site's table and what the site decided; a table by itself decides nothing."""
    if not is_site_file(file):
        return file, SiteFile()
    decided = read_site_file(file)
    if decided.table is None:
        raise ConfigError(f'{file} must name its table: table = "north.csv"')
    return str(decided.table), decided


def _with_cuts(experiment: Experiment, cuts: Mapping[str, Cuts] | None) -> Experiment:
    return experiment if cuts is None else experiment.change(cuts=cuts_text(cuts))


def _split_site(
    experiment: Experiment,
    files: Sequence[str],
    index: int,
    cuts: Mapping[str, Cuts] | None = None,
) -> tuple[Prepared, Dataset | None]:
    """One site's rows, and its equal share of the held-out rows."""
    found = read_prepared(experiment, *open_site(files[index]), cuts)
    wanted, over = divmod(experiment.data.test_rows, len(files))
    share = wanted + (index < over)
    if share == 0:
        return found, None
    kept, held = without_held_out(found.dataset, share, experiment.seed, index, files[index])
    return Prepared(kept, found.rows_dropped), held


def _labels(files: Sequence[str]) -> list[str]:
    """The files' names without suffixes, numbered unless they differ."""
    stems = [_label(file) for file in files]
    if len(set(stems)) == len(stems):
        return stems
    width = len(str(len(stems)))
    return [f"{i:0{width}} {stem}" for i, stem in enumerate(stems, start=1)]


def _label(file: str) -> str:
    if is_site_file(file):
        return read_site_file(file).name or Path(file).stem
    return table_stem(file) or Path(file).name


def _require_part(index: int, parts: int) -> None:
    if index >= parts:
        raise ConfigError(f"partition-id must be below {parts}, the number of clients, not {index}")
