"""Choosing by counts: totals of structures where all sites have the same columns (`counting.py`),
moves by their judges where they have different ones (`judged_counting.py`)."""

from __future__ import annotations

from fedbn.federation.counting import Counting, open_counting
from fedbn.federation.judged_counting import JudgedCounting, open_judged
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import FederationResult
from fedbn.federation.whole_families import columns_differ


def begin_choosing(
    result: FederationResult, settings: ConsensusSettings, ess: float, seed: int
) -> Counting | JudgedCounting:
    """The dialogue before its first request, about what the rounds gave; raises as the two do."""
    if columns_differ(result):
        return open_judged(result, settings, ess)
    return open_counting(result, settings, ess, seed)
