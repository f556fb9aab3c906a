"""Whose structures are far from the consensus, unlike those of the others."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from fractions import Fraction

from fedbn.consensus.others import is_far
from fedbn.federation.state import ClientReply, FederationResult
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import induced_smhd

__all__ = ["distances_of_sites", "far_sites"]


def distances_of_sites(result: FederationResult) -> dict[str, float]:
    """Client -> the mean SMHD of its structures to the consensus, over its own variables."""
    dag = result.consensus.dag
    return {reply.client: _distance(dag, reply) for reply in result.fused_replies}


def _distance(dag: DAG, reply: ClientReply) -> float:
    weights = [Fraction(weight) for weight in reply.weights]
    far = (weight * induced_smhd(dag, d) for weight, d in zip(weights, reply.dags, strict=True))
    return float(sum(far) / sum(weights))


def far_sites(distances: Mapping[str, float], n: int) -> tuple[str, ...]:
    """The clients that are far where the structures have `n` variables, sorted.

    >>> far_sites({"n": 3.0, "s": 2.0, "e": 40.0, "w": 5.0}, n=20)
    ('e',)
    """
    usual = statistics.median_low(distances.values())
    return tuple(sorted(c for c, each in distances.items() if is_far(each, usual, n)))
