"""What a receiver of structures accepts at most."""

from __future__ import annotations

from dataclasses import dataclass

from fedbn.setting import Settings, at_least, setting
from fedbn.wire.npy import MAX_BYTES


@dataclass(frozen=True)
class Limits(Settings):
    """What a receiver accepts at most. One dense graph among many sparse ones makes the fusion
    dense and slow, so the limits on in-degree and edges protect the consensus, those on DAGs and
    bytes the memory."""

    max_in_degree: int = setting(
        16, "Maximum number of parents of a node in a reply's DAGs.", at_least(0)
    )
    max_edges: int = setting(10_000, "Maximum number of edges of one DAG in a reply.", at_least(0))
    max_dags: int = setting(
        20, "Maximum number of DAGs in one reply.", at_least(1), key="max-dags-per-reply"
    )
    max_bytes: int = setting(
        MAX_BYTES,
        "Maximum size of one reply in bytes, and of its decoded DAGs (one byte per pair of "
        "variables; DAGs of more than 4,096 variables are kept as edges and do not count).",
        at_least(1),
    )
    max_states: int = setting(
        1_000,
        "Maximum number of states of one column of a client; every other client has to count them "
        "as well.",
        at_least(1),
    )
