"""Sums of the families of a DAG of categories and numbers: all that its parameters need of a table.

Counts of categories, and for every number the sums of its family by configuration of its categories
(`fedbn.networks.conditional_sums`). No category has a number as parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedbn.arrays import Ints
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import DataError
from fedbn.graphs.dag import DAG
from fedbn.networks.conditional_gaussian import NumberFamily, require_numbers_last
from fedbn.networks.conditional_sums import ConditionalSums, conditional_sums
from fedbn.networks.family_counts import Family, FamilyCounts, FamilyTables, count_families
from fedbn.networks.moments import Moments, family_pairs
from fedbn.networks.network import MAX_CELLS, configurations


@dataclass(frozen=True)
class MixedFamilies:
    """What is asked for: the families of a DAG of categories and numbers, over the names of the
    agreed schema, in that order; of some of its variables, or of all.

    Raises NetworkError, naming the arc, where a category has a number as parent; DataError where
    there would be more than MAX_CELLS numbers.
    """

    dag: DAG
    schema: Schema
    some: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        require_numbers_last(self.dag, self.schema)
        total = sum(sum(self.sizes(node)) for node in self.nodes)
        if total > MAX_CELLS:
            raise DataError(
                f"the sums of all families may have at most {MAX_CELLS} cells, not {total}: there "
                "must be fewer parents (max-parents), or columns with fewer states"
            )

    @property
    def nodes(self) -> tuple[int, ...]:
        """The variables whose families are asked for, ascending."""
        return tuple(range(self.dag.n)) if self.some is None else self.some

    @property
    def families(self) -> tuple[Family, ...]:
        """Their families."""
        return tuple(Family(node, self.dag.parents(node)) for node in self.nodes)

    @property
    def numbers(self) -> dict[int, NumberFamily]:
        """Of them the numbers, with their families."""
        variables = self.schema.variables
        return {v: self.number_family(v) for v in self.nodes if variables[v].states is None}

    @property
    def counted(self) -> FamilyTables | None:
        """All counts of categories that their sums hold; None where there are none."""
        found = {each for v in self.nodes if (each := self.table_family(v)) is not None}
        return FamilyTables(self.category_schema, tuple(sorted(found))) if found else None

    @cached_property
    def categories(self) -> tuple[int, ...]:
        """The columns with states, as places in the schema."""
        return tuple(i for i, each in enumerate(self.schema.variables) if each.states is not None)

    @cached_property
    def category_schema(self) -> Schema:
        """The schema of these alone."""
        return Schema(tuple(self.schema.variables[i] for i in self.categories))

    def number_family(self, node: int) -> NumberFamily:
        """The family of a number."""
        return NumberFamily.of(self.dag, self.schema, node)

    def table_family(self, node: int) -> Family | None:
        """What is counted for a variable, in the schema of the categories: a category's family, or
        the categories among a number's parents as if the last were the child; None if there are
        none."""
        place = {column: i for i, column in enumerate(self.categories)}
        parents = [place[i] for i in self.dag.parents(node) if i in place]
        if node in place:
            return Family(place[node], tuple(parents))
        return Family(parents[-1], tuple(parents[:-1])) if parents else None

    def sizes(self, node: int) -> tuple[int, int, int]:
        """How many counts, means and products the family of a variable has."""
        states = self.schema.variables[node].states
        if states is not None:
            above = [len(self.schema.variables[i].states or ()) for i in self.dag.parents(node)]
            return configurations(above) * len(states), 0, 0
        family = self.number_family(node)
        q, k = configurations(family.sizes), len(family.columns)
        return q, q * k, q * k * (k + 1) // 2


@dataclass(frozen=True, eq=False)
class MixedSums:
    """A site's sums of the families that it tells: the rows of its table, category -> counts int64
    [q, r], and number -> its sums."""

    rows: int
    tables: Mapping[int, Ints]
    numbers: Mapping[int, ConditionalSums]

    @property
    def told(self) -> frozenset[int]:
        """The variables whose families are told."""
        return frozenset((*self.tables, *self.numbers))

    def at(self, places: Mapping[int, int]) -> MixedSums:
        """The sums of these of the families, in the order of their columns, under other places."""
        return MixedSums(
            self.rows,
            {new: self.tables[old] for old, new in places.items() if old in self.tables},
            {new: self.numbers[old] for old, new in places.items() if old in self.numbers},
        )

    def only(self, nodes: frozenset[int]) -> MixedSums:
        """The sums of some of these families."""
        return MixedSums(
            self.rows,
            {node: own for node, own in self.tables.items() if node in nodes},
            {node: own for node, own in self.numbers.items() if node in nodes},
        )


def sums_of_moments(moments: Moments, dag: DAG) -> MixedSums:
    """The moments of numbers, of `family_pairs(dag)`, as such sums."""
    place = {pair: i for i, pair in enumerate(family_pairs(dag))}
    numbers = {}
    for node in range(dag.n):
        family = [*dag.parents(node), node]
        block = np.array([[place[min(i, j), max(i, j)] for j in family] for i in family])
        numbers[node] = ConditionalSums(
            np.array([moments.rows]), moments.means[None, family], moments.scatter[block][None]
        )
    return MixedSums(moments.rows, {}, numbers)


def mixed_sums(dataset: Dataset, wanted: MixedFamilies) -> MixedSums:
    """The sums of a table; raises DataError where a cell is missing."""
    counts = category_tables(dataset, wanted)
    tables, numbers = {}, {}
    for node in wanted.nodes:
        if wanted.schema.variables[node].states is None:
            numbers[node] = conditional_sums(dataset, wanted.number_family(node))
            continue
        family = wanted.table_family(node)
        assert family is not None
        assert counts is not None
        tables[node] = counts.table(family)
    return MixedSums(dataset.n_rows, tables, numbers)


def category_tables(dataset: Dataset, wanted: MixedFamilies) -> FamilyCounts | None:
    """All counts of categories that the sums hold; None where there are none."""
    tables = wanted.counted
    if tables is None:
        return None
    codes = np.column_stack([dataset.column(i) for i in wanted.categories])
    return count_families(Dataset(wanted.category_schema, codes), set(tables.families))
