"""Cut points under masks: what the server asks, and what a site adds to each sum.

    request 1     how many numbers a site has of every column, to a power of two: one vote each
    requests 2-4  the rounds of `fedbn.data.quantiles`, with no more than `most` numbers a site

In the open the server weighs a site down that has more than three times the median site's numbers.
Under masks it sees no site's share. So the votes tell the median, to a power of two; three times
that is told to all as `most`, and a site with more counts as many of its numbers, evenly by their
ranks. A site that lies is held by what a sum can be, and by nothing else: no count below 0, no more
numbers than `most` for each site, and in every round those of the round before. What is not so ends
the run.

A site lets itself be asked these four requests, in this order, about the columns of the terms; what
it answers in a round, and how often, is said in `fedbn.federation.cut_rounds`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Ints
from fedbn.data.quantiles import BITS, MOST, ROUNDS, Histogram, Question
from fedbn.errors import DataError, MessageError, PolicyError
from fedbn.secure import requests
from fedbn.secure.session import CUT_POINTS, Member, Terms
from fedbn.wire.texts import TextFormat
from fedbn.wording import count_of

SIZES = 64
"""A number of numbers below 2^k and not below 2^(k - 1) is a vote for k; there are so many k."""

Numbers = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class SizeRequest:
    """Votes on how many numbers a site has of each of these columns, sorted by name."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class BucketRequest:
    """A round's counts, over at most so many numbers of every column of a site."""

    question: Question
    most: Mapping[str, int]


CutSumRequest = SizeRequest | BucketRequest


@dataclass(frozen=True)
class AskedCuts:
    """What a site was asked so far: the last request, its number, and what a site may count."""

    last: str = ""
    number: int = 0
    most: Mapping[str, int] = field(default_factory=dict)


NOTHING_ASKED = AskedCuts()
ASKED = TextFormat("what a site was asked", 1, AskedCuts)
"""For the site's own memory between two rounds."""


def cut_terms(run: str, columns: Sequence[str], members: Sequence[Member]) -> Terms:
    """The terms of the sums; the columns take the place of an agreed schema."""
    ranked = tuple(sorted(members, key=lambda member: (member.name, member.public)))
    return Terms(run, _hash_of(columns), CUT_POINTS, 1, 0, 1, (), ranked)


def _hash_of(columns: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(sorted(columns)).encode("ascii")).hexdigest()


_KINDS: Mapping[str, type] = {"sizes": SizeRequest, "buckets": BucketRequest}


def to_bytes(request: CutSumRequest, session: bytes, number: int) -> bytes:
    """The canonical bytes of request `number` (from 1) of a session (its 32-byte id)."""
    return requests.to_bytes(request, session, number, _KINDS)


def from_bytes(data: bytes) -> tuple[CutSumRequest, bytes, int]:
    """The inverse of `to_bytes`: (request, session, number); raises MessageError."""
    return requests.from_bytes(data, _KINDS)


def cut_words(data: bytes) -> str:
    """What a request asks for, for people; raises MessageError."""
    request = from_bytes(data)[0]
    if isinstance(request, SizeRequest):
        return f"how many numbers {count_of(len(request.columns), 'column')} has, as votes"
    return f"counts of the numbers of {count_of(len(request.most), 'column')}"


def allow(data: bytes, before: AskedCuts, terms: Terms) -> tuple[CutSumRequest, AskedCuts]:
    """The request, and what was asked with it; the request before, word for word, is one, too.
    Raises PolicyError: "query", and why."""
    try:
        request, session, number = from_bytes(data)
        _require(session == terms.session, "the request is of another run")
        if data.decode("ascii") == before.last:
            return request, before
        _require(number == before.number + 1, f"request {number} after request {before.number}")
        if isinstance(request, SizeRequest):
            _require(number == 1, "sizes are asked for first")
            _require(list(request.columns) == sorted(set(request.columns)), "columns must ascend")
            named, most = request.columns, before.most
        else:
            named, most = tuple(request.question.prefixes), request.most
            _require(request.question.round == number - 1, "the rounds are in order")
            _require(number == 2 or most == before.most, "what counts most has changed")
            _require(sorted(most) == sorted(named), "every column must have what counts most")
        _require(_hash_of(named) == terms.schema, "other columns were agreed on")
    except MessageError as error:
        raise PolicyError("query", str(error)) from None
    return request, replace(before, last=data.decode("ascii"), number=number, most=most)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise MessageError(otherwise)


def own_sizes(request: SizeRequest, numbers: Numbers) -> Ints:
    """A site's votes, int64 [columns * SIZES]; raises PolicyError where there is no such column."""
    votes = np.zeros((len(request.columns), SIZES), dtype=np.int64)
    for row, name in zip(votes, request.columns, strict=True):
        if name not in numbers:
            raise PolicyError("histograms", f"column {name!r} is none to be asked for")
        row[len(numbers[name]).bit_length()] = 1
    return votes.ravel()


def most_of(request: SizeRequest, votes: Ints, sites: int) -> dict[str, int]:
    """Column -> how many numbers a site may count, at most three times the median site's, from the
    sum of the votes of so many sites. The median is the lower one of the sites that have any; of
    its power of two the lower end.

    Raises MessageError: these are no votes of so many sites; DataError: nobody has numbers of a
    column.
    """
    if votes.shape != (len(request.columns) * SIZES,):
        raise MessageError("the sums must be votes on the sizes of all columns")
    found = {}
    for name, row in zip(request.columns, votes.reshape(-1, SIZES), strict=True):
        if row.min() < 0 or row.sum() != sites:
            raise MessageError(f"the sums for {name!r} are no votes of {sites} sites")
        having = np.cumsum(row[1:])
        if having[-1] == 0:
            raise DataError(f"column {name!r} has no numbers to be cut at any site")
        median = int(np.searchsorted(having, (having[-1] + 1) // 2))
        found[name] = MOST * 2**median
    return found


def word_of_cuts(request: CutSumRequest, sites: int) -> type[np.unsignedinteger]:
    """The type of the masked vectors; both sides find it by themselves."""
    largest = 1 if isinstance(request, SizeRequest) else max(request.most.values(), default=0)
    return np.uint32 if largest * sites < 2**31 else np.uint64


def own_counts(question: Question, answer: Histogram) -> Ints:
    """An answer as a vector: every bucket asked for, column by column, prefix by prefix."""
    parts = []
    for name, prefixes in sorted(question.prefixes.items()):
        cells = np.zeros((len(prefixes), 1 << BITS), dtype=np.int64)
        place = {prefix: k for k, prefix in enumerate(prefixes)}
        for bucket, count in answer.counts[name].items():
            cells[place[bucket >> BITS], bucket % (1 << BITS)] = count
        parts.append(cells.ravel())
    return np.concatenate(parts)


def counts_of(
    request: BucketRequest, total: Ints, sites: int, before: Histogram | None
) -> Histogram:
    """The histogram that a sum over so many sites is, `before` being that of the round before;
    raises MessageError where it is none of histograms of so many sites."""
    question, counts, begin = request.question, {}, 0
    for name, prefixes in sorted(question.prefixes.items()):
        size = len(prefixes) << BITS
        cells, begin = total[begin : begin + size], begin + size
        if len(cells) < size or cells.min(initial=0) < 0:
            raise MessageError(f"the sums for {name!r} are no counts")
        if cells.sum() > sites * request.most[name]:
            raise MessageError(
                f"the sums for {name!r} hold {cells.sum()} numbers, at most {request.most[name]} "
                f"were agreed on for each of {sites} sites"
            )
        counts[name] = {
            (prefixes[k >> BITS] << BITS) + k % (1 << BITS): int(cells[k])
            for k in np.flatnonzero(cells).tolist()
        }
    found = Histogram(counts)
    if begin != len(total) or (before and not before.is_refined_by(found, question)):
        raise MessageError(f"the sums of round {question.round} of {ROUNDS} are of other numbers")
    return found
