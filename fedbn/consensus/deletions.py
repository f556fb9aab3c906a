"""The deletions of a path, in bounded time and memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

from fedbn._core.consensus import Deletions, Outcome, Pooling
from fedbn.arrays import Bits
from fedbn.errors import SearchError
from fedbn.fusion.inputs import MergedInputs
from fedbn.graphs.knowledge import Knowledge

Ended = Literal["complete", "threshold", "time limit", "memory limit", "knowledge"]

# Between two looks at the clock: deletions, and minimum cuts in one deletion, times n W.
STEPS_AT_ONCE = 64
CUTS_AT_ONCE = 100_000_000
# The cached cuts and their slots never take more bytes than this (besides graphs of the inputs).
MEMORY_LIMIT = 2**30


def new_deletions(
    inputs: MergedInputs,
    union_pa: Bits,
    k_max: int,
    pooling: str,
    knowledge: Knowledge | None = None,
    min_judges: int = 1,
) -> Deletions:
    """The search at the start: P is the CPDAG of G+.

    union_pa uint64 [n, W]: the parents of every node in G+, which keeps the knowledge. pooling,
    min_judges: see `mcbnc_path`.
    """
    kind = getattr(Pooling, pooling)
    known: dict[str, Any] = {} if knowledge is None else {**knowledge.bits(inputs.names)}
    if inputs.observed is not None:
        known |= {"observed": inputs.observed_bits, "members": inputs.site_counts}
        known |= {"min_judges": min_judges}
    given = inputs.parent_bits, inputs.weight_array, union_pa
    return Deletions(*given, k_max, kind, MEMORY_LIMIT, **known)


def delete_all(
    search: Deletions,
    n: int,
    end: float | None,
    largest: Fraction | None,
    progress: Callable[[int, int], None] | None,
) -> Ended:
    """Run the deletions to the empty graph, the threshold, or the end of the time.

    n: number of nodes. end: of `time.monotonic()`. largest: bound on Ψ, of which numerator and
    denominator are below 2^62.
    """
    steps = min(search.n_edges + 1, STEPS_AT_ONCE)
    cuts = max(1, CUTS_AT_ONCE // (n * max(1, (n + 63) // 64)))
    bound = (2**62, 1) if largest is None else (largest.numerator, largest.denominator)
    while True:
        before = search.done
        outcome = search.advance(steps, cuts, *bound)
        if progress is not None:
            progress(search.done, search.n_edges)
        if outcome == Outcome.done:
            return "complete"
        if outcome == Outcome.broken:
            raise SearchError(
                f"deletion {search.done + 1} has no valid operator: this is a bug in fedbn"
            )
        if outcome == Outcome.barred:
            return "knowledge"
        if outcome == Outcome.out_of_memory:
            return "memory limit"
        if outcome == Outcome.limit and search.done - before < steps:
            return "threshold"
        if end is not None and time.monotonic() > end:
            return "time limit"
