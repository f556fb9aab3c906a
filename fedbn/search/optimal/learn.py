"""A structure of best score, with a bound that says how far from the best it can be.

One entry, `learn_optimal`, over several exact methods. "auto" chooses:

* Gaussian scores of few variables: dynamic programming over all subsets (`gaussian_dp`);
* else every undominated parent set is listed (`parent_sets`), the list falls into components, and
  each is solved by dynamic programming, or made smaller by bounds and then branched on (`parts`);
* Gaussian BIC and AIC where the list would be too long: column generation with exact pricing gives
  a bound, and only what can be in a better DAG is listed (`column_generation`).

All methods take every score, but for "columns": Gaussian BIC and AIC only. BGe has no rule that
ends the list of parent sets: beyond 25 variables it needs `max_parents`, and the proof holds within
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedbn.arrays import Bools, Indices
from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.pdag import consistent_extension, dag_to_cpdag
from fedbn.limits import NOTHING_MET, Limit, SearchLimits, in_words
from fedbn.scores.base import total_score
from fedbn.scores.gaussian import require_regular, rounding
from fedbn.search.families.components import components
from fedbn.search.families.families import Families
from fedbn.search.families.gaussian_families import GaussianFamilies
from fedbn.search.families.known import families_that_keep, with_way_out
from fedbn.search.families.parent_sets import TOLERANCE, ParentSetSearch, parent_sets
from fedbn.search.families.subset_dp import table_seconds
from fedbn.search.optimal.column_generation import generated_pool
from fedbn.search.optimal.gaussian_dp import gaussian_bytes, gaussian_optimum
from fedbn.search.optimal.parts import TABLE_NODES, Part, solve_parts

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore

METHODS = ("auto", "subsets", "clusters", "branch-and-cut", "columns", "ordering")
SMALL = 16  # Gaussian variables that need no list of parent sets
SETS = 50_000  # parent sets above which dynamic programming, where it fits, needs no list
LISTED = 20_000  # Gaussian parent sets of large components above which columns are generated
RELATIVE = 1e-9  # of the score: the rounding that an optimum may have, as in the other searches
STEPS = 60_000_000  # of the search for Gaussian parent sets before columns are generated

Status = Literal["optimal", "optimal within limits", "feasible with bound", "heuristic"]


@dataclass(frozen=True)
class OptimalResult:
    """The best DAG found and what is proven of it; scores are maximised.

    Parameters
    ----------
    dag : the structure.
    score : its total.
    upper_bound : no DAG scores more (none that keeps `max_parents`, if PARENTS was met); infinite
        for a heuristic.
    gap : upper_bound - score, at least 0; what rounding may hide is in it.
    status : "optimal" when the bound is met but for rounding of at most 1e-9 of the score, and
        every parent set was considered; "optimal within limits" where larger sets than
        `max_parents` might score more: no DAG within the cap does.
    proof : in words, what the bound rests on, and the limits that were met.
    counters : parent sets listed, sets scored, components, largest component.
    met : the limits that were met.
    """

    dag: DAG
    score: float
    upper_bound: float
    gap: float
    status: Status
    proof: str
    counters: Mapping[str, int]
    met: frozenset[Limit] = NOTHING_MET


@dataclass(frozen=True)
class _Found:
    """A DAG by the parents of each node, its cost, a lower bound (-inf: none), how, and limits."""

    parents: tuple[tuple[int, ...], ...]
    cost: float
    bound: float
    proof: str
    met: frozenset[Limit] = NOTHING_MET
    counters: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


def learn_optimal(
    score: TabulatedScore,
    method: str = "auto",
    *,
    seconds: float | None = None,
    memory: int | None = None,
    max_parents: int | None = None,
    rng: np.random.Generator | None = None,
    knowledge: Knowledge | None = None,
) -> OptimalResult:
    """The DAG of best score, proven where the limits allow.

    Parameters
    ----------
    score : any score of `fedbn.scores`.
    method : "auto"; "subsets" (dynamic programming alone); "clusters" (a relaxation and dynamic
        programming on what it leaves); "branch-and-cut"; "columns" (column generation with exact
        pricing first; Gaussian BIC and AIC); "ordering" (a heuristic, no bound).
    seconds : wall-clock limit. memory : bytes, checked before large arrays.
    max_parents : a cap; where it cuts a set off that might be better, the proof holds within it.
    rng : for the ordering search and the start sets of separations; by default seeded with 0.
    knowledge : what the DAG keeps; the proof is among the DAGs that keep it.

    Raises
    ------
    ConfigError : unknown method, a method that does not fit the score or knowledge, a negative
        limit, knowledge of other variables, or more required parents than `max_parents`.
    DataError : Gaussian columns are constant or collinear, or there are too few rows.
    SearchError : the memory does not suffice for the parent sets, or for "subsets".
    """
    if method not in METHODS:
        raise ConfigError(f"the method must be one of {', '.join(METHODS)}, not {method!r}")
    limits = SearchLimits.of(seconds, memory, max_parents)
    rng = np.random.default_rng(0) if rng is None else rng
    used = score.varying()
    if knowledge is not None:
        return _keeping(score, knowledge, used, method, limits, rng)
    found = _solve(score.over(used) if used.size < score.n else score, method, limits, rng)
    parents: list[tuple[int, ...]] = [()] * score.n
    for i, chosen in zip(used.tolist(), found.parents, strict=True):
        parents[i] = tuple(int(used[j]) for j in chosen)
    return _result(score, parents, found, limits.max_parents)


def _result(
    score: TabulatedScore,
    parents: list[tuple[int, ...]],
    found: _Found,
    max_parents: int | None,
    *,
    keep: bool = False,
) -> OptimalResult:
    """The DAG scored once more, with a bound that rounding cannot make wrong.

    keep : the DAG itself, and not the canonical member of its class, is the result.
    """
    dag = DAG(score.names, _adjacency(parents))
    dag = dag if keep else _canonical(dag, max_parents)
    total = total_score(score, dag)
    least = TOLERANCE * score.n  # what counts as nothing
    left, unsure = (0.0 if g <= least else g for g in (found.cost - found.bound, rounding(score)))
    blurred = unsure > RELATIVE * (1.0 + abs(total))
    proof = found.proof + (f"; met: {in_words(found.met)}" if found.met else "")
    if blurred:
        proof += f"; columns are so nearly collinear that rounding may hide {unsure:.1g}"
    proven: Status = "optimal within limits" if Limit.PARENTS in found.met else "optimal"
    status: Status = proven if left == 0.0 and not blurred else "feasible with bound"
    if not np.isfinite(left):
        status = "heuristic"
    gap = left + unsure
    return OptimalResult(dag, total, total + gap, gap, status, proof, found.counters, found.met)


def _keeping(
    score: TabulatedScore,
    knowledge: Knowledge,
    used: Indices,
    method: str,
    limits: SearchLimits,
    rng: np.random.Generator,
) -> OptimalResult:
    """The best DAG that keeps the knowledge, from a list of all families that do."""
    if method == "columns":
        raise ConfigError("column generation takes no knowledge: use another method")
    knowledge.require_room(limits.max_parents)
    part = score.over(used) if used.size < score.n else score
    if part.is_gaussian:
        require_regular(part)
    listing = parent_sets(
        part, max_parents=limits.max_parents, memory=limits.bytes, seconds=limits.left
    )
    families, met = families_that_keep(
        listing.families.among(score.names, used.tolist()), knowledge, score,
        max_parents=limits.max_parents, varying=used.tolist(),
    )  # fmt: skip
    found = _solve_families(with_way_out(families), listing, method, limits, rng)
    proof = f"{found.proof}; among the DAGs that keep the knowledge"
    found = replace(found, met=found.met | met, proof=proof)
    adjacency = _adjacency(found.parents)
    if knowledge.breaches(DAG(score.names, adjacency)):
        adjacency = knowledge.required_matrix(score.names)
        cost = -total_score(score, DAG(score.names, adjacency))
        found = replace(found, parents=DAG(score.names, adjacency).parent_sets(), cost=cost)
    return _result(score, list(found.parents), found, limits.max_parents, keep=True)


def _adjacency(parents: Sequence[tuple[int, ...]]) -> Bools:
    adjacency = np.zeros((len(parents), len(parents)), dtype=np.bool_)
    for i, chosen in enumerate(parents):
        adjacency[list(chosen), i] = True
    return adjacency


def _canonical(dag: DAG, max_parents: int | None) -> DAG:
    """The canonical member of the DAG's class, unless it has more parents than allowed."""
    chosen = consistent_extension(dag_to_cpdag(dag))
    cap = dag.n if max_parents is None else max_parents
    return chosen if chosen.in_degree <= cap else dag


def _solve(
    score: TabulatedScore, method: str, limits: SearchLimits, rng: np.random.Generator
) -> _Found:
    if not score.is_gaussian:
        if method == "columns":
            raise ConfigError("column generation takes gaussian-bic and gaussian-aic only")
        return _list_all(score, method, limits, rng)
    require_regular(score)
    criterion = score.parameter > 0.0
    if method == "columns":
        if not criterion or limits.max_parents is not None:
            raise ConfigError(
                "column generation takes gaussian-bic and gaussian-aic without a cap on parents"
            )
        return _generate(score, limits, rng)
    free = limits.max_parents is None
    if free and (method == "subsets" or (method == "auto" and not criterion)):
        if method == "subsets" or _dense_fits(score.n, limits):
            return _dense(score, limits)
    elif free and method == "auto":
        return _gaussian(score, limits, rng)
    return _list_all(score, method, limits, rng)


def _gaussian(score: TabulatedScore, limits: SearchLimits, rng: np.random.Generator) -> _Found:
    """Gaussian BIC and AIC: by subsets, by listed parent sets or by columns."""
    dense = _dense_fits(score.n, limits)
    if dense and score.n <= SMALL:
        return _dense(score, limits)
    search = GaussianFamilies(score)
    found, limit = search.parent_sets(
        TOLERANCE,
        memory=limits.bytes // 4,
        sets=SETS if dense else None,
        steps=min(STEPS, 1 << (score.n - 3)) if dense else STEPS,
        deadline=limits.deadline,
    )
    if limit is None:
        families = search.families(found)
        largest = max(len(nodes) for nodes in _components(families))
        if largest <= TABLE_NODES or families.size <= LISTED:
            parts = solve_parts(families, "auto", limits, rng)
            return _unite(families, parts, NOTHING_MET, sum(part.steps for part in found))
    return _dense(score, limits) if dense else _generate(score, limits, rng)


def _components(families: Families) -> list[Indices]:
    return components(families)


def _dense_fits(n: int, limits: SearchLimits) -> bool:
    return (
        n <= TABLE_NODES and gaussian_bytes(n) <= limits.bytes and limits.allows(table_seconds(n))
    )


def _dense(score: TabulatedScore, limits: SearchLimits) -> _Found:
    cost, parents = gaussian_optimum(score, limits.memory)
    n = score.n
    counters = {"parent_sets": n << (n - 1), "scored": 1 << n, "components": 1}
    proof = "dynamic programming over all subsets"
    return _Found(parents, cost, cost, proof, counters=counters | {"largest_component": n})


def _generate(score: TabulatedScore, limits: SearchLimits, rng: np.random.Generator) -> _Found:
    """Columns first; then the families that can be in a better DAG than the best one known."""
    pool = generated_pool(score, limits, rng)
    if not pool.complete:
        bound = min(pool.cost, pool.bound)
        how = "columns with exact pricing" if np.isfinite(bound) else "ordering search"
        known = Part(pool.chosen, pool.cost, bound, frozenset({how}), pool.met)
        return _unite(pool.families, [known], NOTHING_MET, pool.families.size)
    parts = solve_parts(pool.families, "auto", limits, rng)
    found = _unite(pool.families, parts, NOTHING_MET, pool.families.size)
    return replace(
        found,
        bound=max(found.bound, min(pool.cost, pool.bound)),
        proof=f"columns with exact pricing; {found.proof}",
    )


def _list_all(
    score: TabulatedScore, method: str, limits: SearchLimits, rng: np.random.Generator
) -> _Found:
    """Every undominated parent set, then component by component."""
    listing = parent_sets(
        score, max_parents=limits.max_parents, memory=limits.bytes, seconds=limits.left
    )
    return _solve_families(listing.families, listing, method, limits, rng)


def _solve_families(
    families: Families,
    listing: ParentSetSearch,
    method: str,
    limits: SearchLimits,
    rng: np.random.Generator,
) -> _Found:
    """The best DAG of these families, which come from a listing."""
    parts = solve_parts(families, method, limits, rng)
    found = _unite(families, parts, listing.met, listing.scored)
    if listing.complete:
        return found
    proof = (
        f"{found.proof}; parent sets of more than {listing.largest} variables were not considered"
    )
    within = listing.met == {Limit.PARENTS}
    return replace(found, bound=found.bound if within else -np.inf, proof=proof)


def _unite(families: Families, parts: list[Part], met: frozenset[Limit], scored: int) -> _Found:
    """The parts as one DAG."""
    chosen = sorted(f for part in parts for f in part.chosen)
    counters = {
        "parent_sets": families.size,
        "scored": scored,
        "components": len(parts),
        "largest_component": max(len(part.chosen) for part in parts),
    }
    return _Found(
        tuple(families.parents(f) for f in chosen),
        float(families.cost[chosen].sum()),
        sum(part.bound for part in parts),
        "; ".join(sorted(frozenset[str]().union(*(part.proofs for part in parts)))),
        met.union(*(part.met for part in parts)),
        counters,
    )
