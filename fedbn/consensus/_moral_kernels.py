"""The rows of one input that follow from its arcs: ancestors, descendants, the moral graph.

`g` is an input, uint64 [5, n, W]: PA, CH, ANC, DES, MOR (see `_engine.py`).
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.consensus._engine import ANC, CH, DES, MOR, PA
from fedbn.graphs._bit_kernels import ONE, ZERO, clear_bit, first_bit, has_bit, transpose_bits
from fedbn.graphs._cpdag_kernels import ancestors_bits
from fedbn.kernel_parts import inner, inner_with_arrays


@inner
def is_inside(g: Bits, v: int, x: int, y: int, given: Bits) -> bool:
    """Whether v is in An({x, y} + given) of input g."""
    inside = has_bit(g[DES, v], x) or has_bit(g[DES, v], y)
    for w in range(given.shape[0]):
        inside = inside or g[DES, v, w] & given[w] != ZERO
    return inside


@inner
def moral_bits(pa: Bits, ch: Bits, v: int, out: Bits) -> None:
    """Neighbours of v in the moral graph of one DAG, into `out`."""
    words = pa.shape[1]
    for w in range(words):
        out[w] = pa[v, w] | ch[v, w]
    for w in range(words):
        word = ch[v, w]
        while word != ZERO:
            c = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(words):
                out[k] |= pa[c, k]
    clear_bit(out, v)


@inner_with_arrays
def fill_graph(g: Bits) -> None:
    """ANC, DES and MOR of an input from its PA and CH."""
    anc = ancestors_bits(g[PA], g[CH])
    des = transpose_bits(anc)
    for v in range(g.shape[1]):
        for w in range(g.shape[2]):
            g[ANC, v, w] = anc[v, w]
            g[DES, v, w] = des[v, w]
        moral_bits(g[PA], g[CH], v, g[MOR, v])
