"""Which pairs of variables a site judges, where sites have different variables.

A site without m in x -> m -> y rightly joins x and y, which sites with m do not. So sites of one
population differ by what they lack; and as what is lacking also leads a learner to other optima
near by, no site judges a pair around something that it lacks. By the consensus of all sites:

    a site judges {x, y}  if it has both, and no path of its moral graph leads from x to y whose
                          inner variables, at least one, are all lacking at the site.

What a site does not judge is no evidence: it has neither joined the pair nor left it out. Two sites
that judge no pair together cannot be said to differ.
"""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bools, Floats
from fedbn.graphs.components import strong_labels


def judged_pairs(has: Bools, moral: Bools) -> Bools:
    """bool [n, n], symmetric: the pairs that a site judges.

    Parameters
    ----------
    has : bool [n], the variables of the site.
    moral : bool [n, n], the moral graph of the consensus.

    Examples
    --------
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=np.bool_)
    >>> int(judged_pairs(np.array([True, False, True]), chain).sum())
    0
    >>> judged_pairs(np.array([True, True, False]), chain).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    judged: Bools = np.outer(has, has)
    np.fill_diagonal(judged, False)
    lacking = np.flatnonzero(~has)
    labels = strong_labels(moral[np.ix_(lacking, lacking)])
    for label in np.unique(labels):
        around = moral[lacking[labels == label]].any(axis=0)
        judged &= ~np.outer(around, around)
    return judged


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
