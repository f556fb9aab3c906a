"""The DAGs of one component as a list: depth-first search where a diagram does not fit.

The search visits the states of the diagram (see `diagram.py`) one path at a time, with the same
bounds and without merging them, as Liao et al. (2019), section 4. It needs little memory and may
take very long; a search that was stopped has found some of the DAGs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedbn._core import credible as core
from fedbn.arrays import Floats, Ints32
from fedbn.credible.building import Problem
from fedbn.credible.limits import Limits
from fedbn.credible.profiles import Profile
from fedbn.search.families.families import Families
from fedbn.search.families.parent_sets import TOLERANCE

CHUNK = 100_000
STEPS = 20_000_000  # where no time limit is given


@dataclass(frozen=True, eq=False)
class Listed:
    """DAGs of a component, found one by one.

    Parameters
    ----------
    families : of the component.
    opt : least cost among the DAGs.
    budget : largest excess over `opt`.
    rows : int32 [K, m], families by node, by ascending excess.
    ascending : float64 [K], excesses.
    whole : whether these are all DAGs within the budget.
    """

    families: Families
    opt: float
    budget: float
    rows: Ints32
    ascending: Floats
    whole: bool

    @cached_property
    def profile(self) -> Profile:
        """The number of DAGs per excess."""
        first = np.flatnonzero(np.diff(self.ascending, prepend=-1.0) > core.TOGETHER)
        sizes = np.diff(first, append=len(self.ascending))
        return Profile(self.ascending[first], tuple(int(size) for size in sizes))

    def family_weights(self, budget: float, other_value: Floats, other_weight: Floats) -> Floats:
        """As `Diagram.family_weights`."""
        left = np.searchsorted(other_value, budget - self.ascending, side="right") - 1
        shares = np.where(left < 0, 0.0, np.exp(-self.ascending) * other_weight[left])
        weights = np.zeros(self.families.size)
        np.add.at(weights, self.rows, shares[:, None])
        return weights

    def draw(self, excess: float, rng: np.random.Generator) -> Ints32:
        """As `Diagram.draw`."""
        first, last = np.searchsorted(self.ascending, [excess - core.BLUR, excess + core.BLUR])
        row: Ints32 = self.rows[int(rng.integers(first, last))]
        return row

    def listing(
        self, budget: float, chunk: int = 200_000, *, barred: object = None
    ) -> Iterator[tuple[Ints32, Floats]]:
        """As `Diagram.listing`; nothing is barred."""
        last = int(np.searchsorted(self.ascending, budget, side="right"))
        for first in range(0, last, chunk):
            end = min(first + chunk, last)
            yield self.rows[first:end], self.ascending[first:end]


def depth_first(
    problem: Problem, epsilon: float, known: tuple[float, tuple[int, ...]], limits: Limits
) -> Listed:
    """The DAGs of at most the least cost found + epsilon.

    Parameters
    ----------
    problem : families and bound; its limit is the cost of a known DAG + epsilon.
    known : that cost, and its families by node.
    limits : memory for the list; time. Without a time limit, `STEPS` steps.
    """
    families = problem.families
    room = limits.memory // 3 // (4 * families.n + 8)
    pieces, whole = _search(problem, room, limits)
    pieces.append(np.array([known[1]], dtype=np.int32))
    rows = np.unique(np.concatenate(pieces), axis=0)
    cost = families.cost[rows].sum(axis=1)
    opt = float(cost.min())
    order = np.lexsort((*rows.T[::-1], cost))
    order = order[cost[order] <= opt + epsilon + TOLERANCE]
    return Listed(families, opt, epsilon + TOLERANCE, rows[order], cost[order] - opt, whole)


def _search(problem: Problem, room: int, limits: Limits) -> tuple[list[Ints32], bool]:
    """Pieces [K, m] of at most `room` DAGs in all, families by node; and whether it is all."""
    search = core.DepthFirst(problem.compiled)
    most = STEPS if limits.deadline is None else 2**63 - 1
    pieces: list[Ints32] = []
    found = 0
    while not search.done and search.steps < most and found < room and not limits.over:
        pieces.append(limits.run(search.next, min(CHUNK, room - found), most))
        found += len(pieces[-1])
    return pieces, search.done
