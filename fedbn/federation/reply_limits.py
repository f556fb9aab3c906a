"""What a receiver of structures accepts at most."""

from __future__ import annotations

from dataclasses import dataclass

from fedbn.setting import Settings, at_least, setting
from fedbn.wire.npy import MAX_BYTES


@dataclass(frozen=True)
class Limits(Settings):
    """What a receiver accepts at most.

    One dense graph among many sparse ones makes the fusion dense and slow, so the limits on
    in-degree and edges protect the consensus, those on DAGs and bytes the memory.
    """

    max_in_degree: int = setting(16, "Most parents of any node of a reply's DAGs.", at_least(0))
    max_edges: int = setting(10_000, "Most edges of any one DAG of a reply.", at_least(0))
    max_dags: int = setting(20, "Most DAGs of one reply.", at_least(1), key="max-dags-per-reply")
    max_bytes: int = setting(
        MAX_BYTES,
        "Most bytes of one reply, and of its DAGs once decoded (one byte per pair of variables).",
        at_least(1),
    )
    max_states: int = setting(
        1_000,
        "Most states of any one column of a client: every other client has to count them, too.",
        at_least(1),
    )
