"""Pricing by local search over parent sets: for any score, and far better on categorical data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedbn._core import cg_dca as core
from fedbn.arrays import Bools, Floats
from fedbn.graphs.bits import pack, unpack
from fedbn.scores.gaussian import require_regular
from fedbn.search.cg_dca.dca_pricing import NEGATIVE, Priced
from fedbn.search.cg_dca.submodular_difference import Model, PricingProblem

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore


@dataclass(frozen=True)
class LocalSearch:
    """Descend by adding, dropping and swapping, from no parents and from the start point.

    Parameters
    ----------
    largest : the start set is of this many variables at most, the largest of x above 1/2.
    steps : moves of a descent at most.
    """

    largest: int = 3
    steps: int = 100

    def model(self, score: TabulatedScore) -> Model:
        """Of any score."""
        if score.is_gaussian:
            require_regular(score)
        return Model(score.core, score.is_gaussian)

    def columns(
        self, problem: PricingProblem, start: Floats, rng: np.random.Generator
    ) -> list[Priced]:
        """Every set on the way down with reduced cost below `NEGATIVE`."""
        found: dict[bytes, Priced] = {}
        nothing = None
        for first in (np.zeros(problem.n, dtype=np.bool_), self._round(problem, start)):
            sets, values = core.descend(
                problem.model.score,
                problem.rows,
                problem.node,
                pack(first[None])[0],
                self.steps + 1,
            )
            nothing = values[0] if nothing is None else nothing
            for parents, value in zip(unpack(sets, problem.n), values, strict=True):
                reduced = problem.constant + float(value - nothing)
                if reduced < NEGATIVE:
                    found[parents.tobytes()] = Priced(parents, reduced)
        return list(found.values())

    def _round(self, problem: PricingProblem, start: Floats) -> Bools:
        order = problem.others[np.argsort(-start[problem.others], kind="stable")]
        chosen = np.zeros(problem.n, dtype=np.bool_)
        chosen[order[: self.largest]] = True
        return chosen & (start > 0.5)
