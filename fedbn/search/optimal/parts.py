"""Listed families solved component by component.

A DAG can be chosen in each strongly connected component of what may be an edge by itself. One of
few nodes goes to dynamic programming over subsets. In a larger one the ordering search gives an
incumbent, overlapping groups of nodes and the cluster relaxation drop what no better DAG can use,
and what is left, again by components, goes to dynamic programming or to branch and cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedbn.arrays import Bits, Bools, Indices, Ints
from fedbn.limits import NOTHING_MET, Limit, SearchLimits
from fedbn.search.families.cluster_lp import ClusterBound, ClusterLP
from fedbn.search.families.components import components
from fedbn.search.families.families import Families
from fedbn.search.families.ordering import ordering_search
from fedbn.search.families.parent_sets import TOLERANCE
from fedbn.search.families.subset_dp import subset_bytes, subset_optimum, table_seconds
from fedbn.search.optimal.branch_and_cut import branch_and_cut
from fedbn.search.optimal.group_bound import MARGIN, group_bound, group_bytes

QUICK_NODES = 20  # dynamic programming takes well under a second
TABLE_NODES = 25  # some ten seconds and 4 GB
MAX_BRANCHED = 100_000
MUCH_LESS = 0.9  # of the families: with so few the groups are tried once more
PARENTS = frozenset({"each variable's best parents"})


@dataclass(frozen=True)
class Part:
    """What is known of one component.

    Parameters
    ----------
    chosen : places of its families among those that were given.
    cost, bound : of the best DAG known, and what no DAG costs less than.
    proofs : in words, what the bound rests on.
    met : the limits that ended the work on it.
    """

    chosen: tuple[int, ...]
    cost: float
    bound: float
    proofs: frozenset[str]
    met: frozenset[Limit] = NOTHING_MET


def solve_parts(
    families: Families,
    method: str,
    limits: SearchLimits,
    rng: np.random.Generator,
    order: tuple[int, ...] | None = None,
) -> list[Part]:
    """Every component solved as far as the method and the limits allow.

    `order` is one of the nodes that some DAG of the families has; without it every node must have
    the empty family.
    """
    parts = []
    for nodes in components(families):
        piece, origin = _component(families, nodes)
        start = None if order is None else _within(order, nodes)
        parts.append(_place(_solve(piece, method, limits, rng, start), origin))
    return parts


def _within(order: tuple[int, ...], nodes: Indices) -> Ints:
    """The order of these nodes, as their places among them."""
    inside = set(nodes.tolist())
    return np.searchsorted(nodes, [i for i in order if i in inside])


def _solve(
    part: Families,
    method: str,
    limits: SearchLimits,
    rng: np.random.Generator,
    start: Ints | None,
) -> Part:
    """One component."""
    if method == "ordering":
        best, chosen = ordering_search(part, rng, start=start, seconds=limits.left)
        return Part(chosen, best, -np.inf, frozenset({"ordering search"}))
    if method == "subsets" or part.n == 1 or _table_fits(part.n, method, limits):
        cost, chosen = subset_optimum(part, memory=limits.memory)
        return Part(chosen, cost, cost, frozenset({"dynamic programming over subsets"}))
    best, chosen = ordering_search(part, rng, start=start, restarts=4 * part.n, seconds=limits.left)
    known = Part(chosen, best, min(best, _least(part)), PARENTS)
    if method == "branch-and-cut" or limits.over:
        return _branch(part, known, None, limits, rng)
    return _relax(part, known, method, limits, rng)


def _relax(
    part: Families, known: Part, method: str, limits: SearchLimits, rng: np.random.Generator
) -> Part:
    """What the relaxation and groups leave, by components or by branch and cut."""
    relaxed = ClusterLP(part).close(rng=rng, seconds=limits.left, target=known.cost - TOLERANCE)
    known = _bound(known, relaxed.bound, "cluster cuts", limits)
    if known.cost - known.bound <= TOLERANCE:
        return known
    keep = relaxed.bound + relaxed.reduced <= known.cost + TOLERANCE
    if method == "auto" and group_bytes(part) <= limits.bytes:
        known, keep = _group(part, known, relaxed, keep, limits)
    if known.cost - known.bound <= MARGIN:
        return replace(known, bound=known.cost, met=NOTHING_MET)
    kept, places = part.select(keep), np.flatnonzero(keep)
    again = method == "auto" and kept.size <= MUCH_LESS * part.size
    if again or len(components(kept)) > 1:
        return _of_kept(part, keep, known, method, limits, rng)
    if method == "clusters" or limits.over or kept.size > MAX_BRANCHED:
        return replace(known, met=known.met or frozenset({Limit.SETS}))
    inside = tuple(int(f) for f in np.searchsorted(places, known.chosen))
    found = _branch(kept, replace(known, chosen=inside), relaxed.clusters, limits, rng)
    return _place(found, places)


def _group(
    part: Families,
    known: Part,
    relaxed: ClusterBound,
    keep: Bools,
    limits: SearchLimits,
) -> tuple[Part, Bools]:
    """The bound and the families left by groups, first with the relaxation's clusters charged."""
    for guide in (relaxed, None):
        if limits.over:
            break
        found = group_bound(part, known.cost, guide, QUICK_NODES, limits)
        known = _bound(known, found.bound, "groups of variables", limits)
        keep = keep & found.keep
        if known.cost - known.bound <= MARGIN or keep.sum() <= MUCH_LESS * part.size:
            break
    return known, keep


def _of_kept(
    part: Families,
    keep: Bools,
    known: Part,
    method: str,
    limits: SearchLimits,
    rng: np.random.Generator,
) -> Part:
    """The best DAG known, or of the families kept; no other one costs less than the known."""
    order = part.dag(known.chosen).topological_order()
    parts = solve_parts(part.select(keep), method, limits, rng, order)
    cost, bound = sum(p.cost for p in parts), sum(p.bound for p in parts)
    places = np.flatnonzero(keep)
    chosen = tuple(sorted(int(places[f]) for p in parts for f in p.chosen))
    if known.cost < cost:
        cost, chosen = known.cost, known.chosen
    return Part(
        chosen, cost, max(known.bound, min(cost, bound)),
        known.proofs.union(*(p.proofs for p in parts)),
        NOTHING_MET.union(*(p.met for p in parts)),
    )  # fmt: skip


def _branch(
    part: Families,
    known: Part,
    clusters: Bits | None,
    limits: SearchLimits,
    rng: np.random.Generator,
) -> Part:
    """Branch and cut, where there is time for it."""
    if limits.over:
        return replace(known, met=_late(limits))
    found = branch_and_cut(
        part, known.chosen, clusters=clusters, seconds=limits.left, memory=limits.memory, rng=rng
    )
    known = replace(known, chosen=found.chosen, cost=found.cost)
    return replace(_bound(known, found.bound, "branch and cut", limits), met=found.met)


def _bound(known: Part, bound: float, proof: str, limits: SearchLimits) -> Part:
    """The same with one more lower bound on all DAGs."""
    bound = min(known.cost, max(known.bound, bound))
    return replace(known, bound=bound, proofs=(known.proofs - PARENTS) | {proof}, met=_late(limits))


def _least(part: Families) -> float:
    """The cost of the best families without regard to cycles."""
    return float(part.cost[part.start[:-1]].sum())


def _late(limits: SearchLimits) -> frozenset[Limit]:
    return frozenset({Limit.TIME}) if limits.over else NOTHING_MET


def _place(part: Part, origin: Indices) -> Part:
    """The same with the places that the families had before."""
    return replace(part, chosen=tuple(int(origin[f]) for f in part.chosen))


def _component(families: Families, nodes: Indices) -> tuple[Families, Indices]:
    """The families of a component; of those that differ only outside, the cheapest."""
    part, origin = families.restrict(nodes)
    keys = np.concatenate((part.node[:, None].astype(np.uint64), part.bits), axis=1)
    first = np.sort(np.unique(keys, axis=0, return_index=True)[1])
    return part.select(first), origin[first]


def _table_fits(nodes: int, method: str, limits: SearchLimits) -> bool:
    """Whether dynamic programming is for a component of so many nodes."""
    max_nodes = {"auto": TABLE_NODES, "clusters": QUICK_NODES}.get(method, 1)
    fits = nodes <= max_nodes and subset_bytes(nodes) <= limits.bytes
    return fits and limits.allows(table_seconds(nodes))
