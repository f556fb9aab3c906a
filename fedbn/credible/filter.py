"""Which families a credible DAG can have, component by component, with the proven optimum.

μ(f) is the least cost of a DAG that contains family f; a family with μ(f) > OPT + ε is in no
credible DAG. Up to `TABLE_NODES` nodes dynamic programming gives every μ. Beyond, reduced costs of
a relaxation bound it from below: bound + reduced cost > incumbent + ε drops the family. The rest
falls apart into strongly connected components, each of which is treated the same way, until
nothing changes. The paper has no such step; it is what makes large sets possible.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbn.credible.probing import integer_probe, relaxed_probe
from fedbn.search.optimal.cluster_lp import ClusterBound, ClusterLP
from fedbn.search.optimal.components import components
from fedbn.search.optimal.families import Families
from fedbn.search.optimal.ordering import ordering_search
from fedbn.search.optimal.parent_sets import TOLERANCE
from fedbn.search.optimal.subset_dp import free_memory, subset_bytes, subset_tables

__all__ = ["Component", "filtered_components"]

TABLE_NODES = 20  # up to here dynamic programming, which needs 0.1 s and 110 MiB


@dataclass(frozen=True, eq=False)
class Component:
    """A strongly connected part of the problem, reduced to what credible DAGs can use.

    Parameters
    ----------
    nodes : [m] indices among all variables, ascending.
    families : over these nodes; parents outside are left out.
    origin : [F] place of each family among the families that were given.
    opt : least cost if `proven`, else the cost of the best DAG known.
    proven : whether `opt` is known to be the optimum before the diagram confirms it.
    rest, bound : what bounds completions in the diagram.
    """

    nodes: NDArray[np.intp]
    families: Families
    origin: NDArray[np.intp]
    opt: float
    proven: bool
    rest: NDArray[np.float64] | None
    bound: ClusterBound | None


def filtered_components(
    families: Families,
    epsilon: float,
    rng: np.random.Generator,
    *,
    memory: int | None = None,
    deadline: float | None = None,
) -> list[Component]:
    """The components of all families that some DAG within `epsilon` of the optimum may have.

    Parameters
    ----------
    families : candidates that keep every credible DAG.
    epsilon : natural logarithms, ≥ 0.
    memory : bytes for tables over subsets.
    deadline : value of time.monotonic() after which bounds are taken as they are.
    """
    waiting: list[tuple[Any, Families, Any, NDArray[np.intp] | None]] = [
        (nodes, *families.restricted(nodes), None) for nodes in reversed(components(families))
    ]
    done: list[Component] = []
    while waiting:
        nodes, part, origin, order = waiting.pop()
        component, keep, order = _reduced(
            nodes, part, origin, order, epsilon, rng, memory, deadline
        )
        inner = components(component.families)
        if len(inner) == 1 and (keep.all() or component.rest is not None):
            done.append(component)
            continue
        for inside in reversed(inner):
            smaller, where = component.families.restricted(inside)
            inner_order = np.searchsorted(inside, order[np.isin(order, inside)])
            waiting.append((nodes[inside], smaller, component.origin[where], inner_order))
    return sorted(done, key=lambda component: int(component.nodes[0]))


def _reduced(
    nodes: NDArray[np.intp],
    part: Families,
    origin: NDArray[np.intp],
    order: NDArray[np.intp] | None,
    epsilon: float,
    rng: np.random.Generator,
    memory: int | None,
    deadline: float | None,
) -> tuple[Component, NDArray[np.bool_], NDArray[np.intp]]:
    """One component with fewer families, which of them stayed, and the order of its best DAG.

    `order` is one that some DAG known to be good has, or None.
    """
    limit = epsilon + TOLERANCE
    available = free_memory() if memory is None else memory
    if part.n <= TABLE_NODES and subset_bytes(part.n) <= available:
        tables = subset_tables(part, memory=memory)
        keep = tables.marginal <= tables.opt + limit
        kept, places = part.select(keep), np.flatnonzero(keep)
        found = Component(nodes, kept, origin[places], tables.opt, True, tables.rest, None)
        return found, keep, _order(part, tables.chosen)
    seconds = None if deadline is None else max(0.0, deadline - time.monotonic())
    restarts = (20 if order is None else 2) * part.n
    best, chosen = ordering_search(part, rng, start=order, restarts=restarts, seconds=seconds)
    bound = ClusterLP(part).close(rng=rng, seconds=seconds)
    keep = bound.bound + bound.reduced <= best + limit
    proven = best - bound.bound <= TOLERANCE
    if keep.all() and proven:
        keep = relaxed_probe(part, best + limit, bound, rng, deadline)
    elif keep.all():
        probe = integer_probe(part, (best, chosen), limit, bound, deadline)
        keep, best, chosen, proven = probe.keep, probe.cost, probe.chosen, probe.proven
    if keep.all():
        found = Component(nodes, part, origin, best, proven, None, bound)
    else:
        kept, places = part.select(keep), np.flatnonzero(keep)
        found = Component(nodes, kept, origin[places], best, False, None, None)
    return found, keep, _order(part, chosen)


def _order(families: Families, chosen: tuple[int, ...]) -> NDArray[np.intp]:
    """A topological order of the chosen DAG."""
    return np.array(families.dag(chosen).topological_order(), dtype=np.intp)
