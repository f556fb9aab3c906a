"""What all attacks share: the learner under attack, neighbours of a table, intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG

Structures = tuple[tuple[DAG, ...], tuple[float, ...]]
"""DAGs and a weight for each: what leaves a site."""

Learn = Callable[[Dataset, np.random.Generator], Structures]
"""The learner under attack, with its own randomness."""


@dataclass(frozen=True)
class Share:
    """`hits` of `of` trials, with the exact 95 % interval of Clopper and Pearson.

    >>> share = Share.of_trials(1, 10)
    >>> share.value, round(share.low, 4), round(share.high, 4)
    (0.1, 0.0025, 0.445)
    """

    hits: int
    of: int
    low: float
    high: float

    @classmethod
    def of_trials(cls, hits: int, of: int) -> Share:
        """The share; raises ConfigError unless there was a trial."""
        if of < 1:
            raise ConfigError("a share needs at least one trial")
        interval = binomtest(hits, of).proportion_ci(0.95, method="exact")
        return cls(hits, of, float(interval.low), float(interval.high))

    @property
    def value(self) -> float:
        """hits / of."""
        return self.hits / self.of


def without_row(dataset: Dataset, row: int) -> Dataset:
    """The table without one of its rows; the last row cannot be taken."""
    return Dataset(dataset.schema, np.delete(dataset.table, row, axis=0))


def with_row(dataset: Dataset, row: np.ndarray, copies: int = 1) -> Dataset:
    """The table with a row, int32 [n], added at its end."""
    return Dataset(dataset.schema, np.vstack([dataset.table, np.tile(row, (copies, 1))]))
