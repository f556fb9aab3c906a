"""One column of a file as it is read, and what every header must be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bools, Floats
from fedbn.errors import DataError

LARGEST_EXACT = 2.0**53
"""Beyond this, not every integer is a float."""


@dataclass(frozen=True)
class Column:
    """One column of a file: its distinct texts (None: no value at all) and an index into them.

    Parameters
    ----------
    texts : distinct, in any order.
    index : [rows], of any type of integers that holds them (see `index_type`).
    values : float [rows], instead of both, of a column of finite numbers.
    gone : bool [rows], of a column of numbers, which cells are missing; None for no one.
    refusal : why the column cannot be states, whatever its cells; empty where it can.
    """

    texts: Sequence[str | None]
    index: NDArray[np.integer[Any]]
    values: Floats | None = None
    refusal: str = ""
    gone: Bools | None = None

    def first_row(self, text: str | None) -> int:
        """The first row, counted from 1, that has the text."""
        return int(np.argmax(self.index == self.texts.index(text))) + 1

    @property
    def n_rows(self) -> int:
        """Number of cells."""
        return len(self.index if self.values is None else self.values)


def index_type(texts: int) -> np.dtype[Any]:
    """The narrowest type for an index into so many texts, so that little memory is touched.

    >>> [str(index_type(count)) for count in (1, 256, 257, 70_000)]
    ['uint8', 'uint8', 'uint16', 'int32']
    """
    return np.dtype(np.uint8 if texts <= 1 << 8 else np.uint16 if texts <= 1 << 16 else np.int32)


def mask(columns: Mapping[str, Column], keep: Bools) -> dict[str, Column]:
    """The same columns with the rows to keep, and the texts that these have."""
    return {name: _mask(column, keep) for name, column in columns.items()}


def _mask(column: Column, keep: Bools) -> Column:
    if column.values is not None:
        gone = None if column.gone is None else column.gone[keep]
        return replace(column, index=column.index[keep], values=column.values[keep], gone=gone)
    used, index = np.unique(column.index[keep], return_inverse=True)
    texts = [column.texts[code] for code in used]
    return replace(column, texts=texts, index=index.astype(column.index.dtype))


@dataclass(frozen=True)
class Header:
    """The columns' names; `V` and its place for one without a name, and which those are."""

    names: list[str]
    unnamed: frozenset[str] = frozenset()

    @staticmethod
    def of(source: str, first: Sequence[str], named: bool = True) -> Header:
        """What the first row says; with `named` False all names are places.

        Raises
        ------
        DataError : there is no column, or two have one name.
        """
        places = [f"V{place}" for place in range(1, len(first) + 1)]
        if not named:
            require_header(source, places)
            return Header(places)
        names = [name or place for name, place in zip(first, places, strict=True)]
        require_header(source, names)
        pairs = zip(first, places, strict=True)
        return Header(names, frozenset(place for name, place in pairs if not name))

    def require_named(self, source: str, wanted: Sequence[str]) -> None:
        """Raise DataError where a wanted column has no name."""
        for name in wanted:
            if name in self.unnamed:
                raise DataError(
                    f"{source}: column {self.names.index(name) + 1} has no name: if it is an index "
                    f"of rows, leave it out with --leave-out {name}; else name it in the file"
                )


def require_header(source: str, header: Sequence[str]) -> None:
    if not header:
        raise DataError(f"{source} is empty: a table needs a header and at least one row")
    first: dict[str, int] = {}
    for position, name in enumerate(header, start=1):
        if first.setdefault(name, position) != position:
            raise DataError(
                f"{source}: column name {name!r} must occur once, "
                f"columns {first[name]} and {position} have it; rename one in the file, or read "
                "it without its header: --skip-lines 1 --header no"
            )


def require_rows(source: str, n_rows: int) -> None:
    if n_rows < 1:
        raise DataError(f"{source} has a header but no row; at least one is needed")
