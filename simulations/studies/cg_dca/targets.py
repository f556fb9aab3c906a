"""What the reproduction is to reach (`targets` in expected.json), and whether it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simulations.studies.cg_dca.selection import (
    by_method,
    by_setting,
    groups,
    mean,
    proven,
    seconds,
    times_faster,
    to_truth,
)
from simulations.study_cases import Row
from simulations.study_report import Section

Verdict = list[object]
HYBRID = "cg-dca hybrid"


def targets(rows: Sequence[Row], paper: Mapping[str, Any]) -> Section:
    """One line per target for which there are rows: what was reached, and yes or no."""
    table = [
        *_proofs(rows),
        *_gaps(rows, paper["table 1"], paper["targets"]),
        *_times(rows, paper["table 1"]["seconds"], paper["targets"]),
        *_tables(rows, paper["targets"]),
    ]
    text = "Settings and instances that were run; times where the paper's are known."
    return Section("Targets", text, ["target", "reached", "holds"], table)


def _proofs(rows: Sequence[Row]) -> Iterator[Verdict]:
    known = [row for row in rows if row["part"] == "gaussian" and row["method"] == "optimal"]
    done = sum(proven(row, []) for row in known)
    if known:
        yield _verdict("every Gaussian instance is proven optimal", done, len(known))


def _gaps(
    rows: Sequence[Row], table: Mapping[str, Any], wanted: Mapping[str, Any]
) -> Iterator[Verdict]:
    """The mean gap to the truth, to two decimals, against the paper's."""
    good = []
    for (n, size, d), instances in by_setting(rows).items():
        theirs = table["gap"].get(str(n), {}).get(str(d)) if size == 5000 else None
        ours = mean(by_method(instances, HYBRID, to_truth))
        if theirs is not None and ours is not None:
            good.append(round(ours, 2) <= theirs + wanted["gap"] + 1e-9)
    if good:
        what = f"hybrid start: gap to the truth at most the paper's + {wanted['gap']}"
        yield _verdict(what, sum(good), len(good))


def _times(
    rows: Sequence[Row], printed: Mapping[str, Any], wanted: Mapping[str, Any]
) -> Iterator[Verdict]:
    """How many times less CPU than the paper's, in each setting whose time is known."""
    for (n, size, d), instances in by_setting(rows).items():
        theirs = printed.get(str(n), {}).get(str(d)) if size == 5000 else None
        for method, factors in wanted["times"].items():
            ours = mean(by_method(instances, method, seconds))
            faster = times_faster(ours, theirs)
            if faster is not None:
                what = f"{method}, n = {n}, d = {d}: at least {factors[str(n)]} times faster"
                yield [what, faster, _yes(faster >= factors[str(n)])]


def _tables(rows: Sequence[Row], wanted: Mapping[str, Any]) -> Iterator[Verdict]:
    """Categorical tables: a proof, or no less than the ordering search."""
    for (network,), some in groups(rows, "discrete", "network").items():
        by = {row["method"]: row for row in some}
        if network in wanted["proven"] and "optimal" in by:
            found = by["optimal"]
            yield [f"{network}: proven optimal", found["status"], _yes(proven(found, []))]
        elif {"optimal", "ordering"} <= set(by):
            ahead = by["optimal"]["score"] - by["ordering"]["score"]
            what = f"{network}: optimal learner no worse than the ordering search"
            yield [what, f"{ahead:+.6f}", _yes(ahead >= -1e-6)]


def _verdict(what: str, done: int, count: int) -> Verdict:
    return [what, f"{done} of {count}", _yes(done == count)]


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
