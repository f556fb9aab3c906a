"""A setting, said once: its default, its check, its help, its key.

Groups of settings are frozen dataclasses whose fields are made by :func:`setting` and whose base is
`Settings`, which checks every value when a group is made. The run config, the options of the
command, the docs and the tests read the same fields (`settings_of`).

    @dataclass(frozen=True)
    class Example(Settings):
        rows: int = setting(5000, "Rows per client.", at_least(1))
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, get_type_hints

from fedbn.errors import ConfigError, did_you_mean

MAX_ESS = 1e8
Check = Callable[[str, Any], None]
"""Raises ConfigError, naming the key, unless the value is as it must be."""


@dataclass(frozen=True)
class Setting:
    """What is known of one setting.

    Attributes
    ----------
    key : in the run config, kebab-case.
    name : of the field.
    type : as the field is annotated.
    default : of the field.
    help : a sentence or two for `--help` and the docs.
    check : what its values must be; None is always allowed where it is the default.
    flags : options of the command; empty for `--key`.
    shown : text of the default in `--help`; empty for the default itself.
    local : whether it says how or where something runs here, and is in no run config.
    """

    key: str
    name: str
    type: Any
    default: Any
    help: str
    check: Check | None
    flags: tuple[str, ...]
    shown: str
    local: bool


def setting(
    default: Any,
    help: str,
    check: Check | None = None,
    *,
    key: str = "",
    flags: tuple[str, ...] = (),
    shown: str = "",
    local: bool = False,
) -> Any:
    """A field of a group of settings; see `Setting` for the arguments."""
    facts = {"key": key, "help": help, "check": check, "flags": flags}
    return field(default=default, metadata={**facts, "shown": shown, "local": local})


def settings_of(group: type) -> tuple[Setting, ...]:
    """The settings of a group, in the order of its fields."""
    known: tuple[Setting, ...] = _settings_of(group)
    return known


@cache
def _settings_of(group: Any) -> tuple[Setting, ...]:
    hints = get_type_hints(group)
    return tuple(
        Setting(
            key=entry.metadata["key"] or entry.name.replace("_", "-"),
            name=entry.name,
            type=hints[entry.name],
            default=entry.default,
            help=entry.metadata["help"],
            check=entry.metadata["check"],
            flags=entry.metadata["flags"],
            shown=entry.metadata["shown"],
            local=entry.metadata["local"],
        )
        for entry in fields(group)
        if "help" in entry.metadata
    )


class Settings:
    """Base of groups of settings: raises ConfigError for a value that its check refuses."""

    def __post_init__(self) -> None:
        for each in settings_of(type(self)):
            value = getattr(self, each.name)
            if each.check is not None and value is not None:
                each.check(each.key, value)


def at_least(lowest: float) -> Check:
    """Numbers not below `lowest`."""

    def check(key: str, value: Any) -> None:
        if not value >= lowest:
            raise ConfigError(f"{key} must be at least {lowest:g}, not {value}")

    return check


def finite_at_least(lowest: float) -> Check:
    """Finite numbers not below `lowest`."""

    def check(key: str, value: Any) -> None:
        if not lowest <= value < math.inf:
            raise ConfigError(f"{key} must be at least {lowest:g} and finite, not {value}")

    return check


def positive(key: str, value: Any) -> None:
    """Numbers above 0."""
    if not value > 0:
        raise ConfigError(f"{key} must be positive, not {value}")


def positive_and_finite(key: str, value: Any) -> None:
    """Finite numbers above 0."""
    if not 0 < value < math.inf:
        raise ConfigError(f"{key} must be positive and finite, not {value}")


def equivalent_sample_size(key: str, value: Any) -> None:
    """Numbers above 0 and at most MAX_ESS.

    BDeu is made of differences of ln Γ(n + α) and ln Γ(α), which lose digits as α grows: 1e-7 nats
    for 1e8, more than the differences between structures are for 1e12.
    """
    if not 0 < value <= MAX_ESS:
        raise ConfigError(
            f"{key}, the equivalent sample size of BDeu, must be above 0 and at most {MAX_ESS:g}, "
            f"not {value}"
        )


def probability(key: str, value: Any) -> None:
    """Numbers above 0 and below 1."""
    if not 0 < value < 1:
        raise ConfigError(f"{key} must lie between 0 and 1, not {value}")


def between(lowest: float, highest: float) -> Check:
    """Numbers from `lowest` to `highest`."""

    def check(key: str, value: Any) -> None:
        if not lowest <= value <= highest:
            raise ConfigError(f"{key} must lie between {lowest:g} and {highest:g}, not {value}")

    return check


def one_of(*known: str) -> Check:
    """One of the words `known`."""

    def check(key: str, value: Any) -> None:
        require_one_of(key, value, known)

    return check


def sha256(key: str, value: Any) -> None:
    """The hexadecimal digits of a SHA-256."""
    if re.fullmatch("[0-9a-f]{64}", value) is None:
        raise ConfigError(f"{key!r} must be a SHA-256 in 64 hexadecimal digits, not {value!r}")


def _list(known: Sequence[str]) -> str:
    """Words as they are; quoted where one of them is no word, such as a comma or a tab."""
    plain = all(word.replace("-", "").isalnum() for word in known)
    return ", ".join(known if plain else map(repr, known))


def require_one_of(what: str, value: str, known: tuple[str, ...]) -> str:
    """`value` if it is one of `known`; raises ConfigError naming the nearest one.

    >>> require_one_of("engine", "flower", ("flower", "in-process"))
    'flower'
    """
    if value in known:
        return value
    hint = did_you_mean(str(value), known)
    raise ConfigError(f"unknown {what} {value!r}: it must be one of {_list(known)}{hint}")


def refuse(wrong: Mapping[str, bool]) -> None:
    """Raise ConfigError with the first of these words that are true of some settings."""
    for words, is_so in wrong.items():
        if is_so:
            raise ConfigError(words)
