"""The greedy loop over operators, and the doors to Python (see `_state.py` for the whole)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.kernel_door import door
from fedbn.kernel_parts import inner_with_arrays
from fedbn.scores._joint_kernels import local
from fedbn.scores._tables import Integer, Tables
from fedbn.search._choice_kernels import choose
from fedbn.search._delete_kernels import refresh_deletes
from fedbn.search._insert_kernels import refresh_inserts
from fedbn.search._knowledge_kernels import constrained_extension
from fedbn.search._path_kernels import is_valid
from fedbn.search._set_kernels import any_in, members
from fedbn.search._state import (
    BROKEN,
    DELETE,
    DONE,
    FULL,
    INSERT,
    PAUSED,
    TOLERANCE,
    Graph,
    Record,
    Rules,
    Scratch,
)
from fedbn.search._step_kernels import apply_operator, settle_components, step
from fedbn.search._turn_kernels import refresh_turns


@inner_with_arrays
def _look_at(
    t: Tables, g: Graph, record: Record, rules: Rules, scratch: Scratch, kind: Integer, y: Integer
) -> bool:
    fits = True
    if kind == INSERT:
        fits = refresh_inserts(t, g, record, rules, scratch, y)
    elif kind == DELETE:
        fits = refresh_deletes(t, g, record, rules, scratch, y)
    else:
        fits = refresh_turns(t, g, record, rules, scratch, y)
    return fits


@door
def look_at_row(
    t: Tables, g: Graph, record: Record, rules: Rules, scratch: Scratch, kind: Integer, y: Integer
) -> bool:
    """Put row y of one kind on record; False if the record is full."""
    return bool(_look_at(t, g, record, rules, scratch, kind, y))


@door
def climb(
    t: Tables,
    g: Graph,
    trial: Graph | None,
    record: Record,
    kinds: NDArray[np.int64],
    rules: Rules,
    scratch: Scratch,
    score: NDArray[np.float64],
    steps: NDArray[np.int64],
    budget: int,
) -> int:
    """Take the best operator of the first kind that has one, until no kind has one.

    score [1] and steps [3] (per kind) go on from where they are. A negative budget has no end;
    otherwise PAUSED is returned once so many sets have been counted or rows looked at. `trial` has
    room for a graph where there is background knowledge; without any it is None, and what tests
    knowledge is not compiled.
    """
    end = t.counters[1] + budget
    looked, position = 0, 0
    while position < kinds.size:
        kind: Integer = kinds[position]
        for y in range(g.adj.shape[0]):
            if any_in(record.stale[kind, y]):
                if budget >= 0 and t.counters[1] + looked > end:
                    return PAUSED
                if not _look_at(t, g, record, rules, scratch, kind, y):
                    return FULL
                looked += 1
        y, x, entry = choose(g, record, rules, kind, TOLERANCE * (1.0 + abs(score[0])))
        if entry < 0:
            position += 1
            continue
        if trial is not None and not _is_permitted(g, trial, rules, kind, y, x, record.sets[entry]):
            record.barred[entry] = True
            continue
        score[0] += record.gain[entry]
        if not step(g, record, kind, y, x, record.sets[entry].copy()):
            return BROKEN
        if trial is not None:
            record.barred[:] = False
            record.ceiling[:] = np.inf
        steps[kind] += 1
        position = 0
    return DONE


@inner_with_arrays
def _is_permitted(
    g: Graph, trial: Graph, rules: Rules, kind: Integer, y: Integer, x: Integer, chosen: Bits
) -> bool:
    """Whether the class that an operator leads to has a member that satisfies the knowledge."""
    n, words = g.adj.shape
    for v in range(n):
        for w in range(words):
            trial.dag_pa[v, w], trial.dag_ch[v, w] = g.dag_pa[v, w], g.dag_ch[v, w]
            trial.pa[v, w], trial.ch[v, w] = g.pa[v, w], g.ch[v, w]
            trial.ne[v, w], trial.adj[v, w] = g.ne[v, w], g.adj[v, w]
    if not apply_operator(trial, kind, y, x, chosen):
        return True  # the caller's own application reports it
    found, _, _ = constrained_extension(
        trial.pa, trial.ch, trial.ne, rules.forbidden, rules.required
    )
    return bool(found)


@door
def settle(g: Graph) -> bool:
    """Make the DAG of g the one that depends on the CPDAG alone; False for a bug."""
    return bool(settle_components(g))


@door
def total(t: Tables, dag_pa: Bits) -> float:
    """Σ_y s(y, Pa(y))."""
    n = dag_pa.shape[0]
    parents = np.empty(n, dtype=np.int64)
    value = 0.0
    for y in range(n):
        value += local(t, y, parents, members(dag_pa[y], parents))
    return value


@door
def lead_to(g: Graph, record: Record, kind: Integer, y: Integer, x: Integer, entry: Integer) -> int:
    """Move g by an operator on record: 1 if it was done, 0 if it is not valid, -1 for a bug."""
    if not is_valid(g, record, kind, y, x, entry):
        return 0
    return 1 if apply_operator(g, kind, y, x, record.sets[entry]) else -1
