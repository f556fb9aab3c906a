"""Counts of families as sums over the sites, under the same masks as the sums over structures.

Counts are whole numbers, and a site's own scores are in fixed point (`fedbn.scores.family_scores`):
both add exactly, so whoever asks gets the very sums of an open run, and no site's counts.

Where sites have different columns, a site adds its counts of the families that its block
(`fedbn.secure.blocks`) has all columns of, and 0 to the others. So every sum is over whole blocks,
and says of no site what it does not say of all of its block. For parameters the sum of a family is
over all blocks that have it; for choosing there is one for each block, as a family is compared with
others in the rows of some of them (`fedbn.choice.judged`).
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
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

Answered = Sequence[Sequence[int]]
"""The columns that every site answers for, by their numbers, ascending; empty: all for all."""


class FamilySums(NamedTuple):
    """The counts in the rows of all sites, and the sum of their own scores, int64 [F] or [0]."""

    counts: FamilyCounts
    own: Ints


class Part(NamedTuple):
    """Families that the same sites are asked for, and the columns of the blocks that have these."""

    tables: FamilyTables
    blocks: tuple[frozenset[int], ...]


def parts_of(request: CountRequest, schema: Schema, columns: Answered = ()) -> tuple[Part, ...]:
    """What a sum is made of, in the order of its vector: of each part the cells of all tables, then
    the own scores, if wanted.

    Parameters
    ----------
    request, schema : what is asked, of the agreed columns.
    columns : where sites have different ones, those that each answers for. A family that no block
        has all columns of is in no part.

    Raises as `FamilyTables`.
    """
    if not columns:
        return (Part(FamilyTables(schema, request.families), ()),)
    blocks = sorted({frozenset(own) for own in columns}, key=sorted)
    together: dict[tuple[frozenset[int], ...], list[Family]] = {}
    for family in request.families:
        having = tuple(own for own in blocks if families_within([family], own))
        for those in [(own,) for own in having] if request.own else [having]:
            together.setdefault(those, []).append(family)
    return tuple(
        Part(FamilyTables(schema, tuple(families)), having)
        for having, families in together.items()
        if having
    )


def own_counts(
    request: CountRequest,
    table: Dataset,
    ess: float,
    schema: Schema | None = None,
    columns: Answered = (),
    place: int = 0,
) -> Ints:
    """The vector that a site adds, as `parts_of` has it; 0 where its block has no part.

    Parameters
    ----------
    request : one that `guard.allow` let pass.
    table : the site's own, under the agreed schema, or under its part of that.
    ess : equivalent sample size of the own scores.
    schema : the agreed one; that of the table by default.
    columns, place : as for `parts_of`, and the place of this site among them.

    Raises
    ------
    MessageError : the families are none of the schema's, not sorted, or too large together.
    """
    try:
        parts = parts_of(request, schema or table.schema, columns)
        require_few_cells(tables for tables, _ in parts)
        own = frozenset(columns[place]) if columns else None
        found = [np.empty(0, np.int64)]
        for tables, blocks in parts:
            if own is not None and own not in blocks:
                found.append(np.zeros(_length(tables, request.own), np.int64))
                continue
            counts = count_own_families(table, tables)
            found.append(counts.cells)
            if request.own:
                found.append(own_scores(counts, ess))
        return np.concatenate(found)
    except (DataError, StructureError) as error:
        raise MessageError(f"server: {error}") from None


def families_within(families: Iterable[Family], columns: Collection[int]) -> tuple[Family, ...]:
    """Those of which all columns are there."""
    has = set(columns)
    return tuple(each for each in families if {each.node, *each.parents} <= has)


def require_few_cells(tables: Iterable[FamilyTables]) -> None:
    """Raise DataError where all these tables have too many cells for a sum."""
    cells = sum(int(each.start[-1]) for each in tables)
    if cells > MAX_CELLS:
        raise DataError(f"a sum may be of at most {MAX_CELLS} cells, not {cells}")


def sum_families_of_blocks(
    tables: FamilyTables, columns: Answered, own_ess: float | None = None
) -> Generator[SumRequest, Ints, tuple[tuple[Part, FamilySums], ...]]:
    """Ask all sites for these families, each in the rows of the sites that answer for its columns:
    one round. The sums of every part (`parts_of`).

    Parameters
    ----------
    tables : the families.
    columns : as for `parts_of`.
    own_ess : equivalent sample size of the own scores; None: these are not asked for.

    Raises
    ------
    MessageError : the sums are not of the length of the question.
    DataError : the tables have more than MAX_CELLS cells, all of which are summed; or the sums of a
        part are no counts of one table, or own scores that no site has: some site did not keep to
        the protocol.
    """
    request = CountRequest(tables.families, own_ess is not None)
    parts = parts_of(request, tables.schema, columns)
    require_few_cells(tables for tables, _ in parts)
    sums = yield request
    ends = np.cumsum([_length(each.tables, request.own) for each in parts])
    if sums.shape != (ends[-1],):
        raise MessageError(f"the sums must be {ends[-1]} int64, not {sums.dtype} {sums.shape}")
    heard = zip(parts, np.split(sums, ends[:-1]), strict=True)
    return tuple((part, _sums_of(part.tables, own, own_ess)) for part, own in heard)


def _length(tables: FamilyTables, own: bool) -> int:
    """Of a part's piece of the vector."""
    return int(tables.start[-1]) + own * len(tables.families)


def _sums_of(tables: FamilyTables, sums: Ints, own_ess: float | None) -> FamilySums:
    """The sums of a part; raises DataError where no honest sites can have them."""
    cells = int(tables.start[-1])
    found = FamilySums(FamilyCounts.of_cells(tables, sums[:cells]), sums[cells:])
    require_one_table(found.counts)
    if own_ess is not None:
        require_own_scores(found.own, found.counts, own_ess)
    return found
