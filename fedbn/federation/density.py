"""Replies far denser than the others are left out before the fusion.

The time of a fusion grows steeply with the edges of its inputs, and so does the harm that one reply
can do to the others. Both are bounded by what most clients send: counted are the pairs of variables
that the structures of a reply join, all together, and a reply of more than `ratio` times the median
client's pairs is refused. Replies of up to two pairs per variable never are: they cost little, and
a site with many rows may well find them where small sites find next to nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np

from fedbn.federation.state import ClientReply
from fedbn.graphs.dag import DAG

PAIRS_PER_VARIABLE = 2


def without_dense(
    replies: Sequence[ClientReply], ratio: float | None
) -> tuple[tuple[ClientReply, ...], tuple[tuple[str, str], ...]]:
    """The replies that may be fused, and (client, reason) of those that join more than `ratio`
    times the median client's pairs (None: any number). The median of an even number is the lower
    one, so that half of the clients cannot raise it."""
    if ratio is None or not replies:
        return tuple(replies), ()
    pairs = [joined_pairs(reply.dags) for reply in replies]
    median = statistics.median_low(pairs)
    kept, refused = [], []
    for reply, count in zip(replies, pairs, strict=True):
        if count <= max(ratio * median, PAIRS_PER_VARIABLE * reply.dags[0].n):
            kept.append(reply)
        else:
            words = f"{reply.client}: its structures join {count} pairs of variables, more than"
            of = f"{ratio:g} times the {median} of the median client (max-edges-ratio)"
            refused.append((reply.client, f"{words} {of}"))
    return tuple(kept), tuple(refused)


def joined_pairs(dags: Sequence[DAG]) -> int:
    """How many pairs of variables one or more of the DAGs, over the same names, join."""
    pairs = np.concatenate([np.sort(dag.arcs, axis=1) for dag in dags])
    return len(np.unique(pairs @ (dags[0].n, 1)))
