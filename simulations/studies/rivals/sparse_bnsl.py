"""DP-Fed-Sparse-BNSL, rebuilt: NOTEARS by consensus of sites whose steps are private and few.

El Fehri, Bellet & Bastien 2025 (arXiv 2512.01708), by abstract and reviews; the text itself and the
authors' program were not to be had. min Σ_p (L(B_p) + λ |B_p|_1) with B_p = W at every site and
h(W) = tr exp(W ∘ W) - d = 0, by ADMM:

1. A site takes T steps of proximal greedy coordinate descent on its B_p: an arc is chosen by the
   exponential mechanism, by how far the proximal step would move it; its gradient gets Gaussian
   noise. A row's part of a gradient is clipped to ±C.
2. The server minimises Σ_p ρ/2 |B_p - W + U_p|² + α h(W) + ρ_h/2 h(W)² over W, then sites and
   server raise their multipliers.

Privacy is per row, added or removed, in zCDP: a step has an equal share of the budget, half of it
for the choice and half for the gradient. With N rows a gradient moves by at most C / N, hence the
utility (step · moved gradient) by at most step · C / N.

**Ours where the paper is not known**: T, the number of rounds, λ, C, the threshold of 0.3 and the
penalties. Rows are scaled by the true standard deviations of the whole table, and N is taken as
known: both are in the rival's favour.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from fedbn.arrays import Bools, Floats
from simulations.studies.rivals.acyclicity import acyclicity, leave_out_cycles


@dataclass(frozen=True)
class SparseRules:
    """What the paper leaves to the run.

    Attributes
    ----------
    rounds, steps : of ADMM, and of a site in a round.
    sparsity : λ, of standardised columns.
    clip : C.
    threshold : arcs of at most this weight are dropped at the end.
    """

    rounds: int = 8
    steps: int = 6
    sparsity: float = 0.05
    clip: float = 2.0
    threshold: float = 0.2


def learn_sparsely(
    sites: Floats, rho: float | None, rng: np.random.Generator, rules: SparseRules
) -> Bools:
    """The adjacency of a DAG from standardised rows [sites, rows, n]; ρ None: without noise."""
    parties, _, n = sites.shape
    local, duals = np.zeros((parties, n, n)), np.zeros((parties, n, n))
    shared, alpha, penalty, weight = np.zeros((n, n)), 0.0, 1.0, 0.1
    each = None if rho is None else rho / (rules.rounds * rules.steps)
    for _ in range(rules.rounds):
        for p in range(parties):
            pull = shared - duals[p]
            local[p] = _descend(sites[p], local[p], pull, weight, each, rng, rules)
        shared = _agree((local + duals).mean(axis=0), shared, alpha, penalty, parties * weight)
        alpha += penalty * acyclicity(shared)[0]
        penalty *= 3.0
        duals += local - shared
    return leave_out_cycles(shared, rules.threshold)


def _descend(
    rows: Floats,
    start: Floats,
    pull: Floats,
    weight: float,
    rho: float | None,
    rng: np.random.Generator,
    rules: SparseRules,
) -> Floats:
    """T private steps on L(B) + λ |B|_1 + weight/2 |B - pull|²; columns have variance 1."""
    found, count = start.copy(), len(rows)
    step = 1.0 / (1.0 + weight)
    off = ~np.eye(rows.shape[1], dtype=np.bool_)
    for _ in range(rules.steps):
        residual = rows - rows @ found
        parts = np.clip(-rows[:, :, None] * residual[:, None, :], -rules.clip, rules.clip)
        gradient = parts.mean(axis=0) + weight * (found - pull)
        moved = _shrink(found - step * gradient, step * rules.sparsity) - found
        utility = np.where(off, np.abs(moved), -np.inf)
        if rho is None:
            i, j = np.unravel_index(np.argmax(utility), utility.shape)
            noisy = gradient[i, j]
        else:
            moves = step * rules.clip / count
            rate = np.sqrt(8 * rho / 2) / (2 * moves)
            i, j = np.unravel_index(
                np.argmax(rate * utility + rng.gumbel(size=utility.shape)), utility.shape
            )
            noisy = gradient[i, j] + rng.normal(0, rules.clip / count / np.sqrt(rho))
        found[i, j] = _shrink(found[i, j] - step * noisy, step * rules.sparsity)
    return found


def _shrink(values: Floats, by: float) -> Floats:
    shrunk: Floats = np.sign(values) * np.maximum(np.abs(values) - by, 0.0)
    return shrunk


def _agree(mean: Floats, start: Floats, alpha: float, penalty: float, weight: float) -> Floats:
    shape = mean.shape

    def objective(flat: Floats) -> tuple[float, Floats]:
        matrix = flat.reshape(shape)
        h, slope = acyclicity(matrix)
        apart = matrix - mean
        value = weight / 2 * float((apart**2).sum()) + alpha * h + penalty / 2 * h * h
        return value, (weight * apart + (alpha + penalty * h) * slope).ravel()

    found = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B")
    agreed: Floats = found.x.reshape(shape)
    np.fill_diagonal(agreed, 0.0)
    return agreed
