"""The columns of Parquet files, which have types.

Text stays as it is, integers become their decimal digits, booleans 'True' and 'False', and
dictionary columns are decoded first. Floats are for columns that are read as numbers; dates,
decimals and nested types have no one obvious text and are refused.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from fedbn.bounded_file import MAX_TABLE
from fedbn.data.column import Column, require_header, require_rows
from fedbn.errors import DataError

__all__ = ["parquet_columns", "parquet_names"]


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
        return {name: _parquet_column(source, name, table[name]) for name in wanted}
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{source}: its columns cannot be read: {reason}") from error


def _parquet(source: str, content: bytes) -> Any:
    try:
        return pyarrow.parquet.ParquetFile(io.BytesIO(content))
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
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
