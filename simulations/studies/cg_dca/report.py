"""The tables of the report, the paper's figures beside ours."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simulations.studies.cg_dca.selection import (
    best_known,
    bound_above,
    by_method,
    by_setting,
    gap,
    groups,
    mean,
    proven,
    seconds,
    times_faster,
    to_best,
    to_truth,
    whole_networks,
)
from simulations.studies.cg_dca.targets import targets
from simulations.study_cases import Row
from simulations.study_report import Section

HERE = Path(__file__).parent
FEDERATED = ("local_smhd", "consensus_smhd", "consensus_shd", "seconds")
STARTS = ("cg-dca random", "cg-dca hybrid", "cg-dca warm")


def sections(rows: Sequence[Row], figures: Sequence[str]) -> list[Section]:
    """All parts of the report for which there are rows."""
    paper = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))
    parts = [
        _gaussian_test(rows, paper["gaussian.test"]),
        _gaps(rows, paper["table 1"]),
        _starts(rows, paper["tables 4, 5"]),
        _ties(rows),
        _accuracy(rows, paper["tables 2, 6"]),
        _discrete(rows, paper["tables 3, 7, 8"]),
        _federated_section(rows),
        targets(rows, paper),
    ]
    if figures:
        parts.append(Section("Figures", "", figures=figures))
    return [part for part in parts if part.rows or part.figures]


def _gaussian_test(rows: Sequence[Row], paper: Mapping[str, Any]) -> Section:
    table = [
        [method, row["seconds"], paper["seconds"].get(method), row["shd"], row["score"]]
        for (method,), (row, *_) in groups(rows, "gaussian.test", "method").items()
    ]
    text = "7 variables, 5,000 rows; pricing by DCA against exact pricing (MINLP)."
    header = ["method", "CPU s", "paper s", "SHD", "score"]
    return Section("Section 5.1: gaussian.test", text, header, table)


def _gaps(rows: Sequence[Row], paper: Mapping[str, Any]) -> Section:
    table = []
    for (n, size, d), instances in by_setting(rows).items():
        ours = by_method(instances, "cg-dca hybrid", to_truth)
        if not ours:
            continue
        printed = size == 5000
        theirs = paper["gap"].get(str(n), {}).get(str(d)) if printed else None
        printed_seconds = paper["seconds"].get(str(n), {}).get(str(d)) if printed else None
        bilp = paper["gobnilp_gap"].get(str(n), {}).get(str(d)) if printed else None
        took = mean(by_method(instances, "cg-dca hybrid", seconds))
        optimal = by_method(instances, "optimal", proven)
        proof = mean(by_method(instances, "optimal", seconds))
        table.append(
            [n, size, d, len(ours), round(mean(ours) or 0.0, 3), theirs,
             mean(by_method(instances, "cg-dca hybrid", to_best)), took, printed_seconds,
             times_faster(took, printed_seconds), f"{sum(optimal)} of {len(optimal)}", proof,
             times_faster(proof, printed_seconds), bilp]
        )  # fmt: skip
    text = (
        "CG-DCA with hybrid start. Gaps in percent of the score of the true graph (negative: "
        "better than it) and of the best known score; means over the instances that were run. "
        "Times faster: the paper's seconds for CG-DCA by ours."
    )
    header = [
        "n", "N", "d", "instances", "gap to truth", "paper", "gap to optimum", "CPU s", "paper s",
        "times faster", "proven optimal", "its CPU s", "times faster", "GOBNILP's gap (paper)",
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
    for (n, size, d), instances in by_setting(rows).items():
        instances = {
            k: some
            for k, some in instances.items()
            if {row["method"] for row in some} >= set(STARTS)
        }
        gaps = [mean(by_method(instances, start, to_best)) for start in STARTS]
        times = [mean(by_method(instances, start, seconds)) for start in STARTS]
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


def _ties(rows: Sequence[Row]) -> Section:
    """On the instances that have both; by name is what `cg-dca hybrid` does."""
    rules = ("cg-dca hybrid", "cg-dca random ties")
    table = []
    for (n, size, d), instances in by_setting(rows).items():
        both = {
            k: some
            for k, some in instances.items()
            if {row["method"] for row in some} >= {*rules, "optimal"}
        }
        values = [
            mean(by_method(both, rule, value)) for value in (to_best, seconds) for rule in rules
        ]
        if both:
            table.append([n, size, d, len(both), *values])
    text = (
        "Hybrid start. The order along which f is linearised where the point has ties: by name, or "
        "at random. Gaps to the optimum in percent, CPU seconds."
    )
    header = [
        "n", "N", "d", "instances", "gap by name", "gap at random", "s by name", "s at random",
    ]  # fmt: skip
    return Section("Ties of the linearisation", text, header, table)


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
    for (network, size), every in groups(rows, "discrete", "network", "rows").items():
        reference = best_known(every)
        for (method,), some in groups(every, "discrete", "method").items():
            theirs = paper.get(network, {}).get(method, [None] * 3)
            took, precision, recall, shd = (
                mean([row[key] for row in some])
                for key in ("seconds", "precision", "recall", "shd")
            )
            table.append(
                [network, size, method, len(some), mean([gap(row, reference) for row in some]),
                 theirs[0], mean([row["score"] for row in some]), took, theirs[1], precision,
                 recall, shd, theirs[2], some[-1]["status"], bound_above(some[-1])]
            )  # fmt: skip
    text = (
        "Gap in percent to the proven optimum, or else to the best score of any method; means over "
        "the runs with seeds of their own; bound above: the proven bound above the score, in "
        "percent. cg-dca hybrid breaks ties at random; permutations, "
        "greedy and local search are pricings of our own."
    )
    header = [
        "table", "N", "method", "runs", "gap", "paper", "score", "CPU s", "paper s", "precision",
        "recall", "SHD", "paper", "status", "bound above",
    ]  # fmt: skip
    return Section("Tables 3, 7 and 8: categorical data", text, header, table)


def _with_error(values: Sequence[float]) -> str:
    """The mean and its standard error."""
    if len(values) < 2:
        return f"{np.mean(values):.4g}"
    return f"{np.mean(values):.4g} ± {np.std(values, ddof=1) / math.sqrt(len(values)):.2g}"


def _federated_section(rows: Sequence[Row]) -> Section:
    networks = whole_networks(rows)
    best = {at: max(row["local_score"] for row in group) for at, group in networks.items()}
    whole = [row for group in networks.values() for row in group]
    table = []
    for (n, d, learner), some in sorted(groups(whole, "federated", "n", "d", "learner").items()):
        below = [best[n, d, row["repetition"]] - row["local_score"] for row in some]
        values = [[row[key] for row in some] for key in FEDERATED]
        table.append([n, d, learner, len(some), *map(_with_error, [below, *values])])
    text = (
        "Means over the networks that all learners have done ± standard error; 10 clients with "
        "tables of their own. The clients' score is that below the best learner's on the same "
        "network; SMHD and SHD are to the truth, seconds are CPU seconds of one client."
    )
    header = [
        "n", "d", "learner", "networks", "clients' score below", "clients' SMHD", "consensus SMHD",
        "consensus SHD", "s",
    ]  # fmt: skip
    return Section("Better local scores, better consensus?", text, header, table)
