"""Constraint-based and hybrid peers of the tables: PC-stable by causal-learn, MMHC by our own MMPC.

PC uses Fisher's z on numbers and G² on categories. MMHC is hill climbing (BIC, tabu list of ten)
inside the pairs that MMPC leaves (`max_min.py`).
"""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bools
from fedbn.data.dataset import Dataset
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.scores import make_score
from fedbn.search.constraints import SearchRules
from fedbn.search.hill_climbing import hill_climbing
from simulations.studies.cg_dca.max_min import max_min_neighbours

LEVEL = 0.01  # of the tests


def pc_stable(dataset: Dataset) -> Bools:
    """bool [n, n] of the PDAG: both directions set for an undirected or contested edge."""
    from causallearn.search.ConstraintBased.PC import pc

    numbers = dataset.kind == "gaussian"
    table = dataset.values if numbers else dataset.codes
    found = pc(table, LEVEL, "fisherz" if numbers else "gsq", stable=True, show_progress=False)
    ends = found.G.graph
    joined = (ends != 0) & (ends.T != 0)
    tail_here, tail_there = ends == -1, ends.T == -1
    matrix: Bools = joined & (tail_here | ~tail_there)
    return matrix


def max_min_hill_climbing(dataset: Dataset) -> Bools:
    """bool [n, n] of the CPDAG: hill climbing (BIC) inside the pairs that MMPC leaves."""
    score = "gaussian-bic" if dataset.kind == "gaussian" else "bic"
    allowed, names = max_min_neighbours(dataset, LEVEL), dataset.names
    outside = np.argwhere(~allowed & ~np.eye(dataset.n, dtype=np.bool_))
    knowledge = Knowledge(forbidden=tuple((names[i], names[j]) for i, j in outside))
    found = hill_climbing(make_score(score, dataset), SearchRules(knowledge=knowledge), tabu=10)
    return dag_to_cpdag(found.dag).adjacency
