"""The parts of CG-DCA by the names that settings use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from fedbn.search.cg_dca.inner import InnerSolver
from fedbn.search.cg_dca.kelley import Kelley
from fedbn.search.cg_dca.local_search import LocalSearch
from fedbn.search.cg_dca.minimum_norm import MinimumNorm
from fedbn.search.cg_dca.pricing import (
    BestOfPermutations,
    DCAPricing,
    GreedyOrder,
    Pricing,
    RandomOrder,
)
from fedbn.search.cg_dca.start_points import Hybrid, Random, StartPoint, Warm
from fedbn.search.cg_dca.submodular_difference import is_penalised_likelihood

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore

__all__ = ["INNER_SOLVERS", "PRICINGS", "START_POINTS", "pricing_for"]

INNER_SOLVERS: Mapping[str, InnerSolver] = MappingProxyType(
    {"minimum-norm": MinimumNorm(), "kelley": Kelley()}
)

START_POINTS: Mapping[str, StartPoint] = MappingProxyType(
    {"hybrid": Hybrid(), "random": Random(), "warm": Warm()}
)

PRICINGS: Mapping[str, Callable[[InnerSolver], Pricing]] = MappingProxyType(
    {
        "dca": lambda inner: DCAPricing(inner),
        "dca-random": lambda inner: DCAPricing(inner, ties=RandomOrder()),
        "dca-permutations": lambda inner: DCAPricing(inner, ties=BestOfPermutations()),
        "dca-greedy": lambda inner: DCAPricing(inner, ties=GreedyOrder()),
        "local-search": lambda inner: LocalSearch(),
    }
)


def pricing_for(score: TabulatedScore, name: str | None, inner: str) -> Pricing:
    """The pricing of this name; without one, DCA, or local search for BDeu and BGe.

    Those two have no difference of submodular functions here.
    """
    if name is None:
        name = "dca" if is_penalised_likelihood(score) else "local-search"
    return PRICINGS[name](INNER_SOLVERS[inner])
