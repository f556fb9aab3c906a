"""Groups that are known: site -> name of its group, from a file."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from fedbn.bounded_file import read_bounded
from fedbn.errors import ConfigError, system_errors_as
from fedbn.spreadsheet import read_cell
from fedbn.wording import list_some

NAME = "group_name"
"""The column of groups.csv with the names of groups that were given."""


def read_groups(path: str | Path) -> dict[str, str]:
    """Site -> group from a CSV file whose first columns are `site` and `group`, as in groups.csv.

    In groups.csv of a run groups have numbers; where they were given, their names are in
    `group_name`, which then counts.

    Raises
    ------
    ConfigError : it cannot be read, has other columns, or has a site twice.
    """
    with system_errors_as(ConfigError, f"{path} cannot be read"):
        lines = read_bounded(path).decode("utf-8-sig").splitlines()
    header, *rows = [*csv.reader(lines)] or [[]]
    if header[:2] != ["site", "group"]:
        raise ConfigError(f"{path}: the first columns must be site,group, not {','.join(header)!r}")
    named = header.index(NAME) if NAME in header else len(header)
    found: dict[str, str] = {}
    for number, row in enumerate(rows, start=2):
        if len(row) < 2 or not row[0] or not row[1]:
            raise ConfigError(f"{path}, line {number}: a site and a group are needed, got {row}")
        site = read_cell(row[0])
        if site in found:
            raise ConfigError(f"{path}, line {number}: site {site!r} is there twice")
        found[site] = read_cell(row[named]) if named < len(row) and row[named] else row[1]
    if not found:
        raise ConfigError(f"{path}: there is no site")
    return found


def groups_of_sites(
    path: str | Path, sites: Iterable[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The groups of the sites that are here, and the sites of the file that are not.

    Raises
    ------
    ConfigError : as `read_groups`, or a site that is here has no group.
    """
    given, here = read_groups(path), sorted(sites)
    lacking = next((site for site in here if site not in given), None)
    if lacking is not None:
        known = list_some(sorted(given), 8)
        raise ConfigError(f"{path}: there is no group for site {lacking!r}, only for {known}")
    return {site: given[site] for site in here}, tuple(sorted(set(given) - set(here)))
