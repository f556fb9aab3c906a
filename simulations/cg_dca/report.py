"""The tables of the report, the paper's figures beside ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simulations.study import Row, Section

__all__ = ["gap", "groups", "sections"]

HERE = Path(__file__).parent
STARTS = ("cg-dca random", "cg-dca hybrid", "cg-dca warm")


def sections(rows: Sequence[Row], figures: Sequence[str]) -> list[Section]:
    """All parts of the report for which there are rows."""
    paper = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
    parts = [
        _gaussian_test(rows, paper["gaussian.test"]),
        _gaps(rows, paper["table 1"]),
        _starts(rows, paper["tables 4, 5"]),
        _accuracy(rows, paper["tables 2, 6"]),
        _discrete(rows, paper["tables 3, 7, 8"]),
        _federated(rows),
    ]
    if figures:
        parts.append(Section("Figures", "", figures=figures))
    return [part for part in parts if part.rows or part.figures]


def gap(row: Row, reference: float | None) -> float | None:
    """How far the score is below a reference, in percent of it; negative above it."""
    if row["score"] is None or reference is None:
        return None
    return round(100.0 * (reference - float(row["score"])) / abs(reference), 8)


def groups(rows: Sequence[Row], part: str, *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """Rows of a part by the values of some keys, in order of appearance."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if row["part"] == part:
            found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def best_known(rows: Sequence[Row]) -> float | None:
    """The proven optimum of an instance, or the best score of any method."""
    proven = [row["score"] for row in rows if row["status"] == "optimal"]
    scores = [row["score"] for row in rows if row["score"] is not None]
    return max(proven or scores, default=None)


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of what is known."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _gaussian_test(rows: Sequence[Row], paper: Mapping[str, Any]) -> Section:
    table = [
        [method, row["seconds"], paper["seconds"].get(method), row["shd"], row["score"]]
        for (method,), (row, *_) in groups(rows, "gaussian.test", "method").items()
    ]
    text = "7 variables, 5,000 rows; pricing by DCA against exact pricing (MINLP)."
    header = ["method", "CPU s", "paper s", "SHD", "score"]
    return Section("Section 5.1: gaussian.test", text, header, table)


def _setting_rows(rows: Sequence[Row]) -> dict[tuple[Any, ...], dict[int, list[Row]]]:
    """(n, N, d) -> instance -> rows."""
    return {
        setting: {
            instance: some for (instance,), some in groups(group, "gaussian", "instance").items()
        }
        for setting, group in sorted(groups(rows, "gaussian", "n", "rows", "d").items())
    }


def _by_method(
    instances: Mapping[int, Sequence[Row]], method: str, value: Callable[[Row, list[Row]], Any]
) -> list[Any]:
    """The value of each instance's row of a method."""
    return [
        value(row, list(some))
        for some in instances.values()
        for row in some
        if row["method"] == method
    ]


def _to_truth(row: Row, _: list[Row]) -> float | None:
    return gap(row, row["true_score"])


def _to_best(row: Row, some: list[Row]) -> float | None:
    return gap(row, best_known(some))


def _gaps(rows: Sequence[Row], paper: Mapping[str, Any]) -> Section:
    table = []
    for (n, size, d), instances in _setting_rows(rows).items():
        ours = _by_method(instances, "cg-dca hybrid", _to_truth)
        if not ours:
            continue
        printed = size == 5000
        theirs = paper["gap"].get(str(n), {}).get(str(d)) if printed else None
        seconds = paper["seconds"].get(str(n), {}).get(str(d)) if printed else None
        bilp = paper["gobnilp_gap"].get(str(n), {}).get(str(d)) if printed else None
        took = mean(_by_method(instances, "cg-dca hybrid", lambda row, _: row["seconds"]))
        optimal = _by_method(instances, "optimal", lambda row, _: row["status"] == "optimal")
        table.append(
            [n, size, d, len(ours), round(mean(ours) or 0.0, 3), theirs,
             mean(_by_method(instances, "cg-dca hybrid", _to_best)), took, seconds,
             f"{sum(optimal)} of {len(optimal)}",
             mean(_by_method(instances, "optimal", lambda row, _: row["seconds"])), bilp]
        )  # fmt: skip
    text = (
        "CG-DCA with hybrid start. Gaps in percent of the score of the true graph (negative: "
        "better than it) and of the best known score; means over the instances that were run."
    )
    header = [
        "n", "N", "d", "instances", "gap to truth", "paper", "gap to optimum", "CPU s", "paper s",
        "proven optimal", "its CPU s", "GOBNILP's gap (paper)",
    ]  # fmt: skip
    return Section("Table 1: gaps", text, header, table)


def _starts(rows: Sequence[Row], paper: Mapping[str, Any]) -> Section:
    table, counts = (
        [],
        dict.fromkeys(
            ("settings", "random_best_score", "random_slowest", "warm_worst_score", "warm_fastest"),
            0,
        ),
    )
    for (n, size, d), instances in _setting_rows(rows).items():
        instances = {
            k: some
            for k, some in instances.items()
            if {row["method"] for row in some} >= set(STARTS)
        }
        gaps = [mean(_by_method(instances, start, _to_best)) for start in STARTS]
        times = [
            mean(_by_method(instances, start, lambda row, _: row["seconds"])) for start in STARTS
        ]
        if any(value is None for value in gaps):
            continue
        table.append([n, size, d, len(instances), *gaps, *times])
        known = [value for value in gaps if value is not None]
        spent = [value for value in times if value is not None]
        counts["settings"] += 1
        counts["random_best_score"] += known[0] <= min(known)
        counts["warm_worst_score"] += known[2] >= max(known)
        counts["random_slowest"] += spent[0] >= max(spent)
        counts["warm_fastest"] += spent[2] <= min(spent)
    text = "; ".join(
        f"{key.replace('_', ' ')}: {value} of {counts['settings']} (paper {paper[key]} of 24)"
        for key, value in counts.items()
        if key != "settings"
    )
    header = [
        "n", "N", "d", "instances", "gap random", "gap hybrid", "gap warm", "s random",
        "s hybrid", "s warm",
    ]  # fmt: skip
    return Section("Tables 4 and 5: start points", text + ".", header, table)


def _accuracy(rows: Sequence[Row], paper: Mapping[str, Any]) -> Section:
    table = []
    for (n, size, d, method), some in sorted(
        groups(rows, "gaussian", "n", "rows", "d", "method").items()
    ):
        printed = paper.get(str(n), {}).get(str(d), {}) if size == 5000 else {}
        theirs = printed.get(method, [None] * 3)
        ours = [mean([row[key] for row in some]) for key in ("precision", "recall", "shd")]
        pairs = [value for pair in zip(ours, theirs, strict=True) for value in pair]
        table.append([n, size, d, method, len(some), *pairs])
    header = [
        "n", "N", "d", "method", "instances", "precision", "paper", "recall", "paper", "SHD",
        "paper",
    ]  # fmt: skip
    text = "On CPDAGs. The paper's GOBNILP stands beside our optimal learner."
    return Section("Tables 2 and 6: structures", text, header, table)


def _discrete(rows: Sequence[Row], paper: Mapping[str, Any]) -> Section:
    table = []
    for (network, size), some in groups(rows, "discrete", "network", "rows").items():
        reference = best_known(some)
        for row in some:
            theirs = paper.get(network, {}).get(row["method"], [None] * 3)
            table.append(
                [network, size, row["method"], gap(row, reference), theirs[0], row["seconds"],
                 theirs[1], row["shd"], theirs[2], row["status"]]
            )  # fmt: skip
    text = (
        "Gap in percent to the proven optimum, or else to the best score of any method. "
        "permutations, greedy and local search are pricings of our own."
    )
    header = [
        "table", "N", "method", "gap", "paper", "CPU s", "paper s", "SHD", "paper", "status",
    ]  # fmt: skip
    return Section("Tables 3, 7 and 8: categorical data", text, header, table)


def _federated(rows: Sequence[Row]) -> Section:
    keys = ("local_score", "local_smhd", "consensus_smhd", "consensus_shd", "seconds")
    table = []
    for (n, d, learner), some in groups(rows, "federated", "n", "d", "learner").items():
        table.append(
            [n, d, learner, len(some), *(mean([row[key] for row in some]) for key in keys)]
        )
    text = (
        "Means over networks; 10 clients with tables of their own. SMHD and SHD are to the truth, "
        "seconds are CPU seconds of one client."
    )
    header = [
        "n", "d", "learner", "networks", "clients' score", "clients' SMHD", "consensus SMHD",
        "consensus SHD", "s",
    ]  # fmt: skip
    return Section("Better local scores, better consensus?", text, header, table)
