"""Sums of the families of a mixed DAG on the wire; the request is the DAG, as a structure message.

header    uint8   [33]   version, SHA-256 of the schema and the DAG
rows      int64   [1]
told      uint8   [n]    whether the family of a variable is told, or held back for a small count
counts    int64   [C]    of categories: the cells of their tables; of numbers: rows by configuration
means     float64 [M]    of numbers: by configuration, of the number parents and the number
products  float64 [P]    the upper triangles of the sums of products about these means

Families come in name order; what is held back is 0. No category has a number as parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbn.arrays import Ints
from fedbn.data.dataset import Dataset, Schema
from fedbn.data.quantiles import MANY_NUMBERS
from fedbn.errors import DataError, MessageError, NetworkError
from fedbn.federation.moments_message import (
    MAX_SITE_ROWS,
    ROUNDING,
    ROWS,
    digest_of,
    means_field,
    products_field,
    require_of_a_table,
)
from fedbn.graphs.dag import DAG
from fedbn.networks.conditional_gaussian import NumberFamily, require_numbers_last
from fedbn.networks.conditional_sums import ConditionalSums, conditional_sums
from fedbn.networks.family_counts import Family, FamilyCounts, count_families
from fedbn.networks.network import MAX_CELLS, configurations
from fedbn.wire.arrays import ArrayFormat, Field
from fedbn.wire.npy import Arrays
from fedbn.wire.sender import said_by

__all__ = [
    "CONDITIONALS",
    "MixedFamilies",
    "MixedSums",
    "category_tables",
    "mixed_sums",
    "sums_from_arrays",
    "sums_to_arrays",
    "tells_few",
]

CONDITIONALS = ArrayFormat(
    "conditional",
    version=1,
    about="schema and the DAG that were asked for",
    fields=(
        ROWS,
        Field("told", np.uint8, ("n",), most=1),
        Field("counts", np.int64, ("C",), least=0, most=MAX_SITE_ROWS),
        means_field("M"),
        products_field(),
    ),
)


@dataclass(frozen=True)
class MixedFamilies:
    """What is asked for: the families of a DAG of categories and numbers, over the names of the
    agreed schema, in that order.

    Raises NetworkError, naming the arc, where a category has a number as parent; DataError where
    there would be more than MAX_CELLS numbers.
    """

    dag: DAG
    schema: Schema

    def __post_init__(self) -> None:
        require_numbers_last(self.dag, self.schema)
        total = sum(sum(self.sizes(node)) for node in range(self.dag.n))
        if total > MAX_CELLS:
            raise DataError(
                f"the sums of all families may have at most {MAX_CELLS} cells, not {total}"
            )

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

    @property
    def digest(self) -> bytes:
        """What an answer is about."""
        return digest_of(self.dag, self.schema)


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

    def only(self, nodes: frozenset[int]) -> MixedSums:
        """The sums of some of these families."""
        return MixedSums(
            self.rows,
            {node: own for node, own in self.tables.items() if node in nodes},
            {node: own for node, own in self.numbers.items() if node in nodes},
        )


def mixed_sums(dataset: Dataset, wanted: MixedFamilies) -> MixedSums:
    """The sums of a table; raises DataError where a cell is missing."""
    counts = category_tables(dataset, wanted)
    tables, numbers = {}, {}
    for node, variable in enumerate(wanted.schema.variables):
        if variable.states is None:
            numbers[node] = conditional_sums(dataset, wanted.number_family(node))
            continue
        family = wanted.table_family(node)
        assert family is not None
        tables[node] = counts.table(family)
    return MixedSums(dataset.n_rows, tables, numbers)


def category_tables(dataset: Dataset, wanted: MixedFamilies) -> FamilyCounts:
    """All counts of categories that the sums hold."""
    codes = np.column_stack([dataset.column(i) for i in wanted.categories])
    families = (wanted.table_family(node) for node in range(wanted.dag.n))
    return count_families(
        Dataset(wanted.category_schema, codes), {each for each in families if each is not None}
    )


def tells_few(dataset: Dataset, family: NumberFamily, least: int) -> bool:
    """Whether the sums of a number's family may tell of 1 to `least` - 1 rows: where a
    configuration of its categories has so few, where a number has few values, so that its sums are
    counts, and where more than half of the rows of a configuration share one, so that its sums tell
    of the others."""
    place = family.configuration(dataset)
    rows = np.bincount(place)
    if ((rows > 0) & (rows < least)).any():
        return True
    for column in family.columns:
        values, codes = np.unique(dataset.column(column), return_inverse=True)
        keys, counts = np.unique(place * len(values) + codes, return_counts=True)
        _, first = np.unique(keys // len(values), return_index=True)
        most = np.maximum.reduceat(counts, first)
        if len(values) <= MANY_NUMBERS or (2 * most > rows[rows > 0]).any():
            return True
    return False


def sums_to_arrays(sums: MixedSums, wanted: MixedFamilies) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an answer, as `CONDITIONALS` has them."""
    counts, means, products = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
    for node in range(wanted.dag.n):
        sizes = wanted.sizes(node)
        parts: tuple[npt.NDArray[Any], ...] = tuple(map(np.zeros, sizes))
        if node in sums.tables:
            parts = (sums.tables[node].ravel(), *parts[1:])
        elif node in sums.numbers:
            own = sums.numbers[node]
            upper = np.triu_indices(own.means.shape[1])
            parts = (own.rows, own.means.ravel(), own.products[:, upper[0], upper[1]].ravel())
        for whole, part in zip((counts, means, products), parts, strict=True):
            whole.append(part)
    return CONDITIONALS.encode(
        wanted.digest,
        rows=[sums.rows],
        told=[node in sums.told for node in range(wanted.dag.n)],
        counts=np.concatenate(counts).astype(np.int64),
        means=np.concatenate(means),
        products=np.concatenate(products),
    )


@said_by()
def sums_from_arrays(arrays: Arrays, wanted: MixedFamilies) -> MixedSums:
    """Check the arrays of an answer from an untrusted site and build it; raises MessageError,
    naming the first thing that is wrong."""
    n = wanted.dag.n
    lengths = np.cumsum([(0, 0, 0), *(wanted.sizes(node) for node in range(n))], axis=0)
    total = dict(zip("CMP", map(int, lengths[-1]), strict=True))
    found = CONDITIONALS.decode(arrays, wanted.digest, n=n, **total)
    rows = int(found["rows"][0])
    tables: dict[int, Ints] = {}
    numbers: dict[int, ConditionalSums] = {}
    for node, variable in enumerate(wanted.schema.variables):
        (c, m, p), (c_end, m_end, p_end) = lengths[node], lengths[node + 1]
        counts = found["counts"][c:c_end]
        means, products = found["means"][m:m_end], found["products"][p:p_end]
        if not found["told"][node]:
            if counts.any() or means.any() or products.any():
                raise MessageError(f"the family of {variable.name!r} is held back, and told")
            continue
        if int(counts.sum()) != rows:
            raise MessageError(
                f"the family of {variable.name!r} must count {rows} rows, not {counts.sum()}"
            )
        if variable.states is not None:
            tables[node] = counts.reshape(-1, len(variable.states))
        else:
            family = wanted.number_family(node)
            numbers[node] = _number_sums(variable.name, family, counts, means, products)
    return MixedSums(rows, tables, numbers)


def _number_sums(
    name: str,
    family: NumberFamily,
    rows: Ints,
    means: npt.NDArray[np.float64],
    upper: npt.NDArray[np.float64],
) -> ConditionalSums:
    """The sums of a number; MessageError where no table could have them."""
    k = len(family.columns)
    places = np.triu_indices(k)
    products = np.zeros((len(rows), k, k))
    products[:, places[0], places[1]] = upper.reshape(len(rows), -1)
    products[:, places[1], places[0]] = upper.reshape(len(rows), -1)
    require_of_a_table(products, f"the family of {name!r}", ROUNDING * k)
    try:
        return ConditionalSums(rows, means.reshape(-1, k), products)
    except (DataError, NetworkError) as error:
        raise MessageError(f"the family of {name!r}: {error}") from None
