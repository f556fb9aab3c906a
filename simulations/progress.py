"""What a long command says while it works, on standard error: what, k of n, and the time left.

A command that loads much says at once that it starts. On a terminal the rest is a bar. Elsewhere it
is a plain line, after two seconds and then every few seconds in the first five minutes, every half
minute later.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, Protocol

FIRST_SECONDS = 2.0
"""Nothing is said of what takes less."""

SOON, LATER = 3.0, 30.0
"""Seconds between plain lines: in the first five minutes, and after them."""

EARLY = 300.0

GUESS = 30.0
"""Seconds after which a guess of more than these is told: the first cases often take longest."""

WIDE = 110
"""Columns of a terminal that has room for words, a bar and the time left in one line."""


class Count(Protocol):
    """Hears how much is done."""

    def __call__(self, done: int, total: int, left: float | None = None) -> None:
        """So much, and the seconds left where they are known better than by proportion."""


Tracker = Callable[[str], Count]


class Stages(Protocol):
    """Says which stage has begun, and how far it is."""

    def __call__(self, words: str) -> None:
        """A stage begins; the one before has ended."""

    def count(self, done: int, total: int) -> None:
        """So much of the stage is done."""


class _Task:
    """A stage: its words, when it began, how far it is."""

    def __init__(self, words: str) -> None:
        self.words, self._began = words, time.monotonic()
        self.done, self.total = 0, 0
        self._end: float | None = None
        self.ends_itself = False  # or else when the next stage begins

    def count(self, done: int, total: int, left: float | None = None) -> None:
        self.done, self.total = done, total
        self._end = None if left is None else time.monotonic() + left

    @property
    def counted_out(self) -> bool:
        """Whether all is done that was to be counted."""
        return 0 < self.total <= self.done

    def age(self, now: float) -> float:
        return now - self._began

    def amount(self, now: float) -> str:
        """How much is done, and the time left, or the time passed where that is not known."""
        passed = self.age(now)
        if not self.total:
            return clock(passed)
        left = time_left(self.done, self.total, passed)
        if left is not None and passed < GUESS < left:
            left = None
        if self._end is not None:
            left = max(self._end - now, 0.0)
        if left is None or left == math.inf or self.counted_out:
            return f"{self.done}/{self.total}, {clock(passed)}"
        return f"{self.done}/{self.total}, {clock(left)} left"

    def text(self, now: float) -> str:
        return f"{self.words}{' ' if self.total else ', '}{self.amount(now)}"


def time_left(done: int, total: int, passed: float) -> float | None:
    """Seconds, if the rest goes as what is done; None while nothing is.

    >>> time_left(3, 10, 30.0)
    70.0
    """
    return None if done < 1 else passed * (total - done) / done


def clock(seconds: float) -> str:
    """Minutes and seconds; with hours where there are some.

    >>> clock(40.2), clock(3700)
    ('0:40', '1:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


_began = math.inf
"""When the command began, if one did."""


def begin_command() -> None:
    """From now on the two seconds count in which nothing is said."""
    global _began
    _began = time.monotonic()


class _Lines:
    """Plain lines of the task that runs."""

    def __init__(self) -> None:
        self._tasks: list[_Task] = []
        self._said = -math.inf

    def add(self, task: _Task) -> None:
        self._tasks.append(task)

    def end(self, task: _Task) -> None:
        self._tasks.remove(task)

    def tick(self) -> None:
        """Say a line if it is time."""
        now = time.monotonic()
        running = [each for each in self._tasks if not (each.ends_itself and each.counted_out)]
        task = running[-1] if running else None
        if task is None:
            return
        passed = task.age(now)
        # Short stages one after the other are a long silence.
        waited = max(passed, now - _began)
        if (self._said == -math.inf and waited < FIRST_SECONDS) or now - self._said < SOON:
            return
        if passed < EARLY or now - self._said >= LATER:
            self._said = now
            print(f"fedbn: {task.text(now)}", file=sys.stderr, flush=True)


class _Bars:
    """Rich's bars."""

    def __init__(self, bars: Any) -> None:
        self._bars = bars
        self._tasks: dict[_Task, Any] = {}

    def add(self, task: _Task) -> None:
        self._tasks[task] = self._bars.add_task(task.words, total=None, told="")

    def end(self, task: _Task) -> None:
        self._bars.remove_task(self._tasks.pop(task))

    def tick(self) -> None:
        """Move every bar that has not ended."""
        now = time.monotonic()
        for task, bar in list(self._tasks.items()):
            amount = task.amount(now)
            self._bars.update(bar, completed=task.done, total=task.total or None, told=amount)
            if task.ends_itself and task.counted_out:
                del self._tasks[task]


def say_start(words: str, shown: bool) -> None:
    """A line at once, before the imports of a long command."""
    if shown:
        print(f"fedbn: {words}", file=sys.stderr, flush=True)


@contextmanager
def _ticking(tick: Callable[[], None]) -> Iterator[None]:
    """Inside, `tick` is called twice a second from a thread; kernels do not stop it."""
    ended = Event()

    def run() -> None:
        while not ended.wait(0.5):
            tick()

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _display() -> Iterator[_Lines | _Bars]:
    """What shows tasks: bars on a terminal, else lines."""
    if not sys.stderr.isatty():
        lines = _Lines()
        with _ticking(lines.tick):
            yield lines
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24 if console.width >= WIDE else 4),
        TextColumn("{task.fields[told]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bars = _Bars(progress)
        with _ticking(bars.tick):
            yield bars


@contextmanager
def progress_bars(shown: bool) -> Iterator[Tracker]:
    """Yield a function that names a task and returns its `progress(done, total)` callback."""
    if not shown:
        yield lambda name: lambda done, total, left=None: None
        return
    with _display() as display:

        def begin(name: str) -> Count:
            task = _Task(name)
            task.ends_itself = True
            display.add(task)
            return task.count

        yield begin


class _Silent:
    def __call__(self, words: str) -> None:
        pass

    def count(self, done: int, total: int) -> None:
        pass


class _Stages:
    """Stages one after the other, on a display."""

    def __init__(self, display: _Lines | _Bars) -> None:
        self._display = display
        self._task: _Task | None = None

    def __call__(self, words: str) -> None:
        if self._task is not None:
            self._display.end(self._task)
        self._task = _Task(words)
        self._display.add(self._task)

    def count(self, done: int, total: int) -> None:
        if self._task is not None:
            self._task.count(done, total)


@contextmanager
def stages(shown: bool) -> Iterator[Stages]:
    """Yield what says which stage has begun, and with `count` how far it is."""
    if not shown:
        yield _Silent()
        return
    with _display() as display:
        yield _Stages(display)


@contextmanager
def starting(words: str, shown: bool) -> Iterator[None]:
    """Say what a command loads inside, if that takes long."""
    with stages(shown) as notify:
        notify(f"starting: {words}")
        yield
