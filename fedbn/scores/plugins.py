"""Scores that are somebody else's functions.

    def mine(table, row_weight): ...

A score returns a `TabulatedScore`, made of fedbn's own parts (`fedbn.scores.bic.criterion`), which
every learner reads; or any object with `names` and `local_score(node, parents)`, a `LocalScore`,
which learners of others read, and fedbn's compiled searches do not.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from fedbn.data.dataset import Dataset
from fedbn.data.table import Table, show
from fedbn.errors import ConfigError, PluginError
from fedbn.registry import origin_of
from fedbn.scores.base import LocalScore, TabulatedScore
from fedbn.scores.counts import require_kind
from fedbn.scores.entry import ScoreEntry

ScoreFunction = Callable[[Table, float], Any]
"""(Table, row weight) -> a TabulatedScore or a LocalScore."""

Kind = Literal["categorical", "gaussian"]


@dataclass(frozen=True)
class ForeignScore:
    """A `LocalScore` of somebody else whose values are checked.

    Attributes
    ----------
    inner : the score.
    of : what it is, for errors.
    row_weight : it was made for.
    """

    inner: LocalScore
    of: str
    row_weight: float

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, sorted as text."""
        return tuple(self.inner.names)

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.names)

    def local_score(self, node: int, parents: Iterable[int]) -> float:
        """s(node, parents); raises PluginError where it is no finite number."""
        family = tuple(parents)
        value = _guard(self.inner.local_score, self.of, node, family)
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise PluginError(
                f"{self.of}: s({node}, {list(family)}) must be a finite number, not {value!r}"
            )
        return float(value)


def score_of_function(
    name: str, function: Any, origin: str = "", *, kind: Kind = "categorical"
) -> ScoreEntry:
    """The score that calls a function; raises ConfigError for what is none."""
    if isinstance(function, ScoreEntry):
        return function
    of = f"score {name!r} ({origin or origin_of(function)})"
    if not callable(function) or len(inspect.signature(function).parameters) != 2:
        raise ConfigError(f"the {of} must be a function of table and row_weight")
    if kind not in ("categorical", "gaussian"):
        raise ConfigError(f"the kind of the {of} must be categorical or gaussian, not {kind!r}")
    return ScoreEntry(kind, partial(_make, function, of, kind))


def _make(
    function: ScoreFunction,
    of: str,
    kind: Kind,
    dataset: Dataset,
    ess: float,
    row_weights: Sequence[float],
    memory_mb: float,
    threads: int,
) -> tuple[Any, ...]:
    """The score for each row weight, checked."""
    require_kind(dataset, kind, of)
    made = tuple(_guard(function, of, Table(dataset), k) for k in row_weights)
    return tuple(
        _check_score(score, dataset, of, k) for score, k in zip(made, row_weights, strict=True)
    )


def _check_score(score: Any, dataset: Dataset, of: str, row_weight: float) -> Any:
    if not callable(getattr(score, "local_score", None)) or not hasattr(score, "names"):
        raise PluginError(f"{of} must give a score with names and local_score, not {show(score)}")
    if tuple(score.names) != dataset.names:
        raise PluginError(f"{of} must be over the columns {list(dataset.names)}, sorted as text")
    return score if isinstance(score, TabulatedScore) else ForeignScore(score, of, row_weight)


def _guard(function: Callable[..., Any], of: str, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except PluginError:
        raise
    except Exception as error:
        raise PluginError(f"{of} raised {type(error).__name__}: {error}") from error
