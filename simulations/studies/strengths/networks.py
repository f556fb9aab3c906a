"""Random networks to which the probability of an edge is fitted."""

from __future__ import annotations

import numpy as np

from fedbn.graphs.random import random_dag
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.random import node_names, random_bayesian_network

MOST_PARENTS = 5


def drawn_network(rng: np.random.Generator) -> BayesianNetwork:
    """A network whose variables determine each other weakly, strongly, or some of them almost.

    8 to 60 variables, .8 to 2.2 edges for each (fewer until no variable has more than
    `MOST_PARENTS` parents), up to 2, 3, 4 or 6 states. The rows of a variable's table are Dirichlet
    with a concentration of the variable's own: log-normal about a centre between .08 and 1, of a
    width between 0 and 1.2, within .03 and 5.
    """
    n = int(rng.integers(8, 61))
    edges = min(int(n * rng.uniform(0.8, 2.2)), n * (n - 1) // 2)
    dag = random_dag(node_names(n), rng=rng, edges=edges)
    while max(len(dag.parents(v)) for v in range(n)) > MOST_PARENTS:
        edges = int(0.95 * edges)
        dag = random_dag(node_names(n), rng=rng, edges=edges)
    states = (2, int(rng.choice([2, 3, 4, 6])))
    centre, width = rng.uniform(np.log(0.08), 0.0), rng.uniform(0.0, 1.2)
    base = random_bayesian_network(dag, rng=rng, states=states)
    tables = []
    for table in base.cpts:
        own = float(np.clip(np.exp(centre + width * rng.standard_normal()), 0.03, 5.0))
        tables.append(rng.dirichlet(np.full(table.shape[1], own), size=len(table)))
    return BayesianNetwork(base.dag, base.schema, tuple(tables))
