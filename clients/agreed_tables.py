"""A site's table under the agreed schema, and what must hold before its sums of products leave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from clients.request import Request
from clients.site import Site
from fedbn.federation.policy import refusal
from fedbn.networks.family_counts import Family
from fedbn.networks.mixed_sums import MixedFamilies, category_tables
from fedbn.wording import count_of

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.data.schema import Schema

ALL_PAIRS = Family(0, (1,))
"""Sums of products are of pairs of columns: they tell what families of one parent do."""


def agreed_table(request: Request, schema: Schema) -> Site:
    """The site's table; raises PolicyError unless it may be learned from."""
    site = request.table(schema.cuts)
    if request.site.schema is None:
        request.site.policy.require_no_identifiers(site.dataset, named=False)
    return site


def exact_table(
    request: Request,
    schema: Schema,
    families: Iterable[Family],
    names: Sequence[str] | None = None,
    *,
    rounded: bool = False,
) -> Dataset:
    """The site's columns of an agreed schema, all or those with names, where the policy lets exact
    counts of these families leave it, or sums that say as much; counts alone may be `rounded`.
    Raises PolicyError; whether those of this table may leave is not looked at."""
    policy = request.site.policy
    policy.require_counts(request.rows, families)
    if not rounded:
        policy.require_unrounded()
    table = policy.permit_exact(agreed_table(request, schema).dataset)
    own = table.with_schema(request.own_part(schema))
    return own if names is None else own.select(names)


def table_of_products(
    request: Request,
    schema: Schema,
    families: Iterable[Family],
    pairs: Iterable[tuple[int, int]],
    names: Sequence[str] | None = None,
) -> Dataset:
    """The same where the sums of products of these pairs of the columns may leave, which is written
    down with the counts that they hold; PolicyError where they may not, or one of these is small.
    """
    from fedbn.privacy.counts_in_sums import counts_in_sums, rows_off_a_common_value

    policy, least, counts = request.site.policy, request.site.policy.rule.least, None
    table, pairs = exact_table(request, schema, families, names), tuple(pairs)
    if least > 1:
        policy.require_cells(np.array([request.rows]))
        counts = counts_in_sums(table, pairs)
    if counts is not None:
        policy.permit_counts(counts, compared=True)
        policy.require_cells(rows_off_a_common_value(table, pairs, least))
    request.enter_sums(counts)
    return table


def table_of_all_products(
    request: Request, schema: Schema, names: Sequence[str] | None = None
) -> Dataset:
    """The same of all pairs; DataError where the schema has no such sums."""
    from fedbn.federation.sums_message import require_askable

    require_askable(schema)
    columns = request.own_part(schema).names if names is None else names
    return table_of_products(
        request, schema, [ALL_PAIRS], combinations(range(len(columns)), 2), names
    )


def table_of_numbers(request: Request, schema: Schema, names: Sequence[str]) -> Dataset | None:
    """The same of numbers with these names alone, for their sums and sums of squares; None where
    there are none."""
    if names:
        return table_of_products(request, schema, (), (), names)
    request.site.policy.require_counts(request.rows, ())
    return None


def table_of_families(request: Request, schema: Schema, wanted: MixedFamilies) -> Dataset:
    """The columns of what is wanted, where sums of families of some table of so many rows may
    leave."""
    request.site.policy.require_cells(np.array([request.rows]))
    return exact_table(request, schema, wanted.families, wanted.schema.names)


def table_of_masked_families(request: Request, schema: Schema, wanted: MixedFamilies) -> Dataset:
    """The same where the sums of all families may leave under a mask, which is written down. Under
    masks no family is held back alone: one of a number that tells of few rows holds back all.
    Counts of categories are those of masked counts, which nobody sees."""
    from fedbn.privacy.counts_in_sums import tells_few

    policy = request.site.policy
    table, least = table_of_families(request, schema, wanted), policy.rule.least
    few = [own for own in wanted.numbers.values() if least > 1 and tells_few(table, own, least)]
    if few:
        raise refusal("min-cell", f"{count_of(len(few), 'family')} of numbers tell of few rows")
    counts = category_tables(table, wanted)
    if counts is not None and request.site.peers is None:
        policy.permit_counts(counts, compared=True)
    request.enter_sums(counts)
    return table
