"""Questions for histograms, and the answers, as JSON text on the wire.

    question  {"round": 0}                            which columns hold numbers, and many of them?
              {"round": 1, "prefixes": {column: [0]}} see `fedbn.data.quantiles.Question`
    answer    {column: true or false}                 to round 0: true where there are many
              {column: [[bucket, numbers], ...]}      ascending, every count above 0

Neither side trusts the other: what is not of this form, is outside the buckets that were asked for,
or is longer than a message may be, is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fedbn.data.quantiles import BITS, Histogram, Question
from fedbn.errors import DataError, MessageError
from fedbn.federation.reply_limits import Limits

__all__ = [
    "histogram_from_text",
    "histogram_to_text",
    "kinds_from_text",
    "kinds_to_text",
    "question_from_text",
    "question_to_text",
]


def question_to_text(question: Question | None) -> str:
    """The text of a question; None asks which columns hold numbers."""
    if question is None:
        return _text({"round": 0})
    prefixes = {name: list(found) for name, found in sorted(question.prefixes.items())}
    return _text({"round": question.round, "prefixes": prefixes})


def question_from_text(text: object, *, sender: str = "server") -> Question | None:
    """The inverse of `question_to_text`; raises MessageError naming the sender."""
    content = _object(text, Limits(), sender)
    if content == {"round": 0}:
        return None
    number, prefixes = content.get("round"), content.get("prefixes")
    if set(content) != {"round", "prefixes"} or type(number) is not int:
        raise MessageError(f"{sender}: a question must have round and prefixes")
    if not isinstance(prefixes, dict) or not all(
        isinstance(found, list) and all(_is_count(prefix, 0) for prefix in found)
        for found in prefixes.values()
    ):
        raise MessageError(f"{sender}: prefixes must be {{column: [numbers]}}")
    try:
        return Question(number, {name: tuple(found) for name, found in prefixes.items()})
    except DataError as error:
        raise MessageError(f"{sender}: {error}") from None


def kinds_to_text(kinds: Mapping[str, bool]) -> str:
    """The text of an answer to round 0."""
    return _text(dict(sorted(kinds.items())))


def kinds_from_text(text: object, limits: Limits, *, sender: str) -> dict[str, bool]:
    """The inverse of `kinds_to_text`; raises MessageError naming the sender."""
    content = _object(text, limits, sender)
    if not all(type(many) is bool for many in content.values()):
        raise MessageError(f"{sender}: an answer must be {{column: true or false}}")
    return content


def histogram_to_text(answer: Histogram) -> str:
    """The text of an answer to a later round."""
    return _text(
        {
            name: [[bucket, counts[bucket]] for bucket in sorted(counts)]
            for name, counts in sorted(answer.counts.items())
        }
    )


def histogram_from_text(
    text: object, question: Question, limits: Limits, *, sender: str
) -> Histogram:
    """The inverse of `histogram_to_text`.

    Raises
    ------
    MessageError : naming the sender: other columns than asked for, a bucket outside those asked
        for, a count that is no whole number above 0.
    """
    content = _object(text, limits, sender)
    if set(content) != set(question.prefixes):
        raise MessageError(f"{sender}: a histogram must be of exactly the columns asked for")
    counts = {}
    for name, pairs in content.items():
        wanted = set(question.prefixes[name])
        if not isinstance(pairs, list) or not all(_is_pair(pair, wanted) for pair in pairs):
            raise MessageError(
                f"{sender}: the histogram of {name!r} must be pairs of a bucket asked for and a "
                "count above 0"
            )
        buckets = [bucket for bucket, _ in pairs]
        if buckets != sorted(set(buckets)):
            raise MessageError(f"{sender}: the buckets of {name!r} must ascend")
        counts[name] = dict(pairs)
    return Histogram(counts)


def _is_pair(pair: object, wanted: set[int]) -> bool:
    return (
        isinstance(pair, list)
        and len(pair) == 2
        and _is_count(pair[0], 0)
        and _is_count(pair[1], 1)
        and pair[0] >> BITS in wanted
    )


def _is_count(value: object, minimum: int) -> bool:
    return type(value) is int and minimum <= value < 1 << 62


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=True, separators=(",", ":"))


def _object(text: object, limits: Limits, sender: str) -> dict[str, Any]:
    if not isinstance(text, str) or len(text) > limits.max_bytes:
        raise MessageError(f"{sender}: a text of at most {limits.max_bytes} characters is needed")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise MessageError(f"{sender}: the text must be JSON") from None
    if not isinstance(content, dict):
        raise MessageError(f"{sender}: the text must be a JSON object")
    return content
