"""The pricings of CG-DCA by the names that settings use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from fedbn.search.cg_dca.dca_pricing import DCAPricing, Pricing
from fedbn.search.cg_dca.local_search import LocalSearch
from fedbn.search.cg_dca.submodular_difference import is_penalised_likelihood

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore

PRICINGS: Mapping[str, Pricing] = MappingProxyType(
    {"dca": DCAPricing(), "local-search": LocalSearch()}
)


def pricing_for(score: TabulatedScore, name: str | None) -> Pricing:
    """The pricing of this name; without one, DCA, or local search for BDeu and BGe.

    Those two have no difference of submodular functions here.
    """
    if name is None:
        name = "dca" if is_penalised_likelihood(score) else "local-search"
    return PRICINGS[name]
