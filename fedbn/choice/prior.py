"""What an edge must gain before counts choose it: the prior odds of an edge.

Among the many families that are looked at, some gain by chance. A prior that is uniform over
structures does not see that; one that learns from the data how common edges are does, without a
constant to set (Scott & Berger 2010, *Bayes and empirical-Bayes multiplicity adjustment in the
variable-selection problem*): the more pairs there are for one edge, the more an edge must gain.

Of n variables, the consensus of the structures joins m of the N = n (n - 1) / 2 pairs. Before the
counts are seen, every pair is joined with probability (m + 1) / (N + 2), independently of all
others (the mean of a rate under a uniform prior, after m of N). So an edge costs
ln((N - m + 1) / (m + 1)) nats, or nothing where more than half of the pairs are joined. The cost
depends on the number of edges alone, so all structures of an equivalence class have the same.

Deviations from the paper: the rate is that of pairs and not of the regressors of one response, and
it is taken from the structures of the same rows.
"""

from __future__ import annotations

import math

from fedbn.graphs.dag import DAG

__all__ = ["edge_cost"]


def edge_cost(consensus: DAG) -> float:
    """Nats that an edge costs, at least 0.

    Parameters
    ----------
    consensus : of the structures, before any counts.

    Examples
    --------
    >>> round(edge_cost(DAG.from_edges("abcdefgh", ["ab", "bc", "cd"])), 4)
    1.8718
    >>> edge_cost(DAG.from_edges("abc", ["ab", "bc"]))
    0.0
    """
    pairs = consensus.n * (consensus.n - 1) // 2
    joined = consensus.n_edges
    return max(0.0, math.log((pairs - joined + 1) / (joined + 1)))
