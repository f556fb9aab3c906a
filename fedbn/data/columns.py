"""The columns of CSV and Parquet files as text, with errors that say which cell is wrong.

Nothing is guessed. A CSV cell is the text that is there. Well-formed files are read by pyarrow;
whatever it refuses, or takes more kindly than the standard (a quote in the wrong place, blank
lines), is read again by Python's csv module, which is slow, strict, and knows the line.

Parquet columns have types. Text stays as it is, integers become their decimal digits, booleans
'True' and 'False', and dictionary columns are decoded first. Floats are for columns that are read
as numbers; dates, decimals and nested types have no one obvious text and are refused.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from fedbn.data.table_format import TableFormat
from fedbn.errors import DataError, did_you_mean

__all__ = ["TABLE_SUFFIXES", "Column", "column_names", "read_columns"]

CSV_SUFFIXES = (".csv", ".csv.gz")
PARQUET_SUFFIXES = (".parquet",)
TABLE_SUFFIXES = (*CSV_SUFFIXES, *PARQUET_SUFFIXES)
"""How the name of a table ends, in letters of either case."""

_CHUNK = 1 << 16
"""Rows of a CSV file that are held as text at one time."""

LARGEST_EXACT = 2.0**53
"""Beyond this, not every integer is a float."""


@dataclass(frozen=True)
class Column:
    """One column of a file: its distinct texts (None: no value at all) and an index into them.

    Parameters
    ----------
    texts : distinct, in order of appearance.
    index : int32 [rows].
    values : float [rows], instead of both, of a column of finite numbers.
    refusal : why the column cannot be states, whatever its cells; empty where it can.
    """

    texts: Sequence[str | None]
    index: NDArray[np.int32]
    values: NDArray[np.float64] | None = None
    refusal: str = ""

    def first_row(self, text: str | None) -> int:
        """The first row, counted from 1, that has the text."""
        return int(np.argmax(self.index == self.texts.index(text))) + 1

    @property
    def n_rows(self) -> int:
        """Number of cells."""
        return len(self.index if self.values is None else self.values)


def column_names(path: str | Path, form: TableFormat | None = None) -> tuple[str, ...]:
    """The names in the file's order; raises DataError as `read_columns` does."""
    content = _content(path)
    if _is_csv(path):
        return tuple(_header(str(path), _utf8(str(path), content, form or TableFormat()), form))
    return tuple(_parquet(str(path), content).schema_arrow.names)


def read_columns(
    path: str | Path,
    chosen: Callable[[Sequence[str]], Sequence[str]],
    numbers: Callable[[str], bool],
    form: TableFormat | None = None,
) -> dict[str, Column]:
    """Some columns of a file with distinct, non-empty names and at least one row.

    Parameters
    ----------
    path : a .csv, .csv.gz or .parquet file with a header.
    chosen : the file's names -> those to be read.
    numbers : whether the column of this name is wanted as numbers, which is faster for CSV.
    form : how a CSV file is written.

    Raises
    ------
    DataError : the file cannot be read, or is not as above; names file, line or column.
    """
    form = form or TableFormat()
    source, content = str(path), _content(path)
    if _is_csv(path):
        return _csv_columns(source, _utf8(source, content, form), chosen, numbers, form)
    file = _parquet(source, content)
    names = file.schema_arrow.names
    _require_header(source, names)
    _require_rows(source, file.metadata.num_rows)
    table = file.read(columns=list(chosen(names)))
    return {name: _parquet_column(source, name, table[name]) for name in chosen(names)}


def _content(path: str | Path) -> bytes:
    name = str(path).lower()
    if not name.endswith(TABLE_SUFFIXES):
        raise DataError(f"{path}: a table's name must end in {', '.join(TABLE_SUFFIXES)}")
    try:
        content = Path(path).read_bytes()
        return gzip.decompress(content) if name.endswith(".gz") else content
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path} cannot be read: {reason}") from error


def _is_csv(path: str | Path) -> bool:
    return str(path).lower().endswith(CSV_SUFFIXES)


# --- CSV ----------------------------------------------------------------------------------------


def _utf8(source: str, content: bytes, form: TableFormat) -> bytes:
    """The content in UTF-8, without a byte-order mark."""
    if form.encoding != "utf-8":
        try:
            return content.decode(form.encoding).encode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{source}: not in {form.encoding}: {error}") from error
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{source}: line {line} must be UTF-8, found byte 0x{content[error.start]:02x}; "
            "a file of another program may need --encoding latin-1"
        ) from error
    return content.removeprefix(b"\xef\xbb\xbf")


def _header(source: str, content: bytes, form: TableFormat | None) -> list[str]:
    mark = (form or TableFormat()).mark
    reader = csv.reader(
        io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline=""),
        strict=True,
        delimiter=mark,
    )
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise DataError(f"{source}, line {reader.line_num}: not CSV: {error}") from error
    _require_header(source, header)
    if len(header) == 1:
        _require_separator(source, header[0], "".join(next(reader, [])), mark)
    return header


def _csv_columns(
    source: str,
    content: bytes,
    chosen: Callable[[Sequence[str]], Sequence[str]],
    numbers: Callable[[str], bool],
    form: TableFormat,
) -> dict[str, Column]:
    header = _header(source, content, form)
    wanted = list(chosen(header))
    floats = [name for name in wanted if numbers(name)]
    if _quotes_are_plain(content, form.mark):
        found = _fast_columns(content, header, wanted, floats, form)
        if found is None and floats:
            found = _fast_columns(content, header, wanted, [], form)
        if found is not None:
            return found
    everything = _strict_columns(source, content, form)
    return {name: everything[name] for name in wanted}


def _fast_columns(
    content: bytes, header: list[str], wanted: list[str], floats: list[str], form: TableFormat
) -> dict[str, Column] | None:
    """The wanted columns by pyarrow; None where the strict reader has to look."""
    text = pa.dictionary(pa.int32(), pa.string())
    types = {name: pa.float64() if name in floats else text for name in wanted}
    try:
        table = pyarrow.csv.read_csv(
            io.BytesIO(content),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=form.mark, ignore_empty_lines=False, newlines_in_values=b'"' in content
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types,
                include_columns=wanted,
                null_values=[],
                strings_can_be_null=False,
                decimal_point=form.decimal,
            ),
        )
    except pa.ArrowException:
        return None
    if table.num_rows == 0 or table.column_names != wanted:
        return None
    columns = {name: _arrow_column(table[name], name in floats) for name in wanted}
    if all("" in column.texts for column in columns.values()):
        empty = [column.index == column.texts.index("") for column in columns.values()]
        if np.logical_and.reduce(empty).any():
            return None  # blank lines, or rows without any value
    unfit = [
        column
        for column in columns.values()
        if column.values is not None and not (np.abs(column.values) < LARGEST_EXACT).all()
    ]
    return None if unfit else columns


def _arrow_column(column: Any, as_floats: bool) -> Column:
    if as_floats:
        values = np.concatenate([chunk.to_numpy() for chunk in column.chunks])
        return Column((), np.zeros(len(values), dtype=np.int32), values)
    united = column.unify_dictionaries()
    index = np.concatenate([chunk.indices.to_numpy() for chunk in united.chunks])
    return Column(united.chunk(0).dictionary.to_pylist(), index.astype(np.int32, copy=False))


def _quotes_are_plain(content: bytes, mark: str) -> bool:
    """Whether every quote opens or closes a whole cell, or is doubled inside one."""
    if b'"' not in content:
        return True
    data = np.frombuffer(content, dtype=np.uint8)
    quotes = np.flatnonzero(data == ord('"'))
    if len(quotes) % 2:
        return False
    opening, closing = quotes[0::2], quotes[1::2]
    ends = np.array([ord(mark), ord("\n"), ord("\r")], dtype=np.uint8)
    before = (opening == 0) | np.isin(data[opening - 1], ends)
    after = (closing == len(data) - 1) | np.isin(data[np.minimum(closing + 1, len(data) - 1)], ends)
    doubled = opening[1:] == closing[:-1] + 1
    before[1:] |= doubled
    after[:-1] |= doubled
    return bool(before.all() and after.all())


def _strict_columns(source: str, content: bytes, form: TableFormat) -> dict[str, Column]:
    text = content.decode("utf-8")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=form.mark)
    try:
        header = next(reader, [])
        seen: list[dict[str, int]] = [{} for _ in header]
        parts: list[list[NDArray[np.int32]]] = [[] for _ in header]
        rows = _full_rows(source, reader, len(header))
        while chunk := list(islice(rows, _CHUNK)):
            for position, cells in enumerate(zip(*chunk, strict=True)):
                code = seen[position]
                index = [code.setdefault(cell, len(code)) for cell in cells]
                parts[position].append(np.array(index, dtype=np.int32))
    except csv.Error as error:
        raise DataError(f"{source}, line {reader.line_num}: not CSV: {error}") from error
    _require_rows(source, sum(len(part) for part in parts[0]))
    return {
        name: Column(list(code), np.concatenate(part))
        for name, code, part in zip(header, seen, parts, strict=True)
    }


def _full_rows(source: str, reader: Iterable[list[str]], width: int) -> Iterator[list[str]]:
    """The rows, each with `width` cells; blank lines are ignored at the end only."""
    blank = 0
    for number, row in enumerate(reader, start=1):
        if not row and width > 1:
            blank = blank or number
            continue
        if blank:
            raise DataError(f"{source}: row {blank} is blank, the header has {width} columns")
        if len(row or [""]) != width:
            raise DataError(
                f"{source}: row {number} has {len(row)} cells, the header has {width} columns"
            )
        yield row or [""]  # csv shows a line without any character as no cell at all


# --- Parquet ------------------------------------------------------------------------------------


def _parquet(source: str, content: bytes) -> Any:
    try:
        return pyarrow.parquet.ParquetFile(io.BytesIO(content))
    except (OSError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{source} is not a Parquet file: {reason}") from error


def _parquet_column(source: str, name: str, column: Any) -> Column:
    """The module's rule for typed columns; numbers keep all their digits."""
    dtype = column.type
    if pa.types.is_dictionary(dtype):
        column, dtype = column.cast(dtype.value_type), dtype.value_type
    rows = np.zeros(len(column), dtype=np.int32)
    if pa.types.is_null(dtype):
        return Column([None], rows)
    refusal = _refusal(source, name, dtype)
    if pa.types.is_nested(dtype):
        return Column(["..."], rows, refusal=refusal)
    if pa.types.is_floating(dtype) and column.null_count == 0:
        values = np.concatenate([chunk.to_numpy() for chunk in column.chunks]).astype(np.float64)
        if np.isfinite(values).all():
            return Column((), rows, values, refusal)
    encoded = pa.concat_arrays(column.chunks).dictionary_encode(null_encoding="encode")
    texts = [None if value is None else str(value) for value in encoded.dictionary.to_pylist()]
    return Column(texts, encoded.indices.to_numpy().astype(np.int32), refusal=refusal)


def _refusal(source: str, name: str, dtype: Any) -> str:
    """Why a column of this type cannot be states; empty where it can."""
    if (
        pa.types.is_string(dtype)
        or pa.types.is_large_string(dtype)
        or pa.types.is_integer(dtype)
        or pa.types.is_boolean(dtype)
    ):
        return ""
    cure = f"leave it out with --leave-out {name}"
    if pa.types.is_floating(dtype):
        cure = f"cut it with --cuts {name}=... or --discretise {name}:3, or {cure}"
    return (
        f"{source}: column {name!r} must hold text, integers or booleans, its type is {dtype}: "
        f"{cure}"
    )


# --- What both must have ------------------------------------------------------------------------


def _require_header(source: str, header: Sequence[str]) -> None:
    if not header:
        raise DataError(f"{source} is empty: a table needs a header and at least one row")
    first: dict[str, int] = {}
    for position, name in enumerate(header, start=1):
        if not name:
            raise DataError(
                f"{source}: column {position} has no name (an index? write the table without it)"
            )
        if first.setdefault(name, position) != position:
            raise DataError(
                f"{source}: column name {name!r} must occur once, "
                f"columns {first[name]} and {position} have it"
            )


def _require_separator(source: str, name: str, first: str, mark: str) -> None:
    """Refuse a single column whose name and first cell have the same number of other marks."""
    for word, other in (("';'", ";"), ("tab", "\t"), ("'|'", "|"), ("','", ","), ("space", " ")):
        if other != mark and 0 < name.count(other) == first.count(other):
            raise DataError(
                f"{source} has a single column, {name!r}: its cells seem to be separated by "
                f"another mark, say --separator {word}"
            )


def _require_rows(source: str, n_rows: int) -> None:
    if n_rows < 1:
        raise DataError(f"{source} has a header but no row; at least one is needed")


def require_columns(source: str, names: Collection[str], wanted: Iterable[str]) -> None:
    """Raise DataError unless the file has all of these columns."""
    for name in wanted:
        if name not in names:
            raise DataError(f"{source} has no column {name!r}{did_you_mean(name, names)}")


def chosen_columns(
    source: str, names: Sequence[str], columns: Collection[str], leave_out: Collection[str]
) -> tuple[str, ...]:
    """The names to be read, in the file's order; raises DataError for unknown ones or none."""
    require_columns(source, names, [*columns, *leave_out])
    chosen = tuple(
        name for name in names if (not columns or name in columns) and name not in leave_out
    )
    if not chosen:
        raise DataError(f"{source}: a data set needs at least one column that is not left out")
    return chosen


def mask(columns: Mapping[str, Column], keep: NDArray[np.bool_]) -> dict[str, Column]:
    """The same columns with the rows to keep, and the texts that these have."""
    return {name: _mask(column, keep) for name, column in columns.items()}


def _mask(column: Column, keep: NDArray[np.bool_]) -> Column:
    if column.values is not None:
        return replace(column, index=column.index[keep], values=column.values[keep])
    used, index = np.unique(column.index[keep], return_inverse=True)
    texts = [column.texts[code] for code in used]
    return replace(column, texts=texts, index=index.astype(np.int32))
