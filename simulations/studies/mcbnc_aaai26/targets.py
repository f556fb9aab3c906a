"""Every claim of the paper with its verdict: held, not held, or not decidable, and the figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from simulations.studies.mcbnc_aaai26.claims import CHECKS
from simulations.studies.mcbnc_aaai26.evidence import Evidence, Found, Rule
from simulations.studies.mcbnc_aaai26.selection import Cell, cells_of, groups, of_part
from simulations.studies.mcbnc_aaai26.synthetic import THETAS
from simulations.study_cases import Row
from simulations.study_report import Section

VERDICTS = {True: "held", False: "not held", None: "not decidable"}


def no_influence(at: Evidence, rule: Rule) -> Found:
    """Spread of the chosen SMHD over k_max, at each r, and whether any is above the mean input."""
    some = _by_k_max(at)
    if not some:
        return None, ""
    spreads, above = {}, 0
    for (network, r), cells in some.items():
        values = [at.smhd(cell) for cell in cells.values()]
        inputs = next(iter(cells.values())).of("inputs", "smhd_gold")
        spreads[network, r] = (max(values) - min(values)) / max(min(values), 1.0)
        above += sum(value > inputs for value in values)
    text = ", ".join(f"r = {r}: {100 * value:.0f} %" for (_, r), value in spreads.items())
    held = max(spreads.values()) <= rule["share"] and above == 0
    return held, f"spread {text}; {above} above the mean input"


def slower_with_k_max(at: Evidence, rule: Rule) -> Found:
    some = _by_k_max(at)
    if not some:
        return None, ""
    pairs = []
    for cells in some.values():
        seconds = {k: cell.clock()[-1][1] for k, cell in cells.items()}
        pairs.append((seconds[min(seconds)], seconds[max(seconds)]))
    text = ", ".join(f"{a:.2f} to {b:.2f} s" for a, b in pairs)
    return all(b > a for a, b in pairs), text


def _by_k_max(at: Evidence) -> dict[tuple[str, int], dict[int, Cell]]:
    """(network, r) -> k_max -> cell, where there is more than one."""
    found: dict[tuple[str, int], dict[int, Cell]] = {}
    names = list(dict.fromkeys(row["network"] for row in of_part(at.rows, "k-max")))
    for (k_max,), some in groups(of_part(at.rows, "k-max"), "k_max").items():
        for cell in cells_of([*of_part(at.rows, "rivals"), *some], names, "k-max"):
            found.setdefault((cell.network, cell.r), {})[k_max] = cell
    return {key: cells for key, cells in found.items() if len(cells) > 1}


def recovery(at: Evidence, rule: Rule) -> Found:
    """The largest median over the seeds, over θ in the paper's range, of n, r >= 30."""
    inside = [1 + k for k, t in enumerate(THETAS) if rule["from"] <= t <= rule["to"]]
    worst: dict[tuple[int, int], float] = {}
    half = 1 + next(k for k, t in enumerate(THETAS) if t * 2 == 1)
    at_half = {}
    for (n, r), some in groups(of_part(at.rows, "synthetic"), "n", "r").items():
        medians = np.median([[p[0] for p in row[at.reading]] for row in some], axis=0)
        worst[n, r], at_half[n, r] = float(medians[inside].max()), float(medians[half])
    large = [key for key in worst if key[0] >= rule["n"] and key[1] >= rule["r"]]
    if not large:
        return None, ""
    largest = max(worst[key] for key in large)
    middle = max(at_half[key] for key in large)
    return largest <= rule["smhd"], (
        f"largest median {largest:g} over the range, {middle:g} at θ = 1/2 (n, r >= 30)"
    )


MORE: Mapping[str, Callable[[Evidence, Rule], Found]] = {
    "C14-C15": no_influence,
    "C16": slower_with_k_max,
    "B1": recovery,
}


def verdict(name: str, at: Evidence, rule: Rule) -> Found:
    """A claim judged; without cells, or where a figure is missing, it is not decidable."""
    if not at.cells and name in CHECKS:
        return None, ""
    held, text = {**CHECKS, **MORE}[name](at, rule)
    return None if held is None else bool(held), text.replace("nan", "-")


def targets(
    cells: Sequence[Cell], rows: Sequence[Row], claims: Mapping[str, Mapping[str, Any]]
) -> Section:
    """One line per claim, judged by both readings: refusion as in the paper's figures, search as in
    its Algorithm 1."""
    table = []
    for name, rule in claims.items():
        found = [
            verdict(name, Evidence(cells, rows, reading), rule)
            for reading in ("refusion", "search")
        ]
        flat = [cell for held, text in found for cell in (VERDICTS[held], text)]
        table.append([name, rule["says"], *flat])
    text = (
        "Verdicts by the rules of expected.json, on the cells that were run. Refusion is what the "
        "paper's published figures report, search is its Algorithm 1."
    )
    header = ["claim", "the paper says", "refusion", "", "search", ""]
    return Section("Claims", text, header, table)
