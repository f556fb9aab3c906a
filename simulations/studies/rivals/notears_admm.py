"""NOTEARS-ADMM for linear networks, rebuilt after its paper and its authors' program.

Ng & Zhang 2022 (AISTATS; arXiv 2110.09356): sites keep weights B_k, the server W, and

    min Σ_k L_k(B_k) + λ |W|_1   with   h(W) = 0   and   B_k = W for all k,

L_k the squared loss of a site's centred rows, by the method of multipliers: a site solves its part
in closed form from its covariance, the server minimises the rest over W, then multipliers and
penalties grow. Weights of at most 0.3 are dropped at the end, as there. What differs: |W|_1 is
minimised as the sum of a positive and a negative part (there, by its subgradient).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from fedbn.arrays import Bools, Floats
from simulations.studies.rivals.acyclicity import acyclicity, leave_out_cycles

SPARSITY = 0.01
ROUNDS = 200
THRESHOLD = 0.3
LARGEST = 1e16
START, GROWTH_OF_H, GROWTH_OF_CONSENSUS = 0.001, 1.75, 1.25


def learn_by_admm(sites: Floats) -> Bools:
    """The adjacency of a DAG from rows [sites, rows, n]."""
    parties, rows, n = sites.shape
    centred = sites - sites.mean(axis=1, keepdims=True)
    covariances = np.swapaxes(centred, 1, 2) @ centred / rows / parties
    shared, duals = np.zeros((n, n)), np.zeros((parties, n, n))
    alpha, of_h, of_consensus = 0.0, START, START
    for _ in range(ROUNDS):
        right = of_consensus * shared - duals + covariances
        local = np.linalg.solve(covariances + of_consensus * np.eye(n), right)
        target = (local + duals / of_consensus).mean(axis=0)
        shared = _agree(target, shared, alpha, of_h, parties * of_consensus)
        alpha += of_h * acyclicity(shared)[0]
        duals += of_consensus * (local - shared)
        of_h *= GROWTH_OF_H if of_h < LARGEST else 1.0
        of_consensus *= GROWTH_OF_CONSENSUS if of_consensus < LARGEST else 1.0
        if of_h >= LARGEST and of_consensus >= LARGEST:
            break
    return leave_out_cycles(shared, THRESHOLD)


def _agree(target: Floats, start: Floats, alpha: float, penalty: float, weight: float) -> Floats:
    """The server's step: both parts of W, nought on the diagonal."""
    n = len(target)
    free = np.flatnonzero(~np.eye(n, dtype=np.bool_))

    def weights(parts: Floats) -> Floats:
        matrix = np.zeros(n * n)
        matrix[free] = parts[: free.size] - parts[free.size :]
        return matrix.reshape(n, n)

    def objective(parts: Floats) -> tuple[float, Floats]:
        matrix = weights(parts)
        h, slope = acyclicity(matrix)
        apart = matrix - target
        value = weight / 2 * float((apart**2).sum()) + alpha * h + penalty / 2 * h * h
        gradient = (weight * apart + (alpha + penalty * h) * slope).ravel()[free]
        both = np.concatenate([gradient, -gradient]) + SPARSITY
        return value + SPARSITY * float(parts.sum()), both

    flat = start.ravel()[free]
    begin = np.concatenate([np.maximum(flat, 0.0), np.maximum(-flat, 0.0)])
    bounds = [(0.0, None)] * begin.size
    return weights(minimize(objective, begin, jac=True, method="L-BFGS-B", bounds=bounds).x)
