"""The degenerate Gaussian score by its definition, from columns and determinants of numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fedbn.data.dataset import Dataset

LEAST = 1e-10  # of a column's variance that the others must leave


def blocks(dataset: Dataset) -> list[np.ndarray]:
    """[rows, columns] of each variable: a number, or an indicator of each seen state but one."""
    found = []
    for place, variable in enumerate(dataset.schema.variables):
        column = dataset.column(place)
        if variable.states is None:
            found.append(column[:, None])
        else:
            seen = sorted(set(column.tolist()))
            found.append(np.array([[float(c == s) for s in seen[:-1]] for c in column]))
    return found


def covariance(parts: Sequence[np.ndarray]) -> np.ndarray:
    columns = np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
    centred = columns - columns.mean(axis=0)
    return centred.T @ centred / len(columns)


def local(dataset: Dataset, node: int, parents: Sequence[int], penalty: float) -> float:
    """Of a regular family."""
    parts = blocks(dataset)
    rows, own = dataset.n_rows, parts[node].shape[1]
    above = [parts[p] for p in parents]
    width = sum(part.shape[1] for part in above)
    whole = np.linalg.slogdet(covariance([*above, parts[node]]))[1]
    base = np.linalg.slogdet(covariance(above))[1] if width else 0.0
    fit = -0.5 * rows * (whole - base + own * (1.0 + math.log(2.0 * math.pi)))
    return float(fit - penalty * own * width)


def within(tables: Sequence[Dataset], node: int, parents: Sequence[int]) -> float:
    """BIC of the rows of some tables, each less its own means, for a regular family; less what the
    residual covariance of the node's block costs."""
    each = [blocks(table) for table in tables]
    parts = [
        np.concatenate([own[v] - own[v].mean(axis=0) for own in each]) for v in (node, *parents)
    ]
    rows, own = parts[0].shape
    width = sum(part.shape[1] for part in parts[1:])
    whole = np.linalg.slogdet(covariance(parts))[1]
    base = np.linalg.slogdet(covariance(parts[1:]))[1] if width else 0.0
    fit = -0.5 * rows * (whole - base + own * (1.0 + math.log(2.0 * math.pi)))
    return float(fit - 0.5 * math.log(rows) * (own * width + own * (own + 1) / 2))


def rank(parts: Sequence[np.ndarray]) -> int:
    if not sum(part.shape[1] for part in parts):
        return 0
    matrix = covariance(parts)
    scale = np.sqrt(np.diag(matrix))
    kept = scale > 0
    correlations = matrix[np.ix_(kept, kept)] / np.outer(scale[kept], scale[kept])
    return int(np.linalg.matrix_rank(correlations, tol=LEAST, hermitian=True)) if kept.any() else 0


def refused(dataset: Dataset, node: int, parents: Sequence[int]) -> bool:
    """Whether a member of the family is determined by the others, and not by the parents alone."""

    def determined(members: Sequence[int]) -> int:
        parts = blocks(dataset)
        whole = rank([parts[v] for v in members])
        return sum(
            rank([parts[v]]) > 0 and rank([parts[u] for u in members if u != v]) == whole
            for v in members
        )

    return determined([*parents, node]) > determined(parents)
