"""What conditional-Gaussian parameters need of a table, so that several sites' can be put together.

Of a number's family a site gives, for every configuration of its categories, the number of rows,
the means of its numbers, and their sums of products about these means. From all sites' sums follow
the regressions of the pooled rows (Chan, Golub and LeVeque 1983), one per configuration. Each is
smoothed by as many rows of the whole table as it has slopes, and `ess` more: their mean and
covariance stand for rows that were not seen, so that a configuration without rows has the
regression of all rows, and one with two rows is not taken for exact. Without categories among the
parents that changes nothing.

*Shared* equations are those of the pooled rows. *Own* ones have a constant for every site beside
them, by least squares: where one laboratory's values lie above another's, slopes and standard
deviations are then those within sites. The family has own ones where BIC says so: where

    sum over configurations of N_c ln(variance of the residuals) + (sites - 1) ln N

is smaller than the first term is for shared ones. The equations are then those of the average row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.data.dataset import Dataset
from fedbn.errors import DataError
from fedbn.networks.conditional_gaussian import NumberFamily, Regressions
from fedbn.networks.moments import without_rounding
from fedbn.networks.network import configurations
from fedbn.wording import count_of

_NO_NOISE = 1e-12
"""A residual variance below this share of the variable's own is rounding."""

NOTHING_WITHIN = 1e-10
"""Where less than this share of a direction is within sites, no constant is told from it."""


@dataclass(frozen=True, eq=False)
class ConditionalSums:
    """The sums of one number's family, by configuration of its categories.

    Parameters
    ----------
    rows : int64 [q], 0 or more.
    means : float [q, k] of the number parents and the number, 0 where there are no rows.
    products : float [q, k, k], symmetric: sums of products about these means.

    Raises
    ------
    DataError : not as above, or not finite.
    """

    rows: Ints
    means: Floats
    products: Floats

    def __post_init__(self) -> None:
        if (self.rows < 0).any() or not self.rows.any():
            raise DataError("sums must be of at least 1 row, and of 0 or more in every part")
        if not (np.isfinite(self.means).all() and np.isfinite(self.products).all()):
            raise DataError("sums must be finite numbers")
        if self.means[self.rows == 0].any() or self.products[self.rows == 0].any():
            raise DataError("sums of no rows must be 0")


@dataclass(frozen=True)
class FittedRegressions:
    """The equations of a number, and what its sites' lie above them; no shifts if shared."""

    equations: Regressions
    shifts: Mapping[str, float]


def conditional_sums(
    dataset: Dataset, family: NumberFamily, centres: Floats | None = None
) -> ConditionalSums:
    """The sums of a family in a table, of numbers less these centres, one of each column; raises
    DataError where a cell is missing."""
    values = np.column_stack([dataset.column(i) for i in family.columns])
    if centres is not None:
        values = values - centres
    place = family.configuration(dataset)
    q, k = configurations(family.sizes), len(family.columns)
    rows = np.bincount(place, minlength=q).astype(np.int64)
    means, products = np.zeros((q, k)), np.zeros((q, k, k))
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(rows)
    for c in np.flatnonzero(rows):
        part = values[order[ends[c] - rows[c] : ends[c]]]
        means[c] = np.where(np.ptp(part, axis=0) == 0.0, part[0], part.mean(axis=0))
        centred = part - means[c]
        found = centred.T @ centred
        products[c] = (found + found.T) / 2.0
    return ConditionalSums(rows, means, products)


def regressions_of_sites(
    name: str, sites: Mapping[str, ConditionalSums], ess: float = 1.0
) -> FittedRegressions:
    """The equations of a number from all sites' sums, shared or own by BIC.

    Parameters
    ----------
    name : of the number, for the error text.
    sites : at least one; the sums of one family.
    ess : at least 0: rows that smooth an equation, besides one for each of its slopes.

    Raises
    ------
    DataError : the sums leave no noise: the number is constant, or its number parents determine
        it, or there are no more rows than these.
    """
    ordered = sorted(sites, key=lambda site: (_bytes_of(sites[site]), site))
    rows, means, _ = _pool([sites[site] for site in ordered])
    centres = rows @ means / rows.sum()  # far from 0, differences of means would lose digits
    here = {site: _lower(sites[site], centres) for site in ordered}
    equations, spread = fit_smoothed(name, list(here.values()), ess)
    taking_part = {site: own for site, own in here.items() if own.rows.any()}
    shifts: dict[str, float] = {}
    if len(taking_part) > 1:
        found = _shifts(list(taking_part.values()))
        only = np.outer(found, np.arange(len(centres)) == len(centres) - 1)
        moved = [_lower(own, by) for own, by in zip(taking_part.values(), only, strict=True)]
        with suppress(DataError):
            own, narrower = fit_smoothed(name, moved, ess)
            if are_worth_it(len(taking_part), rows, spread, narrower):
                equations = own
                shifts = dict(sorted(zip(taking_part, map(float, found), strict=True)))
    return FittedRegressions(above_centres(equations, centres), shifts)


def above_centres(equations: Regressions, centres: Floats) -> Regressions:
    """The equations of numbers, from those of the numbers less their centres, float64 [k]."""
    moved = centres[-1] - equations.coefficients @ centres[:-1]
    return replace(equations, intercepts=equations.intercepts + moved)


def are_worth_it(sites: int, rows: Ints | Floats, spread: Floats, narrower: Floats) -> bool:
    """Whether constants of so many sites gain more, by BIC, than they cost; and leave more than the
    rounding of what is constant within sites."""
    if (narrower <= _NO_NOISE * spread).any():
        return False
    price = (sites - 1) * math.log(float(rows.sum()))
    return math.fsum((rows * (np.log(spread) - np.log(narrower))).tolist()) > price


def _bytes_of(site: ConditionalSums) -> bytes:
    """By which sites are ordered: their names depend on the engine, and a solver's last bits on the
    order."""
    return site.rows.tobytes() + site.means.tobytes() + site.products.tobytes()


def fit_smoothed(
    name: str, sites: Sequence[ConditionalSums], ess: float
) -> tuple[Regressions, Floats]:
    """One regression per configuration, and the variances of the residuals; float [q]."""
    rows, means, products = _pool(sites)
    q, k = means.shape
    n = float(rows.sum())
    middle, whole = _over_configurations(rows, means, products)
    weights, left = _regression(whole)
    if not left > _NO_NOISE * whole[-1, -1] or n <= k:
        raise DataError(
            f"column {name!r} has no noise: it is constant, or its number parents ({k - 1}) "
            f"determine it in {count_of(int(n), 'row')}"
        )
    prior = ess + k - 1
    coefficients, intercepts = np.empty((q, k - 1)), np.empty(q)
    variances = np.empty(q)
    for c in range(q):
        size, off = rows[c] + prior, means[c] - middle
        if size == 0:
            centre, found, size = middle, whole, n
        else:
            centre = middle + off * (rows[c] / size)
            found = products[c] + whole * (prior / n)
            found = found + np.outer(off, off) * (rows[c] * prior / size)
        weights, left = _regression(found)
        if not left > _NO_NOISE * whole[-1, -1] * size / n:
            raise DataError(
                f"column {name!r} has no noise in {count_of(int(rows[c]), 'row')} of one "
                "configuration of its categories: an equivalent sample size above 0 smooths it"
            )
        coefficients[c], variances[c] = weights, left / size
        intercepts[c] = centre[-1] - centre[:-1] @ weights
    return Regressions(coefficients, intercepts, np.sqrt(variances)), variances


def _pool(sites: Sequence[ConditionalSums]) -> tuple[Floats, Floats, Floats]:
    """Rows float [q], means and sums of products about them, of all sites' rows together."""
    rows = _total([site.rows.astype(np.float64) for site in sites])
    seen = np.maximum(rows, 1.0)
    means = _total([site.rows[:, None] * site.means for site in sites]) / seen[:, None]
    parts = []
    for site in sites:
        off = np.where(site.rows[:, None] > 0, site.means - means, 0.0)
        parts.append(site.products + site.rows[:, None, None] * (off[:, :, None] * off[:, None, :]))
    return rows, means, without_rounding(rows, means, _total(parts))


def _over_configurations(rows: Floats, means: Floats, products: Floats) -> tuple[Floats, Floats]:
    """Means and sums of products of all rows."""
    middle = rows @ means / rows.sum()
    off = means - middle
    whole: Floats = products.sum(axis=0) + (off * rows[:, None]).T @ off
    return middle, without_rounding(rows.sum(), middle, (whole + whole.T) / 2.0)


def _regression(products: Floats) -> tuple[Floats, float]:
    """Least squares of the last column on the others, brought to one scale; and what is left."""
    among, with_node = products[:-1, :-1], products[:-1, -1]
    scale = np.sqrt(np.where(np.diag(among) > 0, np.diag(among), 1.0))
    weights, *_ = np.linalg.lstsq(among / np.outer(scale, scale), with_node / scale, rcond=None)
    weights = weights / scale
    return weights, float(products[-1, -1] - with_node @ weights)


def _shifts(sites: Sequence[ConditionalSums]) -> Floats:
    """What every site's number lies above the common equations, by least squares; 0 in the mean,
    and, where that is not told from the equations, as small as can be.

    Equations and shifts are fitted together. The equations of a configuration are solved for first,
    about its pooled means; what is left is a system of as many unknowns as there are sites.
    """
    rows, means, products = _pool(sites)
    n = np.array([site.rows for site in sites], dtype=np.float64)  # [sites, q]
    system, right = np.diag(n.sum(axis=1)), np.zeros(len(sites))
    for c in np.flatnonzero(rows):
        off: Floats = np.array([site.rows[c] * (site.means[c] - means[c]) for site in sites])
        among = products[c][:-1, :-1]
        scale = np.sqrt(np.where(np.diag(among) > 0, np.diag(among), 1.0))
        scaled: Floats = np.asarray(among / np.outer(scale, scale), dtype=np.float64)
        inverse: Floats = np.asarray(np.linalg.pinv(scaled, hermitian=True), dtype=np.float64)
        inverse /= np.outer(scale, scale)
        system -= np.outer(n[:, c], n[:, c]) / rows[c] + off[:, :-1] @ inverse @ off[:, :-1].T
        right += off[:, -1] - off[:, :-1] @ inverse @ products[c][:-1, -1]
    root = np.sqrt(n.sum(axis=1))
    within, directions = np.linalg.eigh(system / np.outer(root, root))
    told = directions[:, within > NOTHING_WITHIN]
    solved = told @ (told.T @ (right / root) / within[within > NOTHING_WITHIN])
    found = np.asarray(solved / root, dtype=np.float64)
    return found - float(root**2 @ found) / float((root**2).sum())


def _lower(site: ConditionalSums, by: Floats) -> ConditionalSums:
    """The sums with the columns lower by so much, float64 [k]."""
    return replace(site, means=np.where(site.rows[:, None] > 0, site.means - by, 0.0))


def _total(parts: Sequence[Floats]) -> Floats:
    """The sum, cell by cell, in whatever order the parts come: the smallest first."""
    total: Floats = np.sort(np.array(parts), axis=0).sum(axis=0)
    return total
