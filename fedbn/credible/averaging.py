"""Averages over a credible set: every DAG counts exp(-excess), or every class once.

With `per_class` a class has the weight of one member, however many DAGs it has; otherwise the
prior is uniform over DAGs, as in the paper. Edges of the whole set need no list (see
`CredibleSet.edge_posteriors`); v-structures and skeletons are properties of a class; any other
function of a DAG is averaged over the listed set, or over draws from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, islice

import numpy as np

from fedbn.arrays import Floats
from fedbn.credible.classes import MarkovClasses
from fedbn.credible.enumerate import CredibleSet, combine, cumulative_weight
from fedbn.credible.sampling import sample_dags
from fedbn.errors import ConfigError, SearchError
from fedbn.graphs.dag import DAG

CONSIDERED = 20_000


def skeleton_posteriors(credible: CredibleSet) -> Floats:
    """[n, n], symmetric: the share of the weight in which two variables are adjacent."""
    edges = credible.edge_posteriors
    return np.asarray(edges + edges.T)


def posterior(
    credible: CredibleSet,
    function: Callable[[DAG], float | Floats],
    *,
    max_listed: int = 1_000_000,
    samples: int | None = None,
    rng: np.random.Generator | None = None,
) -> Floats:
    """The average of any function of a DAG: exact by listing, or over `samples` draws.

    Parameters
    ----------
    function : returns a number or an array of one shape.
    max_listed : refuse to list sets with more DAGs.
    samples : draw so many DAGs instead, with `rng`; the standard error of a share p is
        sqrt(p (1 - p) / samples).

    Raises
    ------
    SearchError : the set has more than `max_listed` DAGs, and no samples are asked for.
    ConfigError : samples without an rng, or fewer than one.
    """
    if samples is not None:
        if rng is None or samples < 1:
            raise ConfigError("an average over samples needs at least 1 sample and an rng")
        drawn = islice(sample_dags(credible, rng), samples)
        return np.asarray(
            np.mean([np.asarray(function(dag), dtype=np.float64) for dag in drawn], axis=0)
        )
    if credible.count > max_listed:
        raise SearchError(
            f"the average would list {credible.count} graphs, more than {max_listed}; allow more, "
            "average over samples, or lower the Bayes factor"
        )
    total: Floats = np.zeros(())
    for item in credible:
        total = total + math.exp(-item.excess) * np.asarray(function(item.dag), dtype=np.float64)
    return np.asarray(total / credible.total_weight)


def ancestor_posteriors(
    credible: CredibleSet,
    *,
    max_listed: int = 1_000_000,
    samples: int | None = None,
    rng: np.random.Generator | None = None,
) -> Floats:
    """[n, n]: [i, j] is the share of the weight with a directed path from i to j."""
    return posterior(credible, _reaches, max_listed=max_listed, samples=samples, rng=rng)


def class_edge_posteriors(classes: MarkovClasses) -> Floats:
    """[n, n]: shares of edges when every class counts once, shared equally by its members.

    Raises
    ------
    SearchError : a component has too many DAGs to be listed.
    """
    credible = classes.credible
    families = credible.candidates.families
    out = np.zeros((families.n, families.n))
    profiles = [part.profile() for part in classes.parts]
    total = float(cumulative_weight(combine(profiles, credible.budget))[1][-1])
    for k, component in enumerate(credible.components):
        others = [profile for j, profile in enumerate(profiles) if j != k]
        value, weight = cumulative_weight(combine(others, credible.budget))
        rows, excess, members = classes.members_of(k)
        left = np.searchsorted(value, credible.budget - excess, side="right") - 1
        shares = np.where(left < 0, 0.0, np.exp(-excess) / members * weight[left]) / total
        family_shares = np.zeros(component.families.size)
        np.add.at(family_shares, rows, shares[:, None])
        for family, share in zip(component.origin, family_shares, strict=True):
            out[families.has_parent[family], families.node[family]] += share
    return out


def v_structure_posteriors(
    classes: MarkovClasses, *, per_class: bool = False, max_listed: int = 1_000_000
) -> dict[tuple[str, str, str], float]:
    """The share of the weight with a -> c <- b, a and b not adjacent; keys (a, c, b), a < b.

    Raises
    ------
    SearchError : there are more than `max_listed` classes.
    """
    _require_listable(classes, max_listed)
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
    classes: MarkovClasses, max_listed: int, *, per_class: bool = False
) -> tuple[list[DAG], list[float], float]:
    """One DAG per class for the best `max_listed` classes by weight, as a client sends them.

    Of more than `CONSIDERED` classes only those of least cost are considered.

    Returns
    -------
    The DAGs, their weights (they sum to 1), and the share of the set's weight that was left out.
    A class weighs exp(-excess) times its members, or once with `per_class`.

    Raises
    ------
    ConfigError : `max_listed` is below 1.
    """
    if max_listed < 1:
        raise ConfigError(f"the number of structures must be at least 1, not {max_listed}")
    found = [
        (math.exp(-excess) * (1 if per_class else classes.members_at(places)), places)
        for places, excess in islice(classes.places(), CONSIDERED)
    ]
    total = classes.total_weight if per_class else classes.credible.total_weight
    best = sorted(found, key=lambda pair: -pair[0])[:max_listed]
    kept = sum(weight for weight, _ in best)
    dags = [classes.dag_at(places) for _, places in best]
    return dags, [weight / kept for weight, _ in best], max(0.0, 1.0 - kept / total)


def _require_listable(classes: MarkovClasses, max_listed: int) -> None:
    if classes.count > max_listed:
        raise SearchError(f"{classes.count} classes would be listed, more than {max_listed}")


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
