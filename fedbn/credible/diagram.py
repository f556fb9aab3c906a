"""A layered decision diagram of all near-optimal DAGs of one component.

Layer k holds the states after k vertices are placed, always the smallest label that is available,
so that each DAG is exactly one path. States from which the same things can follow are merged:
those with equal placed sets and equal families left to the unplaced vertices. A state is dropped
when its least cost so far plus a bound on the rest exceeds the budget; a sweep back then gives
exact completion costs and deletes every arc that leads nowhere. Listing meets no dead end, and
counting needs no listing. This replaces the depth-first search of Liao et al. (2019), section 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from fedbn._core import credible as core
from fedbn.arrays import Floats, Ints, Ints32
from fedbn.credible.limits import Limits
from fedbn.credible.profiles import Profile
from fedbn.search.families.families import Families


class Barred(NamedTuple):
    """Families that must not go with each family f: family[start[f] : start[f + 1]].

    Their nodes are parents in f.
    """

    start: Ints
    family: Ints32


@dataclass(frozen=True, eq=False)
class Diagram:
    """All DAGs of a component within `budget` of its optimum.

    Parameters
    ----------
    families : of the component.
    opt : least cost of a DAG, exact.
    budget : largest excess over `opt`, tolerance included.
    paths : one per DAG.
    profile : the number of DAGs per excess over the optimum.
    memory : bytes for the counts of ways of all states, which averages and draws need.
    """

    whole: ClassVar[bool] = True

    families: Families
    opt: float
    budget: float
    paths: core.Diagram
    profile: Profile
    memory: int

    @cached_property
    def _from_top(self) -> core.Ways:
        """Ways from the top to each state, by their cost."""
        return Limits(self.memory).run(self.paths.ways_from_top, self.memory)

    @cached_property
    def _to_end(self) -> core.Ways:
        """Ways from each state to the end."""
        return Limits(self.memory).run(self.paths.ways_to_end, self.memory)

    def family_weights(self, budget: float, other_value: Floats, other_weight: Floats) -> Floats:
        """[F] Σ of exp(-excess) times the others' weight over the DAGs with each family.

        Parameters
        ----------
        budget : for this component and the others together.
        other_value, other_weight : cumulative weight of the other components' excesses: the
            weight of all that is at most other_value[k].

        Raises
        ------
        DiagramLimit : the counts of ways of all states need more than `memory`.
        """
        weights: Floats = self.paths.family_weights(
            self._from_top, self._to_end, budget, other_value, other_weight
        )
        return weights

    def draw(self, excess: float, rng: np.random.Generator) -> Ints32:
        """The families by node of one of the DAGs with this excess (to 1e-9), each as likely."""
        chosen: Ints32 = self.paths.draw(self._to_end, excess, rng.random(self.families.n))
        return chosen

    def listing(
        self, budget: float, chunk: int = 200_000, *, barred: Barred | None = None
    ) -> Iterator[tuple[Ints32, Floats]]:
        """The DAGs with excess at most `budget`, in pieces of at most `chunk`, not sorted.

        Each piece has families [K, m] by node, and excesses [K]. With `barred`, only DAGs without
        such a pair of families are listed.
        """
        paths = core.PathListing(self.paths, budget, barred)
        while len((piece := paths.next(chunk))[1]):
            yield piece
