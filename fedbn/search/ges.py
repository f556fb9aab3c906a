"""Greedy equivalence search.

Chickering 2002 (JMLR 3:507): a forward phase of Inserts and a backward phase of Deletes, each
until no valid operator gains. Optional: the turning phase of Hauser & Bühlmann 2012 (JMLR
13:2409), and repetition of the phases until none changes anything; large-sample optimality needs
neither. Every valid operator is considered.

A gain counts as positive above 1e-9 (1 + |score|); among gains within that of the greatest, the
first by (y, x, set) in name order is taken, so neither column order nor rounding decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbn.scores.base import TabulatedScore
from fedbn.search.class_search import ClassSearch, Kind
from fedbn.search.result import SearchResult

if TYPE_CHECKING:
    import numpy as np

    from fedbn.graphs.dag import DAG
    from fedbn.search.knowledge import Knowledge

__all__ = ["ges"]


def ges(
    score: TabulatedScore,
    *,
    start: DAG | None = None,
    turning: bool = False,
    repeat: bool = False,
    max_parents: int | None = None,
    max_t: int | None = None,
    seconds: float | None = None,
    knowledge: Knowledge | None = None,
    rng: np.random.Generator | None = None,
) -> SearchResult:
    """Greedy equivalence search.

    Parameters
    ----------
    score : from `fedbn.scores.make_score`.
    start : a DAG whose class is the start; the empty graph by default.
    turning : add a turning phase after the backward phase.
    repeat : repeat the phases until a whole round changes nothing.
    max_parents, max_t : largest in-degree and largest |T| that operators may make; off by default.
    seconds : wall-clock limit; what was found until then is the result.
    knowledge : required and forbidden edges and tiers.
    rng : break ties at random.

    Returns
    -------
    SearchResult : its status tells whether a limit was met.

    Raises
    ------
    ConfigError : a limit is out of range, or the knowledge contradicts itself or the start.

    >>> from fedbn.data.dataset import Dataset, Schema
    >>> from fedbn.scores import make_score
    >>> rows = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]] * 25
    >>> data = Dataset(Schema.categorical({"a": "01", "b": "01", "c": "01"}), rows)
    >>> ges(make_score("bdeu", data)).dag.edges
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
    phases: tuple[Kind, ...] = ("insert", "delete", "turn") if turning else ("insert", "delete")
    while True:
        changed = [search.climb((phase,)) for phase in phases]
        if not repeat or not any(changed):
            return search.result()
