"""Greedy search over equivalence classes on bitsets: the compiled side of `ges.py` and `xges.py`.

Notation of Chickering (2002): Ne(y) undirected neighbours, Pa(y) parents, Adj(x) either kind or
children, NA_yx = Ne(y) ∩ Adj(x). Sets are rows of uint64 words. The definitions of the operators,
written out one by one, are in `operators.py`; here they are enumerated.

What makes it fast, and exact:
- For one y, every clique S of Ne(y) is met once; it serves all x with NA_yx ⊆ S at one time
  (T = S \\ NA_yx), so S ∪ Pa(y) is counted once for all of them.
- Operators with a positive gain stay on record per pair (x, y). A step makes the record of a pair
  void exactly if it changed something that its operators depend on.
- Condition (2), the paths from y to x, depends on the whole graph. It is tested when an operator
  is about to be chosen; one open path is kept and looked at first the next time.
- A DAG of the class is carried along. A step reorders only the chain components that it concerns
  (Hauser & Bühlmann 2012, section 4): a perfect order that begins with the clique C that the
  operator asks for, so no search for an extension is needed; then the CPDAG is labelled anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fedbn.graphs._kernels import (
    clear_bit,
    cpdag_bits,
    extend_bits,
    first_bit,
    has_bit,
    popcount,
    set_bit,
    transposed_bits,
)
from fedbn.scores._kernels import Integer, Tables, inner, joint_pairs, local

INSERT, DELETE, TURN = 0, 1, 2
DONE, PAUSED, BROKEN, FULL = 0, 1, 2, 3  # FULL + kind: the record of that kind must grow
PATH_NODES = 16  # longer open paths are not kept
TOLERANCE = 1e-9  # of 1 + |score|
ZERO = np.uint64(0)
ALL = ~ZERO
Bits = NDArray[np.uint64]


class Graph(NamedTuple):
    """A CPDAG and a DAG of its class, and scratch; n nodes, W words."""

    dag_pa: Bits  # [n, W]
    dag_ch: Bits
    pa: Bits  # [n, W]: of the CPDAG
    ch: Bits
    ne: Bits
    adj: Bits
    queue: NDArray[np.int64]  # [n]
    before: NDArray[np.int64]  # [n]
    rank: NDArray[np.int64]  # [n]


class Record(NamedTuple):
    """Operators of one kind with a positive gain, per pair [y, x], as linked lists."""

    head: NDArray[np.int32]  # [n, n] first operator of the pair, or -1
    best: NDArray[np.float64]  # [n, n] greatest gain of the pair, or -inf
    row_best: NDArray[np.float64]  # [n]
    stale: Bits  # [n, W]: the x whose pair [y, x] must be looked at again
    gain: NDArray[np.float64]  # [capacity]
    sets: Bits  # [capacity, W]: T of Insert, H of Delete, C of Turn
    path: NDArray[np.int32]  # [capacity, PATH_NODES]
    path_length: NDArray[np.int32]  # [capacity]: 0 if no open path is known
    following: NDArray[np.int32]  # [capacity]
    free: NDArray[np.int64]  # [1] first free entry, or -1


class Rules(NamedTuple):
    """Limits, background knowledge, and how ties are broken."""

    max_parents: int
    max_t: int
    hit: NDArray[np.int64]  # [2]: how often max_parents and max_t left an operator out
    floor: float  # a gain at most this is not kept: 0 in a search, -inf to see all operators
    constrained: bool
    forbidden: Bits  # [n, W]: row y has x if x -> y is forbidden
    required: Bits  # [n, W]: row y has x if x -> y is required
    apart: Bits  # [n, W] symmetric: never adjacent
    together: Bits  # [n, W] symmetric: always adjacent
    random_ties: bool
    random: NDArray[np.uint64]  # [1] SplitMix64


class Scratch(NamedTuple):
    """Work space of the enumeration."""

    choice: Bits  # [n + 1, W]: what may join the clique, by depth
    chosen: NDArray[np.int64]  # [n + 1]: the clique
    parents: NDArray[np.int64]  # [n + 2]
    xs: NDArray[np.int64]  # [n]
    full: NDArray[np.float64]  # [n]
    part: NDArray[np.float64]  # [n]


# ---- sets ------------------------------------------------------------------------------------


@inner
def _first(w: Integer, word: Integer) -> Integer:
    """The smallest element of a set whose word number w is `word`, which is not zero."""
    return (w << 6) + np.int64(first_bit(word))


@inner
def _members(row: Bits, out: NDArray[np.int64]) -> int:
    """out := the elements, ascending; returns how many."""
    k: Integer = np.int64(0)
    for w in range(row.shape[0]):
        word = row[w]
        while word != ZERO:
            out[k] = _first(w, word)
            word &= word - np.uint64(1)
            k += 1
    return int(k)


@inner
def _size(row: Bits) -> int:
    count = ZERO
    for w in range(row.shape[0]):
        count += popcount(row[w])
    return int(count)


@inner
def _any(row: Bits) -> bool:
    union = ZERO
    for w in range(row.shape[0]):
        union |= row[w]
    return bool(union != ZERO)


@inner
def _comes_before(left: Bits, right: Bits) -> bool:
    """Whether the sorted elements of `left` come before those of `right`, as words do."""
    words = left.shape[0]
    for w in range(words):
        differ = left[w] ^ right[w]
        if differ != ZERO:
            bit = first_bit(differ)
            in_left = (left[w] >> bit) & np.uint64(1) != ZERO
            other = right if in_left else left
            more = (other[w] >> bit) != ZERO
            for v in range(w + 1, words):
                more = more or other[v] != ZERO
            return bool(in_left == more)
    return False


# ---- the record ------------------------------------------------------------------------------


@inner
def _drop_stale(record: Record, y: Integer) -> None:
    """Forget the operators of the stale pairs of row y."""
    for w in range(record.stale.shape[1]):
        word = record.stale[y, w]
        while word != ZERO:
            x = _first(w, word)
            word &= word - np.uint64(1)
            if x >= record.head.shape[0]:
                break
            entry = record.head[y, x]
            while entry >= 0:
                following = record.following[entry]
                record.following[entry] = np.int32(record.free[0])
                record.free[0] = entry
                entry = following
            record.head[y, x] = -1
            record.best[y, x] = -np.inf


@inner
def _keep(record: Record, y: Integer, x: Integer, gain: float, chosen: Bits) -> bool:
    """Put an operator on record; False if there is no room."""
    entry = record.free[0]
    if entry < 0:
        return False
    record.free[0] = record.following[entry]
    record.gain[entry] = gain
    record.sets[entry] = chosen
    record.path_length[entry] = 0
    record.following[entry] = record.head[y, x]
    record.head[y, x] = np.int32(entry)
    if gain > record.best[y, x]:
        record.best[y, x] = gain
    return True


@inner
def _close_row(record: Record, y: Integer) -> None:
    """Row y is up to date."""
    record.stale[y, :] = ZERO
    best = float(-np.inf)
    for x in range(record.best.shape[1]):
        best = max(best, float(record.best[y, x]))
    record.row_best[y] = best


# ---- enumeration -----------------------------------------------------------------------------


@inner
def _next_clique(g: Graph, scratch: Scratch, depth: Integer, clique: Bits, deeper: bool) -> int:
    """The next clique in lexicographic order, from `depth` chosen nodes; -1 after the last.

    `choice[d]` has the nodes that may be chosen as number d: greater than those tried before and
    adjacent to all chosen ones. Without `deeper` the present clique is not extended.
    """
    words = clique.shape[0]
    while True:
        if deeper:
            for w in range(words):
                word = scratch.choice[depth, w]
                if word != ZERO:
                    v = _first(w, word)
                    clear_bit(scratch.choice[depth], v)
                    for u in range(words):
                        scratch.choice[depth + 1, u] = scratch.choice[depth, u] & g.adj[v, u]
                    scratch.chosen[depth] = v
                    set_bit(clique, v)
                    return int(depth + 1)
        if depth == 0:
            return -1
        depth -= 1
        clear_bit(clique, int(scratch.chosen[depth]))
        deeper = True


@inner
def _family(g: Graph, y: Integer, clique: Bits, out: NDArray[np.int64]) -> int:
    """out := Pa(y) ∪ clique, ascending; returns its size."""
    k: Integer = np.int64(0)
    for w in range(clique.shape[0]):
        word = g.pa[y, w] | clique[w]
        while word != ZERO:
            out[k] = _first(w, word)
            word &= word - np.uint64(1)
            k += 1
    return int(k)


@inner
def refresh_inserts(
    t: Tables, g: Graph, record: Record, rules: Rules, scratch: Scratch, y: Integer
) -> bool:
    """Look at Insert(x, y, T) for the stale pairs of row y; False if the record is full."""
    n, words = g.adj.shape
    _drop_stale(record, y)
    look = np.empty(words, dtype=np.uint64)
    clique = np.zeros(words, dtype=np.uint64)
    chosen = np.empty(words, dtype=np.uint64)
    candidates = np.empty(n, dtype=np.int64)
    for w in range(words):
        look[w] = record.stale[y, w] & ~g.adj[y, w] & ~rules.apart[y, w]
        scratch.choice[0, w] = g.ne[y, w]
    if n & 63:
        look[words - 1] &= (np.uint64(1) << np.uint64(n & 63)) - np.uint64(1)
    clear_bit(look, y)
    total = _members(look, candidates)
    depth: Integer = np.int64(0 if total > 0 else -1)
    while depth >= 0:
        k = _family(g, y, clique, scratch.parents)
        m = np.int64(0)
        for i in range(total):
            x = candidates[i]
            inside = True
            size = np.int64(0)
            for w in range(words):
                na = g.ne[y, w] & g.adj[x, w]
                if na & ~clique[w] != ZERO:
                    inside = False
                size += np.int64(popcount(clique[w] & ~na))
            if inside and size > rules.max_t:
                rules.hit[1] += 1
            elif inside:
                scratch.xs[m] = x
                m += 1
        if m > 0 and k >= rules.max_parents:
            rules.hit[0] += 1
        elif m > 0:
            joint_pairs(t, y, scratch.parents, k, scratch.xs, m, scratch.full, scratch.part)
            base = local(t, y, scratch.parents, k)
            for i in range(m):
                gain = scratch.full[i] - scratch.part[i] - base
                if gain > rules.floor:
                    x = scratch.xs[i]
                    for w in range(words):
                        chosen[w] = clique[w] & ~g.adj[x, w]
                    if not _keep(record, y, x, gain, chosen):
                        return False
        depth = _next_clique(g, scratch, depth, clique, k < rules.max_parents)
    _close_row(record, y)
    return True


@inner
def refresh_deletes(
    t: Tables, g: Graph, record: Record, rules: Rules, scratch: Scratch, y: Integer
) -> bool:
    """Look at Delete(x, y, H) for the stale pairs of row y; False if the record is full."""
    n, words = g.adj.shape
    _drop_stale(record, y)
    look = np.empty(words, dtype=np.uint64)
    clique = np.zeros(words, dtype=np.uint64)
    chosen = np.empty(words, dtype=np.uint64)
    candidates = np.empty(n, dtype=np.int64)
    for w in range(words):
        look[w] = record.stale[y, w] & (g.pa[y, w] | g.ne[y, w]) & ~rules.together[y, w]
    total = _members(look, candidates)
    for i in range(total):
        x = candidates[i]
        for w in range(words):
            scratch.choice[0, w] = g.ne[y, w] & g.adj[x, w]
        na = scratch.choice[0].copy()
        depth: Integer = np.int64(0)
        clique[:] = ZERO
        while depth >= 0:
            k = _family(g, y, clique, scratch.parents)
            if has_bit(g.pa[y], x):
                position = 0
                while scratch.parents[position] != x:
                    position += 1
                for a in range(position, k - 1):
                    scratch.parents[a] = scratch.parents[a + 1]
                k -= 1
            without = local(t, y, scratch.parents, k)
            scratch.parents[k] = x
            gain = without - local(t, y, scratch.parents, k + 1)
            if gain > rules.floor:
                for w in range(words):
                    chosen[w] = na[w] & ~clique[w]
                if not _keep(record, y, x, gain, chosen):
                    return False
            depth = _next_clique(g, scratch, depth, clique, True)
    _close_row(record, y)
    return True


@inner
def _separates(g: Graph, y: Integer, x: Integer, clique: Bits) -> bool:
    """Whether C ∩ NA_yx separates C \\ NA_yx and NA_yx \\ C in the graph over Ne(y) \\ {x}."""
    words = clique.shape[0]
    reached = np.empty(words, dtype=np.uint64)
    around = np.empty(words, dtype=np.uint64)
    for w in range(words):
        na = g.ne[y, w] & g.adj[x, w]
        reached[w] = clique[w] & ~na
        around[w] = g.ne[y, w] & ~(clique[w] & na)
    clear_bit(around, x)
    grown = True
    while grown:
        grown = False
        for w in range(words):
            word = reached[w]
            while word != ZERO:
                v = _first(w, word)
                word &= word - np.uint64(1)
                for u in range(words):
                    more = g.adj[v, u] & around[u] & ~reached[u]
                    if more != ZERO:
                        reached[u] |= more
                        grown = True
    met = ZERO
    for w in range(words):
        met |= reached[w] & g.ne[y, w] & g.adj[x, w] & ~clique[w]
    return bool(met == ZERO)


@inner
def _turn_gain(
    t: Tables, g: Graph, scratch: Scratch, y: Integer, x: Integer, clique: Bits
) -> float:
    """The gain of Turn(x, y, C): two terms, of y and of x."""
    words = clique.shape[0]
    k = _family(g, y, clique, scratch.parents)
    gain = -local(t, y, scratch.parents, k)
    scratch.parents[k] = x
    gain += local(t, y, scratch.parents, k + 1)
    first = np.zeros(words, dtype=np.uint64)
    if has_bit(g.ne[y], x):
        for w in range(words):
            first[w] = clique[w] & g.adj[x, w]
    k = _family(g, x, first, scratch.parents)
    others = np.int64(0)
    for a in range(k):
        if scratch.parents[a] != y:
            scratch.parents[others] = scratch.parents[a]
            others += 1
    gain += local(t, x, scratch.parents, others)
    scratch.parents[others] = y
    return gain - local(t, x, scratch.parents, others + 1)


@inner
def _turn_fits(g: Graph, rules: Rules, y: Integer, x: Integer, clique: Bits) -> bool:
    """The conditions of Turn(x, y, C) on Ne(y) alone: C is a clique of Ne(y) by construction."""
    words = clique.shape[0]
    if has_bit(clique, x):
        return False
    inside = True
    beyond = np.int64(0)
    for w in range(words):
        na = g.ne[y, w] & g.adj[x, w]
        if na & ~clique[w] != ZERO:
            inside = False
        beyond += np.int64(popcount(clique[w] & ~na))
    undirected = has_bit(g.ne[y], x)
    if undirected and (beyond == 0 or not _separates(g, y, x, clique)):
        return False
    if not undirected and not inside:
        return False
    if beyond > rules.max_t:
        rules.hit[1] += 1
        return False
    return True


@inner
def refresh_turns(
    t: Tables, g: Graph, record: Record, rules: Rules, scratch: Scratch, y: Integer
) -> bool:
    """Look at Turn(x, y, C) for the stale pairs of row y; False if the record is full."""
    n, words = g.adj.shape
    _drop_stale(record, y)
    look = np.empty(words, dtype=np.uint64)
    clique = np.zeros(words, dtype=np.uint64)
    candidates = np.empty(n, dtype=np.int64)
    for w in range(words):
        look[w] = record.stale[y, w] & (g.ch[y, w] | g.ne[y, w])
        scratch.choice[0, w] = g.ne[y, w]
    total = _members(look, candidates)
    depth: Integer = np.int64(0 if total > 0 else -1)
    while depth >= 0:
        k = _size(g.pa[y]) + depth
        for i in range(total):
            x = candidates[i]
            if not _turn_fits(g, rules, y, x, clique):
                continue
            if k >= rules.max_parents:
                rules.hit[0] += 1
                continue
            gain = _turn_gain(t, g, scratch, y, x, clique)
            if gain > rules.floor and not _keep(record, y, x, gain, clique):
                return False
        depth = _next_clique(g, scratch, depth, clique, k < rules.max_parents)
    _close_row(record, y)
    return True


# ---- choice ----------------------------------------------------------------------------------


@inner
def _is_open(g: Graph, record: Record, entry: Integer) -> bool:
    """Whether the path on record is still semi-directed; what it avoids has not changed."""
    length = record.path_length[entry]
    if length == 0:
        return False
    for i in range(length - 1):
        a, b = record.path[entry, i], record.path[entry, i + 1]
        if not (has_bit(g.ch[a], b) or has_bit(g.ne[a], b)):
            return False
    return True


@inner
def _find_path(
    g: Graph, record: Record, entry: Integer, y: Integer, x: Integer, blocked: Bits, direct: bool
) -> bool:
    """A shortest semi-directed path from y to x outside `blocked`, put on record.

    Without `direct` the edge from y to x itself does not count.
    """
    words = blocked.shape[0]
    unseen = ~blocked
    clear_bit(unseen, y)
    head, tail = 0, 1
    g.queue[0] = y
    while head < tail:
        u = g.queue[head]
        head += 1
        for w in range(words):
            word = (g.ch[u, w] | g.ne[u, w]) & unseen[w]
            while word != ZERO:
                v = _first(w, word)
                word &= word - np.uint64(1)
                if v == x and u == y and not direct:
                    continue
                clear_bit(unseen, v)
                g.before[v] = u
                if v == x:
                    _note_path(g, record, entry, y, x)
                    return True
                g.queue[tail] = v
                tail += 1
    record.path_length[entry] = 0
    return False


@inner
def _note_path(g: Graph, record: Record, entry: Integer, y: Integer, x: Integer) -> None:
    """Keep the path that `before` spells, if it is short enough."""
    length, v = 1, x
    while v != y:
        v = g.before[v]
        length += 1
    record.path_length[entry] = length if length <= PATH_NODES else 0
    if length <= PATH_NODES:
        v = x
        for i in range(length - 1, -1, -1):
            record.path[entry, i] = v
            v = g.before[v]


@inner
def is_valid(
    g: Graph, record: Record, rules: Rules, kind: Integer, y: Integer, x: Integer, entry: Integer
) -> bool:
    """What is left to test when an operator on record is to be used."""
    if kind == INSERT or (kind == TURN and not has_bit(g.ne[y], x)):
        if _is_open(g, record, entry):
            return False
        blocked = record.sets[entry].copy()
        for w in range(blocked.shape[0]):
            if kind == INSERT:
                blocked[w] |= g.ne[y, w] & g.adj[x, w]
            else:
                blocked[w] |= g.ne[x, w]
        if _find_path(g, record, entry, y, x, blocked, kind == INSERT):
            return False
    if rules.constrained:
        trial = Graph(
            g.dag_pa.copy(),
            g.dag_ch.copy(),
            g.pa.copy(),
            g.ch.copy(),
            g.ne.copy(),
            g.adj.copy(),
            g.queue,
            g.before,
            g.rank,
        )
        if not apply_operator(trial, kind, y, x, record.sets[entry]):
            return True  # the caller's own application reports it
        found, _, _ = constrained_extension(
            trial.pa, trial.ch, trial.ne, rules.forbidden, rules.required
        )
        return bool(found)
    return True


@inner
def _best_of_row(
    g: Graph, record: Record, rules: Rules, kind: Integer, y: Integer, least: float
) -> float:
    """The greatest gain above `least` of a valid operator of row y, or `least`."""
    for x in range(record.best.shape[1]):
        if record.best[y, x] <= least:
            continue
        entry = record.head[y, x]
        while entry >= 0:
            if record.gain[entry] > least and is_valid(g, record, rules, kind, y, x, entry):
                least = record.gain[entry]
            entry = record.following[entry]
    return least


@inner
def _next_random(rules: Rules) -> np.uint64:
    """SplitMix64."""
    rules.random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = rules.random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(z ^ (z >> np.uint64(31)))


@inner
def _choose(
    g: Graph, record: Record, rules: Rules, kind: Integer, tolerance: float
) -> tuple[int, int, int]:
    """(y, x, entry) of the operator to use, entry -1 if none gains more than the tolerance.

    Among the valid ones whose gain is within the tolerance of the greatest, the first by
    (y, x, set), or any at random.
    """
    n = record.best.shape[0]
    top = np.argmax(record.row_best)
    best = _best_of_row(g, record, rules, kind, top, tolerance)
    for y in range(n):
        if record.row_best[y] > best and y != top:
            best = _best_of_row(g, record, rules, kind, y, best)
    chosen_y, chosen_x, chosen, ties = -1, -1, np.int64(-1), 0
    if best <= tolerance:
        return int(chosen_y), int(chosen_x), int(chosen)
    least = max(best - tolerance, tolerance)
    for y in range(n):
        if record.row_best[y] < least:
            continue
        for x in range(n):
            if record.best[y, x] < least:
                continue
            entry = record.head[y, x]
            while entry >= 0:
                if record.gain[entry] >= least and is_valid(g, record, rules, kind, y, x, entry):
                    ties += 1
                    if rules.random_ties:
                        better = _next_random(rules) % np.uint64(ties) == ZERO
                    else:
                        better = chosen < 0 or _comes_before(
                            record.sets[entry], record.sets[chosen]
                        )
                    if better:
                        chosen_y, chosen_x, chosen = y, x, np.int64(entry)
                entry = record.following[entry]
            if chosen >= 0 and not rules.random_ties:
                return int(chosen_y), int(chosen_x), int(chosen)
    return int(chosen_y), int(chosen_x), int(chosen)


# ---- application -----------------------------------------------------------------------------


@inner
def _put_component_in_order(g: Graph, start: NDArray[np.int64], given: Integer) -> bool:
    """Direct the chain component of start[0] in the DAG by an order that begins with `start`.

    The rest follows by maximum cardinality (smallest index first). False unless the earlier
    neighbours of every node are a clique, that is, unless the order is perfect.
    """
    words = g.ne.shape[1]
    waiting = np.zeros(words, dtype=np.uint64)
    set_bit(waiting, start[0])
    head, size = 0, 1
    g.queue[0] = start[0]
    while head < size:
        v = g.queue[head]
        head += 1
        g.before[v] = 0
        for w in range(words):
            word = g.ne[v, w] & ~waiting[w]
            waiting[w] |= word
            while word != ZERO:
                g.queue[size] = _first(w, word)
                word &= word - np.uint64(1)
                size += 1
            g.dag_pa[v, w] &= ~g.ne[v, w]
            g.dag_ch[v, w] &= ~g.ne[v, w]
    for step in range(size):
        if step < given:
            v = start[step]
        else:
            v = np.int64(-1)
            for w in range(words):
                word = waiting[w]
                while word != ZERO:
                    u = _first(w, word)
                    word &= word - np.uint64(1)
                    if v < 0 or g.before[u] > g.before[v]:
                        v = u
        clear_bit(waiting, v)
        g.rank[v] = step
        last = np.int64(-1)
        for w in range(words):
            word = g.ne[v, w] & g.dag_pa[v, w]
            while word != ZERO:
                u = _first(w, word)
                word &= word - np.uint64(1)
                if last < 0 or g.rank[u] > g.rank[last]:
                    last = u
        for w in range(words):
            if last >= 0:
                others = g.ne[v, w] & g.dag_pa[v, w] & ~g.adj[last, w]
                if w == last >> 6:
                    others &= ~(np.uint64(1) << np.uint64(last & 63))
                if others != ZERO:
                    return False
            word = g.ne[v, w] & waiting[w]
            g.dag_ch[v, w] |= word
            while word != ZERO:
                u = _first(w, word)
                word &= word - np.uint64(1)
                set_bit(g.dag_pa[u], v)
                g.before[u] += 1
    return True


@inner
def _reaches(g: Graph, source: Integer, target: Integer) -> bool:
    """Whether the DAG has a directed path from source to target."""
    words = g.dag_ch.shape[1]
    seen = np.zeros(words, dtype=np.uint64)
    set_bit(seen, source)
    head, tail = 0, 1
    g.queue[0] = source
    while head < tail:
        u = g.queue[head]
        head += 1
        if u == target:
            return True
        for w in range(words):
            word = g.dag_ch[u, w] & ~seen[w]
            seen[w] |= word
            while word != ZERO:
                g.queue[tail] = _first(w, word)
                word &= word - np.uint64(1)
                tail += 1
    return False


@inner
def apply_operator(g: Graph, kind: Integer, y: Integer, x: Integer, chosen: Bits) -> bool:
    """Move g to the class that an operator leads to; False if the operator was not valid.

    The order of y's chain component begins with C, the neighbours of y that become its parents:
    NA_yx ∪ T of Insert, NA_yx \\ H of Delete (then x, if x - y), C of Turn.
    """
    n, words = g.adj.shape
    start = np.empty(n, dtype=np.int64)
    clique = chosen.copy()
    for w in range(words):
        if kind == INSERT:
            clique[w] |= g.ne[y, w] & g.adj[x, w]
        elif kind == DELETE:
            clique[w] = g.ne[y, w] & g.adj[x, w] & ~chosen[w]
    k = _members(clique, start)
    undirected = has_bit(g.ne[y], x)
    if kind == DELETE and undirected:
        start[k] = x
        k += 1
    start[k] = y
    k += 1
    if kind == TURN and undirected:
        start[k] = x
        k += 1
    if not _put_component_in_order(g, start, k):
        return False
    if kind == TURN and not undirected:
        start[0] = x
        if not _put_component_in_order(g, start, np.int64(1)):
            return False
    if kind == DELETE:
        clear_bit(g.dag_pa[y], x)
        clear_bit(g.dag_ch[x], y)
        clear_bit(g.adj[y], x)
        clear_bit(g.adj[x], y)
    else:
        if kind == TURN:
            clear_bit(g.dag_pa[x], y)
            clear_bit(g.dag_ch[y], x)
        if _reaches(g, y, x):
            return False
        set_bit(g.dag_pa[y], x)
        set_bit(g.dag_ch[x], y)
        set_bit(g.adj[y], x)
        set_bit(g.adj[x], y)
    pa, ch, ne = cpdag_bits(g.dag_pa, g.dag_ch)
    g.pa[:] = pa
    g.ch[:] = ch
    g.ne[:] = ne
    return True


@inner
def _mark_stale(
    record: Record, g: Graph, kind: Integer, changed: Bits, y: Integer, x: Integer, skeleton: bool
) -> None:
    """Void the pairs whose operators may have changed.

    `changed` has the nodes v with another Pa(v) or Ne(v). With the skeleton, NA_vx changes where
    y is in Ne(v), NA_vy where x is, and the cliques of Ne(v) where both are.
    """
    n, words = g.adj.shape
    for v in range(n):
        if has_bit(changed, v):
            record.stale[v, :] = ALL
        elif kind == TURN:  # its gain has a term of x
            for w in range(words):
                record.stale[v, w] |= changed[w]
        if skeleton:
            near_x, near_y = has_bit(g.ne[v], x), has_bit(g.ne[v], y)
            if near_x and near_y:
                record.stale[v, :] = ALL
            if near_y or v == y:
                set_bit(record.stale[v], x)
            if near_x or v == x:
                set_bit(record.stale[v], y)


@njit(cache=True, nogil=True)
def look_at_row(
    t: Tables, g: Graph, record: Record, rules: Rules, scratch: Scratch, kind: Integer, y: Integer
) -> bool:
    """Put row y of one kind on record; False if the record is full."""
    if kind == INSERT:
        return bool(refresh_inserts(t, g, record, rules, scratch, y))
    if kind == DELETE:
        return bool(refresh_deletes(t, g, record, rules, scratch, y))
    return bool(refresh_turns(t, g, record, rules, scratch, y))


@njit(cache=True, nogil=True)
def climb(
    t: Tables,
    g: Graph,
    inserts: Record,
    deletes: Record,
    turns: Record,
    kinds: NDArray[np.int64],
    rules: Rules,
    scratch: Scratch,
    score: NDArray[np.float64],
    steps: NDArray[np.int64],
    budget: int,
) -> int:
    """Take the best operator of the first kind that has one, until no kind has one.

    score [1] and steps [3] (per kind) go on from where they are. A negative budget has no end;
    otherwise PAUSED is returned once so many sets have been counted or rows looked at.
    """
    n = g.adj.shape[0]
    end = t.counters[1] + budget
    while True:
        moved = False
        for i in range(kinds.size):
            kind: Integer = kinds[i]
            record = inserts if kind == INSERT else (deletes if kind == DELETE else turns)
            for y in range(n):
                if not _any(record.stale[y]):
                    continue
                if budget >= 0 and t.counters[1] > end:
                    return PAUSED
                fits = look_at_row(t, g, record, rules, scratch, kind, y)
                if not fits:
                    return int(FULL + kind)
                if budget >= 0:
                    t.counters[1] += 1
            y, x, entry = _choose(g, record, rules, kind, TOLERANCE * (1.0 + abs(score[0])))
            if entry < 0:
                continue
            gain = record.gain[entry]
            if not _step(g, inserts, deletes, turns, kind, y, x, record.sets[entry].copy()):
                return BROKEN
            score[0] += gain
            steps[kind] += 1
            moved = True
            break
        if not moved:
            return DONE


@inner
def _step(
    g: Graph,
    inserts: Record,
    deletes: Record,
    turns: Record,
    kind: Integer,
    y: Integer,
    x: Integer,
    chosen: Bits,
) -> bool:
    """Apply an operator and void what it touched."""
    n, words = g.adj.shape
    pa, ne = g.pa.copy(), g.ne.copy()
    if not apply_operator(g, kind, y, x, chosen):
        return False
    changed = np.zeros(words, dtype=np.uint64)
    for v in range(n):
        for w in range(words):
            if pa[v, w] != g.pa[v, w] or ne[v, w] != g.ne[v, w]:
                set_bit(changed, v)
    _mark_stale(inserts, g, np.int64(INSERT), changed, y, x, kind != TURN)
    _mark_stale(deletes, g, np.int64(DELETE), changed, y, x, kind != TURN)
    _mark_stale(turns, g, np.int64(TURN), changed, y, x, kind != TURN)
    return True


# ---- background knowledge --------------------------------------------------------------------


@njit(cache=True, nogil=True)
def constrained_extension(
    pa: Bits, ch: Bits, ne: Bits, forbidden: Bits, required: Bits
) -> tuple[bool, Bits, Bits]:
    """A DAG of the class of a CPDAG without forbidden and with all required edges, if any.

    Undirected edges that knowledge directs are directed; that must make no new collider; then
    Dor and Tarsi's extension decides.
    """
    n, words = pa.shape
    new_pa, new_ne = pa.copy(), ne.copy()
    for v in range(n):
        for w in range(words):
            if pa[v, w] & forbidden[v, w] != ZERO:
                return False, pa, ch
            if required[v, w] & ~(pa[v, w] | ne[v, w]) != ZERO:
                return False, pa, ch
            word = ne[v, w]
            while word != ZERO:
                u = _first(w, word)
                word &= word - np.uint64(1)
                if has_bit(required[v], u) or has_bit(forbidden[u], v):
                    if has_bit(forbidden[v], u) or has_bit(required[u], v):
                        return False, pa, ch
                    set_bit(new_pa[v], u)
                    clear_bit(new_ne[v], u)
                    clear_bit(new_ne[u], v)
    for v in range(n):
        for w in range(words):
            word = new_pa[v, w] & ~pa[v, w]
            while word != ZERO:
                u = _first(w, word)
                word &= word - np.uint64(1)
                for i in range(words):
                    others = new_pa[v, i] & ~(pa[u, i] | ch[u, i] | ne[u, i])
                    if i == u >> 6:
                        others &= ~(np.uint64(1) << np.uint64(u & 63))
                    if others != ZERO:
                        return False, pa, ch
    found, dag_pa, dag_ch = extend_bits(new_pa, transposed_bits(new_pa), new_ne)
    return found, dag_pa, dag_ch


@njit(cache=True, nogil=True)
def settle(g: Graph) -> bool:
    """Make the DAG of g the one that depends on the CPDAG alone: each chain component in order
    of maximum cardinality from its smallest node."""
    n, words = g.adj.shape
    start = np.empty(1, dtype=np.int64)
    done = np.zeros(words, dtype=np.uint64)
    for v in range(n):
        if has_bit(done, v) or not _any(g.ne[v]):
            continue
        start[0] = v
        if not _put_component_in_order(g, start, np.int64(1)):
            return False
        queue = np.empty(n, dtype=np.int64)
        queue[0] = v
        set_bit(done, v)
        head, tail = 0, 1
        while head < tail:
            u = queue[head]
            head += 1
            for w in range(words):
                word = g.ne[u, w] & ~done[w]
                done[w] |= word
                while word != ZERO:
                    queue[tail] = _first(w, word)
                    word &= word - np.uint64(1)
                    tail += 1
    return True


@njit(cache=True, nogil=True)
def total(t: Tables, dag_pa: Bits) -> float:
    """Σ_y s(y, Pa(y))."""
    n = dag_pa.shape[0]
    parents = np.empty(n, dtype=np.int64)
    value = 0.0
    for y in range(n):
        value += local(t, y, parents, _members(dag_pa[y], parents))
    return value


# ---- one operator ----------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def lead_to(
    g: Graph, record: Record, rules: Rules, kind: Integer, y: Integer, x: Integer, entry: Integer
) -> int:
    """Move g by an operator on record: 1 if it was done, 0 if it is not valid, -1 for a bug."""
    if not is_valid(g, record, rules, kind, y, x, entry):
        return 0
    return 1 if apply_operator(g, kind, y, x, record.sets[entry]) else -1
