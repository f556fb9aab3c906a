"""How the diagram of a component is built: layers downwards, then what leads nowhere deleted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Floats, Ints32
from fedbn.credible.diagram import Diagram
from fedbn.credible.limits import DiagramLimit, Limits
from fedbn.credible.profiles import Layer, Slack, whole_profile
from fedbn.errors import SearchError
from fedbn.search.families.cluster_lp import ClusterBound
from fedbn.search.families.families import Families
from fedbn.search.families.parent_sets import TOLERANCE

__all__ = ["Problem", "build_diagram"]


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
    return _trim(problem, epsilon + TOLERANCE, layers, reach, rest, limits)


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
        keys, new, same = _merge(keys, new)
        layers[-1] = replace(layers[-1], target=same[layers[-1].target])
        reach.append(new)
        used += 12 * int(keep.sum()) + 24 * len(keys)
    return layers, reach


def _merge(keys: NDArray[np.uint64], reach: Floats) -> tuple[NDArray[np.uint64], Floats, Ints32]:
    """The distinct states, the least cost to each, and which of them each state is."""
    distinct, same = np.unique(keys, axis=0, return_inverse=True)
    least = np.full(len(distinct), np.inf)
    np.minimum.at(least, same.ravel(), reach)
    return distinct, least, same.ravel().astype(np.int32)


def _trim(
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
    slack = Slack(problem.excess, float(limit), tuple(kept_reach), tuple(kept_rest))
    lowest = float(problem.families.cost[problem.families.start[:-1]].sum())
    return Diagram(
        problem.families, lowest + float(rest[0][0]), budget, tuple(kept_layers), slack,
        whole_profile(kept_layers, slack, limits), limits.memory,
    )  # fmt: skip


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
