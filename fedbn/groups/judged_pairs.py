"""Pairs of variables that sites judge, compared, where sites have different variables.

A site judges a pair if no path through what it lacks leads from one variable to the other, in the
moral graph of the consensus of all sites (`fedbn.consensus.votes_of_judges`). There sites of one
population differ by what they lack, and a learner without a variable ends in other optima near by.

What a site does not judge is no evidence: it has neither joined the pair nor left it out. Two sites
that judge no pair together cannot be said to differ.
"""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bools, Floats


def means_of_judges(shares: Floats, judges: Bools | None) -> Floats:
    """float64 [P]: the mean share of each pair over the sites that judge it; 0 where none does.

    Parameters
    ----------
    shares : float64 [m, P], 0 where a site does not judge.
    judges : bool [m, P]; None: all judge all.
    """
    if judges is None:
        return np.asarray(shares.mean(axis=0))
    return np.asarray(shares.sum(axis=0) / np.maximum(judges.sum(axis=0), 1))


def pairs_apart(residuals: Floats, judges: Bools, part: Bools) -> float:
    """In how many pairs two parts of the sites differ, estimated without bias: of every pair that
    both parts have judges of, the squared difference of their means, without the products of a site
    with itself.

    Parameters
    ----------
    residuals : float64 [m, P], 0 where a site does not judge.
    judges : bool [m, P].
    part : bool [m], one side.
    """
    apart, alone = np.zeros(residuals.shape[1]), np.zeros(residuals.shape[1])
    both = np.ones(residuals.shape[1], dtype=np.bool_)
    for side, sign in ((part, 1.0), (~part, -1.0)):
        count = judges[side].sum(axis=0)
        both &= count > 0
        weight = 1.0 / np.maximum(count, 1)
        apart += sign * weight * residuals[side].sum(axis=0)
        alone += weight**2 * (residuals[side] ** 2).sum(axis=0)
    return float((apart**2 - alone)[both].sum())
