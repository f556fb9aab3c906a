"""What the benchmark of the searches leaves: its rows as a table, as CSV, as a plot."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARKERS = "os^vD<>PX*"
REFERENCE = "fedbn ges"
"""The program that the others are compared with."""
ILS = "fedbn ils"
"""The one that is to be above them all."""
HEADER = (
    "network",
    "rows",
    "program",
    "samples",
    "CPU s",
    "score",
    "over ges",
    "at most ges",
    "same class",
    "SHD",
    "note",
)
RACE_HEADER = (
    "network",
    "rows",
    "program",
    "samples",
    "CPU s",
    "most CPU s",
    "ils over it",
    "least",
    "ils not below",
    "note",
)
RACE_WORDS = (
    "Over the samples with a figure: mean and greatest CPU seconds, mean and least of the score of "
    "`fedbn ils` minus the program's, and in how many samples that is not below 0."
)
_EQUAL = 1e-9  # relative; scores this near to each other count as one


@dataclass(frozen=True)
class Row:
    """One program on one sample; `seconds` are CPU seconds, `note` says why there are none.

    `limit` are the seconds that the program was given, `cpdag` the edges of the class found.
    """

    network: str
    rows: int
    sample: int
    program: str
    score_name: str
    seed: int
    nodes: int
    limit: float
    seconds: float | None = None
    score: float | None = None
    shd: int | None = None
    cpdag: list[list[int]] | None = None
    note: str = ""

    @property
    def sample_key(self) -> tuple[str, int, int]:
        """What the programs on one sample have in common."""
        return self.network, self.rows, self.sample

    @property
    def value(self) -> float:
        """The score, NaN if there is none."""
        return np.nan if self.score is None else self.score


def table_rows(rows: Sequence[Row]) -> list[list[object]]:
    """Under `HEADER`, a line per network, number of rows and program: means over the samples that
    have a figure ("samples"), the mean difference to the score of `fedbn ges` on these samples, in
    how many of them the score is at most that of `fedbn ges`, and the class the same."""
    reference = {row.sample_key: row for row in rows if row.program == REFERENCE}
    return [[*key, *_means(group, reference)] for key, group in _groups(rows).items()]


def race_rows(rows: Sequence[Row]) -> list[list[object]]:
    """Under `RACE_HEADER`, a line per network, number of rows and program; none without ILS."""
    ours = {row.sample_key: row for row in rows if row.program == ILS}
    if not ours:
        return []
    return [[*key, *_margins(group, ours)] for key, group in _groups(rows).items()]


def _groups(rows: Sequence[Row]) -> dict[tuple[str, int, str], list[Row]]:
    groups: dict[tuple[str, int, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.network, row.rows, row.program), []).append(row)
    return groups


def _margins(group: list[Row], ours: dict[tuple[str, int, int], Row]) -> list[object]:
    known = [row for row in group if row.score is not None]
    over = [ours[row.sample_key].value - row.value for row in known]
    least = [-_EQUAL * abs(row.value) for row in known]
    seconds = [row.seconds for row in group if row.seconds is not None]
    return [
        f"{len(known)} of {len(group)}",
        f"{np.mean(seconds):.4f}" if seconds else None,
        f"{max(seconds):.4f}" if seconds else None,
        f"{np.mean(over):+.2f}" if known else None,
        f"{min(over):+.2f}" if known else None,
        sum(value >= bar for value, bar in zip(over, least, strict=True)) if known else None,
        _notes(group),
    ]


def _means(group: list[Row], reference: dict[tuple[str, int, int], Row]) -> list[object]:
    known = [row for row in group if row.score is not None]
    pairs = [(row, reference[row.sample_key]) for row in known]
    over = [row.value - other.value for row, other in pairs]
    below = sum(row.value <= other.value + _EQUAL * abs(other.value) for row, other in pairs)
    same = sum(row.cpdag == other.cpdag for row, other in pairs)
    seconds = [row.seconds for row in group if row.seconds is not None]
    return [
        f"{len(known)} of {len(group)}",
        f"{np.mean(seconds):.4f}" if seconds else None,
        f"{np.mean([row.value for row in known]):.2f}" if known else None,
        f"{np.mean(over):+.2f}" if known else None,
        below if known else None,
        same if known else None,
        f"{np.mean([row.shd for row in known]):.1f}" if known else None,
        _notes(group),
    ]


def _notes(group: list[Row]) -> str:
    notes = dict.fromkeys(row.note for row in group if row.note)
    return "; ".join(f"{sum(row.note == note for row in group)}: {note}" for note in notes)


def csv_text(rows: Sequence[Row]) -> str:
    """All rows, without their classes."""
    text = io.StringIO()
    names = [field.name for field in fields(Row) if field.name != "cpdag"]
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()


def plot(rows: Sequence[Row], path: Path) -> None:
    """CPU seconds over rows, on the network with most numbers of rows, and over nodes, with the
    number of rows that most networks have (of equals the larger); both axes logarithmic, means
    over samples. A panel with a single point per program is left out."""
    counts = {net: {r.rows for r in rows if r.network == net} for net in _in_order(rows, "network")}
    nodes = {row.network: row.nodes for row in rows}
    network = max(counts, key=lambda net: (len(counts[net]), nodes[net]))
    networks = {n: {r.network for r in rows if r.rows == n} for n in _in_order(rows, "rows")}
    number = max(networks, key=lambda n: (len(networks[n]), n))
    panels = []
    if len(counts[network]) > 1 or len(networks[number]) == 1:
        panels.append(("rows", network, [row for row in rows if row.network == network]))
    if len(networks[number]) > 1:
        panels.append(("nodes", f"{number:,} rows", [row for row in rows if row.rows == number]))
    figure = Figure(figsize=(3 + 5 * len(panels), 4.5), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False)
    for axes, (field, title, shown) in zip(grid.flat, panels, strict=True):
        _lines(axes, shown, field)
        axes.set_title(title)
    figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    figure.savefig(path, dpi=150)


def _in_order(rows: Sequence[Row], field: str) -> list[Any]:
    return list(dict.fromkeys(getattr(row, field) for row in rows))


def _lines(axes: Axes, rows: Sequence[Row], field: str) -> None:
    for program, marker in zip(_in_order(rows, "program"), cycle(MARKERS), strict=False):
        points: dict[int, list[float]] = {}
        for row in rows:
            if row.program == program and row.seconds is not None:
                points.setdefault(getattr(row, field), []).append(row.seconds)
        if points:
            xs = sorted(points)
            axes.plot(xs, [np.mean(points[x]) for x in xs], marker=marker, label=program)
    axes.set(xscale="log", yscale="log", xlabel=field, ylabel="CPU seconds")
    ticks = _apart(sorted({getattr(row, field) for row in rows}))
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.grid(alpha=0.3)


def _apart(numbers: Sequence[int]) -> list[int]:
    """Numbers whose labels do not touch on a logarithmic axis; the largest is one of them."""
    kept: list[int] = []
    for number in reversed(numbers):
        if not kept or number < 0.85 * kept[-1]:
            kept.append(number)
    return kept[::-1]
