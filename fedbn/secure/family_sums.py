"""Counts of families as sums over the sites, under the same masks as the sums over structures.

Counts are whole numbers, and a site's own scores are in fixed point (`fedbn.scores.family_scores`):
both add exactly, so whoever asks gets the very sums of an open run, and no site's counts.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Ints
from fedbn.data.dataset import Dataset
from fedbn.errors import DataError, MessageError, StructureError
from fedbn.networks.family_counts import FamilyCounts, FamilyTables, count_families
from fedbn.networks.network import MAX_CELLS
from fedbn.scores.family_scores import own_scores
from fedbn.secure.honest_sums import require_one_table, require_own_scores
from fedbn.secure.requests import CountRequest, SumRequest


class FamilySums(NamedTuple):
    """The counts in the rows of all sites, and the sum of their own scores, int64 [F] or [0]."""

    counts: FamilyCounts
    own: Ints


def own_counts(request: CountRequest, table: Dataset, ess: float) -> Ints:
    """The vector that a site adds: the cells of all tables, then its own scores, if wanted.

    Parameters
    ----------
    request : one that `guard.allow` let pass.
    table : the site's own, under the agreed schema.
    ess : equivalent sample size of the own scores.

    Raises
    ------
    MessageError : the families are none of the schema's, not sorted, or too large together.
    """
    try:
        FamilyTables(table.schema, request.families)
        counts = count_families(table, request.families)
        cells = counts.cells
    except (DataError, StructureError) as error:
        raise MessageError(f"server: {error}") from None
    own = own_scores(counts, ess) if request.own else np.empty(0, np.int64)
    return np.concatenate([cells, own])


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
