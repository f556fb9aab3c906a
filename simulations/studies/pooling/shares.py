"""Rows by case, and the share of the distance to pooled GES that a way of choosing closes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulations.pooled import share_closed
from simulations.study import Row

__all__ = ["MIN_DISTANCE", "groups", "way_share"]

MIN_DISTANCE = 2.0
"""SMHD between today's consensus and pooled GES below which no share is given."""


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
