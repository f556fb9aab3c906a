"""The function of NOTEARS that is 0 where weights have no cycle, and what leaves none at the end.

Zheng et al. 2018 (NeurIPS): h(W) = tr exp(W ∘ W) - n.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm

from fedbn.arrays import Bools, Floats


def acyclicity(weights: Floats) -> tuple[float, Floats]:
    """h and its gradient, for weights [n, n]."""
    powers = expm(weights * weights)
    return float(np.trace(powers)) - len(weights), powers.T * weights * 2


def leave_out_cycles(weights: Floats, threshold: float) -> Bools:
    """The arcs above the threshold, the lightest of them left out until no cycle is left."""
    left = np.where(np.abs(weights) > threshold, np.abs(weights), 0.0)
    while expm(left > 0).trace() - len(left) > 1e-9:
        lightest = np.unravel_index(np.argmin(np.where(left > 0, left, np.inf)), left.shape)
        left[lightest] = 0.0
    return left > 0
