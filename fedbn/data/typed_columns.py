"""Columns of files that have types: Parquet, Feather, Excel, SPSS, Stata, SAS.

Text stays as it is, integers become their decimal digits, booleans 'True' and 'False', and
dictionary columns are decoded first. Floats are for columns that are read as numbers; dates,
decimals and nested types have no one obvious text and are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from fedbn.data.column import Column


def typed_column(source: str, name: str, column: Any) -> Column:
    """The module's rule for a pyarrow.ChunkedArray; numbers keep all their digits."""
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


def with_whole_numbers(column: Any) -> Any:
    """The column, its floats as integers where all of them are whole.

    Excel, SPSS, Stata and SAS have no integers: 1 is written as 1.0.
    """
    if not pa.types.is_floating(column.type):
        return column
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column


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
