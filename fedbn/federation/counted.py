"""What a site has counted for others, so that two answers are no difference of a few rows.

Under one contract all counts are of the same rows, in the same cells, and any two of them agree.
Under two contracts they need not: another cut point, a table with one more row. So the site keeps
every table that it told (`NAME.counted`, beside its log, for nobody else to read; of a table its
cells above 0, of a column its states once), and refuses a question under another contract where a
count, or a sum of counts up to a cut point, would differ from one that it told before by 1 to one
less than `least`. Where the file is full nothing new is counted (`fedbn.federation.kept_lines`).

A question is compared with all earlier ones over every set of columns that both have, the empty
one, which is the number of rows, among them. What would be too much to compare is refused, or held
back before (`COMPARED_CELLS`). What is not seen: differences of sums of differences,
and what others know.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.arrays import Ints
from fedbn.data.schema import MISSING_STATE, Schema, Variable
from fedbn.federation.kept_lines import enter_lines
from fedbn.federation.policy import refusal
from fedbn.federation.small_counts import COMPARED_CELLS
from fedbn.networks.family_counts import FamilyCounts

__all__ = ["Counted", "counted_beside", "enter_counts", "enter_moments", "read_tables", "tables_of"]


COMPARED_PAIRS = 20_000_000
"""Pairs of counts under two contracts that are compared at most."""


@dataclass(frozen=True)
class Counted:
    """One table of counts that was told.

    Attributes
    ----------
    contract : its hash.
    schema : the columns, in the order of the axes; None for the number of rows alone.
    cells : one axis per column.
    """

    contract: str
    schema: Schema | None
    cells: Ints

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return () if self.schema is None else self.schema.names

    def over(self, names: Iterable[str]) -> Counted:
        """The counts over some of the columns: the others are summed out."""
        wanted = set(names)
        away = tuple(k for k, name in enumerate(self.names) if name not in wanted)
        kept = [] if self.schema is None else [v for v in self.schema.variables if v.name in wanted]
        return Counted(
            self.contract, Schema(tuple(kept)) if kept else None, self.cells.sum(axis=away)
        )

    def differs_by_few(self, other: Counted, least: int) -> bool:
        """Whether some count here and there, over any columns, differ by 1 to `least` - 1."""
        common = sorted(set(self.names) & set(other.names))
        chosen = chain.from_iterable(combinations(common, k) for k in range(len(common) + 1))
        return any(_are_near(self.over(each), other.over(each), least) for each in chosen)


def _are_near(one: Counted, other: Counted, least: int) -> bool:
    """Whether a count over the same columns differs by 1 to `least` - 1, or may: where there are
    too many pairs to compare."""
    here, there = one.cells, other.cells
    if one.schema is not None and other.schema is not None:
        pairs = zip(one.schema.variables, other.schema.variables, strict=True)
        for axis, (own, theirs) in enumerate(pairs):
            here, there = _align(own, theirs, here, there, axis)
    if math.prod(np.broadcast_shapes(here.shape, there.shape)) > COMPARED_PAIRS:
        return True
    apart = np.abs(here - there)
    return bool(((apart > 0) & (apart < least)).any())


def _align(a: Variable, b: Variable, here: Any, there: Any, axis: int) -> tuple[Any, Any]:
    """Both arrays with comparable entries along an axis; pairs of thresholds get an axis more."""
    if a == b:
        return here, there
    if a.cuts is None or b.cuts is None or a.cuts == b.cuts:
        union = sorted({*(a.states or ()), *(b.states or ())})
        return _spread(a, here, axis, union), _spread(b, there, axis, union)
    summed = [_sum_up_to(each, cells, axis) for each, cells in ((a, here), (b, there))]
    return np.expand_dims(summed[0], -1), np.expand_dims(np.moveaxis(summed[1], axis, -1), axis)


def _spread(variable: Variable, cells: Any, axis: int, states: Sequence[str]) -> Any:
    place = {state: k for k, state in enumerate(variable.states or ())}
    empty = np.zeros_like(np.take(cells, 0, axis=axis))
    found = [np.take(cells, place[s], axis=axis) if s in place else empty for s in states]
    return np.stack(found, axis=axis)


def _sum_up_to(variable: Variable, cells: Any, axis: int) -> Any:
    """The sums up to every cut point, and over all numbers."""
    intervals = [k for k, state in enumerate(variable.states or ()) if state != MISSING_STATE]
    return np.cumsum(np.take(cells, intervals, axis=axis), axis=axis)


def counted_beside(log: Path) -> Path:
    """Where it is written what a site with this log has counted."""
    return log.with_name(f"{log.name}.counted")


def tables_of(counts: FamilyCounts, contract: str) -> list[Counted]:
    """The tables of families, each over its columns in the order of their names.

    Those of more than `COMPARED_CELLS` cells are left out: they leave only a site that lets small
    counts leave, where there is nothing to compare.
    """
    schema, found = counts.tables.schema, []
    for family in counts.tables.families:
        if counts.tables.cells_of(family) > COMPARED_CELLS:
            continue
        columns = [*family.parents, family.node]
        shape = schema.cardinalities[columns].tolist()
        cells = counts.table(family).reshape(shape).transpose(np.argsort(columns))
        part = Schema(tuple(schema.variables[k] for k in sorted(columns)))
        found.append(Counted(contract, part, cells))
    return found


def enter_counts(path: Path, tables: Sequence[Counted], least: int) -> None:
    """Compare tables that are to be told with all that were, and write them down first.

    A table over columns that an earlier one of its contract has, too, is not written again.

    Raises
    ------
    PolicyError : "min-cell", one differs from an earlier one by fewer than `least` rows; "counts",
        the file is full.
    ResultsError : the file cannot be read or written.
    """

    def new(known: Sequence[Any]) -> Iterable[Any]:
        columns, earlier = read_tables(known)
        for table in tables:
            others = [each for each in earlier if each.contract != table.contract]
            if any(table.differs_by_few(before, least) for before in others):
                words = f"counts of {', '.join(table.names)} differ from earlier ones by few rows"
                raise refusal("min-cell", words)
        told = [(each.contract, {*each.names}) for each in earlier]
        for table in sorted(tables, key=lambda each: -len(each.names)):
            own = {*table.names}
            if not any(table.contract == other and own <= names for other, names in told):
                told.append((table.contract, own))
                yield from _to_lines(table, columns)

    enter_lines(path, new, word="counts", holds="what was counted")


def _to_lines(table: Counted, columns: list[Variable]) -> Iterable[Any]:
    """The lines of a table: its columns, where none has them yet, and its cells above 0."""
    assert table.schema is not None
    for variable in table.schema.variables:
        if variable not in columns:
            columns.append(variable)
            yield {"column": Schema((variable,)).to_dict()}
    cells = table.cells.ravel()
    places = np.flatnonzero(cells)
    yield {
        "contract": table.contract,
        "over": [columns.index(variable) for variable in table.schema.variables],
        "gaps": np.diff(places, prepend=0).tolist(),
        "counts": cells[places].tolist(),
    }


def read_tables(known: Sequence[Any]) -> tuple[list[Variable], list[Counted]]:
    """The columns in the order of their lines, and the tables; raises ValueError or KeyError."""
    columns: list[Variable] = []
    found = []
    for line in known:
        if "column" in line:
            columns += Schema.from_dict(line["column"]).variables
        elif "over" in line:
            schema = Schema(tuple(columns[k] for k in line["over"]))
            shape = tuple(schema.cardinalities.tolist())
            cells = np.zeros(math.prod(shape), dtype=np.int64)
            cells[np.cumsum(line["gaps"], dtype=np.int64)] = line["counts"]
            found.append(Counted(str(line["contract"]), schema, cells.reshape(shape)))
        elif not {"digest", "rows"} <= line.keys():
            raise ValueError(f"{line!r:.60} is none of it")
    return columns, found


def enter_moments(path: Path, digest: str, rows: int, least: int) -> None:
    """The same for moments, which have no cells: of other rows there must be `least` more or fewer.

    Parameters
    ----------
    path, least : as for `enter_counts`, which says what is raised.
    digest, rows : of the table.
    """

    def new(known: Sequence[Any]) -> Iterable[Any]:
        read_tables(known)
        earlier = {each["digest"]: each["rows"] for each in known if "digest" in each}
        if any(here != digest and abs(told - rows) < least for here, told in earlier.items()):
            raise refusal("min-cell", "moments of a table that differs by few rows were told")
        if digest not in earlier:
            yield {"digest": digest, "rows": rows}

    enter_lines(path, new, word="counts", holds="what was counted")
