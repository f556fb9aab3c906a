"""Exact counts of families, which can be added: what sites give when they share more than graphs.

A family is a variable with a set of parents. Its table counts the rows by configuration of the
parents (in index order, the last running fastest) and state, over the *agreed* states. All that a
decomposable score or a conditional probability table asks of the data is in these integers, and
integers add exactly: the sum over the sites is, to the last digit, the count over all rows
together, in any order of the sites. Parameters of a consensus, the choice between candidates and
questions to averaged networks all ask for the same thing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Ints
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import DataError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.networks.network import MAX_CELLS, configuration_index, configurations
from fedbn.wording import count_of

SMALL_CELLS = 20_000
"""A larger table is taken to be mostly empty: as cost it counts as so many cells, no more."""

LARGEST_TABLE = 1 << 40
"""Cells of one table at most: so large it can be counted, but not written out."""

MAX_ROWS = 1 << 52
"""Rows of one sum at most: floating-point numbers hold counts and their sums up to here exactly."""


class Family(NamedTuple):
    """A variable and its parents, as indices into the agreed names; the parents ascending."""

    node: int
    parents: tuple[int, ...]


def families_of(dags: Iterable[DAG]) -> tuple[Family, ...]:
    """The distinct families of DAGs over the agreed names, sorted by node, then parents.

    >>> chain = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
    >>> families_of([chain, DAG.empty("abc")])[:3]
    (Family(node=0, parents=()), Family(node=1, parents=()), Family(node=1, parents=(0,)))
    """
    found = {
        Family(node, parents) for dag in dags for node, parents in enumerate(dag.parent_sets())
    }
    return tuple(sorted(found))


@dataclass(frozen=True)
class FamilyTables:
    """Which families are counted, and where the cells of each stand.

    Parameters
    ----------
    schema : the agreed one, categorical.
    families : at least one, sorted and distinct, over the schema's variables.

    Raises
    ------
    DataError : the schema is Gaussian; a table has more than LARGEST_TABLE cells; or all together
        have more than MAX_CELLS, each being counted with at most SMALL_CELLS.
    StructureError : the families are not sorted, repeat, or are none of the schema's.
    """

    schema: Schema
    families: tuple[Family, ...]

    def __post_init__(self) -> None:
        if self.schema.kind != "categorical":
            raise DataError("families can be counted in categorical data only")
        require_families(self.families, self.schema.n)
        if max(self.sizes) > LARGEST_TABLE:
            raise DataError(
                "the table of a family may have at most "
                f"{LARGEST_TABLE} cells, not {max(self.sizes)}"
            )
        total = sum(min(size, SMALL_CELLS) for size in self.sizes)
        if total > MAX_CELLS:
            raise DataError(
                f"the tables of all families may have at most {MAX_CELLS} cells, not {total}"
            )

    def cells_of(self, family: Family) -> int:
        """How many cells the table of a family has: q r, exact."""
        sizes = self.schema.cardinalities
        return configurations(sizes[list(family.parents)]) * int(sizes[family.node])

    def require_written(self) -> None:
        """Raise DataError where a table has more than MAX_CELLS cells, too many to be a table of
        probabilities."""
        if max(self.sizes) > MAX_CELLS:
            raise DataError(f"a table may have at most {MAX_CELLS} cells, not {max(self.sizes)}")

    @cached_property
    def sizes(self) -> list[int]:
        """How many cells the table of each family has."""
        return [self.cells_of(family) for family in self.families]

    @cached_property
    def arity(self) -> Ints:
        """r of each family, int64 [F]."""
        nodes = [family.node for family in self.families]
        return self.schema.cardinalities[nodes].astype(np.int64)

    @cached_property
    def start(self) -> Ints:
        """The cells of family f are start[f] to start[f + 1] - 1, int64 [F + 1]."""
        return np.cumsum([0, *self.sizes], dtype=np.int64)

    @cached_property
    def place(self) -> dict[Family, int]:
        """The position of each family."""
        return {family: f for f, family in enumerate(self.families)}


@dataclass(frozen=True, eq=False)
class FamilyCounts:
    """The counts of some families in some rows; `+` gives those of both tables' rows.

    Parameters
    ----------
    tables : the families and their layout.
    places : int64 [S], ascending and distinct: the cells, by the layout, that count any row.
    counts : int64 [S], above 0: their counts; those of every family sum to the same number of
        rows. Both are copied, then read-only.

    Raises
    ------
    DataError : the counts are not as above.

    Examples
    --------
    >>> data = Dataset(Schema.categorical({"a": "01", "b": "01"}), np.array([[0, 1], [1, 1]]))
    >>> half = count_families(data, [Family(1, (0,))])
    >>> (half + half).table(Family(1, (0,))).tolist()
    [[0, 2], [0, 2]]
    """

    tables: FamilyTables
    places: Ints
    counts: Ints

    def __post_init__(self) -> None:
        places, counts = np.array(self.places), np.array(self.counts)
        for name, given in (("places", places), ("counts", counts)):
            if given.dtype != np.int64 or given.shape != (places.size,):
                raise DataError(
                    f"{name} must be int64 [{places.size}], not {given.dtype} {list(given.shape)}"
                )
        size = int(self.tables.start[-1])
        if places.size and (places[0] < 0 or places[-1] >= size or (np.diff(places) <= 0).any()):
            raise DataError(f"places must ascend from 0 to {size - 1} at most")
        if (counts < 1).any() or (counts > MAX_ROWS).any():
            worst = counts[(counts < 1) | (counts > MAX_ROWS)][0]
            raise DataError(f"a count must lie between 1 and {MAX_ROWS}, not {worst}")
        _require_one_total(self.tables, places, counts)
        for name, given in (("places", places), ("counts", counts)):
            given.flags.writeable = False
            object.__setattr__(self, name, given)

    @classmethod
    def of_cells(cls, tables: FamilyTables, cells: Ints) -> FamilyCounts:
        """The counts of all cells, empty ones included, int64 [tables.start[-1]].

        Raises
        ------
        DataError : the cells are not so many, or their counts are not as above.
        """
        given = np.asarray(cells)
        if given.dtype != np.int64 or given.shape != (int(tables.start[-1]),):
            raise DataError(
                f"counts must be int64 [{tables.start[-1]}], not {given.dtype} {list(given.shape)}"
            )
        wrong = given[(given < 0) | (given > MAX_ROWS)]
        if wrong.size:
            raise DataError(f"a count must lie between 0 and {MAX_ROWS}, not {wrong[0]}")
        places = np.flatnonzero(given)
        return cls(tables, places, given[places])

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return int(self.counts[: np.searchsorted(self.places, self.tables.start[1])].sum())

    @property
    def cells(self) -> Ints:
        """The counts of all cells, empty ones included, int64 [tables.start[-1]].

        Raises
        ------
        DataError : there are more than MAX_CELLS.
        """
        size = int(self.tables.start[-1])
        if size > MAX_CELLS:
            raise DataError(f"at most {MAX_CELLS} cells can be written out, not {size}")
        cells = np.zeros(size, dtype=np.int64)
        cells[self.places] = self.counts
        return cells

    def filled_cells(self, family: Family) -> tuple[Ints, Ints]:
        """The cells of one family that count any row, from 0, and their counts; both int64 [S].

        Raises KeyError where it was not counted.
        """
        f = self.tables.place[family]
        first, last = self._filled[f : f + 2]
        return self.places[first:last] - self.tables.start[f], self.counts[first:last]

    @cached_property
    def _filled(self) -> list[int]:
        """The cells of family f that count any row are those from _filled[f] to _filled[f + 1]."""
        found: list[int] = np.searchsorted(self.places, self.tables.start).tolist()
        return found

    def table(self, family: Family) -> Ints:
        """The counts of one family, int64 [q, r].

        Raises
        ------
        KeyError : it was not counted. DataError : it has more than MAX_CELLS cells.
        """
        places, counts = self.filled_cells(family)
        size = self.tables.cells_of(family)
        if size > MAX_CELLS:
            raise DataError(f"at most {MAX_CELLS} cells can be written out, not {size}")
        cells = np.zeros(size, dtype=np.int64)
        cells[places] = counts
        return cells.reshape(-1, int(self.tables.arity[self.tables.place[family]]))

    def of(self, families: Iterable[Family]) -> FamilyCounts:
        """The counts of some of these families; raises KeyError where one was not counted."""
        return self.over(FamilyTables(self.tables.schema, tuple(sorted(set(families)))))

    def over(self, tables: FamilyTables) -> FamilyCounts:
        """The counts of the families of other tables under the same schema; raises KeyError where
        one was not counted."""
        return counts_of_filled(tables, [self.filled_cells(family) for family in tables.families])

    def __add__(self, other: FamilyCounts) -> FamilyCounts:
        """The counts over the rows of both; raises as `sum_of_counts` does."""
        return sum_of_counts([self, other])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FamilyCounts):
            return NotImplemented
        return (
            self.tables == other.tables
            and np.array_equal(self.places, other.places)
            and np.array_equal(self.counts, other.counts)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"FamilyCounts({count_of(len(self.tables.families), 'family')}, "
            f"{count_of(int(self.tables.start[-1]), 'cell')})"
        )


def sum_of_counts(parts: Sequence[FamilyCounts]) -> FamilyCounts:
    """The counts over the rows of all parts, at least one.

    Raises
    ------
    DataError : the families or the schemas differ, or the rows are more than MAX_ROWS.
    """
    tables = parts[0].tables
    if any(part.tables != tables for part in parts):
        raise DataError("counts can be added only of the same families under the same schema")
    places = np.concatenate([part.places for part in parts])
    order = np.argsort(places, kind="stable")
    places = places[order]
    first = np.flatnonzero(np.diff(places, prepend=-1))
    counts = np.concatenate([part.counts for part in parts])[order]
    return FamilyCounts(tables, places[first], np.add.reduceat(counts, first))


def counts_of_filled(tables: FamilyTables, filled: Sequence[tuple[Ints, Ints]]) -> FamilyCounts:
    """The counts of families from the cells of each, as `FamilyCounts.filled_cells` gives them."""
    places = [own + start for (own, _), start in zip(filled, tables.start, strict=False)]
    return FamilyCounts(tables, np.concatenate(places), np.concatenate([own for _, own in filled]))


def count_families(dataset: Dataset, families: Iterable[Family]) -> FamilyCounts:
    """Count families in a table.

    Parameters
    ----------
    dataset : categorical, under the agreed schema.
    families : over its variables, in any order; each is counted once.

    Raises
    ------
    DataError : the data are Gaussian, or the tables are too large together.
    StructureError : a family is none of the data's.
    """
    tables = FamilyTables(dataset.schema, tuple(sorted(set(families))))
    codes, sizes = dataset.codes, dataset.cardinalities
    filled = []
    for family in tables.families:
        columns = [*family.parents, family.node]
        index = configuration_index(codes[:, columns], sizes[columns])
        if tables.cells_of(family) > SMALL_CELLS:
            places, counts = np.unique(index, return_counts=True)
        else:
            every = np.bincount(index)
            places = np.flatnonzero(every)
            counts = every[places]
        filled.append((places.astype(np.int64), counts.astype(np.int64)))
    return counts_of_filled(tables, filled)


def count_own_families(dataset: Dataset, tables: FamilyTables) -> FamilyCounts:
    """The counts of these families in a table with all columns of them, and maybe not of others.

    Parameters
    ----------
    dataset : categorical; of every column that it has, the states are those of the tables' schema.
    tables : the families, under the agreed schema.

    Raises
    ------
    StructureError : the table lacks a column of a family.
    DataError : as `count_families`, or the states are others.

    Examples
    --------
    >>> data = Dataset(Schema.categorical({"b": "01"}), np.array([[0], [1]]))
    >>> wide = FamilyTables(Schema.categorical({"a": "01", "b": "01"}), (Family(1, ()),))
    >>> count_own_families(data, wide).table(Family(1, ())).tolist()
    [[1, 1]]
    """
    schema = tables.schema
    if dataset.schema == schema:
        return count_families(dataset, tables.families)
    if dataset.schema != schema.restrict(dataset.names):
        raise DataError("the states of the table must be those of the agreed schema")
    place = {schema.index(name): k for k, name in enumerate(dataset.names)}
    own = []
    for node, parents in tables.families:
        missing = [schema.names[k] for k in (node, *parents) if k not in place]
        if missing:
            raise StructureError(
                f"the table lacks column {missing[0]!r} of the family of {schema.names[node]!r}"
            )
        own.append(Family(place[node], tuple(place[p] for p in parents)))
    counts = count_families(dataset, own)
    return FamilyCounts(tables, counts.places, counts.counts)


def require_families(families: Sequence[Family], n: int) -> None:
    """Raise StructureError unless these are families over n variables, sorted and distinct."""
    if not families:
        raise StructureError("at least one family must be counted, got none")
    for node, parents in families:
        whole = [node, *parents]
        if min(whole) < 0 or max(whole) >= n or node in parents:
            raise StructureError(
                f"a family must be different variables 0 to {n - 1}, not {node} with {parents}"
            )
        if any(left >= right for left, right in itertools.pairwise(parents)):
            raise StructureError(f"the parents of a family must ascend, not {parents}")
    for before, after in itertools.pairwise(families):
        if before >= after:
            raise StructureError(
                f"families must be sorted and distinct, not {tuple(before)} before {tuple(after)}"
            )


def _require_one_total(tables: FamilyTables, places: Ints, counts: Ints) -> None:
    """Every family has counted the same rows; floating-point sums up to MAX_ROWS are exact."""
    family = np.searchsorted(tables.start, places, side="right") - 1
    totals = np.bincount(family, weights=counts, minlength=len(tables.families))
    if totals.min() == totals.max() <= MAX_ROWS:
        return
    other = int(np.argmax(totals != totals[0]))
    raise DataError(
        f"every family must count the same rows, at most {MAX_ROWS}: family "
        f"{tuple(tables.families[0])} has {totals[0]:.0f}, {tuple(tables.families[other])} has "
        f"{totals[other]:.0f}"
    )
