"""Decomposable scores: BDeu, BIC, AIC, Gaussian BIC and AIC, BGe.

`SCORES` is the one table from a name to its maker and the kind of data that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from fedbn.errors import ConfigError
from fedbn.scores.base import LocalScore, TabulatedScore, total_score
from fedbn.scores.bdeu import bdeu_ladder
from fedbn.scores.bic import aic_ladder, bic_ladder
from fedbn.scores.counts import MEMORY_MB
from fedbn.scores.gaussian import bge_ladder, gaussian_ladder

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
    "make_scores",
    "total_score",
]


@dataclass(frozen=True)
class ScoreEntry:
    """A score that can be chosen by name: the kind of data, and how it is made for each of some
    row weights from (data, ess, row weights, MB of memory)."""

    kind: Literal["categorical", "gaussian"]
    make: Callable[[Dataset, float, Sequence[float], float], tuple[TabulatedScore, ...]]


SCORES: Mapping[str, ScoreEntry] = MappingProxyType(
    {
        "bdeu": ScoreEntry("categorical", bdeu_ladder),
        "bic": ScoreEntry("categorical", lambda data, _, ks, mb: bic_ladder(data, ks, mb)),
        "aic": ScoreEntry("categorical", lambda data, _, ks, mb: aic_ladder(data, ks, mb)),
        "gaussian-bic": ScoreEntry("gaussian", lambda d, _, ks, __: gaussian_ladder(d, "bic", ks)),
        "gaussian-aic": ScoreEntry("gaussian", lambda d, _, ks, __: gaussian_ladder(d, "aic", ks)),
        "bge": ScoreEntry("gaussian", lambda data, _, ks, __: bge_ladder(data, ks)),
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
    ConfigError : no score has this name, ess is not above 0 and at most 1e8, or memory_mb or
        row_weight is below 1.
    DataError : the data are of the other kind.

    >>> from fedbn.data.dataset import Dataset, Schema
    >>> data = Dataset(Schema.categorical({"a": "01", "b": "01"}), [[0, 0], [1, 1], [1, 1]])
    >>> score = make_score("bic", data)
    >>> round(score.local_score(0, []), 4), round(score.local_score(0, [1]), 4)
    (-2.4588, -1.0986)
    """
    return make_scores(name, dataset, (row_weight,), ess=ess, memory_mb=memory_mb)[0]


def make_scores(
    name: str,
    dataset: Dataset,
    row_weights: Sequence[float],
    *,
    ess: float = 1.0,
    memory_mb: float = MEMORY_MB,
) -> tuple[TabulatedScore, ...]:
    """The score `name` for each row weight, as `make_score` gives it, to the last bit.

    The table is prepared once, and a set of variables is counted once: a categorical score keeps
    its values for all row weights together (16 bytes a set and 8 for each weight, within
    `memory_mb`). So the scores serve one thread together. Raises what `make_score` raises.
    """
    if name not in SCORES:
        raise ConfigError(f"the score must be one of {', '.join(SCORES)}, not {name!r}")
    return SCORES[name].make(dataset, ess, row_weights, memory_mb)


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
