"""Listed families solved component by component.

A DAG can be chosen in each strongly connected component of what may be an edge by itself. One of
few nodes goes to dynamic programming over subsets. In a larger one the ordering search gives an
incumbent, the cluster relaxation drops what no better DAG can use, and what is left, again by
components, goes to dynamic programming or to branch and cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedbn.search.optimal.branch_and_cut import branch_and_cut
from fedbn.search.optimal.cluster_lp import ClusterLP
from fedbn.search.optimal.components import components
from fedbn.search.optimal.families import Families
from fedbn.search.optimal.limits import Limits
from fedbn.search.optimal.ordering import ordering_search
from fedbn.search.optimal.parent_sets import TOLERANCE
from fedbn.search.optimal.subset_dp import subset_bytes, subset_optimum

__all__ = ["Part", "solved_parts"]

QUICK_NODES = 20  # dynamic programming takes well under a second
TABLE_NODES = 25  # some ten seconds and 4 GB
LISTED = 20_000  # families above which the relaxation is asked first what can be dropped
MOST_BRANCHED = 100_000


@dataclass(frozen=True)
class Part:
    """What is known of one component.

    Parameters
    ----------
    chosen : places of its families among those that were given.
    cost, bound : of the best DAG known, and what no DAG costs less than.
    proof : in words, what the bound rests on.
    limit : "" or the limit that ended the work on it.
    """

    chosen: tuple[int, ...]
    cost: float
    bound: float
    proof: str
    limit: str = ""


def solved_parts(
    families: Families, method: str, limits: Limits, rng: np.random.Generator
) -> list[Part]:
    """Every component solved as far as the method and the limits allow."""
    waiting = [_component(families, nodes) for nodes in reversed(components(families))]
    done: list[Part] = []
    while waiting:
        part, origin = waiting.pop()
        solved, smaller = _step(part, method, limits, rng)
        done += [_placed(found, origin) for found in solved]
        waiting += [(piece, origin[where]) for piece, where in reversed(smaller)]
    return done


Piece = tuple[Families, NDArray[np.intp]]


def _step(
    part: Families, method: str, limits: Limits, rng: np.random.Generator
) -> tuple[list[Part], list[Piece]]:
    """A component solved, or smaller ones that are left of it."""
    if method == "ordering":
        best, chosen = ordering_search(part, rng, seconds=limits.left)
        return [Part(chosen, best, -np.inf, "ordering search")], []
    if method == "subsets" or part.n == 1 or _table_fits(part.n, method, limits):
        cost, chosen = subset_optimum(part, memory=limits.memory)
        return [Part(chosen, cost, cost, "dynamic programming over subsets")], []
    best, chosen = ordering_search(part, rng, restarts=4 * part.n, seconds=limits.left)
    if method == "branch-and-cut" or (method == "auto" and part.size <= LISTED):
        return [_branched(part, chosen, None, limits, rng)], []
    return _relaxed(part, best, chosen, method, limits, rng)


def _relaxed(
    part: Families,
    best: float,
    chosen: tuple[int, ...],
    method: str,
    limits: Limits,
    rng: np.random.Generator,
) -> tuple[list[Part], list[Piece]]:
    """What the relaxation settles, and the components that it leaves to solve."""
    bound = ClusterLP(part).close(rng=rng, seconds=limits.left, target=best - TOLERANCE)
    whole = Part(chosen, best, min(best, bound.bound), "cluster cuts", _late(limits))
    if best - bound.bound <= TOLERANCE:
        return [whole], []
    keep = bound.bound + bound.reduced <= best + TOLERANCE
    kept, places = part.select(keep), np.flatnonzero(keep)
    pieces = [_component(kept, nodes) for nodes in components(kept)]
    if len(pieces) > 1:
        return [], [(piece, places[where]) for piece, where in pieces]
    if method == "clusters" or limits.over or kept.size > MOST_BRANCHED:
        return [replace(whole, limit=whole.limit or "the length of the list")], []
    inside = tuple(int(f) for f in np.searchsorted(places, chosen))
    found = _branched(kept, inside, bound.clusters, limits, rng)
    found = replace(found, bound=max(found.bound, min(found.cost, bound.bound)))
    return [_placed(found, places)], []


def _branched(
    part: Families,
    chosen: tuple[int, ...],
    clusters: NDArray[np.uint64] | None,
    limits: Limits,
    rng: np.random.Generator,
) -> Part:
    """Branch and cut; its bound is -inf where it did not begin."""
    if limits.over:
        cost = float(part.cost[list(chosen)].sum())
        return Part(chosen, cost, _least(part), "each variable's best parents", _late(limits))
    found = branch_and_cut(
        part, chosen, clusters=clusters, seconds=limits.left, memory=limits.memory, rng=rng
    )
    bound = max(found.bound, min(found.cost, _least(part)))
    return Part(found.chosen, found.cost, bound, "branch and cut", found.limit)


def _least(part: Families) -> float:
    """The cost of the best families without regard to cycles."""
    return float(part.cost[part.start[:-1]].sum())


def _late(limits: Limits) -> str:
    return "the time limit" if limits.over else ""


def _placed(part: Part, origin: NDArray[np.intp]) -> Part:
    """The same with the places that the families had before."""
    return replace(part, chosen=tuple(int(origin[f]) for f in part.chosen))


def _component(families: Families, nodes: NDArray[np.intp]) -> Piece:
    """The families of a component; of those that differ only outside, the cheapest."""
    part, origin = families.restricted(nodes)
    keys = np.concatenate((part.node[:, None].astype(np.uint64), part.bits), axis=1)
    first = np.sort(np.unique(keys, axis=0, return_index=True)[1])
    return part.select(first), origin[first]


def _table_fits(nodes: int, method: str, limits: Limits) -> bool:
    """Whether dynamic programming is for a component of so many nodes."""
    most = {"auto": TABLE_NODES, "clusters": QUICK_NODES}.get(method, 1)
    return nodes <= most and subset_bytes(nodes) <= limits.bytes and not limits.over
