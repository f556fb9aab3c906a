"""The paper's claims as checks on the cells: each gives a verdict and the figure behind it.

A check returns (held, figure); held is None where there are not the rows to decide. The rules'
numbers are in expected.json. A claim is checked for one reading of the consensus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.stats import spearmanr

from simulations.studies.mcbnc_aaai26.claims_on_shape import (
    above_truth,
    as_many_edges,
    comparable_bdeu,
    early_time,
    flat_width,
    never_denser,
    nothing_changes,
    truth_below_inputs,
    win95pts,
)
from simulations.studies.mcbnc_aaai26.evidence import (
    Evidence,
    Found,
    Rule,
    groups_by_network,
    table_2,
    value_at,
)
from simulations.studies.mcbnc_aaai26.selection import Cell, groups, mean, of_part
from simulations.studies.mcbnc_aaai26.statistics import TOLERANCE, Comparison, win_tie_loss


def first_in_smhd(at: Evidence, rule: Rule) -> Found:
    found = table_2(at.cells, at.reading, "smhd_gold")
    first = next(iter(found.mean_ranks))
    others = [p for p in found.holm.values() if p is not None]
    held = first == "consensus" and max(others) < rule["level"]
    return held, f"first: {first}; {_ranks(found)}"


def alike_in_bdeu(at: Evidence, rule: Rule) -> Found:
    found = table_2(at.cells, at.reading, "bdeu")
    first = next(iter(found.mean_ranks))
    if first == "union":
        return False, _ranks(found)
    other = "inputs" if first == "consensus" else "consensus"
    p, union = found.holm[other], found.holm["union"]
    assert p is not None
    assert union is not None
    return p >= rule["level"] > union, f"first: {first}; {_ranks(found)}"


def _ranks(found: Comparison) -> str:
    ranks = " / ".join(f"{name} {rank:.2f}" for name, rank in found.mean_ranks.items())
    p = ", ".join(f"{name} {p:.2g}" for name, p in found.holm.items() if p is not None)
    return f"ranks {ranks}; Holm p {p}; {found.cases} cases"


def wins_and_losses(at: Evidence, rule: Rule) -> Found:
    """The paper's differences are scaled to the number of cells that there are."""
    held, texts = True, []
    for name, printed in rule["differences"].items():
        theirs = [
            c.of("inputs", "smhd_gold") if name == "inputs" else c.union("smhd_gold")
            for c in at.cells
        ]
        won, tied, lost = win_tie_loss([at.smhd(cell) for cell in at.cells], theirs)
        scale = len(at.cells) / rule["cases"]
        held = held and abs(won - lost - printed * scale) <= rule["tolerance"] * scale
        texts.append(f"{name} {won} / {tied} / {lost}")
    return held, "; ".join(texts)


def worse_than_empty(at: Evidence, rule: Rule) -> Found:
    worse = [c.union("smhd_gold") > c.of("empty", "smhd_gold") for c in at.main()]
    return mean(worse) >= rule["share"], f"{sum(worse)} of {len(worse)} cells"


def orders_nearer(at: Evidence, rule: Rule) -> Found:
    times = {
        name: max(c.union("smhd_gold") / max(at.smhd(c), 1.0) for c in at.of(name))
        for name in rule["networks"]
        if at.of(name)
    }
    if not times:
        return None, ""
    text = ", ".join(f"{name} {value:.0f} times" for name, value in times.items())
    return max(times.values()) >= rule["times"], text


def nearer_than_inputs(at: Evidence, rule: Rule) -> Found:
    theirs = [cell.of("inputs", "smhd_gold") for cell in at.main()]
    won, tied, lost = win_tie_loss([at.smhd(cell) for cell in at.main()], theirs)
    return won / len(theirs) > rule["share"], f"nearer {won}, equal {tied}, farther {lost}"


def falls_to_emptiness(at: Evidence, rule: Rule) -> Found:
    found = at.of(rule["network"])
    if not found:
        return None, ""
    held, texts = True, []
    for cell in found:
        distances = [value for _, value in cell.curve(at.reading, "smhd_gold")]
        edges = [value for _, value in cell.curve(at.reading, "edges")]
        rho = float(spearmanr(range(len(distances)), distances).statistic)
        kept = edges[int(np.argmin(distances))] / cell.of("gold", "edges")
        held = held and rho <= rule["spearman"] and kept <= rule["edges"]
        texts.append(f"r = {cell.r}: Spearman {rho:.2f}, minimum at {100 * kept:.0f} % of edges")
    return held, "; ".join(texts)


def stable(at: Evidence, rule: Rule) -> Found:
    """The widest share of θ in [0, 1] near the least SMHD; a network needs it at every r."""
    some = [cell for cell in at.main() if cell.r >= rule["r"]]
    wide = groups_by_network(some, lambda cell: _near_width(cell, at.reading, rule["factor"]))
    if not wide:
        return None, ""
    good = sum(min(widths) >= rule["width"] for widths in wide.values())
    worse = [value_at(cell.curve(at.reading, "smhd_gold"), 1.0) > at.smhd(cell) for cell in some]
    held = good >= rule["networks"] / rule["of"] * len(wide) and all(worse)
    return held, (
        f"broad on {good} of {len(wide)} networks; worse at θ = 1 in {sum(worse)} of {len(worse)}"
    )


def _near_width(cell: Cell, reading: str, factor: float) -> float:
    curve = cell.curve(reading, "smhd_gold")
    minimum = min(value for _, value in curve)
    grid = np.linspace(0.0, 1.0, 201)
    return mean([value_at(curve, theta) <= factor * minimum + 1 for theta in grid])


def regret(at: Evidence, rule: Rule) -> Found:
    lost = {(c.network, c.r): at.smhd(c) - c.best_in_hindsight(at.reading) for c in at.main()}
    none = sum(value <= TOLERANCE for value in lost.values())
    worst = max(lost, key=lambda key: lost[key])
    return none / len(lost) >= rule["share"], (
        f"none in {none} of {len(lost)}, mean {mean(list(lost.values())):.1f}, maximum "
        f"{lost[worst]:.1f} ({worst[0]}, r = {worst[1]})"
    )


def monotone(at: Evidence, rule: Rule) -> Found:
    fallen = sum(row["fallen"] for cell in at.cells for row in cell.repetitions)
    steps = sum(row["deletions"] for cell in at.cells for row in cell.repetitions)
    return fallen / steps <= rule[
        "share"
    ], f"{fallen:,} of {steps:,} deletions are below one before"


def genetic(at: Evidence, rule: Rule) -> Found:
    times = []
    for some in groups(of_part(at.rows, "runtime"), "network", "r").values():
        took = {row["method"]: row["seconds"] for row in some}
        if "mcbnc" in took and len(took) > 1:
            rest = min(seconds for method, seconds in took.items() if method != "mcbnc")
            times.append(rest / max(took["mcbnc"], 1e-4))
    if not times:
        return None, ""
    return min(times) >= rule["times"], f"{min(times):,.0f} to {max(times):,.0f} times faster"


CHECKS: Mapping[str, Callable[[Evidence, Rule], Found]] = {
    "T2-smhd": first_in_smhd,
    "T2-bdeu": alike_in_bdeu,
    "T2-wtl": wins_and_losses,
    "F1-worse-than-empty": worse_than_empty,
    "F1-orders": orders_nearer,
    "F1-inputs": nearer_than_inputs,
    "F1-pathfinder": falls_to_emptiness,
    "F1-stable": stable,
    "F2-comparable": comparable_bdeu,
    "F2-gold-lower": truth_below_inputs,
    "F2-pathfinder": above_truth,
    "F3-flat": flat_width,
    "F3-sparser": never_denser,
    "F3-win95pts": win95pts,
    "F4": genetic,
    "C2-min": regret,
    "C3": as_many_edges,
    "C4": early_time,
    "C11-C13": nothing_changes,
    "L1": monotone,
}
"""Claims on the grid, by their name in expected.json; the others are in `targets.py`."""
