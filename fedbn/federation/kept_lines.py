"""What a site must not forget: JSON lines beside its log, entered under a lock, and bounded.

A file that is full refuses what would have to be written, and says so in the site's own log: what
was entered is never dropped to make room, for then a later question would be compared with less.
What the file already has can be asked again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedbn.bounded_file import json_value, read_bounded
from fedbn.errors import ResultsError
from fedbn.federation.policy import refusal
from fedbn.locked_file import append, open_locked

MAX_KEPT = 1 << 24
"""Bytes of such a file."""


def enter_lines(
    path: Path, new: Callable[[Sequence[Any]], Iterable[Any]], *, word: str, holds: str
) -> None:
    """Add the lines that `new` makes of the content of those there are, oldest first, and force
    them to disk; what `new` raises leaves the file, readable by its owner alone, as it was.

    Raises PolicyError: `word`, the file would have more than MAX_KEPT bytes, or what `new` raises;
    ResultsError: it cannot be read or written, or does not hold what it `holds`.
    """
    with named_errors(path, holds), open_locked(path) as file:
        known = read_bounded(path, MAX_KEPT)
        lines = new([json_value(line) for line in known.splitlines()])
        data = "".join(map(to_line, lines)).encode("utf-8")
        if not data:
            return
        require_room(path, len(known) + len(data), word)
        append(file, data)


@contextmanager
def named_errors(path: Path, holds: str) -> Iterator[None]:
    """Inside, whatever goes wrong with a file of lines becomes a ResultsError that names it."""
    try:
        yield
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ResultsError(f"{path} must hold {holds}, line by line: {error}") from None
    except OSError as error:
        if isinstance(error, ResultsError):
            raise
        raise ResultsError(f"{path} cannot be used: {error.strerror or error}") from None


def require_room(path: Path, size: int, word: str) -> None:
    """Raise PolicyError where a file would have so many bytes that it is full."""
    if size > MAX_KEPT:
        raise refusal(
            word,
            f"{path} is full ({MAX_KEPT:,} bytes), and nothing in it is forgotten: a person has to "
            "decide whether the site may go on with a new one",
        )


def to_line(content: Any) -> str:
    """A line of such a file."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"
