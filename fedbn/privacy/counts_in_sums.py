"""The counts that sums of products hold: of categories, and of numbers with few values.

The sums over indicators are counts of pairs of states. A number with at most MANY_NUMBERS different
values is as good as a category, for its sums tell as much; and so is one of which more than half of
the rows have one value, that value being one state and everything else the other. What is left are
numbers that mostly differ. Of these, sums over the rows with one state tell few people only where
most of these rows share one value (`rows_off_a_common_value`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.data.dataset import Dataset
from fedbn.data.quantiles import MANY_NUMBERS
from fedbn.data.schema import Schema, Variable
from fedbn.networks.conditional_gaussian import NumberFamily
from fedbn.networks.family_counts import Family, FamilyCounts, count_families

OTHER = "any other"
"""The state of a number that is not the one which most rows have."""

Pairs = Iterable[tuple[int, int]]


def counts_in_sums(dataset: Dataset, pairs: Pairs) -> FamilyCounts | None:
    """The counts of all columns with states, and of those of these pairs of columns (by their
    places, whose sums of products are told) that both have some: of a schema in which such numbers
    are categories, whose states are their values. None where no column has states."""
    columns = _columns_with_states(dataset)
    if not columns:
        return None
    place = {column: k for k, column in enumerate(columns)}
    schema = Schema(tuple(variable for variable, _ in columns.values()))
    codes = np.column_stack([own for _, own in columns.values()])
    families = {Family(k, ()) for k in range(schema.n)}
    for pair in pairs:
        i, j = sorted(pair)
        if i != j and i in place and j in place:
            families.add(Family(place[j], (place[i],)))
    return count_families(Dataset(schema, codes), families)


def rows_off_a_common_value(dataset: Dataset, pairs: Pairs, least: int) -> Ints:
    """Of every pair of a column with states and a number without: of the rows with one state, of
    which more than half have one value of the number, how many have another. States of fewer rows
    than `least` are of no interest."""
    columns = _columns_with_states(dataset)
    tied = _tied_numbers(dataset, columns, least)
    found = [np.zeros(0, dtype=np.int64)]
    for pair in pairs:
        for state, number in (pair, pair[::-1]):
            if state in columns and number in tied:
                found.append(_off_by_state(columns[state][1], tied[number]))
    return np.concatenate(found)


def _columns_with_states(dataset: Dataset) -> Mapping[int, tuple[Variable, Ints]]:
    """Place of a column with states -> it as a category, and its codes; in the columns' order."""
    found = {}
    for place, variable in enumerate(dataset.schema.variables):
        values = dataset.column(place)
        if variable.states is not None:
            found[place] = variable, values.astype(np.int64)
            continue
        own = _states_of_numbers(variable.name, values)
        if own is not None:
            found[place] = own
    return found


def _states_of_numbers(name: str, numbers: Floats) -> tuple[Variable, Ints] | None:
    """A column of numbers as a category; None where its values are many."""
    values, codes, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    states = [repr(float(value)) for value in values]
    if len(values) > MANY_NUMBERS:
        most = int(np.argmax(counts))
        if 2 * counts[most] <= numbers.size:
            return None
        states, codes = [states[most], OTHER], (codes != most).astype(np.int64)
    variable = Variable(name, tuple(states))
    order = np.array([(variable.states or ()).index(state) for state in states], dtype=np.int64)
    return variable, order[codes]


def _tied_numbers(
    dataset: Dataset, columns: Iterable[int], least: int
) -> Mapping[int, tuple[Ints, int]]:
    """Place of a column of many values -> its codes and how many there are, where some value
    occurs so frequently that it could be that of most of `least` rows."""
    found = {}
    for place in sorted(set(range(dataset.n)) - set(columns)):
        _, codes, counts = np.unique(dataset.column(place), return_inverse=True, return_counts=True)
        if 2 * counts.max() > least:
            found[place] = codes.astype(np.int64), len(counts)
    return found


def _off_by_state(states: Ints, number: tuple[Ints, int]) -> Ints:
    """State by state, how many rows have another value than the one that most have."""
    codes, size = number
    keys, counts = np.unique(states * size + codes, return_counts=True)
    _, first = np.unique(keys // size, return_index=True)
    rows, most = np.add.reduceat(counts, first), np.maximum.reduceat(counts, first)
    return np.where(2 * most > rows, rows - most, 0).astype(np.int64)


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
