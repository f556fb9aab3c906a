"""Prefix values of the two submodular functions of `submodular_difference.py`.

Sets are prefixes of orders. A `Model` is what one score gives for all nodes; clusters that hold the
priced node are rows of booleans over all variables.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Bools, Floats, Ints
from fedbn.kernel_door import door
from fedbn.scores._joint_kernels import joint
from fedbn.scores._tables import GAUSSIAN, Tables


class Model(NamedTuple):
    """The score as the chains read it."""

    tables: Tables  # of the score; for categorical data with its store of joint values
    correlation: Floats  # [n, n], or [0, 0] for categorical data
    fit: float  # N / 2 for Gaussian data, 1 for categorical (joint values hold the N)
    penalty: float  # Λ


@door
def _gaussian_chain(m: Model, node: int, order: Ints, g: Floats, f: Floats, p: Floats) -> None:
    """One Cholesky factor along the order, with the node as an extra row."""
    size = order.size
    factor = np.empty((size, size))
    row = np.empty(size)
    log_det, variance = 0.0, 1.0
    for k in range(size):
        a = order[k]
        rest = 1.0
        for b in range(k):
            value = m.correlation[a, order[b]]
            for c in range(b):
                value -= factor[k, c] * factor[b, c]
            value /= factor[b, b]
            factor[k, b] = value
            rest -= value * value
        factor[k, k] = math.sqrt(rest)
        value = m.correlation[a, node]
        for c in range(k):
            value -= factor[k, c] * row[c]
        row[k] = value / factor[k, k]
        variance -= row[k] * row[k]
        log_det += math.log(rest)
        f[k + 1] = m.fit * log_det
        g[k + 1] = m.fit * (log_det + math.log(variance)) + m.penalty * (k + 1)
        p[k + 1] = 0.0


@door
def _discrete_chain(
    m: Model, node: int, order: Ints, cut: bool, g: Floats, f: Floats, p: Floats
) -> int:
    """Entropies of the prefixes times N, and the penalty apart; how many prefixes were made."""
    t = m.tables
    members = np.empty(order.size + 2, dtype=np.int64)
    n_log_n = t.row_weight * (t.n_rows * math.log(t.n_rows))
    members[0] = node
    own = joint(t, members, 1) + m.penalty * (t.arities[node] - 1.0)
    most = t.row_weight * t.n_rows * math.log(t.arities.max())
    cells, unit = 1.0, m.penalty * (t.arities[node] - 1.0)
    for k in range(order.size):
        if cut and unit * cells >= most:
            return k
        members[k] = order[k]
        cells *= t.arities[order[k]]
        plain = joint(t, members, k + 1) + m.penalty * (cells - 1.0)
        members[k + 1] = node
        whole = joint(t, members, k + 2) + m.penalty * (cells * t.arities[node] - 1.0)
        f[k + 1] = n_log_n - plain
        g[k + 1] = own - whole
        p[k + 1] = unit * (cells - 1.0)
    return order.size


@door
def chain(
    m: Model,
    node: int,
    order: Ints,
    clusters: Bools,
    duals: Floats,
    sizes: Ints,
    cut: bool,
    g: Floats,
    f: Floats,
    p: Floats,
) -> int:
    """g[k], f[k], p[k] := values of the first k variables of the order, 0 at k = 0.

    The reduced cost is g - f + p but for a constant; p is the penalty of categorical data. Returns
    the length of the chain; with `cut`, it ends where every further variable costs more penalty
    than any data could gain by it.
    """
    g[0] = f[0] = p[0] = 0.0
    length = order.size
    if m.tables.kind == GAUSSIAN:
        _gaussian_chain(m, node, order, g, f, p)
    else:
        length = _discrete_chain(m, node, order, cut, g, f, p)
    for c in range(duals.size):
        met = 0
        for k in range(length):
            if clusters[c, order[k]]:
                met += 1
            g[k + 1] += duals[c] * min(met, sizes[c])
            f[k + 1] += duals[c] * min(met, sizes[c] - 1)
    return length
