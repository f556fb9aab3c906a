"""Decomposable scores: BDeu, BIC, AIC, Gaussian BIC and AIC, BGe.

`SCORES` is the one table from a name to its maker and the kind of data that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from fedbn.errors import ConfigError
from fedbn.scores.base import LocalScore, TabulatedScore, total_score
from fedbn.scores.bdeu import bdeu
from fedbn.scores.bic import aic, bic
from fedbn.scores.counts import MEMORY_MB
from fedbn.scores.gaussian import bge, gaussian_aic, gaussian_bic

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.graphs.dag import DAG

__all__ = [
    "SCORES",
    "LocalScore",
    "ScoreEntry",
    "TabulatedScore",
    "dag_score",
    "make_score",
    "total_score",
]


@dataclass(frozen=True)
class ScoreEntry:
    """A score that can be chosen by name: the kind of data, and how it is made from (data, ess,
    row weight, MB of memory)."""

    kind: Literal["categorical", "gaussian"]
    make: Callable[[Dataset, float, float, float], TabulatedScore]


SCORES: Mapping[str, ScoreEntry] = MappingProxyType(
    {
        "bdeu": ScoreEntry("categorical", bdeu),
        "bic": ScoreEntry("categorical", lambda dataset, _, k, mb: bic(dataset, k, mb)),
        "aic": ScoreEntry("categorical", lambda dataset, _, k, mb: aic(dataset, k, mb)),
        "gaussian-bic": ScoreEntry("gaussian", lambda dataset, _, k, __: gaussian_bic(dataset, k)),
        "gaussian-aic": ScoreEntry("gaussian", lambda dataset, _, k, __: gaussian_aic(dataset, k)),
        "bge": ScoreEntry("gaussian", lambda dataset, _, k, __: bge(dataset, k)),
    }
)


def make_score(
    name: str,
    dataset: Dataset,
    *,
    ess: float = 1.0,
    row_weight: float = 1.0,
    memory_mb: float = MEMORY_MB,
) -> TabulatedScore:
    """The score `name` of a data set.

    Parameters
    ----------
    name : bdeu, bic, aic, gaussian-bic, gaussian-aic or bge.
    dataset : of the kind that the score needs.
    ess : equivalent sample size; only BDeu uses it.
    row_weight : k ≥ 1, a real number: the score counts every row k times (counts times k; BIC's
        ln N becomes ln k N), so it admits weaker edges.
    memory_mb : bound on the stored values and bitmaps of a categorical score; when the store is
        full it is emptied, which costs time and changes no score.

    Raises
    ------
    ConfigError : no score has this name, ess is not positive, or memory_mb or row_weight is below
        1.
    DataError : the data are of the other kind.

    >>> from fedbn.data.dataset import Dataset, Schema
    >>> data = Dataset(Schema.categorical({"a": "01", "b": "01"}), [[0, 0], [1, 1], [1, 1]])
    >>> score = make_score("bic", data)
    >>> round(score.local_score(0, []), 4), round(score.local_score(0, [1]), 4)
    (-2.4588, -1.0986)
    """
    if name not in SCORES:
        raise ConfigError(f"the score must be one of {', '.join(SCORES)}, not {name!r}")
    return SCORES[name].make(dataset, ess, row_weight, memory_mb)


def dag_score(dag: DAG, dataset: Dataset, name: str = "bdeu", ess: float = 1.0) -> float:
    """Score of a DAG on a table, higher is better: the sum of its local scores.

    Parameters
    ----------
    dag : over the columns of `dataset`.
    dataset : the table.
    name : a score's name (bdeu, bic, aic, gaussian-bic, ...).
    ess : equivalent sample size, for scores that have one.
    """
    return float(total_score(make_score(name, dataset, ess=ess), dag.reorder(dataset.names)))
