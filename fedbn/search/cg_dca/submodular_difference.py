"""The pricing problem as a difference of submodular functions (Propositions 1 and 2).

For node i and parent set J, with clusters C that hold i and their duals μ_C,

    reduced cost(J) = g(J) - f(J) + constant,

    Gaussian      g = (N/2) ln det Σ[J ∪ i] + Λ|J| + Σ_C μ_C min(|J ∩ C|, k_C)
                  f = (N/2) ln det Σ[J] + Σ_C μ_C min(|J ∩ C|, k_C - 1)
    categorical   g = N H(J ∪ i) + Σ_C μ_C min(|J ∩ C|, k_C)
                  f = N H(J) - Λ (a_i - 1) Π_{j in J} a_j + Σ_C μ_C min(|J ∩ C|, k_C - 1)

both shifted to 0 at the empty set; the paper's clusters have k = 1. The factors N/2 and N, which
the paper's subgradients omit, are those of the scores. Σ is the correlation matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbn._core import cg_dca as core
from fedbn._core.scores import Score, ScoreKind, logarithms
from fedbn.arrays import Bools, Floats, Ints
from fedbn.errors import ConfigError
from fedbn.graphs.bits import pack
from fedbn.scores.gaussian import require_regular

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore


@dataclass(frozen=True)
class Clusters:
    """Rows of the master problem: sets of variables bool [C, n], duals μ ≥ 0 [C], k [C]."""

    members: Bools
    duals: Floats
    sizes: Ints

    def holding(self, node: int) -> Clusters:
        """Those with the node in them and a dual above 0."""
        some = self.members[:, node] & (self.duals > 0.0)
        return Clusters(self.members[some], self.duals[some], self.sizes[some])


@dataclass(frozen=True)
class PrefixValues:
    """Values of the first k variables of an order, k = 0, 1, ...; the chain may end early.

    g, f, p : float64 [length + 1], p the penalty of categorical data (f of the paper is f - p).
    """

    order: Ints
    g: Floats
    f: Floats
    p: Floats

    @property
    def length(self) -> int:
        """How many prefixes beyond the empty set have values."""
        return self.g.size - 1

    @property
    def difference(self) -> Floats:
        """g - f + p: the reduced costs but for the constant."""
        return self.g - self.f + self.p


@dataclass(frozen=True)
class Model:
    """What pricing reads of a score.

    Parameters
    ----------
    score : compiled.
    gaussian : whether the data are.
    likelihood : g and f, a `core.Likelihood`, where DCA prices; None for local search.
    low : [n], for DCA the least marginal value of g for each variable, that given all others.
    """

    score: Score
    gaussian: bool
    likelihood: Any = None
    low: Floats = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class PricingProblem:
    """Find parent sets of `node` with negative reduced cost.

    Parameters
    ----------
    model : of the score, `pricing_model`.
    node : the child.
    n : number of variables.
    constant : reduced cost of the empty set.
    clusters : those that hold the node.
    """

    model: Model
    node: int
    n: int
    constant: float
    clusters: Clusters

    @cached_property
    def others(self) -> Ints:
        """int64 [n - 1]: all variables but the node."""
        return np.delete(np.arange(self.n), self.node)

    def prefixes(self, order: Ints, *, cut: bool = True) -> PrefixValues:
        """Values along an order of (some of) the others."""
        values = self.model.likelihood.prefixes(self.rows, self.node, order, cut)
        return PrefixValues(order, *values)

    def subgradient(self, values: PrefixValues) -> Floats:
        """A subgradient of the Lovász extension of f - p, [n]: marginal values along the order.

        -inf for variables beyond the chain (and the node), which can never pay.
        """
        y = np.full(self.n, -np.inf)
        y[values.order[: values.length]] = np.diff(values.f) - np.diff(values.p)
        return y

    @cached_property
    def marginals(self) -> tuple[Floats, Floats]:
        """Bounds of g's marginal values, [n] each: given all others, and given nothing."""
        high = np.zeros(self.n)
        for j in self.others:
            high[j] = self.prefixes(np.array([j]), cut=False).g[1]
        return self.model.low, high

    @cached_property
    def rows(self) -> core.ClusterRows:
        """The clusters, compiled."""
        c = self.clusters
        return core.ClusterRows(pack(c.members), c.duals, c.sizes, self.n)


def lovasz_extension(values: Floats, x: Floats) -> float:
    """The Lovász extension at x ≥ 0: values [k + 1] of the prefixes of x sorted down, x [k] so."""
    return float(np.dot(np.diff(values), x))


def is_penalised_likelihood(score: TabulatedScore) -> bool:
    """Whether the score is BIC or AIC, for which the two propositions hold."""
    if score.is_gaussian:
        return score.parameter > 0.0
    return bool(score.core.kind == ScoreKind.information)


def pricing_model(score: TabulatedScore) -> Model:
    """What DCA pricing reads of a score.

    Raises
    ------
    ConfigError : the score has no difference of submodular functions here (BDeu, BGe).
    DataError : Gaussian columns are constant or collinear; see `require_regular`.
    """
    if not is_penalised_likelihood(score):
        raise ConfigError(
            "DCA pricing takes bic, aic, gaussian-bic and gaussian-aic (local search takes any "
            f"score), not {score.label!r}"
        )
    if not score.is_gaussian:
        categorical = core.CategoricalLikelihood(score.core)
        return Model(score.core, False, categorical, np.zeros(score.n))
    require_regular(score)
    gram, fit = score.core.gram, float(score.core.exponent[0])
    scale = 1.0 / np.sqrt(np.diag(gram))
    correlation = gram * np.outer(scale, scale)
    low = -fit * logarithms(np.diag(np.linalg.inv(correlation)).copy()) + score.parameter
    gaussian = core.GaussianLikelihood(correlation, fit, score.parameter)
    return Model(score.core, True, gaussian, low)
