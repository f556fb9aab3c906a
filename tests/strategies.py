"""Hypothesis strategies for structures."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from fedbn.graphs.dag import DAG


@st.composite
def dags(draw: st.DrawFn, min_nodes: int = 1, max_nodes: int = 7) -> DAG:
    """A DAG over v0, v1, ... with any topological order and any density."""
    n = draw(st.integers(min_nodes, max_nodes))
    place = draw(st.permutations(range(n)))
    pairs = n * (n - 1) // 2
    chosen = draw(st.lists(st.booleans(), min_size=pairs, max_size=pairs))
    upper = np.zeros((n, n), dtype=bool)
    upper[np.triu_indices(n, k=1)] = chosen
    return DAG(tuple(f"v{i}" for i in range(n)), upper[np.ix_(place, place)])


@st.composite
def dag_lists(
    draw: st.DrawFn, min_nodes: int = 1, max_nodes: int = 6, max_dags: int = 5
) -> list[DAG]:
    """Several DAGs over the same variables."""
    n = draw(st.integers(min_nodes, max_nodes))
    count = draw(st.integers(1, max_dags))
    return [draw(dags(min_nodes=n, max_nodes=n)) for _ in range(count)]
