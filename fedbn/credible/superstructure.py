"""Candidate parent sets within a superstructure, where all of them are out of reach.

Each variable may have the parents that GES gives it as neighbours, then those that raise its score
most when taken alone, `NEIGHBOURS` at most; constant columns have neither parents nor children. All
subsets of these are scored. The credible set over them is exact for the superstructure and proves
nothing about other structures.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from fedbn.credible.pruning import Candidates, log_bayes_factor
from fedbn.data.dataset import Dataset
from fedbn.graphs.knowledge import Knowledge
from fedbn.limits import NOTHING_MET
from fedbn.scores import make_score
from fedbn.scores.base import TabulatedScore
from fedbn.search.constraints import SearchRules
from fedbn.search.families.families import Families
from fedbn.search.families.parent_sets import TOLERANCE
from fedbn.search.ges import ges

NEIGHBOURS = 6


def superstructure_candidates(
    dataset: Dataset, score: str = "bic", *, bayes_factor: float = 20.0, ess: float = 1.0,
    row_weight: float = 1.0, neighbours: int = NEIGHBOURS, max_parents: int | None = None,
    knowledge: Knowledge | None = None,
) -> Candidates:  # fmt: skip
    """Candidates at a Bayes factor among at most `neighbours` parents per variable, and of these
    those that keep the knowledge.

    Raises
    ------
    ConfigError : unknown score, or BF < 1.
    """
    epsilon = log_bayes_factor(bayes_factor)
    scored = make_score(score, dataset, ess=ess, row_weight=row_weight)
    rules = SearchRules(max_parents=max_parents, knowledge=knowledge)
    skeleton = ges(scored, rules).dag.adjacency
    skeleton = skeleton | skeleton.T
    max_size = neighbours if max_parents is None else min(neighbours, max_parents)
    useful = [i for i in range(scored.n) if len(np.unique(dataset.table[:, i])) > 1]
    lists: list[list[tuple[float, tuple[int, ...]]]] = [
        [(-scored.local_score(i, ()), ())] for i in range(scored.n)
    ]
    for i in useful:
        allowed = _neighbours(scored, i, skeleton[i], useful)[:neighbours]
        lists[i] = _drop_dominated(scored, i, sorted(allowed), max_size, epsilon)
    scope = f"parents among {neighbours} neighbours of each variable"
    families = Families.from_parents(scored.names, lists)
    found = Candidates(families, epsilon, False, scope, NOTHING_MET, ())
    return found if knowledge is None else found.keeping(knowledge, scored, max_size)


def _neighbours(
    score: TabulatedScore, node: int, adjacent: np.ndarray, useful: list[int]
) -> list[int]:
    """The adjacent variables first, then by gain; ties by name order."""
    others = [j for j in useful if j != node]
    return sorted(others, key=lambda j: (not adjacent[j], -score.local_score(node, [j]), j))


def _drop_dominated(
    score: TabulatedScore, node: int, allowed: list[int], max_size: int, epsilon: float
) -> list[tuple[float, tuple[int, ...]]]:
    """(cost, parents) of the sets that no subset beats by more than ε."""
    best: dict[tuple[int, ...], float] = {}
    kept = []
    for size in range(min(max_size, len(allowed)) + 1):
        for P in combinations(allowed, size):
            cost = -score.local_score(node, P)
            subsets = (best[P[:k] + P[k + 1 :]] for k in range(size))
            below = min(subsets, default=np.inf)
            if not below + epsilon + TOLERANCE < cost:
                kept.append((cost, P))
            best[P] = min(cost, below)
    return kept
