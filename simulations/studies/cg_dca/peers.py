"""Constraint-based and hybrid peers of the tables: PC-stable and MMHC, by pgmpy.

pgmpy's MMHC takes categorical data only. For Gaussian data its first phase is replaced by the
skeleton of PC-stable, its second is the same: hill climbing inside the skeleton.
"""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np

from fedbn.arrays import Bools
from fedbn.data.dataset import Dataset
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.scores import make_score
from fedbn.search.hill_climbing import hill_climbing
from fedbn.search.rules import SearchRules

__all__ = ["max_min_hill_climbing", "pc_stable"]

LEVEL = 0.01  # of the tests


def pc_stable(dataset: Dataset) -> Bools:
    """bool [n, n] of the PDAG: both directions set for an undirected edge."""
    found = _pc(dataset, "pdag")
    return _matrix(dataset, found.directed_edges) | _both(_matrix(dataset, found.undirected_edges))


def max_min_hill_climbing(dataset: Dataset) -> Bools:
    """bool [n, n] of the CPDAG: hill climbing (BIC) inside a skeleton found by tests."""
    if dataset.kind == "gaussian":
        edges, score = _pc(dataset, "skeleton")[0].edges(), "gaussian-bic"
    else:
        edges, score = _max_min_parents_children(dataset), "bic"
    allowed = _both(_matrix(dataset, edges))
    names = dataset.names
    outside = np.argwhere(~allowed & ~np.eye(dataset.n, dtype=np.bool_))
    forbidden = tuple((names[i], names[j]) for i, j in outside)
    knowledge = Knowledge(forbidden=forbidden)
    found = hill_climbing(make_score(score, dataset), SearchRules(knowledge=knowledge), tabu=10)
    return dag_to_cpdag(found.dag).adjacency


def _pc(dataset: Dataset, form: str) -> Any:
    from pgmpy.estimators import PC

    test = "pearsonr" if dataset.kind == "gaussian" else "chi_square"
    with _quiet():
        return PC(_frame(dataset)).estimate(
            variant="stable", ci_test=test, significance_level=LEVEL, return_type=form,
            show_progress=False, n_jobs=1,
        )  # fmt: skip


def _max_min_parents_children(dataset: Dataset) -> Any:
    from pgmpy.estimators import MmhcEstimator

    with _quiet():
        return MmhcEstimator(_frame(dataset)).mmpc(significance_level=LEVEL).edges()


def _frame(dataset: Dataset) -> Any:
    import pandas as pd

    values = dataset.values if dataset.kind == "gaussian" else dataset.codes
    return pd.DataFrame(values, columns=list(dataset.names))


def _matrix(dataset: Dataset, edges: Any) -> Bools:
    out = np.zeros((dataset.n, dataset.n), dtype=np.bool_)
    for a, b in edges:
        out[dataset.names.index(a), dataset.names.index(b)] = True
    return out


def _both(matrix: Bools) -> Bools:
    either: Bools = matrix | matrix.T
    return either


class _quiet(warnings.catch_warnings):  # noqa: N801
    """pgmpy warns in every test of its own deprecations."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.simplefilter("ignore")
        logging.getLogger("pgmpy").setLevel(logging.ERROR)
        return entered
