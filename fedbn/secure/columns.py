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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedbn.arrays import Bits, Bools, Ints
from fedbn.errors import ConfigError
from fedbn.wording import list_some

__all__ = ["Columns", "blocks_of"]


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


def blocks_of(columns: Mapping[str, frozenset[int]], least: int) -> dict[str, frozenset[int]]:
    """Site -> the columns of its block: at least `least` sites answer for the same columns.

    Sites with the same columns begin as a block. While one has fewer sites than `least`, the
    smallest is united with the one that makes the fewest columns of a site be lost; ties go to the
    earlier names.

    Parameters
    ----------
    columns : the columns that every site has.
    least : minimum number of sites of a block.

    Raises
    ------
    ConfigError : there are fewer sites, or those of a block have no column in common.

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
    alike: dict[frozenset[int], list[str]] = {}
    for site in sorted(columns):
        alike.setdefault(columns[site], []).append(site)
    blocks = {tuple(sites): shared for shared, sites in alike.items()}
    while min(map(len, blocks)) < least:
        small = min(blocks, key=lambda block: (len(block), block))
        others = [block for block in blocks if block != small]
        other = min(others, key=lambda block: (_lost(blocks, small, block), block))
        shared = blocks.pop(small) & blocks.pop(other)
        blocks[tuple(sorted((*small, *other)))] = shared
    silent = min((block for block, shared in blocks.items() if not shared), default=())
    if silent:
        raise ConfigError(
            f"sites that answer together must have a column in common, but {list_some(silent)}, "
            f"which min-alike = {least} unites, have none: leave some out, or lower min-alike"
        )
    return {site: shared for block, shared in blocks.items() for site in block}


def _lost(
    blocks: Mapping[tuple[str, ...], frozenset[int]], one: tuple[str, ...], other: tuple[str, ...]
) -> int:
    """How many columns of sites are lost where two blocks are united."""
    shared = len(blocks[one] & blocks[other])
    return sum(len(block) * (len(blocks[block]) - shared) for block in (one, other))
