"""Releases of noisy sums: whole numbers with exact noise, for what one row can move.

The other half of a private learner's tools (see `mechanism_runs.py`). A release adds independent
discrete Gaussian noise to every entry of a vector of integers of which one row, added or removed,
changes no more than Δ in the Euclidean norm; with variance σ² it costs Δ² / (2 σ²) in zCDP
(Canonne, Kamath & Steinke 2020, theorem 14). What is asked in a release may depend on the releases
before.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Protocol

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.errors import ConfigError
from fedbn.privacy.exact_draws import discrete_gaussian
from fedbn.privacy.zcdp import rho_of_gaussian


@dataclass(frozen=True)
class Release:
    """One release: what was asked, the sums before noise, what one row moves them, the noise.

    Attributes
    ----------
    asked : says which sums these are; the same for every table after the same releases.
    sums, noisy : whole numbers.
    squared_sensitivity : Δ², the largest squared Euclidean change by one row.
    variance : σ² of the noise on every entry.
    """

    asked: Hashable
    sums: tuple[int, ...]
    noisy: tuple[int, ...]
    squared_sensitivity: int
    variance: int

    @property
    def rho(self) -> Fraction:
        """What it costs."""
        return rho_of_gaussian(Fraction(self.variance), self.squared_sensitivity)


@dataclass(frozen=True)
class ReleaseTranscript:
    """All releases of a run, for audits. It is as secret as the table and never leaves."""

    rho: Fraction
    releases: tuple[Release, ...]

    @property
    def charged(self) -> Fraction:
        """What the releases cost together."""
        return sum((release.rho for release in self.releases), Fraction(0))


class Releaser(Protocol):
    """What a mechanism makes its sums noisy with."""

    def release(
        self,
        asked: Hashable,
        sums: Ints,
        squared_sensitivity: int,
        share: Fraction,
    ) -> tuple[Floats, int]: ...


class PrivateReleaser:
    """Releases from a budget, each for its share of it.

    Raises
    ------
    ConfigError : ρ is not positive.
    """

    def __init__(self, rho: Fraction, source: Random) -> None:
        if rho <= 0:
            raise ConfigError(f"a budget needs ρ above 0, not {float(rho)}")
        self.rho, self._source = rho, source
        self._left = Fraction(1)
        self.releases: list[Release] = []

    def release(
        self,
        asked: Hashable,
        sums: Ints,
        squared_sensitivity: int,
        share: Fraction,
    ) -> tuple[Floats, int]:
        """The sums with noise, and its variance.

        Parameters
        ----------
        asked : what the sums are; it must not depend on the table but through earlier releases.
        sums : [m].
        squared_sensitivity : Δ².
        share : of ρ.

        Raises
        ------
        ConfigError : the shares add up to more than 1.
        """
        self._left -= share
        if self._left < 0:
            raise ConfigError("the shares of releases add up to more than the budget")
        variance = self.variance_of(squared_sensitivity, share)
        exact = tuple(int(entry) for entry in sums)
        noise = Fraction(variance)
        noisy = tuple(entry + discrete_gaussian(noise, self._source) for entry in exact)
        self.releases.append(Release(asked, exact, noisy, squared_sensitivity, variance))
        return np.array(noisy, dtype=np.float64), variance

    def variance_of(self, squared_sensitivity: int, share: Fraction) -> int:
        """σ² of a release with this share."""
        return variance_for(squared_sensitivity, share * self.rho)


def variance_for(squared_sensitivity: int, rho: Fraction) -> int:
    """The smallest whole σ² ≥ 1 with Δ² / (2 σ²) ≤ ρ.

    >>> variance_for(10, Fraction(1, 4))
    20
    """
    return max(1, math.ceil(squared_sensitivity / (2 * rho)))
