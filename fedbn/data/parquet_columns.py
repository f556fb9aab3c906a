"""The columns of Parquet files; what their types become is said in `fedbn.data.typed_columns`."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from fedbn.bounded_file import MAX_TABLE
from fedbn.data.column import Column, require_header, require_rows
from fedbn.data.typed_columns import typed_column
from fedbn.errors import DataError


def parquet_names(source: str, content: bytes) -> tuple[str, ...]:
    """The names in the file's order; raises DataError."""
    return tuple(_parquet(source, content).schema_arrow.names)


def parquet_columns(
    source: str, content: bytes, chosen: Callable[[Sequence[str]], Sequence[str]]
) -> dict[str, Column]:
    """Some columns; raises DataError as `fedbn.data.columns.read_columns` does."""
    file = _parquet(source, content)
    names = file.schema_arrow.names
    require_header(source, names)
    if "" in names:
        raise DataError(f"{source}: column {names.index('') + 1} has no name")
    require_rows(source, file.metadata.num_rows)
    wanted = list(chosen(names))
    if 4 * file.metadata.num_rows * len(wanted) > MAX_TABLE:
        raise DataError(f"{source}: {file.metadata.num_rows} rows are more than can be read")
    try:
        table = file.read(columns=wanted)
        return {name: typed_column(source, name, table[name]) for name in wanted}
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{source}: its columns cannot be read: {reason}") from error


def _parquet(source: str, content: bytes) -> Any:
    try:
        return pyarrow.parquet.ParquetFile(io.BytesIO(content))
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{source} is not a Parquet file: {reason}") from error
