"""The flat form of an experiment, as a Flower run config: a table whose values are text, integers,
floats or booleans.

A key can be overridden only when `[tool.flwr.app.config]` already has it, and an empty text breaks
Flower's byte counting. So every setting always has a key, in kebab-case; one that is not given is
the word `none`; and a list of texts is JSON text (`["a.csv", "b.csv"]`), or the bare text when it
has one element. Unknown keys are errors.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Union, get_args, get_origin

from fedbn.bounded_file import json_value
from fedbn.errors import ConfigError, did_you_mean
from fedbn.federation.plugin_keys import with_plugin_settings
from fedbn.federation.settings import GROUPS, Experiment, all_settings
from fedbn.setting import Setting

RunConfigValue = str | int | float | bool
"""What Flower allows as a value of a run config."""

NOT_GIVEN = "none"
"""The word that stands for a setting without a value."""


@cache
def _carried_keys() -> Mapping[str, tuple[str | None, Setting]]:
    """Key -> (group, setting) of the settings that a run config has."""
    return {each.key: (group, each) for group, each in all_settings() if not each.local}


def run_config_keys() -> tuple[str, ...]:
    """All keys of the flat run config, in the order of the settings."""
    return tuple(_carried_keys())


def to_run_config(experiment: Experiment) -> dict[str, RunConfigValue]:
    """Flatten an experiment into a Flower run config with every key.

    >>> to_run_config(Experiment.of(network="asia", missing=("?", "-")))["missing"]
    '["?", "-"]'
    >>> to_run_config(Experiment.of(network="asia"))["table"]
    'none'
    """
    flat: dict[str, RunConfigValue] = {}
    for key, (group, each) in _carried_keys().items():
        holder = experiment if group is None else getattr(experiment, group)
        flat[key] = _encode(getattr(holder, each.name))
    return flat


def from_run_config(config: Mapping[str, Any], **local: Any) -> Experiment:
    """Build the experiment that a flat run config describes; absent keys keep their defaults.
    `local` are settings that no run config holds, by the names of their keys: `engine`,
    `processes`, ...

    Raises ConfigError for an unknown key (the nearest known one is named), a value of the wrong
    type, or a value that no run can have.
    """
    said = tuple((key, type(value), value) for key, value in config.items())
    try:
        experiment = _experiment(said)
    except TypeError:  # a list cannot be looked up, and says itself what is wrong with it
        experiment = _experiment.__wrapped__(said)
    return experiment.change(**local) if local else experiment


@lru_cache(maxsize=16)
def _experiment(said: tuple[tuple[str, type, Any], ...]) -> Experiment:
    """The experiment of the same pairs, once: a client is told them with every message.

    Types are part of the key, for 1, 1.0 and True are equal.
    """
    known = _carried_keys()
    grouped: dict[str | None, dict[str, Any]] = {}
    said = with_plugin_settings(said, known)
    for key, _, value in said:
        if key not in known:
            raise ConfigError(f"unknown setting {key!r}{did_you_mean(key, known)}")
        group, each = known[key]
        grouped.setdefault(group, {})[each.name] = _decode(key, value, each.type)
    whole = grouped.pop(None, {})
    made = {name: GROUPS[name](**values) for name, values in grouped.items() if name is not None}
    return Experiment(**whole, **made)


def typed_values(config: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a flat run config as the settings have them: None, numbers, tuples of texts.

    >>> typed_values({"table": "none", "missing": '["?", "-"]'})
    {'table': None, 'missing': ('?', '-')}
    """
    known = _carried_keys()
    return {key: _decode(key, value, known[key][1].type) for key, value in config.items()}


def _encode(value: Any) -> RunConfigValue:
    if value is None or value == ():
        return NOT_GIVEN
    if isinstance(value, tuple):
        plain = len(value) == 1 and not value[0].startswith("[") and value[0] not in ("", NOT_GIVEN)
        return str(value[0]) if plain else json.dumps(list(value), ensure_ascii=False)
    if isinstance(value, (str, int, float)):
        return value
    return str(value)


def _decode(key: str, value: Any, wanted: Any) -> Any:
    options = get_args(wanted) if get_origin(wanted) in (Union, types.UnionType) else (wanted,)
    if any(get_origin(option) is tuple for option in options):
        return _decode_texts(key, value)
    if type(None) in options and value == NOT_GIVEN:
        return None
    if {float, str} <= set(options):
        return _number_or_word(key, value)
    kind = next(option for option in options if option is not type(None))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind or value == "":
        name = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
        raise ConfigError(f"setting {key!r} must be {name.get(kind, kind)}, not {value!r}")
    return value


def _number_or_word(key: str, value: Any) -> float | str:
    """A number, also where it is written as text; else the text."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or value == "":
        raise ConfigError(f"setting {key!r} must be a number or a word, not {value!r}")
    try:
        return float(value)
    except ValueError:
        return str(value)


def _decode_texts(key: str, value: Any) -> tuple[str, ...]:
    if value == NOT_GIVEN:
        return ()
    parts = value
    if isinstance(value, str) and value.startswith("["):
        try:
            parts = json_value(value)
        except ValueError:
            parts = None
    elif isinstance(value, str):
        parts = [value]
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        raise ConfigError(f"setting {key!r} must be a list of texts, not {value!r}")
    return tuple(parts)
