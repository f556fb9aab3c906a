"""Mechanisms that are wrong on purpose, and their right counterparts: audits must tell them apart.

half the width     the rate is that of utilities that move half as much
budget undivided   every draw is made as if it were the only one
filtered           candidates are left out, or features made, because of the data
seeded             the noise comes from a seed that the server knows
only adds          randomised response that never takes a true edge away, as in the federated
                   fusion program that this study is compared with
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from fedbn.privacy.mechanism_runs import STOP, Budget, Chooser, Mechanism
from fedbn.privacy.releases import PrivateReleaser, Releaser, variance_for


def half_the_width(rho: Fraction, draws: int) -> Budget:
    """A budget whose draws think that the width is 128."""
    right = Budget.of(rho, draws)
    return replace(right, rate=2 * right.rate)


def undivided_budget(rho: Fraction, draws: int) -> Budget:
    """A budget that gives every draw all of ρ."""
    return replace(Budget.of(rho, draws), rate=Budget.of(rho, 1).rate)


def filter_candidates(mechanism: Mechanism) -> Mechanism:
    """The mechanism, but candidates of negative utility are not offered."""

    def break_rule(table: Dataset, rows: int, chooser: Chooser) -> DAG:
        return mechanism(table, rows, _Filter(chooser))

    return break_rule


class _Filter:
    """A chooser that looks at the data before it draws."""

    def __init__(self, chooser: Chooser) -> None:
        self._chooser = chooser

    @property
    def rate(self) -> Fraction:
        return self._chooser.rate

    @property
    def left(self) -> int:
        return self._chooser.left

    def choose(self, candidates: Sequence[Hashable], utilities: Sequence[int]) -> int:
        kept = [i for i, u in enumerate(utilities) if u >= 0 or candidates[i] == STOP]
        chosen = self._chooser.choose([candidates[i] for i in kept], [utilities[i] for i in kept])
        return kept[chosen]


class HalfReleaser(PrivateReleaser):
    """Releases whose noise is for sums that a row moves half as far."""

    def variance_of(self, squared_sensitivity: int, share: Fraction) -> int:
        return variance_for(squared_sensitivity, 4 * share * self.rho)


class UndividedReleaser(PrivateReleaser):
    """Releases each of which has the whole budget."""

    def variance_of(self, squared_sensitivity: int, share: Fraction) -> int:
        return variance_for(squared_sensitivity, self.rho)


class PeekingReleaser:
    """Releases as they must be, but the mechanism goes on with the exact counts of the first."""

    def __init__(self, releaser: Releaser) -> None:
        self._releaser, self._is_first = releaser, True

    def release(
        self,
        asked: Hashable,
        sums: Ints,
        squared_sensitivity: int,
        share: Fraction,
    ) -> tuple[Floats, int]:
        noisy, variance = self._releaser.release(asked, sums, squared_sensitivity, share)
        is_first, self._is_first = self._is_first, False
        return (sums.astype(float), 1) if is_first else (noisy, variance)


def only_adds(present: bool, epsilon: float, rng: np.random.Generator, runs: int) -> Floats:
    """Outputs for one pair: an edge stays; without one, it is added with 1 / (1 + exp ε)."""
    added = rng.random(runs) < 1 / (1 + np.exp(epsilon))
    return np.asarray(np.where(present, 1, added), dtype=float)


def flips_all_pairs(present: bool, epsilon: float, rng: np.random.Generator, runs: int) -> Floats:
    """Outputs for one pair: what is there is turned round with 1 / (1 + exp ε); ε-DP per pair."""
    flipped = rng.random(runs) < 1 / (1 + np.exp(epsilon))
    return np.asarray(flipped ^ present, dtype=float)


def one_draw_tables(with_row: bool) -> tuple[Ints, Ints]:
    """Two tables of counts whose dependences one row moves by +127 and -123 64ths."""
    first = np.array([[10_060, 0], [0, 0]])
    second = np.array([[9_660, 200], [200, 0]])
    first[1, 1] += with_row
    second[1, 1] += with_row
    return first, second


def dependence_of(counts: Ints) -> int:
    """The dependence of a table of counts, in 64ths of a row."""
    n = int(counts.sum())
    part = np.abs(n * counts - np.outer(counts.sum(axis=1), counts.sum(axis=0))).sum()
    return 32 * int(part) // n


def seeded_noise(run_seed: int) -> Random:
    """The noise of a run whose seed the server knows."""
    return Random(run_seed)
