"""Greedy equivalence search.

Chickering 2002 (JMLR 3:507): a forward phase of Inserts and a backward phase of Deletes, each
until no valid operator gains. Optional: the turning phase of Hauser & Bühlmann 2012 (JMLR
13:2409), and repetition of the phases until none changes anything; large-sample optimality needs
neither. Every valid operator is considered.

A gain counts as positive above 1e-9 (1 + |score|); among gains within that of the greatest, the
first by (y, x, set) in name order is taken, so neither column order nor rounding decides.
"""

from __future__ import annotations

from fedbn.scores.base import TabulatedScore
from fedbn.search.class_search import ClassSearch, Kind
from fedbn.search.constraints import FREE, SearchRules
from fedbn.search.result import SearchResult


def ges(
    score: TabulatedScore,
    rules: SearchRules = FREE,
    *,
    turning: bool = False,
    repeat: bool = False,
) -> SearchResult:
    """Greedy equivalence search.

    Parameters
    ----------
    score : from `fedbn.scores.make_score`.
    rules : start, limits, knowledge and ties.
    turning : add a turning phase after the backward phase.
    repeat : repeat the phases until a whole round changes nothing.

    Returns
    -------
    SearchResult : its status tells whether a limit was met.

    Raises
    ------
    ConfigError : the knowledge contradicts the start.

    >>> from fedbn.data.dataset import Dataset, Schema
    >>> from fedbn.scores import make_score
    >>> rows = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]] * 25
    >>> data = Dataset(Schema.categorical({"a": "01", "b": "01", "c": "01"}), rows)
    >>> ges(make_score("bdeu", data)).dag.edges
    (('a', 'b'),)
    """
    search = ClassSearch(score, rules)
    phases: tuple[Kind, ...] = ("insert", "delete", "turn") if turning else ("insert", "delete")
    while True:
        changed = [search.climb((phase,)) for phase in phases]
        if not repeat or not any(changed):
            return search.result()
