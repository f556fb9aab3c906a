"""Bounds of columns of numbers, which a private run states before it looks at a table.

    -4:4                      every column lies between -4 and 4
    age=0:120; bmi=10:60      each named column between its own
    age=0:120; -4:4           a named one between its own, every other between -4 and 4

A number beyond its bounds counts as the nearest bound. Bounds must come from what is known without
the table (the range of an instrument, a law, a code book): bounds found in it are data, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbn.arrays import Floats
from fedbn.errors import ConfigError

_FORM = "LOW:HIGH for every column, or NAME=LOW:HIGH for one, with ; between them"


@dataclass(frozen=True, eq=False)
class Bounds:
    """A lower and an upper bound for each column.

    Attributes
    ----------
    low, high : float64 [n], finite, low < high.
    """

    low: Floats
    high: Floats

    @classmethod
    def of(cls, text: str, names: Sequence[str]) -> Bounds:
        """The bounds of these columns.

        Raises
        ------
        ConfigError : the text is not of the form, names no column, or leaves one without bounds.

        >>> bounds = Bounds.of("b=0:2; -4:4", ["a", "b"])
        >>> bounds.low.tolist(), bounds.high.tolist()
        ([-4.0, 0.0], [4.0, 2.0])
        """
        stated = _read_stated(text)
        unknown = sorted(set(stated) - {*names, None}, key=str)
        if unknown:
            raise ConfigError(f"bounds are stated for {unknown[0]!r}, which is no column")
        lacking = [name for name in names if name not in stated]
        if lacking and None not in stated:
            raise ConfigError(
                f"bounds must be stated for every column, and {lacking[0]!r} has none in {text!r}"
            )
        pairs = [stated.get(name, stated.get(None, (0.0, 0.0))) for name in names]
        low, high = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
        return cls(low, high)


def bounds_of_some(text: str, names: Sequence[str], own: Sequence[str]) -> str:
    """The same text without what it states for columns that are not one's own.

    Parameters
    ----------
    names, own : all columns, and those of them that a table has.

    Raises
    ------
    ConfigError : as `Bounds.of` all columns.

    >>> bounds_of_some("b=0:2; -4:4; a=0:1", "abc", "ac")
    '-4:4; a=0:1'
    """
    Bounds.of(text, names)
    parts = [part.strip() for part in text.split(";")]
    return "; ".join(p for p in parts if "=" not in p or p.rpartition("=")[0].strip() in own)


def require_bounds(key: str, value: Any) -> None:
    """Raise ConfigError unless a text has the form of bounds."""
    try:
        _read_stated(value)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from None


def _read_stated(text: str) -> dict[str | None, tuple[float, float]]:
    """Column -> its bounds; None for every other column."""
    found: dict[str | None, tuple[float, float]] = {}
    for part in text.split(";"):
        name, equals, interval = part.strip().rpartition("=")
        column = name.strip() if equals else None
        if column in found:
            of = "every other column" if column is None else repr(column)
            raise ConfigError(f"bounds are stated twice for {of} in {text!r}")
        found[column] = _interval(interval, text)
    return found


def _interval(interval: str, text: str) -> tuple[float, float]:
    low, colon, high = interval.partition(":")
    try:
        bounds = float(low), float(high)
    except ValueError:
        colon = ""
    if not colon:
        raise ConfigError(f"bounds must be {_FORM}, not {text!r}")
    if not (math.isfinite(bounds[0]) and math.isfinite(bounds[1]) and bounds[0] < bounds[1]):
        raise ConfigError(
            f"a lower bound must be below the upper one, and both finite, not {interval.strip()!r}"
        )
    return bounds
