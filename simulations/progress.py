"""What a long command says while it works, on standard error: what, k of n, and the time left.

A command that loads much says at once that it starts. On a terminal the rest is a bar. Elsewhere it
is a plain line, after two seconds and then every few seconds in the first two minutes, every half
minute later. The first run on a machine compiles kernels, of which `simulations/compilation.py`
knows.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Protocol

from simulations.compilation import compilation

if TYPE_CHECKING:
    from simulations.study_cases import Tick

__all__ = [
    "Count",
    "Stages",
    "progress_bars",
    "say_start",
    "stages",
    "study_line",
    "time_left",
]

FIRST_SECONDS = 2.0
"""Nothing is said of what takes less."""

SOON, LATER = 3.0, 30.0
"""Seconds between plain lines: in the first two minutes, or while kernels are compiled; after."""

EARLY = 120.0

WIDE = 110
"""Columns of a terminal that has room for words, a bar and the time left in one line."""

Count = Callable[[int, int], None]
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
        self.words, self.began = words, time.monotonic()
        self.done, self.total = 0, 0
        self.ends_itself = False  # or else when the next stage begins

    @property
    def counted_out(self) -> bool:
        """Whether all is done that was to be counted."""
        return 0 < self.total <= self.done

    def text(self, now: float) -> str:
        passed = now - self.began
        if not self.total:
            return f"{self.words}, {clock(passed)}"
        left = time_left(self.done, self.total, passed)
        told = clock(passed) if left is None or self.counted_out else f"{clock(left)} left"
        return f"{self.words} {self.done}/{self.total}, {told}"


def time_left(done: int, total: int, passed: float) -> float | None:
    """Seconds, if the rest goes as what is done; None while nothing is.

    >>> time_left(3, 10, 30.0)
    70.0
    """
    return None if done < 1 else passed * (total - done) / done


def clock(seconds: float) -> str:
    """Minutes and seconds.

    >>> clock(40.2), clock(3700)
    ('0:40', '61:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


def _words_of_compilation(compiles: bool) -> Callable[[float], str]:
    """What is said beside a task; nothing where the task itself is to compile."""
    return (lambda now: "") if compiles else compilation().words


class _Lines:
    """Plain lines of the task that runs."""

    def __init__(self, compiles: bool = False) -> None:
        self._compiles = compiles
        self._words = _words_of_compilation(compiles)
        self._tasks: list[_Task] = []
        self._said = -math.inf

    def add(self, words: str) -> _Task:
        self._tasks.append(_Task(words))
        return self._tasks[-1]

    def end(self, task: _Task) -> None:
        self._tasks = [each for each in self._tasks if each is not task]

    def tick(self) -> None:
        """Say a line if it is time."""
        now = time.monotonic()
        running = [each for each in self._tasks if not (each.ends_itself and each.counted_out)]
        task = running[-1] if running else None
        if task is None:
            return
        passed = now - task.began
        silent = self._said == -math.inf  # short stages one after the other are a long silence
        if (silent and passed < FIRST_SECONDS) or now - self._said < SOON:
            return
        compiling = self._words(now)
        if passed < EARLY or compiling or self._compiles or now - self._said >= LATER:
            self._said = now
            more = f" ({compiling})" if compiling else ""
            print(f"fedbn: {task.text(now)}{more}", file=sys.stderr, flush=True)


def say_start(words: str, shown: bool) -> None:
    """A line at once, before the imports and kernels that a long command loads first."""
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
def _bars(compiles: bool = False) -> Iterator[Any]:
    """Rich's bars, with what is compiled beside them."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    console = Console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24 if console.width >= WIDE else 4),
        TextColumn("{task.fields[told]}"),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        words = _words_of_compilation(compiles)

        def tick() -> None:
            compiling = words(time.monotonic())
            for task in bars.tasks:
                if not task.finished:
                    bars.update(task.id, told=_task_text(task, compiling))

        with _ticking(tick):
            yield bars


def _task_text(task: Any, compiling: str) -> str:
    passed = task.elapsed or 0.0
    told = clock(passed)
    if task.total:
        left = time_left(int(task.completed), int(task.total), passed)
        told = clock(passed) if left is None else f"{clock(left)} left"
        told = f"{task.completed:.0f}/{task.total:.0f}, {told}"
    return f"{told}  {compiling}" if compiling else told


@contextmanager
def progress_bars(shown: bool) -> Iterator[Tracker]:
    """Yield a function that names a task and returns its `progress(done, total)` callback."""
    if not shown:
        yield lambda name: lambda done, total: None
    elif sys.stderr.isatty():
        with _bars() as bars:

            def bar(name: str) -> Count:
                task = bars.add_task(name, total=None, told="")
                return lambda done, total: bars.update(task, completed=done, total=total)

            yield bar
    else:
        lines = _Lines()

        def line(name: str) -> Count:
            task = lines.add(name)
            task.ends_itself = True

            def count(done: int, total: int) -> None:
                task.done, task.total = done, total

            return count

        with _ticking(lines.tick):
            yield line


class _Silent:
    def __call__(self, words: str) -> None:
        pass

    def count(self, done: int, total: int) -> None:
        pass


class _Stages:
    """Stages one after the other, shown by whatever shows tasks."""

    def __init__(self, begin: Callable[[str], tuple[Count, Callable[[], None]]]) -> None:
        self._begin = begin
        self._count: Count = lambda done, total: None
        self._end: Callable[[], None] = lambda: None

    def __call__(self, words: str) -> None:
        self._end()
        self._count, self._end = self._begin(words)

    def count(self, done: int, total: int) -> None:
        self._count(done, total)


@contextmanager
def stages(shown: bool, compiles: bool = False) -> Iterator[Stages]:
    """Yield what says which stage has begun, and with `count` how far it is.

    compiles : whether the stages compile kernels and count them; then plain lines stay frequent.
    """
    if not shown:
        yield _Silent()
    elif sys.stderr.isatty():
        with _bars(compiles) as bars:

            def begin(words: str) -> tuple[Count, Callable[[], None]]:
                task = bars.add_task(words, total=None, told="")

                def count(done: int, total: int) -> None:
                    bars.update(task, completed=done, total=total)

                return count, lambda: bars.remove_task(task)

            yield _Stages(begin)
    else:
        lines = _Lines(compiles)

        def start(words: str) -> tuple[Count, Callable[[], None]]:
            task = lines.add(words)

            def count(done: int, total: int) -> None:
                task.done, task.total = done, total

            return count, lambda: lines.end(task)

        with _ticking(lines.tick):
            yield _Stages(start)


def study_line(shown: bool) -> Callable[[Tick], None]:
    """A study's progress on standard error: cases done, and hours and minutes left.

    One line that is written over on a terminal; elsewhere a new line, every half minute at most.
    """
    last = -math.inf

    def tell(tick: Tick) -> None:
        nonlocal last
        ended = tick.done == tick.total
        terminal = sys.stderr.isatty()
        if not shown or (not terminal and not ended and time.monotonic() - last < LATER):
            return
        last = time.monotonic()
        text = f"{tick.done} of {tick.total} cases"
        if tick.seconds_left is not None and not ended:
            hours, minutes = divmod(round(tick.seconds_left / 60.0), 60)
            text += f", {hours:02d}:{minutes:02d} left"
        end = "" if terminal and not ended else "\n"
        print(f"\r{text:<60}" if terminal else text, end=end, file=sys.stderr, flush=True)

    return tell
