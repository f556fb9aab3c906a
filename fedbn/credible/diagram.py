"""A layered decision diagram of all near-optimal DAGs of one component.

Layer k holds the states after k vertices are placed, always the smallest label that is available,
so that each DAG is exactly one path. States from which the same things can follow are merged:
those with equal placed sets and equal families left to the unplaced vertices. A state is dropped
when its least cost so far plus a bound on the rest exceeds the budget; a sweep back then gives
exact completion costs and deletes every arc that leads nowhere. Listing meets no dead end, and
counting needs no listing. This replaces the depth-first search of Liao et al. (2019), section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from fedbn.arrays import Floats, Ints, Ints32
from fedbn.credible.limits import Limits
from fedbn.credible.profiles import (
    END,
    Layer,
    Profile,
    Profiles,
    Slack,
    group_starts,
    profiles_above,
    profiles_below,
)
from fedbn.search.families.families import Families

__all__ = ["BLUR", "Barred", "Diagram", "PathListing"]

BLUR = 1e-9

NO_FAMILY: Ints32 = np.zeros(0, dtype=np.int32)


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
    families : of the component; DAGs are paths of family indices, one per vertex.
    opt : least cost of a DAG, exact.
    budget : largest excess over `opt`, tolerance included.
    layers : arcs.
    slack : costs of families and of states.
    profile : the number of DAGs per excess over the optimum.
    memory : bytes for the profiles of all states, which averages and draws need.
    """

    whole: ClassVar[bool] = True

    families: Families
    opt: float
    budget: float
    layers: tuple[Layer, ...]
    slack: Slack
    profile: Profile
    memory: int

    @property
    def n_states(self) -> int:
        """Number of states of all layers."""
        return sum(r.size for r in self.slack.rest)

    @property
    def n_arcs(self) -> int:
        """Number of arcs of all layers."""
        return sum(layer.source.size for layer in self.layers)

    @property
    def shift(self) -> float:
        """The optimum in units of `excess`: path costs less this are excesses."""
        return float(self.slack.rest[0][0])

    @cached_property
    def up(self) -> list[Profiles]:
        """Profiles from the top to each state, per layer."""
        limits, found = Limits(self.memory), [END]
        for depth in range(len(self.layers)):
            found.append(profiles_above(self.layers, depth, found[-1], self.slack, limits))
        return found

    @cached_property
    def down(self) -> list[Profiles]:
        """Profiles from each state to the end, per layer."""
        limits, found = Limits(self.memory), [END]
        for depth in reversed(range(len(self.layers))):
            found.append(profiles_below(self.layers, depth, found[-1], self.slack, limits))
        return found[::-1]

    def family_weights(self, budget: float, other_value: Floats, other_weight: Floats) -> Floats:
        """[F] Σ of exp(-excess) times the others' weight over the DAGs with each family.

        Parameters
        ----------
        budget : for this component and the others together.
        other_value, other_weight : cumulative weight of the other components' excesses: the
            weight of all that is at most other_value[k].

        Raises
        ------
        DiagramLimit : the profiles of all states need more than `memory`.
        """
        from fedbn.credible._profile_kernels import family_weights

        weights = np.zeros(self.families.size)
        share = np.full(1, -self.shift)
        for depth, layer in enumerate(self.layers):
            starts, value, count = self.up[depth]
            family_weights(
                layer.source, layer.family, layer.target, self.slack.excess, budget, starts,
                value + share, count, *self.down[depth + 1], other_value, other_weight, weights,
            )  # fmt: skip
        return weights

    def draw(self, excess: float, rng: np.random.Generator) -> Ints32:
        """The families by node of one of the DAGs with this excess (to 1e-9), each as likely."""
        left = excess + self.shift
        state, chosen = 0, np.empty(self.families.n, dtype=np.int32)
        for depth, layer in enumerate(self.layers):
            starts, value, count = self.down[depth + 1]
            arcs = np.arange(*np.searchsorted(layer.source, [state, state + 1]))
            ways = np.zeros(len(arcs))
            for k, arc in enumerate(arcs):
                target = layer.target[arc]
                inside = slice(starts[target], starts[target + 1])
                rest = left - self.slack.excess[layer.family[arc]]
                first, last = np.searchsorted(value[inside], [rest - BLUR, rest + BLUR])
                ways[k] = count[inside][first:last].sum()
            arc = arcs[np.searchsorted(np.cumsum(ways), rng.random() * ways.sum(), side="right")]
            family = int(layer.family[arc])
            chosen[self.families.node[family]] = family
            left -= self.slack.excess[family]
            state = int(layer.target[arc])
        return chosen

    def listing(
        self, budget: float, chunk: int = 200_000, *, barred: Barred | None = None
    ) -> PathListing:
        """The DAGs with excess at most `budget`, in pieces of at most `chunk`, not sorted.

        With `barred`, only DAGs without such a pair of families.
        """
        return PathListing(self, budget, chunk, barred)


class PathListing:
    """An iterator over (families [K, m] by node, excess [K])."""

    def __init__(self, diagram: Diagram, budget: float, chunk: int, barred: Barred | None) -> None:
        self._diagram = diagram
        if barred is None:
            barred = Barred(np.zeros(diagram.families.size + 1, dtype=np.int64), NO_FAMILY)
        self._barred = barred
        self._limit = budget + diagram.shift
        self._chunk = chunk
        layers = diagram.layers
        self._offset = np.concatenate(
            ([0], np.cumsum([rest.size for rest in diagram.slack.rest]))
        ).astype(np.int64)
        starts = [np.zeros(1, dtype=np.int64)]
        done = 0
        for layer, rest in zip(layers, diagram.slack.rest[:-1], strict=True):
            starts.append(done + group_starts(layer.source, rest.size)[1:])
            done += layer.source.size
        self._starts = np.concatenate(starts)
        self._family = np.concatenate([NO_FAMILY, *(layer.family for layer in layers)])
        self._target = np.concatenate([NO_FAMILY, *(layer.target for layer in layers)])
        self._rest = np.concatenate(diagram.slack.rest)
        m = len(layers)
        self._at = np.zeros(m + 1, dtype=np.int64)
        self._spent = np.zeros(m + 1)
        self._where = np.zeros(m + 1, dtype=np.int64)
        self._progress = np.zeros(1, dtype=np.int64)
        self._taken = np.zeros(m, dtype=np.int32)

    def __iter__(self) -> PathListing:
        return self

    def __next__(self) -> tuple[Ints32, Floats]:
        from fedbn.credible._path_kernels import list_paths

        diagram = self._diagram
        chosen = np.empty((self._chunk, len(diagram.layers)), dtype=np.int32)
        excess = np.empty(self._chunk)
        found = list_paths(
            self._offset, self._starts, self._family, self._target, diagram.slack.excess,
            self._rest, self._limit, self._at, self._spent, self._where, self._progress,
            diagram.families.node, self._taken, *self._barred, chosen, excess,
        )  # fmt: skip
        if found == 0:
            raise StopIteration
        chosen = chosen[:found]
        order = np.argsort(diagram.families.node[chosen], axis=1)
        return (
            np.take_along_axis(chosen, order, axis=1),
            np.maximum(excess[:found] - diagram.shift, 0.0),
        )
