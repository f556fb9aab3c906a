"""Whose rows the parameters of a consensus are of: what `run.json` keeps of it, and reads back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fedbn.errors import ResultsError
from fedbn.wording import list_some, printable

__all__ = ["ParameterSources", "held_back_in", "held_back_words", "remarks_on"]

SHOWN = 8
"""Variables that a line names."""


@dataclass(frozen=True)
class ParameterSources:
    """Who gave counts or moments of the consensus' families, and who did not.

    Parameters
    ----------
    sites : that gave some.
    refused : (site, reason) of those that gave none.
    held_back : (variable, sites) of tables that are without the rows of these sites, since the
        family has a count below their `min-cell`.
    failure : why there are no parameters; empty where there are.
    """

    sites: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    held_back: tuple[tuple[str, tuple[str, ...]], ...] = ()
    failure: str = ""

    def to_dict(self) -> dict[str, Any]:
        """For `run.json`."""
        return {
            "sites": list(self.sites),
            "refused": [{"client": site, "reason": reason} for site, reason in self.refused],
            "held_back": {variable: list(sites) for variable, sites in self.held_back},
            "failure": self.failure or None,
        }


def remarks_on(sources: ParameterSources) -> list[str]:
    """One line for each site whose rows are missing, for tables that lack some, and for a failure.

    >>> sources = ParameterSources(refused=(("east", "no reply"),), failure="no site answered")
    >>> for line in remarks_on(sources):
    ...     print(line)
    the parameters are without the rows of east: no reply
    the consensus has no parameters: no site answered
    """
    lines = [
        f"the parameters are without the rows of {site}: {reason}"
        for site, reason in sources.refused
    ]
    lines += held_back_words(dict(sources.held_back))
    failure = [f"the consensus has no parameters: {sources.failure}"] if sources.failure else []
    return lines + failure


def held_back_in(run: Mapping[str, Any], source: str) -> dict[str, tuple[str, ...]]:
    """Variable -> sites whose rows its table is without, as the content of a `run.json` says.

    Raises
    ------
    ResultsError : it says so in another form than `ParameterSources.to_dict`; names the source.
    """
    told = run.get("parameters") or {}
    found = told.get("held_back", {}) if isinstance(told, Mapping) else None
    if not isinstance(found, Mapping) or not all(
        isinstance(sites, list) and sites and all(isinstance(site, str) for site in sites)
        for sites in found.values()
    ):
        raise ResultsError(
            f'{source}: "held_back" must be {{variable: [sites]}}, found {told!r:.80}'
        )
    return {variable: tuple(sites) for variable, sites in found.items()}


def held_back_words(held_back: Mapping[str, Sequence[str]]) -> list[str]:
    """One printable line for each group of sites, with the tables that are without their rows.

    >>> for line in held_back_words({"age": ["north"], "sex": ["north"], "smoke": ["east"]}):
    ...     print(line)
    the tables of 'age', 'sex' are without the rows of north: min-cell
    the table of 'smoke' is without the rows of east: min-cell
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for variable, sites in held_back.items():
        groups.setdefault(tuple(map(printable, sites)), []).append(repr(variable))
    lines = []
    for sites, variables in groups.items():
        what = f"the table of {variables[0]} is"
        if len(variables) > 1:
            what = f"the tables of {list_some(variables, SHOWN, quoted=False)} are"
        missing = list_some(sites, SHOWN, quoted=False)
        lines.append(f"{what} without the rows of {missing}: min-cell")
    return lines
