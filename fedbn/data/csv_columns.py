"""The columns of CSV files as text or numbers.

Python's csv module is strict and knows the line, but is slow. Large files are read by pyarrow
(`fedbn.data.csv_arrow`); only what it refuses, or takes more kindly than the standard (a quote in
the wrong place, blank lines), is read again. Small files are read before pyarrow would be loaded,
which would cost a process 28 MB.
"""

from __future__ import annotations

import codecs
import csv
import io
import zlib
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from fedbn.arrays import Codes
from fedbn.bounded_file import MAX_TABLE, read_bounded
from fedbn.data.column import Column, Header, require_rows
from fedbn.data.table_format import TableFormat
from fedbn.errors import DataError
from fedbn.wording import count_of

_SMALL = 2 << 20
"""Bytes of a file that is read without pyarrow."""

_CHUNK = 256
"""Rows that the strict reader holds as text at one time."""

_OTHERS = {
    b"PK\x03\x04": "a zip archive, as Excel's files are: name it .xlsx, or unpack it",
    b"\x1f\x8b": "packed by gzip: name it .csv.gz",
    b"PAR1": "a Parquet file: name it .parquet",
    b"$FL2": "a file of SPSS: name it .sav",
    b"\xd0\xcf\x11\xe0": "an old Excel file: save it as .xlsx",
}
"""How files of other forms begin, and what to do with one that is named .csv."""

_BOM = codecs.BOM_UTF8
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def csv_names(path: str | Path, form: TableFormat) -> tuple[str, ...]:
    """The names in the file's order; raises DataError."""
    source = str(path)
    with _open(path, form) as stream, closing(_records(source, stream, form)) as records:
        return tuple(_header(source, records, form).names)


def csv_columns(
    path: str | Path,
    chosen: Callable[[Sequence[str]], Sequence[str]],
    numbers: Callable[[str], bool],
    form: TableFormat,
    missing: Collection[str] = (),
) -> dict[str, Column]:
    """Some columns; parameters and errors as for `fedbn.data.columns.read_columns`."""
    source = str(path)
    with _open(path, form) as stream:
        start = stream.tell()
        with closing(_records(source, stream, form)) as records:
            header = _header(source, records, form)
        names, found = header.names, None
        wanted = list(chosen(names))
        header.require_named(source, wanted)
        stream.seek(start)
        is_line = form.header == "no" or _is_one_line(stream.readline(), names)
        if is_line and _bytes_of(stream) > _SMALL and not _has_mark(stream):
            from fedbn.data.csv_arrow import arrow_columns  # pyarrow, for files of tables only

            floats = [name for name in wanted if numbers(name)]
            found = arrow_columns(stream, names, wanted, floats, form, missing)
        if found is None:
            stream.seek(start)
            with closing(_records(source, stream, form)) as records:
                everything = _strict_columns(source, names, records, form)
            found = {name: everything[name] for name in wanted}
    return found


# --- Bytes and records --------------------------------------------------------------------------


def _open(path: str | Path, form: TableFormat) -> BinaryIO:
    """The file from where its header begins, in UTF-8 if its encoding is what `form` says."""
    try:
        stream: BinaryIO = open(path, "rb")  # noqa: SIM115 (the caller closes it)
        if str(path).lower().endswith(".gz"):
            with stream:
                stream = io.BytesIO(read_bounded(path, MAX_TABLE, gzipped=True))
        _require_width(str(path), stream, form)
        if form.encoding != "utf-8":
            with stream:
                stream = io.BytesIO(stream.read().decode(form.encoding).encode("utf-8"))
        _skip_mark(stream)
        for _ in range(form.skip_lines):
            stream.readline()
            _skip_mark(stream)
        return stream
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not in {form.encoding}: {error}") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path} cannot be read: {reason}") from error


def _has_mark(stream: BinaryIO) -> bool:
    """Whether a byte order mark is next; the stream stays where it is. Where rows begin it is a
    part of the first cell, which pyarrow would leave out."""
    place = stream.tell()
    found = stream.read(len(_BOM)) == _BOM
    stream.seek(place)
    return found


def _skip_mark(stream: BinaryIO) -> None:
    if _has_mark(stream):
        stream.seek(len(_BOM), io.SEEK_CUR)


def _require_width(source: str, stream: BinaryIO, form: TableFormat) -> None:
    """Refuse UTF-16 that is read as another encoding, and the reverse: both could be read."""
    first = stream.read(256)
    stream.seek(0)
    marked = first.startswith(_WIDE_BOMS)
    words = ""
    if form.encoding == "utf-16":
        words = "" if marked else "has no byte order mark of UTF-16: convert it to UTF-8"
    elif marked:
        words = "is UTF-16: use --encoding utf-16"
    elif first.count(0) > len(first) // 4:
        words = "has many NUL bytes, as UTF-16 without a byte order mark: convert it to UTF-8"
    kinds = [kind for mark, kind in _OTHERS.items() if first.startswith(mark)]
    if kinds:
        words = f"is {kinds[0]}"
    if words:
        stream.close()
        raise DataError(f"{source} {words}")


def _records(source: str, stream: BinaryIO, form: TableFormat) -> Generator[list[str], None, None]:
    """The records from where the stream is, strictly; raises DataError with the line."""
    text = io.TextIOWrapper(cast(Any, stream), encoding="utf-8", newline="")
    reader = csv.reader(text, strict=True, delimiter=form.mark)
    try:
        yield from reader
    except csv.Error as error:
        line = reader.line_num + form.skip_lines
        raise DataError(f"{source}, line {line}: not CSV: {error}") from error
    except UnicodeDecodeError:
        raise _not_utf8(source, stream) from None
    finally:
        text.detach()


def _not_utf8(source: str, stream: BinaryIO) -> DataError:
    stream.seek(0)
    content = stream.read()
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return DataError(
            f"{source}: line {line} must be UTF-8, found byte 0x{content[error.start]:02x}; "
            "text of another program may need --encoding latin-1; a file that is no text is no CSV"
        )
    return DataError(f"{source}: must be UTF-8")


def _header(source: str, records: Iterator[list[str]], form: TableFormat) -> Header:
    first = next(records, [])
    if len(first) == 1:
        _require_separator(source, first[0], "".join(next(records, [])), form.mark)
    return Header.of(source, first, form.header == "yes")


def _bytes_of(stream: BinaryIO) -> int:
    """How many the stream has in all; it stays where it is."""
    place = stream.tell()
    size = stream.seek(0, io.SEEK_END)
    stream.seek(place)
    return size


def _is_one_line(line: bytes, names: Sequence[str]) -> bool:
    """Whether the header is this line and no more, and ends as most files' lines do."""
    return b"\r" not in line.rstrip(b"\r\n") and not any("\n" in name for name in names)


def _require_separator(source: str, name: str, first: str, mark: str) -> None:
    """Refuse a single column whose name and first cell have the same number of other marks."""
    for word, other in (("';'", ";"), ("tab", "\t"), ("'|'", "|"), ("','", ","), ("space", " ")):
        if other != mark and 0 < name.count(other) == first.count(other):
            raise DataError(
                f"{source} has a single column, {name!r}: its cells seem to be separated by "
                f"another mark, use --separator {word}, or separator in the site's file"
            )


# --- By Python's csv module -----------------------------------------------------------------------


def _strict_columns(
    source: str, names: list[str], records: Iterator[list[str]], form: TableFormat
) -> dict[str, Column]:
    if form.header == "yes":
        next(records)
    seen: list[dict[str, int]] = [{} for _ in names]
    parts: list[list[Codes]] = [[] for _ in names]
    rows = _full_rows(source, records, len(names))
    while chunk := list(islice(rows, _CHUNK)):
        for position, cells in enumerate(zip(*chunk, strict=True)):
            code = seen[position]
            index = [code.setdefault(cell, len(code)) for cell in cells]
            parts[position].append(np.array(index, dtype=np.int32))
    require_rows(source, sum(len(part) for part in parts[0]))
    return {
        name: Column(list(code), np.concatenate(part))
        for name, code, part in zip(names, seen, parts, strict=True)
    }


def _full_rows(source: str, records: Iterable[list[str]], width: int) -> Iterator[list[str]]:
    """The rows, each with `width` cells; blank lines are ignored at the end only."""
    blank = 0
    for number, row in enumerate(records, start=1):
        if not row and width > 1:
            blank = blank or number
            continue
        if blank:
            raise DataError(
                f"{source}: row {blank} is blank, the table has {count_of(width, 'column')}{_CURE}"
            )
        if len(row or [""]) != width:
            raise DataError(
                f"{source}: row {number} has {count_of(len(row), 'cell')}, the table has "
                f"{count_of(width, 'column')}{_CURE}"
            )
        yield row or [""]  # csv shows a line without any character as no cell at all


_CURE = (
    "; if the first lines are not of the table, use --skip-lines 1, and --header no if no line "
    "names the columns"
)
