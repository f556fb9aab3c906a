"""BDeu from counts of families alone, and the choice between shared and own parameters.

Two models of one family over several sites. *Shared*: one conditional table for all of them, whose
marginal likelihood is the BDeu of the summed counts. *Own*: a table for each site, whose marginal
likelihood is the sum of the sites' BDeu. The larger of the two is the family's score, and says
which mechanisms differ between the sites. Both are sums over the sites: of integers, and of the
fixed-point numbers that `own_scores` makes, so neither depends on the order of the sites.

A site's own score of a family is L(family) - L(parents), L being the logarithm of the marginal
likelihood of all columns of a set together, rounded down to whole units. So classes keep their
scores, and the sum over few sites does not give their counts, as finer sums do
(`simulations.benchmarks.own_scores`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Bools, Floats, Ints
from fedbn.errors import DataError
from fedbn.networks.family_counts import FamilyCounts, FamilyTables
from fedbn.setting import equivalent_sample_size

FIXED_POINT = 8
"""A site's own score travels in eighths of a nat."""

_ROUNDING = 1 << 20
"""Before it is rounded down it is rounded to 1 / this of a nat: 0 is 0 by any sum."""

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
    shared: Floats
    own: Floats


def bdeu_of_counts(counts: FamilyCounts, ess: float = 1.0) -> Floats:
    """BDeu of every family, float64 [F]; the same as `make_score` gives on the rows.

    Parameters
    ----------
    counts : of the families.
    ess : equivalent sample size α > 0, at most 1e8.

    Raises
    ------
    ConfigError : ess is not above 0 and at most 1e8.
    """
    of_families, of_parents = _of_sets(counts, ess)
    return of_families - of_parents


def _of_sets(counts: FamilyCounts, ess: float) -> tuple[Floats, Floats]:
    """L of every family, and of its parents, but for a constant that all have: float64 [F] each.
    BDeu is the first less the second."""
    from scipy.special import gammaln

    equivalent_sample_size("ess", ess)
    tables, places = counts.tables, counts.places
    size, arity = np.diff(tables.start), tables.arity
    family = np.searchsorted(tables.start, places, side="right") - 1
    alpha = ess / size[family]
    gains = gammaln(counts.counts + alpha) - gammaln(alpha)
    of_families = np.bincount(family, weights=gains, minlength=size.size)
    configuration = (places - tables.start[family]) // arity[family]
    first = np.flatnonzero(_changes(family) | _changes(configuration))
    rows = np.add.reduceat(counts.counts, first)
    alpha = ess / (size // arity)[family[first]]
    losses = gammaln(rows + alpha) - gammaln(alpha)
    of_parents = np.bincount(family[first], weights=losses, minlength=size.size)
    return of_families.astype(np.float64), of_parents.astype(np.float64)


def own_scores(counts: FamilyCounts, ess: float = 1.0) -> Ints:
    """One site's own BDeu of every family in units of 1 / FIXED_POINT nats, int64 [F].

    Raises
    ------
    DataError : a score is beyond MAX_NATS, so that sums over sites might not be exact.
    """
    from scipy.special import gammaln

    constant = gammaln(counts.rows + ess) - gammaln(ess)
    of_families, of_parents = (each - constant for each in _of_sets(counts, ess))
    if not (np.abs(of_families) < MAX_NATS).all():
        raise DataError(f"the score of a family must be within ±{MAX_NATS} nats")
    return rounded_down(of_families) - rounded_down(of_parents)


def rounded_down(nats: Floats) -> Ints:
    """In units of 1 / FIXED_POINT nats."""
    return np.rint(nats * _ROUNDING).astype(np.int64) // (_ROUNDING // FIXED_POINT)


def family_scores(counts: FamilyCounts, own: Ints, ess: float = 1.0) -> FamilyScores:
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


def _changes(values: Ints) -> Bools:
    """Where a value is another than the one before it; the first is."""
    return np.asarray(np.diff(values, prepend=-1) != 0)
