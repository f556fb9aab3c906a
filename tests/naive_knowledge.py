"""Slow, obvious twins of what background knowledge changes, written from the definitions.

Graphs are bool matrices [n, n], [i, j] = i -> j; knowledge is two of them, forbidden and required.
"""

from __future__ import annotations

import numpy as np

from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from tests import naive

Matrix = np.ndarray


def keeps(dag: DAG, knowledge: Knowledge) -> bool:
    """All required edges and no forbidden one; none from a later to an earlier tier."""
    edges, tier = set(dag.edges), {v: k for k, group in enumerate(knowledge.tiers) for v in group}
    backwards = [(a, b) for a, b in edges if a in tier and b in tier and tier[a] > tier[b]]
    forbidden = edges & set(knowledge.forbidden)
    return set(knowledge.required) <= edges and not forbidden and not backwards


def members_that_keep(dag: DAG, knowledge: Knowledge) -> list[DAG]:
    """The DAGs of the class that keep the knowledge."""
    return [member for member in naive.members(dag) if keeps(member, knowledge)]
