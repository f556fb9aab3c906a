"""Which families some DAG within a limit contains: each is forced in turn.

`relaxed_probe` forces a family in the relaxation with cluster cuts, which suffices where that has
no gap. `integer_probe` decides exactly, and proves the optimum.

The integer programme: x(i, P) in {0, 1}, one parent set per node, cluster constraints (see
`cluster_lp`). Where a solution has a directed cycle, its nodes are a violated cluster, which is
added, and the programme is solved again; clusters hold for every DAG, so they stay. A family whose
programme has no solution within the limit is in no credible DAG. Each DAG that is found keeps all
its families, so that most are settled without a solve of their own; one that the solver cannot
settle in its time stays.

The solver works with tolerances, hence it is asked for DAGs up to `MARGIN` beyond the limit and
their costs are added up anew: only what it proves to be farther away is dropped.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from fedbn._core.families import covering
from fedbn.arrays import Bits, Bools, Indices
from fedbn.credible.limits import Limits
from fedbn.errors import SearchError
from fedbn.graphs.bits import pack
from fedbn.graphs.components import cyclic_components
from fedbn.search.families.cluster_lp import ClusterBound, ClusterLP
from fedbn.search.families.families import Families
from fedbn.search.families.family_program import family_program, require_cluster

MARGIN = 1e-3
TOLERANCES = ("mip_feasibility_tolerance", "primal_feasibility_tolerance")
SOLVE_SECONDS = 20.0
PROBE_ROUNDS = 6


@dataclass(frozen=True, eq=False)
class Probe:
    """What probing found: families to keep, the least cost known and its families, if proven."""

    keep: Bools
    cost: float
    chosen: tuple[int, ...]
    proven: bool


class Undecided(Exception):  # noqa: N818
    """The solver's time ended without an answer."""


class IntegerProgram:
    """The integer programme over one set of families, solved and cut step by step."""

    def __init__(self, families: Families, clusters: Bits) -> None:
        self.families = families
        self._lowest = float(families.cost[families.start[:-1]].sum())
        precise = dict.fromkeys(TOLERANCES, 1e-9)
        self._solver = family_program(families, integral=True, mip_rel_gap=0.0, **precise)
        for cluster in clusters:
            self._add_cut(cluster)

    def force(self, family: int, forced: bool) -> None:
        """Demand this family, or no longer."""
        self._solver.changeColBounds(family, 1.0 if forced else 0.0, 1.0)

    def forbid(self, family: int) -> None:
        """Leave this family out from now on."""
        self._solver.changeColBounds(family, 0.0, 0.0)

    def best(self, limit: float, seconds: float) -> tuple[float, tuple[int, ...]] | None:
        """The cheapest DAG, or None when every DAG costs more than `limit`.

        Raises
        ------
        Undecided : after `seconds`.
        """
        deadline = time.monotonic() + seconds
        while True:
            chosen = self._solution(limit, deadline)
            if chosen is None:
                return None
            cost = float(self.families.cost[chosen].sum())
            cycles = _cycles(self.families.has_parent[chosen])
            if not cycles:
                return (cost, tuple(int(f) for f in chosen)) if cost <= limit else None
            for cycle in cycles:
                self._add_cut(pack(cycle[None, :])[0])

    def _solution(self, limit: float, deadline: float) -> Indices | None:
        """The cheapest choice under the present constraints; None beyond the limit."""
        from fedbn.extras import highspy

        Word = highspy.HighsModelStatus

        left = deadline - time.monotonic()
        if left <= 0.0:
            raise Undecided
        solver = self._solver
        if np.isfinite(limit):
            solver.setOptionValue("objective_bound", limit + MARGIN - self._lowest)
        solver.setOptionValue("time_limit", solver.getRunTime() + left)
        solver.run()
        status = solver.getModelStatus()
        if status in (Word.kInfeasible, Word.kObjectiveBound):
            return None
        if status != Word.kOptimal:
            raise Undecided
        return np.flatnonzero(np.array(solver.getSolution().col_value) > 0.5)

    def _add_cut(self, cluster: Bits) -> None:
        require_cluster(self._solver, covering(self.families.node, self.families.bits, cluster))


def relaxed_probe(
    families: Families,
    limit: float,
    bound: ClusterBound,
    rng: np.random.Generator,
    limits: Limits,
) -> Bools:
    """Which families some solution of the relaxation within the limit contains.

    Each family is forced in turn, the costliest first; one whose relaxation exceeds the limit is
    dropped at once. A family that is left untried when time is up stays.
    """
    relaxation = ClusterLP(families)
    relaxation.add(bound.clusters)  # the active ones alone: fewer rows, faster solves
    relaxation.close(rng=rng)
    keep = np.ones(families.size, dtype=np.bool_)
    for family in np.argsort(-bound.reduced, kind="stable"):
        if limits.over:
            break
        if relaxation.x[family] > 1.0 - 1e-9:
            continue
        keep[family] = relaxation.allows(int(family), limit, rng, PROBE_ROUNDS)
    return keep


def integer_probe(
    families: Families,
    incumbent: tuple[float, tuple[int, ...]],
    slack: float,
    bound: ClusterBound,
    limits: Limits,
) -> Probe:
    """Which families some DAG of at most OPT + slack contains, and OPT.

    Parameters
    ----------
    incumbent : the cost of a DAG and its families.
    slack : ε with its tolerance.
    bound : of the relaxation, whose clusters are taken over.
    limits : families that are untried when time is up stay.
    """
    program = IntegerProgram(families, bound.clusters)
    proven = True
    try:
        found = program.best(incumbent[0] + MARGIN, _seconds(limits))
        if found is None:
            raise SearchError("the incumbent must satisfy the integer programme")
        incumbent = min(incumbent, found)
    except Undecided:
        proven = False
    limit = incumbent[0] + slack
    keep = bound.bound + bound.reduced <= limit
    for family in np.flatnonzero(~keep):
        program.forbid(int(family))
    known = np.zeros(families.size, dtype=np.bool_)
    known[list(incumbent[1])] = True
    for family in np.argsort(-bound.reduced, kind="stable").tolist():
        if keep[family] and not known[family]:
            keep[family] = _some_dag(program, family, limit, limits, known)
    return Probe(keep, *incumbent, proven)


def _some_dag(
    program: IntegerProgram,
    family: int,
    limit: float,
    limits: Limits,
    known: Bools,
) -> bool:
    """False if no DAG within the limit has this family; families of the DAG found are `known`."""
    program.force(family, True)
    try:
        found = program.best(limit, _seconds(limits))
    except Undecided:
        program.force(family, False)
        return True
    if found is None:
        program.forbid(family)
        return False
    program.force(family, False)
    known[list(found[1])] = True
    return True


def _seconds(limits: Limits) -> float:
    return SOLVE_SECONDS if limits.seconds is None else min(SOLVE_SECONDS, limits.seconds)


def _cycles(has_parent: Bools) -> list[Bools]:
    """Node sets [n] of short directed cycles and of whole components; none if acyclic."""
    found: dict[bytes, Bools] = {}
    for inside in cyclic_components(has_parent):
        for node in np.flatnonzero(inside):
            cycle = _shortest_cycle(has_parent, inside, int(node))
            found[cycle.tobytes()] = cycle
        found[inside.tobytes()] = inside
    return list(found.values())


def _shortest_cycle(has_parent: Bools, inside: Bools, start: int) -> Bools:
    """The nodes of a shortest cycle through `start`, which has one inside."""
    before = {start: start}
    queue = [start]
    for node in queue:
        for parent in np.flatnonzero(has_parent[node] & inside).tolist():
            if parent == start:
                cycle = np.zeros(len(inside), dtype=np.bool_)
                while node != start:
                    cycle[node] = True
                    node = before[node]
                cycle[start] = True
                return cycle
            if parent not in before:
                before[parent] = node
                queue.append(parent)
    raise SearchError("a strongly connected node must be on a cycle")
