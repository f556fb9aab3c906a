"""Tables and schemas, in and out.

`read_dataset` reads the columns of a file (`fedbn.data.columns`) and prepares them
(`fedbn.data.preparation`). Nothing is guessed: 'None', 'NA', 'True', '3' and '<5' are ordinary
states, and so is ' yes' beside 'yes'. Only an empty cell is missing, and any token that the caller
names. The caller says which kind the columns have: states, or floats. In every message, rows are
counted from 1 after the header.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from fedbn.bounded_file import json_value, read_bounded
from fedbn.data.columns import (
    CSV_SUFFIXES,
    PARQUET_SUFFIXES,
    TABLE_SUFFIXES,
    chosen_columns,
    read_columns,
    require_columns,
)
from fedbn.data.dataset import Dataset
from fedbn.data.doubts import twin_words
from fedbn.data.mapping import SiteMapping
from fedbn.data.preparation import Preparation, Prepared, prepare
from fedbn.data.schema import Kind, Schema, find_kind, suits
from fedbn.data.table_format import TableFormat
from fedbn.errors import ConfigError, DataError, SchemaError, TableWarning
from fedbn.whole_file import write_whole
from fedbn.wording import reason_of

_NEEDS_QUOTES = re.compile(r'[",\r\n]')


def read_dataset(
    path: str | Path,
    kind: Kind,
    how: Preparation | None = None,
    *,
    schema: Schema | None = None,
) -> Dataset:
    """The cases of one file.

    Parameters
    ----------
    path : a file whose name ends in one of TABLE_SUFFIXES.
    kind : "categorical" makes every column states, "gaussian" makes every column floats, "mixed"
        makes floats of those that `how` or `schema` says are numbers.
    how : which columns, what missing cells are, cut points; by default all columns, complete.
    schema : the agreed columns and states; without it, the states are those of the file. Its cuts
        are used, too.

    Returns
    -------
    The data set, in `schema` if it was given.

    Raises
    ------
    ConfigError : no kind has this name.
    DataError : the file cannot be read, is empty or ragged, repeats a column name, has a missing
        cell, or a cell that is no finite number where one must be. Names file, column, row, value.
    SchemaError : the file's columns or states are not those of `schema`, the kinds differ, or
        cuts are asked for that the schema does not have.

    Warns
    -----
    FedbnWarning : a state or number looks like a missing value, states look like one, dates are
        states, numbers lie in one interval of the cuts, many rows were dropped, a column is
        constant, or has a state of its own in most rows; it is kept.
    """
    return read_prepared(path, kind, how, schema=schema).dataset


def read_prepared(
    path: str | Path,
    kind: Kind,
    how: Preparation | None = None,
    *,
    schema: Schema | None = None,
    mapping: SiteMapping | None = None,
) -> Prepared:
    """As `read_dataset`, under a site's agreed names, and how many rows were dropped."""
    how, kind = how or Preparation(), find_kind(kind)
    if schema is not None and not suits(kind, schema.kind):
        raise SchemaError(f"the schema's columns are {schema.kind}, this run needs {kind} ones")
    how = replace(how, cuts={**how.cuts, **(schema.cuts if schema else {})})
    if kind == "mixed" and schema is not None:
        how = replace(how, numbers=schema.numbers)
    if kind == "mixed" and schema is None and not how.numbers:
        raise ConfigError(
            "a mixed score needs the names of the columns of numbers: --numbers age,bmi, or a "
            "schema in which they are null"
        )
    if how.cuts and kind == "gaussian":
        raise SchemaError("cuts are for scores of categories; this run needs gaussian columns")
    source = str(path)

    def choose(names: Sequence[str]) -> tuple[str, ...]:
        require_columns(source, names, how.cuts)
        return chosen_columns(source, names, how.columns, how.leave_out, how.leave_out_if_there)

    def are_numbers(name: str) -> bool:
        return how.are_numbers(name, kind) or name in how.cuts

    columns = read_columns(path, choose, are_numbers, how.form, ("", *how.missing))
    if how.refuses_missing(kind) and any(each.gone is not None for each in columns.values()):
        columns = read_columns(path, choose, lambda _: False, how.form)  # with the cells to show
    found = prepare(source, columns, kind, how)
    if mapping is not None:
        mapping.require_read(source, found.dataset.schema, how.missing)
        written = {name: column.texts for name, column in columns.items()}
        found = replace(found, dataset=mapping.apply(found.dataset, written))
    for words in twin_words(found.dataset):
        warnings.warn(f"{source}: {words}", TableWarning, stacklevel=3)
    if schema is None:
        return found
    return replace(found, dataset=found.dataset.with_schema(schema, source))


def table_stem(path: str | Path) -> str | None:
    """A table's name without its suffix; None if this is not the name of a table.

    >>> table_stem("data/North.CSV.gz"), table_stem("notes.txt")
    ('North', None)
    """
    name = Path(path).name
    found = [suffix for suffix in TABLE_SUFFIXES if name.lower().endswith(suffix)]
    return name[: -len(found[0])] if found else None


def column_values(
    path: str | Path, column: str, form: TableFormat | None = None
) -> tuple[str, ...]:
    """One column as text, a value per row: for partitions by site.

    Raises
    ------
    DataError : as for `read_dataset`, there is no such column, or a cell is empty.
    """
    source = str(path)

    def only(names: Sequence[str]) -> tuple[str, ...]:
        require_columns(source, names, [column])
        return (column,)

    found = read_columns(path, only, lambda _: False, form)[column]
    texts = [str(text) for text in found.texts]
    empty = [text for text in found.texts if text in ("", None)]
    if empty:
        row = min(found.first_row(text) for text in empty)
        raise DataError(
            f"{source}: column {column!r}, row {row}: the cell is empty; every row must name its "
            "site"
        )
    return tuple(texts[k] for k in found.index.tolist())


def read_schema(path: str | Path) -> Schema:
    """The schema of a JSON file `{column: [states]}`, with null for a float column.

    A column of numbers may be `{"cuts": [30, 60]}`, with `"missing": true` where missing cells are
    a state.

    Raises
    ------
    SchemaError : the file cannot be read, is not JSON, repeats a column, or is no schema.
    """
    try:
        text = read_bounded(path).decode("utf-8-sig")
        columns = json_value(text, object_pairs_hook=_distinct)
        return Schema.from_dict(columns)
    except json.JSONDecodeError as error:
        raise SchemaError(f"schema {path} is not JSON: {error}") from error
    except (OSError, ValueError) as error:  # SchemaError is a ValueError
        raise SchemaError(f"schema {path}: {reason_of(error)}") from error


def write_schema(schema: Schema, path: str | Path) -> None:
    """Write the schema as `read_schema` reads it; raises ResultsError when it cannot."""
    text = json.dumps(schema.to_dict(), ensure_ascii=False, indent=1)
    write_whole(path, (text + "\n").encode("utf-8"))


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
        write_whole(path, _parquet_bytes(dataset))
    elif name.endswith(CSV_SUFFIXES):
        content = csv_text(dataset).encode("utf-8")
        write_whole(path, gzip.compress(content, mtime=0) if name.endswith(".gz") else content)
    else:
        known = ", ".join((*CSV_SUFFIXES, *PARQUET_SUFFIXES))
        raise DataError(f"{path}: the name of a table to write must end in {known}")


def csv_text(dataset: Dataset) -> str:
    """The data set as CSV, a header first; cells are quoted only where they must be."""
    # The csv module would leave a lone carriage return without quotes.
    columns = [
        map(repr, cells) if states is None else map(_quote(states).__getitem__, cells)
        for states, cells in _encode(dataset)
    ]
    lines = chain([_quote(dataset.names)], zip(*columns, strict=True))
    return "".join(",".join(line) + "\n" for line in lines)


def _quote(texts: Sequence[str]) -> list[str]:
    return [
        '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text
        for text in texts
    ]


def _parquet_bytes(dataset: Dataset) -> bytes:
    import pyarrow as pa
    from pyarrow.parquet import write_table as write_table_as_parquet

    columns = [
        pa.array(cells) if states is None else pa.array([states[k] for k in cells])
        for states, cells in _encode(dataset)
    ]
    buffer = io.BytesIO()
    write_table_as_parquet(pa.table(columns, names=list(dataset.names)), buffer)
    return buffer.getvalue()


def _encode(dataset: Dataset) -> Iterator[tuple[tuple[str, ...] | None, list[Any]]]:
    """States and codes of every column; None and the numbers of one without states."""
    for place, variable in enumerate(dataset.schema.variables):
        yield variable.states, dataset.column(place).tolist()


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object as a dict, refusing a key that occurs twice."""
    columns: dict[str, Any] = {}
    for name, value in pairs:
        if name in columns:
            raise SchemaError(f"column {name!r} occurs twice")
        columns[name] = value
    return columns
