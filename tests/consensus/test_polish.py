"""The polish step: never worse, and the gap is told before and after."""

from __future__ import annotations

import numpy as np
import pytest

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.polish import polish
from fedbn.consensus.threshold import select_consensus
from fedbn.graphs.distances import mean_smhd
from fedbn.graphs.random import random_dag


@pytest.mark.slow
def test_polish_lowers_the_distance() -> None:
    rng = np.random.default_rng(4)
    names = [f"v{i}" for i in range(8)]
    gained = 0
    for _ in range(6):
        dags = [random_dag(names, edges=10, rng=rng) for _ in range(5)]
        path = mcbnc_path(dags)
        consensus = select_consensus(path, "search", "1/5")
        result = polish(consensus, path)
        assert result.mean_smhd == mean_smhd(result.dag, dags) <= consensus.mean_smhd
        assert 0 <= result.gap <= consensus.gap
        gained += result.gap < consensus.gap
    assert gained
