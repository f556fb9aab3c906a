"""Tables of other programs: Feather, Excel (.xlsx), SPSS (.sav), Stata (.dta), SAS (.sas7bdat,
.xpt).

Each becomes columns with types (`fedbn.data.typed_columns`). A value that has a label is its label
where every value of the column that occurs has one; else the numbers stay. What the program itself
marks as missing is a missing cell, in SAS a text of blanks. Excel's formulas are their last values.
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
from fedbn.data.column import Column, Header, require_rows
from fedbn.data.table_format import TableFormat
from fedbn.data.typed_columns import typed_column, with_whole_numbers
from fedbn.errors import DataError, did_you_mean
from fedbn.wording import reason_of

SAS = {".sas7bdat": "read_sas7bdat", ".xpt": "read_xport"}
STATISTICS = {".sav": "read_sav", ".dta": "read_dta", **SAS}
"""Suffix -> the function of pyreadstat."""


def program_names(path: str | Path, form: TableFormat) -> tuple[str, ...]:
    """The names in the file's order; raises DataError."""
    return tuple(_table(path, form)[0].column_names)


def program_columns(
    path: str | Path, chosen: Callable[[Sequence[str]], Sequence[str]], form: TableFormat
) -> dict[str, Column]:
    """Some columns; raises DataError as `fedbn.data.columns.read_columns` does."""
    source = str(path)
    table, header = _table(path, form)
    require_rows(source, table.num_rows)
    wanted = list(chosen(header.names))
    header.require_named(source, wanted)
    return {name: typed_column(source, name, table[name]) for name in wanted}


def _table(path: str | Path, form: TableFormat) -> tuple[Any, Header]:
    source, name = str(path), str(path).lower()
    try:
        content = read_bounded(path, MAX_TABLE)
        if name.endswith(".xlsx"):
            return _sheet(source, content, form)
        if name.endswith(".feather"):
            from pyarrow.feather import read_table

            table = read_table(io.BytesIO(content), memory_map=False)
        else:
            table = _with_labels(source, STATISTICS[Path(name).suffix])
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{source} cannot be read: {reason_of(error)}") from error
    return table, Header.of(source, table.column_names)


# --- Excel ------------------------------------------------------------------------------------


def _sheet(source: str, content: bytes, form: TableFormat) -> tuple[Any, Header]:
    """One sheet: its header after `skip-lines` rows, empty rows at the end left out."""
    rows = _rows(source, content, form)[form.skip_lines :]
    while rows and all(cell is None for cell in rows[-1]):
        rows.pop()
    if not rows:
        raise DataError(f"{source} is empty: a table needs a header and at least one row")
    width = max(
        place for row in rows for place, cell in enumerate(row, start=1) if cell is not None
    )
    first = ["" if cell is None else str(cell) for cell in [*rows[0], *[None] * width][:width]]
    header = Header.of(source, first, form.header == "yes")
    rows = rows[form.header == "yes" :]
    cells = zip(*([*row, *[None] * width][:width] for row in rows), strict=True)
    columns = [_cells(list(column)) for column in cells] if rows else [pa.nulls(0)] * width
    return pa.table([pa.chunked_array([column]) for column in columns], header.names), header


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
    rows = _values(source, book[sheet])
    if any(None in row for row in rows):
        _require_values_of_formulas(source, content, sheet, rows)
    return rows


def _values(source: str, sheet: Any) -> list[tuple[Any, ...]]:
    try:
        return [tuple(row) for row in sheet.iter_rows(values_only=True)]
    except (KeyError, ValueError, TypeError, IndexError, SyntaxError) as error:
        raise DataError(
            f"{source}, sheet {sheet.title!r}, is damaged: {reason_of(error)}"
        ) from error


def _require_values_of_formulas(
    source: str, content: bytes, sheet: str, rows: Sequence[tuple[Any, ...]]
) -> None:
    """Refuse a formula whose value is not in the file: it would be taken for a missing cell."""
    from fedbn.extras import openpyxl

    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        sheets = [name for name in packed.namelist() if name.startswith("xl/worksheets/")]
        if not any(b"<f" in packed.read(name) for name in sheets):
            return
    formulas = openpyxl.load_workbook(io.BytesIO(content), read_only=True)[sheet]
    for values, cells in zip(rows, formulas.iter_rows(), strict=True):
        for value, cell in zip(values, cells, strict=True):
            if value is None and cell.data_type == "f":
                raise DataError(
                    f"{source}, sheet {sheet!r}, cell {cell.coordinate}: the formula "
                    f"{str(cell.value)[:40]!r} has no value in the file; open it in a spreadsheet "
                    "program and save it, so that values are stored"
                )


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
        if reader in SAS.values():
            values = values.mask(
                values.map(lambda cell: isinstance(cell, str) and not cell.strip())
            )
        if labels and set(values.dropna()) <= set(labels):
            values = values.map(labels)
        found = pa.chunked_array([pa.Array.from_pandas(values)])
        if pa.types.is_string(found.type) or pa.types.is_large_string(found.type):
            columns.append(found)
        else:
            columns.append(with_whole_numbers(found))
    return pa.table(columns, names=list(frame.columns))
