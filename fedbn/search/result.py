"""What every local search returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG

__all__ = ["SearchResult", "Status"]

Status = Literal["complete", "parent limit", "set limit", "time limit"]


@dataclass(frozen=True)
class SearchResult:
    """A structure and how it was found.

    Parameters
    ----------
    dag : a DAG of the class that was found; without background knowledge it depends on the class
        alone.
    cpdag : the class.
    score : total score of `dag`, higher is better.
    status : "complete"; or the limit that was met: "time limit" (the search stopped early),
        "parent limit" or "set limit" (operators were left out for `max_parents` or `max_t`).
    counters : for humans: steps by kind, sets counted, how often the store was emptied.
    """

    dag: DAG
    cpdag: PDAG
    score: float
    status: Status
    counters: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}), compare=False)
