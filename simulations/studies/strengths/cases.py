"""The cases of the study: part, network, rows a site, seed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import product
from typing import Any

from simulations.study_cases import Case

PARTS = ("tuning", "test", "counted")

FROM_FOLDER = "paper:"
"""Before the name of a network of the folder: some are named like networks of fedbn's own."""


def cases(
    part: str,
    settings: Mapping[str, Any],
    here: Collection[str] = (),
) -> Iterator[Case]:
    """The cases of one part, those of a seed together, so that a run cut short is balanced.

    settings : of `experiment.toml`; here : networks of the folder (those of the lists that are not
        here have no case).
    """
    study = {**settings["study"], **settings[part]}
    listed = [name for family in study.get("families", ()) for name in family if name in here]
    for given in study["sets"]:
        chosen = {**study, **given}
        names = [FROM_FOLDER + name for name in listed] if "folder" in given else given["networks"]
        for seed in range(1, 1 + chosen["seeds"]):
            for network, rows in product(names, chosen["rows"]):
                yield {
                    "part": part,
                    "network": network,
                    "rows": rows,
                    "sites": list(chosen["sites"]),
                    "seed": seed,
                }


def family_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """Network of a folder, as cases name it -> the first network of its family."""
    families = [family for part in PARTS for family in settings[part].get("families", ())]
    return {FROM_FOLDER + name: FROM_FOLDER + names[0] for names in families for name in names}
