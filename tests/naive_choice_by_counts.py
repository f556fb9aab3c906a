"""Slow, obvious twin of choosing by counts: with all tables in one place."""

from __future__ import annotations

from collections.abc import Sequence

from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from tests import naive_search as naive


def family_score(
    tables: Sequence[Dataset], pooled: Dataset, node: int, parents: tuple[int, ...], ess: float
) -> tuple[float, float]:
    """BDeu of all rows together, and the sum of the sites' BDeu, from the rows themselves."""
    shared = naive.bdeu(pooled, node, parents, ess)
    return shared, sum(naive.bdeu(table, node, parents, ess) for table in tables)


def total(tables: Sequence[Dataset], pooled: Dataset, dag: DAG, ess: float) -> float:
    return sum(
        max(family_score(tables, pooled, node, parents, ess))
        for node, parents in enumerate(dag.parent_sets())
    )
