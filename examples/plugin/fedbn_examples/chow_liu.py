"""The Chow-Liu tree as a learner: the spanning tree of largest mutual information."""

from __future__ import annotations

import networkx as nx
import numpy as np

import fedbn as fb


def chow_liu(table: fb.Table, rng: np.random.Generator, settings: fb.LearnerSettings) -> fb.DAG:
    """The tree, away from the first variable; pairs without any dependence stay apart."""
    graph = nx.Graph()
    graph.add_nodes_from(table.names)
    for j, child in enumerate(table.names):
        for i, parent in enumerate(table.names[:j]):
            graph.add_edge(parent, child, weight=information(table, i, j))
    tree = nx.maximum_spanning_tree(graph)
    kept = [edge for edge in tree.edges if tree.edges[edge]["weight"] > 1e-12]
    forest = nx.Graph(kept)
    forest.add_nodes_from(table.names)
    roots = (min(part) for part in nx.connected_components(forest))
    return fb.DAG.from_edges(table.names, [e for r in roots for e in nx.bfs_edges(forest, r)])


def information(table: fb.Table, i: int, j: int) -> float:
    """The mutual information of two columns, in nats."""
    pairs = np.zeros((len(table.schema.states[i]), len(table.schema.states[j])))
    np.add.at(pairs, (table.dataset.codes[:, i], table.dataset.codes[:, j]), 1 / len(table))
    alone = pairs.sum(axis=1, keepdims=True) * pairs.sum(axis=0, keepdims=True)
    seen = pairs > 0
    return float((pairs[seen] * np.log(pairs[seen] / alone[seen])).sum())
