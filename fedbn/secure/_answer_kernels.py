"""Kernels of a site's answers, over its own DAGs. Public caller: `answers.py`.

pa, ch: bits [k, n, W] of its k DAGs; graphs: bits [k, 5, n, W] as in `consensus/_engine.py`;
weights int64 [k]. The work is done by the kernels of the fusion and of the consensus.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits, Ints
from fedbn.consensus._cut_kernels import cut_arcs_bits, min_cut_bits
from fedbn.consensus._engine import CH, PA, Scratch
from fedbn.consensus._moral_kernels import fill_graph
from fedbn.fusion._order_kernels import remove_as_sink, sink_cost
from fedbn.graphs._bit_kernels import clear_bit
from fedbn.kernel_door import door


@door
def cost_sums(pa: Bits, ch: Bits, weights: Ints, taken: Ints, chain: Ints) -> Ints:
    """Weighted sums of the order heuristic's costs, int64 [1 + len(chain), n].

    Row 0: with the nodes of `taken` made sinks and removed, in that order; row d: with the first d
    of `chain`, too. Entries of removed nodes mean nothing.
    """
    k, n, words = pa.shape
    out = np.zeros((chain.shape[0] + 1, n), dtype=np.int64)
    changed = np.empty(words, dtype=np.uint64)
    scratch = np.empty((2, words), dtype=np.uint64)
    for i in range(k):
        rest_pa, rest_ch = pa[i].copy(), ch[i].copy()
        for t in range(taken.shape[0]):
            remove_as_sink(rest_pa, rest_ch, taken[t], changed, scratch)
        for level in range(out.shape[0]):
            if level > 0:
                remove_as_sink(rest_pa, rest_ch, chain[level - 1], changed, scratch)
            for v in range(n):
                out[level, v] += weights[i] * sink_cost(rest_pa, rest_ch, v, scratch[0])
    return out


@door
def fill_graphs(graphs: Bits) -> None:
    """What follows from PA and CH of every DAG."""
    for i in range(graphs.shape[0]):
        fill_graph(graphs[i])


@door
def prune(graphs: Bits, x: int, y: int, given: Bits, s: Scratch) -> None:
    """Remove from every DAG, in place, the arcs of its minimum cut nearest to y given S."""
    n = graphs.shape[2]
    none = np.zeros(given.shape[0], dtype=np.uint64)
    found = np.empty((n * n // 2 + 1, 2), dtype=np.int32)
    for i in range(graphs.shape[0]):
        g = graphs[i]
        if min_cut_bits(g, x, y, given, none, s) == 0:
            continue
        count = cut_arcs_bits(g, s, found)
        for j in range(count):
            clear_bit(g[PA, found[j, 1]], found[j, 0])
            clear_bit(g[CH, found[j, 0]], found[j, 1])
        if count > 0:
            fill_graph(g)


@door
def cut_sums(graphs: Bits, weights: Ints, xy: Ints, given: Bits, largest: int, s: Scratch) -> Ints:
    """Weighted sums of the minimum cuts, each counted as at most `largest`, int64 [Q]."""
    out = np.zeros(xy.shape[0], dtype=np.int64)
    none = np.zeros(given.shape[1], dtype=np.uint64)
    for i in range(graphs.shape[0]):
        for q in range(xy.shape[0]):
            cut = min_cut_bits(graphs[i], xy[q, 0], xy[q, 1], given[q], none, s)
            out[q] += weights[i] * min(cut, largest)
    return out
