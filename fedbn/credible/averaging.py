"""Averages over a credible set: every DAG counts exp(-excess), or every class once.

With `per_class` a class has the weight of one member, however many DAGs it has; otherwise the
prior is uniform over DAGs, as in the paper. Edges of the whole set need no list (see
`CredibleSet.edge_posteriors`); v-structures and skeletons are properties of a class; any other
function of a DAG is averaged over the listed set.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fedbn.credible.classes import MarkovClasses
from fedbn.credible.enumerate import CredibleSet
from fedbn.errors import ConfigError, SearchError
from fedbn.graphs.dag import DAG

__all__ = [
    "ancestor_posteriors",
    "averaged_edges",
    "posterior",
    "skeleton_posteriors",
    "v_structure_posteriors",
    "weighted_structures",
]

Floats = NDArray[np.float64]


def skeleton_posteriors(credible: CredibleSet) -> Floats:
    """[n, n], symmetric: the share of the weight in which two variables are adjacent."""
    edges = credible.edge_posteriors
    return np.asarray(edges + edges.T)


def posterior(
    credible: CredibleSet, function: Callable[[DAG], float | Floats], *, most: int = 1_000_000
) -> Floats:
    """The average of any function of a DAG, by listing.

    Parameters
    ----------
    function : returns a number or an array of one shape.
    most : refuse sets with more DAGs.

    Raises
    ------
    SearchError : the set has more than `most` DAGs.
    """
    if credible.count > most:
        raise SearchError(
            f"the average would list {credible.count} graphs, more than {most}; allow more, or "
            "lower the Bayes factor"
        )
    total: Floats = np.zeros(())
    for item in credible:
        total = total + math.exp(-item.excess) * np.asarray(function(item.dag), dtype=np.float64)
    return np.asarray(total / credible.total_weight)


def ancestor_posteriors(credible: CredibleSet, *, most: int = 1_000_000) -> Floats:
    """[n, n]: [i, j] is the share of the weight with a directed path from i to j."""
    return posterior(credible, _reaches, most=most)


def v_structure_posteriors(
    classes: MarkovClasses, *, per_class: bool = False, most: int = 1_000_000
) -> dict[tuple[str, str, str], float]:
    """The share of the weight with a -> c <- b, a and b not adjacent; keys (a, c, b), a < b.

    Raises
    ------
    SearchError : there are more than `most` classes.
    """
    _require_listable(classes, most)
    shares: dict[tuple[str, str, str], float] = {}
    total = 0.0
    for item in classes:
        weight = math.exp(-item.excess) * (1 if per_class else item.members)
        total += weight
        for triple in _v_structures(item.dag):
            shares[triple] = shares.get(triple, 0.0) + weight
    return {triple: share / total for triple, share in sorted(shares.items())}


def averaged_edges(
    posteriors: Floats, names: tuple[str, ...], threshold: float
) -> list[tuple[str, str, float]]:
    """Edges (parent, child, posterior) of at least the threshold, the most certain first.

    Raises
    ------
    ConfigError : the threshold is not in (0, 1].
    """
    if not 0.0 < threshold <= 1.0:
        raise ConfigError(f"the threshold must be above 0 and at most 1, not {threshold}")
    pairs = np.argwhere(posteriors >= threshold - 1e-12)
    edges = [(names[i], names[j], float(posteriors[i, j])) for i, j in pairs]
    return sorted(edges, key=lambda edge: (-edge[2], edge[0], edge[1]))


def weighted_structures(
    classes: MarkovClasses, most: int, *, per_class: bool = False
) -> tuple[list[DAG], list[float], float]:
    """One DAG per class for the best `most` classes by weight, as a client sends them.

    Returns
    -------
    The DAGs, their weights (they sum to 1), and the share of the set's weight that was left out.
    A class weighs exp(-excess) times its members, or once with `per_class`.

    Raises
    ------
    ConfigError : `most` is below 1.
    SearchError : there are more than a million classes.
    """
    if most < 1:
        raise ConfigError(f"the number of structures must be at least 1, not {most}")
    _require_listable(classes, 1_000_000)
    found = [
        (math.exp(-item.excess) * (1 if per_class else item.members), item.dag) for item in classes
    ]
    total = sum(weight for weight, _ in found)
    best = sorted(found, key=lambda pair: -pair[0])[:most]
    kept = sum(weight for weight, _ in best)
    return [dag for _, dag in best], [weight / kept for weight, _ in best], 1.0 - kept / total


def _require_listable(classes: MarkovClasses, most: int) -> None:
    if classes.count > most:
        raise SearchError(f"{classes.count} classes would be listed, more than {most}")


def _v_structures(dag: DAG) -> list[tuple[str, str, str]]:
    """(a, c, b) with a -> c <- b, a < b, not adjacent."""
    joined = dag.adjacency | dag.adjacency.T
    return [
        (min(dag.names[a], dag.names[b]), dag.names[c], max(dag.names[a], dag.names[b]))
        for c in range(dag.n)
        for a, b in combinations(dag.parents(c), 2)
        if not joined[a, b]
    ]


def _reaches(dag: DAG) -> Floats:
    """[i, j]: 1 iff there is a directed path from i to j."""
    reach = dag.adjacency.copy()
    for middle in dag.topological_order():
        reach |= np.outer(reach[:, middle], reach[middle])
    return reach.astype(np.float64)
