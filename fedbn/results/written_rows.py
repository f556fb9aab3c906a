"""Frozen rows as the text of a CSV file, safe to be opened with a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from fedbn.spreadsheet import written_cells


def rows_text(row_type: type, rows: Sequence[Any]) -> str:
    """A header with the fields of the dataclass, then a line per row.

    None is an empty cell, a tuple its texts with semicolons between (in a text \\; and \\\\).
    """
    columns = [column.name for column in fields(row_type)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(getattr(row, column)) for column in columns])
    return out.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        value = ";".join(text.replace("\\", "\\\\").replace(";", "\\;") for text in value)
    if isinstance(value, str):
        return str(*written_cells([value]))
    return repr(value) if isinstance(value, float) else str(value)
