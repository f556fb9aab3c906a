"""The report for the public: no site is named, and no edge is shown that few sites have.

Who supports what is for the owner of the server. Sites, their groups and distances, refused
replies, states that one site alone has, files and the command line are left out; so is every pair
of variables that fewer than k sites join, in whatever direction. So are all parameters: where a
table has few rows behind it, its shares are their counts. Numbers of edges and mean distances stay:
they are of all sites together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from fedbn.results.page.states import BACKWARD, NONE, OPEN
from fedbn.results.page.svg import codes_at
from fedbn.results.page.tables import fraction
from fedbn.results.rows import ConsensusRow
from fedbn.results.written_rows import rows_text

LEAST = 3
"""k: how many sites must join a pair of variables for it to be shown."""

TELLING = ("sites", "sites-dir", "table", "schema", "network-dir", "site-parameters", "knowledge",
           "checkpoint", "out-dir")  # fmt: skip
"""Settings that name files."""


def public_content(content: Mapping[str, Any], least: int = LEAST) -> dict[str, Any]:
    """The content without what is not for the public; see above."""
    kept = [k for k, row in enumerate(content["pairs"]) if _is_common(row, least)]
    place = {k: number for number, k in enumerate(kept)}
    settings = {k: v for k, v in content["settings"].items() if k not in TELLING}
    return {
        **content,
        "public": True,
        "title": _without_file(content),
        "answers": [[question, public, public] for question, _, public in content["answers"]],
        "least": least,
        "n_hidden": len(content["pairs"]) - len(kept),
        "n_refused": content.get("n_refused", len(content["refused"])),
        "pairs": [content["pairs"][k] for k in kept],
        "paths": [content["paths"][k] for k in kept],
        "readings": [_without(reading, place) for reading in content["readings"]],
        "parameters": None,
        "numbers": [],
        "bif": None,
        "held_back": [],
        **({"not_given": []} if "not_given" in content else {}),
        **({"parameter_remarks": []} if "parameter_remarks" in content else {}),
        "sites": None,
        "groups": None,
        "variables": None,
        "distances": None,
        "refused": [],
        "lone_states": [],
        "imputed": [],
        "remarks": content["remarks"] if len(kept) == len(content["pairs"]) else [],
        "inputs": [],
        "hashes": {},
        "command": None,
        "settings": settings,
        "consensus": _edges_of(content, kept),
    }


def _without_file(content: Mapping[str, Any]) -> str:
    """The title, which begins with the table's name where all rows came from one."""
    table = PurePath(str(content["settings"].get("table", ""))).name
    return str(content["title"]).removeprefix(f"{table}: ")


def _is_common(row: Sequence[Any], least: int) -> bool:
    """Whether enough sites join the pair; where nobody counted them it is not shown."""
    return row[6] is not None and row[6] >= least


def _without(reading: Mapping[str, Any], place: Mapping[int, int]) -> dict[str, Any]:
    states = []
    for state in reading["states"]:
        listed = state["changes"]
        changes = [
            number
            for k, code in zip(listed[::2], listed[1::2], strict=True)
            if k in place
            for number in (place[k], code)
        ]
        states.append({**state, "changes": changes})
    return {**reading, "states": states}


def _edges_of(content: Mapping[str, Any], kept: Sequence[int]) -> str:
    """consensus.csv without its rare edges; names are printable ones."""
    codes, rows = codes_at(content, *content["chosen"]), []
    for k in kept:
        i, j, support, theta = content["pairs"][k][:4]
        if codes[k] != NONE:
            ends = (j, i) if codes[k] == BACKWARD else (i, j)
            directed = "open" if codes[k] == OPEN else "compelled"
            parent, child = (content["names"][v] for v in ends)
            rows.append(ConsensusRow(parent, child, directed, support, theta=fraction(theta)))
    return rows_text(ConsensusRow, rows)
