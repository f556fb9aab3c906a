"""Replies far denser than the others are left out before the fusion.

The time of a fusion grows steeply with the edges of its densest input, and so does the harm that
one input can do to the others. Both are bounded by what most clients send: a reply with a structure
of more than `ratio` times the median client's edges is refused. Structures of up to two edges per
variable never are: they cost little, and a site with many rows may well find them where small sites
find next to nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Protocol, TypeVar

from fedbn.graphs.dag import DAG

__all__ = ["without_dense"]

EDGES_PER_VARIABLE = 2


class Reply(Protocol):
    """What is looked at of a reply."""

    @property
    def client(self) -> str: ...

    @property
    def dags(self) -> tuple[DAG, ...]: ...


AReply = TypeVar("AReply", bound=Reply)


def without_dense(
    replies: Sequence[AReply], ratio: float | None
) -> tuple[tuple[AReply, ...], tuple[tuple[str, str], ...]]:
    """The replies that may be fused, and (client, reason) of those that are too dense.

    Parameters
    ----------
    replies : over the same variables. A client counts with its densest structure; the median of an
        even number is the lower one, so that half of the clients cannot raise it.
    ratio : how many times the median client's edges a structure may have; None: any number.
    """
    if ratio is None or not replies:
        return tuple(replies), ()
    densest = [max(dag.n_edges for dag in reply.dags) for reply in replies]
    median = statistics.median_low(densest)
    most = max(ratio * median, EDGES_PER_VARIABLE * replies[0].dags[0].n)
    kept = tuple(r for r, edges in zip(replies, densest, strict=True) if edges <= most)
    refused = tuple(
        (
            reply.client,
            f"{reply.client}: a structure has {edges} edges, more than {ratio:g} times the "
            f"{median} of the median client (max-edges-ratio)",
        )
        for reply, edges in zip(replies, densest, strict=True)
        if edges > most
    )
    return kept, refused
