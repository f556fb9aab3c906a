"""Pricing by the difference-of-convex algorithm (section 4), and its parts as objects.

From x⁰: y is a subgradient of f's Lovász extension at x, the next x minimises g - y, until the
objective moves by less than 1e-4. Every superlevel set of every iterate with negative reduced cost
is a column; taking only the last set left gaps five times as large.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fedbn.arrays import Bools, Floats, Ints
from fedbn.search.cg_dca.inner import InnerSolver, Point
from fedbn.search.cg_dca.minimum_norm import MinimumNorm
from fedbn.search.cg_dca.submodular_difference import (
    Model,
    PrefixValues,
    PricingProblem,
    lovasz_extension,
    pricing_model,
)

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore

NEGATIVE = -1e-6
LEVEL = 1e-9


@dataclass(frozen=True)
class Priced:
    """A parent set bool [n] with its reduced cost."""

    parents: Bools
    reduced_cost: float


class Pricing(Protocol):
    """Finds parent sets of negative reduced cost; it may miss some."""

    def model(self, score: TabulatedScore) -> Model:
        """What it reads of a score; raises ConfigError if it does not take this one."""
        ...

    def columns(
        self, problem: PricingProblem, start: Floats, rng: np.random.Generator
    ) -> list[Priced]:
        """Parent sets below `NEGATIVE`, from a start [n] in [0, 1]."""
        ...


class Ties(Protocol):
    """Orders of the variables along which f is linearised; all sort the point downwards."""

    def orders(self, problem: PricingProblem, point: Point, rng: np.random.Generator) -> list[Ints]:
        """One order or several, of which the best is taken."""
        ...


@dataclass(frozen=True)
class ByName:
    """One order: x down, then the inner solver's preference, then names."""

    def orders(self, problem: PricingProblem, point: Point, rng: np.random.Generator) -> list[Ints]:
        """The one order."""
        return [descending(problem.others, point.x, point.preference)]


@dataclass(frozen=True)
class RandomOrder:
    """One order: x down, then at random."""

    def orders(self, problem: PricingProblem, point: Point, rng: np.random.Generator) -> list[Ints]:
        """The one order."""
        return [descending(problem.others, point.x, rng.random(problem.n))]


@dataclass(frozen=True)
class DCAPricing:
    """The paper's pricing.

    Parameters
    ----------
    inner : solves the convex problem of a step.
    ties : which subgradient is taken where several are, of which the paper says nothing. By
        default `ByName` for Gaussian data, `RandomOrder` for categorical: there the penalty lets
        only the first places of an order enter, and by name they would always be the same ones.
    rounds : steps at most.
    tolerance : stop when the objective moves by less.
    """

    inner: InnerSolver = field(default_factory=MinimumNorm)
    ties: Ties | None = None
    rounds: int = 50
    tolerance: float = 1e-4

    def model(self, score: TabulatedScore) -> Model:
        """Of a penalised likelihood."""
        return pricing_model(score)

    def columns(
        self, problem: PricingProblem, start: Floats, rng: np.random.Generator
    ) -> list[Priced]:
        """The superlevel sets of all iterates with reduced cost below `NEGATIVE`."""
        found: dict[bytes, Priced] = {}
        ties = _usual_ties(problem) if self.ties is None else self.ties
        point, z = Point(start, start), np.inf
        for _ in range(self.rounds):
            reached = z
            for order in ties.orders(problem, point, rng):
                y = problem.subgradient(problem.prefixes(order))
                candidate = self.inner.minimise(problem, y, point.x)
                values = _harvest(problem, candidate, found)
                objective = _objective(values, candidate.x)
                if objective < reached:
                    reached, following = objective, candidate
            if not reached < z - self.tolerance:
                break
            point, z = following, reached
        return list(found.values())


def _usual_ties(problem: PricingProblem) -> Ties:
    return ByName() if problem.model.gaussian else RandomOrder()


def descending(others: Ints, x: Floats, preference: Floats) -> Ints:
    """The others by x, then preference, downwards, then by name."""
    order: Ints = others[np.lexsort((-preference[others], -x[others]))]
    return order


def _objective(values: PrefixValues, x: Floats) -> float:
    return lovasz_extension(values.difference, x[values.order[: values.length]])


def _harvest(problem: PricingProblem, point: Point, found: dict[bytes, Priced]) -> PrefixValues:
    """Add the superlevel sets of a point that are worth it; returns the values of its order."""
    order = descending(problem.others, point.x, point.preference)
    values = problem.prefixes(order)
    costs = problem.constant + values.difference
    for k in range(1, values.length + 1):
        if costs[k] < NEGATIVE and (k == order.size or _apart(point, order[k - 1], order[k])):
            parents = np.zeros(problem.n, dtype=np.bool_)
            parents[order[:k]] = True
            found[parents.tobytes()] = Priced(parents, float(costs[k]))
    return values


def _apart(point: Point, a: int, b: int) -> bool:
    """Whether two neighbours of the order are on different levels of the point."""
    return bool(
        point.x[a] > point.x[b] + LEVEL or point.preference[a] > point.preference[b] + LEVEL
    )
