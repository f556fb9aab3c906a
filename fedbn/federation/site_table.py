"""A site's own table, prepared as the run and the site's file say, under the agreed names.

What the run says is in agreed names; the site's file says how its own columns are called, so cuts
and choices are translated before the table is read, and own names never get further than here.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fedbn.arrays import Floats
from fedbn.data.column import Column
from fedbn.data.columns import chosen_columns, read_columns
from fedbn.data.cuts import Cuts
from fedbn.data.inspection import column_numbers, identifiers
from fedbn.data.preparation import Preparation, Prepared, without_missing_rows
from fedbn.data.schema import Kind
from fedbn.data.table_settings import TableSettings
from fedbn.data.tables import read_prepared
from fedbn.errors import FedbnWarning
from fedbn.federation.site_file import SiteFile

Numbers = Mapping[str, Floats]


def site_preparation(
    settings: TableSettings, site: SiteFile, cuts: Mapping[str, Cuts] | None = None
) -> Preparation:
    """What to do with the site's table, in its own names; its file goes before the run's settings.
    `cuts`: agreed column -> cuts; None for those of the settings."""
    own = {agreed: name for name, agreed in site.mapping.columns.items()}
    return site.prepare(settings.preparation(cuts).rename(own))


def require_admitted(path: str | Path, settings: TableSettings, site: SiteFile) -> None:
    """Look at a table's names and at its number of rows, and at nothing in its cells.

    Raises PolicyError: it has too few rows, or a column that would be named and may not be;
    DataError: the file is no table.
    """
    policy = site.policy
    if not policy.min_rows and policy.variables is None:
        return
    how = site_preparation(settings, site)
    header: list[str] = []

    def first(names: Sequence[str]) -> Sequence[str]:
        header.extend(names)
        return names[:1]

    (column,) = read_columns(path, first, lambda _: False, how.form).values()
    policy.require_rows(column.n_rows)
    named = {*(how.columns or header), *how.cuts} - {*how.leave_out, *how.leave_out_if_there}
    policy.require_names(site.mapping.columns.get(name, name) for name in named)


def site_table(
    path: str | Path,
    kind: Kind,
    settings: TableSettings,
    site: SiteFile,
    cuts: Mapping[str, Cuts] | None = None,
) -> Prepared:
    """The site's cases under the agreed names, and how many rows were dropped.

    Raises
    ------
    DataError, SchemaError : as `fedbn.data.tables.read_dataset` and `SiteMapping.applied`.
    """
    settings = without_identifiers([(path, site)], settings)
    how = site_preparation(settings, site, cuts)
    mapping = site.mapping.without(
        name
        for name in site.mapping.columns
        if name in (*how.leave_out, *how.leave_out_if_there)
        or (how.columns and name not in how.columns)
    )
    return read_prepared(path, kind, how, mapping=mapping)


def site_numbers(path: str | Path, settings: TableSettings, site: SiteFile) -> Numbers:
    """Agreed name -> the numbers of every column of which all cells that are there are numbers;
    raises DataError where the table cannot be read."""
    settings = without_identifiers([(path, site)], settings)
    how = site_preparation(settings, site)
    numbers = column_numbers(str(path), _columns(path, how, numbers=True), how)
    return {site.mapping.columns.get(name, name): found for name, found in numbers.items()}


def without_identifiers(
    sites: Sequence[tuple[str | Path, SiteFile]], settings: TableSettings
) -> TableSettings:
    """The settings with the columns that `leave_out_identifiers` means in place of it; warns which
    these are, with the number of their states.

    A column that looks like an identifier at one site is left out at all of them. Those with cuts
    and those that are chosen by name are not meant.
    """
    if not settings.leave_out_identifiers:
        return settings
    found: dict[str, int] = {}
    for path, site in sites:
        how = site_preparation(settings, site)
        for name, states in identifiers(str(path), _columns(path, how), how).items():
            agreed = site.mapping.columns.get(name, name)
            found[agreed] = max(states, found.get(agreed, 0))
    kept = {*settings.preparation().cuts, *settings.intervals[1], *settings.preparation().columns}
    left = sorted(set(found) - kept)
    if left:
        words = ", ".join(f"{name!r} ({found[name]} states)" for name in left)
        warnings.warn(f"left out as identifiers: {words}", FedbnWarning, stacklevel=2)
    return replace(settings, leave_out=(*settings.leave_out, *left), leave_out_identifiers=False)


def _columns(path: str | Path, how: Preparation, *, numbers: bool = False) -> Mapping[str, Column]:
    """The columns that take part, without the rows that are dropped; as text, or numbers."""

    def choose(names: Sequence[str]) -> tuple[str, ...]:
        return chosen_columns(str(path), names, how.columns, how.leave_out, how.leave_out_if_there)

    missing = ("", *how.missing)
    found = read_columns(path, choose, lambda _: numbers, how.form, missing)
    return without_missing_rows(found, how)
