"""Limits of a search: wall clock, memory, parents; and which of them were met."""

from __future__ import annotations

import time
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from fedbn.errors import ConfigError, SearchError


class Limit(StrEnum):
    """What kept a search from considering everything. The value is what a person reads."""

    TIME = "time limit"
    FALLBACK = "fallback"
    MEMORY = "memory limit"
    PARENTS = "parent limit"
    SETS = "set limit"
    STEPS = "step limit"
    INTERRUPTION = "interruption"


NOTHING_MET: frozenset[Limit] = frozenset()
"""No limit was met: the search considered everything."""

STATUSES = (
    "complete",
    Limit.TIME.value,
    Limit.FALLBACK.value,
    Limit.MEMORY.value,
    Limit.PARENTS.value,
    Limit.SETS.value,
)
"""The words that a client may say about its search; their positions are the codes on the wire."""

_SAID = {Limit.STEPS: Limit.TIME, Limit.INTERRUPTION: Limit.TIME}
"""Limits that have no code of their own."""

_GRAVEST_FIRST = (Limit.FALLBACK, Limit.TIME, Limit.MEMORY, Limit.PARENTS, Limit.SETS)


def status_of(met: AbstractSet[Limit]) -> str:
    """The one word of STATUSES that says which limits were met: the gravest.

    >>> status_of(frozenset()), status_of({Limit.PARENTS, Limit.INTERRUPTION})
    ('complete', 'time limit')
    """
    said = {_SAID.get(limit, limit) for limit in met}
    return next((limit.value for limit in _GRAVEST_FIRST if limit in said), "complete")


def in_words(met: AbstractSet[Limit]) -> str:
    """All limits that were met, for a sentence; empty for none.

    >>> in_words({Limit.TIME, Limit.PARENTS})
    'the parent limit and the time limit'
    """
    return " and ".join(f"the {limit.value}" for limit in sorted(met))


@dataclass(frozen=True)
class SearchLimits:
    """What a search may use.

    Parameters
    ----------
    deadline : value of time.monotonic(), or None.
    memory : bytes, or None for what the machine has free.
    max_parents : largest in-degree, or None.
    """

    deadline: float | None = None
    memory: int | None = None
    max_parents: int | None = None

    @classmethod
    def of(cls, seconds: float | None, memory: int | None, max_parents: int | None) -> SearchLimits:
        """Limits that begin to count now; raises ConfigError for values below zero."""
        for what, value in {
            "seconds": seconds,
            "memory": memory,
            "max_parents": max_parents,
        }.items():
            if value is not None and not value >= 0:
                raise ConfigError(f"{what} must be at least 0, not {value}")
        deadline = None if seconds is None else time.monotonic() + seconds
        return cls(deadline, memory, max_parents)

    @property
    def left(self) -> float | None:
        """Seconds until the deadline, at least 0; None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether the deadline has passed."""
        return self.left == 0.0

    def allows(self, seconds: float) -> bool:
        """Whether there is time for a step that takes about so many seconds."""
        return not self.over and (self.left is None or seconds <= self.left)

    @property
    def bytes(self) -> int:
        """Bytes that may be allocated now."""
        return free_memory() if self.memory is None else min(self.memory, free_memory())


def require_memory(need: int, allowed: int | None, what: str) -> None:
    """Raises SearchError when `need` bytes are more than allowed or than the machine has free."""
    limit = free_memory() if allowed is None else min(allowed, free_memory())
    if need > limit:
        raise SearchError(f"{what} needs {need >> 20} MiB, only {limit >> 20} MiB may be used")


def free_memory() -> int:
    """Bytes that this machine can still give; 2^62 where that is not known."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 1 << 62
