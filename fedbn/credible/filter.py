"""Which families a credible DAG can have, component by component, with the proven optimum.

μ(f) is the least cost of a DAG that contains family f; a family with μ(f) > OPT + ε is in no
credible DAG. Up to `TABLE_NODES` nodes dynamic programming gives every μ. Beyond, reduced costs of
a relaxation bound it from below: bound + reduced cost > incumbent + ε drops the family; then each
family is probed (see `probing`). The rest falls apart into strongly connected components, each of
which is treated the same way, until nothing changes. The paper has no such step; it is what makes
large sets possible.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fedbn.arrays import Bools, Floats, Indices
from fedbn.credible.limits import Limits
from fedbn.credible.probing import integer_probe, relaxed_probe
from fedbn.graphs.bits import pack, unpack
from fedbn.search.families.cluster_lp import ClusterBound, ClusterLP
from fedbn.search.families.components import components
from fedbn.search.families.families import Families
from fedbn.search.families.ordering import ordering_search
from fedbn.search.families.parent_sets import TOLERANCE
from fedbn.search.families.subset_dp import best_choice, subset_bytes, subset_tables
from fedbn.wording import count_of

TABLE_NODES = 22  # up to here dynamic programming, which needs 1 s and 450 MiB

Notify = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Component:
    """A strongly connected part of the problem, reduced to what credible DAGs can use.

    Parameters
    ----------
    nodes : [m] indices among all variables, ascending.
    families : over these nodes; parents outside are left out.
    origin : [F] place of each family among the families that were given.
    order : [m] an order of the best DAG known.
    least : no DAG of these families costs less.
    clusters : bool [C, m], sets of nodes whose constraints proved useful.
    rest, bound : what bounds completions in the diagram.
    """

    nodes: Indices
    families: Families
    origin: Indices
    order: Indices
    least: float
    clusters: Bools
    rest: Floats | None = None
    bound: ClusterBound | None = None

    @property
    def best(self) -> tuple[float, tuple[int, ...]]:
        """The least cost known, and the families of that DAG by node."""
        chosen = best_choice(self.families, self.order)
        return float(self.families.cost[list(chosen)].sum()), chosen

    def select(self, keep: Bools, order: Indices, least: float, clusters: Bools) -> Component:
        """The component with fewer families and more known of it."""
        kept, origin = self.families.select(keep), self.origin[np.flatnonzero(keep)]
        return Component(self.nodes, kept, origin, order, least, clusters)

    def split(self) -> list[Component]:
        """Its strongly connected components; bounds are left to be found."""
        inner = components(self.families)
        least = self.least if len(inner) == 1 else -np.inf
        found = []
        for inside in inner:
            part, where = self.families.restrict(inside)
            order = np.searchsorted(inside, self.order[np.isin(self.order, inside)])
            clusters = self.clusters[:, inside]
            clusters = np.unique(clusters[clusters.sum(axis=1) > 1], axis=0)
            found.append(
                Component(self.nodes[inside], part, self.origin[where], order, least, clusters)
            )
        return found


def filtered_components(
    families: Families,
    epsilon: float,
    rng: np.random.Generator,
    limits: Limits,
    notify: Notify = lambda words: None,
) -> list[Component]:
    """The components of all families that some DAG within `epsilon` of the optimum may have.

    Parameters
    ----------
    families : candidates that keep every credible DAG.
    epsilon : natural logarithms, ≥ 0.
    limits : when time is up, bounds are taken as they are.
    notify : told what is known of each component.
    """
    order = rng.permutation(families.n)
    none = np.zeros((0, families.n), dtype=np.bool_)
    whole = Component(
        np.arange(families.n), families, np.arange(families.size), order, -np.inf, none
    )
    waiting = whole.split()[::-1]
    done: list[Component] = []
    while waiting:
        part = waiting.pop()
        try:
            component = _reduce(part, epsilon, rng, limits, notify)
        except KeyboardInterrupt:
            limits.interrupt()
            component = _reduce(part, epsilon, rng, limits, notify)
        inner = component.split()
        settled = component.rest is not None or component.families.size == part.families.size
        if len(inner) == 1 and settled:
            done.append(component)
        else:
            waiting += inner[::-1]
    return sorted(done, key=lambda component: int(component.nodes[0]))


def _reduce(
    part: Component, epsilon: float, rng: np.random.Generator, limits: Limits, notify: Notify
) -> Component:
    """The component without families that are in no DAG within ε of its optimum."""
    families, slack = part.families, epsilon + TOLERANCE
    if families.n <= TABLE_NODES and subset_bytes(families.n) <= limits.memory:
        tables = subset_tables(families, memory=limits.memory)
        keep = tables.marginal <= tables.opt + slack
        found = part.select(keep, _order(families, tables.chosen), tables.opt, part.clusters)
        return replace(found, rest=tables.rest)
    best, chosen = ordering_search(
        families, rng, start=part.order, restarts=8 * families.n, seconds=limits.seconds
    )
    relaxation = ClusterLP(families)
    relaxation.add(pack(part.clusters))
    bound = relaxation.close(rng=rng, seconds=limits.seconds)
    least = max(part.least, bound.bound)
    notify(_range_text(families, least, best))
    keep = bound.bound + bound.reduced <= best + slack
    if keep.all() and best - bound.bound <= epsilon:
        keep = relaxed_probe(families, best + slack, bound, rng, limits)
    if keep.all() and best - bound.bound > TOLERANCE:
        probe = integer_probe(families, (best, chosen), slack, bound, limits)
        keep, chosen = probe.keep, probe.chosen
        least = probe.cost if probe.proven else least
        notify(_range_text(families, least, probe.cost))
    clusters = unpack(bound.clusters, families.n)
    found = part.select(keep, _order(families, chosen), least, clusters)
    return replace(found, bound=bound) if keep.all() else found


def _range_text(families: Families, least: float, best: float) -> str:
    """Between which costs the optimum is, for humans."""
    words = (
        f"{count_of(families.n, 'variable')}, {count_of(families.size, 'parent set')}: least cost "
    )
    if best - least <= TOLERANCE:
        return words + f"{best:.3f}, proven"
    return words + f"from {least:.3f} to {best:.3f}"


def _order(families: Families, chosen: tuple[int, ...]) -> Indices:
    """A topological order of the chosen DAG."""
    return np.array(families.dag(chosen).topological_order(), dtype=np.intp)
