"""Background knowledge on a CPDAG: whether its class has a member that satisfies all of it."""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.graphs._bit_kernels import clear_bit, has_bit, set_bit, transpose_bits
from fedbn.graphs._cpdag_kernels import extend_bits
from fedbn.kernel_door import door
from fedbn.kernel_parts import inner_with_arrays
from fedbn.search._set_kernels import first
from fedbn.search._state import ZERO


@door
def constrained_extension(
    pa: Bits, ch: Bits, ne: Bits, forbidden: Bits, required: Bits
) -> tuple[bool, Bits, Bits]:
    """A DAG of the class of a CPDAG without forbidden and with all required edges, if any.

    Undirected edges that knowledge directs are directed; that must make no new collider; then
    Dor and Tarsi's extension decides.
    """
    new_pa, new_ne = pa.copy(), ne.copy()
    if not _direct_known(pa, ne, new_pa, new_ne, forbidden, required):
        return False, pa, ch
    if _has_new_collider(pa, ch, ne, new_pa):
        return False, pa, ch
    found, dag_pa, dag_ch = extend_bits(new_pa, transpose_bits(new_pa), new_ne)
    return found, dag_pa, dag_ch


@inner_with_arrays
def _direct_known(
    pa: Bits, ne: Bits, new_pa: Bits, new_ne: Bits, forbidden: Bits, required: Bits
) -> bool:
    """Direct what knowledge directs in new_pa and new_ne; False if an edge contradicts it."""
    n, words = pa.shape
    for v in range(n):
        for w in range(words):
            if pa[v, w] & forbidden[v, w] != ZERO:
                return False
            if required[v, w] & ~(pa[v, w] | ne[v, w]) != ZERO:
                return False
            word = ne[v, w]
            while word != ZERO:
                u = first(w, word)
                word &= word - np.uint64(1)
                if has_bit(required[v], u) or has_bit(forbidden[u], v):
                    if has_bit(forbidden[v], u) or has_bit(required[u], v):
                        return False
                    set_bit(new_pa[v], u)
                    clear_bit(new_ne[v], u)
                    clear_bit(new_ne[u], v)
    return True


@inner_with_arrays
def _has_new_collider(pa: Bits, ch: Bits, ne: Bits, new_pa: Bits) -> bool:
    """Whether a new parent of some node is not adjacent to another of its parents."""
    n, words = pa.shape
    for v in range(n):
        for w in range(words):
            word = new_pa[v, w] & ~pa[v, w]
            while word != ZERO:
                u = first(w, word)
                word &= word - np.uint64(1)
                for i in range(words):
                    others = new_pa[v, i] & ~(pa[u, i] | ch[u, i] | ne[u, i])
                    if i == u >> 6:
                        others &= ~(np.uint64(1) << np.uint64(u & 63))
                    if others != ZERO:
                        return True
    return False
