"""The same distribution written on another DAG of the class, edge by edge.

Reversing a covered edge x -> y, one with pa(y) = pa(x) + x, changes two families and no
independence: P(y | pa) and P(x | pa, y) follow from P(x | pa) and P(y | pa, x) (Shachter 1986).
"""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Floats
from fedbn.graphs.dag import DAG
from fedbn.graphs.members import covered_reversals
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.network import BayesianNetwork


def rewrite(network: BayesianNetwork, member: DAG) -> tuple[BayesianNetwork, frozenset[str]]:
    """The network's distribution on an equivalent DAG.

    Parameters
    ----------
    member : over the network's names.

    Returns
    -------
    The network, and the variables with a row of their table that the distribution leaves open,
    because what it is conditioned on has probability 0; such a row is uniform.

    Raises
    ------
    StructureError : the DAGs are not equivalent.
    """
    sizes = network.schema.cardinalities
    parents = [list(network.dag.parents(node)) for node in range(network.dag.n)]
    cubes = [
        cpt.reshape([sizes[i] for i in (*parents[node], node)])
        for node, cpt in enumerate(network.cpts)
    ]
    for x, y in covered_reversals(network.dag, member):
        both, given = sorted(parents[x]), len(parents[x])
        of_y = np.moveaxis(cubes[y], parents[y].index(x), given)
        of_x = cubes[x][..., None]
        joint = np.where(of_x == 0, 0.0, of_x * of_y)  # also where P(y | pa, x) is undefined
        total = joint.sum(axis=given)
        with np.errstate(divide="ignore", invalid="ignore"):
            back = np.moveaxis(joint / np.expand_dims(total, given), given, given + 1)
        parents[y], parents[x] = both, sorted([*both, y])
        cubes[y], cubes[x] = total, np.moveaxis(back, given, parents[x].index(y))
    open_rows = {network.names[v] for v, cube in enumerate(cubes) if np.isnan(cube).any()}
    tables = [
        np.where(np.isnan(cube), 1.0 / sizes[v], cube).reshape(-1, sizes[v])
        for v, cube in enumerate(cubes)
    ]
    return BayesianNetwork(member, network.schema, tuple(tables)), frozenset(open_rows)


def rewrite_equations(network: LinearGaussianNetwork, member: DAG) -> LinearGaussianNetwork:
    """The network's distribution on an equivalent DAG; raises StructureError if it is not."""
    weights: Floats = network.coefficients.copy()
    constant, deviation = network.intercepts.copy(), network.standard_deviations.copy()
    for x, y in covered_reversals(network.dag, member):
        slope = weights[x, y]
        of_y = weights[:, y] + slope * weights[:, x]
        of_y[x] = 0.0
        middle = constant[y] + slope * constant[x]
        total = np.hypot(slope * deviation[x], deviation[y])
        gain = slope * (deviation[x] / total) ** 2
        weights[:, x] -= gain * of_y
        weights[y, x] = gain
        constant[x] -= gain * middle
        deviation[x] *= deviation[y] / total
        weights[:, y], constant[y], deviation[y] = of_y, middle, total
    return LinearGaussianNetwork(member, weights, constant, deviation)
