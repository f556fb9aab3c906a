"""Membership from structures alone: the weak game, with shadow tables (Shokri et al. 2017).

The adversary knows the population, not the other rows. For a target row it draws tables with and
without it, learns from each, and fits the features of what is learned; on fresh tables it then
guesses. The features are the moral graph and the CPDAG of what left (for several DAGs, weighted),
the number of edges and the number of DAGs; the guess is a likelihood ratio of independent
Gaussians.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Floats, Ints32
from fedbn.attacks.samples import Learn, Structures, with_row
from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError
from fedbn.graphs.moral import moral_graph
from fedbn.graphs.pdag import dag_to_cpdag

Population = Callable[[int, np.random.Generator], Dataset]
"""(rows, rng) -> a table; always of the same schema."""

_LEAST_VARIANCE = 1e-3


@dataclass(frozen=True)
class Membership:
    """How well members are told from others.

    Attributes
    ----------
    auc : area under the ROC curve over all targets' test tables; 0.5 is guessing.
    error : half the width of its 95 % interval, 1.96 · sqrt(1 / (12 · pairs)) at most: for m
        members and m others, 1.96 sqrt((2m + 1) / (12 m²)).
    tpr : members found where 1 % of the others are taken for members.
    targets, tables : target rows, and test tables in all.
    """

    auc: float
    error: float
    tpr: float
    targets: int
    tables: int


def shadow_membership(
    population: Population,
    learn: Learn,
    rows: int,
    rng: np.random.Generator,
    *,
    targets: int = 20,
    shadows: int = 40,
    row: Ints32 | None = None,
) -> Membership:
    """Play the game for several target rows.

    Parameters
    ----------
    population : where tables and targets come from.
    learn : the learner under attack.
    rows : of a table; one of them is the target where it is a member.
    rng : of everything.
    targets, shadows : target rows, and tables with and as many without each; half of them train.
    row : a target for all games, such as a canary; None draws each from the population.

    Raises
    ------
    ConfigError : there are fewer than two rows, four shadows or one target.
    """
    if rows < 2 or shadows < 4 or targets < 1:
        raise ConfigError(
            "at least 2 rows, 4 shadows and 1 target are needed, "
            f"not {rows}, {shadows} and {targets}"
        )
    members: list[float] = []
    others: list[float] = []
    for _ in range(targets):
        target = population(1, rng).codes[0] if row is None else row
        inside = [with_row(population(rows - 1, rng), target) for _ in range(shadows)]
        outside = [population(rows, rng) for _ in range(shadows)]
        half = shadows // 2
        seen_in, seen_out = (
            np.array([features(learn(table, rng)) for table in tables])
            for tables in (inside, outside)
        )
        ratio = _likelihood_ratio(seen_in[:half], seen_out[:half])
        members += ratio(seen_in[half:]).tolist()
        others += ratio(seen_out[half:]).tolist()
    return _measure(np.array(members), np.array(others), targets)


def features(structures: Structures) -> Floats:
    """Weighted moral edges and CPDAG entries, the mean number of edges, the number of DAGs."""
    dags, weights = structures
    shares = np.array(weights) / sum(weights)
    upper = np.triu_indices(dags[0].n, k=1)
    moral = sum(w * moral_graph(dag)[upper] for w, dag in zip(shares, dags, strict=True))
    joined = sum(
        w * dag_to_cpdag(dag).adjacency.ravel() for w, dag in zip(shares, dags, strict=True)
    )
    edges = sum(w * dag.n_edges for w, dag in zip(shares, dags, strict=True))
    return np.concatenate([moral, joined, [edges, float(len(dags))]])


def _likelihood_ratio(inside: Floats, outside: Floats) -> Callable[[Floats], Floats]:
    """Log ratio of the densities of two diagonal Gaussians fitted to features [tables, k]."""
    means = inside.mean(axis=0), outside.mean(axis=0)
    variances = inside.var(axis=0) + _LEAST_VARIANCE, outside.var(axis=0) + _LEAST_VARIANCE

    def log_density(x: Floats, side: int) -> Floats:
        spread = variances[side]
        terms = (x - means[side]) ** 2 / spread + np.log(spread)
        return np.asarray(-0.5 * terms.sum(axis=1))

    return lambda x: log_density(x, 0) - log_density(x, 1)


def _measure(members: Floats, others: Floats, targets: int) -> Membership:
    """AUC (ties count half), and the true positive rate at a false positive rate of 1 %."""
    above = (members[:, None] > others[None, :]).mean()
    level = (members[:, None] == others[None, :]).mean()
    threshold = np.quantile(others, 0.99, method="higher")
    m = len(members)
    return Membership(
        auc=float(above + level / 2),
        error=1.96 * math.sqrt((2 * m + 1) / (12 * m * m)),
        tpr=float((members > threshold).mean()),
        targets=targets,
        tables=m + len(others),
    )
