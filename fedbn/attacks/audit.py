"""Is a mechanism what it claims? Replays of its draws, and a lower bound on ε from its outputs.

A claim is refuted, never proven. The replay is exact but needs the transcript; the bound needs
outputs alone, on two tables that differ in one row, and is weak unless the pair and the statistic
are those that the mechanism is worst at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from fedbn.arrays import Floats
from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError
from fedbn.privacy.dependence import WIDTH
from fedbn.privacy.mechanism_runs import Budget, Mechanism, Transcript
from fedbn.privacy.zcdp import rho_of_choice


@dataclass(frozen=True)
class Replay:
    """What the draws of a run would have been on a neighbour.

    Attributes
    ----------
    same_candidates : every list of candidates was the same; without that nothing is private.
    largest_range : the largest λ (max Δ - min Δ) of a draw, Δ the change of a utility.
    allowed_range : sqrt(8 ρ / T) of the draws' share of the claimed ρ.
    rho : Σ (λ range)² / 8 over the draws.
    allowed_rho : the claimed ρ of all draws.
    draws : how many were compared.
    """

    same_candidates: bool
    largest_range: float
    allowed_range: float
    rho: float
    allowed_rho: float
    draws: int

    @property
    def caught(self) -> bool:
        """Whether the mechanism is not what it claims."""
        too_wide = self.largest_range > self.allowed_range
        return not self.same_candidates or too_wide or self.rho > self.allowed_rho


def replay(
    mechanism: Mechanism, transcript: Transcript, neighbour: Dataset, claimed: Budget
) -> Replay:
    """Repeat a run on a table with one row more or less, along the same draws.

    Parameters
    ----------
    mechanism : that made the transcript.
    transcript : of the run on the table itself.
    neighbour : the table with one row added or removed.
    claimed : the budget that the run claims to keep.
    """
    follower = _Follower(transcript)
    same = True
    try:
        mechanism(neighbour, transcript.rows, follower)
    except _OtherCandidatesError:
        same = False
    rate = transcript.budget.rate
    ranges = [
        max(changes) - min(changes)
        for before, after in zip(transcript.draws, follower.utilities, strict=False)
        if (changes := [b - a for a, b in zip(before.utilities, after, strict=True)])
    ]
    share = claimed.draws * rho_of_choice(claimed.rate, WIDTH)
    return Replay(
        same_candidates=same and len(follower.utilities) == len(transcript.draws),
        largest_range=float(rate * max(ranges, default=0)),
        allowed_range=math.sqrt(8 * share / claimed.draws),
        rho=float(sum((rate * width) ** 2 / 8 for width in ranges)),
        allowed_rho=float(share),
        draws=len(ranges),
    )


class _OtherCandidatesError(Exception):
    """The neighbour's list of candidates is another one."""


class _Follower:
    """Chooses what the transcript chose."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self.utilities: list[tuple[int, ...]] = []

    @property
    def rate(self) -> Fraction:
        return self._transcript.budget.rate

    @property
    def left(self) -> int:
        return self._transcript.budget.draws - len(self.utilities)

    def choose(self, candidates: Sequence[Hashable], utilities: Sequence[int]) -> int:
        done = len(self.utilities)
        if done >= len(self._transcript.draws):
            raise _OtherCandidatesError
        draw = self._transcript.draws[done]
        if draw.candidates != tuple(candidates):
            raise _OtherCandidatesError
        self.utilities.append(tuple(utilities))
        return draw.chosen


def noise_repeats(run: Callable[[], Hashable], times: int = 8) -> bool:
    """Whether runs on one table all have the same noise: then whoever can repeat it, subtracts it.

    Compared are the noisy number of rows and every draw; honest noise agrees by chance in no more
    than one of many thousand trials of eight runs.
    """
    return len({run() for _ in range(times)}) == 1


def epsilon_lower_bound(
    first: ArrayLike, second: ArrayLike, delta: float, level: float = 0.05
) -> float:
    """A bound that the true ε at δ is below with probability at most `level`.

    Jagielski, Ullman & Oprea 2020, with the event chosen on one half of the outputs and tested on
    the other: {s >= t} or {s <= t}, on either table, t the one whose bound is largest. The bound is
    ln((p - δ) / q), p and q Clopper-Pearson limits at `level` / 2 each; 0 where it is negative.

    Parameters
    ----------
    first, second : one number per run, on the table and on its neighbour; at least two each.

    Raises
    ------
    ConfigError : there are fewer than two runs of a table, or `level` is not between 0 and 1.
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if min(a.size, b.size) < 2 or not 0 < level < 1:
        raise ConfigError(
            f"a bound needs two runs each and a level in (0, 1), not {a.size}, {b.size} and {level}"
        )
    sides = [(a, b), (b, a), (-a, -b), (-b, -a)]
    best, chosen = -math.inf, (0, 0.0)
    for number, (x, y) in enumerate(sides):
        thresholds = np.unique(np.concatenate([x[::2], y[::2]]))
        bounds = _bounds(x[::2], y[::2], thresholds, delta, level)
        if bounds.max() > best:
            best, chosen = float(bounds.max()), (number, float(thresholds[bounds.argmax()]))
    x, y = sides[chosen[0]]
    bound = _bounds(x[1::2], y[1::2], np.array([chosen[1]]), delta, level)
    return max(0.0, float(bound[0]))


def _bounds(
    x: Floats,
    y: Floats,
    thresholds: Floats,
    delta: float,
    level: float,
) -> Floats:
    """ln((p - δ) / q) for the events {s >= t}: p a lower limit for x, q an upper one for y."""
    hits = x.size - np.searchsorted(np.sort(x), thresholds)
    misses = y.size - np.searchsorted(np.sort(y), thresholds)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(hits > 0, beta.ppf(level / 2, hits, x.size - hits + 1), 0.0)
        q = np.where(misses < y.size, beta.ppf(1 - level / 2, misses + 1, y.size - misses), 1.0)
        return np.where(p > delta, np.log((p - delta) / q), -np.inf)
