"""What tables and equations need of a DAG's families, as sums over the sites under masks.

Counts of categories are whole numbers. Numbers take three questions, after their levels about 0
(`fedbn.secure.scatter_sums`), all of them in fixed point:

    place      rows, and of every number the sum and the sum of squares. Their mean is its centre.
    equations  by configuration of the categories, the sums of products of ones, number parents and
               number, less their centres; and over all configurations, of the sites' sums of these,
               divided by their rows (`fedbn.networks.summed_regressions`)
    residuals  by configuration, the sum of squares of what an equation leaves that has a constant
               of the site's own

The levels of the last two are those of sums over all sites, which bound every site's part. So a sum
of products is off by less than S · 2^(ceil(log2 S) - 57) of the geometric mean of the two columns'
sums of squares about the centres, and by what floating point takes of these (`SummedFamily.off`).

Where sites have different columns, a number's place is summed over the blocks
(`fedbn.secure.blocks`) that answer for it, and a family over those that answer for all of its
columns; the other sites add 0. S are the sites of all blocks.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import DataError, MessageError, NetworkError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.networks.conditional_gaussian import NumberFamily
from fedbn.networks.conditional_sums import conditional_sums
from fedbn.networks.family_counts import FamilyCounts, families_of, require_families
from fedbn.networks.mixed_sums import MixedFamilies, category_tables
from fedbn.networks.moments import RESOLUTION
from fedbn.networks.network import MAX_CELLS, configurations
from fedbn.networks.summed_regressions import SummedFamily, squares_left
from fedbn.scores.possible_sums import ROUNDING
from fedbn.scores.scatter import Scatter
from fedbn.secure.blocks import AlikeSites, Answering
from fedbn.secure.honest_sums import (
    WRONG_SUMS,
    require_one_table,
    require_products,
    require_rows,
)
from fedbn.secure.requests import (
    EquationRequest,
    LevelRequest,
    PlaceRequest,
    ResidualRequest,
    SumRequest,
)
from fedbn.secure.scatter_sums import (
    LevelError,
    fixed_error,
    fixed_products,
    fixed_scatter,
    largest_error,
    level_of,
    levels_above,
    products_of_fixed,
    require_length,
    scatter_of_fixed,
)

_FLOATING = 2.0**-48
"""What floating point takes of a sum of squares, at most."""

_FARTHEST = 1e90
"""Of a centre from 0, so that no product is infinite: no sites' mean is so far by their levels."""

_OF_A_PLACE = 4
"""Rows; sum of squares, sum and rows again, in fixed point."""

_A_LITTLE_MORE = 1.01
"""Of what sums tell, so that no honest site is above."""


Blocks = tuple[AlikeSites, ...]


class Place(NamedTuple):
    """Where the numbers of all rows lie: how many rows the blocks together have that answer for one
    of them; of every number the mean, and what its sum of squares about that is at most, float64
    [m]."""

    rows: Mapping[Blocks, int]
    centres: Floats
    most: Floats


class SummedFamilies(NamedTuple):
    """Category -> its counts, int64 [q, r]; and number -> its family's sums."""

    tables: Mapping[int, Ints]
    numbers: Mapping[int, SummedFamily]


class Part(NamedTuple):
    """Families, and the blocks that answer for all their columns."""

    wanted: MixedFamilies
    blocks: Blocks


def parts_of(wanted: MixedFamilies, answering: Answering) -> tuple[Part, ...]:
    """What a sum is made of, in the order of its vector. A family of which no block has all columns
    is in no part."""
    together: dict[Blocks, list[int]] = {}
    for node, parents in wanted.families:
        together.setdefault(answering.having((node, *parents)), []).append(node)
    return tuple(
        Part(replace(wanted, some=tuple(nodes)), blocks)
        for blocks, nodes in together.items()
        if blocks
    )


def part_of_columns(wanted: MixedFamilies, columns: Sequence[int]) -> MixedFamilies:
    """The families that lie in some columns, over the schema of these."""
    place = {column: k for k, column in enumerate(columns)}
    names = [wanted.schema.names[v] for v in columns]
    some = tuple(
        place[node] for node, parents in wanted.families if {node, *parents} <= place.keys()
    )
    return MixedFamilies(wanted.dag.restrict(names), wanted.schema.restrict(names), some)


# --- The site --------------------------------------------------------------------------------


def wanted_families(request: EquationRequest, schema: Schema) -> MixedFamilies:
    """What is asked for; raises MessageError where these are no families of a DAG in which no
    category has a number as parent, or have too many cells."""
    try:
        require_families(request.families, schema.n)
        if [family.node for family in request.families] != list(range(schema.n)):
            raise StructureError("there must be one family of every column")
        adjacency = np.zeros((schema.n, schema.n), dtype=np.bool_)
        for node, parents in request.families:
            adjacency[list(parents), node] = True
        wanted = MixedFamilies(DAG(schema.names, adjacency), schema)
        require_few_cells(wanted)
    except (StructureError, NetworkError, DataError) as error:
        raise MessageError(f"server: {error}") from None
    numbers = len(schema.numbers)
    if (len(request.centres), len(request.levels)) != (numbers, numbers + 1):
        raise MessageError(f"server: there must be centres of {numbers} numbers, and their levels")
    if max(map(abs, request.centres), default=0.0) > _FARTHEST:
        raise MessageError(f"server: a centre must be at most {_FARTHEST:.3g}")
    return wanted


def require_few_cells(wanted: MixedFamilies) -> None:
    """Raise DataError where a sum would be of too many cells."""
    cells = sum(map(sum, _sizes(wanted)))
    if cells > MAX_CELLS:
        raise DataError(
            f"a sum may be of at most {MAX_CELLS} cells, not {cells}: under masks a number may not "
            "have so many configurations of its categories (max-parents)"
        )


def _sizes(wanted: MixedFamilies) -> Iterator[tuple[int, int, int]]:
    """How many counts, sums by configuration and sums over the sites there are of every number's
    family; first those of all categories."""
    tables = wanted.counted
    yield 1 + (0 if tables is None else int(tables.start[-1])), 0, 0
    for family in wanted.numbers.values():
        q, k = configurations(family.sizes), len(family.columns)
        size = q * k + 1
        yield 0, q * (k + 1) * (k + 2) // 2, size * (size + 1) // 2


def own_place(
    request: LevelRequest | PlaceRequest, table: Dataset | None, answering: Answering
) -> Ints:
    """The vector that a site adds where it is asked how its numbers lie.

    table : of the numbers that it answers for, those alone; None where there are none.

    Raises as `scatter_sums.own_sums`.
    """
    numbers, rows = answering.schema.numbers, 0 if table is None else table.n_rows
    own = [] if table is None else [numbers.index(name) for name in table.names]
    means, squares = np.zeros((2, len(numbers)))
    if table is not None:
        means[own] = table.values.mean(axis=0)
        squares[own] = ((table.values - means[own]) ** 2).sum(axis=0) + rows * means[own] ** 2
    if isinstance(request, LevelRequest):
        return levels_above(np.append(squares, rows))
    if len(request.levels) != len(numbers) + 1:
        raise MessageError(f"server: there must be levels of {len(numbers)} numbers, and of ones")
    parts = np.zeros((len(numbers), _OF_A_PLACE), np.int64)
    try:
        for k in own:
            products = np.array([[squares[k], rows * means[k]], [rows * means[k], rows]])
            levels = (request.levels[k], request.levels[-1])
            parts[k] = fixed_scatter(Scatter(rows, products), levels, answering.sites)
    except LevelError:
        raise LevelError(parts.size) from None
    return parts.ravel()


def own_equations(
    request: EquationRequest, table: Dataset, wanted: MixedFamilies, answering: Answering
) -> Ints:
    """The vector that a site adds for the families that are wanted.

    table : the columns that the site answers for, as they were agreed on.

    Raises as `scatter_sums.own_sums`.
    """
    scale, parts = _Scale.of(request, wanted.schema), parts_of(wanted, answering)
    sizes = [sum(map(sum, _sizes(part.wanted))) for part in parts]
    found = [np.empty(0, np.int64)]
    try:
        for part, size in zip(parts, sizes, strict=True):
            own = _own_families(part, table)
            found += (
                [np.zeros(size, np.int64)]
                if own is None
                else _own_sums(own, table, scale, answering.sites)
            )
    except LevelError:
        raise LevelError(sum(sizes)) from None
    return np.concatenate(found)


def _own_families(part: Part, table: Dataset) -> MixedFamilies | None:
    """The families of a part over the columns of a table; None where its site has no part in it."""
    schema = part.wanted.schema
    columns = tuple(map(schema.index, table.names))
    here = any(block.columns == columns for block in part.blocks)
    return part_of_columns(part.wanted, columns) if here else None


def _own_sums(own: MixedFamilies, table: Dataset, scale: _Scale, sites: int) -> list[Ints]:
    """A site's share of a part of the vector, in pieces."""
    counts = category_tables(table, own)
    found = [np.array([table.n_rows])]
    if counts is not None:
        found.append(counts.cells)
    for family in own.numbers.values():
        names = [table.names[column] for column in family.columns]
        products = _own_products(table, family, scale.centres_of(names))
        for whole, levels in zip(products, scale.levels_of(names, family), strict=True):
            found.append(fixed_products(whole, levels, sites))
    return found


def _own_products(table: Dataset, family: NumberFamily, centres: Floats) -> tuple[Floats, Floats]:
    """The site's part of T and of B."""
    own = conditional_sums(table, family, centres)
    ones = np.column_stack([np.ones(len(own.rows)), own.means])
    sums = own.rows[:, None].astype(np.float64) * ones
    total = sums[:, :, None] * ones[:, None, :]
    total[:, 1:, 1:] += own.products
    flat = np.append(sums[:, :-1].ravel(), sums[:, -1].sum())
    return total, np.outer(flat, flat) / table.n_rows


class _Scale(NamedTuple):
    """Name of a number -> its centre and its level; and the level of ones."""

    centres: Mapping[str, float]
    levels: Mapping[str, int]
    ones: int

    @classmethod
    def of(cls, request: EquationRequest, schema: Schema) -> _Scale:
        numbers, levels = schema.numbers, request.levels
        centres = dict(zip(numbers, request.centres, strict=True))
        return cls(centres, dict(zip(numbers, levels[:-1], strict=True)), levels[-1])

    def centres_of(self, names: Sequence[str]) -> Floats:
        """Of the columns of a family."""
        return np.array([self.centres[name] for name in names])

    def levels_of(
        self, names: Sequence[str], family: NumberFamily
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Of the columns of T and of B."""
        own = (self.ones, *(self.levels[name] for name in names))
        return own, (*own[:-1] * configurations(family.sizes), own[-1])


def own_residuals(
    request: ResidualRequest, table: Dataset, wanted: MixedFamilies, answering: Answering
) -> Ints:
    """The vector that a site adds for what equations leave, as `own_equations`."""
    scale = _Scale.of(request.of, wanted.schema)
    asked = [
        (own is not None, family)
        for part in parts_of(wanted, answering)
        for own in [_own_families(part, table)]
        for family in (own or part.wanted).numbers.values()
    ]
    if not len(request.weights) == len(request.levels) == len(asked):
        raise MessageError(f"server: there must be equations of {len(asked)} numbers")
    found, above = [np.empty(0, np.int64)], False
    for (here, family), given, level in zip(asked, request.weights, request.levels, strict=True):
        q, k = configurations(family.sizes), len(family.columns)
        if len(given) != q * k:
            raise MessageError(f"server: an equation has {len(given)} weights, not {q * k}")
        found.append(np.zeros(q, np.int64))
        if not here:
            continue
        centres = scale.centres_of([table.names[column] for column in family.columns])
        squares = _residual_squares(table, family, centres, np.reshape(given, (q, k)))
        try:
            found[-1] = fixed_products(squares[:, None, None], (level,), answering.sites)
        except LevelError:
            above = True
    if above:
        raise LevelError(sum(piece.size for piece in found))
    return np.concatenate(found)


def _residual_squares(
    table: Dataset, family: NumberFamily, centres: Floats, weights: Floats
) -> Floats:
    """By configuration the sum of squares that an equation leaves with a constant of the site: by
    what the equation is off in the mean of its rows."""
    values = np.column_stack([table.column(i) for i in family.columns]) - centres
    place = family.configuration(table)
    with np.errstate(over="ignore", invalid="ignore"):  # weights may be anything
        left = values[:, -1] - weights[place, 0]
        left -= (weights[place, 1:] * values[:, :-1]).sum(axis=1)
        squares = np.bincount(place, (left - left.mean()) ** 2, len(weights))
    return squares.astype(np.float64)


# --- The server ------------------------------------------------------------------------------


def sum_place(levels: tuple[int, ...], answering: Answering) -> Generator[SumRequest, Ints, Place]:
    """Ask all sites how their numbers lie: one round.

    levels : of the numbers about 0, and of ones.

    Raises MessageError where the sums are not of the length of the question, or are none of a
    table.
    """
    sums, schema = (yield PlaceRequest(levels)), answering.schema
    numbers = len(schema.numbers)
    require_length(sums, _OF_A_PLACE * numbers)
    rows: dict[Blocks, int] = {}
    centres, most = np.zeros((2, numbers))
    for k, (name, own) in enumerate(
        zip(schema.numbers, sums.reshape(numbers, _OF_A_PLACE), strict=True)
    ):
        here = answering.having((schema.index(name),))
        if not here:
            continue
        require_rows(int(own[0]), sum(block.sites for block in here))
        scale = (levels[k], levels[-1])
        found = scatter_of_fixed(own, scale, answering.sites)
        _require_rows_again(rows.setdefault(here, int(own[0])), own[0], found.products[1, 1])
        require_products(found.products, ROUNDING)
        error = largest_error(found, scale, answering.sites)
        square, mean = found.products[0, 0], found.products[0, 1] / found.rows
        off = error[0, 0] + 2.0 * abs(mean) * error[0, 1] + _FLOATING * square
        centres[k], most[k] = mean, max(square - found.rows * mean**2, 0.0) + off
    return Place(rows, centres, most)


def _require_rows_again(rows: int, *told: float) -> None:
    for other in told:
        if other != rows:
            raise MessageError(f"the rows are {rows} and {other:.12g}: {WRONG_SUMS}")


def request_of(wanted: MixedFamilies, place: Place) -> EquationRequest:
    """What is asked of the families; raises DataError where that would be too much."""
    require_few_cells(wanted)
    rows = max(place.rows.values(), default=0)
    levels = (*(level_of(_A_LITTLE_MORE * each) for each in place.most), level_of(rows))
    return EquationRequest(families_of([wanted.dag]), tuple(place.centres.tolist()), levels)


def sum_equations(
    request: EquationRequest,
    wanted: MixedFamilies,
    rows: Mapping[Blocks, int],
    answering: Answering,
) -> Generator[SumRequest, Ints, SummedFamilies]:
    """Ask all sites for the sums of the families that some block has whole: one round, or none
    where there are no such families.

    rows : of all sites of some blocks, as they were told before.

    Raises MessageError or DataError where the sums are not of the length of the question, or are
    none of a table.
    """
    scale, parts = _Scale.of(request, wanted.schema), parts_of(wanted, answering)
    tables: dict[int, Ints] = {}
    numbers: dict[int, SummedFamily] = {}
    if not parts:
        return SummedFamilies(tables, numbers)
    sums = yield request
    ends = np.cumsum([sum(map(sum, _sizes(part.wanted))) for part in parts])
    require_length(sums, int(ends[-1]))
    for part, own in zip(parts, np.split(sums, ends[:-1]), strict=True):
        require_rows(int(own[0]), sum(block.sites for block in part.blocks))
        _require_rows_again(rows.get(part.blocks, int(own[0])), own[0])
        counts = _counts_of(own, part.wanted)
        found = _sums_of(own, part, counts, scale, answering.sites)
        _require_families(found, wanted)
        numbers |= found
        for node in set(part.wanted.nodes) - set(found):
            family = part.wanted.table_family(node)
            assert counts is not None
            assert family is not None
            tables[node] = counts.table(family)
    return SummedFamilies(tables, numbers)


def _counts_of(sums: Ints, wanted: MixedFamilies) -> FamilyCounts | None:
    """The counts of categories in the piece of a part."""
    layout = wanted.counted
    if layout is None:
        return None
    counts = FamilyCounts.of_cells(layout, sums[1 : 1 + int(layout.start[-1])])
    _require_rows_again(int(sums[0]), counts.rows)
    require_one_table(counts)
    return counts


def _sums_of(
    sums: Ints, part: Part, counts: FamilyCounts | None, scale: _Scale, sites: int
) -> dict[int, SummedFamily]:
    """Number -> its family's sums, in the piece of a part."""
    wanted, rows, found = part.wanted, int(sums[0]), {}
    here = sum(block.sites for block in part.blocks)
    (end, _, _), *sizes = _sizes(wanted)
    for (node, family), (_, first, second) in zip(wanted.numbers.items(), sizes, strict=True):
        counted, own = wanted.table_family(node), np.array([rows])
        if counts is not None and counted is not None:
            own = counts.table(counted).ravel()
        of_all, of_sites = np.split(sums[end : end + first + second], [first])
        end += first + second
        names = [wanted.schema.names[column] for column in family.columns]
        levels, centres = scale.levels_of(names, family), scale.centres_of(names)
        total = products_of_fixed(of_all.reshape(len(own), -1), levels[0], sites)
        total[:, 0, 0] = own
        between = products_of_fixed(of_sites, levels[1], sites)
        squares = total.sum(axis=0).diagonal()
        floating = np.append(0.0, rows * (RESOLUTION * centres) ** 2) + _FLOATING * squares
        off = np.sqrt(fixed_error(levels[0], sites) ** 2 + floating)
        found[node] = SummedFamily(own, total, between, off, centres, here)
    return found


def _require_families(numbers: Mapping[int, SummedFamily], wanted: MixedFamilies) -> None:
    """Raise MessageError unless some tables have these sums: the same sums and squares of a number
    in all families."""
    known: dict[int, tuple[Floats, float]] = {}
    for node, own in numbers.items():
        more = np.diag(len(own.off) * own.off**2)
        require_products(own.total + more, ROUNDING * len(own.off))
        off = 2.0 * len(own.rows) * own.off
        for k, column in enumerate(wanted.number_family(node).columns, start=1):
            found = own.total[:, [0, k], k].sum(axis=0)
            before, its = known.setdefault(column, (found, off[k]))
            wrong = np.abs(found - before) > (its + off[k]) * np.array([own.off[0], own.off[k]])
            if wrong.any():
                name = wanted.schema.names[column]
                raise MessageError(f"the sums of {name!r} differ between families: {WRONG_SUMS}")


def sum_residuals(
    request: EquationRequest,
    numbers: Mapping[int, SummedFamily],
    weights: Mapping[int, Floats],
    sites: int,
) -> Generator[SumRequest, Ints, dict[int, Floats]]:
    """Ask all sites for what equations with own constants leave: one round, or none where there are
    no equations; number -> sums of squares by configuration, float64 [q].

    Raises MessageError where the sums are not of the length of the question, or are not those that
    follow from the families'.
    """
    found = {node: squares_left(own, weights[node]) for node, own in numbers.items()}
    levels = tuple(level_of(_A_LITTLE_MORE * (left + off)) for left, off in found.values())
    given = tuple(tuple(weights[node].ravel().tolist()) for node in numbers)
    if not numbers:
        return {}
    sums = yield ResidualRequest(request, given, levels)
    require_length(sums, sum(len(own.rows) for own in numbers.values()))
    told, start = {}, 0
    for (node, own), level in zip(numbers.items(), levels, strict=True):
        whole = sums[start : start + len(own.rows)]
        start += len(own.rows)
        squares = products_of_fixed(whole[:, None], (level,), sites)[:, 0, 0]
        left, off = found[node]
        if (whole < 0).any() or abs(squares.sum() - left) > off + ROUNDING * left:
            raise MessageError(
                f"squares of residuals sum to {squares.sum():.6g}, not {left:.6g}: {WRONG_SUMS}"
            )
        told[node] = squares
    return told
