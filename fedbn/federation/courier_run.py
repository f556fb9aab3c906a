"""What the server of a courier run keeps: who is asked what, and how far that is.

    DIR/courier.json   the run, and every question with its state; written whole
    DIR/requests/      NAME-0001.request.fedbn: to be carried to site NAME
    DIR/replies/       where the replies are put, under any name
    DIR/kept/          NAME-0001.reply.fedbn: what was taken

A question is known by what it asks. A run that goes on asks its questions anew from the first, and
gets the kept replies; so it needs no memory of where it was. Columns are asked for once in a run,
however often it goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from fedbn.bounded_file import json_value, read_bounded
from fedbn.errors import ConfigError, MessageError, ResultsError
from fedbn.federation.courier_file import Records
from fedbn.wording import reason_of

FILE = "courier.json"
"""The run, in its folder."""

AWAITED, ANSWERED, WITHOUT, TOLD = "awaited", "answered", "without", "told"
"""States of a question: carried, answered, given up by `--without`, and one that only tells."""

COLUMNS = "query"
"""The kind of the question for a site's columns."""


@dataclass(frozen=True)
class Asked:
    """A question to one site.

    Attributes
    ----------
    number, site, kind : of the request; whom, and the kind of message.
    question : SHA-256 (hex) of what is asked.
    request, reply : SHA-256 (hex) of the files; the reply's is empty until it is there.
    state : AWAITED, ANSWERED, WITHOUT or TOLD.
    """

    number: int
    site: str
    kind: str
    question: str
    request: str
    reply: str = ""
    state: str = AWAITED

    @property
    def name(self) -> str:
        """The beginning of the names of its files."""
        return f"{self.site}-{self.number:04}"


@dataclass(frozen=True)
class CourierRun:
    """A run whose messages go by files.

    Attributes
    ----------
    run, fedbn : its id, in decimal digits, and the version that began it.
    until : its end, ISO 8601 with its zone.
    masks : the name under which sites make their keys of secure sums.
    settings : the flat run config.
    sites : name -> public key in OpenSSH's format.
    keys : absolute path of the folder with the server's key and certificate.
    asked : oldest first.
    results : where the results are; empty before the end.
    """

    run: str
    fedbn: str
    until: str
    masks: str
    settings: Mapping[str, Any]
    sites: Mapping[str, str]
    keys: str
    asked: tuple[Asked, ...] = ()
    results: str = ""

    @property
    def end(self) -> datetime:
        """The end of the run."""
        return datetime.fromisoformat(self.until)

    @property
    def awaited(self) -> tuple[Asked, ...]:
        """The questions without a reply."""
        return tuple(each for each in self.asked if each.state == AWAITED)

    def find(self, site: str, question: str) -> Asked | None:
        """The question, if it was asked."""
        return next((e for e in self.asked if (e.site, e.question) == (site, question)), None)

    def request_to(self, site: str, number: int) -> Asked | None:
        """The question of a number to a site."""
        return next((e for e in self.asked if (e.site, e.number) == (site, number)), None)

    def ask(self, asked: Asked) -> CourierRun:
        """The run with one more question."""
        return replace(self, asked=(*self.asked, asked))

    def settle(self, asked: Asked, state: str, reply: str = "") -> CourierRun:
        """The run in which a question has been answered or given up."""
        after = replace(asked, state=state, reply=reply)
        return replace(self, asked=tuple(after if e == asked else e for e in self.asked))

    def awaited_from(self, site: str) -> tuple[Asked, ...]:
        """The questions that a site is awaited with; raises ConfigError if there is none."""
        if site not in self.sites:
            raise ConfigError(f"--without must be one of {', '.join(self.sites)}, not {site!r}")
        awaited = tuple(each for each in self.awaited if each.site == site)
        if not awaited:
            raise ConfigError(f"--without {site}: nothing is awaited from it")
        return awaited

    def to_text(self) -> str:
        """The run as JSON."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"


def question_of(kind: str, records: Records) -> str:
    """What a question is known by: SHA-256 (hex) of its kind and its records."""
    content = [kind] if kind == COLUMNS else [kind, records]
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def read_run(folder: Path, version: str) -> CourierRun:
    """The run of a folder; raises ResultsError where it cannot be read, ConfigError where there is
    none, MessageError where another version of fedbn began it."""
    path = folder / FILE
    try:
        content = json_value(read_bounded(path))
        asked = tuple(Asked(**each) for each in content.pop("asked"))
        found = CourierRun(**content, asked=asked)
    except FileNotFoundError:
        raise ConfigError(f"there is no courier run in {folder}: run fedbn courier start") from None
    except OSError as error:
        raise ResultsError(f"cannot read {path}: {reason_of(error)}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResultsError(f"{path} is not as it was written: {error}") from None
    if found.fedbn != version:
        raise MessageError(
            f"{folder} was begun by fedbn {found.fedbn}, this is {version}: install the same"
        )
    return found
