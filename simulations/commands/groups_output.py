"""What `fuse` and `simulate` say of groups of sites."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbn.bounded_file import read_bounded
from fedbn.errors import ConfigError
from fedbn.spreadsheet import read_cell
from fedbn.wording import reason_of

if TYPE_CHECKING:
    from fedbn.groups.grouping import Grouping
    from fedbn.results.outcome import Outcome

__all__ = ["groups_json", "print_groups", "read_groups"]


def print_groups(grouping: Grouping | None) -> None:
    """The three lines, where groups were asked for."""
    for line in () if grouping is None else grouping.lines():
        print(line)


def groups_json(outcome: Outcome) -> dict[str, Any]:
    """The key that --json has then."""
    if outcome.grouping is None:
        return {}
    from fedbn.results.groups import groups_facts

    return {"grouping": groups_facts(outcome.grouping)}


def read_groups(path: Path) -> dict[str, str]:
    """Site -> group from a CSV file whose first columns are `site` and `group`, as in groups.csv.

    Raises
    ------
    ConfigError : it cannot be read, has other columns, or has a site twice.
    """
    try:
        lines = read_bounded(path).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {reason_of(error)}") from None
    header, *rows = [*csv.reader(lines)] or [[]]
    if header[:2] != ["site", "group"]:
        raise ConfigError(f"{path}: the first columns must be site,group, not {','.join(header)!r}")
    found: dict[str, str] = {}
    for number, row in enumerate(rows, start=2):
        if len(row) < 2 or not row[0] or not row[1]:
            raise ConfigError(f"{path}, line {number}: a site and a group are needed, got {row}")
        site = read_cell(row[0])
        if site in found:
            raise ConfigError(f"{path}, line {number}: site {site!r} is there twice")
        found[site] = row[1]
    if not found:
        raise ConfigError(f"{path}: there is no site")
    return found
