"""Missing cells of a table of numbers and categories, drawn given the structure.

The step of structural EM for mixed tables. A network of such a table may have an arrow from a
number to a category, for which no conditional-Gaussian distribution stands; so a cell is drawn from
the conditional distribution of the general-location model (Olkin and Tate 1961; Little and Rubin,
chapter 14) over its Markov blanket z, whose categories are indicators of all states but the last:

    number    x = a + b z + s N(0, 1)                 by least squares
    category  P(v) ~ share of v x N(z; mean of z in v, S)    S the covariance of z within states

which are the two regressions of one degenerate Gaussian, the model of mixed BIC. Both are fitted
once, from the table as it is given. To every variance of z, and of z within states, one row's worth
of z's own variance is added, so that copies and constants do no harm. Then the columns are drawn
one after the other, all missing cells of a column at once, as often as there are sweeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Bools, Floats
from fedbn.data.dataset import Schema
from fedbn.graphs.dag import DAG
from fedbn.scores.mixed import block_widths

__all__ = ["draw_missing_cells", "markov_blanket"]


def markov_blanket(dag: DAG, node: int) -> tuple[int, ...]:
    """Parents, children and parents of children.

    >>> markov_blanket(DAG.from_edges("abc", ["ac", "bc"]), 0)
    (1, 2)
    """
    children = np.flatnonzero(dag.adjacency[node]).tolist()
    found = {*dag.parents(node), *children, *(p for child in children for p in dag.parents(child))}
    return tuple(sorted(found - {node}))


@dataclass(frozen=True)
class _Regression:
    """A number given its blanket."""

    intercept: float
    slopes: Floats
    deviation: float

    def draw(self, blanket: Floats, rng: np.random.Generator) -> Floats:
        noise: Floats = self.deviation * rng.standard_normal(len(blanket))
        return self.intercept + blanket @ self.slopes + noise


@dataclass(frozen=True)
class _Discriminant:
    """A category given its blanket: the logarithm of each state's weight is linear in it."""

    constants: Floats
    slopes: Floats

    def draw(self, blanket: Floats, rng: np.random.Generator) -> Floats:
        weights = self.constants + blanket @ self.slopes
        weights = np.exp(weights - weights.max(axis=1, keepdims=True))
        bounds = np.cumsum(weights, axis=1)
        uniform = rng.random(len(blanket)) * bounds[:, -1]
        code: Floats = (uniform[:, None] >= bounds[:, :-1]).sum(axis=1).astype(np.float64)
        return code


def draw_missing_cells(
    schema: Schema, table: Floats, gone: Bools, dag: DAG, sweeps: int, rng: np.random.Generator
) -> Floats:
    """The table after so many sweeps over its missing cells.

    Parameters
    ----------
    schema : of both kinds, or one.
    table : float [rows, n], codes and numbers; missing cells hold some value of their column.
    gone : bool [rows, n].
    dag : over the schema's names.
    sweeps : at least 0.
    rng : a number per missing cell and sweep is taken from it.
    """
    filled = table.copy()
    columns, widths = _blocks(schema, filled)
    ends = np.cumsum(widths)
    place = [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]
    lacking = [v for v in range(schema.n) if gone[:, v].any()]
    near = {v: markov_blanket(dag, v) for v in lacking}
    blankets = {
        v: np.array([c for u in own for c in range(ends[u] - widths[u], ends[u])], dtype=np.intp)
        for v, own in near.items()
    }
    models = {v: _model(schema, filled, v, columns[:, blankets[v]]) for v in lacking}
    for _ in range(sweeps):
        for v in lacking:
            rows = gone[:, v]
            filled[rows, v] = models[v].draw(columns[np.ix_(rows, blankets[v])], rng)
            columns[:, place[v]] = _block(schema, filled, v)
    return filled


def _blocks(schema: Schema, table: Floats) -> tuple[Floats, Sequence[int]]:
    parts = [_block(schema, table, v) for v in range(schema.n)]
    return np.concatenate(parts, axis=1), block_widths(schema)


def _block(schema: Schema, table: Floats, v: int) -> Floats:
    """The columns of one variable, as in `block_columns`."""
    states = schema.variables[v].states
    if states is None:
        return table[:, [v]]
    found: Floats = (table[:, [v]] == np.arange(len(states) - 1)).astype(np.float64)
    return found


def _model(schema: Schema, table: Floats, v: int, blanket: Floats) -> _Regression | _Discriminant:
    states, own = schema.variables[v].states, table[:, v]
    middle = blanket.mean(axis=0)
    centred = blanket - middle
    prior = np.diag(_variances(centred))
    n = len(table)
    if states is None:
        error = own - own.mean()
        slopes = np.linalg.solve(centred.T @ centred + prior, centred.T @ error)
        left = error - centred @ slopes
        intercept = float(own.mean() - middle @ slopes)
        return _Regression(intercept, slopes, float(np.sqrt(left @ left / n)))
    r = len(states)
    inside = (own[:, None] == np.arange(r)).astype(np.float64)
    counts = inside.sum(axis=0)
    means = (inside.T @ centred) / np.maximum(counts, 1.0)[:, None]
    within = centred - means[own.astype(np.intp)]
    spread = (within.T @ within + prior) / n
    slopes = np.linalg.solve(spread, means.T)
    with np.errstate(divide="ignore"):
        shares = np.log(counts / n)
    constants = shares - 0.5 * np.einsum("kr,rk->r", slopes, means) - middle @ slopes
    return _Discriminant(constants, slopes)


def _variances(centred: Floats) -> Floats:
    """Of each column by N, 1 of a constant one."""
    found: Floats = (centred**2).mean(axis=0)
    return np.where(found > 0, found, 1.0)
