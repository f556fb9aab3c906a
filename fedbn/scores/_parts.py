"""Parts of `Tables` that a score begins with: what is empty, the store of counts, scratch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "empty_store",
    "empty_table",
    "factor_of",
    "scratch_of_classes",
    "scratch_of_rows",
    "signs_of",
]

_BYTES_OF_A_KEY = 16
_BYTES_OF_A_VALUE = 8
_MOST_CLASSES = 192
_CLASS_BYTES = 8 << 20
_LEAST_CELLS = 4096
_LEAST_SETS = 1024


def empty_table(n: int) -> dict[str, Any]:
    """The parts that hold data, of a score that has no rows or no numbers."""
    return {
        "codes": np.zeros((n, 0), dtype=np.uint16),
        "weights": np.zeros(0, dtype=np.int32),
        "merged": False,
        "arities": np.zeros(n, dtype=np.int64),
        "modes": np.zeros(n, dtype=np.int64),
        "other_start": np.zeros(n + 1, dtype=np.int64),
        "other_rows": np.zeros(0, dtype=np.int32),
        "other_codes": np.zeros(0, dtype=np.uint16),
        "first_state": np.zeros(n, dtype=np.int64),
        "bitmaps": np.zeros((0, 0), dtype=np.uint64),
        "gram": np.zeros((0, 0)),
        "constant": np.zeros(0),
        "exponent": np.zeros(0),
    }


def empty_store(n: int, rungs: int, available: int) -> dict[str, Any]:
    """A hash table of sets and their values, at its least size; pages beyond are not touched."""
    from fedbn.scores._tables import SIZE

    capacity = _store_capacity(n, rungs, available)
    counters = np.zeros(4, dtype=np.int64)
    counters[SIZE] = _LEAST_SETS
    keys = np.empty((2 * capacity, 2), dtype=np.uint64)
    keys[_LEAST_SETS : 2 * _LEAST_SETS] = 0
    return {"keys": keys, "values": np.empty((2 * capacity, rungs)), "counters": counters}


def scratch_of_rows(rows: int) -> dict[str, Any]:
    """Where rows are counted; `rows` is 0 for numbers."""
    limit = max(4 * rows, _LEAST_CELLS) if rows else 0
    hash_size = 1 << max(4, (2 * rows - 1).bit_length()) if rows else 1
    return {
        "context": np.zeros(4, dtype=np.int64),
        "row_class": np.empty(rows, dtype=np.int32),
        "row_counts": np.empty(limit, dtype=np.int32),
        "cells": np.empty(limit, dtype=np.int32),
        "margin": np.empty(limit, dtype=np.int32),
        "hash_keys": np.empty(hash_size, dtype=np.int64),
        "hash_labels": np.empty(hash_size, dtype=np.int32),
    }


def scratch_of_classes(words: int) -> dict[str, Any]:
    """Where bitmaps of so many words are intersected."""
    classes = max(0, min(_MOST_CLASSES, _CLASS_BYTES // max(1, 8 * words)))
    return {
        "classes": np.empty((3, classes, words), dtype=np.uint64),
        "class_counts": np.zeros(classes, dtype=np.int32),
        "configurations": np.zeros((3, classes), dtype=np.int64),
    }


def _store_capacity(n: int, rungs: int, available: int) -> int:
    """A power of two: room for 64 n² sets, within the bytes available, 1024 at least."""
    capacity = _LEAST_SETS
    bytes_of_a_set = 2 * (_BYTES_OF_A_KEY + rungs * _BYTES_OF_A_VALUE)
    while capacity < 64 * n * n and 2 * capacity * bytes_of_a_set <= available:
        capacity *= 2
    return capacity


def signs_of(n: int) -> NDArray[np.uint64]:
    """Fixed pseudo-random words [n, 2] (SplitMix64); a set's key is the XOR of its members'."""
    step = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        z = np.arange(1, 2 * n + 1, dtype=np.uint64) * step
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (z ^ (z >> np.uint64(31))).reshape(n, 2)


def factor_of(n: int) -> dict[str, Any]:
    """Room for a Cholesky factor of up to n + 1 of n variables' cross products, with no rows."""
    from fedbn.scores._tables import TOGETHER

    return {
        "factor": np.empty((n + 1, n + 1)),
        "inverse": np.empty(n + 1),
        "log_det": np.zeros(n + 2),
        "determined": np.zeros(n + 2, dtype=np.bool_),
        "factored": np.full(n + 2, -1, dtype=np.int64),
        "columns": np.empty((n + 1, TOGETHER)),
    }
