"""Cut points of equal frequency over all sites' rows, by sums of histograms alone.

A number's 64 bits, turned so that their order is the numbers' own, are read in three rounds of
twelve (radix selection). Round 1 asks every site how many of its numbers have which first twelve
bits (sign and exponent); the sum tells in which bucket each wanted rank is, and the next round asks
only inside those buckets. After three rounds a rank is known to 24 bits of the mantissa, a relative
width of 2^-24, and the cut is the shortest decimal number in that last bucket (30 rather than
29.9999998). Where the numbers have seven digits or fewer, that is the number itself:
`numpy.quantile(pooled, j / k, method="inverted_cdf")`, else it is within 2^-24 of it. No site tells
a number, its least or its greatest one; only sums are used, in any order.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal

import numpy as np

from fedbn.arrays import Bits, Floats
from fedbn.data.cuts import Cuts, number_text
from fedbn.errors import ConfigError, DataError
from fedbn.wording import count_of, list_some

ROUNDS = 3
BITS = 12
"""Bits of a number that a round reads."""

MANY_NUMBERS = 10
"""With more distinct numbers than this at some site, a column is one to be cut."""

MOST = 3
"""A site counts at most as so many times the median site."""

SHOWN = 8
"""Columns that are told of one by one."""

_SIGN = np.uint64(1 << 63)


@dataclass(frozen=True)
class Question:
    """What a round asks of every site.

    Parameters
    ----------
    round : 1, 2 or 3.
    prefixes : column -> the leading bits, as found so far, of the buckets to look into, ascending.
        In round 1 there is one bucket without any bits, 0.
    """

    round: int
    prefixes: Mapping[str, tuple[int, ...]]

    def __post_init__(self) -> None:
        if not 1 <= self.round <= ROUNDS:
            raise DataError(f"a histogram's round must be 1 to {ROUNDS}, not {self.round}")
        for name, prefixes in self.prefixes.items():
            top = 1 << (BITS * (self.round - 1))
            if list(prefixes) != sorted(set(prefixes)) or not all(0 <= p < top for p in prefixes):
                raise DataError(f"the buckets of {name!r} must ascend below {top}")

    def only(self, names: Container[str]) -> Question:
        """The same of some columns."""
        some = {name: found for name, found in self.prefixes.items() if name in names}
        return Question(self.round, some)


@dataclass(frozen=True)
class Histogram:
    """How many numbers are in which bucket; `+` is that of both sites' numbers.

    Parameters
    ----------
    counts : column -> bucket (its leading bits, those of this round included) -> numbers in it,
        above 0.
    """

    counts: Mapping[str, Mapping[int, int]]

    def __add__(self, other: Histogram) -> Histogram:
        """The sum; raises DataError where the columns differ."""
        if set(self.counts) != set(other.counts):
            differing = sorted(set(self.counts) ^ set(other.counts))
            raise DataError(f"histograms must have the same columns: {differing[0]!r}")
        total = {name: dict(found) for name, found in self.counts.items()}
        for name, found in other.counts.items():
            for bucket, count in found.items():
                total[name][bucket] = total[name].get(bucket, 0) + count
        return Histogram(total)

    def over(self, question: Question) -> Histogram:
        """The same with all columns of a question; of one that is not there it has no numbers."""
        return Histogram({name: self.counts.get(name, {}) for name in question.prefixes})

    def is_refined_by(self, finer: Histogram, question: Question) -> bool:
        """Whether `finer`, the answer to `question`, has as many numbers in each bucket as this."""
        for name, prefixes in question.prefixes.items():
            inside = dict.fromkeys(prefixes, 0)
            for bucket, count in finer.counts[name].items():
                inside[bucket >> BITS] += count
            if any(inside[prefix] != self.counts[name].get(prefix, 0) for prefix in prefixes):
                return False
        return True


def histogram(question: Question, columns: Mapping[str, Floats]) -> Histogram:
    """A site's answer.

    Parameters
    ----------
    question : of the server.
    columns : column -> finite numbers, of at least the columns asked for.

    Raises
    ------
    DataError : a column is not there.
    """
    counts = {}
    for name, prefixes in sorted(question.prefixes.items()):
        if name not in columns:
            raise DataError(f"there are no numbers of column {name!r} to be cut")
        bits = ordered_bits(columns[name])
        buckets = bits >> np.uint64(64 - BITS * question.round)
        inside = np.isin(buckets >> np.uint64(BITS), np.array(prefixes, dtype=np.uint64))
        found, number = np.unique(buckets[inside], return_counts=True)
        counts[name] = dict(zip(found.tolist(), number.tolist(), strict=True))
    return Histogram(counts)


def weights_of(first: Sequence[Histogram]) -> list[dict[str, int]]:
    """What every site's counts are multiplied by, column by column, before they are added up.

    Nobody can check how many rows a site has. So one with more than MOST times the median site's
    numbers of a column counts as if it had MOST times as many, in their own distribution; the
    lower median of an even number, of the sites that have any.

    Parameters
    ----------
    first : the sites' answers to round 1.

    >>> many, few = Histogram({"a": {5: 900}}), Histogram({"a": {5: 3}})
    >>> weights_of([few, few, many]), weights_of([few, few])
    ([{'a': 100}, {'a': 100}, {'a': 1}], [{'a': 1}, {'a': 1}])
    """
    found: list[dict[str, int]] = [{} for _ in first]
    for name in first[0].counts if first else ():
        rows = [sum(answer.counts[name].values()) for answer in first]
        known = sorted(count for count in rows if count)
        most = MOST * known[(len(known) - 1) // 2] if known else 0
        unit = math.lcm(*(count // math.gcd(count, most) for count in rows if count > most))
        for weights, count in zip(found, rows, strict=True):
            weights[name] = unit * min(count, most) // count if count else unit
    return found


def total_of(answers: Sequence[Histogram], weights: Sequence[Mapping[str, int]]) -> Histogram:
    """The weighted sum of the sites' answers; raises DataError where their columns differ."""
    weighted = [
        Histogram(
            {
                name: {bucket: count * weight[name] for bucket, count in found.items()}
                for name, found in answer.counts.items()
            }
        )
        for answer, weight in zip(answers, weights, strict=True)
    ]
    return functools.reduce(operator.add, weighted)


@dataclass(frozen=True)
class Selection:
    """The server's side: which ranks are wanted, and in which buckets they are.

    Parameters
    ----------
    wanted : column -> number of intervals, at least 2.
    round : that of the next question; ROUNDS + 1 when all is known.
    ranks : column -> ranks inside their buckets, counted from 1; empty before round 1 is done.
    buckets : column -> the bucket of each rank.
    rows : column -> how many numbers there are.
    above : column -> for each rank, how many numbers are above its bucket.
    """

    wanted: Mapping[str, int]
    round: int = 1
    ranks: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    buckets: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    above: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, intervals in self.wanted.items():
            if intervals < 2:
                raise DataError(f"column {name!r} must be cut into 2 intervals or more")

    @property
    def done(self) -> bool:
        """Whether the cuts are known."""
        return self.round > ROUNDS

    def question(self) -> Question:
        """What to ask next."""
        if self.round == 1:
            return Question(1, dict.fromkeys(self.wanted, (0,)))
        prefixes = {name: tuple(sorted(set(found))) for name, found in self.buckets.items()}
        return Question(self.round, prefixes)

    def after(self, total: Histogram) -> Selection:
        """The state after the sum of all sites' answers to `question`.

        Raises
        ------
        DataError : a column has no numbers at all, or the sum does not hold the ranks.
        """
        ranks, buckets, rows, above = {}, {}, dict(self.rows), {}
        for name, intervals in self.wanted.items():
            counts = total.counts.get(name, {})
            if self.round == 1:
                rows[name] = sum(counts.values())
                if rows[name] == 0:
                    raise DataError(f"column {name!r} has no numbers to be cut at any site")
                old = [(-(-rows[name] * j // intervals), 0, 0) for j in range(1, intervals)]
            else:
                old = list(zip(self.ranks[name], self.buckets[name], self.above[name], strict=True))
            placed = [_place(name, *each, counts) for each in old]
            ranks[name] = tuple(rank for rank, _, _ in placed)
            buckets[name] = tuple(bucket for _, bucket, _ in placed)
            above[name] = tuple(more for _, _, more in placed)
        return Selection(self.wanted, self.round + 1, ranks, buckets, rows, above)

    def cuts(self) -> dict[str, Cuts]:
        """Column -> cut points, once all rounds are done; equal ones are one.

        A cut above which there is no number is none.
        """
        assert self.done
        found = {}
        for name, buckets in self.buckets.items():
            kept = {
                bucket for bucket, more in zip(buckets, self.above[name], strict=True) if more > 0
            }
            found[name] = tuple(_shortest_in(bucket) for bucket in sorted(kept))
        return found

    def remarks(self) -> list[str]:
        """Of every column with fewer intervals than were asked for, what there is to say."""
        lines = []
        for name, cuts in sorted(self.cuts().items()):
            if len(cuts) + 1 < self.wanted[name]:
                at = ", ".join(map(number_text, cuts)) or "none"
                lines.append(
                    f"column {name!r}: {self.wanted[name]} intervals asked, {len(cuts) + 1} found "
                    f"(cuts: {at}), as many rows have the same number"
                )
        return lines


def _place(
    name: str, rank: int, prefix: int, above: int, counts: Mapping[int, int]
) -> tuple[int, int, int]:
    """The rank inside its new bucket, that bucket, and how many numbers are above it."""
    inside = [bucket for bucket in sorted(counts) if bucket >> BITS == prefix]
    left = sum(counts[bucket] for bucket in inside)
    for bucket in inside:
        left -= counts[bucket]
        if rank <= counts[bucket]:
            return rank, bucket, above + left
        rank -= counts[bucket]
    raise DataError(f"the histograms of {name!r} do not hold the numbers of the round before")


def ordered_bits(values: Floats) -> Bits:
    """uint64 that are ordered as the numbers; -0.0 is 0.0."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def number_of(bits: int) -> float:
    """The inverse of `ordered_bits` for one number."""
    plain = bits ^ (1 << 63) if bits >> 63 else ~bits & (2**64 - 1)
    return float(np.array([plain], dtype=np.uint64).view(np.float64)[0])


def _shortest_in(bucket: int) -> float:
    """The decimal number with fewest digits among those of a last bucket; of several the largest.

    >>> _shortest_in(int(ordered_bits(np.array([0.1]))[0]) >> 28)
    0.1
    """
    rest = 64 - BITS * ROUNDS
    low = Decimal(number_of(bucket << rest))
    high = Decimal(number_of((bucket << rest) | ((1 << rest) - 1)))
    if low <= 0 <= high:
        return 0.0
    size = max(low.copy_abs(), high.copy_abs()).adjusted()
    for digits in range(1, 40):
        rounded = high.quantize(Decimal(1).scaleb(size - digits + 1), rounding=ROUND_FLOOR)
        if rounded >= low:
            return float(rounded)
    return float(high)


def parse_intervals(texts: Iterable[str]) -> tuple[int | None, dict[str, int]]:
    """What `--discretise` says: intervals of every column of numbers, or of named ones.

    Raises
    ------
    ConfigError : a text is neither a number nor column:number, or both forms are mixed.

    >>> parse_intervals(["4"]), parse_intervals(["age:4", "bmi:3"])
    ((4, {}), (None, {'age': 4, 'bmi': 3}))
    """
    whole: int | None = None
    named: dict[str, int] = {}
    parts: Sequence[str] = [part for text in texts for part in text.split(",")]
    for part in parts:
        name, colon, number = part.rpartition(":")
        if not number.isdecimal() or int(number) < 2 or (colon and (not name or name in named)):
            raise ConfigError(
                f"discretise must be a number of intervals from 2 on, or column:number,..., "
                f"not {part!r}"
            )
        if colon:
            named[name] = int(number)
        else:
            whole = int(number)
    if whole is not None and (named or len(parts) > 1):
        raise ConfigError("discretise is one number for all columns, or column:number, not both")
    return whole, named


def uncut_remarks(
    asked: tuple[int | None, Mapping[str, int]],
    kinds: Mapping[str, Mapping[str, bool]],
    given: Iterable[str],
    variables: str = "same",
) -> list[str]:
    """Of columns that are many numbers at some site, why those that are not cut are not.

    Parameters as for `wanted_intervals`.
    """
    if asked[0] is None:
        return []
    found: set[str] = {name for site in kinds.values() for name, many in site.items() if many}
    uncut = sorted(found - set(given) - set(wanted_intervals(asked, kinds, given, variables)))
    lines = []
    for name in uncut[:SHOWN]:
        sites = sorted(site for site in kinds if name not in kinds[site])
        more = f" and {len(sites) - 1} more" if len(sites) > 1 else ""
        lines.append(
            f"column {name!r:.60} is not cut: at {sites[0]}{more} it does not hold numbers only"
        )
    if len(uncut) > SHOWN:
        more = count_of(len(uncut) - SHOWN, "more column")
        lines.append(f"not cut for the same reason: {more}")
    return lines


def wanted_intervals(
    asked: tuple[int | None, Mapping[str, int]],
    kinds: Mapping[str, Mapping[str, bool]],
    given: Iterable[str],
    variables: str = "same",
) -> dict[str, int]:
    """Column -> number of intervals.

    Parameters
    ----------
    asked : as `parse_intervals` gives it.
    kinds : site -> column of numbers -> whether there are many.
    given : columns that have cuts already.
    variables : "union" where a site may lack a column: then one site must have it.

    Raises
    ------
    ConfigError : a column asked for by name does not hold numbers at some site.
    """
    whole, named = asked
    for name in named:
        lacking = [site for site, found in kinds.items() if name not in found]
        for site in lacking:
            found = kinds[site]
            if variables == "same" or len(lacking) == len(kinds):
                raise ConfigError(
                    f"discretise: at {site!r} there must be a column {name!r} of numbers only; "
                    f"such columns are there: {list_some(sorted(found)) or 'none'}"
                )
    if whole is None:
        return dict(named)
    of_all = set.intersection if variables == "same" else set.union
    known = of_all(*(set(found) for found in kinds.values())) if kinds else set()
    return {
        name: whole
        for name in sorted(known - set(given))
        if any(found.get(name, False) for found in kinds.values())
    }
