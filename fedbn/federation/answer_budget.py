"""How many answers a site has reserved: `NAME.budget` beside its log, bounded, nothing forgotten.

A line is [time, run, kind, answers]. Answers of the last 24 hours have a line each; older ones of a
run and kind are put together in one line, for a run may go on years later. The file is written
whole with every answer. Where it is full all the same, of too many runs, nothing is answered any
more (`max-messages`).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from fedbn.bounded_file import json_value, read_bounded
from fedbn.errors import ResultsError
from fedbn.federation.kept_lines import MAX_KEPT, named_errors, require_room, to_line
from fedbn.locked_file import open_locked
from fedbn.whole_file import replace_file

Line = tuple[str, str, str, int]


def budget_beside(log: str | Path) -> Path:
    """Where the answers are counted that a log is about."""
    return Path(log).with_name(f"{Path(log).name}.budget")


def reserve_answer(
    log: str | Path, run: str, kind: str, now: datetime, allow: Callable[[int, int], None]
) -> None:
    """Count an answer before it is made, under the log's lock: a process that ends before it has
    answered has spent it all the same.

    Parameters
    ----------
    log : the site's.
    run, kind, now : of the message that is to be answered.
    allow : told how many answers of this kind were reserved for the run and in the last 24 hours;
        raises PolicyError where that is enough.

    Raises ResultsError: the budget cannot be read or written; PolicyError: as `allow`, or
    "max-messages": the file is full, and nothing is written.
    """
    place = budget_beside(log)
    with named_errors(place, "[time, run, kind, answers]"), open_locked(log) as file:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise ResultsError(f"{log} must be a regular file, with the count of answers beside it")
        known = read_bounded(place, MAX_KEPT) if place.exists() else b""
        lines = [_read(json_value(line)) for line in known.splitlines()]
        new, since = now.replace(microsecond=0), now.replace(microsecond=0) - timedelta(days=1)
        same = [each for each in lines if each[2] == kind]
        allow(
            sum(answers for _, whose, _, answers in same if whose == run),
            sum(answers for when, *_, answers in same if datetime.fromisoformat(when) > since),
        )
        after = [*_put_together(lines, since), (new.isoformat(), run, kind, 1)]
        whole = "".join(map(to_line, after)).encode("utf-8")
        require_room(place, len(whole), "max-messages")
        replace_file(place, whole, mode=0o600)


def _read(line: Any) -> Line:
    when, run, kind, answers = line
    datetime.fromisoformat(when)
    if not (isinstance(run, str) and isinstance(kind, str) and type(answers) is int):
        raise TypeError(f"{line!r:.60} is no such line")
    return when, run, kind, answers


def _put_together(lines: Sequence[Line], since: datetime) -> list[Line]:
    """The lines with those before `since` added up for each run and kind, in their first place."""
    old: dict[tuple[str, str], Line] = {}
    recent = []
    for when, run, kind, answers in lines:
        if datetime.fromisoformat(when) > since:
            recent.append((when, run, kind, answers))
        else:
            before = old[run, kind][3] if (run, kind) in old else 0
            old[run, kind] = (when, run, kind, before + answers)
    return [*old.values(), *recent]
