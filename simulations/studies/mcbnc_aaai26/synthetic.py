"""Appendix B: inputs around a random base DAG, and how near the consensus comes to it."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from typing import Any

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import path_states
from fedbn.graphs.distances import smhd
from simulations.benchmarks.consensus.inputs import around_random
from simulations.study_cases import Case

THETAS = [Fraction(k, 20) for k in range(25)]
"""θ from 0 to 1.2; before them the curves have G+."""


def run_synthetic(case: Case) -> dict[str, Any]:
    """By reading: [SMHD to the base, mean SMHD to the inputs] of G+ and at every θ of THETAS."""
    inputs = around_random("walk", case["n"], case["r"], None, case["seed"])
    base = inputs.base
    assert base is not None
    path = mcbnc_path(inputs.dags, pooling="mean")
    result: dict[str, Any] = {
        "inputs_to_base": sum(smhd(dag, base) for dag in inputs.dags) / case["r"]
    }
    for reading in ("search", "refusion"):
        states = path_states(path, reading)
        ends = [Fraction(-1) if s.theta is None else s.theta for s in states]
        places = [0, *(bisect_right(ends, theta) - 1 for theta in THETAS)]
        known = {k: [smhd(states[k].dag, base), float(states[k].mean_smhd)] for k in set(places)}
        result[reading] = [known[place] for place in places]
    return result
