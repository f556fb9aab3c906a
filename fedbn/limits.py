"""Limits of a search: wall clock, memory, parents."""

from __future__ import annotations

import time
from dataclasses import dataclass

from fedbn.errors import ConfigError, SearchError

__all__ = ["STATUSES", "SearchLimits", "free_memory", "require_memory"]


STATUSES = (
    "complete",
    "time limit",
    "fallback",
    "memory limit",
    "parent limit",
    "set limit",
)
"""The words that a client may say about its search; their positions are the codes on the wire."""


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
