"""How sites differ beyond what their rows explain.

A site of few rows finds fewer edges than one of many, and some others, so SMHD joins small sites
with small ones and large with large ones, whatever they are tables of. What counts is how a site
differs from what a site of so many rows is expected to find.

If all sites come from one population, a pair is in the structure of a site with a probability
that is a logistic function of the logarithm of its rows, with an intercept and a slope of the
pair's own. Few sites cannot tell them exactly, so both have normal priors of mean 0
(`PRECISIONS`), and the mode is taken. The residuals are the shares less these probabilities: an
edge that a small site lacks is no surprise, one that a large site lacks is. Where all have equally
many rows, the residuals are those from the mean.

Two sites are as far from each other as their residuals point in other directions, 1 - cosine: what
makes a site noisier than others makes its residuals longer, not different.
"""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bools, Floats
from fedbn.groups.judged_pairs import means_of_judges
from fedbn.groups.profiles import BLOCK, UNIT

PRECISIONS = (0.1, 0.5)
"""Of the priors of intercept (at the mean logarithm) and slope (per factor e of rows). Set on
hailfinder, water, hepar2, sachs, win95pts and random networks of 40 and 50 variables."""

STEPS = 60
LONGEST = 3.0
"""No step of Newton's method is longer, in either number; `STEPS` of them are more than enough."""

SMALLEST = 1e-10
"""Steps below this end it."""

COLUMNS = 256
"""So many pairs are fitted at once."""


def beyond_rows(shares: Floats, logs: Floats, judges: Bools | None = None) -> Floats:
    """The residuals of every pair, float64 [m, P]; 0 of a site that does not judge it.

    Parameters
    ----------
    shares : float64 [m, P], between 0 and 1: the share of a site's structures with the pair.
    logs : float64 [m], the logarithms of the sites' rows.
    judges : bool [m, P], which sites judge each pair; None: all.
    """
    if np.ptp(logs) == 0:
        beyond = shares - means_of_judges(shares, judges)
        return np.asarray(beyond if judges is None else np.where(judges, beyond, 0.0))
    design = np.stack([np.ones(len(logs)), logs - logs.mean()], axis=1)
    left = np.empty_like(shares)
    for first in range(0, shares.shape[1], COLUMNS):
        some = slice(first, first + COLUMNS)
        counts = 1.0 if judges is None else judges[:, some].astype(np.float64)
        expected = _probabilities(shares[:, some], design, counts)
        left[:, some] = (shares[:, some] - expected) * counts
    return left


def _probabilities(shares: Floats, design: Floats, counts: Floats | float) -> Floats:
    """The probabilities at the mode, by Newton's method on all pairs at once; `counts` are 1 where
    a site judges, else 0."""
    base, slope = PRECISIONS
    curvature = np.stack([design[:, 0], design[:, 1], design[:, 1] ** 2], axis=1)
    fitted = np.zeros((2, shares.shape[1]))
    for _ in range(STEPS):
        found = 1.0 / (1.0 + np.exp(-(design @ fitted)))
        uphill = design.T @ ((shares - found) * counts) - np.array([[base], [slope]]) * fitted
        a, b, c = curvature.T @ (found * (1.0 - found) * counts)
        a, c = a + base, c + slope
        step = np.stack([c * uphill[0] - b * uphill[1], a * uphill[1] - b * uphill[0]])
        step = np.clip(step / (a * c - b * b), -LONGEST, LONGEST)
        fitted = fitted + step
        if np.abs(step).max(initial=0.0) < SMALLEST:
            break
    expected: Floats = 1.0 / (1.0 + np.exp(-(design @ fitted)))
    return expected


def turned_apart(residuals: Floats) -> Floats:
    """1 - cosine between the residuals of every two sites, condensed as scipy has it.

    A site without residuals is at 0 from another one without, at 1 from all others. Rounded to
    multiples of 2^-20, so that equal directions are equally far in whatever order they are summed.

    Examples
    --------
    >>> turned_apart(np.array([[1.0, 0.0], [3.0, 0.0], [0.0, -1.0], [0.0, 0.0]]))
    array([0., 1., 1., 1., 1., 1.])
    """
    m = len(residuals)
    norms = np.sqrt((residuals**2).sum(axis=1))
    none = norms < UNIT
    units = np.where(none[:, None], 0.0, residuals / np.where(none, 1.0, norms)[:, None])
    found = np.empty(m * (m - 1) // 2)
    place = 0
    for first in range(0, m, BLOCK):
        common = units[first : first + BLOCK] @ units[first:].T
        for k in range(len(common)):
            cosines = np.where(none[first + k] & none[first + k + 1 :], 1.0, common[k, k + 1 :])
            found[place : place + len(cosines)] = np.round((1.0 - cosines) / UNIT) * UNIT
            place += len(cosines)
    return np.maximum(found, 0.0)
