"""Learners that are somebody else's functions, checked like a stranger's messages.

    def mine(table, rng, settings): ...     # the Table
    def mine(score, rng, settings): ...     # its score, if the parameter has that name

A learner returns one DAG over the table's columns, or pairs (DAG, weight). With a fourth parameter
`start` it is told where to begin: in further rounds, the consensus.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.data.table import Table, show
from fedbn.errors import ConfigError, FedbnError, PluginError
from fedbn.graphs.dag import DAG
from fedbn.learners.learner import Found, Learner, any_score_of
from fedbn.learners.settings import LearnerSettings
from fedbn.own_settings import with_own
from fedbn.registry import origin_of

if TYPE_CHECKING:
    from fedbn.scores import LocalScore

LearnerFunction = Callable[..., Any]
"""(Table or score, rng, settings[, start]) -> a DAG, or pairs of DAG and weight."""

_SHARED = frozenset({"max_dags"})
"""What every plug-in has a use for, beside what all learners share."""


def learner_of(
    name: str,
    function: LearnerFunction,
    origin: str = "",
    *,
    settings: type[LearnerSettings] = LearnerSettings,
    uses: Iterable[str] = (),
) -> Learner:
    """The learner that calls a function.

    Parameters
    ----------
    name : of the learner.
    function : see the module's docstring.
    origin : where it comes from; the function's module by default.
    settings : class of its settings, with its own beside those of `LearnerSettings`.
    uses : the fields of `LearnerSettings` for some learners only that it has a use for.

    Raises
    ------
    ConfigError : this is no such function or class, or there is no such field.
    """
    if isinstance(function, Learner):
        return function
    of = f"learner {name!r} ({origin or origin_of(function)})"
    parameters = require_parameters(function, 3, of)
    if not (isinstance(settings, type) and issubclass(settings, LearnerSettings)):
        raise ConfigError(f"the settings of the {of} must derive from LearnerSettings")
    unknown = sorted(set(uses) - set(LearnerSettings.__dataclass_fields__))
    if unknown:
        raise ConfigError(f"the {of} uses {unknown[0]!r}, which is no field of LearnerSettings")
    takes_start = "start" in parameters
    call = partial(_call, function, settings, of, takes_start)
    chosen = frozenset(uses) | _SHARED
    sees = any_score_of if parameters[0] == "score" else _table_of

    def run(
        dataset: Dataset, given: LearnerSettings, rng: np.random.Generator, start: DAG | None
    ) -> Found:
        return call(sees(dataset, given), given, rng, start)

    return Learner(run, chosen, takes_start=takes_start, own=settings, function=function)


def _table_of(dataset: Dataset, settings: LearnerSettings) -> Table:
    return Table(dataset)


def require_parameters(function: Callable[..., Any], count: int, of: str) -> Sequence[str]:
    """The names of a function's parameters; raises ConfigError for fewer than `count`."""
    if not callable(function):
        raise ConfigError(f"the {of} must be a function, not {show(function)}")
    names = list(inspect.signature(function).parameters)
    if len(names) < count:
        raise ConfigError(
            f"the {of} must have {count} parameters, not {', '.join(names) or 'none'}"
        )
    return names


def _call(
    function: LearnerFunction,
    group: type[LearnerSettings],
    of: str,
    takes_start: bool,
    seen: Table | LocalScore,
    settings: LearnerSettings,
    rng: np.random.Generator,
    start: DAG | None,
) -> Found:
    """What the function finds, checked; raises PluginError naming it."""
    given = with_own(settings, group, LearnerSettings, settings.own, of)
    more = {"start": start} if takes_start else {}
    try:
        made = function(seen, rng, given, **more)
    except FedbnError as error:
        raise PluginError(f"{of}: {error}") from error
    except Exception as error:
        raise PluginError(f"{of} raised {type(error).__name__}: {error}") from error
    return _check_found(made, tuple(seen.names), settings.max_dags, of)


def _check_found(made: Any, names: tuple[str, ...], most: int, of: str) -> Found:
    pairs = [(made, 1.0)] if isinstance(made, DAG) else _pairs(made, of)
    if not 1 <= len(pairs) <= most:
        raise PluginError(f"{of} must give 1 to {most} structures (max-dags), not {len(pairs)}")
    dags = tuple(checked_dag(dag, names, of) for dag, _ in pairs)
    return Found(dags, tuple(_weight(weight, of) for _, weight in pairs), None)


def _pairs(made: Any, of: str) -> list[tuple[Any, Any]]:
    try:
        return [(dag, weight) for dag, weight in made]
    except (TypeError, ValueError):
        raise PluginError(
            f"{of} must give a DAG, or pairs of a DAG and its weight, not {show(made)}"
        ) from None


def checked_dag(dag: Any, names: Sequence[str], of: str) -> DAG:
    """The structure that a plug-in gave, its names sorted, made anew so that nothing is believed.

    Raises
    ------
    PluginError : naming the plug-in, unless it is a DAG over exactly `names`.
    """
    if not isinstance(dag, DAG):
        raise PluginError(f"{of} must give fedbn.DAG structures, not {show(dag)}")
    different = sorted(set(dag.names) ^ set(names))
    if different:
        where = "lacks" if different[0] in names else "adds"
        raise PluginError(f"{of} gave a structure that {where} the variable {different[0]!r}")
    try:
        return DAG(tuple(dag.names), np.array(dag.adjacency)).reorder(sorted(names))
    except FedbnError as error:
        raise PluginError(f"{of} gave no DAG: {error}") from error


def _weight(weight: Any, of: str) -> float:
    try:
        value = float(weight)
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise PluginError(f"{of}: a weight must be positive and finite, not {weight!r}")
    return value
