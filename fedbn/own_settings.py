"""Settings that a plug-in adds to those that all have.

A learner's own settings are a frozen dataclass derived from `LearnerSettings`, a fusion's from
`ConsensusSettings`; their further fields are made by `fedbn.setting.setting`:

    @dataclass(frozen=True)
    class PCSettings(LearnerSettings):
        alpha: float = setting(0.05, "Level of the tests.", probability)

A run carries their values as texts, KEY=VALUE with a value in JSON, so that a run config has the
same keys whatever is installed.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar, Union, get_args, get_origin

from fedbn.errors import ConfigError, did_you_mean
from fedbn.setting import Setting, Settings, settings_of

S = TypeVar("S", bound=Settings)

_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def own_settings(group: type[Settings], base: type[Settings]) -> tuple[Setting, ...]:
    """The settings that `group` has beyond those of `base`, in the order of its fields."""
    shared = {each.name for each in settings_of(base)}
    return tuple(each for each in settings_of(group) if each.name not in shared)


def own_texts(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Values by key as a run carries them.

    >>> own_texts({"alpha": 0.01, "test": "chisq"})
    ('alpha=0.01', 'test="chisq"')
    """
    return tuple(f"{key}={json.dumps(value)}" for key, value in values.items())


def with_own(shared: S, group: type[S], base: type[S], texts: Sequence[str], of: str) -> S:
    """The settings of a plug-in: those that all have, and its own from their texts.

    Parameters
    ----------
    shared : what the run says of those that all have.
    group, base : as for `own_settings`.
    texts : KEY=VALUE each.
    of : the plug-in, for errors.

    Raises
    ------
    ConfigError : a key is unknown or repeated, or a value is not of its type or out of range.
    """
    own = {each.key: each for each in own_settings(group, base)}
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"a setting of the {of} must be KEY=VALUE, not {text!r}")
        if key not in own:
            known = f"one of {', '.join(own)}" if own else "none: it has no settings of its own"
            raise ConfigError(
                f"unknown setting {key!r} of the {of}: it must be {known}{did_you_mean(key, own)}"
            )
        if own[key].name in found:
            raise ConfigError(f"the setting {key!r} of the {of} is there twice")
        found[own[key].name] = _value(own[key], value, of)
    said = {field.name: getattr(shared, field.name) for field in fields(base)}  # type: ignore[arg-type]
    try:
        return group(**said, **found)
    except ConfigError as error:
        raise ConfigError(f"{of}: {error}") from None


def own_values(settings: Settings, base: type[Settings]) -> dict[str, Any]:
    """Key -> value of the own settings of a plug-in, defaults too."""
    return {each.key: getattr(settings, each.name) for each in own_settings(type(settings), base)}


def _value(each: Setting, text: str, of: str) -> Any:
    """The value that a text says: JSON, or a bare word."""
    kinds = (
        get_args(each.type) if get_origin(each.type) in (Union, types.UnionType) else (each.type,)
    )
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if type(value) is int and float in kinds and int not in kinds:
        return float(value)
    if str in kinds and type(value) not in kinds:
        return text
    if type(value) not in kinds:
        words = " or ".join(_WORDS.get(kind, "none") for kind in kinds)
        raise ConfigError(f"the setting {each.key!r} of the {of} must be {words}, not {text!r}")
    return value
