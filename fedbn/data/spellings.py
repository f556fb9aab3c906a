"""One state in two spellings: 'Yes' at one site and 'yes' at another, '22' and '22.0'.

Each would be a state of its own, and the sites would seem to differ. Within one table the spellings
are the site's own affair; between tables they are refused unless a run accepts them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from fedbn.data.schema import Schema
from fedbn.errors import SchemaError

__all__ = ["require_one_spelling"]


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
    if not sites or schemas[sites[0]].kind == "gaussian":
        return
    for column, variable in enumerate(schemas[sites[0]].variables):
        if variable.cuts is None:
            states = {site: set(schemas[site].states[column]) for site in sites}
            _require_one(variable.name, states)


def _require_one(name: str, states: Mapping[str, set[str]]) -> None:
    spellings: dict[object, set[str]] = {}
    for found in states.values():
        for state in found:
            spellings.setdefault(_meaning(state), set()).add(state)
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


def _meaning(state: str) -> object:
    """Equal for spellings of one number, and for texts that differ in case or outer blanks."""
    text = state.strip().casefold()
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text
