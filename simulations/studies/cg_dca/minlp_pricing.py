"""Exact pricing of Gaussian columns as a mixed-integer nonlinear programme: the paper's baseline.

For node i, with correlations r and R of the others:

    min (N/2) ln s + Λ Σ_j z_j + Σ_C μ_C u_C + constant
    s ≥ 1 - 2 r · β + β · R β,  |β_j| ≤ M z_j,  u_C ≥ z_j for j in C,  z binary.

At an optimum, s is the residual variance given {j : z_j = 1}. M bounds the coefficients of every
regression. Solved by SCIP; meant for the size of gaussian.test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbn.arrays import Floats
from fedbn.search.cg_dca.dca_pricing import NEGATIVE, Priced
from fedbn.search.cg_dca.submodular_difference import PricingProblem, pricing_model

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore
    from fedbn.search.cg_dca.submodular_difference import Model


@dataclass(frozen=True)
class MINLPPricing:
    """Every solution that SCIP meets on its way to the least reduced cost."""

    def model(self, score: TabulatedScore) -> Model:
        """Of Gaussian BIC or AIC."""
        return pricing_model(score)

    def columns(
        self, problem: PricingProblem, start: Floats, rng: np.random.Generator
    ) -> list[Priced]:
        """Parent sets with reduced cost below `NEGATIVE`, the least among them."""
        program, z = _program(problem)
        program.optimize()
        found = []
        for solution in program.getSols():
            chosen = [j for j, v in z.items() if program.getSolVal(solution, v) > 0.5]
            values = problem.prefixes(np.array(chosen, dtype=np.int64), cut=False)
            reduced = problem.constant + float(values.difference[-1])
            if reduced < NEGATIVE:
                parents = np.zeros(problem.n, dtype=np.bool_)
                parents[chosen] = True
                found.append(Priced(parents, reduced))
        return found


def _program(problem: PricingProblem) -> tuple[Any, dict[int, Any]]:
    """The programme and its z."""
    from pyscipopt import scip

    from fedbn.extras import pyscipopt

    m: Any = scip.Model("pricing")
    m.hideOutput()
    likelihood: Any = problem.model.likelihood
    R, others = likelihood.correlation, [int(j) for j in problem.others]
    smallest = 1.0 / float(np.linalg.inv(R)[problem.node, problem.node])
    largest = float(np.sqrt(1.0 / np.linalg.eigvalsh(R)[0]))
    z = {j: m.addVar(vtype="B") for j in others}
    b = {j: m.addVar(lb=-largest, ub=largest) for j in others}
    s = m.addVar(lb=0.5 * smallest, ub=1.0)
    fit = m.addVar(lb=None, ub=0.0)
    square = pyscipopt.quicksum(float(R[j, k]) * b[j] * b[k] for j in others for k in others)
    linear = pyscipopt.quicksum(float(R[j, problem.node]) * b[j] for j in others)
    m.addCons(s >= 1.0 - 2.0 * linear + square)
    m.addCons(fit >= pyscipopt.log(s))
    for j in others:
        m.addCons(b[j] <= largest * z[j])
        m.addCons(-b[j] <= largest * z[j])
    total = likelihood.fit * fit + likelihood.penalty * pyscipopt.quicksum(z.values())
    for members, dual in zip(problem.clusters.members, problem.clusters.duals, strict=True):
        u = m.addVar(lb=0.0, ub=1.0)
        for j in others:
            if members[j]:
                m.addCons(u >= z[j])
        total += float(dual) * u
    m.setObjective(total + problem.constant)
    m.setObjlimit(NEGATIVE)
    return m, z
