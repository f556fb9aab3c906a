"""Several populations from one network, and the tables of sites that come from them.

A second population is the first one with edges moved: so many edges are taken away, so many others
are put in, and every variable whose parents changed gets a table of its own, drawn row by row from
Dirichlet(1). All other variables keep theirs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbn.arrays import Bools
from fedbn.data.dataset import Dataset
from fedbn.data.lacking import draw_columns
from fedbn.errors import NetworkError
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import random_dag
from fedbn.networks.catalog import load_network
from fedbn.networks.network import BayesianNetwork, table_shape
from fedbn.networks.random import node_names, random_bayesian_network

MOST_PARENTS = 4
"""No edge is moved to a variable that has so many."""

RANDOM = {
    "random15": (15, 20),
    "random25": (25, 35),
    "random35": (35, 50),
    "random50": (50, 75),
}
"""Name -> variables and edges of a network at random."""


def base_network(name: str, rng: np.random.Generator) -> BayesianNetwork:
    """An embedded network, or one at random (`RANDOM`) with two or three states a variable."""
    if name in RANDOM:
        n, edges = RANDOM[name]
        dag = random_dag(node_names(n), rng=rng, edges=edges)
        return random_bayesian_network(dag, rng=rng, states=(2, 3), concentration=0.5)
    network = load_network(name)
    if not isinstance(network, BayesianNetwork):
        raise NetworkError(f"a population needs a network of categories, {name!r} is none")
    return network


def populations(
    network: BayesianNetwork, count: int, edges: int, rng: np.random.Generator
) -> tuple[BayesianNetwork, ...]:
    """The network, and others with so many of its edges moved, each on its own."""
    return (network, *(move_edges(network, edges, rng) for _ in range(count - 1)))


def move_edges(network: BayesianNetwork, edges: int, rng: np.random.Generator) -> BayesianNetwork:
    """The network with so many edges moved; the new ones join pairs that were not joined before.

    Raises
    ------
    NetworkError : it has fewer edges, or no place for so many new ones.
    """
    before = network.dag.adjacency
    present = np.argwhere(before)
    if edges > len(present):
        raise NetworkError(f"{edges} edges cannot be moved in a network of {len(present)}")
    matrix = before.copy()
    for tail, head in present[rng.choice(len(present), size=edges, replace=False)]:
        matrix[tail, head] = False
    left = edges
    for k in rng.permutation(matrix.size):
        tail, head = divmod(int(k), len(matrix))
        if left and tail != head and not (before[tail, head] or before[head, tail]):
            left -= _put(matrix, tail, head)
    if left:
        raise NetworkError(f"there is no place for {left} of {edges} moved edges")
    return _with_new_tables(network, DAG(network.names, matrix), rng)


def _put(matrix: np.ndarray, tail: int, head: int) -> bool:
    """Put an edge in where it closes no cycle and its head has few parents; whether it was put."""
    if matrix[:, head].sum() >= MOST_PARENTS or matrix[tail, head] or matrix[head, tail]:
        return False
    seen, stack = {head}, [head]
    while stack:
        fresh = {int(v) for v in np.flatnonzero(matrix[stack.pop()])} - seen
        seen |= fresh
        stack.extend(fresh)
    matrix[tail, head] = tail not in seen
    return tail not in seen


def _with_new_tables(
    network: BayesianNetwork, dag: DAG, rng: np.random.Generator
) -> BayesianNetwork:
    """The tables of `network`, new ones where the parents in `dag` are others."""
    sizes = network.schema.cardinalities
    tables = []
    for node, name in enumerate(network.names):
        parents = list(dag.parents(node))
        if parents == list(network.dag.parents(node)):
            tables.append(network.cpts[node])
            continue
        q, r = table_shape(name, sizes[parents], int(sizes[node]))
        tables.append(rng.dirichlet(np.ones(r), size=q))
    return BayesianNetwork(dag, network.schema, tuple(tables))


def columns_of_sites(
    lacking: str, network: BayesianNetwork, sites: int, rng: np.random.Generator
) -> Bools:
    """bool [sites, n], which site has which variable; so many per cent are lacking at each.

    random-20 : drawn at every site by itself.
    panels-20 : variables are dealt out to five panels, and whole panels are drawn.
    kinds-20 : there are three kinds of sites, which lack the same; sites take turns.
    halves-20 : two kinds, the first half of the sites and the second.
    """
    kind, _, percent = lacking.partition("-")
    share, n = int(percent) / 100, network.dag.n
    if kind in ("kinds", "halves"):
        count = 3 if kind == "kinds" else 2
        of = np.arange(sites) % 3 if kind == "kinds" else 2 * np.arange(sites) // sites
        return draw_columns(n, count, share, rng)[of]
    return draw_columns(n, sites, share, rng, blocks=5 if kind == "panels" else None)


def rows_of_sites(rows: int | None, sites: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Rows of every site: so many each, or without a number 100 to 10,000, log-uniform."""
    if rows is not None:
        return (rows,) * sites
    return tuple(int(r) for r in np.exp(rng.uniform(np.log(100), np.log(10_000), size=sites)))


def tables_of(
    sources: Sequence[BayesianNetwork],
    sizes: Sequence[int],
    rows: Sequence[int],
    rng: np.random.Generator,
) -> tuple[tuple[Dataset, ...], tuple[int, ...]]:
    """The tables of the sites, and the number of the population that each comes from.

    sizes : how many sites each population has; rows : of every site, in the same order.
    """
    labels = tuple(g for g, size in enumerate(sizes) for _ in range(size))
    tables = tuple(sources[g].sample(n, rng) for g, n in zip(labels, rows, strict=True))
    return tables, labels
