"""Counting for the dependence of two variables in strata."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.kernel_door import door


@door
def dependence_sum(
    a: NDArray[np.int32],
    b: NDArray[np.int32],
    strata: NDArray[np.int64],
    r_a: int,
    r_b: int,
    n_strata: int,
) -> int:
    """Σ_s floor(32 Σ_ab |n_s n_s,ab - n_s,a n_s,b| / n_s) over strata with rows.

    `a`, `b` are codes below r_a, r_b; `strata` is below n_strata; all [rows], rows < 2^28.
    """
    counts = np.zeros((n_strata, r_a, r_b), dtype=np.int64)
    for row in range(a.size):
        counts[strata[row], a[row], b[row]] += 1
    total = 0
    margin = np.zeros(r_b, dtype=np.int64)
    for s in range(n_strata):
        size = 0
        margin[:] = 0
        for i in range(r_a):
            for j in range(r_b):
                size += counts[s, i, j]
                margin[j] += counts[s, i, j]
        if size == 0:
            continue
        part = 0
        for i in range(r_a):
            of_i = 0
            for j in range(r_b):
                of_i += counts[s, i, j]
            for j in range(r_b):
                part += abs(size * counts[s, i, j] - of_i * margin[j])
        total += 32 * part // size
    return total
