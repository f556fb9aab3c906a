"""How far the compilation of kernels is: in other processes by their files, in this one by events.

A door is a kernel that Python calls, and the kernels below it are compiled with it.
"""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedbn.kernel_compilation import is_compiling
from fedbn.kernel_sources import digest_of

__all__ = ["Compilation", "compilation", "kernels_below", "tell_of_kernels"]


class Compilation:
    """Which kernels have been compiled for this machine, by the files of numba's cache.

    Parameters
    ----------
    root : the package's folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._writable = os.access(root, os.W_OK) and "NUMBA_CACHE_DIR" not in os.environ
        self._first = self._last = self.count_compiled()
        self._changed = -math.inf

    def count_compiled(self) -> int:
        """Kernels with a file that was made of their sources as they are now: it names their
        digest."""
        found = 0
        for index in self._root.glob("**/__pycache__/*_kernels.*.nbi"):
            source = index.parent.parent / f"{index.name.partition('.')[0]}.py"
            try:
                found += digest_of(source.resolve()).encode() in index.read_bytes()
            except OSError:
                continue
        return found

    def total(self) -> int:
        """All kernels; a run needs only some of them."""
        sources = self._root.glob("**/_*_kernels.py")
        return sum(
            len(re.findall(r"(?m)^@door(_to_sets)?$", file.read_text("utf-8"))) for file in sources
        )

    def words(self, now: float) -> str:
        """What to say at a time; empty unless something is being compiled."""
        if not self._writable:
            return ""
        compiled = self.count_compiled()
        if compiled != self._last:
            self._last, self._changed = compiled, now
        if now - self._changed > 60.0 and self._last > 0 and not is_compiling():
            return ""
        return f"compiling for this machine, once: {compiled} of at most {self.total()} kernels"


def compilation() -> Compilation:
    """What is compiled of fedbn."""
    import fedbn

    return Compilation(Path(fedbn.__file__).parent)


def kernels_below(doors: Iterable[Any]) -> set[Any]:
    """The doors and all kernels that they call, found by the names that their code uses."""
    found: set[Any] = set()
    waiting = list(doors)
    while waiting:
        kernel = waiting.pop()
        if kernel not in found:
            found.add(kernel)
            waiting += _called_by(inspect.unwrap(kernel))
    return found


def _called_by(function: Any) -> list[Any]:
    from numba.core.dispatcher import Dispatcher

    from fedbn.kernel_parts import Part

    used = (function.__globals__.get(name) for name in function.__code__.co_names)
    return [value for value in used if isinstance(value, Dispatcher | Part)]


@contextmanager
def tell_of_kernels(tell: Callable[[int], None]) -> Iterator[None]:
    """Inside, `tell` hears how many kernels this process has compiled, whenever one is."""
    from numba.core import event

    class Listener(event.Listener):
        def __init__(self) -> None:
            self.seen: set[Any] = set()

        def on_start(self, event: Any) -> None:
            pass

        def on_end(self, event: Any) -> None:
            function = event.data["dispatcher"].py_func
            if not function.__module__.startswith("numba."):
                self.seen.add(function)  # once, also where it is a door and a part of another
            tell(len(self.seen))

    with event.install_listener("numba:compile", Listener()):
        yield
