"""How much memory and time a credible set may take. Ctrl-C counts as a time limit that is met.

Kernels poll `stop`, one byte, and return when it is set. They run in a thread of their own, so
that a deadline or Ctrl-C reaches them at once; whoever started them then takes what there is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from fedbn.errors import SearchError
from fedbn.limits import free_memory

__all__ = ["DiagramLimit", "Limits"]


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
        self.stop = np.zeros(1, dtype=np.uint8)
        self.within = within
        self.interrupted: bool = within is not None and within.interrupted
        self.stop[0] = self.interrupted

    @property
    def seconds(self) -> float | None:
        """What is left, at least 0; None for no limit."""
        if self.stop[0]:
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
        self.stop[0] = 1
        if self.within is not None:
            self.within.interrupt()

    def require_time(self) -> None:
        """Raises DiagramLimit when time is up."""
        if self.over:
            raise DiagramLimit(self.reason)

    def run(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """kernel(*arguments, stop), which returns early once time is up."""
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(kernel, *arguments, self.stop)
            try:
                return running.result(self.seconds)
            except TimeoutError:
                self.stop[0] = 1
            except KeyboardInterrupt:
                self.interrupt()
            return running.result()
