"""The columns of well-formed CSV files by pyarrow, while the quotes are looked at beside it.

pyarrow's cells are taken where all quotes are right (see `fedbn.data.csv_quotes`). Columns that are
not wanted are read, too, for their encoding.
"""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv

from fedbn.arrays import Bools, Floats
from fedbn.data.column import LARGEST_EXACT, Column, index_type
from fedbn.data.csv_quotes import look_at_quotes
from fedbn.data.table_format import TableFormat

_BLOCK = 1 << 20
"""Bytes that pyarrow takes at one time."""

_NUMBER = pa.float64()
_TEXT = pa.dictionary(pa.int32(), pa.string())
_OTHER = pa.string()
"""The type of columns that are not wanted, but looked at."""

Types = Mapping[str, Any]
"""Column -> _NUMBER, _TEXT, _OTHER, or None for what pyarrow guesses."""


def arrow_columns(
    stream: BinaryIO,
    names: list[str],
    wanted: list[str],
    floats: Collection[str],
    form: TableFormat,
    missing: Collection[str] = (),
) -> dict[str, Column] | None:
    """The wanted columns, from where the stream is; None where a strict reader has to look.

    That is also so where the file changes meanwhile.

    Parameters
    ----------
    stream : a file or a BytesIO, in UTF-8.
    names : of all columns.
    wanted : some of them; `floats` are those that are wanted as numbers.
    form : how the file is written.
    missing : texts of missing cells that columns of numbers may have.
    """
    start = stream.tell()
    reader = _Reader(stream, start, names, form, missing)
    types = {name: _NUMBER if name in floats else _TEXT for name in wanted}
    types |= {name: _OTHER for name in names if name not in types}
    before = _stamp(stream)
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look_at_quotes, stream, form.mark)
        table = reader.read(types)
        quoting = looking.result()
    if quoting == "wrong":
        return None
    if table is None or quoting == "spanning":
        table = _table_by_guess(reader, types, spanning=quoting == "spanning")
    columns = _columns(table, wanted)
    if not columns or not _are_full(columns) or _stamp(stream) != before:
        return None
    return columns


def _stamp(stream: BinaryIO) -> tuple[int, ...]:
    """What changes when the file does: pyarrow may read it when its quotes were already seen."""
    if isinstance(stream, io.BytesIO):
        return ()
    try:
        now = os.stat(stream.name)
    except OSError:
        return (-1,)
    return now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns


# --- What pyarrow reads ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reader:
    """How pyarrow is to read a file; parameters as for `arrow_columns`."""

    stream: BinaryIO
    start: int
    names: list[str]
    form: TableFormat
    missing: Collection[str]

    def content(self) -> Any:
        """The file from its first row, for pyarrow alone: others may move `stream`."""
        if isinstance(self.stream, io.BytesIO):
            return pa.BufferReader(memoryview(self.stream.getvalue())[self.start :])
        file = pa.OSFile(self.stream.name)
        file.seek(self.start)
        return file

    def read(self, types: Types, *, spanning: bool = False) -> Any:
        """Some columns as pyarrow understands them; None where it does not.

        Without `spanning` no line end may be inside quotes: it could be taken for that of a row.
        """
        try:
            table = pyarrow.csv.read_csv(
                self.content(),
                read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK, column_names=self.names),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self.form.mark, ignore_empty_lines=False, newlines_in_values=spanning
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types={name: kind for name, kind in types.items() if kind},
                    include_columns=list(types),
                    check_utf8=_OTHER in types.values(),  # `_texts` decodes those of _TEXT
                    null_values=list(self.missing),
                    strings_can_be_null=False,
                    decimal_point=self.form.decimal,
                ),
            )
        except (pa.ArrowException, OSError):  # a file that is gone, too
            return None
        return table if table.num_rows > 0 and table.column_names == list(types) else None


def _table_by_guess(reader: _Reader, types: Types, *, spanning: bool) -> Any:
    """The table of a file in which cells may span lines, or some are no numbers."""
    found = reader.read(types, spanning=True) if spanning else None
    floats = [name for name, kind in types.items() if kind == _NUMBER]
    if found is None and floats:
        guessed = reader.read(dict.fromkeys(floats), spanning=spanning)
        if guessed is None:
            return None
        texts = {each.name: _TEXT for each in guessed.schema if not _is_number(each.type)}
        found = reader.read({**types, **texts}, spanning=spanning)
        if found is None:
            found = reader.read({**types, **dict.fromkeys(floats, _TEXT)}, spanning=spanning)
    return found


def _is_number(guessed: Any) -> bool:
    return bool(pa.types.is_integer(guessed) or pa.types.is_floating(guessed))


# --- From its columns to ours; without to_numpy, which would import pandas ------------------------


def _columns(table: Any, wanted: Collection[str]) -> dict[str, Column] | None:
    """The wanted columns; None without a table, or where a cell is not UTF-8."""
    found: dict[str, Column] = {}
    for name in wanted if table is not None else ():
        column = table[name]
        made = _numbers(column) if column.type == _NUMBER else _texts(column)
        if made is None:
            return None
        found[name] = made
    return found or None


def _numbers(column: Any) -> Column:
    """The column as numbers, NaN where a cell is missing."""
    values = np.concatenate([_values(chunk) for chunk in column.chunks])
    index = np.zeros(len(values), dtype=np.int32)
    if not column.null_count:
        return Column((), index, values)
    gone = np.concatenate([_nulls(chunk) for chunk in column.chunks])
    values[gone] = np.nan
    return Column((), index, values, gone=gone)


def _values(chunk: Any) -> Floats:
    return np.frombuffer(chunk.buffers()[1], np.float64)[chunk.offset :][: len(chunk)]


def _nulls(chunk: Any) -> Bools:
    if not chunk.null_count:
        return np.zeros(len(chunk), dtype=np.bool_)
    present = np.unpackbits(np.frombuffer(chunk.buffers()[0], np.uint8), bitorder="little")
    gone: Bools = present[chunk.offset :][: len(chunk)] == 0
    return gone


def _texts(column: Any) -> Column | None:
    """The column as texts; None where one is not UTF-8."""
    try:
        dictionaries = [chunk.dictionary.to_pylist() for chunk in column.chunks]
    except UnicodeDecodeError:
        return None
    texts = sorted(set().union(*dictionaries))
    place = {text: code for code, text in enumerate(texts)}
    index = np.empty(len(column), dtype=index_type(len(texts)))
    first = 0
    for chunk, pieces in zip(column.chunks, dictionaries, strict=True):
        recode = np.array([place[piece] for piece in pieces], dtype=index.dtype)
        found: Any = np.from_dlpack(chunk.indices)
        np.take(recode, found, out=index[first : first + len(found)], mode="clip")
        first += len(found)
    return Column(texts, index)


def _are_full(columns: dict[str, Column]) -> bool:
    """Whether no row is blank and all numbers are exact."""
    for column in columns.values():
        if column.values is not None:
            there = column.values if column.gone is None else column.values[~column.gone]
            if not (np.abs(there) < LARGEST_EXACT).all():
                return False
    if all(column.gone is not None or "" in column.texts for column in columns.values()):
        blank = [_blanks(column) for column in columns.values()]
        return not np.logical_and.reduce(blank).any()
    return True


def _blanks(column: Column) -> Bools:
    """Cells that may be empty."""
    if column.gone is not None:
        return column.gone
    empty: Bools = column.index == column.texts.index("")
    return empty
