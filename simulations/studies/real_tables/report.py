"""Tables of the study, and whether mixed scores halve the distance of the best cutting."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import t

from simulations.studies.real_tables.runs import CUTTINGS, ROW_WEIGHTS
from simulations.study_cases import Row
from simulations.study_report import Section

TARGET = 0.5
"""Mixed consensus against the best cutting: at most so much of its SMHD."""

HEADER = (
    "tables", "one site", "consensus", "of the best cutting", "cut by", "share", "half",
)  # fmt: skip


def best_cutting(rows: Sequence[Row], row_weights: Sequence[float]) -> tuple[str, float]:
    """The cutting whose consensuses are nearest in the mean of these rows, and that mean.

    Parameters
    ----------
    row_weights : of ROW_WEIGHTS, those among which a cutting may choose.
    """
    means = {
        f"{score}, {intervals}" + (f", row weight {k:g}" if len(row_weights) > 1 else ""): _mean(
            rows, f"{score}_{intervals}_k{k:g}"
        )
        for k in row_weights
        for intervals, score in CUTTINGS
    }
    name = min(means, key=lambda each: means[each])
    return name, means[name]


def mean_and_interval(values: Sequence[float]) -> str:
    """The mean and, of two values or more, the half width of its 95 % interval by Student's t."""
    number = len(values)
    if number < 2:
        return f"{np.mean(values):.1f}"
    half = t.ppf(0.975, number - 1) * np.std(values, ddof=1) / np.sqrt(number)
    return f"{np.mean(values):.1f} ± {half:.1f}"


def site_sections(rows: Sequence[Row]) -> list[Section]:
    """Losses first: the lines in which half is missed lead each table."""
    found = [_summary(rows)]
    for k in ROW_WEIGHTS:
        title = f"SMHD to the network, row weight {k:g}"
        found.append(_against_cutting(title, rows, k, _by_kind_rows_and_shift))
    return [*found, _pooled_rows(rows), _by_network(rows)]


def sum_sections(rows: Sequence[Row]) -> list[Section]:
    """Sums of products within sites against structures alone and pooled rows."""
    table = []
    for name in dict.fromkeys(map(_by_kind_rows_and_shift, rows)):
        some = [row for row in rows if _by_kind_rows_and_shift(row) == name]
        cells = (
            mean_and_interval([row[way] for row in some])
            for way in ("ladder", "counts", "climb", "pooled_mixed")
        )
        worse = sum(row["climb"] > row["ladder"] for row in some)
        table.append([", ".join(map(str, name)), len(some), *cells, worse])
    table.sort(key=lambda line: -line[-1])
    groups = sum(row["counts_groups"] for row in rows)
    text = (
        "mixed-bic. Sites learn with several row weights (a ladder), and the server chooses among "
        "the consensuses: by structures alone (structures), or by sums of products within sites "
        "(counts, climb). Pooled: GES on all rows in one place. "
        f"In {groups} of {len(rows)} federations the sites were taken for two groups, and nothing "
        "was chosen by sums."
    )
    header = (
        "tables", "federations", "structures", "counts", "climb", "pooled",
        "climb worse than structures",
    )  # fmt: skip
    return [Section("Sums of products within sites", text, header, table)]


def blind_sections(rows: Sequence[Row]) -> list[Section]:
    """What mixed scores cannot see."""
    words = (
        "Random networks. even: a category depends on how far a number is from 0, not on its sign. "
        "product: only the product of the effects of a variable's first two parents counts. "
        "Covariances show neither."
    )
    title = "Where mixed scores are blind, row weight 1"
    return [_against_cutting(title, rows, 1.0, lambda row: (row["mechanism"], row["rows"]), words)]


def _summary(rows: Sequence[Row]) -> Section:
    table = []
    for k in ROW_WEIGHTS:
        for words, some in (
            ("all", rows),
            ("not shifted", [row for row in rows if not row["shifted"]]),
            ("shifted", [row for row in rows if row["shifted"]]),
        ):
            if some:
                table.append([f"{words}, row weight {k:g}", *_line(some, k)])
    table.append(["all, row weight 1 against cuttings of either", *_line(rows, 1.0, ROW_WEIGHTS)])
    seeds = sorted({row["seed"] for row in rows})
    text = (
        f"{len(rows)} federations of seeds {seeds[0]} to {seeds[-1]}. The best cutting is the one "
        f"of {len(CUTTINGS)} (2 to 5 intervals of equal frequency over all sites, BDeu or BIC) "
        "with the smallest mean in hindsight, line by line."
    )
    return Section("Mixed consensus against the best cutting", text, HEADER, table)


def _line(rows: Sequence[Row], k: float, against: Sequence[float] | None = None) -> list[object]:
    name, least = best_cutting(rows, against or (k,))
    mixed = _mean(rows, f"mixed_k{k:g}")
    share = mixed / least if least else float(mixed > 0)
    return [
        f"{_mean(rows, f'site_mixed_k{k:g}'):.1f}",
        mean_and_interval([row[f"mixed_k{k:g}"] for row in rows]),
        f"{least:.1f}",
        name,
        f"{share:.2f}",
        "yes" if share <= TARGET else "NO",
    ]


def _against_cutting(
    title: str,
    rows: Sequence[Row],
    k: float,
    key: Callable[[Row], tuple[object, ...]],
    words: str = "",
) -> Section:
    table = [
        [", ".join(map(str, name)), *_line([row for row in rows if key(row) == name], k)]
        for name in dict.fromkeys(map(key, rows))
    ]
    table.sort(key=lambda line: line[-1] == "yes")
    met = sum(line[-1] == "yes" for line in table)
    text = f"{words} Half the SMHD of the best cutting, or less: {met} of {len(table)} lines."
    return Section(title, text.strip(), HEADER, table)


def _by_kind_rows_and_shift(row: Row) -> tuple[object, ...]:
    kind = "random networks" if row["network"].startswith("random-") else "named networks"
    return kind, f"{row['rows']:,} rows", "shifted" if row["shifted"] else "not shifted"


def _pooled_rows(rows: Sequence[Row]) -> Section:
    """What pooling all rows gives, which a federation does not do."""
    table = []
    for name in dict.fromkeys(map(_by_kind_rows_and_shift, rows)):
        some = [row for row in rows if _by_kind_rows_and_shift(row) == name]
        cut = min(_mean(some, f"pooled_{score}_{intervals}") for intervals, score in CUTTINGS)
        table.append(
            [
                ", ".join(map(str, name)),
                mean_and_interval([row["mixed_k1"] for row in some]),
                mean_and_interval([row["pooled_mixed"] for row in some]),
                mean_and_interval([row["pooled_mixed_centred"] for row in some]),
                f"{cut:.1f}",
            ]
        )
    text = (
        "All rows in one place. Centred: each site's mean is subtracted from every number before "
        "the rows are joined. Cut: the best cutting of this line."
    )
    header = ("tables", "consensus", "pooled", "pooled, centred", "pooled, cut")
    return Section("Pooled rows", text, header, table)


def _by_network(rows: Sequence[Row]) -> Section:
    names = sorted({row["network"] for row in rows})
    table = [[name, *_line([row for row in rows if row["network"] == name], 1.0)] for name in names]
    table.sort(key=lambda line: line[-1] == "yes")
    return Section("By network, row weight 1", "", HEADER, table)


def _mean(rows: Sequence[Row], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))
