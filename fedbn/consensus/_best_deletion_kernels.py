"""The Greedy Delete: best-first search for the next operator, and its application.

Public caller: `mcbnc.py`. What is kept, and why so little need be computed: `_engine.py`.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Ints
from fedbn.consensus._bound_kernels import evaluate, invalidate, make_root
from fedbn.consensus._difference_kernels import mark_differences
from fedbn.consensus._engine import (
    AFTER,
    CH,
    DEAD,
    FIRST,
    FREE,
    K_MAX,
    KIND,
    NA,
    NE,
    OPERATOR,
    OWNER,
    PA,
    PAX,
    REST,
    SLACK,
    STEPS,
    UNKNOWN,
    USED_SLOTS,
    Engine,
    H,
    Scratch,
    U,
    X,
    Y,
)
from fedbn.consensus._input_kernels import prune_inputs
from fedbn.consensus._moral_kernels import fill_graph
from fedbn.consensus._pattern_kernels import delete_in_pattern, describe
from fedbn.consensus._slot_kernels import comes_before, operator_of, size_of
from fedbn.consensus._split_kernels import split
from fedbn.graphs._bit_kernels import ONE, ZERO, first_bit, has_bit
from fedbn.graphs._cpdag_kernels import topological_bits
from fedbn.kernel_door import door_to_sets
from fedbn.kernel_parts import inner

DONE, LIMIT, NO_SLOT, PAUSE, BROKEN = 0, 1, 2, 3, 4
SPLIT_AT_ONCE = 2  # families of so few undecided elements are split without computing their cuts
ONE_BY_ONE = np.int64(1)  # stride
TOP = np.int64(0)  # of the heap
GUIDES = 160  # about so many inputs say on which element a family is split


@door_to_sets
def prepare(e: Engine, s: Scratch) -> None:
    """Fill what follows from PA and CH of the inputs, the weights and P."""
    r, n = e.topo.shape
    for i in range(r):
        g = e.graphs[i]
        fill_graph(g)
        topological = topological_bits(g[PA], g[CH])
        for v in range(n):
            e.topo[i, v] = topological[v]
            for w in range(g.shape[2]):
                word = g[PA, v, w]
                while word != ZERO:
                    p = (w << 6) + np.int64(first_bit(word))
                    word &= word - ONE
                    e.votes[p, v] += e.weights[i]
                    e.votes[v, p] += e.weights[i]
        mark_differences(e, i)
    fill_graph(e.typical)
    topological = topological_bits(e.typical[PA], e.typical[CH])
    order = topological_bits(e.dag[PA], e.dag[CH])
    for place in range(n):
        e.typical_topo[place] = topological[place]
        e.places[0, place] = order[place]
        e.places[1, order[place]] = place
    slots = e.slots.shape[0]
    for k in range(slots):
        e.slots[k, OWNER] = -1
        e.slots[k, AFTER] = k + 1
    e.slots[slots - 1, AFTER] = -1
    e.counters[FREE] = 0
    count = np.int64(0)
    for y in range(n):
        for x in range(n):
            if has_bit(e.p[PA, y], x) or (x < y and has_bit(e.p[NE, y], x)):
                _make_edge(e, count, x, y, s)
                count += 1


@inner
def _make_edge(e: Engine, number: int, x: int, y: int, s: Scratch) -> None:
    """The edge x -> y or x - y of P, with its one slot."""
    e.edge[x, y] = number
    e.edge[y, x] = number
    e.edges[number, X] = x
    e.edges[number, Y] = y
    e.edges[number, FIRST] = -1
    for i in range(e.weights.shape[0]):
        if has_bit(e.graphs[i, PA, x], y) or has_bit(e.graphs[i, PA, y], x):
            e.joined[number, i] = 1
    describe(e, x, y, e.edge_sets[number, NA], e.edge_sets[number, PAX])
    make_root(e, number, s)


@door_to_sets
def collapse(e: Engine, s: Scratch) -> None:
    """Keep one slot per edge. Results stay the same."""
    for number in range(e.edges.shape[0]):
        if e.edges[number, FIRST] >= 0:
            make_root(e, number, s)


@inner
def _sift_down(e: Engine, heap: Ints, size: int, place: int) -> None:
    slot = heap[place]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and comes_before(e, heap[child + 1], heap[child]):
            child += 1
        if not comes_before(e, heap[child], slot):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = slot


@inner
def _push(e: Engine, heap: Ints, size: int, slot: int) -> None:
    place = size
    while place > 0 and comes_before(e, slot, heap[(place - 1) >> 1]):
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap[place] = slot


@inner
def _pop(e: Engine, heap: Ints, size: int) -> int:
    """Take the top away; the size that remains."""
    size -= 1
    heap[0] = heap[size]
    if size > 0:
        _sift_down(e, heap, size, TOP)
    return size


@inner
def _fill_heap(e: Engine, heap: Ints) -> tuple[int, int]:
    """All slots with a bound up to a known operator's value: (their number, that value)."""
    best = DEAD - 1
    slots = e.counters[USED_SLOTS]
    for k in range(slots):
        if e.slots[k, OWNER] >= 0 and e.bound[k] < best and _is_exact_operator(e, k):
            best = e.bound[k]
    size = np.int64(0)
    for k in range(slots):
        if e.slots[k, OWNER] >= 0 and e.bound[k] <= best:
            heap[size] = k
            size += 1
    for place in range(size // 2 - 1, -1, -1):
        _sift_down(e, heap, size, place)
    return size, best


@inner
def _is_exact_operator(e: Engine, slot: int) -> bool:
    return e.slots[slot, KIND] == OPERATOR and e.slots[slot, UNKNOWN] == 0


@inner
def _is_to_be_split(e: Engine, slot: int) -> bool:
    """Whether computing more of its cuts would not help a family, or hardly."""
    if e.slots[slot, KIND] == OPERATOR:
        return False
    small = size_of(e.sets[slot, U]) <= SPLIT_AT_ONCE
    return small or e.slots[slot, UNKNOWN] == 0 or size_of(e.sets[slot, H]) >= e.limits[K_MAX]


@inner
def _guide(e: Engine, slot: int, heap: Ints, size: int, s: Scratch) -> int:
    """Cuts of the operator H of a REST in some inputs, which guide its splits; cuts made."""
    whole = operator_of(e, slot)
    if whole < 0 or e.bound[whole] == DEAD or e.slots[whole, UNKNOWN] == 0:
        return 0
    made = evaluate(e, whole, DEAD, max(1, e.weights.shape[0] // GUIDES), s)
    for place in range(size):
        if heap[place] == whole:
            _sift_down(e, heap, size, place)
            break
    return made


@inner
def _split_top(e: Engine, heap: Ints, size: int, s: Scratch) -> int:
    """Split the family on top of the heap; the heap's new size."""
    top = heap[0]
    made = split(e, top, s)
    if e.bound[top] == DEAD:
        size = _pop(e, heap, size)
    else:
        _sift_down(e, heap, size, TOP)
    if made >= 0 and e.bound[made] != DEAD:
        _push(e, heap, size, made)
        size += 1
    return size


@inner
def _find_best(e: Engine, heap: Ints, patience: int, s: Scratch) -> tuple[int, int]:
    """The best operator: (code, slot).

    The search ends at the first operator on top of the heap that is exact: no slot that is left
    can hold one before it in the order (Ψ, x, y, H). Bounds of slots in the heap only grow.
    """
    size, best = _fill_heap(e, heap)
    while size > 0 and e.bound[heap[0]] <= best:
        top = heap[0]
        if _is_exact_operator(e, top):
            return DONE, top
        if patience <= 0:
            return PAUSE, -1
        if _is_to_be_split(e, top):
            if e.counters[FREE] < 0:
                return NO_SLOT, -1
            if e.slots[top, KIND] == REST:
                patience -= _guide(e, top, heap, size, s)
            size = _split_top(e, heap, size, s)
        else:
            limit = best
            for child in range(1, min(3, size)):
                limit = min(limit, e.bound[heap[child]] + e.limits[SLACK])
            patience -= evaluate(e, top, limit, ONE_BY_ONE, s)
            if _is_exact_operator(e, top):
                best = min(best, e.bound[top])
            _sift_down(e, heap, size, TOP)
    return BROKEN, -1


@door_to_sets
def advance(e: Engine, s: Scratch, steps: int, patience: int, largest: int) -> int:
    """Up to `steps` deletions: DONE (no edge left), LIMIT (steps made, or the next Ψ > largest),
    NO_SLOT (more slots are needed; call again with larger arrays), PAUSE (more than `patience`
    minimum cuts in one step; call again), BROKEN (must not happen).

    `largest`: bound on Ψ in integer units.
    """
    r, n = e.topo.shape
    words = e.p.shape[2]
    heap = np.empty(e.slots.shape[0], dtype=np.int64)
    lost = np.empty(r, dtype=np.int32)
    gone = np.empty((r + 1, words), dtype=np.uint64)
    found = np.empty((n * n // 2 + 1, 2), dtype=np.int32)
    for _ in range(steps):
        step = e.counters[STEPS]
        if step == e.steps.shape[0]:
            return DONE
        code, slot = _find_best(e, heap, patience, s)
        if code != DONE:
            return code
        if e.bound[slot] > largest:
            return LIMIT
        _record(e, slot)
        x, y = e.steps[step, 0], e.steps[step, 1]
        changed = prune_inputs(e, slot, x, y, s, lost, gone, found)
        invalidate(e, lost, changed, gone)
        if not delete_in_pattern(e, x, y, e.step_h[step], s):
            return BROKEN
        e.counters[STEPS] = step + 1
    return DONE if e.counters[STEPS] == e.steps.shape[0] else LIMIT


@inner
def _record(e: Engine, slot: int) -> None:
    """Write down the deletion that a slot holds."""
    step, number = e.counters[STEPS], e.slots[slot, OWNER]
    e.steps[step, 0] = e.edges[number, X]
    e.steps[step, 1] = e.edges[number, Y]
    e.steps[step, 2] = e.bound[slot]
    for w in range(e.step_h.shape[1]):
        e.step_h[step, w] = e.sets[slot, H, w]
