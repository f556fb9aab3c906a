"""A layered decision diagram of all near-optimal DAGs of one component.

Layer k holds the states after k vertices are placed, always the smallest label that is available,
so that each DAG is exactly one path. States from which the same things can follow are merged:
those with equal placed sets and equal families left to the unplaced vertices. A state is dropped
when its least cost so far plus a bound on the rest exceeds the budget; a sweep back then gives
exact completion costs and deletes every arc that leads nowhere. Listing meets no dead end, and
counting needs no listing. This replaces the depth-first search of Liao et al. (2019), section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbn.credible.limits import DiagramLimit, Limits
from fedbn.errors import SearchError
from fedbn.search.families.cluster_lp import ClusterBound
from fedbn.search.families.families import Families
from fedbn.search.families.parent_sets import TOLERANCE

__all__ = ["Barred", "Diagram", "Problem", "Profile", "build_diagram"]

BLUR = 1e-9
TOGETHER = 2e-11  # excesses this close count as one; rounding inside a class is below 4e-12

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Small = NDArray[np.int32]
Profiles = tuple[Ints, Floats, Ints]
END: Profiles = (np.array([0, 1]), np.zeros(1), np.ones(1, dtype=np.int64))
NO_FAMILY: Small = np.zeros(0, dtype=np.int32)


class Barred(NamedTuple):
    """Families that must not go with each family f: family[start[f] : start[f + 1]].

    Their nodes are parents in f.
    """

    start: Ints
    family: Small


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
    layers : arcs; reach and rest: least excess-cost from the top and to the end, per layer.
    down : profiles from each state to the end, per layer: (starts, values, counts).
    """

    whole: ClassVar[bool] = True

    families: Families
    opt: float
    budget: float
    excess: Floats
    layers: tuple[Layer, ...]
    reach: tuple[Floats, ...]
    rest: tuple[Floats, ...]
    down: Sequence[Profiles]

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
    def up(self) -> list[Profiles]:
        """Profiles from the top to each state, per layer."""
        from fedbn.credible._profile_kernels import profiles

        above = END
        found = [above]
        limit = self.budget + self.shift
        for depth, layer in enumerate(self.layers):
            states = self.rest[depth + 1].size
            order = np.argsort(layer.target, kind="stable")
            starts, value, count, _ = profiles(
                states, _starts(layer.target[order], states), layer.family[order],
                layer.source[order], self.excess, limit - self.rest[depth + 1], *above, TOGETHER,
                np.iinfo(np.int64).max, np.zeros(1, dtype=np.uint8),
            )  # fmt: skip
            above = (starts, value, count)
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
        from fedbn.credible._profile_kernels import family_weights

        weights = np.zeros(self.families.size)
        share = np.full(1, -self.shift)
        for depth, layer in enumerate(self.layers):
            starts, value, count = self.up[depth]
            family_weights(
                layer.source, layer.family, layer.target, self.excess, budget, starts,
                value + share, count, *self.down[depth + 1], other_value, other_weight, weights,
            )  # fmt: skip
        return weights

    def draw(self, excess: float, rng: np.random.Generator) -> Small:
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
                rest = left - self.excess[layer.family[arc]]
                first, last = np.searchsorted(value[inside], [rest - BLUR, rest + BLUR])
                ways[k] = count[inside][first:last].sum()
            arc = arcs[np.searchsorted(np.cumsum(ways), rng.random() * ways.sum(), side="right")]
            family = int(layer.family[arc])
            chosen[self.families.node[family]] = family
            left -= self.excess[family]
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
            ([0], np.cumsum([rest.size for rest in diagram.rest]))
        ).astype(np.int64)
        starts = [np.zeros(1, dtype=np.int64)]
        done = 0
        for layer, rest in zip(layers, diagram.rest[:-1], strict=True):
            starts.append(done + _starts(layer.source, rest.size)[1:])
            done += layer.source.size
        self._starts = np.concatenate(starts)
        self._family = np.concatenate([NO_FAMILY, *(layer.family for layer in layers)])
        self._target = np.concatenate([NO_FAMILY, *(layer.target for layer in layers)])
        self._rest = np.concatenate(diagram.rest)
        m = len(layers)
        self._at = np.zeros(m + 1, dtype=np.int64)
        self._spent = np.zeros(m + 1)
        self._where = np.zeros(m + 1, dtype=np.int64)
        self._progress = np.zeros(1, dtype=np.int64)
        self._taken = np.zeros(m, dtype=np.int32)

    def __iter__(self) -> PathListing:
        return self

    def __next__(self) -> tuple[Small, Floats]:
        from fedbn.credible._path_kernels import list_paths

        diagram = self._diagram
        chosen = np.empty((self._chunk, len(diagram.layers)), dtype=np.int32)
        excess = np.empty(self._chunk)
        found = list_paths(
            self._offset, self._starts, self._family, self._target, diagram.excess, self._rest,
            self._limit, self._at, self._spent, self._where, self._progress,
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


@dataclass(frozen=True, eq=False)
class Problem:
    """The DAGs of one component that cost at most a limit, as the searches see them.

    Parameters
    ----------
    families : of the component.
    limit : largest cost, less the sum of the nodes' least costs, tolerance included.
    excess : [F] costs of the families, less the least cost of the node's families.
    bound : what bounds completions, a `_state_kernels.Bound`.
    """

    families: Families
    limit: float
    excess: Floats
    bound: Any

    @classmethod
    def of(
        cls,
        families: Families,
        opt: float,
        epsilon: float,
        *,
        rest: Floats | None = None,
        bound: ClusterBound | None = None,
    ) -> Problem:
        """The DAGs of at most opt + epsilon.

        Parameters
        ----------
        opt : cost of some DAG, at least the optimum.
        rest : [2^m] least completion cost per placed set, if known (see `subset_tables`);
        bound : otherwise a cluster bound on these families.
        """
        lowest = families.cost[families.start[:-1]]
        limit = opt + epsilon + TOLERANCE - float(lowest.sum())
        excess = families.cost - np.repeat(lowest, np.diff(families.start))
        return cls(families, limit, excess, _bound_arrays(families, lowest, rest, bound))

    @property
    def root(self) -> NDArray[np.uint64]:
        """The state [1, words] where nothing is placed and every family may be taken."""
        families = self.families
        alive = np.zeros(max(1, (families.size + 63) // 64) * 64, dtype=np.uint8)
        alive[: families.size] = 1
        none = np.zeros(families.bits.shape[1], dtype=np.uint64)
        return np.concatenate([none, np.packbits(alive, bitorder="little").view("<u8")])[None, :]


def build_diagram(problem: Problem, epsilon: float, limits: Limits) -> Diagram:
    """The diagram of all DAGs that cost at most the problem's optimum + epsilon.

    Raises
    ------
    DiagramLimit : memory or time ended before the diagram was whole.
    SearchError : no DAG is within the problem's limit.
    """
    from fedbn.credible._profile_kernels import completion

    layers, reach = _layers_down(problem, limits)
    rest = [np.zeros(1)]
    for layer, above in zip(layers[::-1], reach[-2::-1], strict=True):
        below = completion(
            above.size, layer.source, layer.family, layer.target, problem.excess, rest[-1]
        )
        rest.append(below)
    rest = rest[::-1]
    if not np.isfinite(rest[0][0]):
        raise SearchError("the candidate parent sets admit no acyclic graph within the limit")
    return _trimmed(problem, epsilon + TOLERANCE, layers, reach, rest, limits)


def _layers_down(problem: Problem, limits: Limits) -> tuple[list[Layer], list[Floats]]:
    """Layers from the top, pruned by the bound, and the least cost to each state."""
    from fedbn.credible._diagram_kernels import drop_unaffordable, expand

    families = problem.families
    keys = problem.root
    reach: list[Floats] = [np.zeros(1)]
    layers: list[Layer] = []
    used = 0
    for _ in range(families.n):
        limits.require_time()
        most = max(0, limits.memory - used) // (8 * keys.shape[1] + 60)
        keys, new, ahead, source, family, target, fitted = limits.run(
            expand, keys, reach[-1], families.start, problem.excess, families.bits, problem.bound,
            problem.limit, most,
        )  # fmt: skip
        if not fitted:
            limits.require_time()
            raise DiagramLimit(
                f"the credible graphs need more than {limits.memory >> 20} MiB: a layer has over "
                f"{most} states after {len(layers)} of {families.n} variables"
            )
        at_least = reach[-1][source] + problem.excess[family] + ahead[target]
        keep = at_least <= problem.limit
        used_states = np.zeros(len(keys), dtype=np.bool_)
        used_states[target[keep]] = True
        number = np.cumsum(used_states) - 1
        layers.append(Layer(source[keep], family[keep], number[target[keep]].astype(np.int32)))
        keys, new = keys[used_states], new[used_states]
        limits.run(
            drop_unaffordable, keys, new, families.start, families.bits, problem.bound,
            problem.limit,
        )  # fmt: skip
        keys, new, same = _merged(keys, new)
        layers[-1] = replace(layers[-1], target=same[layers[-1].target])
        reach.append(new)
        used += 12 * int(keep.sum()) + 24 * len(keys)
    return layers, reach


def _merged(keys: NDArray[np.uint64], reach: Floats) -> tuple[NDArray[np.uint64], Floats, Small]:
    """The distinct states, the least cost to each, and which of them each state is."""
    distinct, same = np.unique(keys, axis=0, return_inverse=True)
    least = np.full(len(distinct), np.inf)
    np.minimum.at(least, same.ravel(), reach)
    return distinct, least, same.ravel().astype(np.int32)


def _trimmed(
    problem: Problem,
    budget: float,
    layers: list[Layer],
    reach: list[Floats],
    rest: list[Floats],
    limits: Limits,
) -> Diagram:
    """Delete arcs and states through which no DAG is within the budget."""
    limit = rest[0][0] + budget
    kept_layers, kept_reach, kept_rest = [], [reach[0]], [rest[0]]
    number = np.zeros(1, dtype=np.int64)
    for depth, layer in enumerate(layers):
        through = (
            reach[depth][layer.source]
            + problem.excess[layer.family]
            + rest[depth + 1][layer.target]
        )
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
    down = _profiles_down(problem, float(limit), kept_layers, kept_reach, limits)
    lowest = float(problem.families.cost[problem.families.start[:-1]].sum())
    return Diagram(
        problem.families, lowest + float(rest[0][0]), budget, problem.excess, tuple(kept_layers),
        tuple(kept_reach), tuple(kept_rest), down,
    )  # fmt: skip


def _profiles_down(
    problem: Problem,
    limit: float,
    layers: Sequence[Layer],
    reach: Sequence[Floats],
    limits: Limits,
) -> list[Profiles]:
    """Profiles from each state to the end, per layer."""
    from fedbn.credible._profile_kernels import FITTED, UNCOUNTABLE, profiles

    below = END
    found = [below]
    for depth in range(len(layers) - 1, -1, -1):
        layer, states = layers[depth], reach[depth].size
        starts, value, count, outcome = limits.run(
            profiles, states, _starts(layer.source, states), layer.family, layer.target,
            problem.excess, limit - reach[depth], *below, TOGETHER, limits.memory // 32,
        )  # fmt: skip
        if outcome == UNCOUNTABLE:
            raise DiagramLimit(
                f"a component of {len(layers)} variables has more than 2^62 credible graphs of one "
                "score; lower the Bayes factor"
            )
        if outcome != FITTED:
            limits.require_time()
            raise DiagramLimit(f"the counts need more than {limits.memory >> 20} MiB")
        below = (starts, value, count)
        found.append(below)
    return found[::-1]


def _bound_arrays(
    families: Families, lowest: Floats, rest: Floats | None, bound: ClusterBound | None
) -> Any:
    """The arrays that the kernel reads; without either bound, no cluster binds."""
    from fedbn.credible._state_kernels import Bound
    from fedbn.search.families._cluster_kernels import coverage

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
    if rest is not None:
        rest = rest - _lowest_outside(lowest)
    return Bound(
        lowest, none if rest is None else rest, bound.least, bound.reduced, bound.clusters,
        bound.duals, starts, np.nonzero(covered)[1].astype(np.int32),
    )  # fmt: skip


def _lowest_outside(lowest: Floats) -> Floats:
    """[2^m] the sum of `lowest` over the nodes outside each set."""
    inside = np.zeros(1)
    for cost in lowest:
        inside = np.concatenate([inside, inside + cost])
    return np.asarray(inside[-1] - inside)


def _starts(group: Small, groups: int) -> Ints:
    """Where each group begins in a sorted array of group numbers; [groups + 1]."""
    return np.searchsorted(group, np.arange(groups + 1)).astype(np.int64)
