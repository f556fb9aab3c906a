"""One case of choosing by counts: the same sites with structures alone, counts and climb."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import fedbn as fb
from fedbn.data.dataset import Dataset
from fedbn.federation.settings import ConsensusSettings
from fedbn.graphs.distances import smhd
from fedbn.networks.catalog import load_network
from simulations.studies.different_variables.runs import has_columns, rng_of
from simulations.study_cases import Case, Row
from simulations.study_report import Section

CHOICES = ("smhd", "counts", "climb")

SMALLEST, LARGEST = 0.1, 4.0
"""Rows of unequal sites, before their mean is made that of the case."""


def count_cases(settings: dict[str, Any], seeds: int | None = None) -> Iterator[Case]:
    """The cases, those of a seed together."""
    study = settings["counts"]
    for seed in range(study["first"], study["first"] + (seeds or study["seeds"])):
        for network in study["networks"]:
            for rows in study["rows"]:
                for sizes in study["sizes"]:
                    yield {
                        "choice": "counts",
                        "network": network,
                        "rows": rows,
                        "sizes": sizes,
                        "sites": study["sites"],
                        "pattern": study["pattern"],
                        "blocks": study["blocks"],
                        "seed": seed,
                    }


def rows_of_sites(rows: int, sites: int, sizes: str) -> list[int]:
    """The rows of every site.

    >>> rows_of_sites(500, 4, "unequal")
    [36, 122, 417, 1426]
    """
    if sizes == "equal":
        return [rows] * sites
    shares = np.geomspace(SMALLEST, LARGEST, sites)
    return [round(each) for each in (rows * shares / shares.mean()).tolist()]


def run_count_case(case: Case) -> Row:
    """For every choice SMHD to the network over all variables, moves and requests."""
    source = load_network(str(case["network"]))
    truth = source.dag.reorder(sorted(source.dag.names))
    has = has_columns(case, truth)
    rng = rng_of(case, f"counts {case['sizes']}")
    tables: dict[str, Dataset] = {}
    sizes = rows_of_sites(case["rows"], case["sites"], case["sizes"])
    for number, (rows, own) in enumerate(zip(sizes, has, strict=True)):
        table = source.sample(rows, rng)
        columns = [name for name, there in zip(table.names, own, strict=True) if there]
        tables[f"{number:02d}"] = table.select(columns)
    row: Row = {}
    for choose in CHOICES:
        settings = ConsensusSettings(variables="union", choose=choose)
        found = fb.simulate(tables, consensus=settings, seed=case["seed"])
        row[choose] = smhd(found.dag.reorder(truth.names), truth)
        choice = found.result.choice
        if choice is not None:
            row[f"{choose}_moves"] = len(choice.moves or ())
            row[f"{choose}_requests"] = choice.requests
    return row


def count_sections(rows: Sequence[Row]) -> list[Section]:
    """The table: means over the seeds, and in how many cases a choice is farther than structures
    alone."""
    table, worse = [], dict.fromkeys(CHOICES[1:], 0)
    keys = dict.fromkeys((row["network"], row["rows"], row["sizes"]) for row in rows)
    for key in sorted(keys):
        some = [row for row in rows if (row["network"], row["rows"], row["sizes"]) == key]
        means = [sum(row[choose] for row in some) / len(some) for choose in CHOICES]
        beyond = []
        for choose in CHOICES[1:]:
            lost = [row[choose] - row["smhd"] for row in some if row[choose] > row["smhd"]]
            worse[choose] += len(lost)
            beyond.append(f"{len(lost)}, {max(lost, default=0)}")
        moves = sum(row["climb_moves"] for row in some) / len(some)
        requests = sum(row["climb_requests"] for row in some) / len(some)
        table.append(
            [*key, len(some), *(f"{mean:.1f}" for mean in means), *beyond, f"{moves:.1f}",
             f"{requests:.1f}"]
        )  # fmt: skip
    text = (
        "Mean SMHD to the network over all variables. Farther: in how many cases than structures "
        "alone, and by how much at most. "
        + " ".join(f"{choose}: {many} of {len(rows)} cases." for choose, many in worse.items())
    )
    header = ("network", "rows", "sites' sizes", "seeds", "structures alone", "counts", "climb",
              "counts farther", "climb farther", "moves of climb", "requests")  # fmt: skip
    return [Section("Choosing by counts", text, header, table)] if rows else []
