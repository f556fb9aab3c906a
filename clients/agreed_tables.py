"""A site's table under the agreed schema, and what must hold before its sums of products leave."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from clients.request import Request
from clients.site import Site
from fedbn.networks.family_counts import Family

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.data.schema import Schema
    from fedbn.networks.family_counts import FamilyCounts

ALL_PAIRS = Family(0, (1,))
"""Sums of products are of pairs of columns: they tell what families of one parent do."""


def agreed_table(request: Request, schema: Schema) -> Site:
    """The site's table; raises PolicyError unless it may be learned from."""
    site = request.table(schema.cuts)
    if request.site.schema is None:
        request.site.policy.require_no_identifiers(site.dataset, named=False)
    return site


def table_of_all_products(request: Request, schema: Schema) -> Dataset:
    """The site's columns under the agreed schema, where the sums of products of all of them may
    leave, which is written down; raises PolicyError where they may not, DataError where the schema
    has none."""
    from fedbn.federation.sums_message import require_askable

    require_askable(schema)
    request.site.policy.require_counts(request.rows, [ALL_PAIRS])
    own = request.own_part(schema)
    return table_of_products(request, own, combinations(range(own.n), 2))


def table_of_products(
    request: Request, schema: Schema, pairs: Iterable[tuple[int, int]]
) -> Dataset:
    """The same for the sums of products of these pairs of columns."""
    policy = request.site.policy
    policy.require_unrounded()
    table = policy.permit_exact(agreed_table(request, schema).dataset).with_schema(schema)
    request.enter_sums(_permitted_counts(request, table, tuple(pairs)))
    return table


def _permitted_counts(
    request: Request, table: Dataset, pairs: tuple[tuple[int, int], ...]
) -> FamilyCounts | None:
    """The counts that sums of products of these pairs of columns hold; raises PolicyError where one
    of them is too small."""
    from fedbn.privacy.counts_in_sums import counts_in_sums, rows_off_a_common_value

    policy, least = request.site.policy, request.site.policy.rule.least
    if least <= 1:
        return None
    policy.require_cells(np.array([request.rows]))
    counts = counts_in_sums(table, pairs)
    if counts is not None:
        policy.permit_counts(counts, compared=True)
        policy.require_cells(rows_off_a_common_value(table, pairs, least))
    return counts
