"""The path of a Greedy Delete: its deletions, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, groupby
from typing import Literal

from fedbn.arrays import Ints32
from fedbn.errors import ConfigError
from fedbn.fusion.inputs import MergedInputs
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge

Status = Literal["complete", "threshold", "time limit", "memory limit", "knowledge"]
Pooling = Literal["mean", "clip", "median"]
POOLINGS: tuple[Pooling, ...] = ("mean", "clip", "median")


@dataclass(frozen=True)
class Step:
    """One deletion.

    Attributes
    ----------
    x, y, h : the operator Delete(x, y, H); h sorted as text.
    psi : Ψ(x, y, S), the weighted mean of the minimum cuts when it was applied.
    theta : the running maximum of `psi`.
    given : S, sorted as text, where inputs are about different variables; it says who judged.
    """

    x: str
    y: str
    h: tuple[str, ...]
    psi: Fraction
    theta: Fraction
    given: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class DeletionPath:
    """The deletions from G+ down to the empty graph, or to where the search was stopped.

    Attributes
    ----------
    names : the variables, sorted as text.
    order : σ of the fusion.
    union : G+.
    k_max : largest |H|.
    steps : the deletions.
    status : "complete"; or why it stopped before the empty graph: "threshold", "time limit",
        "memory limit", or "knowledge" where every deletion that redirects at most `k_max`
        neighbours breaks the knowledge.
    pooling : how Ψ was made of the cuts, see `mcbnc_path`.
    rivals : (pooling, status) of the other paths of the same inputs that were compared with it.
    knowledge : what G+ and every state keep; a complete path then ends with the required edges.
    """

    names: tuple[str, ...]
    order: tuple[str, ...]
    union: DAG
    k_max: int
    steps: tuple[Step, ...]
    status: Status
    pooling: Pooling = "mean"
    rivals: tuple[tuple[Pooling, Status], ...] = ()
    knowledge: Knowledge | None = None

    @property
    def complete(self) -> bool:
        """Whether the path goes down to the empty graph, and those that it was compared with."""
        return all(status == "complete" for status in self._statuses)

    @property
    def cut_short(self) -> bool:
        """Whether it, or one that it was compared with, met the limit of time or memory."""
        return any(status in ("time limit", "memory limit") for status in self._statuses)

    @property
    def _statuses(self) -> tuple[Status, ...]:
        return (self.status, *(status for _, status in self.rivals))

    @cached_property
    def thetas(self) -> tuple[Fraction, ...]:
        """The distinct values of θ, ascending."""
        return tuple(theta for theta, _ in groupby(step.theta for step in self.steps))

    @cached_property
    def state_ends(self) -> tuple[int, ...]:
        """Numbers of deletions: 0, and for every distinct θ those with running maximum <= θ."""
        runs = groupby(step.theta for step in self.steps)
        return (0, *accumulate(sum(1 for _ in run) for _, run in runs))


@dataclass(frozen=True, eq=False, kw_only=True)
class McbncPath(DeletionPath):
    """A path of inputs that are known.

    Attributes
    ----------
    inputs : the distinct inputs and their weights.
    lost_arcs : int32 [m, 4], read-only: (step, distinct input, a, b), a -> b removed in that step.
    quorum : how many of the given DAGs must have an arc for a fusion to have it, see `mcbnc_path`.
    min_judges : see `mcbnc_path`.
    """

    inputs: MergedInputs
    lost_arcs: Ints32
    quorum: int = 1
    min_judges: int = 1


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
