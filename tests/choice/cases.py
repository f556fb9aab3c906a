"""Small federations for tests of choosing by counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.federation.rounds import server_round
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, FederationResult, ServerState
from fedbn.networks.catalog import load_network
from fedbn.scores import make_score
from fedbn.search.ges import ges

LADDER = (1.0, 2.0)


@dataclass(frozen=True)
class Federation:
    """Tables and what their sites sent."""

    tables: dict[str, Dataset]
    replies: tuple[ClientReply, ...]
    result: FederationResult

    @property
    def pooled(self) -> Dataset:
        first = next(iter(self.tables.values()))
        codes = np.concatenate([table.codes for table in self.tables.values()])
        return Dataset(first.schema, codes)


def federation(network: str, sites: int, rows: int, seed: int) -> Federation:
    """Sites that each sampled the network and learned with every weight of LADDER."""
    rng = np.random.default_rng(seed)
    source = load_network(network)
    tables = {f"site {i}": source.sample(rows, rng) for i in range(sites)}
    replies = tuple(
        ClientReply(
            name,
            tuple(ges(make_score("bdeu", table, row_weight=k)).dag for k in LADDER),
            (1.0,) * len(LADDER),
            "complete",
            row_weights=LADDER,
        )
        for name, table in tables.items()
    )
    schema = source.schema
    state = server_round(
        ServerState(schema, sites), replies, (), ConsensusSettings(choose="counts")
    )
    assert state.result is not None
    return Federation(tables, replies, state.result)
