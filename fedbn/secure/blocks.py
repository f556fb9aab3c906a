"""Who answers for which columns in a sum, where sites have different ones.

A server that hears sums over many sets of sites can subtract and infer, and no rule on the sizes of
these sets keeps single sites hidden (docs/decisions/028). What does is symmetry: sites that answer
for the same columns are in the same sums, always, so whatever the sums say of one of them they say
of each. So sites form *blocks* of a minimum size, and a block answers for the columns that all of
its sites have. Of what is beyond them a site keeps silent: it takes part with what its structure
implies for the columns of its block (`site.join`).

Everybody is told the columns of all sites before the first sum, so a site finds by itself whether
it judges a separation, and what it adds is 0 where it does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from fedbn.arrays import Bits, Bools, Ints
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError
from fedbn.wording import list_some

MOST_TRIES = 10_000
"""Unions of blocks that are tried before a division is given up: three seconds for 200 sites."""

Column = TypeVar("Column", bound=Hashable)
Block = tuple[str, ...]
Blocks = Mapping[Block, frozenset[Column]]
"""The sites of a block -> the columns that all of them have."""


class AlikeSites(NamedTuple):
    """A block: how many sites answer for these columns, by their numbers, ascending."""

    columns: tuple[int, ...]
    sites: int


@dataclass(frozen=True, eq=False)
class Answering:
    """Who answers for which columns of an agreed schema, where tables are summed.

    Attributes
    ----------
    schema : the agreed one.
    columns : of every site those that it answers for, by their numbers, ascending.
    """

    schema: Schema
    columns: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, schema: Schema, sites: int, columns: Sequence[Sequence[int]] = ()) -> Answering:
        """Of so many sites; without columns all answer for all."""
        every = [range(schema.n)] * sites
        return cls(schema, tuple(map(tuple, columns or every)))

    @property
    def sites(self) -> int:
        """How many there are in all."""
        return len(self.columns)

    @cached_property
    def blocks(self) -> tuple[AlikeSites, ...]:
        """In the order of their columns."""
        return tuple(AlikeSites(*each) for each in sorted(Counter(self.columns).items()))

    @property
    def for_all(self) -> bool:
        """Whether every site answers for every column."""
        return all(len(own) == self.schema.n for own in self.columns)

    def having(self, columns: Collection[int]) -> tuple[AlikeSites, ...]:
        """The blocks that answer for all of these."""
        return tuple(each for each, own in self._sets if own.issuperset(columns))

    @cached_property
    def _sets(self) -> tuple[tuple[AlikeSites, frozenset[int]], ...]:
        """The blocks, and their columns: every family is looked for in every block."""
        return tuple((each, frozenset(each.columns)) for each in self.blocks)

    def part(self, columns: Sequence[int]) -> Schema:
        """The schema of some columns."""
        return Schema(tuple(self.schema.variables[v] for v in columns))


@dataclass(frozen=True, eq=False)
class Columns:
    """For which columns every site answers.

    Attributes
    ----------
    has : bool [sites, n].
    min_judges : as in `fedbn.consensus.mcbnc`.
    """

    has: Bools
    min_judges: int = 1

    @classmethod
    def of(cls, columns: Sequence[Sequence[int]], n: int, min_judges: int) -> Columns | None:
        """From the columns of every site by number; None where every site has all."""
        has = np.zeros((len(columns), n), np.bool_)
        for site, own in enumerate(columns):
            has[site, list(own)] = True
        return None if has.all() else cls(has, min_judges)

    @cached_property
    def _sets(self) -> tuple[Bools, Bits, Ints]:
        """The distinct sets of columns, as bool [B, n] and as bits [B, W], and the number of sites
        of each."""
        from fedbn.graphs.bits import pack

        sets, counts = np.unique(self.has, axis=0, return_counts=True)
        return sets, pack(sets), counts.astype(np.int64)

    @cached_property
    def having(self) -> Ints:
        """How many sites answer for each column, int64 [n]."""
        return np.asarray(self.has.sum(axis=0), dtype=np.int64)

    @cached_property
    def seeing(self) -> Ints:
        """How many sites answer for both columns, int64 [n, n]."""
        shown = self.has.astype(np.int64)
        return np.asarray(shown.T @ shown)

    def judges(self, xy: Ints, given: Bits) -> Ints:
        """How many sites judge each separation of x and y, int64 [Q, 2], by S, bits [Q, W]."""
        judging, counts = self._judging(xy, given)
        return np.asarray(counts @ judging)

    def is_judge(self, site: int, xy: Ints, given: Bits) -> Bools:
        """Whether a site is one of them, bool [Q]."""
        judging, _ = self._judging(xy, given)
        own = np.flatnonzero((self._sets[0] == self.has[site]).all(axis=1))[0]
        is_one: Bools = judging[own].astype(np.bool_)
        return is_one

    def _judging(self, xy: Ints, given: Bits) -> tuple[Ints, Ints]:
        """Which sets of columns judge, 0 or 1, int64 [B, Q], and the sites of each set.

        Of the sites that have x and y: those with at least so many variables of S, where that
        number is the largest that `min_judges` sites reach; all, where even these are fewer.
        """
        sets, bits, counts = self._sets
        both = sets[:, xy[:, 0]] & sets[:, xy[:, 1]]
        has = np.bitwise_count(bits[:, None] & given[None]).sum(axis=2, dtype=np.int64)
        least = np.zeros(len(xy), np.int64)
        for level in has:
            reaching = counts @ (both & (has >= level))
            least = np.maximum(least, np.where(reaching >= self.min_judges, level, 0))
        return (both & (has >= least)).astype(np.int64), counts


def blocks_of(columns: Mapping[str, frozenset[Column]], least: int) -> dict[str, frozenset[Column]]:
    """Site -> the columns of its block: at least `least` sites answer for the same columns.

    Sites with the same columns begin as a block. While one has fewer sites than `least`, the
    smallest is united with one that shares a column with it: with the one that makes the fewest
    columns of a site be lost; ties go to the earlier names. Where no further union helps, the last
    one is undone and the next best is tried instead, up to MOST_TRIES unions in all.

    Parameters
    ----------
    columns : the columns that every site has, as numbers or names.
    least : minimum number of sites of a block.

    Raises
    ------
    ConfigError : there are fewer sites; or the sites cannot be divided into blocks of at least
        `least` that have a column in common; or that was not found out in so many tries.

    Examples
    --------
    >>> found = blocks_of({"a": frozenset({0, 1}), "b": frozenset({0, 1, 2})}, 2)
    >>> sorted(found["b"])
    [0, 1]
    """
    if len(columns) < least:
        raise ConfigError(
            f"at least {least} sites must answer for the same columns (min-alike), but there are "
            f"{len(columns)}"
        )
    alike: dict[frozenset[Column], list[str]] = {}
    for site in sorted(columns):
        alike.setdefault(columns[site], []).append(site)
    start = {tuple(sites): shared for shared, sites in alike.items()}
    lonely = _lonely(start, least)
    if lonely is not None:
        raise ConfigError(
            f"at least {least} sites must answer for the same columns (min-alike), but none of the "
            f"columns of {_describe(lonely, start)} is at {least} sites or more: leave such sites "
            "out, or lower min-alike"
        )
    blocks = _divide(start, least)
    return {site: shared for block, shared in blocks.items() for site in block}


def _divide(start: Blocks[Column], least: int) -> Blocks[Column]:
    """The first division that the search of `blocks_of` comes to.

    It overlooks none. Where there is one that is made of unions of the present blocks, it unites
    the smallest of these with another one that shares a column with it: so it is made of unions of
    the blocks after one of the unions that are tried, too.
    """
    tries, seen, stuck = -1, set[frozenset[Block]](), ""
    ahead: list[Iterator[Blocks[Column]]] = [iter([start])]
    while ahead and tries < MOST_TRIES:
        blocks = next(ahead[-1], None)
        if blocks is None:
            ahead.pop()
            continue
        tries += 1
        if frozenset(blocks) in seen:  # the same unions in another order
            continue
        seen.add(frozenset(blocks))
        lonely = _lonely(blocks, least)
        if lonely is not None:
            stuck = stuck or _describe(lonely, blocks)
        elif min(map(len, blocks)) >= least:
            return blocks
        else:
            ahead.append(_unions(blocks))
    cannot = (
        f"{MOST_TRIES:,} tries did not show whether the sites can be divided"
        if ahead
        else "the sites cannot be divided"
    )
    raise ConfigError(
        f"{cannot} into blocks of at least {least} sites (min-alike) that have a column in common; "
        f"the first attempt left fewer than {least} sites for each column of {stuck}: leave some "
        "sites out, or lower min-alike"
    )


def _lonely(blocks: Blocks[Column], least: int) -> Block | None:
    """The first block, the smallest before, that no unions make one of `least` sites that have a
    column in common: fewer sites are left for each of its columns."""
    sites: Counter[Column] = Counter()
    for block, shared in blocks.items():
        sites.update(dict.fromkeys(shared, len(block)))
    found = [
        block for block, shared in blocks.items() if all(sites[column] < least for column in shared)
    ]
    return min(found, key=_rank, default=None)


def _unions(blocks: Blocks[Column]) -> Iterator[Blocks[Column]]:
    """The blocks with the smallest united with another one that shares a column, best first."""
    small = min(blocks, key=_rank)
    near = [block for block in blocks if block != small and blocks[block] & blocks[small]]
    for _, other in sorted((_lost(blocks, small, block), block) for block in near):
        united = dict(blocks)
        shared = united.pop(small) & united.pop(other)
        yield united | {tuple(sorted((*small, *other))): shared}


def _rank(block: Block) -> tuple[int, Block]:
    return len(block), block


def _lost(blocks: Blocks[Column], one: Block, other: Block) -> int:
    """How many columns of sites are lost where two blocks are united."""
    shared = len(blocks[one] & blocks[other])
    return sum(len(block) * (len(blocks[block]) - shared) for block in (one, other))


def _describe(block: Block, blocks: Blocks[Column]) -> str:
    """A block's sites, and the columns that they have in common, for a message."""
    columns = list_some(sorted(map(str, blocks[block])), 8)
    return f"{list_some(block)} ({columns or 'no column'})"
