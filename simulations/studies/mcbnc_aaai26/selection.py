"""Rows of the study as cells: a network, r, and what was measured there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulations.studies.mcbnc_aaai26.grid import STATE
from simulations.study_cases import Row

Curve = list[tuple[float | None, float]]
"""(θ, value) in ascending order; the state of None, G+, comes first. Each value holds up to the
next θ."""

FIXED = (
    "part", "network", "rows", "seed", "r", "repetition", "k_max", "pooling", "method", "n",
    "hostile", "kind", "clients", "split", "alpha", "sizes", "weights", "learner",
)  # fmt: skip

LEFT_OUT = ("sachs", "pigs")
"""Networks that the paper's main figures leave out: GES returns the truth there."""


def main_networks(networks: Sequence[str]) -> list[str]:
    """The networks of the paper's main figures, of those that are there."""
    return [name for name in networks if name not in LEFT_OUT]


@dataclass(frozen=True)
class Cell:
    """One network and r: the row of the rivals, and one row per repetition.

    A value of a consensus is the mean over the repetitions; `reading` is "search", "refusion" or
    "best".
    """

    network: str
    r: int
    rivals: Row
    repetitions: tuple[Row, ...]

    def of(self, method: str, key: str) -> float:
        """A measure of a rival, of "inputs" (their mean), "gold", "empty" or "polished"."""
        if method == "polished":
            return mean([row["polished"][key] for row in self.repetitions])
        return float(self.rivals["methods"][method][key])

    def at_choice(self, reading: str, key: str) -> float:
        """A measure of the state of least mean SMHD to the inputs."""
        return mean([state[_at(key)] for state in self._state_at_choice(reading)])

    def union(self, key: str) -> float:
        """A measure of G+."""
        return mean([row["search"][0][_at(key)] for row in self.repetitions])

    def theta(self, reading: str) -> float | None:
        """The chosen θ, mean over the repetitions that choose another state than G+."""
        known = [s[0] / self.r for s in self._state_at_choice(reading) if s[0] is not None]
        return mean(known) if known else None

    def best_in_hindsight(self, reading: str, key: str = "smhd_gold") -> float:
        """The least value of any state of the path."""
        return mean([min(state[_at(key)] for state in row[reading]) for row in self.repetitions])

    def curve(self, reading: str, key: str) -> Curve:
        """A measure over θ, the repetitions' step functions averaged."""
        return _average([row[reading] for row in self.repetitions], _at(key), self.r)

    def clock(self) -> Curve:
        """CPU seconds of the search over θ of repetition 0: linear between the search's marks."""
        row = self.repetitions[0]
        done, seconds = zip((0, 0.0), *row["clock"], strict=True)
        deletions = [state[_at("deletions")] for state in row["search"]]
        spent = np.interp(deletions, done, seconds)
        thetas = [None if state[0] is None else state[0] / self.r for state in row["search"]]
        return list(zip(thetas, spent.tolist(), strict=True))

    def _state_at_choice(self, reading: str) -> list[Any]:
        places = [row[f"chosen_{reading}"] for row in self.repetitions]
        return [row[name][k] for row, (name, k) in zip(self.repetitions, places, strict=True)]


def _at(key: str) -> int:
    return STATE.index(key)


def _average(paths: Sequence[Sequence[Any]], column: int, r: int) -> Curve:
    places = sorted({state[0] for path in paths for state in path if state[0] is not None})
    curve: Curve = [(None, mean([path[0][column] for path in paths]))]
    at = [0] * len(paths)
    for place in places:
        for k, path in enumerate(paths):
            while at[k] + 1 < len(path) and path[at[k] + 1][0] <= place:
                at[k] += 1
        values = [path[at[k]][column] for k, path in enumerate(paths)]
        curve.append((place / r, mean(values)))
    return curve


def latest(rows: Sequence[Row]) -> list[Row]:
    """The last row of each case, in the order of the cases' values: files of rows may be put
    together, and processes end in any order."""
    by_case = {tuple(_sortable(row.get(key)) for key in FIXED): row for row in rows}
    return [by_case[case] for case in sorted(by_case)]


def _sortable(value: Any) -> tuple[str, Any]:
    return ("", 0) if value is None else (type(value).__name__, value)


def of_part(rows: Sequence[Row], part: str) -> list[Row]:
    """The rows of one part."""
    return [row for row in rows if row["part"] == part]


def groups(rows: Sequence[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by the values of some keys, in order of appearance."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    return found


def cells_of(rows: Sequence[Row], order: Sequence[str], part: str = "grid") -> list[Cell]:
    """The cells that have their rivals and at least one repetition, networks in this order."""
    rivals = {(row["network"], row["r"]): row for row in of_part(rows, "rivals")}
    found = []
    for (network, r), some in groups(of_part(rows, part), "network", "r").items():
        if (network, r) in rivals and network in order:
            repetitions = tuple(sorted(some, key=lambda row: row["repetition"]))
            found.append(Cell(network, r, rivals[network, r], repetitions))
    return sorted(found, key=lambda cell: (order.index(cell.network), cell.r))


def networks_of(cells: Sequence[Cell]) -> list[str]:
    """The networks of the cells, in their order."""
    return list(dict.fromkeys(cell.network for cell in cells))


def mean(values: Sequence[float]) -> float:
    """The mean of at least one value."""
    return float(np.mean(values))
