"""Missing cells of one table, filled while its structure is learned (structural EM).

Friedman, The Bayesian structural EM algorithm, UAI 1998, with draws in place of expectations: start
from each column's own distribution; ROUNDS rounds of {learn with the chosen learner; some fits of
its parameters, each followed by Gibbs sweeps over the missing cells given their Markov
blankets}; the caller then learns once more, from the table that is given back. Categories are drawn
from the network's own distributions. Where columns are numbers, an arrow may go from a number to a
category, for which no conditional-Gaussian distribution stands; so these tables have the
general-location model (`core/scores/mixed_completion.hpp`).

A filled cell is no evidence: it repeats what the other cells say, and an edge between two columns
rests on the rows in which both are there. So the last searches multiply the number of rows by the
share of pairs of cells that are there (`Dataset.row_weight`). Else false edges are found.

In the rounds before the last, the two kinds of tables need the opposite. Cells drawn from a network
that lacks an edge hide this edge from all later searches; cells drawn from one with a false edge
confirm it. Searches for categories lose edges: these rounds count every row twice (`RICHER`).
Searches for numbers find false ones: these rounds count rows as the last one does.

This is right where cells are missing at random: whether one is missing may depend on what is seen
in its row, not on the cell itself. `missingness_remarks` says where the first is so.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import chi2_contingency

from fedbn._core.scores import draw_missing, draw_missing_mixed
from fedbn.arrays import Bools, Codes, Floats, Indices
from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from fedbn.graphs.moral import moral_graph
from fedbn.wording import list_some

ROUNDS = 3
SEARCHES = ROUNDS + 1
"""Searches for each completed table: one in each round, and the caller's."""

OF_CATEGORIES, OF_NUMBERS = (2, 1), (3, 1)
"""Fits in a round, and sweeps after each. On random networks with 5 and 15 % of the cells missing,
more of either, or more rounds, were no nearer."""

ESS = 1.0
"""Of the parameters from which cells are drawn."""

SURE = 0.001
"""Level of the tests of missingness, all tests of a table together."""

RICHER = 2.0
"""Minimum row weight of the searches in a table of categories before the last round."""

Learn = Callable[[Dataset, float], DAG]


def complete(dataset: Dataset, learn: Learn, rng: np.random.Generator) -> Dataset:
    """A table without missing cells: the last one of structural EM.

    The rows are put in an order of their own first, so that neither theirs nor that of the columns
    (which are sorted) reaches a result.

    Parameters
    ----------
    dataset : of any kind, with at least one missing cell; each column has one that is there.
    learn : a complete table, a minimum of the row weight -> the best structure.
    rng : one number of it seeds the draws.

    Raises
    ------
    DataError : the parents of a column have more than 2^62 configurations.
    """
    assert dataset.gone is not None
    ordered = dataset.take(_own_order(dataset))
    if dataset.kind == "categorical":
        return _complete_states(ordered, learn, rng)
    return _complete_numbers(ordered, learn, rng)


def _complete_numbers(dataset: Dataset, learn: Learn, rng: np.random.Generator) -> Dataset:
    gone = np.ascontiguousarray(dataset.gone.T)  # type: ignore[union-attr]
    states = [len(each.states or ()) for each in dataset.schema.variables]
    table = np.ascontiguousarray(_start(dataset, gone, rng), dtype=np.float64)
    weight = pairs_there(gone)
    for _ in range(ROUNDS):
        dag = learn(Dataset(dataset.schema, table.T, None, weight), 1.0).reorder(dataset.names)
        blankets = [np.flatnonzero(others).tolist() for others in moral_graph(dag)]
        seed = int(rng.integers(2**64, dtype=np.uint64))
        table = draw_missing_mixed(table, gone, states, blankets, *OF_NUMBERS, seed)
    return Dataset(dataset.schema, table.T, None, weight)


def pairs_there(gone: Bools) -> float:
    """Of all pairs of two cells in one row, the share that are both there; at least that of one
    pair. gone: [n, rows]."""
    n, rows = gone.shape
    there = n - gone.sum(axis=0, dtype=np.int64)
    pairs = int((there * (there - 1)).sum())
    return float(max(pairs, 2) / max(rows * n * (n - 1), 2))


def _complete_states(dataset: Dataset, learn: Learn, rng: np.random.Generator) -> Dataset:
    gone = np.ascontiguousarray(dataset.gone.T)  # type: ignore[union-attr]
    arities = dataset.cardinalities.tolist()
    codes = np.ascontiguousarray(_start(dataset, gone, rng), dtype=np.uint16)
    weight = pairs_there(gone)
    for left in reversed(range(ROUNDS)):
        completed = Dataset(dataset.schema, codes.T, None, 1.0 if left else weight)
        dag = learn(completed, RICHER if left else 1.0).reorder(dataset.names)
        parents = [np.flatnonzero(dag.adjacency[:, v]).tolist() for v in range(dataset.n)]
        seed = int(rng.integers(2**64, dtype=np.uint64))
        codes = draw_missing(codes, gone, arities, parents, ESS, *OF_CATEGORIES, seed)
    return Dataset(dataset.schema, codes.T, None, weight)


def _own_order(dataset: Dataset) -> Indices:
    """The rows in an order that depends on their cells alone: that of a 64-bit hash of them."""
    cells = np.ascontiguousarray(dataset.table)
    bits = cells.view(np.uint64) if cells.dtype == np.float64 else cells.astype(np.uint64)
    factors = np.cumprod(np.full(2 * dataset.n, 0x9E3779B97F4A7C15, dtype=np.uint64))
    hashes = (bits ^ (bits >> np.uint64(32))) @ factors[: dataset.n]
    hashes += dataset.gone.astype(np.uint64) @ factors[dataset.n :]  # type: ignore[union-attr]
    return np.argsort((hashes ^ (hashes >> np.uint64(32))) * factors[0], kind="stable")


def _start(dataset: Dataset, gone: Bools, rng: np.random.Generator) -> Codes | Floats:
    """[n, rows]: each missing cell as a cell of its column that is there, at random."""
    codes = dataset.table.T.copy()
    for own, lacking in zip(codes, gone, strict=True):
        places = np.flatnonzero(lacking)
        if places.size:
            seen = own[~lacking]
            own[places] = seen[rng.integers(len(seen), size=places.size)]
    return codes


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
