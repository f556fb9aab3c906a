"""The deletions of a path: the arrays of the search, and its run in bounded time and memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedbn.consensus._best_deletion_kernels import (
    BROKEN,
    DONE,
    LIMIT,
    NO_SLOT,
    advance,
    collapse,
    prepare,
)
from fedbn.consensus._engine import (
    AFTER,
    ALIKE,
    CH,
    CLIP,
    FREE,
    K_MAX,
    MEDIAN,
    OWNER,
    PA,
    SLACK,
    STEPS,
    Engine,
    make_scratch,
)
from fedbn.consensus.typical import differences, graph_bits, typical_graph
from fedbn.errors import SearchError
from fedbn.fusion.inputs import MergedInputs
from fedbn.graphs._bit_kernels import transpose_bits
from fedbn.graphs._cpdag_kernels import cpdag_bits

__all__ = ["delete_all", "new_engine"]

Ended = Literal["complete", "threshold", "time limit", "memory limit"]

# Between two looks at the clock: deletions, and minimum cuts in one deletion, times n W.
STEPS_AT_ONCE = 64
CUTS_AT_ONCE = 100_000_000
# The cached cuts and their slots never take more bytes than this (besides graphs of the inputs).
MEMORY_LIMIT = 2**30
# How long the search stays with a slot; measured with 1,000 inputs, of no effect on results.
SLACK_SHARE = 128
# So many cuts must be wanted before that of a graph which the inputs resemble is computed.
ALIKE_FROM = 8


def new_engine(
    inputs: MergedInputs, union_pa: NDArray[np.uint64], k_max: int, pooling: str
) -> Engine:
    """The arrays at the start: P is the CPDAG of G+, one slot per edge.

    union_pa uint64 [n, W]: the parents of every node in G+. pooling: see `mcbnc_path`.
    """
    graphs = _input_arrays(inputs)
    r, n = graphs["topo"].shape
    alike = 2 * int((graphs["differing"] >= 0).sum()) >= r
    limits = np.zeros(5, np.int64)
    limits[K_MAX] = k_max
    limits[CLIP] = 1 if pooling == "clip" else 2**15 - 1
    limits[MEDIAN] = pooling == "median"
    limits[SLACK] = inputs.total // SLACK_SHARE
    limits[ALIKE] = ALIKE_FROM if alike else r + 1
    engine = Engine(
        **graphs,
        **_edge_arrays(union_pa, r),
        votes=np.zeros((n, n), np.int64),
        p=np.stack(cpdag_bits(union_pa, transpose_bits(union_pa))),
        dag=np.stack([union_pa, transpose_bits(union_pa)]),
        places=np.zeros((2, n), np.int64),
        limits=limits,
        counters=np.zeros(4, np.int64),
    )
    prepare(engine, make_scratch(n, union_pa.shape[1], r))
    return engine


def _input_arrays(inputs: MergedInputs) -> dict[str, NDArray[Any]]:
    """The arrays of an engine that the inputs fill, and those of the typical graph."""
    pa, ch = inputs.bits
    r, n, words = pa.shape
    graphs = np.zeros((r, 5, n, words), np.uint64)
    graphs[:, PA], graphs[:, CH] = pa, ch
    typical = typical_graph(inputs)
    differs, differing = differences(inputs, typical)
    return {
        "graphs": graphs,
        "topo": np.zeros((r, n), np.int64),
        "typical": graph_bits(typical),
        "typical_topo": np.zeros(n, np.int64),
        "differs": differs,
        "differing": differing,
        "marks": np.zeros((2, 2, n, (r + 63) // 64), np.uint64),
        "weights": inputs.weight_array,
        "arcs": np.zeros((int(inputs.adjacency.sum()), 4), np.int32),
    }


def _edge_arrays(union_pa: NDArray[np.uint64], r: int) -> dict[str, NDArray[Any]]:
    """The empty arrays of the edges of P, their slots and their deletions."""
    n, words = union_pa.shape
    edges = int(np.bitwise_count(union_pa).sum())
    slots = max(64, 4 * edges)
    return {
        "edge": np.full((n, n), -1, np.int64),
        "edges": np.zeros((edges, 3), np.int64),
        "edge_sets": np.zeros((edges, 2, words), np.uint64),
        "joined": np.zeros((edges, r), np.int8),
        "slots": np.zeros((slots, 4), np.int64),
        "sets": np.zeros((slots, 3, words), np.uint64),
        "bound": np.zeros(slots, np.int64),
        "cut": np.zeros((slots, r), np.int16),
        "steps": np.zeros((edges, 3), np.int64),
        "step_h": np.zeros((edges, words), np.uint64),
    }


def delete_all(
    engine: Engine,
    end: float | None,
    largest: int,
    progress: Callable[[int, int], None] | None,
) -> tuple[Engine, Ended]:
    """Run the deletions to the empty graph, the threshold, or the end of the time.

    end: of `time.monotonic()`. largest: bound on Ψ in integer units.
    """
    edges = len(engine.steps)
    n, words = engine.p.shape[1:]
    scratch = make_scratch(n, words, len(engine.weights))
    watched = end is not None or progress is not None
    steps = min(edges + 1, STEPS_AT_ONCE) if watched else edges + 1
    cuts = max(1, CUTS_AT_ONCE // (n * words))
    collapsed_at = -1
    while True:
        before = int(engine.counters[STEPS])
        code = advance(engine, scratch, steps, cuts, largest)
        done = int(engine.counters[STEPS])
        if progress is not None:
            progress(done, edges)
        if code == DONE:
            return engine, "complete"
        if code == BROKEN:
            raise SearchError(f"deletion {done + 1} has no valid operator: this is a bug in fedbn")
        if code == NO_SLOT:
            larger = _with_more_slots(engine)
            if larger is not None:
                engine = larger
            elif collapsed_at == done:
                return engine, "memory limit"
            else:
                collapse(engine, scratch)
                collapsed_at = done
        elif code == LIMIT and done - before < steps:
            return engine, "threshold"
        if end is not None and time.monotonic() > end:
            return engine, "time limit"


def _with_more_slots(engine: Engine) -> Engine | None:
    """The engine with twice the slots, or None where that would exceed the memory limit."""
    slots = len(engine.slots)
    bytes_per_slot = engine.cut.shape[1] * 2 + engine.sets.shape[2] * 24 + 40
    if 2 * slots * bytes_per_slot > MEMORY_LIMIT:
        return None
    grown = {
        name: np.concatenate([array, np.zeros_like(array)])
        for name, array in engine._asdict().items()
        if name in ("slots", "sets", "bound", "cut")
    }
    grown["slots"][slots:, OWNER] = -1
    grown["slots"][slots:, AFTER] = np.arange(slots + 1, 2 * slots + 1)
    grown["slots"][-1, AFTER] = engine.counters[FREE]
    engine.counters[FREE] = slots
    return engine._replace(**grown)
