"""Questions to conditional linear-Gaussian networks, exactly, given states and numbers.

Given the states of the categories the numbers are one normal distribution. So the numbers that
question and evidence need are taken in components: two are in one where one is a parent of the
other and not observed. Of every component all configurations of its categories are looked at: each
has a density of the observed numbers, which becomes a factor over these categories, and a mean and
covariance of the others. The factors go into the elimination of the categories
(`fedbn.inference.elimination`); the posterior of a number is the mixture of its normals by the
posterior of the configurations. That is exact (Lauritzen and Wermuth 1989); how many configurations
it takes is known before any of it is done. Quantiles of a mixture are found to 1e-9 of its spread.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.errors import ImpossibleEvidenceError, QueryError
from fedbn.inference.elimination import MAX_CELLS, BucketTree, Factor, plan
from fedbn.inference.queries import (
    asked_nodes,
    code_of_state,
    node_named,
    observed_number,
    with_ancestors,
)
from fedbn.networks.conditional_gaussian import ConditionalGaussianNetwork

QUANTILES = (0.05, 0.5, 0.95)
"""The quantiles of a number that are told."""

QUANTILE_KEYS = tuple(f"quantile {share:g}" for share in QUANTILES)
"""What they are called in an answer."""

_ROUNDING = 1e-12
"""Of its variance: what is left of it below that is the rounding of what was observed before."""


@dataclass(frozen=True)
class ConditionalAnswer:
    """What a conditional linear-Gaussian network says.

    Attributes
    ----------
    posteriors : category -> state -> probability; number -> "mean", "variance" and "quantile 0.05",
        "quantile 0.5", "quantile 0.95" -> number; given the evidence.
    log_evidence : natural logarithm of the probability of the observed states, times the density of
        the observed numbers.
    """

    posteriors: Mapping[str, Mapping[str, float]]
    log_evidence: float


@dataclass(frozen=True)
class _Component:
    """Numbers that depend on each other whatever the categories are.

    `categories` are those that say which equations hold, without the observed ones.
    """

    numbers: tuple[int, ...]
    categories: tuple[int, ...]


@dataclass(frozen=True)
class _Mixture:
    """Of a component, by configuration of its categories, the last running fastest.

    `log_density` float [Q] is that of the observed numbers; `means` and `variances` float [Q, k]
    are those of the numbers given these.
    """

    log_density: Floats
    means: Floats
    variances: Floats


def query_conditional(
    network: ConditionalGaussianNetwork,
    ask: Sequence[str] | None = None,
    given: Mapping[str, str | float] | None = None,
    *,
    max_cells: int = MAX_CELLS,
) -> ConditionalAnswer:
    """The posterior of every variable asked for.

    Parameters
    ----------
    network : with its tables and equations.
    ask : variables; None for all that are not observed.
    given : observed category -> state, observed number -> finite number.
    max_cells : cells that all tables, and the covariances of all configurations, may have together.

    Raises
    ------
    QueryError : a variable or state is unknown, an observed number is none or is determined by the
        others, the evidence has probability 0 (ImpossibleEvidenceError), or the answer would take
        too much memory.

    Examples
    --------
    >>> from fedbn.data.schema import Schema, Variable
    >>> from fedbn.graphs.dag import DAG
    >>> from fedbn.networks.conditional_gaussian import Regressions
    >>> schema = Schema((Variable("ill", ("no", "yes")), Variable("marker")))
    >>> two = Regressions(np.zeros((2, 0)), np.array([0.0, 2.0]), np.array([1.0, 1.0]))
    >>> tables = (np.array([[0.5, 0.5]]), two)
    >>> net = ConditionalGaussianNetwork(
    ...     DAG.from_edges(schema.names, [("ill", "marker")]), schema, tables
    ... )
    >>> round(query_conditional(net, ["ill"], {"marker": 1.0}).posteriors["ill"]["yes"], 9)
    0.5
    >>> query_conditional(net, ["marker"]).posteriors["marker"]["variance"]
    2.0
    """
    states, numbers = _evidence_in(network, given or {})
    asked = asked_nodes(network.names, ask, {*states, *numbers})
    relevant = with_ancestors(network.dag, {*asked, *states, *numbers})
    components = _components(network, relevant, states, numbers)
    sizes = _sizes(network)
    cells = sum(
        math.prod(sizes[i] for i in each.categories) * len(each.numbers) ** 2 for each in components
    )
    if cells > max_cells:
        raise QueryError(
            f"an exact answer looks at {cells} covariances, over all states of the categories that "
            f"the numbers depend on; the limit is {max_cells}: observe more categories, ask fewer "
            "variables, or raise --max-cells"
        )
    mixtures = [_mixture(network, each, states, numbers) for each in components]
    tree, log_evidence = _eliminate(
        network, relevant, states, components, mixtures, max_cells - cells
    )
    posteriors = {}
    categories = [i for i in asked if network.schema.variables[i].states is not None]
    found = tree.marginals(i for i in categories if i not in states and sizes[i] > 1)
    for node in asked:
        name, own = network.names[node], network.schema.variables[node].states
        if own is not None:
            weights = found[node] if node in found else np.eye(len(own))[states.get(node, 0)]
            posteriors[name] = dict(zip(own, weights.tolist(), strict=True))
        elif node in numbers:
            posteriors[name] = _quantities(np.ones(1), np.array([numbers[node]]), np.zeros(1))
        else:
            posteriors[name] = _of_number(node, components, mixtures, tree, sizes)
    return ConditionalAnswer(posteriors, log_evidence)


def _components(
    network: ConditionalGaussianNetwork,
    relevant: set[int],
    states: Mapping[int, int],
    numbers: Mapping[int, float],
) -> list[_Component]:
    """The relevant numbers, in components; each with the categories that are not observed."""
    nodes = [i for i in sorted(relevant) if network.schema.variables[i].states is None]
    label = {node: node for node in nodes}
    for node in nodes:
        for parent in network.family(node).numbers:
            if parent not in numbers:
                old, new = label[parent], label[node]
                label = {i: new if own == old else own for i, own in label.items()}
    found = []
    sizes = _sizes(network)
    for one in dict.fromkeys(label[node] for node in nodes):
        members = tuple(node for node in nodes if label[node] == one)
        categories = {i for node in members for i in network.family(node).categories}
        free = (i for i in sorted(categories) if i not in states and sizes[i] > 1)
        found.append(_Component(members, tuple(free)))
    return found


def _sizes(network: ConditionalGaussianNetwork) -> dict[int, int]:
    """Category -> number of its states."""
    return {
        i: len(each.states)
        for i, each in enumerate(network.schema.variables)
        if each.states is not None
    }


def _mixture(
    network: ConditionalGaussianNetwork,
    component: _Component,
    states: Mapping[int, int],
    numbers: Mapping[int, float],
) -> _Mixture:
    """Means, variances and the density of what is observed, in every configuration at once."""
    sizes = _sizes(network)
    shape = [sizes[i] for i in component.categories]
    count, k = math.prod(shape), len(component.numbers)
    codes = np.indices(shape).reshape(len(shape), count)
    place = {node: i for i, node in enumerate(component.numbers)}
    code = {node: codes[i] for i, node in enumerate(component.categories)}
    means, covariance = np.zeros((count, k)), np.zeros((count, k, k))
    done: list[int] = []
    for node in network.dag.topological_order():
        if node not in place:
            continue
        family, own, i = network.family(node), network.regressions(node), place[node]
        row: Ints = np.zeros(count, dtype=np.int64)
        for parent, size in zip(family.categories, family.sizes, strict=True):
            row = row * size + code.get(parent, states.get(parent, 0))
        weights, mean = own.coefficients[row], own.intercepts[row].copy()
        inside = []
        for j, parent in enumerate(family.numbers):
            if parent in numbers:
                mean += weights[:, j] * numbers[parent]
            else:
                mean += weights[:, j] * means[:, place[parent]]
                inside.append((j, place[parent]))
        across = np.zeros((count, len(done)))
        variance = own.standard_deviations[row] ** 2
        for j, parent_place in inside:
            across += weights[:, [j]] * covariance[:, parent_place][:, done]
        means[:, i] = mean
        covariance[:, done, i] = covariance[:, i, done] = across
        for j, parent_place in inside:
            variance = variance + weights[:, j] * covariance[:, i, parent_place]
        covariance[:, i, i] = variance
        done.append(i)
    return _given_numbers(network, component, numbers, means, covariance)


def _given_numbers(
    network: ConditionalGaussianNetwork,
    component: _Component,
    numbers: Mapping[int, float],
    means: Floats,
    covariance: Floats,
) -> _Mixture:
    """Condition every configuration on the observed numbers, one after the other."""
    log_density = np.zeros(len(means))
    before = np.diagonal(covariance, axis1=1, axis2=2).copy()
    for e, node in enumerate(component.numbers):
        if node not in numbers:
            continue
        variance, error = covariance[:, e, e].copy(), numbers[node] - means[:, e]
        if (variance <= _ROUNDING * before[:, e]).any():
            raise QueryError(
                f"the observed value of {network.names[node]!r} is determined by the other ones"
            )
        column = covariance[:, :, e].copy()
        means = means + column * (error / variance)[:, None]
        covariance = covariance - column[:, :, None] * (column / variance[:, None])[:, None, :]
        log_density -= 0.5 * (np.log(2 * math.pi * variance) + error**2 / variance)
    variances = np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 0.0)
    return _Mixture(log_density, means, variances)


def _eliminate(
    network: ConditionalGaussianNetwork,
    relevant: set[int],
    states: Mapping[int, int],
    components: Sequence[_Component],
    mixtures: Sequence[_Mixture],
    max_cells: int,
) -> tuple[BucketTree, float]:
    """The tables of the categories after elimination, and the logarithm of the evidence."""
    sizes = _sizes(network)
    categories = [i for i in sorted(relevant) if i in sizes]
    known = {i: 0 for i in categories if sizes[i] == 1} | dict(states)
    free = {i: sizes[i] for i in categories if i not in known}
    factors = []
    for node in categories:
        family = (*network.dag.parents(node), node)
        cube = network.table(node).reshape([sizes[i] for i in family])
        where = tuple(known.get(i, slice(None)) for i in family)
        factors.append(Factor(tuple(i for i in family if i in free), np.asarray(cube[where])))
    log_evidence = 0.0
    for component, mixture in zip(components, mixtures, strict=True):
        highest = float(mixture.log_density.max())
        log_evidence += highest
        shape = [sizes[i] for i in component.categories]
        density = np.exp(mixture.log_density - highest).reshape(shape)
        factors.append(Factor(component.categories, density))
    steps = plan([factor.variables for factor in factors], free)
    steps.require_within(max_cells)
    tree = BucketTree(steps, factors)
    if tree.log_total == -math.inf:
        raise ImpossibleEvidenceError("the evidence has probability 0 under this network")
    return tree, log_evidence + tree.log_total


def _of_number(
    node: int,
    components: Sequence[_Component],
    mixtures: Sequence[_Mixture],
    tree: BucketTree,
    sizes: Mapping[int, int],
) -> dict[str, float]:
    """Mean, variance and quantiles of a number that is not observed."""
    at = next(i for i, each in enumerate(components) if node in each.numbers)
    component, mixture = components[at], mixtures[at]
    weights = np.ones(1)
    if component.categories:
        weights = tree.joint(component.categories).ravel()
    i = component.numbers.index(node)
    return _quantities(weights, mixture.means[:, i], mixture.variances[:, i])


def _quantities(weights: Floats, means: Floats, variances: Floats) -> dict[str, float]:
    """What is said of a mixture of normals."""
    mean = math.fsum((weights * means).tolist())
    variance = math.fsum((weights * (variances + (means - mean) ** 2)).tolist())
    quantiles = {
        key: _quantile(share, weights, means, np.sqrt(variances))
        for key, share in zip(QUANTILE_KEYS, QUANTILES, strict=True)
    }
    return {"mean": mean, "variance": variance, **quantiles}


def _quantile(share: float, weights: Floats, means: Floats, deviations: Floats) -> float:
    """Where the distribution function of a mixture of normals reaches `share`, by bisection."""
    from scipy.special import ndtr

    likely = weights > 0
    weights, means, deviations = weights[likely], means[likely], deviations[likely]
    low = float((means - 40 * deviations).min())
    high = float((means + 40 * deviations).max())
    if not deviations.any():
        order = np.argsort(means, kind="stable")
        reached = np.cumsum(weights[order]) >= share * weights.sum()
        return float(means[order][int(np.argmax(reached))])
    scale = np.where(deviations > 0, deviations, 1e-300)
    stop = 1e-10 * float(deviations.max())
    while high - low > max(stop, 4 * math.ulp(max(abs(low), abs(high)))):
        middle = 0.5 * (low + high)
        if float(weights @ ndtr((middle - means) / scale)) < share:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def _evidence_in(
    network: ConditionalGaussianNetwork, given: Mapping[str, str | float]
) -> tuple[dict[int, int], dict[int, float]]:
    """Category -> code, and number -> value."""
    states: dict[int, int] = {}
    numbers: dict[int, float] = {}
    for name, told in given.items():
        node = node_named(network.names, name)
        own = network.schema.variables[node].states
        if own is not None:
            states[node] = code_of_state(name, own, str(told))
            continue
        numbers[node] = observed_number(name, told)
    return states, numbers
