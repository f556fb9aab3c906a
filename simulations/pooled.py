"""What pooling would have given: GES on all rows together, which no federation may do.

Only a simulation has all the rows, so only a simulation can say it. It is the ruler for what a
federation loses; where sites differ in their parameters it is a bad one, as pooled rows then show
dependences that no site has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.learners import LearnerSettings, learn
from fedbn.results.outcome import PooledReference

if TYPE_CHECKING:
    from fedbn.federation.state import ClientReply, FederationResult


def pooled_table(tables: Sequence[Dataset], schema: Schema) -> Dataset:
    """All rows of all tables, under the agreed schema."""
    coded = [table.with_schema(schema) for table in tables]
    gone = None
    if any(table.gone is not None for table in coded):
        gone = np.concatenate(
            [np.zeros(t.table.shape, bool) if t.gone is None else t.gone for t in coded]
        )
    return Dataset(schema, np.concatenate([table.table for table in coded]), gone)


def pooled_reference(
    tables: Sequence[Dataset], result: FederationResult, settings: LearnerSettings, gold: DAG | None
) -> PooledReference:
    """GES with the run's score on the pooled rows, and what the consensus closes.

    Parameters
    ----------
    tables : of the clients that took part.
    result : of the federation.
    settings : of the run; its score and ess are used.
    gold : the true structure, where known.
    """
    plain = LearnerSettings(learner="ges", score=settings.score, ess=settings.ess)
    table = pooled_table(tables, result.schema)
    dag = learn(table, plain, np.random.default_rng(0)).dags[0].reorder(result.schema.names)
    if gold is None:
        return PooledReference(dag, None)
    min_weight = min(result.replies[0].row_weights)
    sites = [_mean_smhd(reply.of_class(min_weight), gold) for reply in result.replies]
    site = sum(sites) / len(sites)
    return PooledReference(
        dag, share_closed(site, smhd(result.consensus.dag, gold), smhd(dag, gold))
    )


def share_closed(start: float, reached: float, goal: float) -> float | None:
    """Which share of the distance from `start` down to `goal` is closed at `reached`.

    None where the goal is not at least 1 below the start: there is no distance to speak of.

    >>> share_closed(10.0, 2.0, 0.0), share_closed(10.0, 12.0, 9.5)
    (0.8, None)
    """
    if start - goal < 1.0:
        return None
    return (start - reached) / (start - goal)


def _mean_smhd(reply: ClientReply, gold: DAG) -> float:
    pairs = zip(reply.dags, reply.weights, strict=True)
    return sum(weight * smhd(dag, gold) for dag, weight in pairs) / sum(reply.weights)
