"""PC from causal-learn as a learner, with settings of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import fedbn as fb
from fedbn.errors import StructureError
from fedbn.graphs.pdag import PDAG, consistent_extension
from fedbn.setting import one_of, probability, setting


@dataclass(frozen=True)
class PCSettings(fb.LearnerSettings):
    """What PC is told beside what all learners are."""

    alpha: float = setting(0.05, "Level of PC's tests of independence.", probability)
    test: str = setting("chisq", "PC's test: chisq or gsq.", one_of("chisq", "gsq"))


@fb.register_learner("pc", settings=PCSettings)
def pc(table: fb.Table, rng: np.random.Generator, settings: PCSettings) -> fb.DAG:
    """A DAG of the class that PC finds; of its skeleton, by name, where it finds no class."""
    from causallearn.search.ConstraintBased.PC import pc as search

    rows = table.dataset.codes
    found = search(rows, settings.alpha, settings.test, show_progress=False).G.graph
    tail, head = found == -1, found == 1
    directed = (tail & head.T) | (tail & tail.T)
    try:
        return consistent_extension(PDAG(table.names, directed))
    except StructureError:
        return fb.DAG(table.names, np.triu(found != 0))
