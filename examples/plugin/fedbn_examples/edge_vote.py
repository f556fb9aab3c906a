"""Edge voting as a fusion: the edges of a majority, the most frequent first, without a cycle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import fedbn as fb
from fedbn.errors import StructureError
from fedbn.setting import between, setting


@dataclass(frozen=True)
class EdgeVoteSettings(fb.ConsensusSettings):
    """What the vote is told beside what all fusions are."""

    share: float = setting(0.5, "Edges of more than this share of the sites.", between(0, 1))


@fb.register_fusion("edge-vote", settings=EdgeVoteSettings)
def edge_vote(
    dags: Sequence[fb.DAG],
    weights: Sequence[int | Fraction],
    rng: np.random.Generator,
    settings: EdgeVoteSettings,
) -> fb.DAG:
    """Edges above the share, by weight, then by name; none that would close a cycle."""
    votes: Counter[tuple[str, str]] = Counter()
    for dag, weight in zip(dags, weights, strict=True):
        votes.update(dict.fromkeys(dag.edges, weight))
    least = Fraction(settings.share) * sum(weights)
    consensus = fb.DAG.empty(dags[0].names)
    for edge, weight in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0])):
        if weight > least:
            try:
                consensus = fb.DAG.from_edges(consensus.names, [*consensus.edges, edge])
            except StructureError:
                continue
    return consensus
