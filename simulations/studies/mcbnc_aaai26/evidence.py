"""What claims are judged on: the cells, the rows, a reading, and Table 2 of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulations.studies.mcbnc_aaai26.selection import Cell, Curve, main_networks, networks_of
from simulations.studies.mcbnc_aaai26.statistics import TOLERANCE, Comparison, compare
from simulations.study_cases import Row

Rule = Mapping[str, Any]
Found = tuple[bool | None, str]


@dataclass(frozen=True)
class Evidence:
    """The complete cells and all rows, and the reading that is judged."""

    cells: Sequence[Cell]
    rows: Sequence[Row]
    reading: str

    def main(self) -> list[Cell]:
        """Cells of the networks of the paper's main figures."""
        names = main_networks(networks_of(self.cells))
        return [cell for cell in self.cells if cell.network in names]

    def of(self, *networks: str) -> list[Cell]:
        """Cells of these networks."""
        return [cell for cell in self.cells if cell.network in networks]

    def smhd(self, cell: Cell) -> float:
        """SMHD of the chosen consensus to the truth."""
        return cell.at_choice(self.reading, "smhd_gold")


def table_2(
    cells: Sequence[Cell], reading: str, key: str, rivals: Sequence[str] = ()
) -> Comparison:
    """Ranks and p-values of the consensus, the inputs' mean, G+, and rivals; "bdeu" is negated."""
    sign = -1.0 if key == "bdeu" else 1.0
    values = {
        "consensus": [sign * cell.at_choice(reading, key) for cell in cells],
        "inputs": [sign * cell.of("inputs", key) for cell in cells],
        "union": [sign * cell.union(key) for cell in cells],
    }
    return compare(values | {name: [sign * c.of(name, key) for c in cells] for name in rivals})


def value_at(curve: Curve, theta: float) -> float:
    return [value for at, value in curve if at is None or at <= theta + TOLERANCE][-1]


def groups_by_network(
    cells: Sequence[Cell], value: Callable[[Cell], float]
) -> dict[str, list[float]]:
    """network -> the values of its cells."""
    found: dict[str, list[float]] = {}
    for cell in cells:
        found.setdefault(cell.network, []).append(value(cell))
    return found
