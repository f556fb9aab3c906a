"""Tables of the study."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from scipy.stats import beta

from simulations.study_cases import Row
from simulations.study_report import Section

WAYS = ("auto", "untold", "number", "k_means", "mixture")


def sections(part: str, rows: Sequence[Row]) -> list[Section]:
    """The sections of one part of the study."""
    if part == "alike":
        return [_false_alarms(rows)]
    if part == "alike-lacking":
        return [_lacking_alarms(rows, "lacking"), _lacking_alarms(rows, "network")]
    if part == "groups-lacking":
        return [_lacking_found(rows, "lacking"), _lacking_found(rows, "network")]
    if part == "several-lacking":
        ways = ("auto", "having", "number")
        return [_lacking_found(rows, key, ways) for key in ("lacking", "network")]
    if part == "several":
        return [_several_together(rows), _several(rows)]
    title = "Groups found" if part == "groups" else "Every site of its own population"
    by_cell = [_indices(title, rows), _distances(rows)]
    if part == "different":
        return by_cell
    large = [row for row in rows if row["rows"] >= 500]
    unequal = [row for row in rows if row["rows"] == 0]
    many = [row for row in rows if row["edges"] >= 4]
    return [
        _summary(rows),
        _pooled_table("By edges moved, 500 rows and more", "edges", large),
        _pooled_table("By rows, four edges moved and more (0: 100 to 10,000)", "rows", many),
        _pooled_table("By edges moved, rows of 100 to 10,000", "edges", unequal),
        *by_cell,
    ]


def _cells(rows: Sequence[Row]) -> list[tuple[list[Any], list[Row]]]:
    """Network, rows, sizes, edges -> rows of that cell."""

    def key(row: Row) -> tuple[str, int, str, int]:
        sizes = " + ".join(map(str, row["sizes"]))
        return str(row["network"]), int(row["rows"]), sizes, int(row["edges"])

    found = groupby(sorted(rows, key=key), key=key)
    return [(list(cell), list(own)) for cell, own in found]


CELL = ("network", "rows", "sites", "edges moved", "seeds")


def _mean(rows: Sequence[Row], name: str) -> float:
    return float(np.mean([row[name] for row in rows]))


def _false_alarms(rows: Sequence[Row]) -> Section:
    table = [
        [*cell[:3], len(own), *(_alarms(own, way) for way in ("auto", "untold")), _bounds(own)]
        for cell, own in _cells(rows)
    ]
    unequal = [row for row in rows if row["rows"] == 0]
    for words, some in (("all", rows), ("unequal rows", unequal)):
        if some:
            table.append(
                [words, "", "", len(some), *(_alarms(some, w) for w in ("auto", "untold")),
                 _bounds(some)]
            )  # fmt: skip
    text = (
        "Federations of similar sites that were split; rows 0: 100 to 10,000, log-uniform. auto: "
        "sites report their numbers of rows; untold: they do not. At most: the exact upper 95 % "
        "bounds of both rates (one-sided)."
    )
    return Section("Similar sites: false alarms", text, ("network", "rows", "sites", "seeds",
                   "auto", "untold", "at most, %"), table)  # fmt: skip


LACKING = ("whole", "auto", "having")


def _lacking_alarms(rows: Sequence[Row], key: str) -> Section:
    """By what is lacking, or by network, and rows."""
    cells = [
        (value, count)
        for value in sorted({row[key] for row in rows})
        for count in sorted({row["rows"] for row in rows})
    ]
    table = []
    for value, count in cells:
        own = [row for row in rows if (row[key], row["rows"]) == (value, count)]
        table.append([value, count, *(_alarms(own, way) for way in LACKING), _bounds(own, "auto")])
    table.append(["all", "", *(_alarms(rows, way) for way in LACKING), _bounds(rows, "auto")])
    text = (
        "Federations of similar sites that were split; rows 0: 100 to 10,000, log-uniform. whole: "
        "no site lacks a variable; auto: sites judge the pairs that docs/different-variables.md "
        "names; having: they judge all pairs that they have. At most: the exact upper 95 % bound "
        "of the rate of auto (one-sided)."
    )
    header = (key, "rows", *LACKING, "at most, %")
    return Section(f"Similar sites that lack variables, by {key}", text, header, table)


def _lacking_found(
    rows: Sequence[Row], key: str, ways: Sequence[str] = (*LACKING, "number")
) -> Section:
    """By what is lacking, or by network, and edges moved."""
    table = []
    for value in sorted({row[key] for row in rows}):
        for edges in sorted({row["edges"] for row in rows}):
            own = [row for row in rows if (row[key], row["edges"]) == (value, edges)]
            found = (f"{_alarms(own, way)}, {_mean(own, f'{way}_ari'):.2f}" for way in ways)
            table.append([value, edges, *found])
    text = (
        "Federations of two populations (0 edges moved: of one) that were split, and the mean "
        "adjusted Rand index. Ways as for similar sites; number: the tree of auto cut into the "
        "right number of groups."
    )
    header = (key, "edges moved", *ways)
    return Section(f"Two populations whose sites lack variables, by {key}", text, header, table)


def _bounds(rows: Sequence[Row], *ways: str) -> str:
    """The exact upper bounds of the rates of false alarms, in per cent (Clopper and Pearson)."""
    found = []
    for way in ways or ("auto", "untold"):
        alarms = sum(row[f"{way}_groups"] > 1 for row in rows)
        found.append(f"{100 * float(beta.ppf(0.95, alarms + 1, len(rows) - alarms)):.1f}")
    return ", ".join(found)


SENT = ("single", "redrawn", "redrawn_untold")


def _several_together(rows: Sequence[Row]) -> Section:
    """The networks of each number of edges and of rows together."""
    table = []
    for edges in sorted({row["edges"] for row in rows}):
        for count in sorted({row["rows"] for row in rows}):
            own = [row for row in rows if (row["edges"], row["rows"]) == (edges, count)]
            if own:
                ways = (f"{_alarms(own, way)}, {_mean(own, f'{way}_ari'):.2f}" for way in SENT)
                table.append([edges, count, *ways])
    text = "Cases that were split, and the mean adjusted Rand index, over all networks."
    header = ("edges moved", "rows", *SENT)
    return Section("Several structures, all networks", text, header, table)


def _several(rows: Sequence[Row]) -> Section:
    table = [
        [*cell, len(own), *(
            f"{_alarms(own, way)}, {_mean(own, f'{way}_ari'):.2f}" for way in SENT
        )]
        for cell, own in _cells(rows)
    ]  # fmt: skip
    text = (
        "Cases that were split, and the mean adjusted Rand index; no edges moved: similar sites. "
        "single: every site sends one structure; redrawn: those of bootstrap samples, from which "
        "the test draws again; redrawn_untold: likewise, numbers of rows not reported."
    )
    return Section("Several structures of every site", text, (*CELL, *SENT), table)


def _alarms(rows: Sequence[Row], way: str) -> str:
    return f"{sum(row[f'{way}_groups'] > 1 for row in rows)} of {len(rows)}"


def _indices(title: str, rows: Sequence[Row]) -> Section:
    table = [
        [*cell, len(own), *(f"{_mean(own, f'{way}_ari'):.2f}" for way in WAYS)]
        for cell, own in _cells(rows)
    ]
    text = (
        "Adjusted Rand index, mean over seeds. auto: the groups that the test finds, with the "
        "sites' numbers of rows; untold: without them; number: the tree cut into the right number "
        "of groups; k_means (on the flattened adjacency) and mixture (of edge probabilities): the "
        "right number of groups, too."
    )
    return Section(title, text, (*CELL, *WAYS), table)


def _distances(rows: Sequence[Row]) -> Section:
    ways = ("site", "one", "auto", "number", "k_means", "mixture", "oracle")
    table = [
        [*cell, len(own), *(f"{_mean(own, way):.1f}" for way in ways)] for cell, own in _cells(rows)
    ]
    text = (
        "Mean SMHD to a site's own true network: of its own structure, of one consensus of all "
        "sites, of the consensus of the group that each way gives it, and of its true group."
    )
    return Section("What the groups gain", text, (*CELL, *ways), table)


def _pooled_table(title: str, key: str, rows: Sequence[Row]) -> Section:
    """The cells of each value of a key together."""
    ways = ("site", "one", "auto", "untold", "number", "oracle")
    table = []
    for value in sorted({row[key] for row in rows}):
        own = [row for row in rows if row[key] == value]
        indices = (f"{_mean(own, f'{way}_ari'):.2f}" for way in WAYS)
        table.append([value, len(own), *indices, *(f"{_mean(own, way):.1f}" for way in ways)])
    text = "Adjusted Rand index, and mean SMHD to the site's own truth."
    header = (key, "cases", *WAYS, *(f"SMHD: {way}" for way in ways))
    return Section(title, text, header, table)


def _summary(rows: Sequence[Row]) -> Section:
    some = [row for row in rows if row["rows"] >= 500 and row["edges"] >= 4]
    if not some:
        return Section("The criteria", "No cells with 500 rows and four edges moved.")
    table = [
        [way, f"{_mean(some, f'{way}_ari'):.3f}", f"{_mean(some, way):.2f}",
         f"{100 * (_mean(some, way) / _mean(some, 'oracle') - 1):.1f} %"]
        for way in WAYS
    ]  # fmt: skip
    text = "Cells with at least 500 rows and four edges moved."
    header = ("way", "mean ARI", "mean SMHD", "above the oracle's")
    return Section("The criteria", text, header, table)
