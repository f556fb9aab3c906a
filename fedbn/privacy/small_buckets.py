"""Histograms without small counts: no bucket is told that has fewer than `least` numbers.

Bucket by bucket from below, inside the bucket of the round before, the numbers of one with too few
go to the nearest end of the next, those of the last to the one before, and stay there. So a bucket
that was told has as many numbers in the next round, and each count that is told is at least
`least`. The rounds are those of `fedbn.data.quantiles`.
"""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits, Floats
from fedbn.data.quantiles import BITS, ROUNDS, ordered_bits


def thin_out(numbers: Floats, most: int | None) -> Floats:
    """At most so many of the numbers: those in the middle of as many equal parts, by rank."""
    if most is None or len(numbers) <= most:
        return numbers
    places = (2 * np.arange(most, dtype=np.int64) + 1) * len(numbers) // (2 * most)
    kept: Floats = np.sort(numbers)[places]
    return kept


def told_counts(
    numbers: Floats, number: int, prefixes: tuple[int, ...], least: int
) -> dict[int, int]:
    """Bucket of round `number` inside `prefixes` -> numbers in it, none of them fewer than `least`;
    of finite numbers, at least `least` of them."""
    keys = np.sort(ordered_bits(numbers) >> np.uint64(64 - BITS * ROUNDS))
    for level in range(1, number + 1):
        keys = _merge(keys, BITS * (ROUNDS - level), least)
    buckets, counts = np.unique(keys >> np.uint64(BITS * (ROUNDS - number)), return_counts=True)
    wanted = set(prefixes)
    pairs = zip(buckets.tolist(), counts.tolist(), strict=True)
    return {bucket: count for bucket, count in pairs if bucket >> BITS in wanted}


def _merge(keys: Bits, below: int, least: int) -> Bits:
    """The sorted keys, with those of small buckets at the nearest end of a neighbour.

    `below` are the bits under those of a bucket; the bits over its last BITS name its parent.
    """
    merged = keys.copy()
    buckets, first, count = np.unique(
        keys >> np.uint64(below), return_index=True, return_counts=True
    )
    parents = buckets >> np.uint64(BITS)
    begin = 0  # of the numbers that wait for a bucket to go to
    kept = -1  # the last bucket of this parent that is told
    for k, bucket in enumerate(buckets.tolist()):
        end = int(first[k] + count[k])
        last = k + 1 == len(buckets) or parents[k + 1] != parents[k]
        if end - begin >= least:
            merged[begin : int(first[k])] = bucket << below
            begin, kept = end, bucket
        elif last and kept >= 0:
            merged[begin:end] = (kept << below) | ((1 << below) - 1)
            begin = end
        if last:
            begin, kept = end, -1
    return merged
