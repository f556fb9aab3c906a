"""Slow twins of `fedbn.inference`: everything from the joint distribution, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

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
