"""Hypothesis strategies for structures."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge


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


@st.composite
def knowledge_of(draw: st.DrawFn, dag: DAG | None, names: tuple[str, ...]) -> Knowledge:
    """Knowledge of these variables without contradiction; with a DAG, some that it keeps.

    Some pairs are required or forbidden, some variables are in tiers that follow a hidden order.
    """
    place = draw(st.permutations(names)) if dag is None else _order_of(dag)
    later = {name: k for k, name in enumerate(place)}
    word = st.sampled_from(["", "", "", "", "required", "forbidden", "both", "tiers"])
    said: dict[str, list[tuple[str, str]]] = {"required": [], "forbidden": []}
    tiered: list[str] = []
    for a in names:
        for b in names:
            if later[a] >= later[b]:
                continue
            joined = dag is not None and (a, b) in dag.edges
            kind = draw(word)
            if kind == "required" and (dag is None or joined):
                said["required"].append((a, b))
            if kind == "forbidden":
                said["forbidden"].append((b, a))
            if kind == "both" and not joined:
                said["forbidden"] += [(a, b), (b, a)]
            if kind == "tiers":
                tiered += [a, b]
    cuts = draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names)))
    tiers: list[list[str]] = [[]]
    for name, cut in zip(place, cuts, strict=True):
        if cut and tiers[-1]:
            tiers.append([])
        if name in tiered:
            tiers[-1].append(name)
    return Knowledge(
        tuple(said["required"]), tuple(said["forbidden"]), tuple(tuple(t) for t in tiers if t)
    )


def _order_of(dag: DAG) -> list[str]:
    return [dag.names[i] for i in dag.topological_order()]
