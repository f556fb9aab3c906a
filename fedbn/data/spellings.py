"""One state in two spellings: 'Yes' at one site and 'yes' at another, '22' and '22.0'.

Each would be a state of its own, and the sites would seem to differ. Within one table they are a
warning (`fedbn.data.doubts`); between tables they are refused unless a run accepts them, and so are
columns that sites fill with wholly different states, male and female beside M and F.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from fedbn.data.schema import MISSING_STATE, Schema
from fedbn.errors import SchemaError
from fedbn.wording import list_some

MAPPED = 6
"""States for which a line is written out."""


def require_one_spelling(schemas: Mapping[str, Schema]) -> None:
    """Refuse states that two sites spell differently.

    Parameters
    ----------
    schemas : site -> what it has; all with the same columns.

    Raises
    ------
    SchemaError : one site has a state without its twin, another has the twin without the state;
        names column, sites and both spellings.

    Examples
    --------
    >>> schema = Schema.categorical
    >>> require_one_spelling({"n": schema({"a": ["Yes"]}), "s": schema({"a": ["yes"]})})
    Traceback (most recent call last):
    ...
    fedbn.errors.SchemaError: column 'a': client 'n' has 'Yes', client 's' has 'yes': ...
    """
    sites = sorted(schemas)
    for column, variable in enumerate(schemas[sites[0]].variables if sites else ()):
        if variable.cuts is None:
            states = {site: set(schemas[site].variables[column].states or ()) for site in sites}
            _require_one(variable.name, states)


def _require_one(name: str, states: Mapping[str, set[str]]) -> None:
    spellings: dict[object, set[str]] = {}
    for found in states.values():
        for state in found:
            spellings.setdefault(meaning(state), set()).add(state)
    for _, twins in sorted(spellings.items(), key=lambda item: sorted(item[1])):
        for one in sorted(twins):
            for other in sorted(twins - {one}):
                only_one = [site for site, has in states.items() if one in has and other not in has]
                only_other = [
                    site for site, has in states.items() if other in has and one not in has
                ]
                if only_one and only_other:
                    raise SchemaError(
                        f"column {name!r}: client {only_one[0]!r} has {one!r}, client "
                        f"{only_other[0]!r} has {other!r}: map one to the other in a site file's "
                        "[states], or keep both with --spellings accept"
                    )


def require_shared_states(schemas: Mapping[str, Schema]) -> None:
    """Refuse a column for which the sites fall into parts that have no state in common.

    Stated rule: sites with a common state are in one part. Two parts or more that have two states
    or more are refused. A site with a single state is no such part, for a column may say whose rows
    these are; nor is a state alone that means a missing cell. `schemas` as above.

    Raises
    ------
    SchemaError : names the column, two sites, their states, and the lines for a site's file.

    Examples
    --------
    >>> schema = Schema.categorical
    >>> given = {"n": schema({"sex": ["female", "male"]}), "s": schema({"sex": ["F", "M"]})}
    >>> require_shared_states(given)
    Traceback (most recent call last):
    ...
    fedbn.errors.SchemaError: column 'sex': client 'n' has 'female', 'male', client 's' has ...
    """
    sites = sorted(schemas)
    for column, variable in enumerate(schemas[sites[0]].variables if sites else ()):
        if variable.cuts is not None:
            continue
        own_states = {site: schemas[site].variables[column].states or () for site in sites}
        states = {site: frozenset(own) - {MISSING_STATE} for site, own in own_states.items()}
        parts = [part for part in _parts(states) if len(part[1]) > 1]
        if len(parts) > 1:
            (most, usual), *others = sorted(parts, key=lambda part: (-len(part[0]), part[0]))
            site, own = others[0][0][0], others[0][1]
            raise SchemaError(
                f"column {variable.name!r}: client {most[0]!r} has {list_some(sorted(usual))}, "
                f"client {site!r} has {list_some(sorted(own))}, and no state is common: map them "
                f'in a site file, under [states."{variable.name}"]: {_lines(own, usual)}; or keep '
                "all with --spellings accept"
            )


def _parts(states: Mapping[str, frozenset[str]]) -> list[tuple[tuple[str, ...], frozenset[str]]]:
    """Sites that are joined by common states, and all states of theirs."""
    parts: list[tuple[tuple[str, ...], frozenset[str]]] = []
    for site, own in states.items():
        joined = [part for part in parts if part[1] & own]
        names = sorted([site, *(name for part in joined for name in part[0])])
        together = own.union(*(part[1] for part in joined))
        parts = [part for part in parts if part not in joined] + [(tuple(names), together)]
    return parts


def _lines(own: frozenset[str], usual: frozenset[str]) -> str:
    """A line of [states] for each own state: the one of the others that begins like it, or a gap.

    >>> _lines(frozenset("MF"), frozenset(["male", "female"]))
    '"F" = "female", "M" = "male"'
    """

    def like(state: str) -> str:
        one, found = state.strip().casefold(), []
        for other in sorted(usual):
            two = other.strip().casefold()
            if one and two and (one.startswith(two) or two.startswith(one)):
                found.append(other)
        return found[0] if len(found) == 1 else "..."

    return ", ".join(f'"{state}" = "{like(state)}"' for state in sorted(own)[:MAPPED])


def meaning(state: str) -> object:
    """Equal for spellings of one number, and for texts that differ in case or outer blanks."""
    text = state.strip().casefold()
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text
