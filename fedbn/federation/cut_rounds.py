"""What a site answers of its numbers when cut points are agreed on, and what it never answers.

The three rounds of `fedbn.data.quantiles` are a way to read numbers out of a table, so

* a column is asked its three rounds in order, and in each at most MAX_QUESTIONS different questions
  (a site that drops out makes the others begin anew), for as long as there is the file beside the
  log that says so (`NAME.cuts`); the same question has the same answer;
* a round asks inside at most MAX_BUCKETS buckets of a column, as ranks of cut points do;
* a column whose numbers changed since is not answered until it has `least` numbers more or fewer,
  so that no two answers differ by few rows;
* a bucket with fewer than `least` numbers is not told (`fedbn.privacy.small_buckets`);
* columns of which most numbers occur once, whole ones above all, are not answered (`askable`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.arrays import Floats
from fedbn.data.preparation import FEWEST_ROWS
from fedbn.data.quantiles import Histogram, Question
from fedbn.federation.kept_lines import enter_lines
from fedbn.federation.policy import refusal
from fedbn.privacy.small_buckets import thin_out, told_counts

MAX_BUCKETS = 19
"""Buckets of one column that a round may ask for: those of the cut points of 20 intervals."""

MAX_QUESTIONS = 3
"""Different questions of one round about one column, for ever."""

DIFFERENT = 0.9
"""Whole numbers of which a larger share is distinct are numbers of records."""

Numbers = Mapping[str, Floats]


def rounds_beside(log: Path) -> Path:
    """Where it is written what the columns of a site with this log were asked."""
    return log.with_name(f"{log.name}.cuts")


def askable(numbers: Numbers) -> Numbers:
    """The columns that do not look like identifiers: whole numbers that are mostly different."""
    return {name: found for name, found in numbers.items() if not _identifies(found)}


def _identifies(numbers: Floats) -> bool:
    whole = bool((numbers == np.floor(numbers)).all())
    distinct = np.unique(numbers).size
    return whole and len(numbers) >= FEWEST_ROWS and distinct > DIFFERENT * len(numbers)


def answer_question(
    path: Path,
    question: Question,
    numbers: Numbers,
    least: int,
    most: Mapping[str, int] | None = None,
) -> Histogram:
    """The answer to a question that follows from the rounds so far; it is written down first.

    Parameters
    ----------
    path : of the file that says which rounds there were.
    question, numbers : of the server; column -> finite numbers, of those that may be asked for.
    least : fewest numbers of a bucket that is told.
    most : column -> how many of its numbers count, under masks; see `thin_out`.

    Raises PolicyError: "histograms", it does not follow, or a column is not one to be asked for;
    ResultsError: the file cannot be read or written.
    """
    caps = dict.fromkeys(question.prefixes, None) if most is None else most
    for name, prefixes in question.prefixes.items():
        if name not in numbers or min(len(numbers[name]), caps[name] or least) < least:
            raise refusal("histograms", f"column {name!r} is none to be asked for")
        if len(prefixes) > MAX_BUCKETS:
            raise refusal("histograms", f"{len(prefixes)} buckets of {name!r} at once")
    counts = {
        name: told_counts(thin_out(numbers[name], caps[name]), question.round, prefixes, least)
        for name, prefixes in question.prefixes.items()
    }
    _enter(path, question, caps, {name: numbers[name] for name in question.prefixes}, least)
    return Histogram(counts)


def _enter(
    path: Path, question: Question, caps: Mapping[str, int | None], numbers: Numbers, least: int
) -> None:
    """Write down what every column is asked; raises PolicyError unless it may be."""

    def new(known: Sequence[Any]) -> Iterable[Any]:
        if any(len(line) not in (3, 4) for line in known):
            raise ValueError("a line has neither three nor four entries")
        lines = [line for line in known if len(line) == 4]
        asked = {(name, number, tuple(found), most) for name, number, found, most in lines}
        columns = [tuple(line) for line in known if len(line) == 3]
        for name, prefixes in question.prefixes.items():
            column = (name, len(numbers[name]), _digest(numbers[name]))
            _require_same_rows(column, columns, least)
            if column not in columns:
                yield column
            entry = (name, question.round, prefixes, caps[name])
            if entry not in asked:
                _require_next(name, question.round, [each[:2] for each in asked])
                yield entry

    holds = "[column, round, buckets, most], or [column, numbers, digest]"
    enter_lines(path, new, word="histograms", holds=holds)


def _digest(numbers: Floats) -> str:
    """SHA-256 (hex) of the numbers, in whatever order."""
    return hashlib.sha256((np.sort(numbers) + 0.0).astype("<f8").tobytes()).hexdigest()


def _require_same_rows(
    column: tuple[str, int, str], told: Sequence[tuple[Any, ...]], least: int
) -> None:
    """Raise PolicyError where other numbers of the column were asked for, about as many."""
    name, many, digest = column
    for other, before, earlier in told:
        if other == name and earlier != digest and abs(many - int(before)) < least:
            raise refusal("histograms", f"column {name!r} was told before, and few rows differ")


def _require_next(name: str, number: int, asked: Sequence[tuple[str, int]]) -> None:
    """Raise PolicyError unless the column had the round before, and not too often this one."""
    if number > 1 and (name, number - 1) not in asked:
        raise refusal("histograms", f"column {name!r} is asked round {number} before the others")
    if asked.count((name, number)) >= MAX_QUESTIONS:
        raise refusal("histograms", f"column {name!r} has had its questions of round {number}")
