"""What edges must gain before counts choose them: a prior over the number of edges.

Among the many families that are looked at, some gain by chance. A prior that is uniform over
structures does not see that; one that learns from the data how common edges are does, without a
constant to set (Scott & Berger 2010, *Bayes and empirical-Bayes multiplicity adjustment in the
variable-selection problem*): the more pairs there are for one edge, the more an edge must gain.

Of N = n (n - 1) / 2 pairs, every number m of joined ones is as probable as any other, and so is
every set of that many pairs. So a structure of m edges costs ln C(N, m) nats, and one edge more
ln((N - m) / (m + 1)): the odds against an edge, as they are in a structure of that many. From
half of the pairs on further edges cost nothing. The cost depends on the number of edges alone, so
all structures of an equivalence class have the same.

A search that adds up families needs one price for every edge. ln C(N, m) is concave in m, so its
tangent at the structure reached so far, `an_edge`, is nowhere below it: what is better at this
price is better at the true cost, too, and from there the price is taken anew (an MM algorithm,
Hunter & Lange 2004). So it ends, and never goes down.

Deviations from the first paper: the models are structures, not the regressors of one response; and
sets of pairs stand for them, however many structures a set has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class EdgePrior:
    """The cost of a structure by its number of edges.

    Parameters
    ----------
    pairs : that may be joined; of none of them edges cost nothing.

    Examples
    --------
    >>> prior = EdgePrior(pairs=28)
    >>> round(prior.an_edge(3), 4)
    1.8718
    >>> round(prior.of(4) - prior.of(3), 4)
    1.8326
    >>> EdgePrior(pairs=3).an_edge(2)
    0.0
    """

    pairs: int

    @classmethod
    def over(cls, variables: int) -> EdgePrior:
        """The prior of structures over so many variables."""
        return cls(variables * (variables - 1) // 2)

    def of(self, edges: int) -> float:
        """Nats that a structure of so many edges costs: ln C(N, m), its maximum where m is more
        than half of N."""
        paid = min(edges, self.pairs // 2)
        return math.fsum(math.log((self.pairs - k) / (k + 1)) for k in range(paid))

    def an_edge(self, edges: int) -> float:
        """Nats that every edge costs a search from a structure of so many, at least 0: the odds
        against an edge at the mean rate, (m + 1) / (N + 2), after m joined pairs of N.

        No less than the last edge more costs, and no more than the last edge fewer saves."""
        if 2 * edges >= self.pairs:
            return 0.0
        return math.log((self.pairs - edges + 1) / (edges + 1))


FREE = EdgePrior(pairs=0)
"""Edges cost nothing."""
