"""A bar for what takes long: a widget in a notebook, text on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

DELAY = 3.0
"""Seconds of which nothing is shown."""

EVERY = 0.5
"""Seconds between two looks at how far it is."""

_UNKNOWN = "{desc} {elapsed}"
_KNOWN = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt}, {remaining} left"

Count = Callable[[int, int], None]
"""Hears how much is done, and of how much."""


@contextmanager
def progress_bar(words: str) -> Iterator[Count]:
    """Yield what counts; from DELAY seconds on a bar of tqdm shows it, which goes at the end.

    A thread draws it, for the compiled searches say nothing while they run. Another total, that of
    another stage, begins the bar anew. Where nobody sees a bar, in a pipe or a log, there is none,
    and tqdm is not loaded; TQDM_DISABLE=1 in the environment turns it off everywhere.
    """
    if not (in_notebook() or sys.stderr.isatty()):
        yield lambda done, total: None
        return
    counted = [0, 0]
    ended = Event()

    def count(done: int, total: int) -> None:
        counted[:] = done, total

    thread = Thread(target=_show, args=(words, counted, ended), daemon=True)
    thread.start()
    try:
        yield count
    finally:
        ended.set()
        thread.join()


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and "IPKernelApp" in shell.config


def _show(words: str, counted: list[int], ended: Event) -> None:
    if ended.wait(DELAY):
        return
    from tqdm.auto import tqdm

    with tqdm(desc=words, leave=False, bar_format=_UNKNOWN) as bar:
        while True:
            done, total = counted
            if total and bar.total != total:
                bar.bar_format = _KNOWN
                bar.reset(total)
            bar.n = done
            bar.refresh()
            if ended.wait(EVERY):
                return
