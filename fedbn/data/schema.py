"""The columns of a table, as several clients agree on them.

A column is a `Variable`: categorical with named states, or Gaussian (a float). A `Schema` holds the
variables, of one kind or of both (then its own kind is "mixed"), always sorted by name as text,
each with its states sorted as text, so that the order of columns and of states in a file can never
reach a result. Codes, messages and fused
graphs all use this order: index order is name order. A categorical variable may have cuts: its
cells are numbers, its states the intervals between them (`fedbn.data.cuts`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from fedbn.arrays import Codes
from fedbn.data.cuts import Cuts, checked_cuts, interval_names
from fedbn.errors import ConfigError, SchemaError

Kind = Literal["categorical", "gaussian", "mixed"]
KINDS: tuple[Kind, ...] = ("categorical", "gaussian", "mixed")

NUMBER = "number"
"""How a schema in TOML, which has no null, says that a column holds numbers."""

MISSING_CELLS = ("refuse", "state", "drop-rows", "impute")
"""What can be done with missing cells."""

MISSING_STATE = "missing"
"""The state that a missing cell becomes where a run wants that."""

_VALID = "a name must be valid Unicode"

MISSING_COLUMNS = (
    "variables = union (--variables union) takes sites with different columns; or leave such a "
    "column out everywhere, with --leave-out (a site may lack what is left out), or leave the site "
    "out"
)
"""What whoever lacks a column is told."""


def find_kind(word: str) -> Kind:
    """The kind of data with this name; raises ConfigError, which lists them, for another word."""
    for kind in KINDS:
        if word == kind:
            return kind
    raise ConfigError(f"the kind of a table must be one of {', '.join(KINDS)}, not {word!r}")


def suits(needed: str, found: str) -> bool:
    """Whether data of the kind `found` are right for what needs `needed`: mixed takes every kind.

    >>> suits("mixed", "gaussian"), suits("gaussian", "mixed")
    (True, False)
    """
    return needed in ("mixed", found)


@dataclass(frozen=True)
class Variable:
    """One column: `states` sorted as text, or None for a Gaussian variable.

    With `cuts` the states are the intervals, and possibly MISSING_STATE; see `Variable.cut`.

    Raises
    ------
    SchemaError : the name is not a non-empty text, or the states are not at least one, all text,
        non-empty and distinct; or there are cuts, and the states are not theirs.

    Examples
    --------
    >>> Variable("smoke", ("yes", "no")).states
    ('no', 'yes')
    """

    name: str
    states: tuple[str, ...] | None = None
    cuts: Cuts | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"a column name must be a non-empty text, not {self.name!r:.60}")
        if not _is_valid(self.name):
            raise SchemaError(f"column {self.name!r:.60}: {_VALID}")
        if self.states is None and self.cuts is None:
            return
        states = tuple(self.states or ())
        for state in states:
            if not isinstance(state, str) or not state:
                raise SchemaError(
                    f"column {self.name!r}: a state must be a non-empty text, not {state!r:.60}"
                )
        if not states:
            raise SchemaError(f"column {self.name!r} must have at least one state")
        if not _is_valid("".join(states)):
            state = next(state for state in states if not _is_valid(state))
            raise SchemaError(f"column {self.name!r}, state {state!r:.60}: {_VALID}")
        if len(set(states)) < len(states):
            twice = next(state for state in sorted(states) if states.count(state) > 1)
            raise SchemaError(f"column {self.name!r}: state {twice!r:.60} is listed twice")
        object.__setattr__(self, "states", tuple(sorted(states)))
        self._require_intervals()

    def _require_intervals(self) -> None:
        if self.cuts is None:
            return
        object.__setattr__(self, "cuts", checked_cuts(self.name, self.cuts))
        intervals = interval_names(self.cuts)
        if self.states not in (intervals, (*intervals, MISSING_STATE)):
            raise SchemaError(
                f"column {self.name!r}: with cuts {list(self.cuts)} the states must be "
                f"{_some(intervals)}, not {_some(self.states or ())}"
            )

    @classmethod
    def cut(cls, name: str, cuts: Iterable[float], *, missing: bool = False) -> Variable:
        """The variable of a column of numbers, cut into intervals.

        >>> Variable.cut("age", [40, 60], missing=True).states
        ('1: (-inf, 40]', '2: (40, 60]', '3: (60, inf)', 'missing')
        """
        found = checked_cuts(name, cuts)
        more = (MISSING_STATE,) if missing else ()
        return cls(name, (*interval_names(found), *more), found)

    @property
    def kind(self) -> Kind:
        """The word for this: Gaussian without states, categorical with them."""
        return "gaussian" if self.states is None else "categorical"


@dataclass(frozen=True)
class Schema:
    """The columns of a table, sorted by name; each is categorical or Gaussian.

    Raises
    ------
    SchemaError : there is no column, or a name occurs twice.

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
        """The kind of every column; "mixed" where they have both kinds."""
        kinds = set(self.kinds)
        return kinds.pop() if len(kinds) == 1 else "mixed"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kind of each column."""
        return tuple(variable.kind for variable in self.variables)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of the Gaussian columns."""
        return tuple(variable.name for variable in self.variables if variable.states is None)

    @cached_property
    def states(self) -> tuple[tuple[str, ...], ...]:
        """States per column, in name order; none of a number beside categories.

        Raises SchemaError where all columns are numbers.
        """
        if self.kind == "gaussian":
            raise SchemaError("Gaussian columns have no states")
        return tuple(variable.states or () for variable in self.variables)

    @cached_property
    def cardinalities(self) -> Codes:
        """Number of agreed states per column, int32 [n]; raises SchemaError for any number."""
        if self.kind == "mixed":
            raise SchemaError(f"column {self.numbers[0]!r} is a number and has no states")
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

    def restrict(self, names: Iterable[str]) -> Schema:
        """The schema of some of its columns; raises SchemaError for an unknown name."""
        return Schema(tuple(self.variables[self.index(name)] for name in names))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: `{column: [states]}`, with None (read: or "number") for a number.

        A column with cuts is `{"cuts": [numbers]}`, and `"missing": true` beside them where missing
        cells are a state.
        """
        return {variable.name: _variable_to_dict(variable) for variable in self.variables}

    @classmethod
    def from_dict(cls, columns: Mapping[str, Any]) -> Schema:
        """The inverse of `to_dict`; raises SchemaError naming the column that is not as above."""
        if not isinstance(columns, Mapping):
            raise SchemaError("a schema must be an object {column: [states]}")
        return cls(tuple(_variable_from_dict(name, found) for name, found in columns.items()))

    @property
    def cuts(self) -> dict[str, Cuts]:
        """Column -> cuts, of those that have any."""
        return {
            variable.name: variable.cuts for variable in self.variables if variable.cuts is not None
        }

    def require_within(
        self, part: Schema, source: str, seen: Mapping[str, Collection[str]] | None = None
    ) -> None:
        """Checks that `part` has the same columns and kind and no state that is not here.

        Parameters
        ----------
        part : what `source` has.
        source : the client or file, for the error text.
        seen : the states that count, per column; None: all that `part` has.

        Raises
        ------
        SchemaError : naming source, column and state.
        """
        unknown = sorted(set(part.names) - set(self.names))
        missing = sorted(set(self.names) - set(part.names))
        if unknown:
            raise SchemaError(f"{source}: column {unknown[0]!r} is not in the schema")
        if missing:
            raise SchemaError(
                f"{source}: column {missing[0]!r} of the schema is missing; the table must have "
                "all of its columns"
            )
        if part.kind != self.kind and "mixed" not in (part.kind, self.kind):
            raise SchemaError(f"{source}: columns are {part.kind}, the schema's are {self.kind}")
        for known, found in zip(self.variables, part.variables, strict=True):
            if known.kind != found.kind:
                raise SchemaError(
                    f"{source}: column {known.name!r} is {found.kind}, the schema's is {known.kind}"
                )
            if known.states is None:
                continue
            if known.cuts != found.cuts:
                raise SchemaError(
                    f"{source}: column {known.name!r} has {_cuts_words(found)}, the schema's has "
                    f"{_cuts_words(known)}"
                )
            states = (found.states or ()) if seen is None else seen[found.name]
            extra = sorted(set(states) - set(known.states or ()))
            if extra:
                raise SchemaError(
                    f"{source}: column {known.name!r} has state {extra[0]!r}, "
                    f"the schema has {_some(known.states or ())}"
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
    return Schema(
        tuple(
            _unite([schema.variables[column] for schema in schemas.values()])
            for column in range(first.n)
        )
    )


def _require_same_columns(first: str, expected: Schema, client: str, found: Schema) -> None:
    for name in sorted(set(expected.names) ^ set(found.names)):
        has, lacks = (first, client) if name in expected.names else (client, first)
        raise SchemaError(
            f"client {lacks!r} has no column {name!r}, client {has!r} has one; {MISSING_COLUMNS}"
        )
    if expected.kind != found.kind and "mixed" not in (expected.kind, found.kind):
        raise SchemaError(
            f"client {first!r} has {expected.kind} columns, client {client!r} {found.kind} ones"
        )
    for one, other in zip(expected.variables, found.variables, strict=True):
        if one.kind != other.kind:
            raise SchemaError(
                f"column {one.name!r}: client {first!r} has a {one.kind} one, client {client!r} a "
                f"{other.kind} one"
            )
        if one.cuts != other.cuts:
            raise SchemaError(
                f"column {one.name!r}: client {first!r} has {_cuts_words(one)}, client {client!r} "
                f"{_cuts_words(other)}"
            )


def _unite(variables: Sequence[Variable]) -> Variable:
    """One variable with the states of all; their names, kinds and cuts are equal."""
    if variables[0].states is None:
        return variables[0]
    states = {state for variable in variables for state in variable.states or ()}
    return Variable(variables[0].name, tuple(states), variables[0].cuts)


def _variable_to_dict(variable: Variable) -> Any:
    if variable.states is None:
        return None
    if variable.cuts is None:
        return list(variable.states)
    missing = {"missing": True} if MISSING_STATE in variable.states else {}
    return {"cuts": list(variable.cuts), **missing}


def _variable_from_dict(name: str, found: Any) -> Variable:
    if found is None or found == NUMBER:
        return Variable(name)
    if isinstance(found, list | tuple):
        return Variable(name, tuple(found))
    if isinstance(found, Mapping) and "cuts" in found and set(found) <= {"cuts", "missing"}:
        cuts, missing = found["cuts"], found.get("missing", False)
        numbers = isinstance(cuts, list | tuple) and not any(isinstance(c, bool) for c in cuts)
        if numbers and isinstance(missing, bool):
            return Variable.cut(name, cuts, missing=missing)
    raise SchemaError(
        f'column {name!r}: expected a list of states or {{"cuts": [numbers]}}, found {found!r:.60}'
    )


def _is_valid(text: str) -> bool:
    """Whether it is text that a file could hold; half of a character (a lone surrogate) is not."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _cuts_words(variable: Variable) -> str:
    return "no cuts" if variable.cuts is None else f"cuts {list(variable.cuts)}"


def _some(texts: Sequence[str], limit: int = 6) -> str:
    """The first few of `texts`, for an error message."""
    shown = ", ".join(f"{text!r:.60}" for text in texts[:limit])
    return shown + (f", ... ({len(texts)} in all)" if len(texts) > limit else "")
