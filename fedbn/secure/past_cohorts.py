"""The cohorts in which a site has taken part: one JSON line each, on disk before the first answer.

    {"time": "2026-05-04T09:00:00.123+00:00", "run": "7", "roster": ["east", "north", "south"]}

The same sums over a cohort and over the same cohort without one member differ by that member's part
exactly. So the file says with whom the site may not take part any more (`session.require_cohort`).
It counts for all tables whose file it is. Where sites have different columns the cohort are those
that answer for the same ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from fedbn.bounded_file import json_value, read_bounded
from fedbn.errors import ResultsError, system_errors_as
from fedbn.locked_file import append, open_locked
from fedbn.secure.session import Terms, require_cohort


def cohorts_beside(table: str | Path) -> Path:
    """Where the cohorts of a table are written unless the site says otherwise."""
    return Path(table).with_name(f"{Path(table).name}.cohorts.jsonl")


def read_cohorts(path: str | Path) -> tuple[tuple[str, frozenset[str]], ...]:
    """(run, names of its cohort), oldest first; a file that is not there has none.

    Raises
    ------
    ResultsError : the file cannot be read, or a line is no cohort: then nobody knows with whom the
        site has taken part, and a person has to look.
    """
    try:
        lines = read_bounded(path).splitlines()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ResultsError(f"cannot read the cohorts {path}: {error.strerror}") from None
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            content = json_value(line)
            found.append((str(content["run"]), frozenset(map(str, content["roster"]))))
        except (ValueError, KeyError, TypeError):
            raise ResultsError(
                f"{path}, line {number}: must be a whole cohort, is {line[:60]!r}; with whom this "
                "site has taken part is not known until somebody has mended the line by hand"
            ) from None
    return tuple(found)


def enter_cohort(
    path: str | Path,
    terms: Terms,
    own_key: bytes,
    *,
    min_cohort: int,
    peers: Mapping[str, str] | None,
) -> None:
    """Check the company of a run against this site's rules and its past, and write it down.

    The file is locked meanwhile; a cohort that is in it already is not written again.

    Raises
    ------
    PolicyError : as `require_cohort`; nothing is written.
    ResultsError : the file cannot be read or written.
    """
    unwritable = system_errors_as(ResultsError, f"the cohorts {path} cannot be written")
    with unwritable, open_locked(path, private=False) as file:
        earlier = read_cohorts(path)
        known = [cohort for _, cohort in earlier]
        require_cohort(terms, own_key, min_cohort=min_cohort, peers=peers, earlier=known)
        names = frozenset(member.name for member in terms.block_of(own_key))
        if (terms.run, names) in earlier:
            return
        entry = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "run": terms.run,
            "roster": sorted(names),
        }
        append(file, json.dumps(entry, ensure_ascii=False).encode("utf-8") + b"\n")
