"""Tables of complete observations under a schema that several clients agree on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbn.arrays import Array, Bools, Codes, Floats, Indices
from fedbn.data.schema import Kind, Schema
from fedbn.errors import DataError


@dataclass(frozen=True, eq=False)
class Dataset:
    """One row per case, one column per variable of the schema, name order.

    Observations are complete, but for tables whose missing cells are imputed while structures are
    learned: these have `gone`, and no `codes` or `values`.

    Parameters
    ----------
    schema : the agreed columns.
    table : int [rows, n] with codes into the sorted states; float [rows, n] for a schema with
        numbers, where a column of states holds its codes as floats. It is copied, column by column
        in memory, and the copy is read-only; an array that is so already, int32 or float64, is
        taken as it is. Missing cells are 0 in it.
    gone : bool [rows, n], which cells are missing; None for none.
    row_weight : what scores multiply the number of rows by: below 1 where cells were filled, which
        are no evidence (`fedbn.learners.completion`), else 1.

    Raises
    ------
    DataError : the shape does not fit, there is no row, a code is outside its column's states,
        or a value is NaN, infinite or larger than `MOST`; or all cells of a column are missing; or
        the row weight is not above 0 and at most 1.
    """

    schema: Schema
    table: Array
    gone: Bools | None = None
    row_weight: float = 1.0

    def __post_init__(self) -> None:
        given = np.asarray(self.table)
        if given.ndim != 2 or given.shape[1] != self.schema.n:
            raise DataError(
                f"the table must have shape [rows, {self.schema.n}], not {list(given.shape)}"
            )
        if given.shape[0] == 0:
            raise DataError("a data set must have at least one row")
        if self.gone is not None:
            self._keep_gone(given.shape)
        if self.gone is not None:
            given = np.where(self.gone, 0, given)
        categorical = self.schema.kind == "categorical"
        if not 0 < self.row_weight <= 1:
            raise DataError(
                f"the row weight of a data set must be above 0 and at most 1, not {self.row_weight}"
            )
        table: Array = (_checked_codes if categorical else _checked_values)(self.schema, given)
        if self.schema.kind == "mixed":
            _require_codes(self.schema, table)
        table.flags.writeable = False
        object.__setattr__(self, "table", table)

    def _keep_gone(self, shape: tuple[int, ...]) -> None:
        gone = np.array(self.gone, dtype=np.bool_, order="F")  # column by column, as the table
        if gone.shape != shape:
            raise DataError(f"gone must have the table's shape {list(shape)}")
        empty = np.flatnonzero(gone.all(axis=0))
        if empty.size:
            raise DataError(f"column {self.names[int(empty[0])]!r} has missing cells only")
        gone.flags.writeable = False
        object.__setattr__(self, "gone", gone if gone.any() else None)

    def require_complete(self) -> None:
        """Raise DataError where a cell is missing."""
        if self.gone is not None:
            raise DataError(
                f"{int(self.gone.sum())} of {self.gone.size} cells are missing; they are imputed "
                "while structures are learned, and for nothing else: use missing-cells drop-rows "
                "or state"
            )

    def seen_in(self, column: int) -> Array:
        """The codes or values of the cells of a column that are not missing, row by row."""
        cells = self.cells(column)
        return cells if self.gone is None else cells[~self.gone[:, column]]

    @property
    def codes(self) -> Codes:
        """State codes, int32 [rows, n], read-only; raises DataError where a column is a number, or
        a cell is missing."""
        self.require_complete()
        if self.kind != "categorical":
            raise DataError(f"{self.kind} data have values, not codes")
        return self.table

    @property
    def values(self) -> Floats:
        """Values, float64 [rows, n], read-only; raises DataError where a column has states, or a
        cell is missing."""
        self.require_complete()
        if self.kind != "gaussian":
            raise DataError(f"{self.kind} data have codes, not values")
        return self.table

    def column(self, index: int) -> Array:
        """One column: codes int32 [rows] of states, or values float64 [rows]; raises DataError
        where a cell of the table is missing."""
        self.require_complete()
        return self.cells(index)

    def cells(self, index: int) -> Array:
        """As `column`, with 0 for missing cells."""
        found = self.table[:, index]
        if self.schema.variables[index].states is None:
            return found
        return found.astype(np.int32, copy=False)

    @property
    def n_rows(self) -> int:
        """Number of cases."""
        return int(self.table.shape[0])

    @property
    def counted_rows(self) -> float:
        """Rows that the cells are evidence of: cases times `row_weight`, at least 1."""
        return max(1.0, self.n_rows * self.row_weight)

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.schema.n

    @property
    def names(self) -> tuple[str, ...]:
        """Variable names, sorted as text."""
        return self.schema.names

    @property
    def kind(self) -> Kind:
        """The kind of every column; "mixed" where they have both."""
        return self.schema.kind

    @property
    def cardinalities(self) -> Codes:
        """Number of agreed states per column, int32 [n]; raises SchemaError if Gaussian."""
        return self.schema.cardinalities

    def take(self, rows: Sequence[int] | Indices) -> Dataset:
        """The data set of these rows, in this order; raises DataError when there is none."""
        taken = np.asarray(rows, dtype=np.intp)
        gone = None if self.gone is None else self.gone[taken]
        return Dataset(self.schema, self.table[taken], gone, self.row_weight)

    def select(self, names: Sequence[str]) -> Dataset:
        """The same cases with some of the columns; raises SchemaError for an unknown name."""
        own = [self.schema.index(name) for name in sorted(names)]
        gone = None if self.gone is None else self.gone[:, own]
        schema, table = self.schema.restrict(names), self.table[:, own]
        if schema.kind == "categorical":  # of a table that had numbers, too
            table = table.astype(np.int32, copy=False)
        return Dataset(schema, table, gone, self.row_weight)

    def with_schema(self, schema: Schema, source: str = "the data") -> Dataset:
        """The same cases, coded for a schema with the same columns and at least these states.

        States that no row has may be absent from `schema`.

        Raises
        ------
        SchemaError : naming `source`, column and state.
        """
        if schema == self.schema:
            return self
        if self.kind == "gaussian":
            schema.require_within(self.schema, source)
            return self
        schema.require_within(self.schema, source, self._seen_states())
        table = np.array(self.table, order="F")
        for column, (old, new) in enumerate(zip(self.schema.states, schema.states, strict=True)):
            if not new:
                continue
            position = {state: code for code, state in enumerate(new)}
            recode = np.array([position.get(state, -1) for state in old], dtype=np.int32)
            table[:, column] = recode[self.cells(column)]
        return Dataset(schema, table, self.gone, self.row_weight)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        if (self.gone is None) != (other.gone is None):
            return False
        same = self.gone is None or np.array_equal(self.gone, other.gone)  # type: ignore[arg-type]
        same = same and self.row_weight == other.row_weight
        return same and self.schema == other.schema and np.array_equal(self.table, other.table)

    __hash__ = None  # type: ignore[assignment]

    def _seen_states(self) -> dict[str, list[str]]:
        """Column -> the states that some row has."""
        return {
            name: [states[code] for code in np.flatnonzero(np.bincount(self.seen_in(column)))]
            for column, (name, states) in enumerate(
                zip(self.names, self.schema.states, strict=True)
            )
            if states
        }


def _checked_codes(schema: Schema, given: Array) -> Codes:
    if not np.issubdtype(given.dtype, np.integer):
        raise DataError(f"codes of states must be integers, not {given.dtype}")
    _require_codes(schema, given)
    return _keep(given, np.int32)


def _require_codes(schema: Schema, given: Array) -> None:
    low, high = given.min(axis=0), given.max(axis=0)
    whole = np.issubdtype(given.dtype, np.integer)
    for column, variable in enumerate(schema.variables):
        if variable.states is None:
            continue
        size = len(variable.states)
        code = low[column] if low[column] < 0 else high[column]
        if code < 0 or code >= size or not (whole or (given[:, column] % 1 == 0).all()):
            raise DataError(f"column {variable.name!r}: code {code} is not one of 0..{size - 1}")


MOST = 1e120
"""Largest size of a number. Sums of products of two such numbers over 2^52 rows, the most that can
be counted, are below 1e256, so that they are finite, and may be sent."""


def _checked_values(schema: Schema, given: Array) -> Floats:
    if not (np.issubdtype(given.dtype, np.floating) or np.issubdtype(given.dtype, np.integer)):
        raise DataError(f"values must be numbers, not {given.dtype}")
    values: Floats = _keep(given, np.float64)
    largest = np.maximum(values.max(axis=0), -values.min(axis=0))
    if not np.isfinite(largest).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise DataError(
            f"column {schema.names[column]!r}, row {row + 1}: "
            f"a value must be a finite number, not {values[row, column]}"
        )
    lost = np.flatnonzero(largest > MOST)
    if lost.size:
        raise DataError(
            f"column {schema.names[int(lost[0])]!r}: a number must be at most {MOST:g} in size, "
            f"not {largest[lost[0]]:g}, so that sums of products over all rows stay finite; use "
            "another unit ([factors] of a site's file)"
        )
    return values


def _keep(given: Array, dtype: Any) -> Array:
    """The array column by column in memory; a copy, unless nobody can write to it."""
    fixed = not given.flags.writeable and (given.base is None or not given.base.flags.writeable)
    if fixed and given.dtype == dtype and given.flags.f_contiguous:
        return given
    return np.array(given, dtype=dtype, order="F")
