"""Orders of ties that the paper does not have, for the study of what they bring."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbn._core.cg_dca import greedy_order
from fedbn.arrays import Ints
from fedbn.search.cg_dca.dca_pricing import ByName, RandomOrder, Ties, descending
from fedbn.search.cg_dca.inner import Point
from fedbn.search.cg_dca.submodular_difference import PricingProblem


@dataclass(frozen=True)
class BestOfPermutations:
    """Several orders among ties: by name, and random ones."""

    count: int = 8

    def orders(self, problem: PricingProblem, point: Point, rng: np.random.Generator) -> list[Ints]:
        """By name, and `count` - 1 random ones."""
        rules: list[Ties] = [ByName(), *[RandomOrder()] * (self.count - 1)]
        return [order for rule in rules for order in rule.orders(problem, point, rng)]


@dataclass(frozen=True)
class GreedyOrder:
    """The order that forward selection takes: next the variable that lowers the cost most.

    Not of the paper. A subgradient is exact along its own order only; so the sets that a greedy
    search would try next are those whose costs the linearised problem has right.

    Parameters
    ----------
    places : how many places of the order are chosen so.
    """

    places: int = 12

    def orders(self, problem: PricingProblem, point: Point, rng: np.random.Generator) -> list[Ints]:
        """The one order; ties of the inner solver's preference are broken, too."""
        order = descending(problem.others, point.x, np.zeros(problem.n))
        levels = np.round(point.x[order], 9)
        ends = np.searchsorted(-levels, -levels, side="right").astype(np.int64)
        return [
            greedy_order(problem.model.score, problem.rows, problem.node, order, ends, self.places)
        ]
