"""Rows by case, and the share of the distance to pooled GES that a way of choosing closes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulations.pooled import share_closed
from simulations.study_cases import Row

MIN_DISTANCE = 2.0
"""SMHD between today's consensus and pooled GES below which no share is given."""

WORDS = {"smhd": "SMHD", "held_out": "held-out log-likelihood"}
WORSE = {"smhd": 1.0, "held_out": 0.02}
"""By how much counts and a climb may be worse than today's consensus."""


def mean_of(rows: Sequence[Row], way: str, by: str) -> float:
    """The mean of a way over the seeds, by a key of WORDS; the smaller, the better."""
    values = [row[way] if by == "smhd" else -row[f"{way}_held_out"] for row in rows]
    return float(np.mean(values))


def never_worse(rows: Sequence[Row]) -> list[tuple[str, str, bool]]:
    """Counts and a climb beside today's consensus: promise, what was found, whether it holds."""
    found = []
    cells = groups(rows, ("network", "rows"))
    for by, most in WORSE.items():
        for way in ("counts", "climb"):
            worse = {key: mean_of(own, way, by) - mean_of(own, "today", by) for key, own in cells}
            named = [f"{n} {r} ({worse[n, r]:+.2f})" for n, r in worse if worse[n, r] > most]
            text = f"{way}: nowhere worse than today by more than {most:g} in {WORDS[by]}"
            found.append((text, ", ".join(named) or "nowhere", not named))
    return found


def way_share(rows: Sequence[Row], way: str) -> float | None:
    """Share of the distance from today's consensus to pooled GES that a way closes, of means."""
    today, reached, pooled = (
        float(np.mean([row[n] for row in rows])) for n in ("today", way, "pooled")
    )
    if today - pooled < MIN_DISTANCE:
        return None
    return share_closed(today, reached, pooled)


def groups(rows: Sequence[Row], by: Sequence[str]) -> list[tuple[tuple[object, ...], list[Row]]]:
    """The rows of each value of these keys, in order."""
    keys = list(dict.fromkeys(tuple(row[name] for name in by) for row in rows))
    ordered = sorted(keys, key=lambda key: tuple(str(part).rjust(12) for part in key))
    return [(key, [r for r in rows if tuple(r[n] for n in by) == key]) for key in ordered]
