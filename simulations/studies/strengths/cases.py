"""The cases of the study: part, network, rows a site, seed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from simulations.study_cases import Case

__all__ = ["PARTS", "cases"]

PARTS = ("tuning", "shown", "counted")


def cases(part: str, settings: dict[str, Any], seeds: int | None = None) -> Iterator[Case]:
    """The cases of one part, those of a seed together, so that a run cut short is balanced.

    settings : of `experiment.toml`; seeds : in place of its number.
    """
    study = {**settings["study"], **settings[part]}
    for seed in range(1, 1 + (seeds or study["seeds"])):
        for network, rows in product(study["networks"], study["rows"]):
            yield {
                "part": part,
                "network": network,
                "rows": rows,
                "sites": list(study["sites"]),
                "seed": seed,
            }
