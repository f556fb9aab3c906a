"""XGES-0: greedy search over equivalence classes that deletes as soon as it can.

Nazaret & Blei 2024, "Extremely greedy equivalence search", algorithm XGES-0: at each step the best
Delete if any gains, else the best Turn, else the best Insert. On dense graphs it ends at better
scores than GES. Operators, validity and ties are those of `ges.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbn.scores.base import TabulatedScore
from fedbn.search.class_search import ClassSearch
from fedbn.search.result import SearchResult

if TYPE_CHECKING:
    import numpy as np

    from fedbn.graphs.dag import DAG
    from fedbn.search.knowledge import Knowledge

__all__ = ["xges0"]


def xges0(
    score: TabulatedScore,
    *,
    start: DAG | None = None,
    max_parents: int | None = None,
    max_t: int | None = None,
    seconds: float | None = None,
    knowledge: Knowledge | None = None,
    rng: np.random.Generator | None = None,
) -> SearchResult:
    """XGES-0; parameters, result and errors are those of `ges`.

    >>> from fedbn.data.dataset import Dataset, Schema
    >>> from fedbn.scores import make_score
    >>> rows = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]] * 25
    >>> data = Dataset(Schema.categorical({"a": "01", "b": "01", "c": "01"}), rows)
    >>> xges0(make_score("bic", data)).dag.edges
    (('a', 'b'),)
    """
    search = ClassSearch.begin(
        score,
        start=start,
        max_parents=max_parents,
        max_t=max_t,
        seconds=seconds,
        knowledge=knowledge,
        rng=rng,
    )
    search.climb(("delete", "turn", "insert"))
    return search.result()
