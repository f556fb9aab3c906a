"""Frozen rows as the text of a CSV file, safe to be opened with a spreadsheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from fedbn.spreadsheet import written_text


def rows_text(row_type: type, rows: Sequence[Any]) -> str:
    """A header with the fields of the dataclass, then a line per row.

    None is an empty cell, a tuple its texts with semicolons between (in a text \\; and \\\\).
    """
    columns = [column.name for column in fields(row_type)]
    cells = ([_cell(getattr(row, column)) for column in columns] for row in rows)
    return written_text([columns, *cells])


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ";".join(text.replace("\\", "\\\\").replace(";", "\\;") for text in value)
    return value
