"""Why an edge is in the consensus or not, and who disagrees with it.

Who supports which edge is for the server's eyes: it is never sent to clients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fedbn.consensus.mcbnc import McbncPath
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd

__all__ = ["EdgeHistory", "client_distances", "edge_histories"]


@dataclass(frozen=True)
class EdgeHistory:
    """What happened to one pair of variables that G+ joins.

    Attributes
    ----------
    a, b : the pair, sorted as text.
    support : share of the inputs' weight that joins the pair by an edge, in either direction.
    clients : positions of the given DAGs that do.
    step : number of the deletion that removed the pair, from 0; None: it never was.
    psi, theta : of that deletion; None likewise.
    """

    a: str
    b: str
    support: Fraction
    clients: tuple[int, ...]
    step: int | None
    psi: Fraction | None
    theta: Fraction | None


def edge_histories(path: McbncPath) -> tuple[EdgeHistory, ...]:
    """One history per pair that G+ joins, sorted by pair.

    Examples
    --------
    >>> from fedbn.consensus.mcbnc import mcbnc_path
    >>> edge = DAG.from_edges("ab", [("a", "b")])
    >>> h = edge_histories(mcbnc_path([edge, DAG.empty("ab")]))[0]
    >>> str(h.support), h.clients, str(h.psi)
    ('1/2', (0,), '1/2')
    """
    inputs = path.inputs
    joined = inputs.adjacency | inputs.adjacency.transpose(0, 2, 1)
    deleted = {tuple(sorted((s.x, s.y))): (k, s) for k, s in enumerate(path.steps)}
    place = {name: i for i, name in enumerate(path.names)}
    histories = []
    for a, b in sorted(tuple(sorted(edge)) for edge in path.union.edges):
        having = np.flatnonzero(joined[:, place[a], place[b]])
        step, record = deleted.get((a, b), (None, None))
        histories.append(
            EdgeHistory(
                a=a,
                b=b,
                support=Fraction(sum(inputs.weights[i] for i in having), inputs.total),
                clients=tuple(sorted(c for i in having for c in inputs.members[i])),
                step=step,
                psi=None if record is None else record.psi,
                theta=None if record is None else record.theta,
            )
        )
    return tuple(histories)


def client_distances(dag: DAG, dags: Sequence[DAG]) -> tuple[int, ...]:
    """SMHD of every client's DAG to the consensus `dag`, in the order given."""
    return tuple(smhd(dag, other) for other in dags)
