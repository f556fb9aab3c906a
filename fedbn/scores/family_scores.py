"""BDeu from counts of families alone, and the choice between shared and own parameters.

Two models of one family over several sites. *Shared*: one conditional table for all of them, whose
marginal likelihood is the BDeu of the summed counts. *Own*: a table for each site, whose marginal
likelihood is the sum of the sites' BDeu. The larger of the two is the family's score, and says
which mechanisms differ between the sites. Both are sums over the sites: of integers, and of the
fixed-point numbers that `own_scores` makes, so neither depends on the order of the sites.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbn.errors import DataError
from fedbn.networks.family_counts import FamilyCounts, FamilyTables
from fedbn.setting import equivalent_sample_size

FIXED_POINT = 1 << 20
"""A site's own score travels as the nearest whole number of 2^-20 nats."""

MAX_NATS = 1 << 31
"""Of one site's score of one family: the scores of 2,000 sites then add without overflow."""


@dataclass(frozen=True, eq=False)
class FamilyScores:
    """The scores of families over all sites together.

    Parameters
    ----------
    tables : the families.
    shared : float64 [F], BDeu of the summed counts, nats.
    own : float64 [F], sum of the sites' BDeu, nats.
    """

    tables: FamilyTables
    shared: NDArray[np.float64]
    own: NDArray[np.float64]


def bdeu_of_counts(counts: FamilyCounts, ess: float = 1.0) -> NDArray[np.float64]:
    """BDeu of every family, float64 [F]; the same as `make_score` gives on the rows.

    Parameters
    ----------
    counts : of the families.
    ess : equivalent sample size α > 0, at most 1e8.

    Raises
    ------
    ConfigError : ess is not above 0 and at most 1e8.
    """
    from scipy.special import gammaln

    equivalent_sample_size("ess", ess)
    tables, places = counts.tables, counts.places
    size, arity = np.diff(tables.start), tables.arity
    family = np.searchsorted(tables.start, places, side="right") - 1
    alpha = ess / size[family]
    gains = gammaln(counts.counts + alpha) - gammaln(alpha)
    scores = np.bincount(family, weights=gains, minlength=size.size)
    configuration = (places - tables.start[family]) // arity[family]
    first = np.flatnonzero(_changes(family) | _changes(configuration))
    rows = np.add.reduceat(counts.counts, first)
    alpha = ess / (size // arity)[family[first]]
    losses = gammaln(rows + alpha) - gammaln(alpha)
    return np.asarray(scores - np.bincount(family[first], weights=losses, minlength=size.size))


def own_scores(counts: FamilyCounts, ess: float = 1.0) -> NDArray[np.int64]:
    """One site's own BDeu of every family in units of 1 / FIXED_POINT nats, int64 [F].

    Raises
    ------
    DataError : a score is beyond MAX_NATS, so that sums over sites might not be exact.
    """
    scores = bdeu_of_counts(counts, ess)
    if not (np.abs(scores) < MAX_NATS).all():
        raise DataError(f"the score of a family must be within ±{MAX_NATS} nats")
    return np.rint(scores * FIXED_POINT).astype(np.int64)


def family_scores(counts: FamilyCounts, own: NDArray[np.int64], ess: float = 1.0) -> FamilyScores:
    """Shared and own scores of the families.

    Parameters
    ----------
    counts : the sum of the sites' counts.
    own : int64 [F], the sum of the sites' `own_scores`.
    ess : the equivalent sample size of both.

    Raises
    ------
    DataError : there is not one own score per family.
    """
    if own.shape != (len(counts.tables.families),) or own.dtype != np.int64:
        raise DataError(
            f"own scores must be int64 [{len(counts.tables.families)}], not {own.dtype} "
            f"{list(own.shape)}"
        )
    return FamilyScores(counts.tables, bdeu_of_counts(counts, ess), own / FIXED_POINT)


def _changes(values: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a value is another than the one before it; the first is."""
    return np.asarray(np.diff(values, prepend=-1) != 0)
