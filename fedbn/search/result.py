"""What every local search returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG
from fedbn.limits import Limit, status_of


@dataclass(frozen=True)
class SearchResult:
    """A structure and how it was found.

    Parameters
    ----------
    dag : a DAG of the class that was found; without background knowledge it depends on the class
        alone.
    cpdag : the class.
    score : total score of `dag`, higher is better.
    met : the limits that were met: TIME (the search stopped early), PARENTS or SETS (operators were
        left out for `max_parents` or `max_t`).
    counters : for humans: steps by kind, sets counted, how often the store was emptied.
    """

    dag: DAG
    cpdag: PDAG
    score: float
    met: frozenset[Limit]
    counters: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}), compare=False)

    @property
    def status(self) -> str:
        """The word complete, or the gravest limit that was met."""
        return status_of(self.met)
