"""MCBNC: the whole path of consensus structures over the threshold θ.

"Bayesian Network Structural Consensus via Greedy Min-Cut Analysis" (AAAI-26, arXiv 2504.00467),
Algorithms 1 to 3. State: a CPDAG P, at first that of the unrestricted fusion G+, and the inputs,
which lose arcs on the way. While P has an edge, the valid Delete(x, y, H) of smallest criticality
Ψ(x, y, S), S = (NA_yx \\ H) + Pa(y) - {x}, is applied to P, and every input loses the arcs of its
minimum cut nearest to y (`min_cut.py`). θ after a step is the running maximum of Ψ, so the
consensus at any threshold is a prefix of this one path.

What differs from the paper, and why:
- NA_yx are the neighbours of y adjacent to x (Chickering 2002); the paper's eq. 8 misprints it.
- H is only taken when NA_yx \\ H is a clique (Chickering's validity), which Algorithm 3 omits.
- All H up to `k_max` elements count; none is sampled. Ψ is an exact rational, always that of the
  inputs as they are; the authors' program uses values from before an input lost an edge.
- Ties go to the smallest (x, y, |H|, H) in name order, H as a sorted tuple; or to `rng`.
- The paper treats Ψ as growing; it is not, hence the running maximum.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from fedbn.errors import ConfigError, SearchError
from fedbn.fusion.inputs import MergedInputs, merge_inputs
from fedbn.fusion.weights import Weight
from fedbn.graphs.dag import DAG

if TYPE_CHECKING:
    from fedbn.consensus._kernels import Engine

__all__ = ["McbncPath", "Status", "Step", "as_threshold", "mcbnc", "mcbnc_path"]

Status = Literal["complete", "threshold", "time limit", "memory limit"]
Progress = Callable[[int, int], None]

# Deletions, and minimum cuts inside one deletion, between two looks at the clock.
STEPS_AT_ONCE = 64
CUTS_AT_ONCE = 200_000
# The cached cuts and their slots never take more bytes than this (besides graphs of the inputs).
MEMORY_LIMIT = 2**30


@dataclass(frozen=True)
class Step:
    """One deletion.

    Attributes
    ----------
    x, y, h : the operator Delete(x, y, H); h sorted as text.
    psi : Ψ(x, y, S), the weighted mean of the minimum cuts when it was applied.
    theta : the running maximum of `psi`.
    """

    x: str
    y: str
    h: tuple[str, ...]
    psi: Fraction
    theta: Fraction


@dataclass(frozen=True, eq=False)
class McbncPath:
    """The deletions from G+ down to the empty graph, or to where the search was stopped.

    Attributes
    ----------
    names : the variables, sorted as text.
    order : σ of the fusion.
    union : G+.
    inputs : the distinct inputs and their weights.
    k_max : largest |H|.
    steps : the deletions.
    lost_arcs : int32 [m, 4], read-only: (step, distinct input, a, b), a -> b removed in that step.
    status : "complete"; or why it stopped before the empty graph: "threshold", "time limit" or
        "memory limit".
    """

    names: tuple[str, ...]
    order: tuple[str, ...]
    union: DAG
    inputs: MergedInputs
    k_max: int
    steps: tuple[Step, ...]
    lost_arcs: NDArray[np.int32]
    status: Status

    @property
    def complete(self) -> bool:
        """Whether the path goes down to the empty graph."""
        return self.status == "complete"

    @cached_property
    def thetas(self) -> tuple[Fraction, ...]:
        """The distinct values of θ, ascending."""
        return tuple(dict.fromkeys(step.theta for step in self.steps))

    def deletions_at(self, theta: Fraction | None) -> int:
        """Number of deletions done at θ: all those whose running maximum is <= θ; None: 0."""
        if theta is None:
            return 0
        return sum(1 for step in self.steps if step.theta <= theta)

    def up_to(self, theta: Fraction | float | str) -> McbncPath:
        """The prefix of this path that a search with the threshold θ makes."""
        count = self.deletions_at(as_threshold(theta))
        if count == len(self.steps):
            return self
        kept = self.lost_arcs[self.lost_arcs[:, 0] < count]
        kept.flags.writeable = False
        return replace(self, steps=self.steps[:count], lost_arcs=kept, status="threshold")

    def pruned_inputs(self, deletions: int) -> tuple[DAG, ...]:
        """The distinct inputs after the first `deletions` steps."""
        adjacency = self.inputs.adjacency.copy()
        gone = self.lost_arcs[self.lost_arcs[:, 0] < deletions]
        adjacency[gone[:, 1], gone[:, 2], gone[:, 3]] = False
        return tuple(DAG(self.names, matrix) for matrix in adjacency)


def as_threshold(theta: Fraction | float | str) -> Fraction:
    """θ as an exact number: 0.3 and "3/10" are the same.

    Raises
    ------
    ConfigError : it is not a finite number >= 0.
    """
    try:
        value = theta if isinstance(theta, Fraction) else Fraction(str(theta))
    except (ValueError, ZeroDivisionError):
        raise ConfigError(f"theta must be a number >= 0 like 0.5 or '2/3', got {theta!r}") from None
    if value < 0:
        raise ConfigError(f"theta must be >= 0, got {theta!r}")
    return value


def mcbnc(
    dags: Sequence[DAG],
    threshold: Fraction | float | str,
    weights: Sequence[Weight] | None = None,
    *,
    k_max: int = 10,
    rng: np.random.Generator | None = None,
) -> McbncPath:
    """The search of Algorithm 1 with the threshold θ: the path's deletions with Ψ <= θ."""
    return mcbnc_path(dags, weights, k_max=k_max, rng=rng, threshold=threshold)


def mcbnc_path(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    *,
    k_max: int = 10,
    rng: np.random.Generator | None = None,
    seconds: float | None = None,
    threshold: Fraction | float | str | None = None,
    clip: int | None = None,
    progress: Progress | None = None,
) -> McbncPath:
    """Order, I-maps, union and all deletions.

    Parameters
    ----------
    dags : at least one, over the same names in any order.
    weights : one positive int or Fraction per DAG; 1 each by default.
    k_max : largest |H| of an operator, >= 0.
    rng : chooses among ties, of the order heuristic and of the deletions; without it the smallest
        name and the smallest (x, y, |H|, H).
    seconds : time budget of the deletions, wall clock; when it is over, the path so far is
        returned, with the status "time limit".
    threshold : stop before the first deletion with Ψ > θ.
    clip : a cut of one input counts as at most this, >= 1, so that a hostile input with a dense
        graph cannot hold an edge alone; a deviation from the paper, whose mean is not clipped.
        With 1, Ψ is the share of the inputs that still join x and y given S, and deleting while
        Ψ < 1/2 is a vote by the median.
    progress : called as progress(deletions done, edges of G+).

    Raises
    ------
    StructureError : no DAG, or DAGs over different names.
    ConfigError : a weight, k_max, clip, seconds or the threshold is out of its range.

    Examples
    --------
    >>> chain = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
    >>> lone = DAG.from_edges("abc", [("a", "b")])
    >>> [(s.x, s.y, str(s.psi)) for s in mcbnc_path([chain, chain, lone]).steps]
    [('b', 'c', '2/3'), ('a', 'b', '1')]
    """
    from fedbn.fusion._kernels import imaps_bits, order_bits, union_bits
    from fedbn.graphs._kernels import transposed_bits, unpack

    if k_max < 0:
        raise ConfigError(f"k_max must be >= 0, got {k_max}")
    if clip is not None and not 1 <= clip < 2**15:
        raise ConfigError(f"clip must be in [1, 32767], got {clip}")
    if seconds is not None and not seconds > 0:
        raise ConfigError(f"seconds must be > 0, got {seconds}")
    bound = None if threshold is None else as_threshold(threshold)
    inputs = merge_inputs(dags, weights)
    pa, ch = inputs.bits
    n = len(inputs.names)
    order = order_bits(pa, ch, inputs.weight_array, np.empty(0) if rng is None else rng.random(n))
    union_pa = union_bits(imaps_bits(pa, ch, order))
    union_ch = transposed_bits(union_pa)
    engine = _engine(inputs, union_pa, union_ch, k_max, clip)
    draws = np.empty(0) if rng is None else rng.random(len(engine.step_psi))
    engine, status = _delete_all(engine, inputs, k_max, draws, seconds, bound, progress)
    lost = engine.arcs[: engine.counters[1]].copy()
    lost.flags.writeable = False
    return McbncPath(
        names=inputs.names,
        order=tuple(inputs.names[i] for i in order),
        union=DAG(inputs.names, unpack(union_ch, n)),
        inputs=inputs,
        k_max=k_max,
        steps=_steps(engine, inputs),
        lost_arcs=lost,
        status=status,
    )


def _engine(
    inputs: MergedInputs,
    union_pa: NDArray[np.uint64],
    union_ch: NDArray[np.uint64],
    k_max: int,
    clip: int | None,
) -> Engine:
    """The engine at its start: P is the CPDAG of G+."""
    from fedbn.consensus._kernels import Engine, prepare
    from fedbn.graphs._kernels import cpdag_bits

    pa, ch = inputs.bits
    r, n, words = pa.shape
    p_pa, p_ch, p_ne = cpdag_bits(union_pa, union_ch)
    edges = int(np.bitwise_count(union_pa).sum())
    slots = max(64, 4 * edges)
    bits, i64, i32 = np.uint64, np.int64, np.int32
    engine = Engine(
        pa=pa.copy(),
        ch=ch.copy(),
        anc=np.zeros((r, n, words), bits),
        des=np.zeros((r, n, words), bits),
        mor=np.zeros((r, n, words), bits),
        topo=np.zeros((r, n), i64),
        weights=inputs.weight_array,
        votes=np.zeros((n, n), i64),
        p_pa=p_pa,
        p_ch=p_ch,
        p_ne=p_ne,
        edge=np.full((n, n), -1, i32),
        head=np.zeros((edges, 2), i32),
        joined=np.zeros((edges, r), np.int8),
        na=np.zeros((edges, words), bits),
        pax=np.zeros((edges, words), bits),
        first=np.full(edges, -1, i32),
        owner=np.zeros(slots, i32),
        after=np.zeros(slots, i32),
        kind=np.zeros(slots, np.int8),
        h=np.zeros((slots, words), bits),
        f=np.zeros((slots, words), bits),
        u=np.zeros((slots, words), bits),
        bound=np.zeros(slots, i64),
        unknown=np.zeros(slots, i32),
        cut=np.zeros((slots, r), np.int16),
        clip=np.array([2**15 - 1 if clip is None else clip], i64),
        counters=np.zeros(3, i64),
        step_xy=np.zeros((edges, 2), i32),
        step_psi=np.zeros(edges, i64),
        step_h=np.zeros((edges, words), bits),
        arcs=np.zeros((int(inputs.adjacency.sum()), 4), i32),
    )
    prepare(engine, k_max)
    return engine


def _delete_all(
    engine: Engine,
    inputs: MergedInputs,
    k_max: int,
    draws: NDArray[np.float64],
    seconds: float | None,
    bound: Fraction | None,
    progress: Progress | None,
) -> tuple[Engine, Status]:
    """Run the deletions to the end, the threshold, or the end of the budget."""
    from fedbn.consensus._kernels import BROKEN, DONE, NO_SLOT, advance, collapse

    edges = len(engine.step_psi)
    largest = 2**62 if bound is None else min(2**62, int(bound * inputs.total))
    watched = seconds is not None or progress is not None
    end = None if seconds is None else time.monotonic() + seconds
    collapsed_at = -1
    while True:
        before = int(engine.counters[2])
        steps = min(edges + 1, STEPS_AT_ONCE) if watched else edges + 1
        code = advance(engine, k_max, steps, CUTS_AT_ONCE, largest, draws)
        done = int(engine.counters[2])
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
                collapse(engine, k_max)
                collapsed_at = done
        elif code == 1 and done - before < steps:
            return engine, "threshold"
        if end is not None and time.monotonic() > end:
            return engine, "time limit"


def _with_more_slots(engine: Engine) -> Engine | None:
    """The engine with twice the slots, or None where that would exceed the memory limit."""
    slots = len(engine.owner)
    bytes_per_slot = engine.cut.shape[1] * 2 + engine.h.shape[1] * 24 + 20
    if 2 * slots * bytes_per_slot > MEMORY_LIMIT:
        return None
    grown = {
        name: np.concatenate([array, np.zeros_like(array)])
        for name, array in engine._asdict().items()
        if name in ("owner", "after", "kind", "h", "f", "u", "bound", "unknown", "cut")
    }
    grown["owner"][slots:] = -1
    grown["after"][slots:] = np.arange(slots + 1, 2 * slots + 1)
    grown["after"][-1] = engine.counters[0]
    engine.counters[0] = slots
    return engine._replace(**grown)


def _steps(engine: Engine, inputs: MergedInputs) -> tuple[Step, ...]:
    """The recorded deletions with names and exact fractions."""
    from fedbn.graphs._kernels import unpack

    count = int(engine.counters[2])
    names = inputs.names
    if count == 0:
        return ()
    left_out = unpack(engine.step_h[:count], len(names))
    exact: dict[int, Fraction] = {}
    steps = []
    largest = 0
    for k in range(count):
        x, y = engine.step_xy[k]
        psi = int(engine.step_psi[k])
        largest = max(largest, psi)
        for value in (psi, largest):
            if value not in exact:
                exact[value] = Fraction(value, inputs.total)
        h = tuple(names[i] for i in np.flatnonzero(left_out[k]))
        steps.append(Step(names[x], names[y], h, exact[psi], exact[largest]))
    return tuple(steps)
