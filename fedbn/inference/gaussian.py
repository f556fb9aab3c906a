"""Questions to linear-Gaussian networks: means and variances given observed numbers, exactly.

A linear-Gaussian network is one multivariate normal distribution (Shachter and Kenley 1989). Its
means and covariances follow from the equations in topological order; each observed number x_e of
variance s then changes them by the conditional normal's formulas,

    m <- m + c (x_e - m_e) / s,    C <- C - c c' / s,    c the column of e,

and adds ln N(x_e; m_e, s) to the logarithm of the evidence's density. Only the variables asked for,
the observed ones and their ancestors take part. Answers are equal to the last bit on one machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Floats
from fedbn.errors import QueryError
from fedbn.inference.averaging import require_weights
from fedbn.inference.elimination import MAX_CELLS
from fedbn.inference.queries import asked_nodes, node_named, observed_number, with_ancestors
from fedbn.networks.linear_gaussian import LinearGaussianNetwork

_ROUNDING = 1e-12
"""Of its variance: what is left of it below that is the rounding of what was observed before."""


@dataclass(frozen=True)
class GaussianAnswer:
    """What a linear-Gaussian network says.

    Attributes
    ----------
    posteriors : variable -> {"mean", "variance"} given the evidence.
    log_evidence : natural logarithm of the density of the evidence.
    """

    posteriors: Mapping[str, Mapping[str, float]]
    log_evidence: float


def query_gaussian(
    network: LinearGaussianNetwork,
    ask: Sequence[str] | None = None,
    given: Mapping[str, float] | None = None,
    *,
    max_cells: int = MAX_CELLS,
) -> GaussianAnswer:
    """Mean and variance of every variable asked for.

    Parameters
    ----------
    network : linear Gaussian.
    ask : variables; None for all that are not observed.
    given : observed variable -> finite number.
    max_cells : cells that the covariances may have.

    Raises
    ------
    QueryError : a variable is unknown, an observed value is no finite number or is determined by
        the others to the last digits, or the covariances would be too large.

    Examples
    --------
    >>> from fedbn.networks.linear_gaussian import LinearEquation
    >>> chain = LinearGaussianNetwork.from_equations(
    ...     {"a": LinearEquation({}, 1.0, 1.0), "b": LinearEquation({"a": 2.0}, 0.0, 1.0)}
    ... )
    >>> query_gaussian(chain, ["b"], {"a": 3.0}).posteriors["b"]
    {'mean': 6.0, 'variance': 1.0}
    """
    evidence = {
        node_named(network.names, name): observed_number(name, told)
        for name, told in (given or {}).items()
    }
    asked = asked_nodes(network.names, ask, evidence)
    relevant = sorted(with_ancestors(network.dag, {*asked, *evidence}))
    if len(relevant) ** 2 > max_cells:
        raise QueryError(
            f"an exact answer takes {len(relevant) ** 2} covariances, the limit is {max_cells}: "
            "ask fewer variables, or raise --max-cells"
        )
    place = {node: i for i, node in enumerate(relevant)}
    mean, covariance = _joint(network, relevant)
    log_evidence = 0.0
    before = covariance.diagonal().copy()
    for node, value in sorted(evidence.items()):
        e = place[node]
        if covariance[e, e] <= _ROUNDING * before[e]:
            raise QueryError(
                f"the observed value of {network.names[node]!r} is determined by the other ones"
            )
        log_evidence += _observe(mean, covariance, e, value)
    posteriors = {}
    for node in asked:
        i = place[node]
        value = evidence.get(node, float(mean[i]))
        variance = 0.0 if node in evidence else max(float(covariance[i, i]), 0.0)
        posteriors[network.names[node]] = {"mean": value, "variance": variance}
    return GaussianAnswer(posteriors, log_evidence)


def average_gaussian(
    networks: Sequence[LinearGaussianNetwork],
    weights: Sequence[float],
    ask: Sequence[str] | None = None,
    given: Mapping[str, float] | None = None,
    *,
    max_cells: int = MAX_CELLS,
) -> GaussianAnswer:
    """Mean and variance under the mixture of networks, the evidence's density in the weights.

    Parameters
    ----------
    networks : at least one, all with the same variables.
    weights : one positive number per network, before the evidence; only ratios matter.
    ask, given, max_cells : as for `query_gaussian`.

    Raises
    ------
    QueryError : as for `query_gaussian`, or networks or weights are not as above.
    """
    require_weights(networks, weights)
    if any(network.names != networks[0].names for network in networks):
        raise QueryError("networks must have the same variables to be averaged")
    answers = [query_gaussian(each, ask, given, max_cells=max_cells) for each in networks]
    logs = [
        math.log(weight) + answer.log_evidence
        for weight, answer in zip(weights, answers, strict=True)
    ]
    heaviest = max(logs)
    shares = [math.exp(each - heaviest) for each in logs]
    total = math.fsum(shares)
    posteriors = {}
    for name in answers[0].posteriors:
        each = [answer.posteriors[name] for answer in answers]
        pairs = list(zip(shares, each, strict=True))
        mean = math.fsum(share * one["mean"] for share, one in pairs) / total
        spread = (one["variance"] + (one["mean"] - mean) ** 2 for one in each)
        variance = math.fsum(s * v for s, v in zip(shares, spread, strict=True)) / total
        posteriors[name] = {"mean": mean, "variance": variance}
    return GaussianAnswer(posteriors, heaviest + math.log(total) - math.log(math.fsum(weights)))


def _joint(network: LinearGaussianNetwork, nodes: Sequence[int]) -> tuple[Floats, Floats]:
    """Means float [k] and covariances float [k, k] of these nodes, which hold their ancestors."""
    place = {node: i for i, node in enumerate(nodes)}
    mean, covariance = np.zeros(len(nodes)), np.zeros((len(nodes), len(nodes)))
    done: list[int] = []
    for node in network.dag.topological_order():
        if node not in place:
            continue
        i, parents = place[node], [place[parent] for parent in network.dag.parents(node)]
        weights = network.coefficients[list(network.dag.parents(node)), node]
        mean[i] = network.intercepts[node] + weights @ mean[parents]
        across = covariance[np.ix_(done, parents)] @ weights
        covariance[done, i] = covariance[i, done] = across
        own = weights @ covariance[np.ix_(parents, parents)] @ weights
        covariance[i, i] = own + network.standard_deviations[node] ** 2
        done.append(i)
    return mean, covariance


def _observe(mean: Floats, covariance: Floats, e: int, value: float) -> float:
    """Condition both, in place, on the e-th being `value`; returns the log density of that."""
    variance, error = float(covariance[e, e]), value - float(mean[e])
    column = covariance[:, e].copy()
    mean += column * (error / variance)
    covariance -= np.outer(column, column / variance)
    return -0.5 * (math.log(2 * math.pi * variance) + error**2 / variance)
