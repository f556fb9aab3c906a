"""How much memory and time a credible set may take. Ctrl-C counts as a time limit that is met.

Compiled functions look at `stop` and end when it is set. They run in a thread of their own, so
that a deadline or Ctrl-C reaches them at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from fedbn._core.credible import Stop
from fedbn.errors import SearchError
from fedbn.limits import free_memory


class DiagramLimit(SearchError):  # noqa: N818
    """A set needs more memory or time than it was given."""


class Limits:
    """The limits of one search.

    Parameters
    ----------
    memory : bytes; by default half of what is free.
    seconds : wall clock from now; None for no limit.
    within : the limits of the whole, where these are of a part: Ctrl-C ends both.
    """

    def __init__(
        self,
        memory: int | None = None,
        seconds: float | None = None,
        *,
        within: Limits | None = None,
    ) -> None:
        self.memory = free_memory() // 2 if memory is None else memory
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.stop = Stop()
        self.within = within
        self.interrupted: bool = within is not None and within.interrupted
        if self.interrupted:
            self.stop.set()

    @property
    def seconds(self) -> float | None:
        """What is left, at least 0; None for no limit."""
        if self.stop.is_set:
            return 0.0
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether time is up."""
        return self.seconds == 0.0

    @property
    def reason(self) -> str:
        """Why time is up, in words."""
        if self.interrupted:
            return "interrupted before all credible graphs were found"
        return "the time limit ended before all credible graphs were found"

    def half(self) -> Limits:
        """Limits with half of the time that is left."""
        seconds = self.seconds
        return Limits(self.memory, None if seconds is None else seconds / 2, within=self)

    def interrupt(self) -> None:
        """No more time."""
        self.interrupted = True
        self.stop.set()
        if self.within is not None:
            self.within.interrupt()

    def require_time(self) -> None:
        """Raises DiagramLimit when time is up."""
        if self.over:
            raise DiagramLimit(self.reason)

    def run(self, compute: Callable[..., Any], *arguments: Any) -> Any:
        """compute(*arguments, stop), which ends early once time is up.

        It returns what there is, or raises DiagramLimit, for which time is named first.
        """
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(compute, *arguments, self.stop)
            try:
                wait([running], self.seconds)
            except KeyboardInterrupt:
                self.interrupt()
            if not running.done():
                self.stop.set()
            try:
                return running.result()
            except DiagramLimit:
                self.require_time()
                raise
