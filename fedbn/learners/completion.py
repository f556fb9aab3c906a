"""Missing cells of one table, filled while its structure is learned (structural EM).

Friedman, The Bayesian structural EM algorithm, UAI 1998, with draws in place of expectations: start
from each column's own distribution; ROUNDS rounds of {learn with the chosen learner; FITS times
{parameters of what it found; SWEEPS Gibbs sweeps over the missing cells given their Markov
blankets}}; the caller then learns once more, from the table that is given back. Mixed tables have
the same rounds, their cells drawn as `mixed_completion` says. Tables of numbers have no rounds: EM
of mean and covariance under the normal model (Little and Rubin, section 11.2), and a table that has
exactly these moments.

This is right where cells are missing at random: whether one is missing may depend on what is seen
in its row, not on the cell itself. `missingness_remarks` says where the first is so.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedbn.arrays import Bools, Codes, Floats, Indices
from fedbn.data.dataset import Dataset
from fedbn.errors import DataError
from fedbn.graphs.dag import DAG
from fedbn.wording import count_of, list_some

__all__ = ["complete", "missingness_remarks"]

ROUNDS, FITS, SWEEPS = 3, 2, 2
"""On 40 random networks as near as 6 rounds of one fit and 3 sweeps, for two thirds of the cost."""

ESS = 1.0
"""Of the parameters from which cells are drawn."""

EM_ROUNDS = 200
EM_CLOSE = 1e-8
"""EM of a covariance ends where no entry of it, in units of the variances, changes by more."""

SURE = 0.001
"""Level of the tests of missingness, all tests of a table together."""

Learn = Callable[[Dataset], DAG]


def complete(dataset: Dataset, learn: Learn, rng: np.random.Generator) -> Dataset:
    """A table without missing cells: the last one of structural EM.

    The rows are put in an order of their own first, so that neither theirs nor that of the columns
    (which are sorted) reaches a result.

    Parameters
    ----------
    dataset : of any kind, with at least one missing cell; each column has one that is there.
    learn : a complete table -> the best structure.
    rng : one number of it seeds the draws.

    Raises
    ------
    DataError : a column with its parents has too many cells; no column of numbers may be constant
        or empty.
    """
    assert dataset.gone is not None
    ordered = dataset.take(_own_order(dataset))
    if dataset.kind == "gaussian":
        return Dataset(dataset.schema, with_moments_of_em(ordered))
    if dataset.kind == "mixed":
        return _complete_mixed(ordered, learn, rng)
    return _complete_states(ordered, learn, rng)


def _complete_mixed(dataset: Dataset, learn: Learn, rng: np.random.Generator) -> Dataset:
    from fedbn.learners.mixed_completion import draw_missing_cells

    assert dataset.gone is not None
    table = np.asarray(_start(dataset, rng).T, dtype=np.float64)
    for _ in range(ROUNDS):
        dag = learn(Dataset(dataset.schema, table)).reorder(dataset.names)
        for _ in range(FITS):
            table = draw_missing_cells(dataset.schema, table, dataset.gone, dag, SWEEPS, rng)
    return Dataset(dataset.schema, table)


def _complete_states(dataset: Dataset, learn: Learn, rng: np.random.Generator) -> Dataset:
    from fedbn._core.scores import draw_missing

    gone = np.ascontiguousarray(dataset.gone.T)  # type: ignore[union-attr]
    arities = dataset.cardinalities.tolist()
    codes = np.ascontiguousarray(_start(dataset, rng), dtype=np.uint16)
    for _ in range(ROUNDS):
        dag = learn(Dataset(dataset.schema, codes.T)).reorder(dataset.names)
        parents = [np.flatnonzero(dag.adjacency[:, v]).tolist() for v in range(dataset.n)]
        seed = int(rng.integers(2**64, dtype=np.uint64))
        codes = draw_missing(codes, gone, arities, parents, ESS, FITS, SWEEPS, seed)
    return Dataset(dataset.schema, codes.T)


def _own_order(dataset: Dataset) -> Indices:
    """The rows in an order that depends on their cells alone: that of a 64-bit hash of them."""
    hashes = np.zeros(dataset.n_rows, dtype=np.uint64)
    for key in (*dataset.table.T, *dataset.gone.T):  # type: ignore[union-attr]
        bits = key.view(np.uint64) if key.dtype == np.float64 else key.astype(np.uint64)
        hashes = (hashes ^ bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    return np.argsort(hashes, kind="stable")


def _start(dataset: Dataset, rng: np.random.Generator) -> Codes | Floats:
    """[n, rows]: each missing cell as a cell of its column that is there, at random."""
    assert dataset.gone is not None
    codes = dataset.table.T.copy()
    for column in range(dataset.n):
        gone = dataset.gone[:, column]
        seen = np.sort(codes[column, ~gone])
        if gone.any():
            codes[column, gone] = seen[rng.integers(len(seen), size=int(gone.sum()))]
    return codes


# --- Numbers ----------------------------------------------------------------------------------


def with_moments_of_em(dataset: Dataset) -> Floats:
    """Float [rows, n] whose mean and covariance (by N) are those that EM finds, to rounding.

    Raises
    ------
    DataError : there are not more rows than columns, or a column is constant where it is seen.
    """
    assert dataset.gone is not None
    gone = dataset.gone
    shown = np.where(gone, np.nan, dataset.table)
    middle, spread = np.nanmean(shown, axis=0), np.nanstd(shown, axis=0)
    if dataset.n_rows <= dataset.n or not spread.min() > 0:
        raise DataError(
            "imputing numbers needs more rows than columns, and no column that is constant: "
            f"{count_of(dataset.n_rows, 'row')}, constant: "
            f"{list_some([n for n, s in zip(dataset.names, spread, strict=True) if not s > 0])}"
        )
    scaled = (shown - middle) / spread
    mean, covariance, filled = _em(scaled, gone)
    centred = filled - filled.mean(axis=0)
    found = np.linalg.cholesky(centred.T @ centred / dataset.n_rows)
    wanted = np.linalg.cholesky(covariance)
    exact = np.linalg.solve(found, centred.T).T @ wanted.T + mean
    return np.asarray(exact * spread + middle, dtype=np.float64)


def _em(rows: Floats, gone: Bools) -> tuple[Floats, Floats, Floats]:
    """Mean, covariance, and the rows with each missing cell's conditional mean."""
    n = rows.shape[1]
    mean, covariance = np.zeros(n), np.eye(n)
    patterns, members = np.unique(gone, axis=0, return_inverse=True)
    filled = np.where(gone, 0.0, rows)
    for _ in range(EM_ROUNDS):
        rest = np.zeros((n, n))
        for place, lacking in enumerate(patterns):
            which = np.flatnonzero(members == place)
            if lacking.any():
                have = ~lacking
                inner = covariance[np.ix_(have, have)]
                cross = covariance[np.ix_(lacking, have)]
                slopes = np.linalg.solve(inner, cross.T).T if have.any() else cross
                cells = mean[lacking] + (rows[np.ix_(which, have)] - mean[have]) @ slopes.T
                filled[np.ix_(which, lacking)] = cells
                own = covariance[np.ix_(lacking, lacking)] - slopes @ cross.T
                rest[np.ix_(lacking, lacking)] += len(which) * own
        before, mean = covariance, filled.mean(axis=0)
        centred = filled - mean
        covariance = (centred.T @ centred + rest) / len(rows)
        if np.abs(covariance - before).max() <= EM_CLOSE:
            break
    return mean, covariance, filled


# --- What it rests on -------------------------------------------------------------------------


def missingness_remarks(dataset: Dataset, dag: DAG) -> list[str]:
    """Columns whose missing cells depend on a neighbour in the structure.

    Then cells are not missing completely at random: they may depend on themselves, too, which
    nothing repairs and no test of these rows can show. For each pair of a column and a neighbour, a
    chi-squared test of whether the cell is missing against the neighbour's states (numbers: their
    quarters), at level SURE over all tests.

    Parameters
    ----------
    dataset : as read, with its missing cells.
    dag : over the same names.
    """
    from scipy.stats import chi2_contingency

    if dataset.gone is None:
        return []
    gone, joined = dataset.gone, dag.reorder(dataset.names).adjacency
    joined = joined | joined.T
    lacking = [v for v in range(dataset.n) if gone[:, v].any()]
    pairs = [(v, int(u)) for v in lacking for u in np.flatnonzero(joined[v])]
    found: dict[str, list[str]] = {}
    for v, u in pairs:
        there = ~gone[:, u]
        values = dataset.table[there, u]
        if dataset.schema.variables[u].states is None:
            values = np.searchsorted(np.quantile(values, [0.25, 0.5, 0.75]), values)
        groups, place = np.unique(values, return_inverse=True)
        table = np.zeros((2, len(groups)), dtype=np.int64)
        np.add.at(table, (gone[there, v].astype(np.intp), place), 1)
        if table.shape[1] < 2 or (table.sum(axis=1) == 0).any():
            continue
        if chi2_contingency(table, correction=False).pvalue < SURE / len(pairs):
            found.setdefault(dataset.names[v], []).append(dataset.names[u])
    return [
        f"whether {name!r} is missing ({gone[:, dataset.names.index(name)].mean():.1%} of the "
        f"rows) depends on {list_some(others)}: imputing is right only if it does not depend on "
        f"{name!r} itself, which these rows cannot show"
        for name, others in found.items()
    ]
