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
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import DataError, MessageError, NetworkError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.networks.conditional_gaussian import NumberFamily
from fedbn.networks.conditional_sums import conditional_sums
from fedbn.networks.family_counts import (
    FamilyCounts,
    FamilyTables,
    families_of,
    require_families,
)
from fedbn.networks.mixed_sums import MixedFamilies, category_tables
from fedbn.networks.moments import RESOLUTION
from fedbn.networks.network import MAX_CELLS, configurations
from fedbn.networks.summed_regressions import SummedFamily, squares_left
from fedbn.scores.possible_sums import ROUNDING
from fedbn.scores.scatter import Scatter
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

_A_LITTLE_MORE = 1.01
"""Of what sums tell, so that no honest site is above."""


class Place(NamedTuple):
    """Where the numbers of all rows lie: how many rows there are, of every number the mean, and
    what its sum of squares about that is at most, float64 [m]."""

    rows: int
    centres: Floats
    most: Floats


class SummedFamilies(NamedTuple):
    """The counts of all categories, None where there are none; and number -> its family's sums."""

    counts: FamilyCounts | None
    numbers: Mapping[int, SummedFamily]


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
    tables = category_layout(wanted)
    yield 1 + (0 if tables is None else int(tables.start[-1])), 0, 0
    for family in number_families(wanted).values():
        q, k = configurations(family.sizes), len(family.columns)
        size = q * k + 1
        yield 0, q * (k + 1) * (k + 2) // 2, size * (size + 1) // 2


def category_layout(wanted: MixedFamilies) -> FamilyTables | None:
    """Which counts there are; None where there are no categories."""
    if not wanted.categories:
        return None
    families = (wanted.table_family(node) for node in range(wanted.dag.n))
    found = {each for each in families if each is not None}
    return FamilyTables(wanted.category_schema, tuple(sorted(found)))


def number_families(wanted: MixedFamilies) -> dict[int, NumberFamily]:
    """Number -> its family."""
    places = map(wanted.schema.index, wanted.schema.numbers)
    return {node: wanted.number_family(node) for node in places}


def own_place(request: LevelRequest | PlaceRequest, table: Dataset, sites: int) -> Ints:
    """The vector that a site adds where it is asked how its numbers lie.

    table : its numbers alone.

    Raises as `scatter_sums.own_sums`.
    """
    means, rows = table.values.mean(axis=0), table.n_rows
    squares = ((table.values - means) ** 2).sum(axis=0) + rows * means**2
    if isinstance(request, LevelRequest):
        return levels_above(np.append(squares, rows))
    if len(request.levels) != table.n + 1:
        raise MessageError(f"server: there must be levels of {table.n} numbers, and of ones")
    parts = []
    try:
        for k, (mean, square) in enumerate(zip(means, squares, strict=True)):
            products = np.array([[square, rows * mean], [rows * mean, rows]])
            levels = (request.levels[k], request.levels[-1])
            parts.append(fixed_scatter(Scatter(rows, products), levels, sites))
    except LevelError as error:
        raise LevelError(table.n * error.length) from None
    return np.concatenate(parts)


def own_equations(
    request: EquationRequest, table: Dataset, wanted: MixedFamilies, sites: int
) -> Ints:
    """The vector that a site adds for the families that are wanted.

    table : under the agreed schema.

    Raises as `scatter_sums.own_sums`.
    """
    counts = category_tables(table, wanted)
    parts = [np.array([table.n_rows])]
    if counts is not None:
        parts.append(counts.cells)
    try:
        for family in number_families(wanted).values():
            products = _own_products(table, family, _centres(request, wanted, family))
            for whole, levels in zip(products, _levels(request, wanted, family), strict=True):
                parts.append(fixed_products(whole, levels, sites))
    except LevelError:
        raise LevelError(sum(map(sum, _sizes(wanted)))) from None
    return np.concatenate(parts)


def _own_products(table: Dataset, family: NumberFamily, centres: Floats) -> tuple[Floats, Floats]:
    """The site's part of T and of B."""
    own = conditional_sums(table, family, centres)
    ones = np.column_stack([np.ones(len(own.rows)), own.means])
    sums = own.rows[:, None].astype(np.float64) * ones
    total = sums[:, :, None] * ones[:, None, :]
    total[:, 1:, 1:] += own.products
    flat = np.append(sums[:, :-1].ravel(), sums[:, -1].sum())
    return total, np.outer(flat, flat) / table.n_rows


def _centres(request: EquationRequest, wanted: MixedFamilies, family: NumberFamily) -> Floats:
    """Of the columns of a family."""
    found = dict(zip(number_families(wanted), request.centres, strict=True))
    return np.array([found[column] for column in family.columns])


def _levels(
    request: EquationRequest, wanted: MixedFamilies, family: NumberFamily
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Of the columns of T and of B."""
    place = {node: k for k, node in enumerate(number_families(wanted))}
    own = (request.levels[-1], *(request.levels[place[column]] for column in family.columns))
    return own, (*own[:-1] * configurations(family.sizes), own[-1])


def own_residuals(
    request: ResidualRequest, table: Dataset, wanted: MixedFamilies, sites: int
) -> Ints:
    """The vector that a site adds for what equations leave, as `own_equations`.

    The constant of the site is by what the equation is off in the mean of its rows.
    """
    families = number_families(wanted)
    if not len(request.weights) == len(request.levels) == len(families):
        raise MessageError(f"server: there must be equations of {len(families)} numbers")
    parts, above = [], False
    for family, given, level in zip(
        families.values(), request.weights, request.levels, strict=True
    ):
        q, k = configurations(family.sizes), len(family.columns)
        if len(given) != q * k:
            raise MessageError(f"server: an equation has {len(given)} weights, not {q * k}")
        columns = np.column_stack([table.column(i) for i in family.columns])
        values = columns - _centres(request.of, wanted, family)
        place, weights = family.configuration(table), np.reshape(given, (q, k))
        with np.errstate(over="ignore", invalid="ignore"):  # weights may be anything
            left = values[:, -1] - weights[place, 0]
            left -= (weights[place, 1:] * values[:, :-1]).sum(axis=1)
            squares = np.bincount(place, (left - left.mean()) ** 2, q).astype(np.float64)
        try:
            parts.append(fixed_products(squares[:, None, None], (level,), sites))
        except LevelError:
            above = True
    if above:
        raise LevelError(sum(configurations(family.sizes) for family in families.values()))
    return np.concatenate(parts)


# --- The server ------------------------------------------------------------------------------


def sum_place(levels: tuple[int, ...], sites: int) -> Generator[SumRequest, Ints, Place]:
    """Ask all sites how their numbers lie: one round.

    levels : of the numbers about 0, and of ones.

    Raises MessageError where the sums are not of the length of the question, or are none of a
    table.
    """
    sums = yield PlaceRequest(levels)
    require_length(sums, 4 * (len(levels) - 1))
    require_rows(int(sums[0]), sites)
    centres, most = [], []
    for level, own in zip(levels[:-1], sums.reshape(-1, 4), strict=True):
        found = scatter_of_fixed(own, (level, levels[-1]), sites)
        _require_rows_again(int(sums[0]), own[0], found.products[1, 1])
        require_products(found.products, ROUNDING)
        error = largest_error(found, (level, levels[-1]), sites)
        square, mean = found.products[0, 0], found.products[0, 1] / found.rows
        off = error[0, 0] + 2.0 * abs(mean) * error[0, 1] + _FLOATING * square
        centres.append(mean)
        most.append(max(square - found.rows * mean**2, 0.0) + off)
    return Place(int(sums[0]), np.array(centres), np.array(most))


def _require_rows_again(rows: int, *told: float) -> None:
    for other in told:
        if other != rows:
            raise MessageError(f"the rows are {rows} and {other:.12g}: {WRONG_SUMS}")


def request_of(wanted: MixedFamilies, place: Place) -> EquationRequest:
    """What is asked of the families; raises DataError where that would be too much."""
    require_few_cells(wanted)
    levels = (*(level_of(_A_LITTLE_MORE * each) for each in place.most), level_of(place.rows))
    return EquationRequest(families_of([wanted.dag]), tuple(place.centres.tolist()), levels)


def sum_equations(
    request: EquationRequest, wanted: MixedFamilies, rows: int, sites: int
) -> Generator[SumRequest, Ints, SummedFamilies]:
    """Ask all sites for the sums of the families: one round.

    rows : of all sites, as they were told before.

    Raises MessageError or DataError where the sums are not of the length of the question, or are
    none of a table.
    """
    sums = yield request
    sizes = list(_sizes(wanted))
    require_length(sums, sum(map(sum, sizes)))
    _require_rows_again(rows, sums[0])
    layout, counts, end = category_layout(wanted), None, sizes[0][0]
    if layout is not None:
        counts = FamilyCounts.of_cells(layout, sums[1:end])
        _require_rows_again(rows, counts.rows)
        require_one_table(counts)
    numbers = {}
    for (node, family), (_, first, second) in zip(
        number_families(wanted).items(), sizes[1:], strict=True
    ):
        counted, own = wanted.table_family(node), np.array([rows])
        if counts is not None and counted is not None:
            own = counts.table(counted).ravel()
        of_all, of_sites = np.split(sums[end : end + first + second], [first])
        end += first + second
        levels = _levels(request, wanted, family)
        total = products_of_fixed(of_all.reshape(len(own), -1), levels[0], sites)
        total[:, 0, 0] = own
        between = products_of_fixed(of_sites, levels[1], sites)
        squares = total.sum(axis=0).diagonal()
        centres = _centres(request, wanted, family)
        floating = np.append(0.0, rows * (RESOLUTION * centres) ** 2) + _FLOATING * squares
        off = np.sqrt(fixed_error(levels[0], sites) ** 2 + floating)
        numbers[node] = SummedFamily(own, total, between, off, centres)
    _require_families(numbers, wanted)
    return SummedFamilies(counts, numbers)


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
    """Ask all sites for what equations with own constants leave: one round; number -> sums of
    squares by configuration, float64 [q].

    Raises MessageError where the sums are not of the length of the question, or are not those that
    follow from the families'.
    """
    found = {node: squares_left(own, weights[node]) for node, own in numbers.items()}
    levels = tuple(level_of(_A_LITTLE_MORE * (left + off)) for left, off in found.values())
    given = tuple(tuple(weights[node].ravel().tolist()) for node in numbers)
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
