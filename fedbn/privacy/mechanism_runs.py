"""A run of a mechanism: one noisy number of rows, then at most T draws of equal cost.

Both learners of this package are such runs. All that touches the table is the number of rows and
the utilities of the candidates; which candidates there are depends on the schema, the noisy number
of rows and the draws before, on nothing else.

    share of ρ for the number of rows:  0.02, discrete Gaussian of variance 1 / (2 · 0.02 ρ)
    each of T draws:                    P(i) ∝ exp(λ u_i), λ = sqrt(8 · 0.98 ρ / T) / W, rounded
                                        down to a multiple of 2^-30

A draw is λW-bounded-range, hence (λW)²/8-zCDP. All of ρ is charged even if a run stops early.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Protocol

from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.privacy.dependence import WIDTH
from fedbn.privacy.exact_draws import choose, discrete_gaussian
from fedbn.privacy.zcdp import rho_of_choice, rho_of_gaussian

STOP = "stop"
"""The candidate that ends a phase."""

ROWS_SHARE = Fraction(2, 100)
"""Share of ρ that the number of rows takes."""

_RATE_UNIT = 1 << 30


@dataclass(frozen=True)
class Budget:
    """How ρ is divided.

    Attributes
    ----------
    rho : of the whole run.
    draws : T, the most draws.
    rate : λ of every draw, per 1/64 row.
    rows_variance : of the noise on the number of rows.

    Raises
    ------
    ConfigError : ρ or the number of draws is not positive, or ρ is too small for any draw.
    """

    rho: Fraction
    draws: int
    rate: Fraction
    rows_variance: Fraction

    @classmethod
    def of(cls, rho: Fraction, draws: int) -> Budget:
        """The budget for at most `draws` draws."""
        if rho <= 0 or draws < 1:
            raise ConfigError(f"a budget needs ρ above 0 and draws, not {float(rho)} and {draws}")
        square = 8 * (1 - ROWS_SHARE) * rho / draws * _RATE_UNIT**2
        rate = Fraction(math.isqrt(math.floor(square)) // WIDTH, _RATE_UNIT)
        if rate == 0:
            raise ConfigError(f"ρ = {float(rho)} is too small for {draws} draws")
        return cls(rho, draws, rate, 1 / (2 * ROWS_SHARE * rho))

    @property
    def charged(self) -> Fraction:
        """What T draws and the number of rows cost together: at most ρ."""
        draws = self.draws * rho_of_choice(self.rate, WIDTH)
        return draws + rho_of_gaussian(self.rows_variance, 1)


@dataclass(frozen=True)
class Draw:
    """One draw: what could be chosen, with which utilities, and which was."""

    candidates: tuple[Hashable, ...]
    utilities: tuple[int, ...]
    chosen: int


@dataclass(frozen=True)
class Transcript:
    """Everything random of a run, for audits. It is as secret as the table and never leaves."""

    budget: Budget
    rows: int
    draws: tuple[Draw, ...]


class Chooser(Protocol):
    """What a mechanism draws with."""

    @property
    def rate(self) -> Fraction: ...

    @property
    def left(self) -> int: ...

    def choose(self, candidates: Sequence[Hashable], utilities: Sequence[int]) -> int: ...


Mechanism = Callable[[Dataset, int, Chooser], DAG]
"""(table, noisy number of rows, chooser) -> DAG; it sees the table through utilities alone."""


class PrivateChooser:
    """Draws by the exponential mechanism until the budget's draws are used up."""

    def __init__(self, budget: Budget, source: Random) -> None:
        self.budget, self._source = budget, source
        self.draws: list[Draw] = []

    @property
    def rate(self) -> Fraction:
        """λ of every draw."""
        return self.budget.rate

    @property
    def left(self) -> int:
        """How many draws are left."""
        return self.budget.draws - len(self.draws)

    def choose(self, candidates: Sequence[Hashable], utilities: Sequence[int]) -> int:
        """The index of the candidate drawn; raises ConfigError when no draw is left."""
        if self.left <= 0:
            raise ConfigError(f"the budget is for {self.budget.draws} draws, all are used")
        chosen = choose(utilities, self.rate, self._source)
        self.draws.append(Draw(tuple(candidates), tuple(utilities), chosen))
        return chosen


def run_privately(
    mechanism: Mechanism, dataset: Dataset, *, rho: Fraction, draws: int, source: Random
) -> tuple[DAG, Transcript]:
    """Run a mechanism under ρ-zCDP per row (one row added or removed).

    Parameters
    ----------
    mechanism : uses the table through utilities of width WIDTH alone.
    dataset : coded for a schema that does not depend on it.
    rho : of the whole run.
    draws : the most draws.
    source : of random bits; `random.SystemRandom()` wherever it protects anybody.
    """
    budget = Budget.of(rho, draws)
    rows = max(1, dataset.n_rows + discrete_gaussian(budget.rows_variance, source))
    chooser = PrivateChooser(budget, source)
    dag = mechanism(dataset, rows, chooser)
    return dag, Transcript(budget, rows, tuple(chooser.draws))
