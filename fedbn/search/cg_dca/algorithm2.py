"""Algorithm 2 of Yang & Chen (2025): inexact column generation with row generation.

    repeat
        repeat
            column phase   solve the master's linear program; price every node whose last pricing
                           found a column, until none finds one (line 8: rc_i is not reset within)
            row phase      add clusters that the solution violates, until none is found
        until neither adds anything
        RMIP               the best DAG of the columns
    until the score or the DAG of the RMIP is what it was

What the paper leaves open, and what is done here: the order of the phases as above, and the exact
separation only where the heuristics and the pricing have come to an end (each call costs as much as
many pricings); columns start with the empty parent sets; every superlevel set of every iterate with
reduced cost below -1e-6 is a column. Pricing is inexact, so nothing is proven: there is no bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedbn.arrays import Bools, Ints
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.limits import NOTHING_MET, Limit, SearchLimits
from fedbn.scores.base import total_score
from fedbn.search.cg_dca.dca_pricing import NEGATIVE, DCAPricing, Pricing
from fedbn.search.cg_dca.pool import ColumnPool
from fedbn.search.cg_dca.restricted_integer_master import RestrictedOptimum, best_dag
from fedbn.search.cg_dca.restricted_master import MasterProblem
from fedbn.search.cg_dca.start_points import Hybrid, StartPoint
from fedbn.search.cg_dca.submodular_difference import PricingProblem
from fedbn.search.cg_dca.violated_clusters import Separation

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore

TOLERANCE = 1e-9  # relative: an RMIP must be better by more than this
COUNTERS = ("rows", "rounds", "pricings", "exact_separations", "rmips", "rmips_cut_short")


@dataclass(frozen=True)
class CGDCAResult:
    """The best DAG found; nothing is proven of it.

    Parameters
    ----------
    dag : the structure.
    score : its total, higher is better.
    upper_bound, gap, proof : None, as pricing is inexact.
    status : always "heuristic".
    met : TIME if the search was stopped, MEMORY if an RMIP was, PARENTS if a set that pricing found
        was larger than `max_parents`.
    counters : columns, rows, pricings, rounds of pricing, exact separations, RMIPs, and how many
        of those a limit ended early.
    """

    dag: DAG
    score: float
    met: frozenset[Limit]
    counters: Mapping[str, int]
    upper_bound: None = None
    gap: None = None
    status: Literal["heuristic"] = "heuristic"
    proof: None = None


def learn_cg_dca(
    score: TabulatedScore,
    *,
    pricing: Pricing | None = None,
    start: StartPoint | None = None,
    separation: Separation | None = None,
    max_parents: int | None = None,
    seconds: float | None = None,
    memory: int | None = None,
    rng: np.random.Generator,
    knowledge: Knowledge | None = None,
) -> CGDCAResult:
    """A DAG of high score by column generation.

    Parameters
    ----------
    score : bic, aic, gaussian-bic or gaussian-aic for DCA pricing; any for `LocalSearch`.
    pricing : how columns are found; DCA with the minimum-norm point by default.
    start : where DCA begins; `Hybrid` by default, the paper's choice.
    separation : which cluster rows are added; k = 1 by default.
    max_parents : larger parent sets do not become columns.
    seconds : wall-clock limit, looked at between pricings; the best DAG of the columns until then
        is the result.
    memory : bytes that an RMIP may take; without it, what the machine has free.
    rng : for random starts and the heuristics of the separation.
    knowledge : what the DAG keeps: from every column that pricing finds forbidden parents are taken
        and required ones added. (Not the paper's.)

    Raises
    ------
    ConfigError : the pricing does not take the score, a limit is out of range, or the knowledge is
        of other variables or requires more parents than `max_parents`.
    DataError : Gaussian columns are constant or collinear.
    SearchError : the linear program's solver fails.

    >>> from fedbn.data.dataset import Dataset, Schema
    >>> from fedbn.scores import make_score
    >>> rows = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]] * 25
    >>> data = Dataset(Schema.categorical({"a": "01", "b": "01", "c": "01"}), rows)
    >>> result = learn_cg_dca(make_score("bic", data), rng=np.random.default_rng(0))
    >>> result.dag.n_edges, result.status
    (1, 'heuristic')
    """
    used = score.varying()
    known = Knowledge() if knowledge is None else knowledge
    known.require_room(max_parents)
    forbidden, required = (m(score.names) for m in (known.forbidden_matrix, known.required_matrix))
    search = _ColumnGeneration(
        score.over(used) if used.size < score.n else score,
        barred=forbidden[np.ix_(used, used)].T,
        wanted=required[np.ix_(used, used)].T,
        pricing=DCAPricing() if pricing is None else pricing,
        start=Hybrid() if start is None else start,
        separation=Separation() if separation is None else separation,
        limits=SearchLimits.of(seconds, memory, max_parents),
        rng=rng,
    )
    best, columns = search.restricted_optimum(), search.pool.size
    while not search.stopped:
        search.generate()
        if search.pool.size == columns:
            break
        found, columns = search.restricted_optimum(), search.pool.size
        if found.cost >= best.cost - TOLERANCE * abs(best.cost):
            break
        best = found
    adjacency = np.zeros((score.n, score.n), dtype=np.bool_)
    adjacency[np.ix_(used, used)] = best.dag.adjacency
    return search.result(score, known.with_required(DAG(score.names, adjacency)))


class _ColumnGeneration:
    """The state of one run: the columns, the master problem, the counters."""

    def __init__(
        self,
        score: TabulatedScore,
        *,
        pricing: Pricing,
        start: StartPoint,
        separation: Separation,
        limits: SearchLimits,
        rng: np.random.Generator,
        barred: Bools,
        wanted: Bools,
    ) -> None:
        """barred, wanted: bool [n, n], row i has the forbidden and the required parents of i."""
        self.score, self.pricing, self.start = score, pricing, start
        self.separation, self.limits, self.rng = separation, limits, rng
        self.model = pricing.model(score)
        self.empty = np.array([-score.local_score(i, []) for i in range(score.n)])
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.met: set[Limit] = set()
        self.pool = ColumnPool(score.names)
        self.barred, self.wanted = barred, wanted
        dear = 1.0 + 2.0 * float(np.abs(self.empty).sum())  # no best DAG has it
        for i in range(score.n):
            needs = bool(wanted[i].any())
            self.pool.add(i, np.zeros(score.n, dtype=np.bool_), dear if needs else 0.0)
            if needs:
                cost = -score.local_score(i, np.flatnonzero(wanted[i])) - self.empty[i]
                self.pool.add(i, wanted[i], cost)
        self.master = MasterProblem(self.pool)
        self.master.take_columns()

    @property
    def stopped(self) -> bool:
        """Whether time has run out."""
        return self.limits.over

    def generate(self) -> None:
        """Column and row phases until neither adds anything."""
        grown = True
        while grown and not self.stopped:
            self.column_phase()
            grown = self.row_phase() or self.last_rows()

    def column_phase(self) -> None:
        """Price until no node finds a column; rc_i of a node that found none stays."""
        rc = np.full(self.score.n, -np.inf)
        while (rc < NEGATIVE).any() and not self.stopped:
            self.counters["rounds"] += 1
            for i in np.flatnonzero(rc < NEGATIVE):
                rc[i] = 0.0 if self.stopped else self.price(int(i))
            self.master.take_columns()

    def price(self, i: int) -> float:
        """Add columns of node i; the least reduced cost of a new one, 0 for none."""
        clusters = self.master.clusters.holding(i)
        constant = -float(self.master.pi[i]) - float(clusters.duals.sum())
        problem = PricingProblem(self.model, i, self.score.n, constant, clusters)
        start = self.start.point(self.master, i, self.rng)
        max_parents = self.score.n if self.limits.max_parents is None else self.limits.max_parents
        min_cost = 0.0
        for found in self.pricing.columns(problem, start, self.rng):
            parents = (found.parents & ~self.barred[i]) | self.wanted[i]
            if parents.sum() > max_parents:
                self.met.add(Limit.PARENTS)
            elif not self.pool.has(i, parents):
                cost = -self.score.local_score(i, np.flatnonzero(parents)) - self.empty[i]
                self.pool.add(i, parents, cost)
                min_cost = min(min_cost, found.reduced_cost)
        self.counters["pricings"] += 1
        return min_cost

    def row_phase(self) -> bool:
        """Add rows until the heuristics find none; whether there were any."""
        before = self.counters["rows"]
        while not self.stopped:
            members, sizes = self.separation.find_violated(self.master.fractional_point(), self.rng)
            if not len(members):
                break
            self.add_rows(members, sizes)
        return self.counters["rows"] > before

    def last_rows(self) -> bool:
        """Rows that only the exact separation finds."""
        if self.stopped:
            return False
        members, sizes = self.separation.proven(self.master.fractional_point())
        self.counters["exact_separations"] += 1
        if len(members):
            self.add_rows(members, sizes)
        return len(members) > 0

    def add_rows(self, members: Bools, sizes: Ints) -> None:
        """Add cluster rows to the master."""
        self.master.add_rows(members, sizes)
        self.counters["rows"] += len(members)

    def restricted_optimum(self) -> RestrictedOptimum:
        """RMIP."""
        found = best_dag(self.pool.families(), self.rng, self.limits)
        self.counters["rmips"] += 1
        self.counters["rmips_cut_short"] += bool(found.met)
        self.met |= found.met & {Limit.MEMORY}
        return found

    def result(self, score: TabulatedScore, dag: DAG) -> CGDCAResult:
        """What is told of the best DAG, with the score of all variables."""
        late = {Limit.TIME} if self.stopped else NOTHING_MET
        return CGDCAResult(
            dag=dag,
            score=total_score(score, dag),
            met=frozenset(self.met | late),
            counters=self.counters | {"columns": self.pool.size},
        )
