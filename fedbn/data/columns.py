"""The columns of table files, with errors that say which cell is wrong.

Nothing is guessed. A CSV cell is the text that is there (`fedbn.data.csv_columns`); columns of
Parquet files and of other programs' have types (`fedbn.data.parquet_columns`,
`fedbn.data.program_files`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from fedbn.bounded_file import MAX_TABLE, read_bounded
from fedbn.data.column import Column
from fedbn.data.csv_columns import csv_columns, csv_names
from fedbn.data.table_format import TableFormat
from fedbn.errors import DataError, did_you_mean, system_errors_as

CSV_SUFFIXES = (".csv", ".csv.gz")
PARQUET_SUFFIXES = (".parquet",)
PROGRAM_SUFFIXES = (".feather", ".xlsx", ".sav", ".dta", ".sas7bdat", ".xpt")
"""Of files that other programs write (`fedbn.data.program_files`)."""

TABLE_SUFFIXES = (*CSV_SUFFIXES, *PARQUET_SUFFIXES, *PROGRAM_SUFFIXES)
"""How the name of a table ends, in letters of either case."""


def column_names(path: str | Path, form: TableFormat | None = None) -> tuple[str, ...]:
    """The names in the file's order; raises DataError as `read_columns` does."""
    if _is_csv(path):
        return csv_names(path, form or TableFormat())
    if _is_of_a_program(path):
        from fedbn.data.program_files import program_names

        return program_names(path, form or TableFormat())
    from fedbn.data.parquet_columns import parquet_names

    return parquet_names(str(path), _content(path))


def read_columns(
    path: str | Path,
    chosen: Callable[[Sequence[str]], Sequence[str]],
    numbers: Callable[[str], bool],
    form: TableFormat | None = None,
    missing: Collection[str] = (),
) -> dict[str, Column]:
    """Some columns of a file with distinct names and at least one row.

    Parameters
    ----------
    path : a file whose name ends in one of TABLE_SUFFIXES.
    chosen : the file's names -> those to be read.
    numbers : whether the column of this name is wanted as numbers, which is faster for CSV.
    form : how a CSV file is written, or which sheet of an Excel file is read.
    missing : texts that a column of numbers may have in CSV, too, where they are missing cells.

    Raises
    ------
    DataError : the file cannot be read, or is not as above; names file, line or column.
    """
    if _is_csv(path):
        return csv_columns(path, chosen, numbers, form or TableFormat(), missing)
    if _is_of_a_program(path):
        from fedbn.data.program_files import program_columns

        return program_columns(path, chosen, form or TableFormat())
    from fedbn.data.parquet_columns import parquet_columns

    return parquet_columns(str(path), _content(path), chosen)


def _is_csv(path: str | Path) -> bool:
    name = str(path).lower()
    if name.endswith(".xls"):
        raise DataError(f"{path}: Excel's old form cannot be read: save it as .xlsx")
    if not name.endswith(TABLE_SUFFIXES):
        raise DataError(f"{path}: a table's name must end in {', '.join(TABLE_SUFFIXES)}")
    return name.endswith(CSV_SUFFIXES)


def _is_of_a_program(path: str | Path) -> bool:
    return str(path).lower().endswith(PROGRAM_SUFFIXES)


def _content(path: str | Path) -> bytes:
    with system_errors_as(DataError, f"{path} cannot be read"):
        return read_bounded(path, MAX_TABLE)


def require_columns(source: str, names: Collection[str], wanted: Iterable[str]) -> None:
    """Raise DataError unless the file has all of these columns."""
    for name in wanted:
        if name not in names:
            raise DataError(f"{source} has no column {name!r}{did_you_mean(name, names)}")


def require_some_has(
    names: Collection[str], wanted: Iterable[str], what: str = "is left out"
) -> None:
    """Raise DataError where a column that a run leaves out, or cuts, is in none of its tables."""
    for name in wanted:
        if name not in names:
            raise DataError(
                f"no table has the column {name!r} that {what}{did_you_mean(name, names)}"
            )


def chosen_columns(
    source: str,
    names: Sequence[str],
    columns: Collection[str],
    leave_out: Collection[str],
    if_there: Collection[str] = (),
) -> tuple[str, ...]:
    """The names to be read, in the file's order; raises DataError for unknown ones or none.

    Those of `if_there` are left out, too, and need not be in the file.
    """
    require_columns(source, names, [*columns, *leave_out])
    gone = {*leave_out, *if_there}
    chosen = tuple(name for name in names if (not columns or name in columns) and name not in gone)
    if not chosen:
        raise DataError(f"{source}: a data set needs at least one column that is not left out")
    return chosen
