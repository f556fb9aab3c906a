"""Kernels that replay a path: the DAGs of its states and their distances to the inputs.

Public caller: `threshold.py`. Rows of uint64 words, bit j of word j >> 6. `cuts` int64 [B] are
numbers of deletions, ascending; one state per entry.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits, Ints, Ints32
from fedbn.consensus._delete_kernels import delete_in_class
from fedbn.consensus._engine import CH, NE, PA
from fedbn.consensus._moral_kernels import moral_bits
from fedbn.fusion._imap_kernels import copy_rows, quorum_bits, union_bits, write_imap
from fedbn.fusion._order_kernels import order_bits
from fedbn.graphs._bit_kernels import ONE, ZERO, clear_bit, first_bit, transpose_bits
from fedbn.graphs._cpdag_kernels import cpdag_bits, extend_bits, topological_bits
from fedbn.kernel_door import door_to_sets
from fedbn.kernel_parts import inner, inner_with_arrays

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@door_to_sets
def moral_votes(pa: Bits, ch: Bits, weights: Ints) -> Ints:
    """c_e: weight of the inputs whose moral graph has the edge e, int64 [n, n], symmetric."""
    r, n, words = pa.shape
    votes = np.zeros((n, n), dtype=np.int64)
    row = np.zeros(words, dtype=np.uint64)
    for i in range(r):
        for v in range(n):
            moral_bits(pa[i], ch[i], v, row)
            for w in range(words):
                word = row[w]
                while word != ZERO:
                    votes[v, (w << 6) + np.int64(first_bit(word))] += weights[i]
                    word &= word - ONE
    return votes


@door_to_sets
def vote_sums(votes: Ints, total: int) -> tuple[int, int]:
    """(sum of c_e, sum of min(c_e, total - c_e)) over pairs e: SMHD of no edge, lower bound."""
    everything, least = 0, 0
    for a in range(votes.shape[0]):
        for b in range(a):
            everything += votes[a, b]
            least += min(votes[a, b], total - votes[a, b])
    return everything, least


@inner_with_arrays
def smhd_sum(pa: Bits, ch: Bits, votes: Ints, total: int, everything: int) -> int:
    """Sum of weighted SMHD of a DAG to the inputs: sum_e c_e + sum_{e in moral} (total - 2 c_e)."""
    n, words = pa.shape
    row = np.zeros(words, dtype=np.uint64)
    twice = 0
    for v in range(n):
        moral_bits(pa, ch, v, row)
        for w in range(words):
            word = row[w]
            while word != ZERO:
                twice += total - 2 * votes[v, (w << 6) + np.int64(first_bit(word))]
                word &= word - ONE
    return everything + twice // 2


@door_to_sets
def search_states(union_pa: Bits, xy: Ints32, h: Bits, cuts: Ints) -> Bits:
    """Parents [B, n, W] of a DAG extension of P after cuts[b] deletions, for every b."""
    n, words = union_pa.shape
    out = np.empty((cuts.shape[0], n, words), dtype=np.uint64)
    p = np.empty((3, n, words), dtype=np.uint64)
    dag = np.empty((2, n, words), dtype=np.uint64)
    places = np.empty((2, n), dtype=np.int64)
    spare = np.empty((4, words), dtype=np.uint64)
    copy_rows(union_pa, dag[PA])
    copy_rows(transpose_bits(union_pa), dag[CH])
    pa, ch, ne = cpdag_bits(dag[PA], dag[CH])
    copy_rows(pa, p[PA])
    copy_rows(ch, p[CH])
    copy_rows(ne, p[NE])
    order = topological_bits(dag[PA], dag[CH])
    for place in range(n):
        places[0, place] = order[place]
        places[1, order[place]] = place
    done = 0
    for b in range(cuts.shape[0]):
        while done < cuts[b]:
            x, y = np.int64(xy[done, 0]), np.int64(xy[done, 1])  # as on the path: compiled once
            delete_in_class(p, dag, places, x, y, h[done], spare[3], spare)
            done += 1
        copy_rows(extend_bits(p[PA], p[CH], p[NE])[1], out[b])
    return out


@door_to_sets
def refusion_states(
    pa_inputs: Bits,
    ch_inputs: Bits,
    weights: Ints,
    arcs: Ints32,
    cuts: Ints,
    members: Ints,
    quorum: int,
) -> Bits:
    """Parents [B, n, W] of the unrestricted fusion of the inputs pruned by cuts[b] deletions.

    `arcs` int32 [m, 4]: (step, input, a, b), steps ascending. Inputs that have become equal are
    fused as one; while the order stays the same, only those that lost arcs get new I-maps.
    members, quorum: see `quorum_bits`; 1 is the union.
    """
    pa, ch = pa_inputs.copy(), ch_inputs.copy()
    r, n, words = pa.shape
    out = np.empty((cuts.shape[0], n, words), dtype=np.uint64)
    maps = np.empty(pa.shape, dtype=np.uint64)
    stale = np.ones(r, dtype=np.bool_)
    order = np.zeros(n, dtype=np.int64)
    draws = np.empty(0, dtype=np.float64)
    keys = np.zeros(r, dtype=np.uint64)
    changed = np.ones(r, dtype=np.bool_)
    done = 0
    for b in range(cuts.shape[0]):
        while done < arcs.shape[0] and arcs[done, 0] < cuts[b]:
            i, p, c = arcs[done, 1], arcs[done, 2], arcs[done, 3]
            clear_bit(pa[i, c], p)
            clear_bit(ch[i, p], c)
            changed[i] = True
            done += 1
        for i in range(r):
            if changed[i]:
                keys[i] = _key(pa[i])
                changed[i] = False
                stale[i] = True
        first, sums = _first_equal(pa, keys, weights)
        found = order_bits(_entries(pa, first), _entries(ch, first), sums, draws)
        for v in range(n):
            if found[v] != order[v]:
                stale[:] = True
                break
        order = found
        for i in first:
            if stale[i]:
                write_imap(pa[i], ch[i], order, maps[i])
                stale[i] = False
        if quorum > 1:
            counts = _first_equal(pa, keys, members)[1]
            copy_rows(quorum_bits(_entries(maps, first), counts, quorum), out[b])
        else:
            copy_rows(union_bits(_entries(maps, first)), out[b])
    return out


@inner
def _key(rows: Bits) -> int:
    """A number that equal graphs have in common."""
    key = ZERO
    for v in range(rows.shape[0]):
        for w in range(rows.shape[1]):
            key = (key ^ rows[v, w]) * MULTIPLIER
            key ^= key >> np.uint64(29)
    return key


@inner
def _are_equal(rows: Bits, others: Bits) -> bool:
    for v in range(rows.shape[0]):
        for w in range(rows.shape[1]):
            if rows[v, w] != others[v, w]:
                return False
    return True


@inner_with_arrays
def _entries(inputs: Bits, chosen: Ints) -> Bits:
    return inputs[chosen]


@inner_with_arrays
def _first_equal(pa: Bits, keys: Bits, weights: Ints) -> tuple[Ints, Ints]:
    """(the first of every class of equal graphs, the sum of the weights of its class)."""
    r = pa.shape[0]
    first = np.empty(r, dtype=np.int64)
    sums = np.zeros(r, dtype=np.int64)
    count = 0
    for i in range(r):
        place = 0
        while place < count and not (
            keys[first[place]] == keys[i] and _are_equal(pa[first[place]], pa[i])
        ):
            place += 1
        if place == count:
            first[count] = i
            count += 1
        sums[place] += weights[i]
    return first[:count], sums[:count]


@door_to_sets
def smhd_sums(states: Bits, votes: Ints, total: int, everything: int) -> Ints:
    """`smhd_sum` of every state, int64 [B]."""
    out = np.empty(states.shape[0], dtype=np.int64)
    for b in range(states.shape[0]):
        out[b] = smhd_sum(states[b], transpose_bits(states[b]), votes, total, everything)
    return out


@door_to_sets
def class_votes(pa: Bits, ch: Bits, weights: Ints) -> Ints:
    """int64 [2, n, n]: weight of the inputs whose CPDAG has a -> b, at [0], or a - b, at [1]."""
    r, n, words = pa.shape
    votes = np.zeros((2, n, n), dtype=np.int64)
    for i in range(r):
        _, directed, undirected = cpdag_bits(pa[i], ch[i])
        for a in range(n):
            for w in range(words):
                word = directed[a, w]
                while word != ZERO:
                    votes[0, a, (w << 6) + np.int64(first_bit(word))] += weights[i]
                    word &= word - ONE
                word = undirected[a, w]
                while word != ZERO:
                    votes[1, a, (w << 6) + np.int64(first_bit(word))] += weights[i]
                    word &= word - ONE
    return votes


@door_to_sets
def shd_sums(states: Bits, votes: Ints, total: int) -> Ints:
    """Sum of weighted SHD of every state's CPDAG to those of the inputs, int64 [B].

    A pair that a state does not join costs the weight of the inputs that join it; one that it joins
    costs the weight of the inputs that do not join it in the same way.
    """
    count, n, words = states.shape
    joined = np.zeros((n, n), dtype=np.int64)
    everything = np.int64(0)
    for a in range(n):
        for b in range(n):
            joined[a, b] = votes[0, a, b] + votes[0, b, a] + votes[1, a, b]
            if b < a:
                everything += joined[a, b]
    out = np.empty(count, dtype=np.int64)
    for k in range(count):
        cost = everything
        _, directed, undirected = cpdag_bits(states[k], transpose_bits(states[k]))
        for a in range(n):
            for w in range(words):
                word = directed[a, w]
                while word != ZERO:
                    b = (w << 6) + np.int64(first_bit(word))
                    cost += total - votes[0, a, b] - joined[a, b]
                    word &= word - ONE
                word = undirected[a, w]
                while word != ZERO:
                    b = (w << 6) + np.int64(first_bit(word))
                    if a < b:
                        cost += total - votes[1, a, b] - joined[a, b]
                    word &= word - ONE
        out[k] = cost
    return out
