"""One site's table, made from a data frame, from columns or from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbn.data.column import Column
from fedbn.data.dataset import Dataset
from fedbn.data.preparation import Preparation, prepare
from fedbn.data.schema import Schema, find_kind
from fedbn.data.tables import read_dataset
from fedbn.errors import DataError
from fedbn.wording import count_of

if TYPE_CHECKING:
    import pandas as pd

SOURCE = "the table"


@dataclass(frozen=True, repr=False)
class Table:
    """A complete table whose columns are states, or floats, or of both kinds.

    Attributes
    ----------
    dataset : the rows as codes int32 [rows, n] or values float64 [rows, n], columns sorted by name.
        A data frame or columns by name may be given, too, as for `from_pandas` and `from_columns`.
    """

    dataset: Dataset

    def __post_init__(self) -> None:
        if isinstance(self.dataset, Dataset):
            return
        given: Any = self.dataset
        if not hasattr(given, "columns") and not isinstance(given, Mapping):
            raise DataError(f"a Table is made of a data frame or of columns, not {show(given)}")
        make = Table.from_columns if isinstance(given, Mapping) else Table.from_pandas
        object.__setattr__(self, "dataset", make(given).dataset)

    def _repr_html_(self) -> str:
        shown: str = self.to_pandas().to_html(max_rows=10, border=0)
        return f"<p><code>{self!r}</code></p>{shown}"

    @classmethod
    def from_pandas(
        cls,
        frame: pd.DataFrame,
        kind: str = "categorical",
        how: Preparation | None = None,
        *,
        schema: Schema | None = None,
    ) -> Table:
        """The table of a pandas data frame; its index takes no part.

        Parameters
        ----------
        frame : at least one row; column names are text.
        kind : "categorical": a cell is the state that its text says, so 1, True and "yes" become
            "1", "True" and "yes". "gaussian": a cell is a float. "mixed": the columns of
            `how.numbers` are floats, all others states. NaN, NaT, None and pandas.NA are missing
            cells; whole floats beside them are integers, as pandas makes floats of those.
        how : which columns, what missing cells are, cut points; by default all columns, complete.
        schema : the agreed columns and states; without it, those of the frame.

        Raises
        ------
        ConfigError : no kind has this name.
        DataError : a cell is missing, a column of floats has no cut points, or a name is no text.
        SchemaError : columns or states are not those of `schema`.

        Examples
        --------
        >>> import pandas as pd
        >>> Table.from_pandas(pd.DataFrame({"smoker": ["no", "yes"], "age": [1, 2]}))
        Table(2 rows, 2 categorical columns)
        """
        if not hasattr(frame, "columns"):
            raise DataError(f"Table.from_pandas needs a data frame, not {show(frame)}")
        return cls.from_columns(
            {name: frame[name] for name in frame.columns}, kind, how, schema=schema
        )

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, Sequence[Any]],
        kind: str = "categorical",
        how: Preparation | None = None,
        *,
        schema: Schema | None = None,
    ) -> Table:
        """The table of columns by name; parameters and errors as for `from_pandas`."""
        wanted, how = find_kind(kind), how or Preparation()
        _require_columns(columns)
        kept = [name for name in columns if not how.columns or name in how.columns]
        found = {
            name: _column(name, columns[name], how.are_numbers(name, wanted) or name in how.cuts)
            for name in kept
            if name not in how.leave_out
        }
        dataset = prepare(SOURCE, found, wanted, how).dataset
        return cls(dataset if schema is None else dataset.with_schema(schema, SOURCE))

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a data frame: states as text, or floats; columns sorted by name."""
        import pandas as pd

        data = self.dataset
        return pd.DataFrame(
            {
                each.name: cells if each.states is None else np.array(each.states)[cells]
                for each, cells in zip(
                    data.schema.variables, map(data.column, range(data.n)), strict=True
                )
            }
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, sorted as text."""
        return self.dataset.names

    @property
    def schema(self) -> Schema:
        """Columns and states."""
        return self.dataset.schema

    def __len__(self) -> int:
        return self.dataset.n_rows

    def __repr__(self) -> str:
        return (
            f"Table({count_of(len(self), 'row')}, "
            f"{count_of(self.dataset.n, f'{self.dataset.kind} column')})"
        )


def read_table(
    path: str | Path,
    kind: str = "categorical",
    how: Preparation | None = None,
    *,
    schema: Schema | None = None,
) -> Table:
    """The table of a file; see `fedbn.data.tables.read_dataset`.

    Raises
    ------
    ConfigError : no kind has this name.
    DataError, SchemaError : the file is not as it must be; the message names file, column and row.
    """
    return Table(read_dataset(path, find_kind(kind), how, schema=schema))


def dataset_of(table: object) -> Dataset:
    """The data set of a Table, or the data set itself; raises DataError for anything else."""
    if isinstance(table, Table):
        return table.dataset
    if isinstance(table, Dataset):
        return table
    raise DataError(
        f"a table must be a fedbn.Table, not {show(table)}: make one with "
        "fedbn.Table.from_pandas or fedbn.read_table"
    )


def _require_columns(columns: Mapping[str, Sequence[Any]]) -> None:
    for name in columns:
        if not isinstance(name, str):
            raise DataError(f"a column's name must be text, not {name!r}")
    lengths = {name: len(column) for name, column in columns.items()}
    if not lengths or not max(lengths.values()):
        raise DataError("a table must have at least one column and one row")
    first = next(iter(lengths))
    for name, length in lengths.items():
        if length != lengths[first]:
            raise DataError(
                f"all columns must have as many cells: {first!r} has {lengths[first]}, "
                f"{name!r} has {length}"
            )


def _column(name: str, cells: Sequence[Any], as_numbers: bool) -> Column:
    """Cells as a file's column: floats where they are wanted and complete, else texts."""
    listed = [_plain(cell) for cell in (cells.tolist() if hasattr(cells, "tolist") else cells)]
    present = [cell for cell in listed if cell is not None]
    if as_numbers and present and all(type(cell) in (int, float) for cell in present):
        values = np.array([np.nan if cell is None else cell for cell in listed], dtype=np.float64)
        if np.isfinite(values).all():
            return Column((), np.zeros(len(values), dtype=np.int32), values)
    if not as_numbers and present and len(present) < len(listed) and _are_whole(present):
        # pandas makes floats of integers where cells are missing
        listed = [None if cell is None else int(cell) for cell in listed]
    texts: dict[str | None, int] = {}
    index = [texts.setdefault(_text(name, cell, as_numbers), len(texts)) for cell in listed]
    return Column(tuple(texts), np.array(index, dtype=np.int32))


def _plain(cell: Any) -> Any:
    """Python's own value of a cell; None where it is missing (NaN, NaT and pandas.NA, too)."""
    plain = cell.item() if isinstance(cell, np.generic) else cell
    missing = not isinstance(plain, str) and str(plain) in ("None", "nan", "NaT", "<NA>")
    return None if missing else plain


def _are_whole(cells: Sequence[Any]) -> bool:
    return all(type(cell) is float and cell.is_integer() for cell in cells)


def _text(name: str, cell: Any, as_number: bool) -> str | None:
    """The cell as a file would hold it; None where it is missing."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool | int):
        return str(cell)
    if isinstance(cell, float) and as_number:
        return repr(cell)
    if isinstance(cell, float):
        raise DataError(
            f"column {name!r} holds floats like {cell!r}, which are no states: give the kind "
            "'gaussian', cut points, or text"
        )
    if isinstance(cell, date | timedelta):
        raise DataError(
            f"column {name!r} holds dates or times like {str(cell)!r}, which are neither states "
            f"nor numbers: make one of them, such as a year, or leave it out (leave_out)"
        )
    raise DataError(f"column {name!r} must hold text or numbers, not {show(cell)}")


def show(value: object) -> str:
    """What was passed, shortly: its type, and the value where that fits into a line."""
    text = repr(value)
    return f"{type(value).__name__} {text}" if len(text) <= 60 else f"a {type(value).__name__}"
