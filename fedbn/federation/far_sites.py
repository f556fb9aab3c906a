"""Whose structures are far from the consensus, unlike those of the others."""

from __future__ import annotations

from fractions import Fraction

from fedbn.consensus.far_inputs import far_among
from fedbn.federation.state import ClientReply, FederationResult
from fedbn.fusion.weights import integer_weights
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import induced_smhd


def distances_of_sites(result: FederationResult) -> dict[str, float]:
    """Client -> the mean SMHD of its structures to the consensus, over its own variables."""
    dag = result.consensus.dag
    return {reply.client: _distance(dag, reply) for reply in result.fused_replies}


def _distance(dag: DAG, reply: ClientReply) -> float:
    weights = [Fraction(weight) for weight in reply.weights]
    far = (weight * induced_smhd(dag, d) for weight, d in zip(weights, reply.dags, strict=True))
    return float(sum(far) / sum(weights))


def far_sites(result: FederationResult) -> tuple[str, ...]:
    """The clients of whose structures those with more than half of its weight are far, sorted. A
    structure is far as an input of the consensus is (`far_among`, by its share of its client's
    weight): one client's structures can be near and far."""
    replies, dag = result.fused_replies, result.consensus.dag
    shares = integer_weights(
        [reply.weights for reply in replies], [reply.dags for reply in replies]
    )
    distances = [induced_smhd(dag, each) for reply in replies for each in reply.dags]
    far = far_among(distances, [unit for own in shares for unit in own], dag.n).tolist()
    found, begin = [], 0
    for reply, own in zip(replies, shares, strict=True):
        end = begin + len(own)
        if 2 * sum(u for u, is_far in zip(own, far[begin:end], strict=True) if is_far) > sum(own):
            found.append(reply.client)
        begin = end
    return tuple(sorted(found))
