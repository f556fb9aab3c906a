"""Tables of the study: how far stated probabilities are from shares of true pairs; constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedbn.consensus.sureness import SURENESS
from simulations.studies.strengths.calibration import (
    LEAST,
    WIDTH,
    Bin,
    bins,
    deviation,
    interval,
    left_out,
    one_at_a_time,
    over_bins,
    seen,
)
from simulations.studies.strengths.fit import fit_sureness
from simulations.study_cases import Row
from simulations.study_report import Section

SIZES = {"up to 10": 10, "11 to 20": 20, "21 to 40": 40, "more than 40": 1_000_000}
"""Classes of networks, and the largest number of variables of each."""


def sections(part: str, family: Mapping[str, str], rows: Sequence[Row]) -> list[Section]:
    """The sections of one part of the study; family : of the networks of a folder."""
    if part == "counted":
        return [_of_sums(rows)]
    fitted = part == "tuning"
    title = f"Networks to which the constants were {'' if fitted else 'not '}fitted"
    found = [
        _calibration(title, rows, family),
        _parts(f"{title}: parts of the cases", rows),
        _networks(f"{title}: one by one", rows),
    ]
    if fitted:
        found += [_left_out(rows, family), _constants(rows)]
    return found


def _left_out(rows: Sequence[Row], family: Mapping[str, str]) -> Section:
    found, alike = left_out(rows, family)
    text = (
        "Each family of networks by constants that were fitted to others. Mean absolute deviation: "
        f"{deviation(found):.1f} points over pairs, {deviation(alike):.1f} if all networks weigh "
        f"the same, {over_bins(found):.1f} over bins of at least {LEAST} pairs."
    )
    return Section("Families of networks left out", text)


def _constants(rows: Sequence[Row]) -> Section:
    numbers = ", ".join(f"{number:g}" for number in fit_sureness(list(seen(rows))))
    used = ", ".join(f"{number:g}" for number in SURENESS)
    return Section("The constants", f"Fitted to these rows: {numbers}. In use: {used}.")


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
    told = [f"{far:.1f}" for far in (deviation(found), over_bins(found))]
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
    return [Bin(int(n), n, 100 * s / n, 100 * t / n) for n, s, t in totals if n]


def _calibration(title: str, rows: Sequence[Row], family: Mapping[str, str]) -> Section:
    found = bins(rows)
    table = [[each.pairs, f"{each.stated:.1f}", f"{each.true:.1f}"] for each in found]
    alike = bins(rows, networks_alike=True)
    alone = one_at_a_time(rows)
    ends = [interval(rows, family, networks_alike=each) for each in (False, True)]
    inside = [f"{low:.1f} to {high:.1f}" for low, high in ends]
    text = (
        f"Pairs that at least one site joins, of {len(alone)} networks. Mean absolute deviation: "
        f"{deviation(found):.1f} points over pairs ({inside[0]}: 95 % bootstrap interval over "
        f"families of networks), {deviation(alike):.1f} if all networks weigh the same "
        f"({inside[1]}), {over_bins(found):.1f} over bins of at least {LEAST} pairs. Within a "
        f"network: median {float(np.median(alone)):.1f} points, mean {float(np.mean(alone)):.1f}."
    )
    return Section(title, text, ("pairs", "stated probability, %", "true pairs, %"), table)


HEADER = (
    "part of the cases",
    "networks",
    "pairs",
    "deviation over pairs",
    "networks weigh the same",
    "over bins",
)


def _parts(title: str, rows: Sequence[Row]) -> Section:
    """For classes of networks by size, numbers of rows and numbers of sites: the deviations."""
    table = []
    least = 0
    for words, most in SIZES.items():
        some = [row for row in rows if least < row["variables"] <= most]
        table.append(_line(f"{words} variables", some))
        least = most
    for value in sorted({row["rows"] for row in rows}):
        table.append(_line(f"{value} rows", [row for row in rows if row["rows"] == value]))
    for sites in sorted({n for row in rows for n in row["sites"]}):
        some = [{**row, "sites": [sites]} for row in rows if sites in row["sites"]]
        table.append(_line(f"{sites} sites", some))
    return Section(title, "In points.", HEADER, [line for line in table if line[1]])


def _networks(title: str, rows: Sequence[Row]) -> Section:
    """For every network: the deviations."""
    names = sorted({row["network"] for row in rows})
    table = [_line(name, [row for row in rows if row["network"] == name]) for name in names]
    return Section(title, "In points.", HEADER, table)


def _line(words: str, rows: Sequence[Row]) -> list[object]:
    found, alike = bins(rows), bins(rows, networks_alike=True)
    told = [f"{far:.1f}" for far in (deviation(found), deviation(alike), over_bins(found))]
    count = len({row["network"] for row in rows})
    return [words, count, sum(each.pairs for each in found), *told]
