"""Tables of other programs: Feather, Excel (.xlsx), SPSS (.sav), Stata (.dta), SAS (.sas7bdat).

Each becomes columns with types (`fedbn.data.typed_columns`). A value that has a label is its label
where every value of the column that occurs has one; else the numbers stay. What the program itself
marks as missing is a missing cell. Excel's formulas are their last values.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pyarrow as pa

from fedbn.bounded_file import MAX_TABLE, read_bounded
from fedbn.data.column import Column, require_header, require_rows
from fedbn.data.table_format import TableFormat
from fedbn.data.typed_columns import typed_column, with_whole_numbers
from fedbn.errors import DataError, did_you_mean
from fedbn.wording import reason_of

__all__ = ["PROGRAM_SUFFIXES", "program_columns", "program_names"]

STATISTICS = {".sav": "read_sav", ".dta": "read_dta", ".sas7bdat": "read_sas7bdat"}
"""Suffix -> the function of pyreadstat."""

PROGRAM_SUFFIXES = (".feather", ".xlsx", *STATISTICS)


def program_names(path: str | Path, form: TableFormat) -> tuple[str, ...]:
    """The names in the file's order; raises DataError."""
    return tuple(_table(path, form).column_names)


def program_columns(
    path: str | Path, chosen: Callable[[Sequence[str]], Sequence[str]], form: TableFormat
) -> dict[str, Column]:
    """Some columns; raises DataError as `fedbn.data.columns.read_columns` does."""
    source, table = str(path), _table(path, form)
    require_header(source, table.column_names)
    require_rows(source, table.num_rows)
    wanted = list(chosen(table.column_names))
    return {name: typed_column(source, name, table[name]) for name in wanted}


def _table(path: str | Path, form: TableFormat) -> Any:
    source, name = str(path), str(path).lower()
    try:
        content = read_bounded(path, MAX_TABLE)
        if name.endswith(".xlsx"):
            return _sheet(source, content, form)
        if name.endswith(".feather"):
            from pyarrow.feather import read_table

            return read_table(io.BytesIO(content), memory_map=False)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{source} cannot be read: {reason_of(error)}") from error
    return _with_labels(source, STATISTICS[Path(name).suffix])


# --- Excel ------------------------------------------------------------------------------------


def _sheet(source: str, content: bytes, form: TableFormat) -> Any:
    """One sheet: its header after `skip-lines` rows, empty rows at the end left out."""
    rows = _rows(source, content, form)[form.skip_lines :]
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    if not rows:
        raise DataError(f"{source} is empty: a table needs a header and at least one row")
    width = max(
        place for row in rows for place, cell in enumerate(row, start=1) if cell is not None
    )
    if form.header == "yes":
        first = [*rows[0], *[None] * width][:width]
        header = [f"V{i}" if cell is None else str(cell) for i, cell in enumerate(first, start=1)]
        rows = rows[1:]
    else:
        header = [f"V{place}" for place in range(1, width + 1)]
    require_header(source, header)
    cells = zip(*([*row, *[None] * width][:width] for row in rows), strict=True)
    columns = [_cells(list(column)) for column in cells] if rows else [pa.nulls(0)] * width
    return pa.table([pa.chunked_array([column]) for column in columns], names=header)


def _rows(source: str, content: bytes, form: TableFormat) -> list[tuple[Any, ...]]:
    from fedbn.extras import openpyxl

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            if sum(each.file_size for each in packed.infolist()) > MAX_TABLE:
                raise DataError(f"{source} unpacks to more than {MAX_TABLE:,} bytes")
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, SyntaxError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{source} is no Excel file: {error}") from error
    names = book.sheetnames
    sheet = form.sheet or names[0]
    if sheet not in names:
        raise DataError(f"{source} has no sheet {sheet!r}{did_you_mean(sheet, names)}")
    return [tuple(row) for row in book[sheet].iter_rows(values_only=True)]


def _cells(cells: list[Any]) -> Any:
    """One column: integers, floats, booleans or dates where all cells are, else texts."""
    present = [cell for cell in cells if cell is not None]
    if any(isinstance(cell, date | datetime | time) for cell in present):
        return pa.array([None if cell is None else str(cell) for cell in cells])
    for kinds, dtype in (((bool,), pa.bool_()), ((int,), pa.int64()), ((int, float), pa.float64())):
        if present and all(type(cell) in kinds for cell in present):
            return with_whole_numbers(pa.array(cells, dtype))
    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


# --- SPSS, Stata, SAS -------------------------------------------------------------------------


def _with_labels(source: str, reader: str) -> Any:
    """The rows, labels in place of the values of columns of which all have one."""
    from fedbn.extras import pyreadstat

    try:
        frame, facts = getattr(pyreadstat, reader)(source, dates_as_pandas_datetime=True)
    except (OSError, ValueError, UnicodeDecodeError, pyreadstat.ReadstatError) as error:
        raise DataError(f"{source} cannot be read: {reason_of(error)}") from error
    columns = []
    for name in frame.columns:
        values, labels = frame[name], facts.variable_value_labels.get(name, {})
        if labels and set(values.dropna()) <= set(labels):
            values = values.map(labels)
        found = pa.chunked_array([pa.Array.from_pandas(values)])
        if pa.types.is_string(found.type) or pa.types.is_large_string(found.type):
            columns.append(found)
        else:
            columns.append(with_whole_numbers(found))
    return pa.table(columns, names=list(frame.columns))
