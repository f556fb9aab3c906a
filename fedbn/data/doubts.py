"""Cells that are likely not what they seem: codes of missing values, dates, one state in two words.

Nothing is changed. Each is a sentence that names column, values and the option, or the line of a
site's file, that says what is meant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from fedbn.arrays import Floats
from fedbn.data.dataset import Dataset
from fedbn.data.schema import MISSING_STATE
from fedbn.data.spellings import meaning
from fedbn.wording import count_of, list_some

_BELOW = frozenset([-7, -8, -9, -77, -88, -99, -777, -888, -999, -9999])
_ABOVE = frozenset([99, 888, 999, 8888, 9999, 99999])
"""Numbers that questionnaires and laboratories write where there is no number."""

FAR = 2.0
"""A code above is one if it is more than so many times the largest other number."""

FEWEST = 100  # numbers, to tell those of records from ages
DIFFERENT = 0.9  # of them

_DATE = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ].*)?", re.ASCII
)


def missing_codes(numbers: Floats) -> dict[float, int]:
    """Number -> rows, of the numbers that look like codes of a missing value.

    Stated rule: -9, -99 and their like where no other number is below 0; 999 and its like, in two
    rows or more, where it is more than twice the largest other number.

    >>> missing_codes(np.array([3.0, 5.0, -9.0, 4.0])), missing_codes(np.array([-3.0, -9.0]))
    ({-9.0: 1}, {})
    """
    found: dict[float, int] = {}
    rest = numbers
    while rest.size and float(rest.max()) in _ABOVE:
        value = float(rest.max())
        others = rest[rest != value]
        count = int(rest.size - others.size)
        if count < 2 or not others.size or value <= FAR * float(others.max()):
            break
        found[value], rest = count, others
    below: dict[float, int] = {}
    while rest.size > 1 and float(rest.min()) in _BELOW:
        value = float(rest.min())
        others = rest[rest != value]
        below[value], rest = int(rest.size - others.size), others
    if rest.size and float(rest.min()) >= 0:
        found |= below
    return dict(sorted(found.items()))


def are_dates(texts: Sequence[str | None]) -> bool:
    """Whether all texts that are there look like dates, of which there are two or more."""
    present = [text for text in texts if text]
    return len(present) > 1 and all(_DATE.fullmatch(text) for text in present)


def date_words(name: str, texts: Sequence[str | None]) -> str:
    """What to say of a column of dates; empty for another one."""
    if not are_dates(texts):
        return ""
    shown = sorted(text for text in texts if text)
    return (
        f"column {name!r} holds dates ({list_some(shown, 2)}), each a state of its own: make a "
        f"number or a season of them in the table, or --leave-out {name}"
    )


def record_numbers(numbers: Floats) -> bool:
    """Whether these are whole numbers that are nearly all different, as numbers of records are."""
    if len(numbers) < FEWEST or not bool((numbers == np.floor(numbers)).all()):
        return False
    return bool(np.unique(numbers).size > DIFFERENT * len(numbers))


def twin_words(dataset: Dataset) -> list[str]:
    """Of every column in which one state seems to be spelt in several ways: '1 ' beside '1'."""
    if dataset.kind == "gaussian":
        return []
    said = []
    for place, variable in enumerate(dataset.schema.variables):
        states = [state for state in variable.states or () if state != MISSING_STATE]
        if variable.cuts is not None or len({meaning(state) for state in states}) == len(states):
            continue
        rows = np.bincount(dataset.seen_in(place), minlength=len(variable.states or ()))
        counts = dict(zip(variable.states or (), rows.tolist(), strict=True))
        said += _twins(variable.name, {state: counts[state] for state in states if counts[state]})
    return said


def _twins(name: str, counts: Mapping[str, int]) -> list[str]:
    spellings: dict[object, list[str]] = {}
    for state in counts:
        spellings.setdefault(meaning(state), []).append(state)
    said = []
    for twins in spellings.values():
        if len(twins) > 1:
            kept, *others = sorted(
                twins, key=lambda state: (-counts[state], state != state.strip(), state)
            )
            shown = ", ".join(f"{each!r} ({count_of(counts[each], 'row')})" for each in twins)
            lines = "; ".join(f'"{each}" = "{kept}"' for each in others)
            said.append(
                f"column {name!r} has states that look like one: {shown}; to make them one, the "
                f'line in the site\'s file under [states."{name}"] is {lines}'
            )
    return said
