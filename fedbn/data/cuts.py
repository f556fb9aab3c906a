"""Cut points: a column of numbers as ordered intervals that all sites share.

Cuts c_1 < ... < c_k make k + 1 states, "1: (-inf, 30]", "2: (30, 45]", "3: (45, inf)"; a number x
goes to the first interval with x <= c. The place at the front keeps their order when states are
sorted as text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from fedbn.arrays import Codes, Floats
from fedbn.errors import ConfigError, SchemaError

Cuts = tuple[float, ...]

_INTERVAL = re.compile(r"\d+: \(\S+, (-?(?:inf|\d[\d.e+-]*))[\])]")
"""The name of an interval, and its upper end."""


def checked_cuts(name: str, cuts: Iterable[float]) -> Cuts:
    """The cuts as floats; raises SchemaError unless they are finite and strictly increasing."""
    try:
        found = tuple(float(cut) for cut in cuts)
    except (TypeError, ValueError):
        raise SchemaError(f"column {name!r}: cuts must be numbers, not {cuts!r}") from None
    if not all(map(math.isfinite, found)):
        raise SchemaError(f"column {name!r}: cuts must be finite, not {list(found)}")
    if any(left >= right for left, right in pairwise(found)):
        raise SchemaError(f"column {name!r}: cuts must increase strictly, not {list(found)}")
    return tuple(cut + 0.0 for cut in found)


def number_text(number: float) -> str:
    """The shortest text that reads back as the number.

    >>> number_text(30.0), number_text(0.1), number_text(1e300)
    ('30', '0.1', '1e+300')
    """
    whole = number == int(number) and abs(number) < 2**53
    return str(int(number)) if whole else repr(float(number))


def interval_names(cuts: Sequence[float]) -> tuple[str, ...]:
    """The states of a column with these cuts, in order, which is also their order as text.

    >>> interval_names((30.0, 45.5))
    ('1: (-inf, 30]', '2: (30, 45.5]', '3: (45.5, inf)')
    >>> interval_names(())
    ('1: (-inf, inf)',)
    """
    ends = ["-inf", *map(number_text, cuts), "inf"]
    width = len(str(len(cuts) + 1))
    return tuple(
        f"{place:0{width}}: ({low}, {high}{')' if high == 'inf' else ']'}"
        for place, (low, high) in enumerate(pairwise(ends), start=1)
    )


def interval_of(states: Sequence[str], number: float) -> str | None:
    """The state whose interval has the number; None where the states, but for some that are no
    intervals (missing cells), are not those of cut points, or the number is not finite.

    Names are all that a network's file keeps of cut points.

    >>> states = ("1: (-inf, 30]", "2: (30, 45.5]", "3: (45.5, inf)", "missing")
    >>> interval_of(states, 30), interval_of(states, 30.5), interval_of(("no", "yes"), 1)
    ('1: (-inf, 30]', '2: (30, 45.5]', None)
    """
    matches = [_INTERVAL.fullmatch(state) for state in states]
    ends = [float(match[1]) for match in matches if match is not None]
    cuts = [end for end in ends if math.isfinite(end)]
    names = tuple(state for state, match in zip(states, matches, strict=True) if match is not None)
    if not math.isfinite(number) or not names or names != interval_names(cuts):
        return None
    return names[int(interval_codes(cuts, np.array([number]))[0])]


def interval_codes(cuts: Sequence[float], values: Floats) -> Codes:
    """The place, from 0, of every number's interval."""
    return np.searchsorted(np.array(cuts, dtype=np.float64), values, side="left").astype(np.int32)


def parse_cuts(texts: Iterable[str]) -> dict[str, Cuts]:
    """Column -> cuts, of texts such as `age=40,60,75`.

    Raises
    ------
    ConfigError : a text is not of this form, or a column occurs twice.
    SchemaError : the numbers do not increase.

    >>> parse_cuts(["age=40,60,75", "bmi=25"])
    {'age': (40.0, 60.0, 75.0), 'bmi': (25.0,)}
    """
    found: dict[str, Cuts] = {}
    for text in texts:
        name, equals, numbers = text.rpartition("=")
        try:
            cuts = [float(number) for number in numbers.split(",")]
        except ValueError:
            cuts = []
        if not (name and equals and cuts):
            raise ConfigError(f"cuts must be column=number,number,..., not {text!r}")
        if name in found:
            raise ConfigError(f"cuts of column {name!r} are given twice")
        found[name] = checked_cuts(name, cuts)
    return found


def cuts_text(cuts: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
    """The inverse of `parse_cuts`, sorted by column.

    >>> cuts_text({"bmi": (25.0,), "age": (40.0, 60.5)})
    ('age=40,60.5', 'bmi=25')
    """
    return tuple(f"{name}={','.join(map(number_text, cuts[name]))}" for name in sorted(cuts))
