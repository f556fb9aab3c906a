"""Numbers that sites measure in different units: who is on another scale, and by which factor.

Nothing is converted unless a site's file says so under [factors]. Here is only what raises the
question: numbers that all lie in one interval of the agreed cuts, and histograms of sites whose
middle halves do not meet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from fedbn.arrays import Floats
from fedbn.data.cuts import Cuts, interval_names, number_text
from fedbn.data.quantiles import BITS, Histogram, number_of
from fedbn.wording import count_of, list_some

CLOSE = 1.6
"""A known factor is named where the ratio of the numbers is at most so far from it, times or by."""

APART = 2.0
"""Medians whose ratio is smaller are not taken for another unit."""

SHOWN = 2
"""Candidates that are named."""


@dataclass(frozen=True)
class _Factor:
    """Numbers of the first unit times this are numbers of the second one.

    Parameters
    ----------
    times : above 1.
    units : both.
    columns : parts of the names of columns that are measured so; empty: any column.
    """

    times: float
    units: tuple[str, str]
    columns: tuple[str, ...] = ()


_KNOWN = (
    _Factor(88.42, ("mg/dL", "µmol/L"), ("crea", "krea")),
    _Factor(18.016, ("mmol/L", "mg/dL"), ("gluc", "gluk", "sugar", "zucker")),
    _Factor(38.67, ("mmol/L", "mg/dL"), ("chol", "hdl", "ldl")),
    _Factor(88.57, ("mmol/L", "mg/dL"), ("trig",)),
    _Factor(17.1, ("mg/dL", "µmol/L"), ("bili",)),
    _Factor(59.48, ("mg/dL", "µmol/L"), ("urate", "uric", "harns")),
    _Factor(2.8, ("mmol/L", "mg/dL"), ("bun", "urea")),
    _Factor(4.008, ("mmol/L", "mg/dL"), ("calc", "kalz")),
    _Factor(7.50, ("kPa", "mmHg"), ("pressure", "pco2", "po2", "bp")),
    _Factor(10.0, ("g/dL", "g/L")),
    _Factor(100.0, ("m", "cm")),
    _Factor(1000.0, ("g", "mg")),
    _Factor(1e6, ("g", "µg")),
    _Factor(2.54, ("inches", "cm")),
    _Factor(30.48, ("feet", "cm")),
    _Factor(2.2046, ("kg", "pounds")),
    _Factor(12.0, ("years", "months")),
    _Factor(365.25, ("years", "days")),
)


def factor_words(column: str, ratio: float) -> str:
    """Known factors near to a ratio, as a question, with the line that takes the nearest one back.

    Parameters
    ----------
    column : its own name at the site.
    ratio : of the site's numbers to those that they should be like.

    >>> factor_words("height", 100.0).partition(" Then ")[0]
    ' Perhaps m to cm, factor 100?'
    >>> factor_words("creatinine", 80.0).rpartition(" is ")[2]
    '"creatinine" = 0.0113097'
    """
    if not (ratio > 0 and math.isfinite(ratio)):
        return ""
    size = max(ratio, 1 / ratio)
    near = [each for each in _KNOWN if abs(math.log(size / each.times)) < math.log(CLOSE)]
    named = [each for each in near if any(part in column.casefold() for part in each.columns)]
    general = [each for each in near if not each.columns]
    found = sorted(named, key=lambda each: abs(math.log(size / each.times)))
    found += sorted(general, key=lambda each: abs(math.log(size / each.times)))
    if not found:
        return ""
    questions = []
    for each in found[:SHOWN]:
        first, second = each.units if ratio > 1 else each.units[::-1]
        questions.append(f"{first} to {second}, factor {_text(each.times, ratio)}?")
    back = 1 / found[0].times if ratio > 1 else found[0].times
    return (
        f" Perhaps {' or '.join(questions)} Then the line in this site's file under [factors] is "
        f'"{column}" = {number_text(float(f"{back:.6g}"))}'
    )


def _text(times: float, ratio: float) -> str:
    return number_text(times) if ratio > 1 else f"1/{number_text(times)}"


def one_interval_words(column: str, cuts: Cuts, numbers: Floats) -> str:
    """What to say of numbers that all lie in one interval of the agreed cuts; empty otherwise."""
    places = np.searchsorted(np.array(cuts), numbers, side="left")
    if not cuts or places.min() != places.max():
        return ""
    interval = interval_names(cuts)[int(places[0])]
    middle = [cut for cut in cuts if cut > 0]
    typical = float(np.median(numbers))
    ratio = typical / math.exp(sum(map(math.log, middle)) / len(middle)) if middle else math.nan
    return (
        f"column {column!r}: all {count_of(len(numbers), 'number')}, from "
        f"{number_text(float(numbers.min()))} to {number_text(float(numbers.max()))}, lie in one "
        f"interval of the agreed cuts, {interval!r}: is the column measured in another unit?"
        f"{factor_words(column, ratio)}"
    )


def scale_remarks(first: Mapping[str, Histogram]) -> list[str]:
    """Of every site and column whose numbers are on another scale than those of the other sites.

    Stated rule: a column's site in the middle is the one with the lower median of the sites'
    medians; another site is named if its middle half (from quarter to three quarters) has nothing
    in common with that site's, and their medians differ by a factor of 2 or more.

    Parameters
    ----------
    first : site -> its answer to round 1, which tells between which powers of two numbers lie.
    """
    lines = []
    for name in sorted({name for answer in first.values() for name in answer.counts}):
        quarters = {
            site: found
            for site, answer in sorted(first.items())
            if (found := _quarters(answer.counts.get(name, {}))) is not None
        }
        if len(quarters) < 2:
            continue
        ordered = sorted(quarters, key=lambda site: (quarters[site][1], site))
        usual = ordered[(len(ordered) - 1) // 2]
        for site, own in quarters.items():
            other = quarters[usual]
            ratio = own[1] / other[1]
            apart = own[0] > other[2] or own[2] < other[0]
            if apart and max(ratio, 1 / ratio) >= APART:
                others = list_some([each for each in quarters if each != site])
                lines.append(
                    f"column {name!r}: the numbers of {site} are about {ratio:.2g} times those of "
                    f"{usual} (sites compared: {others}): is it measured in another unit there?"
                    f"{factor_words(name, ratio)}"
                )
    return lines


def _quarters(counts: Mapping[int, int]) -> tuple[float, float, float] | None:
    """About where a quarter, half and three quarters of the positive numbers lie.

    Within a power of two numbers are taken for evenly spread on the scale of logarithms. None where
    fewer than nine tenths are positive.
    """
    positive = [(bucket, counts[bucket]) for bucket in sorted(counts) if bucket > 1 << (BITS - 1)]
    total = sum(count for _, count in positive)
    if not total or total < 0.9 * sum(counts.values()):
        return None
    ends = list(accumulate(count for _, count in positive))

    def place(share: float) -> float:
        rank = share * total
        index = next(i for i, end in enumerate(ends) if rank <= end)
        bucket, count = positive[index]
        inside = (rank - ends[index] + count) / count
        return number_of(bucket << (64 - BITS)) * float(2.0**inside)

    return place(0.25), place(0.5), place(0.75)


def same_histograms(answers: Mapping[str, Sequence[Histogram]]) -> list[tuple[str, str]]:
    """Pairs of sites that gave the same answers in all rounds."""
    sites = sorted(answers)
    return [
        (one, other)
        for place, one in enumerate(sites)
        for other in sites[place + 1 :]
        if answers[one] == answers[other]
    ]
