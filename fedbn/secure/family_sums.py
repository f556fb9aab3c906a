"""Counts of families as sums over the sites, under the same masks as the sums over structures.

Counts are whole numbers, and a site's own scores are in fixed point (`fedbn.scores.family_scores`):
both add exactly, so whoever asks gets the very sums of an open run, and no site's counts.

Where sites have different columns, a site adds its counts of the families that its block
(`fedbn.secure.columns`) has all columns of, and 0 to the others. So the sum of a family is over
whole blocks, and says of no site what it does not say of all of its block.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Ints
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import DataError, MessageError, StructureError
from fedbn.networks.family_counts import (
    Family,
    FamilyCounts,
    FamilyTables,
    count_own_families,
)
from fedbn.networks.network import MAX_CELLS
from fedbn.scores.family_scores import own_scores
from fedbn.secure.honest_sums import require_one_table, require_own_scores
from fedbn.secure.requests import CountRequest, SumRequest


class FamilySums(NamedTuple):
    """The counts in the rows of all sites, and the sum of their own scores, int64 [F] or [0]."""

    counts: FamilyCounts
    own: Ints


def own_counts(
    request: CountRequest,
    table: Dataset,
    ess: float,
    schema: Schema | None = None,
    families: tuple[Family, ...] | None = None,
) -> Ints:
    """The vector that a site adds: the cells of all tables, then its own scores, if wanted.

    Parameters
    ----------
    request : one that `guard.allow` let pass.
    table : the site's own, under the agreed schema, or under its part of that.
    ess : equivalent sample size of the own scores.
    schema : the agreed one; that of the table by default.
    families : those of the request that its block has all columns of; all by default. It adds 0 to
        the others.

    Raises
    ------
    MessageError : the families are none of the schema's, not sorted, or too large together.
    """
    try:
        tables = FamilyTables(schema or table.schema, request.families)
        own = tables if families is None else _some_of(tables, families)
        cells = np.zeros(int(tables.start[-1]), np.int64)
        if own is None:
            return cells
        counts = count_own_families(table, own)
        cells[_cells_of(tables, own.families)] = counts.cells
    except (DataError, StructureError) as error:
        raise MessageError(f"server: {error}") from None
    scores = own_scores(counts, ess) if request.own else np.empty(0, np.int64)
    return np.concatenate([cells, scores])


def families_within(families: Iterable[Family], columns: Collection[int]) -> tuple[Family, ...]:
    """Those of which all columns are there."""
    has = set(columns)
    return tuple(each for each in families if {each.node, *each.parents} <= has)


def _some_of(tables: FamilyTables, families: tuple[Family, ...]) -> FamilyTables | None:
    """The tables of some of these families; None of none."""
    return FamilyTables(tables.schema, families) if families else None


def _cells_of(tables: FamilyTables, families: Iterable[Family]) -> Ints:
    """Where the cells of these families are among those of all tables."""
    places = [tables.place[family] for family in families]
    return np.concatenate([np.arange(tables.start[f], tables.start[f + 1]) for f in places])


def require_few_cells(tables: FamilyTables) -> int:
    """How many cells the tables have; DataError where these are too many for a sum."""
    cells = int(tables.start[-1])
    if cells > MAX_CELLS:
        raise DataError(f"a sum may be of at most {MAX_CELLS} cells, not {cells}")
    return cells


def sum_families(
    tables: FamilyTables, own_ess: float | None = None
) -> Generator[SumRequest, Ints, FamilySums]:
    """Ask all sites for these families: one round.

    Parameters
    ----------
    tables : the families.
    own_ess : equivalent sample size of the own scores; None: these are not asked for.

    Raises
    ------
    MessageError : the sums are not of the length of the question.
    DataError : the tables have more than MAX_CELLS cells, all of which are summed; or the sums are
        no counts of one table, or own scores that no site has: some site did not keep to the
        protocol.
    """
    cells = require_few_cells(tables)
    sums = yield CountRequest(tables.families, own_ess is not None)
    length = cells + (0 if own_ess is None else len(tables.families))
    if sums.shape != (length,):
        raise MessageError(f"the sums must be {length} int64, not {sums.dtype} {sums.shape}")
    found = FamilySums(FamilyCounts.of_cells(tables, sums[:cells]), sums[cells:])
    require_one_table(found.counts)
    if own_ess is not None:
        require_own_scores(found.own, found.counts, own_ess)
    return found


def sum_families_of_blocks(
    tables: FamilyTables, blocks: Iterable[frozenset[int]]
) -> Generator[SumRequest, Ints, tuple[FamilyCounts, ...]]:
    """Ask all sites for these families, each in the rows of the sites that answer for its columns:
    one round. The counts of the families that the same sites have, each time.

    Parameters
    ----------
    tables : the families; some block has all columns of each.
    blocks : the columns that the sites of each block answer for.

    Raises as `sum_families`.
    """
    cells = require_few_cells(tables)
    sums = yield CountRequest(tables.families, False)
    if sums.shape != (cells,):
        raise MessageError(f"the sums must be {cells} int64, not {sums.dtype} {sums.shape}")
    alike: dict[frozenset[frozenset[int]], list[Family]] = {}
    distinct = sorted(set(blocks), key=sorted)
    for family in tables.families:
        having = frozenset(own for own in distinct if families_within([family], own))
        alike.setdefault(having, []).append(family)
    found = []
    for families in alike.values():
        part = FamilyTables(tables.schema, tuple(families))
        found.append(FamilyCounts.of_cells(part, sums[_cells_of(tables, families)]))
        require_one_table(found[-1])
    return tuple(found)
