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

from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Bools, Floats, Indices
from fedbn.data.dataset import Schema
from fedbn.graphs.dag import DAG
from fedbn.scores.mixed import block_widths, scatter_of

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
    columns = np.concatenate([_block(schema, filled, v) for v in range(schema.n)], axis=1)
    ends = np.cumsum(block_widths(schema))
    own = [
        np.arange(end - width, end) for end, width in zip(ends, block_widths(schema), strict=True)
    ]
    lacking = [v for v in range(schema.n) if gone[:, v].any()]
    near = {v: [own[u] for u in markov_blanket(dag, v)] for v in lacking}
    blankets = {v: np.concatenate([*parts, np.zeros(0, np.intp)]) for v, parts in near.items()}
    sums = _Sums.of(columns)
    models = {
        v: _regression(sums, int(own[v][0]), blankets[v])
        if schema.variables[v].states is None
        else _discriminant(sums, own[v], blankets[v])
        for v in lacking
    }
    cells = {v: np.flatnonzero(gone[:, v]) for v in lacking}
    for _ in range(sweeps):
        for v in lacking:
            rows = cells[v]
            filled[rows, v] = models[v].draw(columns[np.ix_(rows, blankets[v])], rng)
            columns[np.ix_(rows, own[v])] = _block(schema, filled[rows], v)
    return filled


def _block(schema: Schema, table: Floats, v: int) -> Floats:
    """The columns of one variable, as in `block_columns`."""
    states = schema.variables[v].states
    if states is None:
        return table[:, [v]]
    found: Floats = (table[:, [v]] == np.arange(len(states) - 1)).astype(np.float64)
    return found


@dataclass(frozen=True)
class _Sums:
    """Rows, means and centred sums of products of all columns."""

    rows: int
    means: Floats
    products: Floats

    @classmethod
    def of(cls, columns: Floats) -> _Sums:
        return cls(len(columns), columns.mean(axis=0), scatter_of(columns))

    def among(self, blanket: Indices) -> tuple[Floats, Floats]:
        """The products of a blanket, and the diagonal matrix of its variances, 1 for a constant."""
        found = self.products[np.ix_(blanket, blanket)]
        variances = np.diag(found) / self.rows
        return found, np.diag(np.where(variances > 0, variances, 1.0))


def _regression(sums: _Sums, column: int, blanket: Indices) -> _Regression:
    among, prior = sums.among(blanket)
    with_it = sums.products[blanket, column]
    slopes = np.linalg.solve(among + prior, with_it)
    left = sums.products[column, column] - 2 * slopes @ with_it + slopes @ among @ slopes
    intercept = float(sums.means[column] - sums.means[blanket] @ slopes)
    return _Regression(intercept, slopes, float(np.sqrt(max(left, 0.0) / sums.rows)))


def _discriminant(sums: _Sums, columns: Indices, blanket: Indices) -> _Discriminant:
    """Of a category, whose columns are the indicators of all states but the last."""
    among, prior = sums.among(blanket)
    first = np.rint(sums.rows * sums.means[columns])
    counts = np.append(first, sums.rows - first.sum())
    totals = sums.products[np.ix_(columns, blanket)]
    totals = np.vstack([totals, -totals.sum(axis=0)])
    means = totals / np.maximum(counts, 1.0)[:, None]
    within = among - means.T @ (counts[:, None] * means)
    slopes = np.linalg.solve((within + prior) / sums.rows, means.T)
    with np.errstate(divide="ignore"):
        shares = np.log(counts / sums.rows)
    constants = shares - 0.5 * np.einsum("kr,rk->r", slopes, means)
    return _Discriminant(constants - sums.means[blanket] @ slopes, slopes)
