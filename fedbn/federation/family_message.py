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
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from fedbn.arrays import Array, Bools, Ints
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import MessageError
from fedbn.networks.family_counts import (
    MAX_ROWS,
    SMALL_CELLS,
    Family,
    FamilyCounts,
    FamilyTables,
    count_own_families,
)
from fedbn.scores.family_scores import own_scores
from fedbn.wire.arrays import ArrayFormat, Field, Mark, unpack_bits
from fedbn.wire.npy import Arrays
from fedbn.wire.sender import said_by

VERSION = 4
"""Of both forms."""

MAX_SITE_ROWS = MAX_ROWS >> 12
"""Rows of one site at most, so that no site alone can make the sum over 4,096 sites too large."""

_WIDTHS = (np.uint8, np.uint16, np.uint32, np.uint64)
_WITH_OWN = Mark("mark of own scores", 2)

REQUESTS = ArrayFormat(
    "families",
    version=VERSION,
    about="schema",
    marks=(_WITH_OWN,),
    fields=(
        Field("nodes", np.int32, ("F",), below="n"),
        Field("parents", np.int32, ("P",), below="n"),
        Field("indptr", np.int64, ("F + 1",), rises_to="P"),
    ),
)
ANSWERS = ArrayFormat(
    "counts",
    version=VERSION,
    about="request",
    marks=(_WITH_OWN,),
    fields=(
        Field("given", np.uint8, ("G",)),
        Field("seen", np.uint8, ("C",)),
        Field("gaps", _WIDTHS, ("L",), narrow=True),
        Field("cells", _WIDTHS, ("K",), least=1, most=MAX_ROWS, narrow=True),
        Field("own", np.int64, ("O",)),
    ),
)


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
        for key in REQUESTS.keys:
            data = arrays[key].tobytes()
            summed.update(len(data).to_bytes(8, "little") + data)
        return summed.digest()


@dataclass(frozen=True, eq=False)
class FamilyAnswer:
    """One site's counts, of the families that it gives; `own` is int64 [F], or empty. Where own
    scores are wanted all families are given: they are compared with each other."""

    counts: FamilyCounts
    own: Ints


def answer_request(request: FamilyRequest, dataset: Dataset, ess: float) -> FamilyAnswer:
    """The answer of a site with this table, whose states are those of the request's schema; raises
    StructureError where it lacks a column of a family that is asked for."""
    counts = count_own_families(dataset, request.tables)
    own = own_scores(counts, ess) if request.with_own else np.zeros(0, dtype=np.int64)
    return FamilyAnswer(counts, own)


def request_to_arrays(request: FamilyRequest) -> dict[str, Array]:
    """The arrays of a request, as `REQUESTS` has them."""
    families = request.tables.families
    return REQUESTS.encode(
        bytes.fromhex(request.tables.schema.hash),
        (request.with_own,),
        nodes=[family.node for family in families],
        parents=np.array([parent for family in families for parent in family.parents], np.int32),
        indptr=np.cumsum([0, *(len(family.parents) for family in families)]),
    )


@said_by()
def request_from_arrays(arrays: Arrays, schema: Schema) -> FamilyRequest:
    """Check the arrays of a request and build it; raises MessageError."""
    found = REQUESTS.decode(arrays, bytes.fromhex(schema.hash), n=schema.n)
    families = tuple(
        Family(node, tuple(found["parents"][first:last].tolist()))
        for node, (first, last) in zip(
            found["nodes"].tolist(), pairwise(found["indptr"].tolist()), strict=True
        )
    )
    return FamilyRequest(FamilyTables(schema, families), bool(found.marks[_WITH_OWN.name]))


def answer_to_arrays(request: FamilyRequest, answer: FamilyAnswer) -> dict[str, Array]:
    """The arrays of an answer, as `ANSWERS` has them."""
    place = answer.counts.tables.place
    seen, gaps, cells = _pack(answer.counts)
    return ANSWERS.encode(
        request.digest,
        (request.with_own,),
        given=np.packbits([family in place for family in request.tables.families]),
        seen=seen,
        gaps=gaps,
        cells=cells,
        own=answer.own,
    )


@said_by()
def answer_from_arrays(arrays: Arrays, request: FamilyRequest, ess: float) -> FamilyAnswer:
    """Check the arrays of an untrusted site's answer to `request`, whose own scores are of the
    equivalent sample size `ess`, and build it; raises MessageError."""
    found = ANSWERS.decode(arrays, request.digest)
    if bool(found.marks[_WITH_OWN.name]) != request.with_own:
        raise MessageError("own scores must be there if, and only if, they were asked for")
    tables = tables_given(found["given"], request)
    counts = _unpack(found["seen"], found["gaps"], found["cells"], tables)
    if not 1 <= counts.rows <= MAX_SITE_ROWS:
        raise MessageError(
            f"counts must be of at least 1 row and at most {MAX_SITE_ROWS}, not {counts.rows}"
        )
    _check_own(found["own"], counts, request, ess)
    return FamilyAnswer(counts, found["own"])


def _pack(counts: FamilyCounts) -> tuple[Array, Array, Array]:
    """Which cells of small tables are not empty, as bits; the gaps between those of the larger
    ones; the counts of all of these."""
    layout = _Layout.of(counts.tables)
    small, place = layout.within(counts.places)
    bits = np.zeros(layout.small_cells, dtype=np.bool_)
    bits[place[small]] = True
    gaps = np.diff(place[~small], prepend=-1) - 1
    cells = np.concatenate([counts.counts[small], counts.counts[~small]])
    return np.packbits(bits), gaps, cells


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

    start: Ints
    is_small: Bools
    base: Ints
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

    def within(self, places: Ints) -> tuple[Bools, Ints]:
        """Whether each cell is of a small table, and its place among the cells of its kind."""
        family = np.searchsorted(self.start, places, side="right") - 1
        return self.is_small[family], places - self.start[family] + self.base[family]

    def places(self, small: bool, within: Ints) -> Ints:
        """The inverse of `within`, of cells of one kind."""
        families = np.flatnonzero(self.is_small == small)
        family = families[np.searchsorted(self.base[families], within, side="right") - 1]
        return within - self.base[family] + self.start[family]


def tables_given(given: Array, request: FamilyRequest) -> FamilyTables:
    """The tables of the families that are given: all where own scores are, else at least one.
    Raises MessageError for others, or where `given` is not of the request's length."""
    families = request.tables.families
    bits = unpack_bits("given", given, len(families), "families")
    if bits.all():
        return request.tables
    if request.with_own or not bits.any():
        least = "all families" if request.with_own else "at least one family"
        raise MessageError(f"the counts of {least} must be given, found {int(bits.sum())}")
    kept = tuple(family for family, bit in zip(families, bits.tolist(), strict=True) if bit)
    return FamilyTables(request.tables.schema, kept)


def _unpack(seen: Array, gaps: Array, cells: Array, tables: FamilyTables) -> FamilyCounts:
    """The counts; raises MessageError unless `_pack` would give the same bytes."""
    layout = _Layout.of(tables)
    bits = unpack_bits("seen", seen, layout.small_cells, "cells")
    filled = int(bits.sum()) + gaps.size
    if cells.size != filled:
        raise MessageError(f"cells must be [{filled}] by seen and gaps, not {list(cells.shape)}")
    places = np.concatenate(
        [
            layout.places(True, np.flatnonzero(bits)),
            layout.places(False, _after_gaps(gaps, layout.large_cells)),
        ]
    )
    order = np.argsort(places, kind="stable")
    return FamilyCounts(tables, places[order], cells.astype(np.int64)[order])


def _after_gaps(gaps: Array, size: int) -> Ints:
    """The cells that gaps of empty ones precede; MessageError unless all are below `size`."""
    if int(gaps.max(initial=0)) > size or float(gaps.astype(np.float64).sum()) > size - gaps.size:
        raise MessageError(f"gaps must lead to cells below {size}")
    return np.asarray(np.cumsum(gaps.astype(np.int64) + 1) - 1)


def _check_own(own: Ints, counts: FamilyCounts, request: FamilyRequest, ess: float) -> None:
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
            f"the own score of family {tuple(family)} must be {expected[wrong[0]]} by its "
            f"counts, not {own[wrong[0]]}"
        )
