"""Questions for histograms, and the answers, as JSON text on the wire.

    question  {"prefixes":null,"round":0,"version":2}          which columns hold numbers, and many?
              {"prefixes":{column:[0]},"round":1,"version":2}  see `fedbn.data.quantiles.Question`
    kinds     {"columns":{column:true or false},"version":2}   to round 0: true where there are many
    counts    {"columns":{column:[[bucket,numbers],...]},"version":2}   to the others; ascending

Neither side trusts the other: what is not of this form, is outside the buckets that were asked for,
or is longer than a message may be, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fedbn.data.quantiles import BITS, Histogram, Question
from fedbn.errors import MessageError
from fedbn.federation.reply_limits import Limits
from fedbn.wire.sender import said_by
from fedbn.wire.texts import TextFormat


@dataclass(frozen=True)
class Asked:
    """A question: its round, and the buckets to look into; none in round 0."""

    round: int
    prefixes: Mapping[str, tuple[int, ...]] | None = None


@dataclass(frozen=True)
class Kinds:
    """The answer to round 0: whether each column of numbers has many."""

    columns: Mapping[str, bool]


@dataclass(frozen=True)
class Counts:
    """The answer to another round: (bucket, numbers in it), of every column."""

    columns: Mapping[str, tuple[tuple[int, int], ...]]


QUESTIONS = TextFormat("question for histograms", 2, Asked)
KINDS = TextFormat("answer on kinds of columns", 2, Kinds)
COUNTS = TextFormat("histogram", 2, Counts)


def question_to_text(question: Question | None) -> str:
    """The text of a question; None asks which columns hold numbers."""
    asked = Asked(0) if question is None else Asked(question.round, question.prefixes)
    return QUESTIONS.encode(asked)


@said_by()
def question_from_text(text: object) -> Question | None:
    """The inverse of `question_to_text`; raises MessageError."""
    asked = QUESTIONS.decode(text)
    if asked.prefixes is not None:
        return Question(asked.round, asked.prefixes)
    if asked.round:
        raise MessageError(f"a question of round {asked.round} must have prefixes")
    return None


def kinds_to_text(kinds: Mapping[str, bool]) -> str:
    """The text of an answer to round 0."""
    return KINDS.encode(Kinds(kinds))


@said_by()
def kinds_from_text(text: object, limits: Limits) -> dict[str, bool]:
    """The inverse of `kinds_to_text`; raises MessageError."""
    return dict(KINDS.decode(text, max_bytes=limits.max_bytes).columns)


def histogram_to_text(answer: Histogram) -> str:
    """The text of an answer to a later round."""
    columns = {name: tuple(sorted(counts.items())) for name, counts in answer.counts.items()}
    return COUNTS.encode(Counts(columns))


@said_by()
def histogram_from_text(text: object, question: Question, limits: Limits) -> Histogram:
    """The inverse of `histogram_to_text`; raises MessageError: other columns
    than asked for, a bucket outside those asked for, a count that is no whole number above 0."""
    columns = COUNTS.decode(text, max_bytes=limits.max_bytes).columns
    if set(columns) != set(question.prefixes):
        raise MessageError("a histogram must be of exactly the columns asked for")
    for name, pairs in columns.items():
        wanted = set(question.prefixes[name])
        if not all(bucket >> BITS in wanted and count > 0 for bucket, count in pairs):
            raise MessageError(
                f"the histogram of {name!r} must be pairs of a bucket asked for and a count above 0"
            )
        buckets = [bucket for bucket, _ in pairs]
        if buckets != sorted(set(buckets)):
            raise MessageError(f"the buckets of {name!r} must ascend")
    return Histogram({name: dict(pairs) for name, pairs in columns.items()})
