"""Slow twins of `fedbn.inference`: everything from the joint distribution, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
from scipy.stats import multivariate_normal

from fedbn.graphs.dag import DAG
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.network import BayesianNetwork


def joint(network: BayesianNetwork) -> Iterator[tuple[dict[str, str], float]]:
    """Every configuration of all variables, with its probability."""
    names, states = network.names, network.schema.states
    for codes in product(*(range(len(texts)) for texts in states)):
        probability = 1.0
        for node in range(network.dag.n):
            row = 0
            for parent in network.dag.parents(node):
                row = row * len(states[parent]) + codes[parent]
            probability *= float(network.cpts[node][row, codes[node]])
        yield (
            {names[i]: states[i][code] for i, code in enumerate(codes)},
            probability,
        )


def evidence_probability(network: BayesianNetwork, given: Mapping[str, str]) -> float:
    """P(given)."""
    return sum(p for case, p in joint(network) if given.items() <= case.items())


def joint_with(network: BayesianNetwork, name: str, given: Mapping[str, str]) -> dict[str, float]:
    """State of `name` -> P(name = state, given)."""
    found = dict.fromkeys(network.schema.states[network.names.index(name)], 0.0)
    for case, p in joint(network):
        if given.items() <= case.items():
            found[case[name]] += p
    return found


def after_setting(
    network: BayesianNetwork, do: Mapping[str, str], parents: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[dict[str, str], float]]:
    """P(case | do) = P(case) / P(set ones | their parents), with such parents, case by case."""
    whole = list(joint(network))
    for case, p in whole:
        if do.items() <= case.items():
            for name in do:
                above = {each: case[each] for each in parents[name]}
                with_it = above | {name: case[name]}
                p *= sum(q for other, q in whole if above.items() <= other.items())
                p /= sum(q for other, q in whole if with_it.items() <= other.items())
            yield case, p


def posterior_after(
    network: BayesianNetwork,
    name: str,
    do: Mapping[str, str],
    given: Mapping[str, str],
    parents: Mapping[str, tuple[str, ...]],
) -> dict[str, float]:
    """State of `name` -> P(name = state | do, given)."""
    found = dict.fromkeys(network.schema.states[network.names.index(name)], 0.0)
    for case, p in after_setting(network, do, parents):
        if given.items() <= case.items():
            found[case[name]] += p
    total = sum(found.values())
    return {state: p / total for state, p in found.items()}


def normal_after(
    network: LinearGaussianNetwork, name: str, do: Mapping[str, float], dag: DAG
) -> tuple[float, float]:
    """Mean and variance of `name` after setting some: a new regression per family of the DAG."""
    mean, covariance, _ = conditional_normal(network, {})
    n = dag.n
    weights, constant, noise = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for v, each in enumerate(dag.names):
        if each in do:
            constant[v] = do[each]
            continue
        above = list(dag.parents(v))
        weights[above, v] = np.linalg.solve(covariance[np.ix_(above, above)], covariance[above, v])
        constant[v] = mean[v] - weights[above, v] @ mean[above]
        noise[v] = covariance[v, v] - weights[above, v] @ covariance[above, v]
    spread = np.linalg.inv(np.eye(n) - weights.T)
    v = dag.names.index(name)
    return float((spread @ constant)[v]), float((spread @ np.diag(noise) @ spread.T)[v, v])


def conditional_normal(
    network: LinearGaussianNetwork, given: Mapping[str, float]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Means and covariances of all variables given some, and the log density of these.

    From the joint covariance (I - B')^-1 D (I - B)^-1, and the textbook's block formulas.
    """
    n = network.dag.n
    spread = np.linalg.inv(np.eye(n) - network.coefficients.T)
    mean = spread @ network.intercepts
    covariance = spread @ np.diag(network.standard_deviations**2) @ spread.T
    if not given:
        return mean, covariance, 0.0
    seen = [network.names.index(name) for name in given]
    values = np.array(list(given.values()))
    block = covariance[np.ix_(seen, seen)]
    gain = covariance[:, seen] @ np.linalg.inv(block)
    density = float(multivariate_normal(mean[seen], block).logpdf(values))
    after = covariance - gain @ covariance[seen, :]
    return mean + gain @ (values - mean[seen]), after, density
