"""A layered decision diagram of all near-optimal DAGs of one component.

Layer k holds the states after k vertices are placed, always the smallest label that is available,
so that each DAG is exactly one path. States from which the same things can follow are merged:
those with equal placed sets and equal families left to the unplaced vertices. A state is dropped
when its least cost so far plus a bound on the rest exceeds the budget; a sweep back then gives
exact completion costs and deletes every arc that leads nowhere. Listing meets no dead end, and
counting needs no listing. This replaces the depth-first search of Liao et al. (2019), section 4.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbn.errors import SearchError
from fedbn.search.optimal.cluster_lp import ClusterBound
from fedbn.search.optimal.families import Families
from fedbn.search.optimal.parent_sets import TOLERANCE
from fedbn.search.optimal.subset_dp import free_memory

__all__ = ["Diagram", "DiagramLimit", "Profile", "build_diagram"]

TOGETHER = 2e-11  # excesses this close count as one; rounding inside a class is below 4e-12

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Small = NDArray[np.int32]


class DiagramLimit(SearchError):  # noqa: N818
    """The diagram needs more memory or time than it was given."""


@dataclass(frozen=True)
class Layer:
    """Arcs from one layer of states to the next, sorted by source."""

    source: Small
    family: Small
    target: Small


@dataclass(frozen=True)
class Profile:
    """How many DAGs have each excess over the optimum.

    value [K] ascending, count [K] Python integers.
    """

    value: Floats
    count: tuple[int, ...]

    def within(self, budget: float) -> int:
        """The number of DAGs whose excess is at most `budget`."""
        last = int(np.searchsorted(self.value, budget, side="right"))
        return sum(self.count[:last])


@dataclass(frozen=True, eq=False)
class Diagram:
    """All DAGs of a component within `budget` of its optimum.

    Parameters
    ----------
    families : of the component; DAGs are paths of family indices, one per vertex.
    opt : least cost of a DAG, exact.
    budget : largest excess over `opt`, tolerance included.
    excess : [F] costs of the families, less the least cost of the node's families.
    base : sum of these least costs.
    layers : arcs; reach and rest: least excess-cost from the top and to the end, per layer.
    """

    families: Families
    opt: float
    budget: float
    excess: Floats
    layers: tuple[Layer, ...]
    reach: tuple[Floats, ...]
    rest: tuple[Floats, ...]

    @property
    def n_states(self) -> int:
        """Number of states of all layers."""
        return sum(r.size for r in self.rest)

    @property
    def n_arcs(self) -> int:
        """Number of arcs of all layers."""
        return sum(layer.source.size for layer in self.layers)

    @property
    def shift(self) -> float:
        """The optimum in units of `excess`: path costs less this are excesses."""
        return float(self.rest[0][0])

    @cached_property
    def paths(self) -> float:
        """The number of paths, budget or not, as a float: bounds every count in it."""
        below: Floats = np.ones(1)
        for layer, rest in zip(self.layers[::-1], self.rest[-2::-1], strict=True):
            ways = np.bincount(layer.source, weights=below[layer.target], minlength=rest.size)
            below = ways.astype(np.float64)
        return float(below[0])

    @cached_property
    def down(self) -> list[tuple[Ints, Floats, Ints]]:
        """Profiles from each state to the end, per layer: (starts, values, counts)."""
        from fedbn.credible._diagram_kernels import profiles

        self._require_countable()
        below = (np.array([0, 1]), np.zeros(1), np.ones(1, dtype=np.int64))
        found = [below]
        limit = self.budget + self.shift
        for depth in range(len(self.layers) - 1, -1, -1):
            layer = self.layers[depth]
            states = self.rest[depth].size
            below = profiles(
                states, _starts(layer.source, states), layer.family, layer.target, self.excess,
                limit - self.reach[depth], *below, TOGETHER,
            )  # fmt: skip
            found.append(below)
        return found[::-1]

    @cached_property
    def up(self) -> list[tuple[Ints, Floats, Ints]]:
        """Profiles from the top to each state, per layer."""
        from fedbn.credible._diagram_kernels import profiles

        self._require_countable()
        above = (np.array([0, 1]), np.zeros(1), np.ones(1, dtype=np.int64))
        found = [above]
        limit = self.budget + self.shift
        for depth, layer in enumerate(self.layers):
            states = self.rest[depth + 1].size
            order = np.argsort(layer.target, kind="stable")
            above = profiles(
                states, _starts(layer.target[order], states), layer.family[order],
                layer.source[order], self.excess, limit - self.rest[depth + 1], *above, TOGETHER,
            )  # fmt: skip
            found.append(above)
        return found

    @cached_property
    def profile(self) -> Profile:
        """The number of DAGs per excess over the optimum."""
        _, value, count = self.down[0]
        return Profile(np.maximum(value - self.shift, 0.0), tuple(int(c) for c in count))

    def family_weights(self, budget: float, other_value: Floats, other_weight: Floats) -> Floats:
        """[F] Σ of exp(-excess) times the others' weight over the DAGs with each family.

        Parameters
        ----------
        budget : for this component and the others together.
        other_value, other_weight : cumulative weight of the other components' excesses: the
            weight of all that is at most other_value[k].
        """
        from fedbn.credible._diagram_kernels import family_weights

        weights = np.zeros(self.families.size)
        share = np.full(1, -self.shift)
        for depth, layer in enumerate(self.layers):
            starts, value, count = self.up[depth]
            family_weights(
                layer.source, layer.family, layer.target, self.excess, budget, starts,
                value + share, count, *self.down[depth + 1], other_value, other_weight, weights,
            )  # fmt: skip
        return weights

    def listing(self, budget: float, chunk: int = 200_000) -> PathListing:
        """The DAGs with excess at most `budget`, in pieces of at most `chunk`, not sorted."""
        return PathListing(self, budget, chunk)

    def _require_countable(self) -> None:
        if self.paths >= 2.0**62:
            raise DiagramLimit(
                f"a component of {self.families.n} variables has about {self.paths:.2g} paths, "
                "more than 2^62; lower the Bayes factor"
            )


class PathListing:
    """An iterator over (families [K, m] by node, excess [K])."""

    def __init__(self, diagram: Diagram, budget: float, chunk: int) -> None:
        self._diagram = diagram
        self._limit = budget + diagram.shift
        self._chunk = chunk
        layers = diagram.layers
        self._offset = np.concatenate(
            ([0], np.cumsum([rest.size for rest in diagram.rest]))
        ).astype(np.int64)
        starts = [np.zeros(1, dtype=np.int64)]
        done = 0
        for layer, rest in zip(layers, diagram.rest[:-1], strict=True):
            starts.append(done + _starts(layer.source, rest.size)[1:])
            done += layer.source.size
        self._starts = np.concatenate(starts)
        empty = np.zeros(0, dtype=np.int32)
        self._family = np.concatenate([empty, *(layer.family for layer in layers)])
        self._target = np.concatenate([empty, *(layer.target for layer in layers)])
        self._rest = np.concatenate(diagram.rest)
        m = len(layers)
        self._at = np.zeros(m + 1, dtype=np.int64)
        self._spent = np.zeros(m + 1)
        self._where = np.zeros(m + 1, dtype=np.int64)
        self._progress = np.zeros(1, dtype=np.int64)

    def __iter__(self) -> PathListing:
        return self

    def __next__(self) -> tuple[Small, Floats]:
        from fedbn.credible._diagram_kernels import list_paths

        diagram = self._diagram
        chosen = np.empty((self._chunk, len(diagram.layers)), dtype=np.int32)
        excess = np.empty(self._chunk)
        found = list_paths(
            self._offset, self._starts, self._family, self._target, diagram.excess, self._rest,
            self._limit, self._at, self._spent, self._where, self._progress, chosen, excess,
        )  # fmt: skip
        if found == 0:
            raise StopIteration
        chosen = chosen[:found]
        order = np.argsort(diagram.families.node[chosen], axis=1)
        return (
            np.take_along_axis(chosen, order, axis=1),
            np.maximum(excess[:found] - diagram.shift, 0.0),
        )


def build_diagram(
    families: Families,
    opt: float,
    epsilon: float,
    *,
    rest: Floats | None = None,
    bound: ClusterBound | None = None,
    memory: int | None = None,
    deadline: float | None = None,
) -> Diagram:
    """The diagram of all DAGs of the families that cost at most the optimum + epsilon.

    Parameters
    ----------
    families : of one component.
    opt : cost of some DAG, at least the optimum; the diagram finds the exact optimum.
    rest : [2^m] least completion cost per placed set, if known (see `subset_tables`);
    bound : otherwise a cluster bound on these families.
    memory : bytes for states and arcs together; by default half of what is free.
    deadline : value of time.monotonic() to stop at.

    Raises
    ------
    DiagramLimit : memory or time ended before the diagram was whole.
    """
    return _Builder(families, opt + epsilon + TOLERANCE, rest, bound, memory, deadline).build(
        epsilon
    )


class _Builder:
    """Layers from the top, pruned by a bound; then the sweep back."""

    def __init__(
        self,
        families: Families,
        limit: float,
        rest: Floats | None,
        bound: ClusterBound | None,
        memory: int | None,
        deadline: float | None,
    ) -> None:
        self.families = families
        self.memory = free_memory() // 2 if memory is None else memory
        self.deadline = deadline
        lowest = families.cost[families.start[:-1]]
        self.base = float(lowest.sum())
        self.excess = families.cost - np.repeat(lowest, np.diff(families.start))
        self.limit = limit - self.base
        self.words = families.bits.shape[1]
        self.bound = _bound_arrays(families, lowest, rest, bound)

    def build(self, epsilon: float) -> Diagram:
        layers, reach = self._down()
        rest = [np.zeros(1)]
        from fedbn.credible._diagram_kernels import completion

        for depth in range(len(layers) - 1, -1, -1):
            layer = layers[depth]
            rest.append(
                completion(
                    reach[depth].size,
                    layer.source,
                    layer.family,
                    layer.target,
                    self.excess,
                    rest[-1],
                )
            )
        rest = rest[::-1]
        least = float(rest[0][0])
        if not np.isfinite(least):
            raise SearchError("the candidate parent sets admit no acyclic graph within the limit")
        budget = epsilon + TOLERANCE
        return _trimmed(self.families, self.base + least, budget, self.excess, layers, reach, rest)

    def _down(self) -> tuple[list[Layer], list[Floats]]:
        from fedbn.credible._diagram_kernels import expand

        families = self.families
        f_words = max(1, (families.size + 63) // 64)
        keys = np.zeros((1, self.words + f_words), dtype=np.uint64)
        alive = np.zeros(f_words * 64, dtype=np.uint8)
        alive[: families.size] = 1
        keys[0, self.words :] = np.packbits(alive, bitorder="little").view("<u8")
        reach: list[Floats] = [np.zeros(1)]
        layers: list[Layer] = []
        used = 0
        for _ in range(families.n):
            if self.deadline is not None and time.monotonic() > self.deadline:
                raise DiagramLimit("the time limit ended before all credible graphs were found")
            most = max(0, self.memory - used) // (8 * keys.shape[1] + 60)
            keys, new, ahead, source, family, target, whole = expand(
                keys, reach[-1], families.start, self.excess, families.bits, self.bound,
                self.limit, most,
            )  # fmt: skip
            if not whole:
                raise DiagramLimit(
                    f"the credible graphs need more than {self.memory >> 20} MiB: a layer has over "
                    f"{most} states after {len(layers)} of {families.n} variables"
                )
            at_least = reach[-1][source] + self.excess[family] + ahead[target]
            keep = at_least <= self.limit
            used_states = np.zeros(len(keys), dtype=np.bool_)
            used_states[target[keep]] = True
            number = np.cumsum(used_states) - 1
            layers.append(Layer(source[keep], family[keep], number[target[keep]].astype(np.int32)))
            keys, new = keys[used_states], new[used_states]
            reach.append(new)
            used += 12 * int(keep.sum()) + 24 * len(keys)
        return layers, reach


def _trimmed(
    families: Families,
    opt: float,
    budget: float,
    excess: Floats,
    layers: list[Layer],
    reach: list[Floats],
    rest: list[Floats],
) -> Diagram:
    """Delete arcs and states through which no DAG is within the budget."""
    limit = rest[0][0] + budget
    kept_layers, kept_reach, kept_rest = [], [reach[0]], [rest[0]]
    number = np.zeros(1, dtype=np.int64)
    for depth, layer in enumerate(layers):
        through = reach[depth][layer.source] + excess[layer.family] + rest[depth + 1][layer.target]
        keep = through <= limit
        source = number[layer.source[keep]]
        target = layer.target[keep]
        used = np.zeros(rest[depth + 1].size, dtype=np.bool_)
        used[target] = True
        number = np.cumsum(used) - 1
        order = np.argsort(source, kind="stable")
        kept_layers.append(
            Layer(
                source[order].astype(np.int32),
                layer.family[keep][order],
                number[target][order].astype(np.int32),
            )
        )
        kept_reach.append(reach[depth + 1][used])
        kept_rest.append(rest[depth + 1][used])
    return Diagram(
        families, opt, budget, excess, tuple(kept_layers), tuple(kept_reach), tuple(kept_rest)
    )


def _bound_arrays(
    families: Families, lowest: Floats, rest: Floats | None, bound: ClusterBound | None
) -> Any:
    """The arrays that the kernel reads; without either bound, no cluster binds."""
    from fedbn.credible._diagram_kernels import Bound
    from fedbn.search.optimal._cluster_kernels import coverage

    none, words = np.zeros(0), families.bits.shape[1]
    if bound is None:
        lowest_of = np.repeat(lowest, np.diff(families.start))
        bound = ClusterBound(
            0.0, lowest, families.cost - lowest_of, np.zeros((0, words), dtype=np.uint64), none
        )
    covered = np.zeros((families.size, len(bound.duals)), dtype=np.bool_)
    for c, cluster in enumerate(bound.clusters):
        covered[:, c] = coverage(families.node, families.bits, cluster)
    starts = np.concatenate(([0], np.cumsum(covered.sum(axis=1)))).astype(np.int64)
    return Bound(
        lowest, none if rest is None else rest, bound.least, bound.reduced, bound.clusters,
        bound.duals, starts, np.nonzero(covered)[1].astype(np.int32),
    )  # fmt: skip


def _starts(group: Small, groups: int) -> Ints:
    """Where each group begins in a sorted array of group numbers; [groups + 1]."""
    return np.searchsorted(group, np.arange(groups + 1)).astype(np.int64)
