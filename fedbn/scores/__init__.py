"""Decomposable scores: BDeu, BIC, AIC, Gaussian BIC and AIC, BGe, mixed BIC and AIC.

`SCORES` is the one table from a name to its maker and the kind of data that it needs, of
fedbn's own scores and of those of others (`fedbn.scores.plugins`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedbn.errors import ConfigError
from fedbn.registry import Registry
from fedbn.scores.base import LocalScore, TabulatedScore, total_score
from fedbn.scores.bdeu import bdeu_ladder
from fedbn.scores.bic import aic_ladder, bic_ladder
from fedbn.scores.counts import MEMORY_MB
from fedbn.scores.entry import ScoreEntry
from fedbn.scores.gaussian import bge_ladder, gaussian_ladder
from fedbn.scores.mixed import mixed_ladder
from fedbn.scores.plugins import score_of_function

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.graphs.dag import DAG

__all__ = [
    "SCORES",
    "LocalScore",
    "ScoreEntry",
    "TabulatedScore",
    "dag_score",
    "local_score_of",
    "make_score",
    "make_scores",
    "total_score",
]


SCORES: Registry[ScoreEntry] = Registry("score", "fedbn.scores", score_of_function)
"""Name -> score; the names are those of the setting `score`."""

for _name, _entry in {
    "bdeu": ScoreEntry("categorical", bdeu_ladder),
    "bic": ScoreEntry("categorical", lambda data, _, *given: bic_ladder(data, *given)),
    "aic": ScoreEntry("categorical", lambda data, _, *given: aic_ladder(data, *given)),
    "gaussian-bic": ScoreEntry("gaussian", lambda d, _, ks, *__: gaussian_ladder(d, "bic", ks)),
    "gaussian-aic": ScoreEntry("gaussian", lambda d, _, ks, *__: gaussian_ladder(d, "aic", ks)),
    "bge": ScoreEntry("gaussian", lambda data, _, ks, *__: bge_ladder(data, ks)),
    "mixed-bic": ScoreEntry("mixed", lambda data, _, ks, mb, __: mixed_ladder(data, "bic", ks, mb)),
    "mixed-aic": ScoreEntry("mixed", lambda data, _, ks, mb, __: mixed_ladder(data, "aic", ks, mb)),
}.items():
    SCORES.add(_name, _entry)


def make_score(
    name: str,
    dataset: Dataset,
    *,
    ess: float = 1.0,
    row_weight: float = 1.0,
    memory_mb: float = MEMORY_MB,
    threads: int = 1,
) -> TabulatedScore:
    """The score `name` of a data set.

    Parameters
    ----------
    name : bdeu, bic, aic, gaussian-bic, gaussian-aic, bge, mixed-bic or mixed-aic.
    dataset : of the kind that the score needs; mixed scores take every kind.
    ess : equivalent sample size; only BDeu uses it.
    row_weight : k ≥ 1, a real number: the score counts every row k times (counts times k; BIC's
        ln N becomes ln k N), so it admits weaker edges.
    memory_mb : bound on the stored values and bitmaps of a categorical score; when the store is
        full it is emptied, which costs time and changes no score.
    threads : that count together for one search; the values have the same bytes with any number.

    Raises
    ------
    ConfigError : no score has this name, ess is not above 0 and at most 1e8, or memory_mb,
        row_weight or threads is below 1.
    DataError : the data are of the other kind.

    >>> from fedbn.data.dataset import Dataset, Schema
    >>> data = Dataset(Schema.categorical({"a": "01", "b": "01"}), [[0, 0], [1, 1], [1, 1]])
    >>> score = make_score("bic", data)
    >>> round(score.local_score(0, []), 4), round(score.local_score(0, [1]), 4)
    (-2.4588, -1.0986)
    """
    weights = (row_weight,)
    return make_scores(name, dataset, weights, ess=ess, memory_mb=memory_mb, threads=threads)[0]


def make_scores(
    name: str,
    dataset: Dataset,
    row_weights: Sequence[float],
    *,
    ess: float = 1.0,
    memory_mb: float = MEMORY_MB,
    threads: int = 1,
) -> tuple[TabulatedScore, ...]:
    """The score `name` for each row weight, as `make_score` gives it, to the last bit.

    The table is prepared once, and a set of variables is counted once: a categorical score keeps
    its values for all row weights together (16 bytes a set and 8 for each weight, within
    `memory_mb`), and they have the same threads. Raises what `make_score` raises, and
    ConfigError for a score that is somebody else's function of Python.
    """
    if threads < 1:
        raise ConfigError(f"threads must be at least 1, got {threads}")
    made = SCORES.find(name).make(dataset, ess, row_weights, memory_mb, threads)
    if not all(isinstance(score, TabulatedScore) for score in made):
        raise ConfigError(
            f"the {SCORES.describe(name)} is a function of Python, which fedbn's compiled searches "
            "do not read: choose a learner of your own that sees a score, or make the score of "
            "fedbn's parts"
        )
    for score in made:
        if score.core.threads != threads:  # else it shares the threads of one before
            score.core.use_threads(threads)
    return made


def local_score_of(
    name: str,
    dataset: Dataset,
    *,
    ess: float = 1.0,
    row_weight: float = 1.0,
    memory_mb: float = MEMORY_MB,
) -> LocalScore:
    """The score `name`, also where it is somebody else's that compiled searches do not read.

    Raises
    ------
    ConfigError, DataError : as `make_score`. PluginError : the score of somebody else failed.
    """
    return SCORES.find(name).make(dataset, ess, (row_weight,), memory_mb, 1)[0]


def dag_score(dag: DAG, dataset: Dataset, name: str = "bdeu", ess: float = 1.0) -> float:
    """Score of a DAG on a table, higher is better: the sum of its local scores.

    Parameters
    ----------
    dag : over the columns of `dataset`.
    dataset : the table.
    name : a score's name (bdeu, bic, aic, gaussian-bic, ...).
    ess : equivalent sample size, for scores that have one.
    """
    return float(total_score(local_score_of(name, dataset, ess=ess), dag.reorder(dataset.names)))
