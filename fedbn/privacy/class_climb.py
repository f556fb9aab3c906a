"""The learner dp-ges: greedy equivalence search with one private draw per operator.

Chickering 2002's two phases over equivalence classes, with the dependence of `dependence.py` in
place of a score: the forward phase draws an Insert(x, y, T) or "stop", the backward phase a
Delete(x, y, H) or "stop". An operator's utility is u(x, y | S) less what chance makes, or for a
Delete chance less u, with S the set that the score of Chickering's operator conditions on. As the
sensitivity of u does not depend on S, a draw costs what it costs in dp-climb.

Why classes. The first arcs of dp-climb have no direction that the data determine; it takes one at
random, and later arcs pay for it. A class leaves open what is open. With dependence known exactly
and the composition property, the forward phase ends in an I-map of the distribution and the
backward phase in its class (Chickering 2002, lemmas 9 and 10): only noise and the stops are between
this and the truth, whereas dp-climb has a bias that more rows do not cure.

Why ½ sqrt(N q (r_x - 1)(r_y - 1)) for chance. In a stratum of n rows of independent x and y,
n_ab - n_a n_b / n has mean 0 and variance at most n p_a (1 - p_a) q_b (1 - q_b); by Cauchy and
Schwarz over cells and over q strata, the mean of u is at most that, whatever the margins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from random import Random

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG, consistent_extension
from fedbn.privacy.class_operators import deletions, insertions
from fedbn.privacy.climb import ROWS_PER_CELL, stop_utility
from fedbn.privacy.dependence import Dependence, penalty
from fedbn.privacy.mechanism_runs import STOP, Chooser, Mechanism, Transcript, run_privately
from fedbn.search.operators import Delete, Insert

DELETIONS = Fraction(1, 4)
"""Draws per variable that are kept for the backward phase."""


def dp_ges(
    dataset: Dataset,
    *,
    rho: Fraction,
    source: Random,
    edges: Fraction = Fraction(3, 2),
    max_parents: int | None = None,
) -> tuple[DAG, Transcript]:
    """A DAG of the class found under ρ-zCDP per row, and the transcript, which must not leave.

    Parameters
    ----------
    dataset, rho, source : as for `fedbn.privacy.climb.dp_climb`.
    edges : at most edges · n draws forward, and n / 4 backward, with those not used before.
    max_parents : largest number of parents that an Insert gives a node; 4 if it is None.

    Raises
    ------
    ConfigError : ρ is too small for so many draws.
    DataError : the data are not categorical.
    """
    backward = math.ceil(DELETIONS * dataset.n)
    mechanism = class_climbing(4 if max_parents is None else max_parents, backward)
    draws = math.ceil(edges * dataset.n) + backward
    return run_privately(mechanism, dataset, rho=rho, draws=draws, source=source)


def class_climbing(max_parents: int, backward: int, start: PDAG | None = None) -> Mechanism:
    """The mechanism with this largest in-degree and so many draws kept for deletions.

    It begins with the class `start`, which must not depend on the table but through what is
    private already; with no edges if it is None.
    """

    def mechanism(table: Dataset, rows: int, chooser: Chooser) -> DAG:
        search = _Search(table, rows, chooser, start)
        while chooser.left > backward and search.step(
            insertions(search.cpdag, max_parents - 1), sign=1
        ):
            pass
        while chooser.left and search.step(deletions(search.cpdag), sign=-1):
            pass
        return consistent_extension(search.cpdag)

    return mechanism


class _Search:
    """The class so far, and draws of what comes next."""

    def __init__(self, table: Dataset, rows: int, chooser: Chooser, start: PDAG | None) -> None:
        empty = np.zeros((table.n, table.n), dtype=np.bool_)
        self.cpdag = PDAG(table.names, empty) if start is None else start
        self._dependence = Dependence(table)
        self._arities = table.cardinalities.tolist()
        self._rows, self._chooser = rows, chooser

    def step(self, operators: Iterable[tuple[Insert | Delete, frozenset[int]]], sign: int) -> bool:
        """Draw an operator and apply it; False if it was "stop".

        Operators whose table the rows cannot fill are no candidates.
        """
        found: list[Insert | Delete] = []
        utilities = []
        for operator, given in operators:
            x, y = operator.x, operator.y
            strata = math.prod(self._arities[v] for v in given)
            r_x, r_y = self._arities[x], self._arities[y]
            if ROWS_PER_CELL * strata * r_x * r_y <= self._rows:
                chance = 2 * penalty(self._rows, strata, r_x, r_y)
                found.append(operator)
                utilities.append(sign * (self._dependence.utility(x, y, given) - chance))
        utilities.append(stop_utility(len(found), self._chooser.rate))
        chosen = self._chooser.choose([*found, STOP], utilities)
        if chosen == len(found):
            return False
        self.cpdag = found[chosen].apply(self.cpdag)
        return True
