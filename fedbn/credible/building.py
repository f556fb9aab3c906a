"""The search for the DAGs of a component that cost at most a limit, and the diagram of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbn._core import credible as core
from fedbn.arrays import Floats
from fedbn.credible.diagram import Diagram
from fedbn.credible.limits import Limits
from fedbn.credible.profiles import Profile
from fedbn.errors import SearchError
from fedbn.search.families.cluster_lp import ClusterBound
from fedbn.search.families.families import Families
from fedbn.search.families.parent_sets import TOLERANCE

PIECE = 4_000_000  # sums that are sorted at once


@dataclass(frozen=True, eq=False)
class Problem:
    """The DAGs of one component that cost at most a limit, with a bound on what completes them."""

    families: Families
    compiled: core.Problem

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
        bound : otherwise a cluster bound on these families; without either, no cluster binds.
        """
        lowest = families.cost[families.start[:-1]]
        limit = opt + epsilon + TOLERANCE - float(lowest.sum())
        excess = families.cost - np.repeat(lowest, np.diff(families.start))
        known = (families.start, excess, families.bits, limit, lowest)
        if rest is not None:
            return cls(families, core.Problem.by_table(*known, rest))
        if bound is None:
            none = np.zeros((0, families.bits.shape[1]), dtype=np.uint64)
            bound = ClusterBound(0.0, lowest, excess, none, np.zeros(0))
        return cls(
            families,
            core.Problem.by_clusters(
                *known, bound.least, bound.reduced, bound.clusters, bound.duals
            ),
        )


def build_diagram(problem: Problem, epsilon: float, limits: Limits) -> Diagram:
    """The diagram of all DAGs that cost at most the problem's optimum + epsilon.

    Raises
    ------
    DiagramLimit : memory or time ended before the diagram was whole, or more than 2^62 DAGs have
        one cost.
    SearchError : no DAG is within the problem's limit.
    """
    limits.require_time()
    families, budget = problem.families, epsilon + TOLERANCE
    paths = limits.run(core.build_diagram, problem.compiled, budget, limits.memory)
    if paths is None:
        raise SearchError("the candidate parent sets admit no acyclic graph within the limit")
    value, count = limits.run(paths.profile, limits.memory, PIECE)
    opt = float(families.cost[families.start[:-1]].sum()) + paths.shift
    return Diagram(families, opt, budget, paths, Profile(value, tuple(count)), limits.memory)
