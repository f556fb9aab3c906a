"""Learners, scores and fusions of one's own, beside fedbn's.

    @fb.register_learner("chow-liu")
    def chow_liu(table, rng, settings):
        return fb.DAG.from_edges(table.names, ...)

    fb.learn(table, "chow-liu")       # by its name
    fb.learn(table, chow_liu)         # or as it is, registered or not

What they return is checked like a stranger's message; errors name the plug-in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from fedbn.errors import ConfigError
from fedbn.federation.fusions import FUSIONS, fusion_of
from fedbn.federation.settings import ConsensusSettings
from fedbn.learners import LEARNERS, LearnerSettings
from fedbn.learners.plugins import learner_of
from fedbn.registry import Registry, origin_of
from fedbn.scores import SCORES
from fedbn.scores.plugins import Kind, score_of_function

F = TypeVar("F", bound=Callable[..., Any])


def register_learner(
    name: str, *, settings: type[LearnerSettings] = LearnerSettings, uses: Iterable[str] = ()
) -> Callable[[F], F]:
    """A decorator: the function is a learner of this name, for this process.

    Parameters
    ----------
    name : lower-case words joined by hyphens.
    settings : a frozen dataclass derived from `LearnerSettings`, where it has settings of its own.
    uses : fields of `LearnerSettings` for some learners only that it has a use for, like
        "knowledge".

    The function takes (table, rng, settings), or (score, rng, settings) by that name, with `start`
    as a fourth if it can begin somewhere; it returns a `DAG` over the table's names, or pairs of a
    DAG and a positive weight.

    Raises
    ------
    ConfigError : the name is taken, or this is no such function.
    """

    def register(function: F) -> F:
        learner = learner_of(name, function, settings=settings, uses=uses)
        LEARNERS.add(name, learner, origin_of(function))
        return function

    return register


def register_score(name: str, *, kind: Kind = "categorical") -> Callable[[F], F]:
    """A decorator: the function of (table, row_weight) is a score of this name.

    kind : "categorical" or "gaussian", the data that it is for.

    It returns a `TabulatedScore`, which all learners read, or an object with `names` and
    `local_score(node, parents)`, for learners of your own. Raises ConfigError as
    `register_learner`.
    """

    def register(function: F) -> F:
        SCORES.add(name, score_of_function(name, function, kind=kind), origin_of(function))
        return function

    return register


def register_fusion(
    name: str, *, settings: type[ConsensusSettings] = ConsensusSettings
) -> Callable[[F], F]:
    """A decorator: the function of (dags, weights, rng, settings) is a fusion of this name.

    settings : a frozen dataclass derived from `ConsensusSettings`, for settings of its own.

    It returns one DAG over the same names, or an `McbncPath`. Raises ConfigError as
    `register_learner`.
    """

    def register(function: F) -> F:
        FUSIONS.add(name, fusion_of(name, function, settings=settings), origin_of(function))
        return function

    return register


@contextmanager
def name_for(registry: Registry[Any], given: Any) -> Iterator[str]:
    """Inside, `given`, a name or a function, has the name that this yields.

    Raises
    ------
    ConfigError : it is neither.
    """
    if isinstance(given, str):
        yield given
        return
    if not callable(given):
        raise ConfigError(
            f"a {registry.kind} must be a name ({', '.join(registry.names())}) or a function, not "
            f"{given!r}"
        )
    origin = origin_of(given)
    registered = next((n for n in registry if registry[n].function is given), None)
    if registered is not None:
        yield registered
        return
    name = _name_of(given, registry)
    with registry.lend(name, registry.adopt(name, given, origin), origin):
        yield name


def _name_of(function: Any, registry: Registry[Any]) -> str:
    words = re.findall("[a-z0-9]+", getattr(function, "__name__", "").lower())
    name = "-".join(words) or "function"
    return f"own-{name}" if registry.is_own(name) else name
