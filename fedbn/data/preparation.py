"""From the columns of a file to a data set: which columns, missing cells, cut points.

Nothing is dropped, filled or cut unless the caller says so. Where something looks wrong (an empty
cell, 'NA' as a state, a state of its own in most rows) the message names the option that says what
is meant.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import lt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Array, Bools, Codes, Floats
from fedbn.data.column import LARGEST_EXACT, Column, mask
from fedbn.data.cuts import Cuts, checked_cuts, interval_codes, number_text
from fedbn.data.dataset import Dataset
from fedbn.data.doubts import date_words, missing_codes, record_numbers
from fedbn.data.scales import one_interval_words
from fedbn.data.schema import MISSING_CELLS, MISSING_STATE, Kind, Schema, Variable
from fedbn.data.table_format import TableFormat
from fedbn.errors import ConfigError, DataError, TableWarning
from fedbn.wording import count_of

NA_LIKE = frozenset(
    ["na", "n/a", "#n/a", "nan", "null", "none", "nil", "?", "-", "--", ".", "unknown", "missing"]
)
"""Texts, in lower case and without outer blanks, that often stand for a missing value."""

_LONGEST_NA = max(map(len, NA_LIKE))

FEWEST_ROWS = 20  # to judge a column by
OWN_STATES = 0.5  # of the rows: with more states than that, a column is hardly a category
MANY_DROPPED = 0.05  # of the rows

_NUMBER_CHARACTERS = re.compile(r"[0-9eE+., \t-]*")
"""`float` would also take '1_000', 'nan', 'infinity' and the digits of other scripts."""

_DIGITS = re.compile(r"[+-]?[0-9]+")


@dataclass(frozen=True)
class Preparation:
    """How a table is prepared; by default not at all.

    Parameters
    ----------
    columns : the columns to read; empty for all.
    leave_out : columns that take no part.
    leave_out_if_there : more of them, which a table may lack: what a run says of all its sites.
    missing : tokens, besides the empty cell, that stand for a missing value.
    missing_cells : "refuse"; "state": a missing cell is the state MISSING_STATE; "drop-rows": its
        row is left out, which is right where cells are missing completely at random; "impute": the
        data set says which they are, and they are filled while structures are learned.
    cuts : column -> cut points; such a column holds numbers, its states are intervals.
    numbers : of a mixed table, the columns whose cells are numbers and stay so.
    form : how a CSV file is written, or which sheet of an Excel file is read.
    factors : column -> what its numbers are multiplied by, where a site measures in its own unit.

    Raises
    ------
    ConfigError : `missing_cells` is none of these words, a column is both wanted and left out, or a
        factor is 0 or not finite.
    SchemaError : cuts do not increase.
    """

    columns: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    missing_cells: str = "refuse"
    cuts: Mapping[str, Cuts] = field(default_factory=dict)
    form: TableFormat = TableFormat()
    factors: Mapping[str, float] = field(default_factory=dict)
    leave_out_if_there: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.missing_cells not in MISSING_CELLS:
            raise ConfigError(
                f"missing-cells must be one of {', '.join(MISSING_CELLS)}, "
                f"not {self.missing_cells!r}"
            )
        both = sorted(set(self.columns) & set(self.leave_out))
        if both:
            raise ConfigError(f"column {both[0]!r} cannot be both chosen and left out")
        for name, factor in self.factors.items():
            if not (math.isfinite(factor) and factor):
                raise ConfigError(f"the factor of column {name!r} must not be {factor!r}")
        both = sorted(set(self.numbers) & set(self.cuts))
        if both:
            raise ConfigError(f"column {both[0]!r} cannot be both cut and a number")
        cuts = {name: checked_cuts(name, found) for name, found in self.cuts.items()}
        object.__setattr__(self, "cuts", cuts)

    def refuses_missing(self, kind: Kind) -> bool:
        """Whether a table with a missing cell is refused; states are of categories only."""
        return self.missing_cells == "refuse" or (self.missing_cells, kind) == ("state", "gaussian")

    def are_numbers(self, name: str, kind: Kind) -> bool:
        """Whether a column of a table of this kind is not made states or intervals."""
        return kind == "gaussian" or (kind == "mixed" and name in self.numbers)

    def rename(self, own: Mapping[str, str]) -> Preparation:
        """The same for a table whose columns have other names: agreed name -> own name."""

        def names(agreed: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(own.get(name, name) for name in agreed)

        cuts = {own.get(name, name): found for name, found in self.cuts.items()}
        return replace(
            self,
            columns=names(self.columns),
            leave_out=names(self.leave_out),
            cuts=cuts,
            numbers=names(self.numbers),
        )


@dataclass(frozen=True)
class Prepared:
    """A data set, and how many rows of its table were left out."""

    dataset: Dataset
    rows_dropped: int


def prepare(source: str, columns: Mapping[str, Column], kind: Kind, how: Preparation) -> Prepared:
    """The data set of these columns.

    Parameters
    ----------
    source : the file, for messages.
    columns : as read.
    kind : "categorical"; "gaussian"; or "mixed", numbers where `how` says so.
    how : what to do with missing cells and numbers; its `columns` and `leave_out` are done with.

    Raises
    ------
    DataError : as for `fedbn.data.tables.read_dataset`.

    Warns
    -----
    FedbnWarning : a state looks like a missing value, many rows were dropped, a column is constant
        or has a state of its own in most rows.
    """
    gone = {name: missing_cells(column, how.missing) for name, column in columns.items()}
    rows = next(iter(columns.values())).n_rows
    lacking = np.zeros(rows, dtype=np.bool_)
    for cells in gone.values():
        lacking |= cells
    dropped = 0
    if lacking.any():
        columns, dropped = _without_missing(source, columns, gone, lacking, kind, how)
    if dropped:
        gone = {name: cells[~lacking] for name, cells in gone.items()}
    _warn_of_header(source, columns, how.form)
    _warn_of_repeated_header(source, columns)
    numbers = [name for name in columns if how.are_numbers(name, kind)]
    states = {name: column for name, column in columns.items() if name not in numbers}
    _require_numbers_there(source, columns, how, kind)
    data = _dataset(source, columns, numbers, gone, how)
    if states:
        _warn_of_na(source, states, how)
        _warn_of_doubts(source, states, how)
        _warn_of_numbers(source, data)
    _warn_of_constants(source, data)
    if dropped > MANY_DROPPED * rows:
        _warn(
            f"{source}: because a cell is missing, {dropped} of {count_of(rows, 'row')} "
            f"{'is' if dropped == 1 else 'are'} left out"
        )
    return Prepared(data, dropped)


def without_missing_rows(columns: Mapping[str, Column], how: Preparation) -> Mapping[str, Column]:
    """The columns without the rows that `drop-rows` drops; all of them unless it is asked for."""
    if how.missing_cells != "drop-rows":
        return columns
    gone = [missing_cells(column, how.missing) for column in columns.values()]
    return mask(columns, ~np.logical_or.reduce(gone))


def numbers_of(source: str, name: str, column: Column, form: TableFormat) -> Floats:
    """The column as finite numbers, blanks around them allowed; raises DataError."""
    if column.values is not None:
        return column.values
    numbers = np.array([_number(text, form.decimal) for text in column.texts])
    bad = ~np.isfinite(numbers)
    if bad.any():
        row = int(np.argmax(bad[column.index]))
        text = column.texts[column.index[row]]
        other = "," if form.decimal == "." else "."
        cure = (
            f"; if it stands for a missing value, use --missing {text!r}, else --leave-out {name}"
        )
        if np.isfinite(_number(text, other)):
            cure = f"; if {other!r} is its decimal mark, use --decimal {other!r}"
        raise DataError(
            f"{source}: column {name!r}, row {row + 1}: {text!r} must be a finite number{cure}"
        )
    found: Floats = numbers[column.index]
    return found


def _checked_numbers(source: str, name: str, column: Column, how: Preparation) -> Floats:
    """The column as numbers in the agreed unit; warns of codes of missing values."""
    numbers = numbers_of(source, name, column, how.form)
    _warn_of_codes(source, name, numbers)
    return numbers * how.factors[name] if name in how.factors else numbers


def is_number(text: str | None, form: TableFormat) -> bool:
    """Whether the cell is a finite number."""
    return math.isfinite(_number(text, form.decimal))


def _number(text: str | None, decimal: str) -> float:
    """The number, or NaN."""
    other = "," if decimal == "." else "."
    if text is None or other in text or not _NUMBER_CHARACTERS.fullmatch(text):
        return math.nan
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        return math.nan


def missing_cells(column: Column, tokens: tuple[str, ...]) -> Bools:
    """Which cells are empty or one of the tokens, bool [rows]."""
    if column.gone is not None:
        return column.gone
    missing = {"", None, *tokens}
    if column.values is not None or missing.isdisjoint(column.texts):
        return np.zeros(column.n_rows, dtype=np.bool_)
    cells: Bools = np.array([text in missing for text in column.texts])[column.index]
    return cells


def _without_missing(
    source: str,
    columns: Mapping[str, Column],
    gone: Mapping[str, Bools],
    lacking: Bools,
    kind: Kind,
    how: Preparation,
) -> tuple[Mapping[str, Column], int]:
    """The columns as `missing_cells` wants them, and the number of rows dropped."""
    holed = [name for name, cells in gone.items() if cells.any() and how.are_numbers(name, kind)]
    if how.missing_cells == "impute" or (how.missing_cells == "state" and not holed):
        return columns, 0
    if how.missing_cells == "drop-rows":
        if lacking.all():
            raise DataError(
                f"{source}: every row has a missing cell, none would be left; leave columns out "
                "with --leave-out, or use --missing-cells state"
            )
        return mask(columns, ~lacking), int(lacking.sum())
    stated = how.missing_cells == "state"
    name = next(
        name for name, cells in gone.items() if cells.any() and (not stated or name in holed)
    )
    row = int(np.argmax(gone[name]))
    value = columns[name].texts[columns[name].index[row]]
    what = f"{value!r} stands for a missing value" if value else "the cell is empty"
    cells = sum(int(found.sum()) for found in gone.values())
    concerned = sum(bool(found.any()) for found in gone.values())
    choices = "drop-rows" if holed else "state or drop-rows"
    choices = f"impute or {choices}" if holed else f"impute, {choices}"
    raise DataError(
        f"{source}: column {name!r}, row {row + 1}: {what}; a table must be complete; "
        f"missing: {count_of(cells, 'cell')} in {count_of(int(lacking.sum()), 'row')} and "
        f"{count_of(concerned, 'column')}; use "
        f"--missing-cells {choices}, or --leave-out {name}"
    )


def _require_numbers_there(
    source: str, columns: Mapping[str, Column], how: Preparation, kind: Kind
) -> None:
    """Numbers are named of a mixed table alone, and are among its columns."""
    if how.numbers and kind != "mixed":
        raise DataError(
            f"--numbers ({how.numbers[0]!r}) is for mixed-bic and mixed-aic only: with a score of "
            "categories numbers need cut points, with a score of numbers every column is a number"
        )
    unknown = sorted(set(how.numbers) - set(columns))
    if unknown:
        raise DataError(f"{source}: there is no column {unknown[0]!r}, which --numbers names")


def _dataset(
    source: str,
    columns: Mapping[str, Column],
    numbers: Collection[str],
    gone: Mapping[str, Bools],
    how: Preparation,
) -> Dataset:
    """The rows as codes of states, or as floats where a column is numbers."""
    variables = []
    rows = next(iter(columns.values())).n_rows
    dtype = np.float64 if numbers else np.int32
    table: Array = np.zeros((len(columns), rows), dtype=dtype)
    for place, name in enumerate(sorted(columns)):
        cells, there = gone[name], ~gone[name]
        column, imputed = columns[name], how.missing_cells == "impute" and bool(cells.any())
        if imputed:
            _require_some(source, name, there)
            column, cells = mask({name: column}, there)[name], np.zeros(there.sum(), np.bool_)
        read = _numbers if name in numbers else _cut if name in how.cuts else _states
        variable, found = read(source, name, column, cells, how)
        table[place, there if imputed else slice(None)] = found
        variables.append(variable)
    table.flags.writeable = False
    return Dataset(Schema(tuple(variables)), table.T, _all_gone(sorted(columns), gone, how))


def _all_gone(names: Sequence[str], gone: Mapping[str, Bools], how: Preparation) -> Bools | None:
    """bool [rows, n] of the cells that will be imputed."""
    if how.missing_cells != "impute":
        return None
    return np.column_stack([gone[name] for name in names])


def _require_some(source: str, name: str, there: Bools) -> None:
    if not there.any():
        raise DataError(
            f"{source}: column {name!r} has missing cells only, from which nothing can be imputed: "
            f"--leave-out {name}"
        )


def _numbers(
    source: str, name: str, column: Column, _: Bools, how: Preparation
) -> tuple[Variable, Floats]:
    """A column that stays numbers; none of its cells is missing."""
    return Variable(name), _checked_numbers(source, name, column, how)


def _cut(
    source: str, name: str, column: Column, gone: Bools, how: Preparation
) -> tuple[Variable, Codes]:
    """A column of numbers as intervals; a missing cell comes after the last of them."""
    cuts = how.cuts[name]
    lacking = bool(gone.any())
    present = mask({name: column}, ~gone)[name] if lacking else column
    _require_exact(source, name, present)
    numbers = _checked_numbers(source, name, present, how)
    found = interval_codes(cuts, numbers)
    _warn_of_cut(source, name, cuts, numbers)
    if not lacking:
        return Variable.cut(name, cuts), found
    codes = np.full(len(gone), len(cuts) + 1, dtype=np.int32)
    codes[~gone] = found
    return Variable.cut(name, cuts, missing=True), codes


def _require_exact(source: str, name: str, column: Column) -> None:
    for text in column.texts:
        if text and _DIGITS.fullmatch(text.strip()) and abs(int(text)) > LARGEST_EXACT:
            raise DataError(
                f"{source}: column {name!r}, row {column.first_row(text)}: {text!r} is beyond "
                "2^53, where numbers are not exact; such a column is an identifier: "
                f"--leave-out {name}"
            )


def _states(
    source: str, name: str, column: Column, gone: Bools, how: Preparation
) -> tuple[Variable, NDArray[np.integer[Any]]]:
    if column.refusal:
        raise DataError(column.refusal)
    missing = {"", None, *how.missing}
    words = [MISSING_STATE if text in missing else str(text) for text in column.texts]
    if gone.any() and MISSING_STATE in (set(column.texts) - missing):
        raise DataError(
            f"{source}: column {name!r} has the text {MISSING_STATE!r} and missing cells, which "
            f"would be the same state; if they are, use --missing {MISSING_STATE}"
        )
    if all(map(lt, words, islice(words, 1, None))):
        return Variable(name, tuple(words)), column.index
    states = sorted(set(words))
    place = {state: code for code, state in enumerate(states)}
    recode = np.array([place[word] for word in words], dtype=np.int32)
    return Variable(name, tuple(states)), recode[column.index]


def _warn_of_header(source: str, columns: Mapping[str, Column], form: TableFormat) -> None:
    """Names that are numbers are likely the first row, or a line that is not of the table."""
    counted = {str(i) for i in range(len(columns) + 1)}
    found = [name for name in columns if is_number(name, form)]
    if not set(found) <= counted:
        of_all = "all" if len(found) == len(columns) else f"{len(found)} of {len(columns)}"
        _warn(
            f"{source}: {of_all} names of columns are numbers, such as {found[0]!r}: is there a "
            "header? If there is none, use --header no; if other lines come first, --skip-lines 1"
        )


def _warn_of_repeated_header(source: str, columns: Mapping[str, Column]) -> None:
    """Every column having its own name as a state is a table whose header stands in it again."""
    if all(name in column.texts for name, column in columns.items()):
        name, column = next(iter(columns.items()))
        _warn(
            f"{source}: row {column.first_row(name)} has the names of the columns: is the header "
            "in the table twice (--skip-lines 1, or tables put together)?"
        )


def _warn_of_na(source: str, columns: Mapping[str, Column], how: Preparation) -> None:
    for name in sorted(set(columns) - set(how.cuts)):
        column = columns[name]
        short = [text for text in column.texts if text and len(text.strip()) <= _LONGEST_NA]
        found = [text for text in short if text.strip().casefold() in NA_LIKE]
        for text in found:
            count = int((column.index == column.texts.index(text)).sum())
            if count and text not in how.missing:
                _warn(
                    f"{source}: column {name!r} has the state {text!r} in "
                    f"{count_of(count, 'row')}; if it "
                    f"stands for a missing value, use --missing {text!r}"
                )


def _warn_of_cut(source: str, name: str, cuts: Cuts, numbers: Floats) -> None:
    """Numbers that are all in one interval, or number records."""
    if len(numbers) < FEWEST_ROWS:
        return
    words = one_interval_words(name, cuts, numbers)
    if words:
        _warn(f"{source}: {words}")
    if record_numbers(numbers):
        _warn(
            f"{source}: column {name!r} holds whole numbers that are nearly all different: if they "
            f"number records, use --leave-out {name}"
        )


def _warn_of_codes(source: str, name: str, numbers: Floats) -> None:
    for code, rows in missing_codes(numbers).items():
        text = number_text(code)
        _warn(
            f"{source}: column {name!r} has the number {text} in {count_of(rows, 'row')}, far from "
            f"all others; if it stands for a missing value, use --missing {text}, or "
            f'missing = ["{text}"] in the site\'s file'
        )


def _warn_of_doubts(source: str, columns: Mapping[str, Column], how: Preparation) -> None:
    """Dates, and codes of missing values among states that are numbers."""
    for name in sorted(set(columns) - set(how.cuts)):
        column, missing = columns[name], {"", None, *how.missing}
        words = date_words(name, column.texts)
        if words:
            _warn(f"{source}: {words}")
        present = [i for i, text in enumerate(column.texts) if text not in missing]
        if column.values is None and all(is_number(column.texts[i], how.form) for i in present):
            kept = np.isin(column.index, present)
            only = mask({name: column}, kept)[name]
            _warn_of_codes(source, name, numbers_of(source, name, only, how.form))


def _warn_of_constants(source: str, data: Dataset) -> None:
    for column, variable in enumerate(data.schema.variables):
        states, seen = variable.states, data.seen_in(column)
        if len(states) == 1 if states is not None else seen.min() == seen.max():
            value = seen[0] if states is None else states[0]
            _warn(f"{source}: column {variable.name!r} is constant ({value!s}); it is kept")


def _warn_of_numbers(source: str, data: Dataset) -> None:
    """Categories of which most rows have one of their own are likely numbers or identifiers."""
    if data.n_rows < FEWEST_ROWS:
        return
    seen = [len(variable.states or ()) for variable in data.schema.variables]
    most = int(np.argmax(seen))
    if seen[most] > OWN_STATES * data.n_rows:
        number = sum(count > OWN_STATES * data.n_rows for count in seen)
        others = f" ({number - 1} more like it)" if number > 1 else ""
        name = data.names[most]
        _warn(
            f"{source}: column {name!r} has {seen[most]} states in {data.n_rows} rows"
            f"{others}; numbers need cuts (--discretise {name}:3), gaussian-bic and bge, or "
            f"mixed-bic with --numbers {name}; "
            f"identifiers are left out (--leave-out {name})"
        )


def _warn(words: str) -> None:
    warnings.warn(words, TableWarning, stacklevel=5)
