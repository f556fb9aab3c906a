"""The model of `branch_and_cut.py` in SCIP's terms: variables, and a handler for acyclicity."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbn._core.families import covering, grow_clusters
from fedbn.arrays import Bits, Floats
from fedbn.extras import pyscipopt
from fedbn.search.families.cluster_lp import support_seeds
from fedbn.search.families.components import cycle_clusters
from fedbn.search.families.families import Families

SCIP_RESULT: Any = pyscipopt.scip.PY_SCIP_RESULT
SCIP_PARAMSETTING: Any = pyscipopt.scip.PY_SCIP_PARAMSETTING

TOLERANCE = 1e-9  # of SCIP, for feasibility and duals
CHOSEN = 1.0 - 1e-6
RANKS = (1, 2, 3)  # k of the k-clusters
ROOT_ROUNDS = 200
NODE_ROUNDS = 2
VIOLATION = 1e-3
CUTS = 20  # of one kind and round


class Acyclic(pyscipopt.Conshdlr):
    """Cycles are refused wherever they are met; fractional points are cut at the root."""

    def __init__(self, families: Families, x: list[Any], rng: np.random.Generator) -> None:
        self.families, self.x, self.rng = families, x, rng
        self.node, self.rounds = 0, 0  # of the tree, and how often it was separated

    def conscheck(self, constraints: Any, solution: Any, *_: Any, **__: Any) -> dict[str, Any]:
        value = self._values(solution)
        cyclic = len(cycle_clusters(self.families, np.flatnonzero(value > 0.5)))
        return {"result": SCIP_RESULT.INFEASIBLE if cyclic else SCIP_RESULT.FEASIBLE}

    def consenfolp(self, constraints: Any, n_useful: Any, infeasible: Any) -> dict[str, Any]:
        return self._cut_cycles(self._values(None), SCIP_RESULT.FEASIBLE)

    def consenfops(self, *_: Any, **__: Any) -> dict[str, Any]:
        value = self._values(None)
        cyclic = len(cycle_clusters(self.families, np.flatnonzero(value > 0.5)))
        return {"result": SCIP_RESULT.INFEASIBLE if cyclic else SCIP_RESULT.FEASIBLE}

    def conssepalp(self, constraints: Any, n_useful: Any) -> dict[str, Any]:
        value = self._values(None)
        result = self._cut_cycles(value, SCIP_RESULT.DIDNOTFIND)
        if result["result"] != SCIP_RESULT.DIDNOTFIND or not self._another_round():
            return result
        some = np.flatnonzero(value > 1e-9)
        families = self.families
        seeds = support_seeds(families.node[some], value[some], families.has_parent[some], self.rng)
        cut = False
        for k in RANKS:
            found, sides = grow_clusters(
                families.node[some], value[some], families.bits[some], families.n, seeds, k,
                VIOLATION,
            )  # fmt: skip
            for cluster in found[np.argsort(sides, kind="stable")[:CUTS]]:
                cut = True
                if self._add(cluster, k):
                    return {"result": SCIP_RESULT.CUTOFF}
        return {"result": SCIP_RESULT.SEPARATED if cut else SCIP_RESULT.DIDNOTFIND}

    def _another_round(self) -> bool:
        """Whether to separate once more at this node of the tree."""
        node = int(self.model.getCurrentNode().getNumber())
        if node != self.node:
            self.node, self.rounds = node, 0
        self.rounds += 1
        return self.rounds <= (ROOT_ROUNDS if self.model.getDepth() == 0 else NODE_ROUNDS)

    def conslock(self, constraint: Any, *_: Any) -> None:
        """Every variable may break the constraint either way."""
        for variable in self.x:
            self.model.addVarLocks(variable, 1, 1)

    def _cut_cycles(self, value: Floats, otherwise: Any) -> dict[str, Any]:
        clusters = cycle_clusters(self.families, np.flatnonzero(value > CHOSEN))
        for cluster in clusters:
            if self._add(cluster, 1):
                return {"result": SCIP_RESULT.CUTOFF}
        return {"result": SCIP_RESULT.SEPARATED if len(clusters) else otherwise}

    def _add(self, cluster: Bits, k: int) -> bool:
        """Add the cut of a k-cluster; True if it makes the present node infeasible."""
        families = self.families
        columns = covering(families.node, families.bits, cluster, k)
        row = self.model.createEmptyRowUnspec(lhs=float(k), rhs=None, local=False)
        self.model.cacheRowExtensions(row)
        for f in columns:
            self.model.addVarToRow(row, self.x[f], 1.0)
        self.model.flushRowExtensions(row)
        return bool(self.model.addCut(row, forcecut=True))

    def _values(self, solution: Any) -> Floats:
        return np.array([self.model.getSolVal(solution, variable) for variable in self.x])


def acyclic_model(
    families: Families,
    cost: Floats,
    clusters: Bits | None,
    rng: np.random.Generator,
) -> tuple[Any, list[Any]]:
    """The model and its variables, in the order of the families."""
    model = pyscipopt.Model()
    model.hideOutput()
    model.setParam("misc/allowstrongdualreds", False)
    model.setParam("misc/allowweakdualreds", False)
    model.setParam("numerics/feastol", TOLERANCE)
    model.setParam("numerics/dualfeastol", TOLERANCE)
    model.setParam("limits/gap", 0.0)
    model.setHeuristics(SCIP_PARAMSETTING.FAST)
    x = [model.addVar(vtype="B", obj=float(c)) for c in cost]
    for i in range(families.n):
        first, last = int(families.start[i]), int(families.start[i + 1])
        model.addCons(pyscipopt.quicksum(x[first:last]) == 1)
    for cluster in [] if clusters is None else clusters:
        columns = covering(families.node, families.bits, cluster)
        model.addCons(pyscipopt.quicksum(x[int(f)] for f in columns) >= 1)
    handler = Acyclic(families, x, rng)
    model.includeConshdlr(
        handler, "acyclic", "no directed cycle", sepapriority=100, enfopriority=-10,
        chckpriority=-10, sepafreq=1, propfreq=-1, eagerfreq=-1, maxprerounds=0,
        needscons=False,
    )  # fmt: skip
    return model, x
