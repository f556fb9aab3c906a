"""Tables of the study: constants fitted to rows, and how far what is said is from what is so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Floats
from simulations.studies.strengths.sureness import SURENESS, Pairs, fit_sureness, probabilities
from simulations.study import Row
from simulations.study_report import Section

__all__ = ["Bin", "bins", "deviation", "sections", "shares_of_sums"]

WIDTH = 10
"""Bins of stated probability: 0 to 10 %, ..., 90 to 100 %."""

SIX = ("alarm", "child", "hailfinder", "hepar2", "insurance", "win95pts")
"""Networks that studies and decisions of fedbn look at together."""

IN_VIEW = ("cancer", "earthquake", "survey", "sachs", "water", "mildew", "barley")
"""Networks that were looked at when the features of `sureness` were chosen."""

LEAST = 30
"""Pairs that a bin must have to count in the mean over bins."""


class Bin(NamedTuple):
    """Pairs of about the same stated probability.

    stated, true : mean stated probability and share of edges among them, in points (0 to 100).
    """

    pairs: int
    stated: float
    true: float


def sections(part: str, rows: Sequence[Row]) -> list[Section]:
    """The sections of one part of the study."""
    if part == "counted":
        return [_of_sums(rows)]
    fitted = part == "tuning"
    title = f"Networks to which the constants were {'' if fitted else 'not '}fitted"
    found = [_calibration(title, rows), _deviations(f"{title}: one by one", rows)]
    six = [row for row in rows if row["network"] in SIX]
    unseen = [row for row in rows if row["network"] not in IN_VIEW]
    if not fitted and 0 < len(unseen) < len(rows):
        found.insert(0, _calibration("Those of them that were never in view", unseen))
    if six:
        found.insert(0, _calibration("The six networks", six))
    if fitted:
        numbers = ", ".join(f"{number:g}" for number in fit_sureness(list(_seen(rows))))
        used = ", ".join(f"{number:g}" for number in SURENESS)
        found.append(Section("The constants", f"Fitted to these rows: {numbers}. In use: {used}."))
    return found


def _seen(rows: Sequence[Row]) -> Iterator[tuple[Pairs, int, int, Floats]]:
    """Of every federation the pairs, sites, variables, and which of the pairs are edges."""
    for row in rows:
        for sites in row["sites"]:
            k, common, degree, clustering, edges = np.array(row[f"of_{sites}"]).reshape(-1, 5).T
            none = np.zeros(len(k), dtype=np.int64)
            yield Pairs(none, none, k, common, degree, clustering), sites, row["variables"], edges


def _of_sums(rows: Sequence[Row]) -> Section:
    """For every network and number of rows: what shares of resampled sums are worth."""
    table: list[list[object]] = []
    for key in ("network", "rows"):
        for value in sorted({row[key] for row in rows}):
            table.append(_line_of_sums(f"{key} {value}", [r for r in rows if r[key] == value]))
    table.append(_line_of_sums("all", rows))
    text = (
        "Pairs that a replicate of the summed counts joins; what is stated is the share of the "
        f"replicates. Deviations in points; bins of at least {LEAST} pairs. Last: pairs stated at "
        "80 % or more, and how many of them are edges of the network."
    )
    header = ("part of the cases", "pairs", "deviation over pairs", "over bins", "from 80 % on",
              "stated, %", "edges, %")  # fmt: skip
    return Section("Resampled sums of counts", text, header, table)


def _line_of_sums(words: str, rows: Sequence[Row]) -> list[object]:
    found = shares_of_sums(rows)
    sure = [each for each in found if each.stated >= 80]
    pairs = sum(each.pairs for each in sure)
    means = [
        sum(each.pairs * value for each, value in zip(sure, values, strict=True)) / max(pairs, 1)
        for values in ([each.stated for each in sure], [each.true for each in sure])
    ]
    told = [f"{deviation(found, weighted=weighted):.1f}" for weighted in (True, False)]
    return [words, sum(each.pairs for each in found), *told, pairs, *(f"{m:.1f}" for m in means)]


def shares_of_sums(rows: Sequence[Row]) -> list[Bin]:
    """The pairs of the rows by their share of the replicates, in bins as of `bins`."""
    totals = [[0.0, 0.0, 0.0] for _ in range(WIDTH)]
    for row in rows:
        for sites in row["sites"]:
            counts = row[f"of_{sites}"]
            for k, pairs, edges in counts:
                total = totals[min(k * WIDTH // len(counts), WIDTH - 1)]
                total[0] += pairs
                total[1] += pairs * k / len(counts)
                total[2] += edges
    return [Bin(int(n), 100 * s / n, 100 * t / n) for n, s, t in totals if n]


def bins(rows: Sequence[Row]) -> list[Bin]:
    """The pairs of the rows by stated probability; bins without a pair are left out."""
    totals = np.zeros((WIDTH, 3))
    for pairs, sites, variables, edges in _seen(rows):
        stated = probabilities(pairs, sites, variables)
        at = np.minimum((stated * WIDTH).astype(np.int64), WIDTH - 1)
        for column, values in enumerate((np.ones(len(at)), stated, edges)):
            totals[:, column] += np.bincount(at, values, minlength=WIDTH)
    return [Bin(int(n), 100 * s / n, 100 * t / n) for n, s, t in totals if n]


def deviation(found: Sequence[Bin], *, weighted: bool) -> float:
    """Mean absolute deviation in points: over all pairs, or over bins of at least `LEAST` pairs."""
    kept = [each for each in found if weighted or each.pairs >= LEAST]
    weights = [each.pairs if weighted else 1 for each in kept]
    far = [abs(each.stated - each.true) for each in kept]
    return sum(w * f for w, f in zip(weights, far, strict=True)) / max(sum(weights), 1)


def _calibration(title: str, rows: Sequence[Row]) -> Section:
    found = bins(rows)
    table = [[each.pairs, f"{each.stated:.1f}", f"{each.true:.1f}"] for each in found]
    text = (
        f"Pairs that at least one site joins. Mean absolute deviation: "
        f"{deviation(found, weighted=True):.1f} points over pairs, "
        f"{deviation(found, weighted=False):.1f} points over bins of at least {LEAST} pairs."
    )
    return Section(title, text, ("pairs", "said to be sure, %", "edges of the network, %"), table)


def _deviations(title: str, rows: Sequence[Row]) -> Section:
    """For every network, number of rows and number of sites: the deviations."""
    table = []
    for key in ("network", "rows"):
        for value in sorted({row[key] for row in rows}):
            table.append(_line(f"{key} {value}", [row for row in rows if row[key] == value]))
    for sites in sorted({n for row in rows for n in row["sites"]}):
        table.append(_line(f"sites {sites}", [{**row, "sites": [sites]} for row in rows]))
    header = ("part of the cases", "pairs", "deviation over pairs", "over bins")
    return Section(title, "In points.", header, table)


def _line(words: str, rows: Sequence[Row]) -> list[object]:
    found = bins(rows)
    told = (f"{deviation(found, weighted=weighted):.1f}" for weighted in (True, False))
    return [words, sum(each.pairs for each in found), *told]
