"""Requests for counts of families, and the answers, as arrays on the wire.

    request  header   uint8 [34]     version, whether own scores are wanted, the schema's SHA-256
             nodes    int32 [F]      the families, sorted and distinct
             parents  int32 [P]      ascending within a family
             indptr   int64 [F + 1]  the parents of family f are parents[indptr[f] : indptr[f + 1]]

    answer   header   uint8 [34]     version, whether own scores are there, SHA-256 of the request
             given    uint8 [F / 8]  a bit per family: whether its counts are given, or held back
             seen     uint8 [C / 8]  a bit per cell of the tables given that have at most
                                     `SMALL_CELLS`, family after family (`FamilyTables`): whether it
                                     counts any row; the first cell is the highest bit, and the last
                                     byte ends with zeros, as above
             gaps     uint [L]       how many empty cells are before each cell of the larger tables
                                     that counts any row, since the last such one; family after
                                     family, as if these tables were one
             cells    uint [S + L]   the counts of the S cells seen, then of these L; it and gaps in
                                     the narrowest of uint8, uint16, uint32 and uint64 that holds
                                     the largest
             own      int64 [F]      own scores in fixed point (`own_scores`); [0] if not wanted

Most cells of a large table are empty, and few counts are large: int64 for every cell would be 5
to 25 times as long, and a table of columns with many states could not be sent. The form is still
one for each table of counts: no other bytes are accepted.

Both sides trust nothing: a site refuses a request that is not about the agreed schema or is larger
than any table may be; the server refuses counts of another request, negative ones, families that
count different numbers of rows, and own scores that are not those of the counts beside them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbn.data.dataset import Dataset, Schema
from fedbn.errors import DataError, MessageError, StructureError
from fedbn.federation.npy import Arrays, require_keys
from fedbn.networks.family_counts import (
    MAX_ROWS,
    SMALL_CELLS,
    Family,
    FamilyCounts,
    FamilyTables,
    count_families,
)
from fedbn.scores.family_scores import own_scores

__all__ = [
    "ANSWER_KEYS",
    "MAX_SITE_ROWS",
    "REQUEST_KEYS",
    "VERSION",
    "FamilyAnswer",
    "FamilyRequest",
    "answer_from_arrays",
    "answer_request",
    "answer_to_arrays",
    "request_from_arrays",
    "request_to_arrays",
    "tables_given",
]

VERSION = 4
"""Version of both forms; another one is refused."""

MAX_SITE_ROWS = MAX_ROWS >> 12
"""Rows of one site at most, so that no site alone can make the sum over 4,096 sites too large."""

REQUEST_KEYS = ("header", "nodes", "parents", "indptr")
ANSWER_KEYS = ("header", "given", "seen", "gaps", "cells", "own")

_WIDTHS = (np.uint8, np.uint16, np.uint32, np.uint64)
_TYPES: Mapping[str, tuple[Any, ...]] = {
    "header": (np.uint8,),
    "nodes": (np.int32,),
    "parents": (np.int32,),
    "indptr": (np.int64,),
    "given": (np.uint8,),
    "seen": (np.uint8,),
    "gaps": _WIDTHS,
    "cells": _WIDTHS,
    "own": (np.int64,),
}
_HEADER_LENGTH = 2 + 32


@dataclass(frozen=True)
class FamilyRequest:
    """What the server asks all sites: the counts of these families, and maybe their own scores."""

    tables: FamilyTables
    with_own: bool

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the request's arrays, which the answer repeats."""
        arrays = request_to_arrays(self)
        summed = hashlib.sha256()
        for key in REQUEST_KEYS:
            data = arrays[key].tobytes()
            summed.update(len(data).to_bytes(8, "little") + data)
        return summed.digest()


@dataclass(frozen=True, eq=False)
class FamilyAnswer:
    """One site's counts, of the families that it gives; `own` is int64 [F], or empty.

    Where own scores are wanted all families are given: they are compared with each other.
    """

    counts: FamilyCounts
    own: npt.NDArray[np.int64]


def answer_request(request: FamilyRequest, dataset: Dataset, ess: float) -> FamilyAnswer:
    """The answer of a site with this table, which has the request's schema."""
    counts = count_families(dataset, request.tables.families)
    own = own_scores(counts, ess) if request.with_own else np.zeros(0, dtype=np.int64)
    return FamilyAnswer(counts, own)


def request_to_arrays(request: FamilyRequest) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a request, in the order of REQUEST_KEYS."""
    families = request.tables.families
    parents = [parent for family in families for parent in family.parents]
    header = bytes([VERSION, request.with_own]) + bytes.fromhex(request.tables.schema.hash)
    return {
        "header": np.frombuffer(header, dtype=np.uint8),
        "nodes": np.array([family.node for family in families], dtype=np.int32),
        "parents": np.array(parents, dtype=np.int32),
        "indptr": np.cumsum([0, *(len(f.parents) for f in families)], dtype=np.int64),
    }


def request_from_arrays(arrays: Arrays, schema: Schema, *, sender: str = "server") -> FamilyRequest:
    """Check the arrays of a request and build it.

    Raises
    ------
    MessageError : naming the sender and the first thing that is wrong.
    """
    try:
        _check_types(arrays, REQUEST_KEYS)
        with_own = _checked_header(arrays["header"], bytes.fromhex(schema.hash), "schema")
        nodes, parents, indptr = arrays["nodes"], arrays["parents"], arrays["indptr"]
        _check_indptr(nodes, parents, indptr)
        bounds = pairwise(indptr.tolist())
        families = tuple(
            Family(node, tuple(parents[first:last].tolist()))
            for node, (first, last) in zip(nodes.tolist(), bounds, strict=True)
        )
        return FamilyRequest(FamilyTables(schema, families), with_own)
    except (MessageError, StructureError, DataError) as error:
        raise MessageError(f"{sender}: {error}") from None


def answer_to_arrays(request: FamilyRequest, answer: FamilyAnswer) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an answer, in the order of ANSWER_KEYS."""
    header = bytes([VERSION, request.with_own]) + request.digest
    place = answer.counts.tables.place
    seen, gaps, cells = _pack(answer.counts)
    return {
        "header": np.frombuffer(header, dtype=np.uint8),
        "given": np.packbits([family in place for family in request.tables.families]),
        "seen": seen,
        "gaps": gaps,
        "cells": cells,
        "own": np.array(answer.own),
    }


def answer_from_arrays(
    arrays: Arrays, request: FamilyRequest, ess: float, *, sender: str = "message"
) -> FamilyAnswer:
    """Check the arrays of an answer from an untrusted site and build it.

    Parameters
    ----------
    arrays : as :func:`answer_to_arrays` makes them.
    request : the one that was answered.
    ess : equivalent sample size of the own scores.
    sender : who sent it, for the error text.

    Raises
    ------
    MessageError : naming the sender and the first thing that is wrong.
    """
    try:
        _check_types(arrays, ANSWER_KEYS)
        with_own = _checked_header(arrays["header"], request.digest, "request")
        if with_own != request.with_own:
            raise MessageError("own scores must be there if, and only if, they were asked for")
        tables = tables_given(arrays["given"], request)
        counts = _unpack(arrays["seen"], arrays["gaps"], arrays["cells"], tables)
        if not 1 <= counts.rows <= MAX_SITE_ROWS:
            raise MessageError(
                f"counts must be of at least 1 row and at most {MAX_SITE_ROWS}, not {counts.rows}"
            )
        _check_own(arrays["own"], counts, request, ess)
        return FamilyAnswer(counts, arrays["own"])
    except (MessageError, DataError) as error:
        raise MessageError(f"{sender}: {error}") from None


def _check_types(arrays: Arrays, keys: tuple[str, ...]) -> None:
    require_keys(arrays, keys)
    for key in keys:
        if arrays[key].dtype not in map(np.dtype, _TYPES[key]) or arrays[key].ndim != 1:
            names = " or ".join(str(np.dtype(kind)) for kind in _TYPES[key])
            raise MessageError(
                f"{key} must be {names} with one axis, not {arrays[key].dtype} "
                f"{list(arrays[key].shape)}"
            )


def _pack(
    counts: FamilyCounts,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[Any], npt.NDArray[Any]]:
    """Which cells of small tables are not empty, as bits; the gaps between those of the larger
    ones; the counts of all of these."""
    layout = _Layout.of(counts.tables)
    small, place = layout.within(counts.places)
    bits = np.zeros(layout.small_cells, dtype=np.bool_)
    bits[place[small]] = True
    gaps = np.diff(place[~small], prepend=-1) - 1
    cells = np.concatenate([counts.counts[small], counts.counts[~small]])
    return np.packbits(bits), _narrow(gaps), _narrow(cells)


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where the tables lie among the small ones, and among the others.

    Parameters
    ----------
    start : int64 [F + 1], as in `FamilyTables`.
    is_small : bool [F].
    base : int64 [F]: the first cell of each table among those of its kind.
    small_cells, large_cells : how many cells there are of either kind.
    """

    start: npt.NDArray[np.int64]
    is_small: npt.NDArray[np.bool_]
    base: npt.NDArray[np.int64]
    small_cells: int
    large_cells: int

    @classmethod
    def of(cls, tables: FamilyTables) -> _Layout:
        size = np.diff(tables.start)
        is_small = size <= SMALL_CELLS
        before_small, before_large = (
            np.cumsum([0, *np.where(kind, size, 0)]) for kind in (is_small, ~is_small)
        )
        base = np.where(is_small, before_small[:-1], before_large[:-1])
        return cls(tables.start, is_small, base, int(before_small[-1]), int(before_large[-1]))

    def within(
        self, places: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
        """Whether each cell is of a small table, and its place among the cells of its kind."""
        family = np.searchsorted(self.start, places, side="right") - 1
        return self.is_small[family], places - self.start[family] + self.base[family]

    def places(self, small: bool, within: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The inverse of `within`, of cells of one kind."""
        families = np.flatnonzero(self.is_small == small)
        family = families[np.searchsorted(self.base[families], within, side="right") - 1]
        return within - self.base[family] + self.start[family]


def tables_given(given: npt.NDArray[np.uint8], request: FamilyRequest) -> FamilyTables:
    """The tables of the families that are given: all where own scores are, else at least one.

    Raises
    ------
    MessageError : they are others, or `given` is not of the request's length.
    """
    families = request.tables.families
    bits = _bits("given", given, len(families), "families")
    if bits.all():
        return request.tables
    if request.with_own or not bits.any():
        least = "all families" if request.with_own else "at least one family"
        raise MessageError(f"the counts of {least} must be given, found {int(bits.sum())}")
    kept = tuple(family for family, bit in zip(families, bits.tolist(), strict=True) if bit)
    return FamilyTables(request.tables.schema, kept)


def _bits(key: str, packed: npt.NDArray[np.uint8], size: int, what: str) -> npt.NDArray[np.bool_]:
    """Bits that were packed; raises MessageError unless there are `size` of them."""
    if packed.size != (size + 7) // 8:
        raise MessageError(
            f"{key} must have {(size + 7) // 8} bytes for {size} {what}, not {packed.size}"
        )
    bits = np.unpackbits(packed).astype(np.bool_)
    if bits[size:].any():
        raise MessageError(f"{key} must end with zeros after {size} bits")
    return bits[:size]


def _unpack(
    seen: npt.NDArray[np.uint8],
    gaps: npt.NDArray[Any],
    cells: npt.NDArray[Any],
    tables: FamilyTables,
) -> FamilyCounts:
    """The counts; raises MessageError unless `_pack` would give the same bytes."""
    layout = _Layout.of(tables)
    bits = _bits("seen", seen, layout.small_cells, "cells")
    filled = int(bits.sum()) + gaps.size
    if cells.size != filled:
        raise MessageError(
            f"cells must be [{filled}], as seen says and gaps, not {list(cells.shape)}"
        )
    largest = int(cells.max(initial=0))
    if cells.size and (cells == 0).any():
        raise MessageError("a cell that is named must count at least 1 row")
    if largest > MAX_ROWS:
        raise MessageError(f"a count must lie between 1 and {MAX_ROWS}, not {largest}")
    _check_narrow("cells", cells)
    places = np.concatenate(
        [
            layout.places(True, np.flatnonzero(bits)),
            layout.places(False, _after_gaps(gaps, layout.large_cells)),
        ]
    )
    order = np.argsort(places, kind="stable")
    return FamilyCounts(tables, places[order], cells.astype(np.int64)[order])


def _after_gaps(gaps: npt.NDArray[Any], size: int) -> npt.NDArray[np.int64]:
    """The cells that gaps of empty ones precede; MessageError unless all are below `size`."""
    _check_narrow("gaps", gaps)
    if int(gaps.max(initial=0)) > size or float(gaps.astype(np.float64).sum()) > size - gaps.size:
        raise MessageError(f"gaps must lead to cells below {size}")
    return np.asarray(np.cumsum(gaps.astype(np.int64) + 1) - 1)


def _narrow(values: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    return values.astype(_narrowest(int(values.max(initial=0))))


def _check_narrow(key: str, values: npt.NDArray[Any]) -> None:
    largest = int(values.max(initial=0))
    if values.dtype != _narrowest(largest):
        raise MessageError(
            f"{key} must be {_narrowest(largest)}, as the largest is {largest}, not {values.dtype}"
        )


def _narrowest(largest: int) -> np.dtype[Any]:
    """The first of the types of counts that holds a number."""
    return next(np.dtype(kind) for kind in _WIDTHS if largest <= np.iinfo(kind).max)


def _checked_header(header: npt.NDArray[np.uint8], expected: bytes, what: str) -> bool:
    """Whether own scores are concerned."""
    if header.shape != (_HEADER_LENGTH,):
        raise MessageError(f"header must have {_HEADER_LENGTH} bytes, not {list(header.shape)}")
    if header[0] != VERSION:
        raise MessageError(f"the version of counts must be {VERSION}, not {header[0]}")
    if header[1] > 1:
        raise MessageError(f"the mark of own scores must be 0 or 1, not {header[1]}")
    found = header[2:].tobytes()
    if found != expected:
        raise MessageError(
            f"the hash of the {what} must be {expected.hex()[:12]}..., not {found.hex()[:12]}..."
        )
    return bool(header[1])


def _check_indptr(
    nodes: npt.NDArray[np.int32], parents: npt.NDArray[np.int32], indptr: npt.NDArray[np.int64]
) -> None:
    within = bool(((indptr >= 0) & (indptr <= parents.size)).all())
    shaped = indptr.size == nodes.size + 1 and within
    if not shaped or indptr[0] != 0 or indptr[-1] != parents.size or (np.diff(indptr) < 0).any():
        raise MessageError(
            f"indptr must be [{nodes.size + 1}] and rise from 0 to the number of parents, "
            f"{parents.size}"
        )


def _check_own(
    own: npt.NDArray[np.int64], counts: FamilyCounts, request: FamilyRequest, ess: float
) -> None:
    """Own scores are those of the counts; one unit is for the last digit of another machine."""
    wanted = len(request.tables.families) if request.with_own else 0
    if own.shape != (wanted,):
        raise MessageError(f"own must be [{wanted}], not {list(own.shape)}")
    if not request.with_own:
        return
    expected = own_scores(counts, ess)
    wrong = np.flatnonzero((own > expected + 1) | (own < expected - 1))
    if wrong.size:
        family = request.tables.families[int(wrong[0])]
        raise MessageError(
            f"the own score of family {tuple(family)} must be {expected[wrong[0]]}, as its counts "
            f"say, not {own[wrong[0]]}"
        )
