"""Tables from CSV and Parquet files, as text, with errors that say which cell is wrong.

Nothing is guessed. A CSV cell is the text that is there: 'None', 'NA', 'True', '3' and '<5' are
ordinary states, and so is ' yes' beside 'yes'. Only an empty cell is missing, and any token that
the caller names; a missing cell is refused. The caller says which kind the columns have: states, or
floats. In every message, rows are counted from 1 after the header.

Parquet columns have types. For categorical data text stays as it is, integers become their decimal
digits, booleans become 'True' and 'False', and dictionary columns are decoded first; floats, dates,
decimals and nested types have no one obvious text and are refused.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
import warnings
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from fedbn.data.dataset import Dataset, Kind, Schema
from fedbn.errors import DataError, FedbnWarning, ResultsError, SchemaError

__all__ = [
    "column_values",
    "csv_text",
    "read_dataset",
    "read_schema",
    "table_columns",
    "table_stem",
    "write_schema",
    "write_table",
]

CSV_SUFFIXES = (".csv", ".csv.gz")
PARQUET_SUFFIXES = (".parquet",)
TABLE_SUFFIXES = (*CSV_SUFFIXES, *PARQUET_SUFFIXES)
"""How the name of a table ends, in letters of either case."""

_NUMBER_CHARACTERS = re.compile(r"[0-9eE+. \t-]*")
"""`float` would also take '1_000', 'nan', 'infinity' and the digits of other scripts."""

_NEEDS_QUOTES = re.compile(r'[",\r\n]')

_CHUNK = 1 << 16
FEWEST_ROWS = 20  # to judge a column by
OWN_STATES = 0.5  # of the rows: with more states than that, a column is hardly a category
"""Rows of a CSV file that are held as text at one time."""


@dataclass(frozen=True)
class _Column:
    """One column of a file: its distinct texts (None: no value at all) and an index into them.

    Parameters
    ----------
    texts : distinct, in order of appearance.
    index : int32 [rows].
    """

    texts: Sequence[str | None]
    index: NDArray[np.int32]

    def first_row(self, text: str | None) -> int:
        """The first row, counted from 1, that has the text."""
        return int(np.argmax(self.index == self.texts.index(text))) + 1


def read_dataset(
    path: str | Path,
    kind: Kind,
    *,
    schema: Schema | None = None,
    missing: Iterable[str] = (),
    exclude: Collection[str] = (),
) -> Dataset:
    """The cases of one file.

    Parameters
    ----------
    path : a .csv, .csv.gz or .parquet file with a header; CSV in UTF-8, separated by commas.
    kind : "categorical" makes every column states, "gaussian" makes every column floats.
    schema : the agreed columns and states; without it, the states are those of the file.
    missing : tokens, besides the empty cell, that stand for a missing value.
    exclude : columns to leave out, such as the site's name.

    Returns
    -------
    The data set, in `schema` if it was given.

    Raises
    ------
    DataError : the file cannot be read, is empty or ragged, repeats a column name, has a missing
        cell, or a cell that is no finite number where one must be. Names file, column, row, value.
    SchemaError : the file's columns or states are not those of `schema`, or the kinds differ.

    Warns
    -----
    FedbnWarning : a column is constant, or has a state of its own in most rows; it is kept.
    """
    source = str(path)
    if schema is not None and schema.kind != kind:
        raise SchemaError(f"the schema's columns are {schema.kind}, this run needs {kind} ones")
    columns = _read_columns(path, kind, exclude)
    for name in exclude:
        _require_column(source, columns, name)
    columns = {name: column for name, column in columns.items() if name not in exclude}
    if not columns:
        raise DataError(f"{source}: a data set needs at least one column besides {exclude}")
    tokens = {"", None, *missing}
    for name, column in columns.items():
        _require_complete(source, name, column, tokens)
    data = _categorical(columns) if kind == "categorical" else _gaussian(source, columns)
    _warn_of_separator(source, data)
    _warn_of_numbers(source, data)
    _warn_of_constants(source, data)
    return data if schema is None else data.with_schema(schema, source)


def table_stem(path: str | Path) -> str | None:
    """A table's name without its suffix; None if this is not the name of a table.

    >>> table_stem("data/North.CSV.gz"), table_stem("notes.txt")
    ('North', None)
    """
    name = Path(path).name
    found = [suffix for suffix in TABLE_SUFFIXES if name.lower().endswith(suffix)]
    return name[: -len(found[0])] if found else None


def column_values(path: str | Path, column: str) -> tuple[str, ...]:
    """One column as text, a value per row: for partitions by site.

    Raises
    ------
    DataError : as for `read_dataset`, or there is no such column.
    """
    source = str(path)
    columns = _read_columns(path, "categorical", only=column)
    _require_column(source, columns, column)
    found = columns[column]
    _require_complete(source, column, found, {"", None})
    texts = [str(text) for text in found.texts]
    return tuple(texts[k] for k in found.index.tolist())


def table_columns(path: str | Path) -> tuple[str, ...]:
    """The column names in the file's order; raises DataError as `read_dataset` does."""
    return tuple(_read_columns(path, "categorical", only=""))


def read_schema(path: str | Path) -> Schema:
    """The schema of a JSON file `{column: [states]}`, with null for a float column.

    Raises
    ------
    SchemaError : the file cannot be read, is not JSON, repeats a column, or is no schema.
    """
    try:
        columns = json.loads(
            Path(path).read_text(encoding="utf-8-sig"), object_pairs_hook=_distinct
        )
        return Schema.from_dict(columns)
    except (OSError, ValueError) as error:  # SchemaError and JSONDecodeError are ValueErrors
        raise SchemaError(f"schema {path}: {error}") from error


def write_schema(schema: Schema, path: str | Path) -> None:
    """Write the schema as `read_schema` reads it; raises ResultsError when it cannot."""
    text = json.dumps(schema.to_dict(), ensure_ascii=False, indent=1)
    _write(path, (text + "\n").encode("utf-8"))


def write_table(dataset: Dataset, path: str | Path) -> None:
    """Write the data set as .csv, .csv.gz or .parquet: the same bytes for the same data.

    States are written as text, floats so that they read back exactly.

    Raises
    ------
    DataError : the name ends in none of these.
    ResultsError : the file cannot be written.
    """
    name = str(path).lower()
    if name.endswith(PARQUET_SUFFIXES):
        _write(path, _parquet_bytes(dataset))
    elif name.endswith(CSV_SUFFIXES):
        content = csv_text(dataset).encode("utf-8")
        _write(path, gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    else:
        raise DataError(_unknown_suffix(path))


def csv_text(dataset: Dataset) -> str:
    """The data set as CSV, a header first; cells are quoted only where they must be."""
    # The csv module would leave a lone carriage return without quotes.
    if dataset.kind == "gaussian":
        columns = [map(repr, column.tolist()) for column in dataset.values.T]
    else:
        columns = [map(_quoted(states).__getitem__, codes) for states, codes in _coded(dataset)]
    lines = chain([_quoted(dataset.names)], zip(*columns, strict=True))
    return "".join(",".join(line) + "\n" for line in lines)


def _quoted(texts: Sequence[str]) -> list[str]:
    return [
        '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text
        for text in texts
    ]


def _parquet_bytes(dataset: Dataset) -> bytes:
    if dataset.kind == "gaussian":
        columns = [pa.array(column) for column in dataset.values.T]
    else:
        columns = [pa.array([states[k] for k in codes]) for states, codes in _coded(dataset)]
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns, names=list(dataset.names)), buffer)
    return buffer.getvalue()


def _coded(dataset: Dataset) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """States and codes of every column."""
    for states, codes in zip(dataset.schema.states, dataset.codes.T, strict=True):
        yield states, codes.tolist()


def _write(path: str | Path, content: bytes) -> None:
    try:
        Path(path).write_bytes(content)
    except OSError as error:
        raise ResultsError(f"{path} cannot be written: {error.strerror}") from error


def _read_columns(
    path: str | Path, kind: Kind, exclude: Collection[str] = (), only: str | None = None
) -> dict[str, _Column]:
    """The file's columns as text, with distinct, non-empty names and at least one row.

    Parquet columns in `exclude`, or other than `only`, are left empty.
    """
    name = str(path).lower()
    if not name.endswith(TABLE_SUFFIXES):
        raise DataError(_unknown_suffix(path))
    try:
        content = Path(path).read_bytes()
        if name.endswith(".gz"):
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path} cannot be read: {reason}") from error
    if name.endswith(CSV_SUFFIXES):
        return _csv_columns(str(path), content)
    return _parquet_columns(str(path), content, kind, exclude, only)


def _unknown_suffix(path: str | Path) -> str:
    return f"{path}: a table's name must end in {', '.join(TABLE_SUFFIXES)}"


def _csv_columns(source: str, content: bytes) -> dict[str, _Column]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{source}: line {line} must be UTF-8, found byte 0x{content[error.start]:02x}"
        ) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        _require_header(source, header)
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
        name: _Column(list(code), np.concatenate(part))
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


def _parquet_columns(
    source: str, content: bytes, kind: Kind, exclude: Collection[str], only: str | None
) -> dict[str, _Column]:
    try:
        table = pyarrow.parquet.read_table(io.BytesIO(content))
    except (OSError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{source} is not a Parquet file: {reason}") from error
    _require_header(source, table.column_names)
    _require_rows(source, table.num_rows)
    return {
        name: _parquet_column(source, name, column, kind)
        if name not in exclude and only in (None, name)
        else _Column([], np.empty(0, dtype=np.int32))
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def _parquet_column(source: str, name: str, column: Any, kind: Kind) -> _Column:
    """The module's rule for typed columns; numbers of float columns keep all their digits."""
    dtype = column.type
    if pa.types.is_dictionary(dtype):
        column, dtype = column.cast(dtype.value_type), dtype.value_type
    if pa.types.is_null(dtype):
        return _Column([None], np.zeros(len(column), dtype=np.int32))
    text = pa.types.is_string(dtype) or pa.types.is_large_string(dtype)
    boolean = pa.types.is_boolean(dtype) and kind == "categorical"
    number = pa.types.is_integer(dtype) or (pa.types.is_floating(dtype) and kind == "gaussian")
    if not (text or boolean or number):
        wanted = "text, integers or booleans" if kind == "categorical" else "numbers"
        raise DataError(f"{source}: column {name!r} must hold {wanted}, its type is {dtype}")
    encoded = pa.concat_arrays(column.chunks).dictionary_encode(null_encoding="encode")
    texts = [None if value is None else str(value) for value in encoded.dictionary.to_pylist()]
    return _Column(texts, encoded.indices.to_numpy().astype(np.int32))


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


def _require_rows(source: str, n_rows: int) -> None:
    if n_rows < 1:
        raise DataError(f"{source} has a header but no row; at least one is needed")


def _require_column(source: str, columns: Mapping[str, _Column], name: str) -> None:
    if name not in columns:
        raise DataError(f"{source} has no column {name!r}")


def _require_complete(source: str, name: str, column: _Column, missing: set[str | None]) -> None:
    found = [text for text in column.texts if text in missing]
    if found:
        row = min(column.first_row(text) for text in found)
        value = column.texts[column.index[row - 1]]
        what = f"{value!r} stands for a missing value" if value else "the cell is empty"
        raise DataError(
            f"{source}: column {name!r}, row {row}: {what}; "
            "a table must be complete: fill such cells or leave the row or column out"
        )


def _categorical(columns: Mapping[str, _Column]) -> Dataset:
    schema = Schema.categorical(
        {name: [str(text) for text in column.texts] for name, column in columns.items()}
    )
    codes = []
    for name, states in zip(schema.names, schema.states, strict=True):
        code = {state: position for position, state in enumerate(states)}
        recode = np.array([code[str(text)] for text in columns[name].texts], dtype=np.int32)
        codes.append(recode[columns[name].index])
    return Dataset(schema, np.array(codes).T)


def _gaussian(source: str, columns: Mapping[str, _Column]) -> Dataset:
    schema = Schema.gaussian(columns)
    values = [_numbers(source, name, columns[name])[columns[name].index] for name in schema.names]
    return Dataset(schema, np.array(values).T)


def _numbers(source: str, name: str, column: _Column) -> NDArray[np.float64]:
    """The column's texts as finite numbers with a decimal point, blanks around them allowed."""
    numbers = np.array([_number(str(text)) for text in column.texts])
    bad = ~np.isfinite(numbers)
    if bad.any():
        row = int(np.argmax(bad[column.index]))
        text = column.texts[column.index[row]]
        raise DataError(
            f"{source}: column {name!r}, row {row + 1}: {text!r} must be a finite number"
        )
    return numbers


def _number(text: str) -> float:
    """The number, or NaN."""
    try:
        return float(text) if _NUMBER_CHARACTERS.fullmatch(text) else math.nan
    except ValueError:
        return math.nan


def _warn_of_constants(source: str, data: Dataset) -> None:
    constant = np.flatnonzero((data.table == data.table[0]).all(axis=0))
    for column in constant.tolist():
        value = data.values[0, column] if data.kind == "gaussian" else data.schema.states[column][0]
        warnings.warn(
            f"{source}: column {data.names[column]!r} is constant ({value!s}); it is kept",
            FedbnWarning,
            stacklevel=3,
        )


def _warn_of_numbers(source: str, data: Dataset) -> None:
    """Categories of which most rows have one of their own are likely numbers."""
    if data.kind != "categorical" or data.n_rows < FEWEST_ROWS:
        return
    seen = [np.unique(data.codes[:, column]).size for column in range(data.n)]
    most = int(np.argmax(seen))
    if seen[most] > OWN_STATES * data.n_rows:
        number = sum(count > OWN_STATES * data.n_rows for count in seen)
        others = f" ({number - 1} more like it)" if number > 1 else ""
        warnings.warn(
            f"{source}: column {data.names[most]!r} has {seen[most]} states in {data.n_rows} rows"
            f"{others}; columns of numbers are for gaussian-bic and bge",
            FedbnWarning,
            stacklevel=3,
        )


def _warn_of_separator(source: str, data: Dataset) -> None:
    if data.n == 1 and any(mark in data.names[0] for mark in ";\t|"):
        warnings.warn(
            f"{source} has a single column, {data.names[0]!r}; cells must be separated by commas",
            FedbnWarning,
            stacklevel=3,
        )


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object as a dict, refusing a key that occurs twice."""
    columns: dict[str, Any] = {}
    for name, value in pairs:
        if name in columns:
            raise SchemaError(f"column {name!r} occurs twice")
        columns[name] = value
    return columns
