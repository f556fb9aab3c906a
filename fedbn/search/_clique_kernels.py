"""The cliques of Ne(y), one by one, and the parents that y gets by them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.graphs._bit_kernels import clear_bit, set_bit
from fedbn.kernel_parts import inner
from fedbn.scores._tables import Integer
from fedbn.search._set_kernels import first
from fedbn.search._state import ZERO, Graph, Scratch


@inner
def next_clique(g: Graph, scratch: Scratch, depth: Integer, deeper: bool) -> int:
    """The next clique in lexicographic order, from `depth` chosen nodes; -1 after the last.

    `choice[d]` has the nodes that may be chosen as number d: greater than those tried before and
    adjacent to all chosen ones. Without `deeper` the present clique is not extended.
    """
    words = scratch.clique.shape[0]
    while True:
        if deeper:
            for w in range(words):
                word = scratch.choice[depth, w]
                if word != ZERO:
                    v = first(w, word)
                    clear_bit(scratch.choice[depth], v)
                    for u in range(words):
                        scratch.choice[depth + 1, u] = scratch.choice[depth, u] & g.adj[v, u]
                    scratch.chosen[depth] = v
                    set_bit(scratch.clique, v)
                    return int(depth + 1)
        if depth == 0:
            return -1
        depth -= 1
        clear_bit(scratch.clique, int(scratch.chosen[depth]))
        deeper = True


@inner
def family(g: Graph, y: Integer, clique: Bits, out: NDArray[np.int64]) -> int:
    """out := Pa(y) ∪ clique, ascending; returns its size."""
    k: Integer = np.int64(0)
    for w in range(clique.shape[0]):
        word = g.pa[y, w] | clique[w]
        while word != ZERO:
            out[k] = first(w, word)
            word &= word - np.uint64(1)
            k += 1
    return int(k)


@inner
def family_without(
    g: Graph, y: Integer, clique: Bits, left_out: Integer, out: NDArray[np.int64]
) -> int:
    """out := Pa(y) ∪ clique \\ {left_out}, ascending; returns its size."""
    k = np.int64(family(g, y, clique, out))
    others = np.int64(0)
    for a in range(k):
        if out[a] != left_out:
            out[others] = out[a]
            others += 1
    return int(others)
