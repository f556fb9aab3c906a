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

A site's own score of a family is mixed BIC less what its residual covariance costs
(`fedbn.choice.by_scatters`), in whole units as in the open. Of a family that a site refuses it says
nothing, and hides that it does so: the server learns that some site refuses it.

Where sites have different columns, each block (`fedbn.secure.blocks`) has a piece of every vector
of its own, as in a run of its sites alone, and the others add 0 to it. S are the sites of all
blocks, so what is said above holds of every piece.
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
from fedbn.networks.network import MAX_CELLS
from fedbn.scores.family_scores import FIXED_POINT
from fedbn.scores.mixed import block_widths
from fedbn.scores.scatter import Scatter, scatter_of_table
from fedbn.secure.blocks import AlikeSites, Answering
from fedbn.secure.family_sums import families_within
from fedbn.secure.honest_sums import (
    require_own_mixed_scores,
    require_rows,
    require_scatter,
)
from fedbn.secure.requests import (
    LevelRequest,
    ScatterRequest,
    ScoreRequest,
    SizeRequest,
    SumRequest,
)

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


class OwnScores(NamedTuple):
    """Of families: the sums of the sites' own scores, nats, float64 [F]; -inf where some site
    refuses the family."""

    families: tuple[Family, ...]
    scores: Floats


def own_sums(request: TableSums, table: Dataset, answering: Answering) -> Ints:
    """The vector that a site adds: the pieces of all blocks, its own with what it tells. Where own
    scores are asked for, those of all blocks come before what is refused.

    Parameters
    ----------
    request : one that `guard.allow` let pass.
    table : the columns that the site answers for, as they were agreed on.
    answering : the sites in the sum.

    Raises
    ------
    MessageError : the levels or families are none of this schema's, or a sum does not fit them.
    DataError : a sum of squares, or a score, is beyond what can be told under masks; or the sum
        would be of too many cells.
    """
    require_few_sums(answering)
    scatter, asked = scatter_of_table(table), _asked_of_blocks(request, answering)
    pieces = [np.zeros(_shape(each, block), np.int64) for each, block in asked]
    own = [block.names for _, block in asked].index(table.names)
    try:
        found = _own_piece(asked[own][0], scatter, table.schema, answering.sites)
    except LevelError:
        raise LevelError(sum(piece.size for piece in pieces)) from None
    pieces[own] = found.reshape(pieces[own].shape)
    return np.concatenate(pieces, axis=1).ravel()


def _own_piece(request: TableSums, scatter: Scatter, schema: Schema, sites: int) -> Ints:
    """What a site tells of its columns."""
    if isinstance(request, SizeRequest):
        return levels_above(np.diag(scatter.products))
    if isinstance(request, ScatterRequest):
        return fixed_scatter(scatter, request.levels, sites)
    if not request.families:
        return np.zeros(0, np.int64)
    return fixed_scores(scatter, schema, request.families, sites)


def require_few_sums(answering: Answering) -> None:
    """Raise DataError where a sum would be of too many cells."""
    widths = [_width(answering.part(block.columns)) for block in answering.blocks]
    cells = max(sum(1 + m * (m + 1) // 2 for m in widths), LEVELS * sum(widths))
    if cells > MAX_CELLS:
        raise DataError(
            f"sums of products may be of at most {MAX_CELLS} cells, not {cells}, over all blocks "
            "of sites with the same columns"
        )


def levels_in(answering: Answering) -> int:
    """How many levels there are: one of every column of every block."""
    return sum(_width(answering.part(block.columns)) for block in answering.blocks)


def _width(schema: Schema) -> int:
    return sum(block_widths(schema))


def _asked_of_blocks(
    request: TableSums, answering: Answering
) -> tuple[tuple[TableSums, Schema], ...]:
    """What a run of the sites of each block alone would be asked, and their columns; raises
    MessageError where the levels are not one of every column, or the families are none of the
    schema's."""
    schemas = [answering.part(block.columns) for block in answering.blocks]
    if isinstance(request, SizeRequest):
        return tuple((request, schema) for schema in schemas)
    if isinstance(request, ScoreRequest):
        try:
            require_families(request.families, answering.schema.n)
        except StructureError as error:
            raise MessageError(f"server: {error}") from None
        pairs = zip(answering.blocks, schemas, strict=True)
        return tuple((_scores_in(request.families, block), schema) for block, schema in pairs)
    ends = np.cumsum([_width(schema) for schema in schemas])
    if len(request.levels) != ends[-1]:
        raise MessageError(
            f"server: there must be a level of {ends[-1]} columns, not of {len(request.levels)}"
        )
    return tuple(
        (ScatterRequest(request.levels[end - _width(schema) : end]), schema)
        for schema, end in zip(schemas, ends.tolist(), strict=True)
    )


def _scores_in(families: tuple[Family, ...], block: AlikeSites) -> ScoreRequest:
    """Of the families those that a block has all columns of, by their places among these."""
    place = {column: k for k, column in enumerate(block.columns)}
    own = families_within(families, block.columns)
    return ScoreRequest(
        tuple(Family(place[node], tuple(place[p] for p in parents)) for node, parents in own)
    )


def _shape(request: TableSums, schema: Schema) -> tuple[int, int]:
    """Of a block's piece of the vector: own scores have a second row for what is refused."""
    if isinstance(request, ScoreRequest):
        return 2, len(request.families)
    size = _width(schema)
    return 1, size * LEVELS if isinstance(request, SizeRequest) else 1 + size * (size + 1) // 2


def _pieces_of(sums: Ints, asked: Sequence[tuple[TableSums, Schema]]) -> tuple[Ints, ...]:
    """The pieces of all blocks; raises MessageError where the sums are of another length."""
    shapes = [_shape(*each) for each in asked]
    require_length(sums, sum(rows * columns for rows, columns in shapes))
    ends = np.cumsum([columns for _, columns in shapes])
    return tuple(np.split(sums.reshape(shapes[0][0], -1), ends[:-1], axis=1))


def levels_above(own: Floats) -> Ints:
    """For every column's sum of squares and each of its levels but the highest: 1 where it is above
    the level, else 0; int64 [M * LEVELS].

    Raises DataError where a sum of squares is above the highest level, or above 0 and not above the
    lowest.
    """
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


def level_of(squares: float) -> int:
    """The level of a column whose sum of squares is at most so large; DataError where none is."""
    if squares > _largest_of(LEVELS):
        raise DataError(f"a sum of squares of {squares:.3g} is too large for a masked sum")
    return next(k for k in range(LEVELS + 1) if squares <= (_largest_of(k) if k else 0.0))


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
    [1 + P]; raises as `fixed_products`, and LevelError for the whole."""
    try:
        return np.append(scatter.rows, fixed_products(scatter.products, levels, sites))
    except LevelError as error:
        raise LevelError(1 + error.length) from None


def fixed_products(products: Floats, levels: Sequence[int], sites: int) -> Ints:
    """The upper triangles of sums of products, float64 [..., M, M], row by row, in their units;
    int64 [... P].

    Raises
    ------
    MessageError : there is not one level for every column.
    LevelError : a sum of squares is above its level.
    """
    own = np.diagonal(products, axis1=-2, axis2=-1)
    size = own.shape[-1]
    if len(levels) != size or max(levels, default=0) > LEVELS:
        raise MessageError(
            f"server: {size} columns have a level of at most {LEVELS} each, not {len(levels)} "
            f"up to {max(levels, default=0)}"
        )
    most = np.array([_largest_of(level) if level else 0.0 for level in levels])
    row, column = np.triu_indices(size)
    upper = products[..., row, column]
    if not (own <= most).all():
        raise LevelError(upper.size)
    whole: Ints = np.rint(np.ldexp(upper, _shifts(levels, sites))).astype(np.int64).ravel()
    return whole


def scatter_of_fixed(sums: Ints, levels: Sequence[int], sites: int) -> Scatter:
    """The sums over all sites as they are, from the whole numbers."""
    return Scatter(int(sums[0]), products_of_fixed(sums[1:], levels, sites))


def products_of_fixed(sums: Ints, levels: Sequence[int], sites: int) -> Floats:
    """The same of whole numbers, int64 [..., P], of `fixed_products`."""
    size = len(levels)
    row, column = np.triu_indices(size)
    products = np.zeros((*sums.shape[:-1], size, size))
    products[..., row, column] = np.ldexp(sums.astype(np.float64), -_shifts(levels, sites))
    products[..., column, row] = products[..., row, column]
    return products


def largest_error(scatter: Scatter, levels: Sequence[int], sites: int) -> Floats:
    """How far every sum of products may be from the sum of what the sites have, [M, M].

    scatter : as `scatter_of_fixed` gives it.
    """
    off = fixed_error(levels, sites)
    return np.asarray(np.outer(off, off) + np.ldexp(np.abs(scatter.products), -53))


def fixed_error(levels: Sequence[int], sites: int) -> Floats:
    """Of every column the square root of what fixed point may take of its sum of squares, float64
    [M]; of a sum of products it takes at most the product of both."""
    shifts = np.float64(_bits(sites) + 1) / 2 - 2.0 * (np.array(levels, dtype=float) - _LOWEST)
    return np.asarray(math.sqrt(sites) * np.exp2(-shifts) * (1.0 + 2.0**-50))


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
    request: SizeRequest | LevelRequest, columns: int
) -> Generator[SumRequest, Ints, tuple[int, ...]]:
    """Ask all sites for the levels of their columns: one round; MessageError where the sums are not
    of the length of the question."""
    sizes = yield request
    require_length(sizes, columns * LEVELS)
    return _levels_of(sizes, columns)


def sum_scatters(
    levels: tuple[int, ...], answering: Answering
) -> Generator[SumRequest, Ints, tuple[Scatter, ...]]:
    """Ask all sites for the sums of products of all columns, of these levels: one round; the sums
    of every block.

    Raises
    ------
    MessageError : the sums are not of the length of the question, or are those of no table.
    """
    request = ScatterRequest(levels)
    sums, found = (yield request), []
    asked = _asked_of_blocks(request, answering)
    for (own, schema), block, piece in zip(
        asked, answering.blocks, _pieces_of(sums, asked), strict=True
    ):
        assert isinstance(own, ScatterRequest)
        require_rows(int(piece[0, 0]), block.sites)
        found.append(scatter_of_fixed(piece[0], own.levels, answering.sites))
        require_scatter(found[-1], schema)
    return tuple(found)


def sum_own_scores(
    families: tuple[Family, ...], rows: Sequence[int], answering: Answering
) -> Generator[SumRequest, Ints, tuple[OwnScores, ...]]:
    """Ask all sites for their own scores of these families, sorted: one round; of every block those
    that it has all columns of.

    rows : of every block.

    Raises
    ------
    MessageError : the sums are not of the length of the question.
    DataError : no sites with so many rows can have these scores.
    """
    request = ScoreRequest(families)
    sums, found = (yield request), []
    pieces = _pieces_of(sums, _asked_of_blocks(request, answering))
    for block, piece, of_block in zip(answering.blocks, pieces, rows, strict=True):
        here = families_within(families, block.columns)
        own, refused = piece[0] / FIXED_POINT, piece[1] != 0
        require_own_mixed_scores(own, here, answering.schema, of_block, block.sites)
        found.append(OwnScores(here, np.where(refused, -np.inf, own)))
    return tuple(found)


def require_length(sums: Ints, length: int) -> None:
    if sums.shape != (length,):
        raise MessageError(f"the sums must be {length} int64, not {sums.dtype} {sums.shape}")
