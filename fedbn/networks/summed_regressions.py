"""Equations of a number from sums over the sites, where nobody sees one site's sums.

What `fedbn.networks.conditional_sums` finds from each site's sums, shared or own by BIC. For shared
equations the sums of the pooled rows suffice. Own ones have a constant for every site. Let z be the
columns of all configurations: ones and the number parents, 0 outside the configuration. Least
squares with the constants is that of the rows less their site's means, so it needs

    T = sum over the rows of z z^T, a block for each configuration, and z y
    B = sum over the sites of v v^T / n, v being the site's sums of (z, y) and n its rows,

and solves (T - B) w = (T - B)_y. In a basis in which T is the identity, the eigenvalues of T - B
lie between 0 and 1: what share of a direction is within sites. Where nothing is, as for a
configuration that one site alone has, no constant is told from w; then w is that of the pooled
rows, and the constants are as small as they can be. These eigenvalues are those of the system that
the open run solves for the constants, so both have the same tolerance (`NOTHING_WITHIN`).

BIC needs what w leaves in every configuration. T and B do not tell that, so the sites are told w
and add up their squares (`fedbn.secure.summed_families`).
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.errors import DataError
from fedbn.networks.conditional_gaussian import Regressions
from fedbn.networks.conditional_sums import (
    NOTHING_WITHIN,
    ConditionalSums,
    above_centres,
    are_worth_it,
    fit_smoothed,
)

NOT_SURE = 1e-4
"""Maximum share of what is estimated that rounding under masks may have added or taken."""

_DEPENDENT = 1e-13
"""A direction with less than this share of its columns' sums of squares in T is rounding."""


class SummedFamily(NamedTuple):
    """A number's family over all sites, with k - 1 number parents and q configurations.

    Columns are ones, number parents, number; the numbers less centres that all sites know.

    Attributes
    ----------
    rows : int64 [q].
    total : float64 [q, k + 1, k + 1], T with y.
    between : float64 [q k + 1, q k + 1], B: by configuration ones and number parents, last y.
    off : float64 [k + 1]: a sum of products of columns i and j, of T or B, is off by at most
        off[i] off[j].
    centres : float64 [k], of number parents and number.
    sites : how many there are, all with rows.
    """

    rows: Ints
    total: Floats
    between: Floats
    off: Floats
    centres: Floats
    sites: int


def own_weights(name: str, family: SummedFamily) -> Floats:
    """w: constant and slopes of every configuration, float64 [q, k].

    name : of the number, for the error text.

    Raises DataError where the sums are not exact enough to tell what is within sites.
    """
    q, k = len(family.rows), len(family.off) - 1
    parts = [_basis(name, block[:k, :k], family.off[:k]) for block in family.total]
    basis = np.zeros((q * k, sum(part.shape[1] for part in parts)))
    start = 0
    for c, part in enumerate(parts):
        basis[c * k : (c + 1) * k, start : start + part.shape[1]] = part
        start += part.shape[1]
    with_y = basis.T @ family.total[:, :k, k].ravel()
    of_sites = basis.T @ family.between[:-1, -1]
    between = basis.T @ family.between[:-1, :-1] @ basis
    within, directions = np.linalg.eigh(np.eye(len(between)) - (between + between.T) / 2.0)
    off = np.abs(basis).T @ np.tile(family.off[:k], q)
    noise = 2.0 * (np.abs(directions).T @ off) ** 2
    nothing = within <= np.maximum(NOTHING_WITHIN, 4.0 * noise)
    if (~nothing & (within * NOT_SURE < noise)).any():
        raise _not_exact(name, "sites lie far apart")
    share = np.where(nothing, 1.0, within)
    found = np.where(nothing, directions.T @ with_y, directions.T @ (with_y - of_sites)) / share
    weights: Floats = (basis @ (directions @ found)).reshape(q, k)
    return weights


def _basis(name: str, block: Floats, off: Floats) -> Floats:
    """Columns by which a block of T becomes the identity, float64 [k, rank]."""
    own = np.diag(block)
    scale = np.where(own > 4.0 * off**2, 1.0 / np.sqrt(np.maximum(own, 1e-300)), 0.0)
    values, vectors = np.linalg.eigh(block * np.outer(scale, scale))
    noise = (np.abs(vectors).T @ (off * scale)) ** 2
    kept = values > np.maximum(_DEPENDENT, 4.0 * noise)
    if (kept & (values * NOT_SURE < noise)).any():
        raise _not_exact(name, "its parents nearly determine one another")
    return np.asarray(scale[:, None] * vectors[:, kept] / np.sqrt(values[kept]))


def squares_left(family: SummedFamily, weights: Floats) -> tuple[float, float]:
    """What the squares that w leaves within sites sum to, over all configurations, and by how much
    that may be off."""
    left = np.column_stack([-weights, np.ones(len(weights))])
    whole = np.append(-weights, 1.0)
    found = np.einsum("ci,cij,cj->", left, family.total, left) - whole @ family.between @ whole
    return float(max(found, 0.0)), float(2.0 * (np.abs(left) @ family.off).sum() ** 2)


def regressions_of_sums(
    name: str, family: SummedFamily, weights: Floats, left: Floats, ess: float
) -> tuple[Regressions, bool]:
    """The equations of a number, and whether every site has a constant of its own.

    Parameters
    ----------
    name : of the number, for the error text.
    weights : as `own_weights` gives them.
    left : float64 [q], the sums of squares that they leave.
    ess : as in `regressions_of_sites`.

    Raises DataError as `regressions_of_sites`, and where more than `NOT_SURE` of what an equation
    leaves may be rounding.
    """
    total = _about_the_means(family)
    found, spread = fit_smoothed(name, [total], ess)
    own = False
    if family.sites > 1:
        with suppress(DataError):
            fitted, narrower = fit_smoothed(name, [_less_constants(total, weights, left)], ess)
            own = are_worth_it(family.sites, family.rows, spread, narrower)
            found = fitted if own else found
    _require_sure(name, family, found, ess)
    return above_centres(found, family.centres), own


def _about_the_means(family: SummedFamily) -> ConditionalSums:
    """The sums of the pooled rows by configuration."""
    rows = np.maximum(family.rows, 1)[:, None]
    means = family.total[:, 0, 1:] / rows
    products = family.total[:, 1:, 1:] - rows[:, :, None] * means[:, :, None] * means[:, None, :]
    constant = family.total[:, 1:, 1:].sum(axis=0).diagonal() <= 4.0 * family.off[1:] ** 2
    products[:, constant] = products[:, :, constant] = 0.0
    return ConditionalSums(family.rows, means, products)


def _less_constants(total: ConditionalSums, weights: Floats, left: Floats) -> ConditionalSums:
    """The same of the number less its site's constant: what the weights say and what they leave,
    which is uncorrelated with the parents."""
    means, products = total.means.copy(), total.products.copy()
    slopes = weights[:, 1:]
    fitted = np.einsum("cij,cj->ci", products[:, :-1, :-1], slopes)
    means[:, -1] = weights[:, 0] + (means[:, :-1] * slopes).sum(axis=1)
    means[total.rows == 0] = 0.0
    products[:, :-1, -1] = products[:, -1, :-1] = fitted
    products[:, -1, -1] = (fitted * slopes).sum(axis=1) + left
    return ConditionalSums(total.rows, means, products)


def _require_sure(name: str, family: SummedFamily, found: Regressions, ess: float) -> None:
    prior = ess + len(family.off) - 2
    off = 4.0 * (family.off[-1] + np.abs(found.coefficients) @ family.off[1:-1]) ** 2
    left = (family.rows + prior) * found.standard_deviations**2
    share = 1.0 + len(family.rows) * prior / family.rows.sum()
    if (off * share > NOT_SURE * left)[family.rows + prior > 0].any():
        raise _not_exact(name, "its parents nearly determine it")


def _not_exact(name: str, why: str) -> DataError:
    return DataError(f"the equation of {name!r} is not exact enough under masks: {why}")
