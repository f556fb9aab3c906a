"""Sums of products over the sites, and the sites' own scores, as whole numbers under masks.

A sum of products is no whole number, and how large it is depends on the unit of a column. So the
sites first agree on a level for every column: level l ≥ 1 is for sums of squares of at most
16^(l - 128), level 0 for columns that are constant at every site. Each site says, for every column
and level, whether its own sum of squares is above; under a mask the server sees whether that is so
at some site (`masks.hide`), so it learns of the largest site's sum of squares the power of 16, and
not which site that is. Then with S sites and b = 61 - ceil(log2 S) a sum of products of columns of
the levels k and l travels as the nearest whole number of

    unit = 2^(2 (k - 128) + 2 (l - 128) - b)

By Cauchy and Schwarz no site's whole number is beyond 2^b, so no sum is beyond 2^61. A site whose
sum of squares is above the level that it is told answers with noise: no honest server asks so, and
a refusal would say how large the sum of this one site is (`LevelError`). The sum over the sites, as
a float, is less than

    S / 2 units + 2^-53 of itself

from the sum of what the sites have. A column's level is above a sixteenth of its
largest site's sum of squares; so what is rounded away of the total is less than S / 2 · 2^(4 - b)
= S · 2^(3 - b) of the geometric mean of the largest sites' two sums of squares: for ten sites
10 · 2^-54, or 6e-16.

Parameters of numbers need the pooled means and sums of products about these, too. For them the
sites add their sums about 0, with a column of ones (`scatter_from_zero`), in the same way; the
server takes the pooled means off (`PooledSums`). What rounding takes is a share of the sum of
squares about 0; where that is more than `PRECISION` of the sum of squares about the mean, because a
column lies far from 0, there are no parameters.

A site's own score of a family is mixed BIC less what its residual covariance costs
(`fedbn.choice.by_scatters`), in whole units as in the open. Of a family that a site refuses it says
nothing, and hides that it does so: the server learns that some site refuses it.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Floats, Ints, Ints32
from fedbn.choice.by_scatters import scatter_scores
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import DataError, MessageError, StructureError
from fedbn.networks.family_counts import Family, require_families
from fedbn.scores.family_scores import FIXED_POINT
from fedbn.scores.mixed import block_widths
from fedbn.scores.possible_sums import ROUNDING
from fedbn.scores.scatter import Scatter, scatter_from_zero, scatter_of_table
from fedbn.secure.honest_sums import (
    WRONG_SUMS,
    require_own_mixed_scores,
    require_products,
    require_rows,
    require_scatter,
)
from fedbn.secure.requests import ScatterRequest, ScoreRequest, SizeRequest, SumRequest

LEVELS = 256
"""Of a column; the lowest is for sums of squares of at most 16^-127, the highest of 16^128."""

_LOWEST = LEVELS // 2
"""16 to the level less so much is the largest sum of squares of a level."""


class LevelError(MessageError):
    """A column's sum of squares is above its level; `length` is that of the answer there is not."""

    def __init__(self, length: int) -> None:
        super().__init__("server: a column's sum of squares is above its level")
        self.length = length


TableSums = SizeRequest | ScatterRequest | ScoreRequest


PRECISION = 1e-8
"""What rounding may take of a column's sum of squares: its mean may be some 2,000 standard
deviations from 0 where there are up to 30 sites, and 100 where one of 300 sites is a large one."""


class PooledSums(NamedTuple):
    """Of all sites' rows together: how many there are, the means of the columns, float64 [n], their
    sums of products about these, float64 [n, n], and what the sums of squares may be off by,
    float64 [n]."""

    rows: int
    means: Floats
    products: Floats
    error: Floats


class OwnScores(NamedTuple):
    """Of families: the sums of the sites' own scores, nats, float64 [F]; -inf where some site
    refuses the family."""

    families: tuple[Family, ...]
    scores: Floats


def own_sums(request: TableSums, table: Dataset, sites: int) -> Ints:
    """The vector that a site adds.

    Parameters
    ----------
    request : one that `guard.allow` let pass.
    table : the site's own, under the agreed schema.
    sites : how many there are in the sum.

    Raises
    ------
    MessageError : the levels or families are none of this schema's, or a sum does not fit them.
    DataError : a sum of squares, or a score, is beyond what can be told under masks.
    """
    if not isinstance(request, ScoreRequest) and request.from_zero:
        if table.kind != "gaussian":
            raise MessageError("server: there are sums about 0 of numbers alone")
        scatter = scatter_from_zero(table)
    else:
        scatter = scatter_of_table(table)
    if isinstance(request, SizeRequest):
        return levels_above(scatter)
    if isinstance(request, ScatterRequest):
        return fixed_scatter(scatter, request.levels, sites)
    return fixed_scores(scatter, table.schema, request.families, sites)


def levels_above(scatter: Scatter) -> Ints:
    """For every column and each of its levels but the highest: 1 where the sum of squares is above
    the level, else 0; int64 [M * LEVELS].

    Raises DataError where a sum of squares is above the highest level, or above 0 and not above the
    lowest.
    """
    own = np.diag(scatter.products)
    most, least = _largest_of(LEVELS), _largest_of(0)
    if not ((own == 0) | ((own > least) & (own <= most))).all():
        raise DataError(
            "under masks a column's sum of squares must be 0 or lie between "
            f"{least:.3g} and {most:.3g}: take another unit"
        )
    levels = np.array([_largest_of(level) for level in range(LEVELS)])
    above: Ints = (own[:, None] > levels).astype(np.int64).ravel()
    return above


def _levels_of(sums: Ints, columns: int) -> tuple[int, ...]:
    """The levels that no site is above, from the hidden answers of all."""
    above = sums.reshape(columns, LEVELS) != 0
    return tuple(int(np.flatnonzero(own)[-1]) + 1 if own.any() else 0 for own in above)


def _largest_of(level: int) -> float:
    return math.ldexp(1.0, 4 * (level - _LOWEST))


def _bits(sites: int) -> int:
    """No site's whole number is beyond 2 to this."""
    return 61 - (sites - 1).bit_length()


def _shifts(levels: Sequence[int], sites: int) -> Ints32:
    """Of every pair of columns, upper triangle row by row, -log2 of its unit: int32 [P]."""
    half = 2 * (np.array(levels, dtype=np.int32) - np.int32(_LOWEST))
    row, column = np.triu_indices(len(levels))
    found: Ints32 = np.int32(_bits(sites)) - half[row] - half[column]
    return found


def fixed_scatter(scatter: Scatter, levels: Sequence[int], sites: int) -> Ints:
    """The rows, and the upper triangle of the sums of products, row by row, in their units; int64
    [1 + P].

    Raises
    ------
    MessageError : there is not one level for every column.
    LevelError : a sum of squares is above its level.
    """
    own = np.diag(scatter.products)
    if len(levels) != len(own) or max(levels, default=0) > LEVELS:
        raise MessageError(
            f"server: {len(own)} columns have a level of at most {LEVELS} each, not {len(levels)} "
            f"up to {max(levels, default=0)}"
        )
    most = np.array([_largest_of(level) if level else 0.0 for level in levels])
    products = scatter.products[np.triu_indices(len(own))]
    if (own > most).any():
        raise LevelError(1 + len(products))
    whole = np.rint(np.ldexp(products, _shifts(levels, sites))).astype(np.int64)
    return np.concatenate([[scatter.rows], whole])


def scatter_of_fixed(sums: Ints, levels: Sequence[int], sites: int) -> Scatter:
    """The sums over all sites as they are, from the whole numbers."""
    upper = np.triu_indices(len(levels))
    products = np.zeros((len(levels), len(levels)))
    products[upper] = np.ldexp(sums[1:].astype(np.float64), -_shifts(levels, sites))
    products = np.triu(products) + np.triu(products, 1).T
    return Scatter(int(sums[0]), products)


def largest_error(scatter: Scatter, levels: Sequence[int], sites: int) -> Floats:
    """How far every sum of products may be from the sum of what the sites have, [M, M].

    scatter : as `scatter_of_fixed` gives it.
    """
    upper = np.triu_indices(len(levels))
    found = np.zeros_like(scatter.products)
    found[upper] = sites / 2 * np.ldexp(1.0, -_shifts(levels, sites))
    found = np.triu(found) + np.triu(found, 1).T
    return np.asarray(found + np.ldexp(np.abs(scatter.products), -53))


def fixed_scores(
    scatter: Scatter, schema: Schema, families: tuple[Family, ...], sites: int
) -> Ints:
    """A site's own scores in units of 1 / FIXED_POINT nats, then 1 for every family that it
    refuses, else 0; int64 [2 F].

    Raises
    ------
    MessageError : the families are none of the schema's, or not sorted.
    DataError : the sum over so many sites might be too large.
    """
    try:
        require_families(families, schema.n)
    except StructureError as error:
        raise MessageError(f"server: {error}") from None
    scores = scatter_scores(schema, [scatter])
    own = np.array([scores.own_score(family) for family in families])
    known = np.isfinite(own)
    whole = np.rint(np.where(known, own, 0.0) * FIXED_POINT)
    if (np.abs(whole) > 2.0 ** _bits(sites)).any():
        raise DataError("a score is too large for a masked sum")
    return np.concatenate([whole.astype(np.int64), (~known).astype(np.int64)])


def sum_levels(
    schema: Schema, *, from_zero: bool = False
) -> Generator[SumRequest, Ints, tuple[int, ...]]:
    """Ask all sites for the levels of all columns: one round; MessageError where the sums are not
    of the length of the question."""
    columns = sum(block_widths(schema)) + from_zero
    sizes = yield SizeRequest(from_zero)
    _require_length(sizes, columns * LEVELS)
    return _levels_of(sizes, columns)


def sum_scatters(
    schema: Schema, levels: tuple[int, ...], sites: int
) -> Generator[SumRequest, Ints, Scatter]:
    """Ask all sites for the sums of products of all columns, of these levels: one round.

    Raises
    ------
    MessageError : the sums are not of the length of the question, or are those of no table.
    """
    columns = len(levels)
    sums = yield ScatterRequest(levels)
    _require_length(sums, 1 + columns * (columns + 1) // 2)
    require_rows(int(sums[0]), sites)
    found = scatter_of_fixed(sums, levels, sites)
    require_scatter(found, schema)
    return found


def sum_from_zero(
    schema: Schema, levels: tuple[int, ...], sites: int, within: Scatter
) -> Generator[SumRequest, Ints, PooledSums]:
    """Ask all sites, which have numbers alone, for the sums of products about 0 of their columns
    and of ones, of these levels: one round.

    within : the sums of products about the sites' own means.

    Raises
    ------
    MessageError : the sums are not of the length of the question, or are none of a table with
        `within`.
    DataError : a column lies too far from 0 (`PRECISION`).
    """
    size = len(levels)
    sums = yield ScatterRequest(levels, from_zero=True)
    _require_length(sums, 1 + size * (size + 1) // 2)
    found = scatter_of_fixed(sums, levels, sites) if sums[0] >= 1 else None
    if found is None or not found.rows == within.rows == found.products[-1, -1]:
        told = f"{int(sums[0])}" + (f" and {found.products[-1, -1]:.6g}" if found else "")
        raise MessageError(
            f"the rows, and the sum of ones, must be {within.rows}, as before, not {told}: "
            f"{WRONG_SUMS}"
        )
    require_products(found.products, ROUNDING * size)
    return _about_the_means(found, largest_error(found, levels, sites), schema, within)


def _about_the_means(total: Scatter, error: Floats, schema: Schema, within: Scatter) -> PooledSums:
    """The sums less what the pooled means have in them."""
    means = total.products[-1, :-1] / total.rows
    squares = np.diag(total.products)[:-1]
    off = np.diag(error)[:-1] + 2.0 * np.abs(means) * error[-1, :-1] + 2.0**-50 * squares
    products = total.products[:-1, :-1] - total.rows * np.outer(means, means)
    own, inside = np.diag(products), np.diag(within.products)
    if (own < inside * (1.0 - PRECISION) - off).any():
        name = schema.names[int(np.flatnonzero(own < inside * (1.0 - PRECISION) - off)[0])]
        raise MessageError(
            f"the sums of squares of {name!r} are smaller together than within sites: {WRONG_SUMS}"
        )
    constant = (inside == 0.0) & (own <= off)
    far = np.flatnonzero((off > PRECISION * np.maximum(inside, own)) & ~constant)
    if far.size:
        first = int(far[0])
        raise DataError(
            f"column {schema.names[first]!r} lies too far from 0 for parameters under masks: its "
            f"mean is {means[first]:.6g}, its standard deviation "
            f"{math.sqrt(max(own[first], 0.0) / total.rows):.3g}; take the same number off at all "
            "sites"
        )
    products[constant] = products[:, constant] = 0.0
    return PooledSums(total.rows, means, products, off)


def sum_own_scores(
    schema: Schema, families: tuple[Family, ...], rows: int, sites: int
) -> Generator[SumRequest, Ints, OwnScores]:
    """Ask all sites for their own scores of these families, sorted: one round.

    Raises
    ------
    MessageError : the sums are not of the length of the question.
    DataError : no sites with so many rows can have these scores.
    """
    sums = yield ScoreRequest(families)
    _require_length(sums, 2 * len(families))
    own, refused = sums[: len(families)] / FIXED_POINT, sums[len(families) :] != 0
    require_own_mixed_scores(own, families, schema, rows, sites)
    return OwnScores(families, np.where(refused, -np.inf, own))


def _require_length(sums: Ints, length: int) -> None:
    if sums.shape != (length,):
        raise MessageError(f"the sums must be {length} int64, not {sums.dtype} {sums.shape}")
