"""Tables of complete observations and the schema that several clients agree on.

A column is a `Variable`: categorical with named states, or Gaussian (a float). A `Schema` holds the
variables of one kind, always sorted by name as text, each with its states sorted as text, so that
the order of columns and of states in a file can never reach a result. Codes, messages and fused
graphs all use this order: index order is name order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fedbn.errors import DataError, SchemaError

__all__ = ["Codes", "Dataset", "Kind", "RowIndices", "Schema", "Values", "Variable", "union_schema"]

Kind = Literal["categorical", "gaussian"]
Codes = npt.NDArray[np.int32]
Values = npt.NDArray[np.float64]
RowIndices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Variable:
    """One column: `states` sorted as text, or None for a Gaussian variable.

    Raises
    ------
    SchemaError : the name is not a non-empty text, or the states are not at least one, all text,
        non-empty and distinct.

    Examples
    --------
    >>> Variable("smoke", ("yes", "no")).states
    ('no', 'yes')
    """

    name: str
    states: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"a column name must be a non-empty text, not {self.name!r}")
        if self.states is None:
            return
        states = tuple(self.states)
        for state in states:
            if not isinstance(state, str) or not state:
                raise SchemaError(
                    f"column {self.name!r}: a state must be a non-empty text, not {state!r}"
                )
        if not states:
            raise SchemaError(f"column {self.name!r} must have at least one state")
        if len(set(states)) < len(states):
            twice = next(state for state in sorted(states) if states.count(state) > 1)
            raise SchemaError(f"column {self.name!r}: state {twice!r} is listed twice")
        object.__setattr__(self, "states", tuple(sorted(states)))

    @property
    def kind(self) -> Kind:
        """The word for this: Gaussian without states, categorical with them."""
        return "gaussian" if self.states is None else "categorical"


@dataclass(frozen=True)
class Schema:
    """The columns of a table, sorted by name, all categorical or all Gaussian.

    Raises
    ------
    SchemaError : there is no column, a name occurs twice, or the kinds are mixed.

    Examples
    --------
    >>> schema = Schema((Variable("b", ("1", "0")), Variable("a", ("x", "y", "z"))))
    >>> schema.names, schema.cardinalities.tolist()
    (('a', 'b'), [3, 2])
    """

    variables: tuple[Variable, ...]

    def __post_init__(self) -> None:
        variables = tuple(sorted(self.variables, key=lambda variable: variable.name))
        if not variables:
            raise SchemaError("a schema must have at least one column")
        for left, right in pairwise(variables):
            if left.name == right.name:
                raise SchemaError(f"column {left.name!r} occurs twice")
            if left.kind != right.kind:
                raise SchemaError(
                    "columns must all have states or all be floats: "
                    f"{left.name!r} is {left.kind}, {right.name!r} is {right.kind}"
                )
        object.__setattr__(self, "variables", variables)

    @classmethod
    def categorical(cls, states: Mapping[str, Iterable[str]]) -> Schema:
        """The schema with these states per column, in any order."""
        return cls(tuple(Variable(name, tuple(values)) for name, values in states.items()))

    @classmethod
    def gaussian(cls, names: Iterable[str]) -> Schema:
        """The schema of float columns with these names, in any order."""
        return cls(tuple(Variable(name) for name in names))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names, sorted as text."""
        return tuple(variable.name for variable in self.variables)

    @property
    def n(self) -> int:
        """Number of columns."""
        return len(self.variables)

    @property
    def kind(self) -> Kind:
        """The kind of every column."""
        return self.variables[0].kind

    @cached_property
    def states(self) -> tuple[tuple[str, ...], ...]:
        """States per column, in name order; raises SchemaError for Gaussian columns."""
        if self.kind == "gaussian":
            raise SchemaError("Gaussian columns have no states")
        return tuple(variable.states or () for variable in self.variables)

    @cached_property
    def cardinalities(self) -> Codes:
        """Number of agreed states per column, int32 [n]; raises SchemaError if Gaussian."""
        sizes = np.array([len(states) for states in self.states], dtype=np.int32)
        sizes.flags.writeable = False
        return sizes

    @cached_property
    def hash(self) -> str:
        """SHA-256 (hex) of the canonical JSON text: equal iff names, kind and states are equal."""
        text = json.dumps(self.to_dict(), ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def index(self, name: str) -> int:
        """The position of column `name`; raises SchemaError for an unknown name."""
        try:
            return self.names.index(name)
        except ValueError:
            raise SchemaError(f"no column {name!r} among {_some(self.names)}") from None

    def to_dict(self) -> dict[str, list[str] | None]:
        """`{column: [states]}`, with None for a Gaussian column; ready for JSON."""
        return {
            variable.name: None if variable.states is None else list(variable.states)
            for variable in self.variables
        }

    @classmethod
    def from_dict(cls, columns: Mapping[str, Any]) -> Schema:
        """The inverse of `to_dict`; raises SchemaError naming the column that is not as above."""
        if not isinstance(columns, Mapping):
            raise SchemaError("a schema must be an object {column: [states]}")
        for name, states in columns.items():
            if states is not None and not isinstance(states, list | tuple):
                raise SchemaError(f"column {name!r}: expected a list of states, found {states!r}")
        return cls(
            tuple(
                Variable(name, None if states is None else tuple(states))
                for name, states in columns.items()
            )
        )

    def require_within(self, part: Schema, source: str) -> None:
        """Checks that `part` has the same columns and kind and no state that is not here.

        Parameters
        ----------
        part : what `source` has.
        source : the client or file, for the error text.

        Raises
        ------
        SchemaError : naming source, column and state.
        """
        unknown = sorted(set(part.names) - set(self.names))
        missing = sorted(set(self.names) - set(part.names))
        if unknown:
            raise SchemaError(f"{source}: column {unknown[0]!r} is not in the schema")
        if missing:
            raise SchemaError(f"{source}: column {missing[0]!r} of the schema is missing")
        if part.kind != self.kind:
            raise SchemaError(f"{source}: columns are {part.kind}, the schema's are {self.kind}")
        for known, found in zip(self.variables, part.variables, strict=True):
            extra = sorted(set(found.states or ()) - set(known.states or ()))
            if extra:
                raise SchemaError(
                    f"{source}: column {known.name!r} has state {extra[0]!r}, "
                    f"the schema has {_some(known.states or ())}"
                )


@dataclass(frozen=True, eq=False)
class Dataset:
    """Complete observations: one row per case, one column per variable of the schema, name order.

    Parameters
    ----------
    schema : the agreed columns.
    table : int [rows, n] with codes into the sorted states, or float [rows, n] for a Gaussian
        schema. It is copied, column by column in memory, and the copy is read-only.

    Raises
    ------
    DataError : the shape does not fit, there is no row, a code is outside its column's states,
        or a value is NaN or infinite.
    """

    schema: Schema
    table: npt.NDArray[Any]

    def __post_init__(self) -> None:
        given = np.asarray(self.table)
        if given.ndim != 2 or given.shape[1] != self.schema.n:
            raise DataError(
                f"the table must have shape [rows, {self.schema.n}], not {list(given.shape)}"
            )
        if given.shape[0] == 0:
            raise DataError("a data set must have at least one row")
        categorical = self.schema.kind == "categorical"
        table: npt.NDArray[Any] = (_checked_codes if categorical else _checked_values)(
            self.schema, given
        )
        table.flags.writeable = False
        object.__setattr__(self, "table", table)

    @property
    def codes(self) -> Codes:
        """State codes, int32 [rows, n], read-only; raises DataError for Gaussian data."""
        if self.kind != "categorical":
            raise DataError("Gaussian data have values, not codes")
        return self.table

    @property
    def values(self) -> Values:
        """Values, float64 [rows, n], read-only; raises DataError for categorical data."""
        if self.kind != "gaussian":
            raise DataError("categorical data have codes, not values")
        return self.table

    @property
    def n_rows(self) -> int:
        """Number of cases."""
        return int(self.table.shape[0])

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
        """The kind of every column."""
        return self.schema.kind

    @property
    def cardinalities(self) -> Codes:
        """Number of agreed states per column, int32 [n]; raises SchemaError if Gaussian."""
        return self.schema.cardinalities

    def take(self, rows: Sequence[int] | RowIndices) -> Dataset:
        """The data set of these rows, in this order; raises DataError when there is none."""
        return Dataset(self.schema, self.table[np.asarray(rows, dtype=np.intp)])

    def with_schema(self, schema: Schema, source: str = "the data") -> Dataset:
        """The same cases, coded for a schema with the same columns and at least these states.

        States that no row has may be absent from `schema`.

        Raises
        ------
        SchemaError : naming `source`, column and state.
        """
        if schema == self.schema:
            return self
        schema.require_within(self._observed_schema(), source)
        if self.kind == "gaussian":
            return self
        codes = np.empty(self.codes.shape, dtype=np.int32, order="F")
        for column, (old, new) in enumerate(zip(self.schema.states, schema.states, strict=True)):
            position = {state: code for code, state in enumerate(new)}
            recode = np.array([position.get(state, -1) for state in old], dtype=np.int32)
            codes[:, column] = recode[self.codes[:, column]]
        return Dataset(schema, codes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        return self.schema == other.schema and np.array_equal(self.table, other.table)

    __hash__ = None  # type: ignore[assignment]

    def _observed_schema(self) -> Schema:
        """The schema restricted to states that some row has."""
        if self.kind == "gaussian":
            return self.schema
        return Schema.categorical(
            {
                name: [states[code] for code in np.flatnonzero(np.bincount(self.codes[:, column]))]
                for column, (name, states) in enumerate(
                    zip(self.names, self.schema.states, strict=True)
                )
            }
        )


def union_schema(schemas: Mapping[str, Schema]) -> Schema:
    """The schema with every client's states; columns and kinds must agree.

    Parameters
    ----------
    schemas : schema per client name.

    Raises
    ------
    SchemaError : there is no client, or the columns or kinds of two clients differ (both clients
        and the column are named).

    Examples
    --------
    >>> a = Schema.categorical({"x": ["0", "1"]})
    >>> b = Schema.categorical({"x": ["2", "1"]})
    >>> union_schema({"a": a, "b": b}).to_dict()
    {'x': ['0', '1', '2']}
    """
    if not schemas:
        raise SchemaError("a union of schemas needs at least one client")
    clients = sorted(schemas)
    first = schemas[clients[0]]
    for client in clients[1:]:
        _require_same_columns(clients[0], first, client, schemas[client])
    if first.kind == "gaussian":
        return first
    return Schema.categorical(
        {
            name: sorted({state for schema in schemas.values() for state in schema.states[column]})
            for column, name in enumerate(first.names)
        }
    )


def _require_same_columns(first: str, expected: Schema, client: str, found: Schema) -> None:
    for name in sorted(set(expected.names) ^ set(found.names)):
        has, lacks = (first, client) if name in expected.names else (client, first)
        raise SchemaError(f"client {lacks!r} has no column {name!r}, client {has!r} has one")
    if expected.kind != found.kind:
        raise SchemaError(
            f"client {first!r} has {expected.kind} columns, client {client!r} {found.kind} ones"
        )


def _checked_codes(schema: Schema, given: npt.NDArray[Any]) -> Codes:
    if not np.issubdtype(given.dtype, np.integer):
        raise DataError(f"codes of states must be integers, not {given.dtype}")
    low, high = given.min(axis=0), given.max(axis=0)
    for column, name in enumerate(schema.names):
        size = int(schema.cardinalities[column])
        if low[column] < 0 or high[column] >= size:
            code = low[column] if low[column] < 0 else high[column]
            raise DataError(f"column {name!r}: code {code} is not one of 0..{size - 1}")
    return np.array(given, dtype=np.int32, order="F")


def _checked_values(schema: Schema, given: npt.NDArray[Any]) -> Values:
    if not (np.issubdtype(given.dtype, np.floating) or np.issubdtype(given.dtype, np.integer)):
        raise DataError(f"values must be numbers, not {given.dtype}")
    values = np.array(given, dtype=np.float64, order="F")
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row, column = bad[0]
        raise DataError(
            f"column {schema.names[column]!r}, row {row + 1}: "
            f"a value must be a finite number, not {values[row, column]}"
        )
    return values


def _some(texts: Sequence[str], limit: int = 6) -> str:
    """The first few of `texts`, for an error message."""
    shown = ", ".join(repr(text) for text in texts[:limit])
    return shown + (f", ... ({len(texts)} in all)" if len(texts) > limit else "")
