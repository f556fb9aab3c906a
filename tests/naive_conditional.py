"""Twins of conditional-Gaussian networks by the definitions: all configurations, one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.graphs.dag import DAG
from fedbn.networks.conditional_gaussian import ConditionalGaussianNetwork, Regressions
from fedbn.networks.linear_gaussian import LinearEquation, LinearGaussianNetwork
from tests.naive_inference import conditional_normal


def random_conditional(rng: np.random.Generator, kinds: str) -> ConditionalGaussianNetwork:
    """A random network; `kinds` has a letter per variable, c or n, categories of 1 to 3 states."""
    variables = [
        Variable(f"{place:02d}{kind}", None if kind == "n" else tuple("abc"[: rng.integers(1, 4)]))
        for place, kind in enumerate(kinds)
    ]
    schema = Schema(tuple(variables))
    order = sorted(rng.permutation(len(kinds)).tolist(), key=lambda v: kinds[v] == "n")
    pairs = itertools.combinations(order, 2)
    edges = [(schema.names[a], schema.names[b]) for a, b in pairs if rng.random() < 0.5]
    dag = DAG.from_edges(schema.names, edges)
    return random_parameters(rng, dag, schema)


def random_parameters(
    rng: np.random.Generator, dag: DAG, schema: Schema
) -> ConditionalGaussianNetwork:
    """Random tables and equations on a DAG."""
    parameters: list[np.ndarray | Regressions] = []
    for node, variable in enumerate(schema.variables):
        parents = [schema.variables[i].states for i in dag.parents(node)]
        q = math.prod(len(states) for states in parents if states is not None)
        p = sum(states is None for states in parents)
        if variable.states is None:
            sizes = rng.normal(size=(q, p)), rng.normal(size=q), rng.uniform(0.2, 1.5, size=q)
            parameters.append(Regressions(*sizes))
        else:
            parameters.append(rng.dirichlet(np.ones(len(variable.states)), size=q))
    return ConditionalGaussianNetwork(dag, schema, tuple(parameters))


def configurations_of(network: ConditionalGaussianNetwork) -> Iterator[dict[str, str]]:
    """Every joint configuration of the categories."""
    own = [v for v in network.schema.variables if v.states is not None]
    for states in itertools.product(*(v.states or () for v in own)):
        yield dict(zip((v.name for v in own), states, strict=True))


def row_of(network: ConditionalGaussianNetwork, node: int, case: Mapping[str, str]) -> int:
    """The row of a variable's table or equations."""
    row = 0
    for parent in network.dag.parents(node):
        states = network.schema.variables[parent].states
        if states is not None:
            row = row * len(states) + states.index(case[network.names[parent]])
    return row


def equations_in(
    network: ConditionalGaussianNetwork, case: Mapping[str, str]
) -> LinearGaussianNetwork:
    """The linear-Gaussian network of the numbers where the categories are so."""
    found = {}
    for name in network.schema.numbers:
        node = network.names.index(name)
        own, row = network.regressions(node), row_of(network, node, case)
        above = [network.names[i] for i in network.family(node).numbers]
        weights = dict(zip(above, own.coefficients[row].tolist(), strict=True))
        found[name] = LinearEquation(
            weights, float(own.intercepts[row]), float(own.standard_deviations[row])
        )
    return LinearGaussianNetwork.from_equations(found)


def mixture_given(
    network: ConditionalGaussianNetwork, given: Mapping[str, str | float]
) -> list[tuple[dict[str, str], float, dict[str, tuple[float, float]]]]:
    """Every configuration of the categories that the evidence allows: its joint probability with
    the density of the observed numbers, and number -> mean and variance given them."""
    numbers = {name: float(x) for name, x in given.items() if name in network.schema.numbers}
    found = []
    for case in configurations_of(network):
        if any(case.get(name, state) != state for name, state in given.items()):
            continue
        weight = 1.0
        for name, state in case.items():
            node = network.names.index(name)
            states = network.schema.variables[node].states or ()
            weight *= network.table(node)[row_of(network, node, case), states.index(state)]
        spreads = {}
        if network.schema.numbers:
            inside = equations_in(network, case)
            mean, covariance, density = conditional_normal(inside, numbers)
            weight *= math.exp(density)
            for v, name in enumerate(inside.names):
                spreads[name] = (float(mean[v]), float(covariance[v, v]))
        found.append((case, weight, spreads))
    return found


def least_squares(
    dataset: Dataset, node: int, parents: tuple[int, ...], ess: float
) -> dict[tuple[int, ...], tuple[np.ndarray, float, float]]:
    """Configuration of the categories -> coefficients, intercept, variance of the residuals.

    Rows of one configuration have weight 1; all rows of the table together have the weight of
    `ess` rows and one more for each slope.
    """
    variables = dataset.schema.variables
    categories = [i for i in parents if variables[i].states is not None]
    numbers = [i for i in parents if variables[i].states is None]
    x = np.column_stack([np.ones(dataset.n_rows), *(dataset.column(i) for i in numbers)])
    y = dataset.column(node)
    prior = (ess + len(numbers)) / dataset.n_rows
    found = {}
    sizes = [range(len(variables[i].states or ())) for i in categories]
    for case in itertools.product(*sizes):
        inside = np.ones(dataset.n_rows, dtype=bool)
        for column, code in zip(categories, case, strict=True):
            inside &= dataset.column(column) == code
        weight = prior + inside
        root = np.sqrt(weight)
        solution = np.linalg.lstsq(x * root[:, None], y * root, rcond=None)[0]
        left = float(weight @ (y - x @ solution) ** 2 / weight.sum())
        found[case] = solution[1:], float(solution[0]), left
    return found
