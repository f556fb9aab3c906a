"""Columns whose states tell who a row is about: names, numbers of patients, places, rare words.

What sites agree on holds the names of states, so such a column would tell them to everybody. The
rule looks at one table alone and at the states that its rows have. Columns with cuts are not meant:
their states are intervals, which are agreed on and tell nothing of a row.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.data.schema import MISSING_STATE
from fedbn.errors import ConfigError
from fedbn.wording import count_of


@dataclass(frozen=True)
class IdentifierRule:
    """When a column of states looks like an identifier: if any of these is so.

    Parameters
    ----------
    max_states : it has more states than this.
    rows_per_state : it has more states than one per so many rows, on average; 0: does not count.
    min_state_rows : some state of it has fewer rows than this; 0: does not count.

    Raises
    ------
    ConfigError : a number is negative.
    """

    max_states: int = 50
    rows_per_state: int = 3
    min_state_rows: int = 5

    def __post_init__(self) -> None:
        for name in ("max_states", "rows_per_state", "min_state_rows"):
            if getattr(self, name) < 0:
                raise ConfigError(
                    f"{name.replace('_', '-')} must be at least 0, not {getattr(self, name)}"
                )

    def why_many(self, states: int, rows: int) -> str:
        """Why so many states in so many rows look like an identifier; empty where they do not."""
        if states > self.max_states:
            return f"{count_of(states, 'state')}, more than {self.max_states}"
        if states * self.rows_per_state > rows:
            return f"{count_of(states, 'state')} in {count_of(rows, 'row')}"
        return ""


def identifying_columns(
    dataset: Dataset, rule: IdentifierRule | None = None, allowed: Collection[str] = ()
) -> dict[str, str]:
    """Column -> why it looks like an identifier, of those that do.

    Parameters
    ----------
    dataset : one site's table; numbers have no states, and are no such columns.
    rule : by default with its own numbers.
    allowed : columns that are not looked at.

    Returns
    -------
    Reasons in words, which name no state.

    Examples
    --------
    >>> from fedbn.data.dataset import Schema
    >>> names = [f"patient {i}" for i in range(9)]
    >>> schema = Schema.categorical({"name": names, "smokes": ["no", "yes"]})
    >>> table = Dataset(schema, np.array([[i, i % 2] for i in range(9)]))
    >>> identifying_columns(table, IdentifierRule(min_state_rows=4))
    {'name': '9 states in 9 rows'}
    """
    rule = rule or IdentifierRule()
    found = {}
    for column, variable in enumerate(dataset.schema.variables):
        if variable.name in allowed or variable.cuts is not None or variable.states is None:
            continue
        rows = np.bincount(dataset.seen_in(column), minlength=len(variable.states))
        counts = {
            state: int(number)
            for state, number in zip(variable.states, rows, strict=True)
            if number and state != MISSING_STATE
        }
        why = _why(list(counts.values()), dataset.n_rows, rule)
        if why:
            found[variable.name] = why
    return found


def _why(counts: list[int], rows: int, rule: IdentifierRule) -> str:
    """What is wrong with a column whose states have so many rows; empty for nothing."""
    many = rule.why_many(len(counts), rows)
    if many:
        return many
    rare = sum(count < rule.min_state_rows for count in counts)
    if rare:
        words = "a state" if rare == 1 else f"{rare} states"
        return f"{words} of fewer than {rule.min_state_rows} rows"
    return ""
