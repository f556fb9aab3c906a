"""How long a server may choose: its own work counts, and waiting for sites does not."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

SEARCHING = 0.5
"""Share of a time limit for searches; the rest is for looking at whether few sites decide alone."""


@dataclass(frozen=True)
class ChoosingTime:
    """A time limit, and what of it is gone.

    Attributes
    ----------
    seconds : the limit; None: there is none.
    searching : share of it after which nothing more is searched for.
    spent : seconds so far.
    """

    seconds: float | None = None
    searching: float = 1.0
    spent: float = 0.0

    @property
    def is_searched(self) -> bool:
        """Whether nothing more is to be searched for."""
        return self.seconds is not None and self.spent >= self.searching * self.seconds

    def begin(self) -> Work:
        """From now on work counts."""
        return Work(self, time.monotonic())


@dataclass(frozen=True)
class Work:
    """Work that has begun, with its ends on the monotonic clock; None: there is no limit."""

    given: ChoosingTime
    begun: float

    @property
    def search_end(self) -> float | None:
        """When searches end."""
        return self._end(self.given.searching)

    @property
    def end(self) -> float | None:
        """When all ends."""
        return self._end(1.0)

    def stop(self) -> ChoosingTime:
        """What is gone now."""
        if self.given.seconds is None:
            return self.given
        return replace(self.given, spent=self.given.spent + time.monotonic() - self.begun)

    def _end(self, share: float) -> float | None:
        if self.given.seconds is None:
            return None
        return self.begun + max(0.0, share * self.given.seconds - self.given.spent)
