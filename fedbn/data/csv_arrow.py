"""The columns of well-formed CSV files by pyarrow, whose quotes are looked at in what it finds.

The file is first cut at every separator and line end, whether quoted or not; if the quotes of all
pieces are simple (see `fedbn.data.csv_quotes`), the pieces are the cells. Otherwise the whole file
is looked at before pyarrow reads it with its quotes. Columns that are not wanted are read, too, for
their quotes and their encoding.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from fedbn.data.column import LARGEST_EXACT, Column, index_type
from fedbn.data.csv_quotes import Quoting, are_simply_quoted, quoting_of, unquote
from fedbn.data.table_format import TableFormat

__all__ = ["arrow_columns"]

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

    Parameters
    ----------
    stream : a file or a BytesIO, in UTF-8.
    names : of all columns.
    wanted : some of them; `floats` are those that are wanted as numbers.
    form : how the file is written.
    missing : texts of missing cells that columns of numbers may have.
    """
    start = stream.tell()
    reader = _Reader(names, form, missing)
    types = {name: _NUMBER if name in floats else _TEXT for name in wanted}
    types |= {name: _OTHER for name in names if name not in types}
    table = reader.read(_native(stream), types, None)
    columns = _columns(table, wanted, unquote) if _others_are_simple(table, types) else None
    if columns is None:
        stream.seek(start)
        columns = _columns(_quoted_table(stream, reader, types), wanted, str)
    return columns if columns and _are_full(columns) else None


# --- What pyarrow reads ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reader:
    """How pyarrow is to read a file; parameters as for `arrow_columns`."""

    names: list[str]
    form: TableFormat
    missing: Collection[str]

    def read(self, stream: Any, types: Types, quoting: Quoting | None) -> Any:
        """Some columns as pyarrow understands them; None where it does not.

        Without `quoting` quotes are ordinary characters.
        """
        try:
            table = pyarrow.csv.read_csv(
                stream,
                read_options=pyarrow.csv.ReadOptions(block_size=_BLOCK, column_names=self.names),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self.form.mark,
                    quote_char='"' if quoting else False,
                    ignore_empty_lines=False,
                    newlines_in_values=quoting == "spanning",
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types={name: kind for name, kind in types.items() if kind},
                    include_columns=list(types),
                    check_utf8=_OTHER in types.values(),  # `_texts` decodes those of _TEXT
                    null_values=[text for text in self.missing if quoting or '"' not in text],
                    strings_can_be_null=False,
                    decimal_point=self.form.decimal,
                ),
            )
        except pa.ArrowException:
            return None
        return table if table.num_rows > 0 and table.column_names == list(types) else None


def _native(stream: BinaryIO) -> Any:
    """The same from where it is; pyarrow reads its own kinds of files with less copying."""
    if isinstance(stream, io.BytesIO):
        return pa.BufferReader(stream.read())
    file = pa.OSFile(stream.name)
    file.seek(stream.tell())
    return file


def _quoted_table(stream: BinaryIO, reader: _Reader, types: Types) -> Any:
    """The table of a file whose pieces are not its cells, or that has other cells than numbers."""
    start = stream.tell()
    quoting = quoting_of(stream, reader.form.mark)
    if quoting == "wrong":
        return None

    def read(types: Types) -> Any:
        stream.seek(start)
        return reader.read(_native(stream), types, quoting)

    found = None if quoting == "none" else read(types)
    floats = [name for name, kind in types.items() if kind == _NUMBER]
    if found is None and floats:
        guessed = read(dict.fromkeys(floats))
        if guessed is None:
            return None
        texts = {each.name: _TEXT for each in guessed.schema if not _is_number(each.type)}
        found = read({**types, **texts})
        if found is None:
            found = read({**types, **dict.fromkeys(floats, _TEXT)})
    return found


def _is_number(guessed: Any) -> bool:
    return bool(pa.types.is_integer(guessed) or pa.types.is_floating(guessed))


# --- From its columns to ours; without to_numpy, which would import pandas ------------------------


def _others_are_simple(table: Any, types: Types) -> bool:
    """Whether there is a table and the pieces of all columns that are not wanted are simple."""
    others = [name for name, kind in types.items() if kind == _OTHER]
    return table is not None and all(
        are_simply_quoted(chunk) for name in others for chunk in table[name].chunks
    )


def _columns(
    table: Any, wanted: Collection[str], cell_of: Callable[[str], str | None]
) -> dict[str, Column] | None:
    """The wanted columns; None without a table, or where a piece is no cell."""
    found: dict[str, Column] = {}
    for name in wanted if table is not None else ():
        column = table[name]
        made = _numbers(column) if column.type == _NUMBER else _texts(column, cell_of)
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


def _values(chunk: Any) -> NDArray[np.float64]:
    return np.frombuffer(chunk.buffers()[1], np.float64)[chunk.offset :][: len(chunk)]


def _nulls(chunk: Any) -> NDArray[np.bool_]:
    if not chunk.null_count:
        return np.zeros(len(chunk), dtype=np.bool_)
    present = np.unpackbits(np.frombuffer(chunk.buffers()[0], np.uint8), bitorder="little")
    gone: NDArray[np.bool_] = present[chunk.offset :][: len(chunk)] == 0
    return gone


def _texts(column: Any, cell_of: Callable[[str], str | None]) -> Column | None:
    """The column as texts; None where a piece is no cell, or not UTF-8."""
    try:
        dictionaries = [chunk.dictionary.to_pylist() for chunk in column.chunks]
    except UnicodeDecodeError:
        return None
    cells = {piece: cell_of(piece) for piece in set().union(*dictionaries)}
    if None in cells.values():
        return None
    texts = sorted({str(cell) for cell in cells.values()})
    place = {text: code for code, text in enumerate(texts)}
    codes = {piece: place[str(cell)] for piece, cell in cells.items()}
    index = np.empty(len(column), dtype=index_type(len(texts)))
    first = 0
    for chunk, pieces in zip(column.chunks, dictionaries, strict=True):
        recode = np.array([codes[piece] for piece in pieces], dtype=index.dtype)
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


def _blanks(column: Column) -> NDArray[np.bool_]:
    """Cells that may be empty."""
    if column.gone is not None:
        return column.gone
    empty: NDArray[np.bool_] = column.index == column.texts.index("")
    return empty
