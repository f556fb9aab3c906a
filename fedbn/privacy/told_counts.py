"""Two tables of counts that a site told, or is to tell: whether they differ by few rows.

Counts are comparable over the columns that both tables have, however each reads them. Of one column

* equal states, or equal cut points, are compared one by one;
* cut points and other cut points, or cut points and states that are numbers, are compared by the
  counts up to each and beyond each, every one with every one;
* other states are matched by their text, or as numbers ("1" and "1.0"); of those without a match
  every one is compared with every one, for a state may have got another name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product

import numpy as np

from fedbn.arrays import Ints
from fedbn.data.schema import MISSING_STATE, Schema, Variable

COMPARED_PAIRS = 20_000_000
"""Pairs of counts of two tables that are compared at most."""


@dataclass(frozen=True)
class ToldCounts:
    """One table of counts that was told.

    Attributes
    ----------
    digest : of the site's schema and rows; of the same ones all counts agree.
    schema : the columns, in the order of the axes; None for the number of rows alone.
    cells : one axis per column.
    sums : whether sums of products of these rows were told with them, or only counts.
    share : whether this is how many cells of a column are there and missing (`missing_cells`), of
        no state of the column itself.
    """

    digest: str
    schema: Schema | None
    cells: Ints
    sums: bool = False
    share: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return () if self.schema is None else self.schema.names

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.cells.sum())

    @property
    def tells_rows_alone(self) -> bool:
        """Whether nothing but the number of rows was told."""
        return self.schema is None and not self.sums

    def over(self, names: Iterable[str]) -> ToldCounts:
        """The counts over some of the columns: the others are summed out."""
        wanted = set(names)
        away = tuple(k for k, name in enumerate(self.names) if name not in wanted)
        kept = [] if self.schema is None else [v for v in self.schema.variables if v.name in wanted]
        schema = Schema(tuple(kept)) if kept else None
        return ToldCounts(self.digest, schema, self.cells.sum(axis=away), self.sums, self.share)

    def rows_with_a_cell(self, least: int) -> ToldCounts | None:
        """Of a share of missing cells the number of rows that have the cell; None for other tables,
        and where fewer than `least` cells are missing or there, so that no share is told."""
        if not self.share or self.cells.min() < least:
            return None
        return ToldCounts(self.digest, None, self.cells[0])

    def missing_cells(self) -> Iterable[ToldCounts]:
        """How many cells are missing of each column that has a state for them."""
        for variable in () if self.schema is None or self.share else self.schema.variables:
            if MISSING_STATE in (variable.states or ()):
                missing = int(_one(variable, MISSING_STATE) @ self.over([variable.name]).cells)
                yield missing_cells(self.digest, variable.name, self.rows, missing)

    def differs_by_few(self, other: ToldCounts, least: int) -> bool:
        """Whether a difference of the two tells of 1 to `least` - 1 rows: whether some counts here
        and there, over any columns that both have or over none (the number of rows), differ by so
        few; or, as sums of products differ by whatever the rows are that came and went, whether as
        many went as came."""
        if self.digest == other.digest:
            return False
        more_than_rows = not (self.tells_rows_alone or other.tells_rows_alone)
        if (self.sums or other.sums) and more_than_rows and abs(self.rows - other.rows) < least:
            return True
        alike = self.share == other.share
        common = sorted(set(self.names) & set(other.names)) if alike else []
        chosen = chain.from_iterable(combinations(common, k) for k in range(len(common) + 1))
        return any(_are_near(self.over(each), other.over(each), least) for each in chosen)


def missing_cells(digest: str, name: str, rows: int, missing: int) -> ToldCounts:
    """How many of the cells of a column are missing: a table of its own, as a site that tells this
    may have no state for them."""
    schema = Schema.categorical({name: ("there", "gone")})
    return ToldCounts(digest, schema, np.array([rows - missing, missing]), share=True)


def pairs_to_compare(
    tables: Sequence[ToldCounts], earlier: Sequence[ToldCounts], least: int
) -> Iterable[tuple[ToldCounts, ToldCounts]]:
    """Every new table with every earlier one, to look whether they differ by few; and the rows that
    have a cell of a column, as shares of missing cells tell them, with the rows of all other
    tables, which may lack the rows without it."""
    here, there = _with_missing_cells(tables), _with_missing_cells(earlier)
    yield from product(here, there)
    yield from product(_rows_with_a_cell(here, least), _of_rows(earlier))
    yield from product(_of_rows(tables), _rows_with_a_cell(there, least))


def _rows_with_a_cell(tables: Sequence[ToldCounts], least: int) -> list[ToldCounts]:
    """The numbers of rows that have a cell, once each, where the share of missing cells is told."""
    found = {
        (each.digest, each.rows): each
        for each in (table.rows_with_a_cell(least) for table in tables)
        if each is not None
    }
    return [*found.values()]


def _of_rows(tables: Sequence[ToldCounts]) -> list[ToldCounts]:
    """The tables that are no shares of missing cells."""
    return [table for table in tables if not table.share]


def _with_missing_cells(tables: Sequence[ToldCounts]) -> list[ToldCounts]:
    """The tables, and once for each column and its rows how many cells are missing, as shares of
    missing cells are compared with counts that have a state for them."""
    derived = {
        (each.digest, each.names): each for table in tables for each in table.missing_cells()
    }
    return [*tables, *derived.values()]


def _are_near(one: ToldCounts, other: ToldCounts, least: int) -> bool:
    """Whether a count over the same columns differs by 1 to `least` - 1, or may: where there are
    too many pairs to compare."""
    here, there = one.cells, other.cells
    if one.schema is not None and other.schema is not None:
        pairs = list(zip(one.schema.variables, other.schema.variables, strict=True))
        sums = [None if a == b else _comparable(a, b) for a, b in pairs]
        sizes = [
            len(a.states or ()) if found is None else len(found[0])
            for (a, _), found in zip(pairs, sums, strict=True)
        ]
        if math.prod(sizes) > COMPARED_PAIRS:
            return True
        for axis, found in enumerate(sums):
            if found is not None:
                here, there = _sum_states(found[0], here, axis), _sum_states(found[1], there, axis)
    apart = np.abs(here - there)
    return bool(((apart > 0) & (apart < least)).any())


def _sum_states(chosen: Ints, cells: Ints, axis: int) -> Ints:
    """The sums over states, int64 [K, states] of zeros and ones, in place of an axis."""
    found: Ints = np.moveaxis(np.tensordot(chosen, cells, axes=(1, axis)), 0, axis)
    return found


def _comparable(a: Variable, b: Variable) -> tuple[Ints, Ints]:
    """K sums over the states of one column here, and the K there that they are compared with."""
    if a.cuts != b.cuts:
        here, there = _thresholds(a), _thresholds(b)
        if here is not None and there is not None:
            up_to = list(product(here, there))
            beyond = [(here[-1] - low, there[-1] - high) for low, high in up_to]
            missing = _one(a, MISSING_STATE), _one(b, MISSING_STATE)
            return _stack([*up_to, *beyond, missing])
    return _stack(list(_match(a, b)))


def _stack(pairs: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    return np.stack([one for one, _ in pairs]), np.stack([other for _, other in pairs])


def _thresholds(variable: Variable) -> list[Ints] | None:
    """The states up to each number, last all that are numbers; None where they are none."""
    states = [state for state in variable.states or () if state != MISSING_STATE]
    if variable.cuts is not None:
        ordered = states
    else:
        numbers = {state: _number(state) for state in states}
        known = {state: number for state, number in numbers.items() if number is not None}
        if len(known) < len(states):
            return None
        ordered = sorted(known, key=lambda state: known[state])
    found, up_to = [], np.zeros(len(variable.states or ()), dtype=np.int64)
    for state in ordered:
        up_to = up_to + _one(variable, state)
        found.append(up_to)
    return found


def _match(a: Variable, b: Variable) -> Iterable[tuple[Ints, Ints]]:
    """Pairs of states: of one name or number; a lone one and none; every two lone ones."""
    here, there = _by_key(a), _by_key(b)
    for key in here.keys() | there.keys():
        yield here.get(key, _none(a)), there.get(key, _none(b))
    lone = (own for key, own in here.items() if key not in there)
    yield from product(lone, [own for key, own in there.items() if key not in here])


def _by_key(variable: Variable) -> dict[str | float, Ints]:
    """Every state by its number, or by its text where it is none or two have one number."""
    states = variable.states or ()
    numbers = [_number(state) for state in states]
    found = {}
    for state, number in zip(states, numbers, strict=True):
        key = state if number is None or numbers.count(number) > 1 else number
        found[key] = _one(variable, state)
    return found


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _one(variable: Variable, state: str) -> Ints:
    """The state alone; nothing, where the column does not have it."""
    return np.array([own == state for own in variable.states or ()], dtype=np.int64)


def _none(variable: Variable) -> Ints:
    return np.zeros(len(variable.states or ()), dtype=np.int64)
