"""What is chosen by name: fedbn's own entries, those of this session, those of installed packages.

A registry is a read-only mapping. fedbn's own entries come in by the same door as anybody's
(`add`). An installed package announces an entry under the registry's group of entry points, and is
imported when its name is first asked for, not before:

    [project.entry-points."fedbn.learners"]
    chow-liu = "chow_liu:learn"

Iterating gives what is loaded; `names` tells what is installed, too.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fedbn.errors import ConfigError, PluginError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

OWN = "fedbn"
"""The origin of fedbn's own entries."""

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True)
class _Entry(Generic[T]):
    value: T
    origin: str


class Registry(Mapping[str, T]):
    """Name -> entry.

    Parameters
    ----------
    kind : what an entry is called in errors, like "learner".
    group : of entry points, like "fedbn.learners".
    adopt : (name, what an entry point names, origin) -> entry; raises ConfigError for what can be
        none.
    """

    def __init__(self, kind: str, group: str, adopt: Callable[[str, Any, str], T]) -> None:
        self.kind = kind
        self.group = group
        self.adopt = adopt
        self._entries: dict[str, _Entry[T]] = {}
        self._lent: ContextVar[Mapping[str, _Entry[T]]] = ContextVar(kind)

    def add(self, name: str, value: T, origin: str = OWN) -> None:
        """Enter something under a name that is free, or that it had before (a cell run again).

        Raises
        ------
        ConfigError : the name is no lower-case word with digits and hyphens, or is taken.
        """
        if _NAME.fullmatch(name) is None:
            raise ConfigError(
                f"a {self.kind}'s name must be lower-case words joined by hyphens, not {name!r}"
            )
        before = self._entries.get(name)
        if before is not None and (before.origin != origin or origin == OWN):
            raise ConfigError(
                f"the {self.kind} {name!r} of {origin} needs a name of its own: {before.origin} "
                "has one of this name"
            )
        self._entries[name] = _Entry(value, origin)

    def find(self, name: str) -> T:
        """The entry of this name.

        Raises
        ------
        ConfigError : there is none; the message lists the known ones.
        PluginError : the package that has it cannot be loaded.
        """
        if name not in self:
            known = self.names()
            raise ConfigError(
                f"unknown {self.kind} {name!r}: it must be one of {', '.join(known)}"
                f"{did_you_mean(name, known)}"
            )
        return self[name]

    def names(self) -> tuple[str, ...]:
        """Every name, of installed packages too, which are not imported for it."""
        installed = sorted({point.name for point in self._points()} - set(self._entries))
        return (*dict.fromkeys((*self._entries, *self._lent.get({}), *installed)),)

    def is_own(self, name: str) -> bool:
        """Whether this is the name of one of fedbn's own entries; nothing is loaded."""
        return name in self._entries and self._entries[name].origin == OWN

    def describe(self, name: str) -> str:
        """The entry in an error's words: its kind, its name, where it comes from."""
        entry = self._known().get(name)
        where = "" if entry is None or entry.origin == OWN else f" ({entry.origin})"
        return f"{self.kind} {name!r}{where}"

    @contextmanager
    def lend(self, name: str, value: T, origin: str) -> Iterator[None]:
        """Inside, and in this thread alone, the entry has this name."""
        token = self._lent.set({**self._lent.get({}), name: _Entry(value, origin)})
        try:
            yield
        finally:
            self._lent.reset(token)

    def __getitem__(self, name: str) -> T:
        known = self._known()
        if name not in known:
            self._load(name)
            known = self._known()
        return known[name].value

    def __contains__(self, name: object) -> bool:
        return name in self._known() or any(point.name == name for point in self._points())

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def _known(self) -> Mapping[str, _Entry[T]]:
        lent = self._lent.get({})
        return {**self._entries, **lent} if lent else self._entries

    def _points(self) -> tuple[EntryPoint, ...]:
        return _installed_points(self.group, tuple(sys.path))

    def _load(self, name: str) -> None:
        """Import the package that announces the name; its module may register the entry itself."""
        points = [point for point in self._points() if point.name == name]
        if not points:
            raise KeyError(name)
        origins = sorted({_package(point) for point in points})
        if len(origins) > 1:
            raise PluginError(f"{self.kind} {name!r} is in two packages: {' and '.join(origins)}")
        try:
            found = points[0].load()
        except Exception as error:
            words = f"{type(error).__name__}: {error}"
            raise PluginError(
                f"{self.kind} {name!r} of {origins[0]} cannot be loaded: {words}"
            ) from error
        if name not in self._entries:
            self.add(name, self.adopt(name, found, origins[0]), origins[0])


def origin_of(thing: object) -> str:
    """Where a function comes from, for errors: module and name."""
    module = getattr(thing, "__module__", None) or type(thing).__module__
    return f"{module}.{getattr(thing, '__qualname__', type(thing).__qualname__)}"


@lru_cache(maxsize=12)
def _installed_points(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """A group's entry points on this path, looked for once: a file of every package is read.

    `importlib.metadata` takes longer to load than a small search takes, and no package announces
    anything on most machines.
    """
    if not _is_announced(group, path):
        return ()
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))


def _is_announced(group: str, path: tuple[str, ...]) -> bool:
    """Whether a package may announce an entry of the group: False is certain, True is not.

    Looks at the files that `importlib.metadata` reads. What only that can read, archives on the
    path and packages of other finders, may announce anything.
    """
    if any(hasattr(each, "find_distributions") for each in sys.meta_path if each is not PathFinder):
        return True
    for folder in path:
        try:
            names = os.listdir(folder or ".")
        except NotADirectoryError:
            return True
        except OSError:
            continue  # nothing is there
        for name in names:
            if name.lower().endswith((".dist-info", "egg-info")):
                file = Path(folder, name, "entry_points.txt")
                try:
                    text = file.read_bytes()
                except OSError:
                    continue  # it announces nothing
                if group.encode() in text:
                    return True
    return False


def _package(point: EntryPoint) -> str:
    package = (
        "an unnamed package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
    )
    return f"{package}, {point.value}"
