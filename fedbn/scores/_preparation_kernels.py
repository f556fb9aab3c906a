"""What is made of a table before anything is counted: merged rows, bitmaps, modes."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fedbn.scores._tables import Integer, inline


@inline
def _row_hashes(codes: NDArray[np.uint16]) -> NDArray[np.uint64]:
    n, rows = codes.shape
    hashes = np.zeros(rows, dtype=np.uint64)
    for v in range(n):
        for i in range(rows):
            hashes[i] = (hashes[i] ^ np.uint64(codes[v, i])) * np.uint64(0x9E3779B97F4A7C15)
            hashes[i] ^= hashes[i] >> np.uint64(29)
    return hashes


@inline
def _differ(codes: NDArray[np.uint16], i: Integer, j: Integer) -> bool:
    v = 0
    while v < codes.shape[0] and codes[v, i] == codes[v, j]:
        v += 1
    return bool(v < codes.shape[0])


@njit(cache=True, nogil=True)
def merge_rows(codes: NDArray[np.uint16]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Which rows of codes [n, N] are the first of their kind, and how many equal each of them."""
    rows = codes.shape[1]
    hashes = _row_hashes(codes)
    capacity = 16
    while capacity < 2 * rows:
        capacity *= 2
    slots = np.full(capacity, -1, dtype=np.int64)
    first = np.empty(rows, dtype=np.int64)
    weights = np.zeros(rows, dtype=np.int32)
    kinds = 0
    for i in range(rows):
        slot = np.int64(hashes[i] & np.uint64(capacity - 1))
        while True:
            kind = slots[slot]
            if kind < 0:
                slots[slot] = kinds
                first[kinds] = i
                weights[kinds] = 1
                kinds += 1
                break
            if hashes[first[kind]] == hashes[i] and not _differ(codes, first[kind], i):
                weights[kind] += 1
                break
            slot = (slot + 1) & (capacity - 1)
    return first[:kinds].copy(), weights[:kinds].copy()


@njit(cache=True, nogil=True)
def state_bitmaps(
    codes: NDArray[np.uint16], first_state: NDArray[np.int64], states: Integer
) -> NDArray[np.uint64]:
    """One bitmap over the rows for each state of each variable."""
    n, rows = codes.shape
    bitmaps = np.zeros((states, (rows + 63) >> 6), dtype=np.uint64)
    for v in range(n):
        base = first_state[v]
        for i in range(rows):
            bitmaps[base + int(codes[v, i]), i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    return bitmaps


@njit(cache=True, nogil=True)
def rows_outside_modes(
    codes: NDArray[np.uint16], arities: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.uint16]]:
    """(modes, other_start, other_rows, other_codes) of `Tables`, for codes [n, M].

    The mode is the state of most (merged) rows, the first of them if there are several.
    """
    n, rows = codes.shape
    modes = np.zeros(n, dtype=np.int64)
    start = np.zeros(n + 1, dtype=np.int64)
    counts = np.empty(arities.max(), dtype=np.int64)
    for v in range(n):
        counts[:] = 0
        for i in range(rows):
            counts[codes[v, i]] += 1
        for state in range(arities[v]):
            if counts[state] > counts[modes[v]]:
                modes[v] = state
        start[v + 1] = start[v] + rows - counts[modes[v]]
    others = np.empty(start[n], dtype=np.int32)
    states = np.empty(start[n], dtype=np.uint16)
    k = 0
    for v in range(n):
        for i in range(rows):
            if np.int64(codes[v, i]) != modes[v]:
                others[k] = i
                states[k] = codes[v, i]
                k += 1
    return modes, start, others, states
