"""The generators of FedCDH and of I-PERI, rebuilt from the programs that their authors publish.

All begin with an Erdős-Rényi graph of as many edges as nodes (as far as there are pairs), whose
edges follow a random order; every site has `rows` rows.

fedcdh-linear : coefficients from U(0.5, 2.5), Gaussian noise of standard deviation U(1, 2). Two
    variables change: every site has its own coefficients for them, and its noise is times U(1, 3).
fedcdh-general : the parents go through one of sin, x², tanh and x, drawn for every variable (at the
    two that change for every site); noise is N(0, 1) or U(-0.5, 0.5).
peri-linear : coefficients ±U(0.1, 1) and noise ±|N(0.55, 0.15)|, drawn for every site and variable.
    The parents of every collider are joined. At the first site nothing is changed; at every other
    site one variable, the later parent of such a collider as long as there are any, has lost its
    own parents.

What differs from I-PERI's program: rows are made parents first (there, a parent that comes later in
the list of nodes goes in as its noise alone). Its nonlinear tables are cut to three states and are
left out.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from fedbn.arrays import Bools, Floats
from fedbn.graphs.dag import DAG
from fedbn.networks.random import node_names

Rng = np.random.Generator
FUNCTIONS: tuple[Callable[[Floats], Any], ...] = (np.sin, np.square, np.tanh, lambda x: x)


def tables_of(generator: str, nodes: int, sites: int, rows: int, rng: Rng) -> tuple[DAG, Floats]:
    """The network, and the sites' rows [sites, rows, nodes]."""
    return GENERATORS[generator](nodes, sites, rows, rng)


def _graph(n: int, rng: Rng) -> tuple[Bools, list[int]]:
    """Adjacency and an order that it follows."""
    pairs = list(combinations(range(n), 2))
    chosen = rng.choice(len(pairs), size=min(n, len(pairs)), replace=False)
    order = rng.permutation(n).tolist()
    adjacency = np.zeros((n, n), dtype=np.bool_)
    for pair in chosen:
        i, j = pairs[pair]
        adjacency[order[i], order[j]] = True
    return adjacency, order


def _fedcdh(general: bool) -> Callable[[int, int, int, Rng], tuple[DAG, Floats]]:
    def generate(n: int, sites: int, rows: int, rng: Rng) -> tuple[DAG, Floats]:
        adjacency, order = _graph(n, rng)
        changing = rng.choice(n, size=2, replace=False).tolist()
        x = np.zeros((sites, rows, n))
        for j in order:
            parents = np.flatnonzero(adjacency[:, j])
            shared = rng.uniform(0.5, 2.5, size=parents.size)
            through = FUNCTIONS[rng.integers(4)] if general else FUNCTIONS[3]
            noise = _noise((sites, rows), general, rng)
            for site in range(sites):
                own = shared
                if j in changing:
                    own = rng.uniform(0.5, 2.5, size=parents.size)
                    through = FUNCTIONS[rng.integers(4)] if general else through
                    noise[site] *= rng.uniform(1, 3)
                x[site, :, j] = through(x[site][:, parents]) @ own + noise[site]
        return DAG(node_names(n), adjacency), x

    return generate


def _noise(shape: tuple[int, int], general: bool, rng: Rng) -> Floats:
    if not general:
        return rng.normal(0, rng.uniform(1, 2), size=shape)
    return rng.uniform(-0.5, 0.5, size=shape) if rng.random() > 0.5 else rng.normal(size=shape)


def _peri(n: int, sites: int, rows: int, rng: Rng) -> tuple[DAG, Floats]:
    adjacency, order = _graph(n, rng)
    place = {v: i for i, v in enumerate(order)}
    shielded = []
    for child in order:
        for a, b in combinations(np.flatnonzero(adjacency[:, child]).tolist(), 2):
            first, second = sorted((a, b), key=place.__getitem__)
            adjacency[first, second] = True
            shielded.append(second)
    cut = [None, *(shielded.pop() if shielded else int(rng.integers(n)) for _ in range(sites - 1))]
    x = np.zeros((sites, rows, n))
    for site, intervened in enumerate(cut):
        for j in order:
            sign = rng.choice([-1, 1])
            x[site, :, j] = sign * np.abs(rng.normal(0.55, 0.15, size=rows))
            parents = np.flatnonzero(adjacency[:, j])
            if j != intervened and parents.size:
                size = rng.choice([-1, 1], size=parents.size)
                x[site, :, j] += x[site][:, parents] @ (size * rng.uniform(0.1, 1, parents.size))
    return DAG(node_names(n), adjacency), x


GENERATORS: dict[str, Callable[[int, int, int, Rng], tuple[DAG, Floats]]] = {
    "fedcdh-linear": _fedcdh(general=False),
    "fedcdh-general": _fedcdh(general=True),
    "peri-linear": _peri,
}
