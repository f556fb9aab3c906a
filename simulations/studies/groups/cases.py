"""The cases of the study: network, sites of every population, rows, edges moved, seed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from simulations.study_cases import Case

LACKING = ("alike-lacking", "groups-lacking", "several-lacking")
PARTS = ("alike", "groups", "different", "several", *LACKING)


def cases(
    part: str, settings: dict[str, Any], seeds: int | None = None, first_seed: int = 1
) -> Iterator[Case]:
    """The cases of one part, those of a seed together, so that a run cut short is balanced.

    settings : of `experiment.toml`.
    seeds : in place of its number of them.
    first_seed : the smallest of them.
    """
    own = settings["study"] | settings[part]
    for seed in range(first_seed, first_seed + (seeds or own["seeds"])):
        for network, rows in product(own["networks"], own["rows"]):
            for sizes, edges in _federations(part, own):
                case: Case = {
                    "part": part,
                    "base": own["base"],
                    "network": network,
                    "rows": rows,
                    "sizes": sizes,
                    "edges": edges,
                    "seed": seed,
                }
                if "lacking" not in own:
                    yield case
                for lacking in own.get("lacking", ()):
                    yield {**case, "lacking": lacking}


def _federations(part: str, own: dict[str, Any]) -> Iterator[tuple[list[int], int]]:
    """Sites of every population, and the edges that are moved."""
    if part.startswith("alike"):
        yield from (([sites], 0) for sites in own["sites"])
    elif part == "different":
        yield from (([1] * 10, edges) for edges in own["edges"])
    else:
        if part.startswith("several"):
            yield [sum(own["sizes"][0])], 0
        yield from product(own["sizes"], own["edges"])
