"""Shares of missing cells as a site tells them: column -> per cent, up to a multiple of UNIT.

A share that passes a multiple shows that a cell was lost or found. So where a site has `min-cell`,
shares are told only if no count of missing cells differs by fewer from one that was told of before,
in a share or in counts with a state for missing cells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from fedbn.bounded_file import json_value
from fedbn.data.dataset import Dataset
from fedbn.errors import DataError, MessageError
from fedbn.privacy.told_counts import ToldCounts, missing_cells
from fedbn.wire.texts import canonical

UNIT = 5

MissingShares = tuple[tuple[str, int], ...]
"""(column, per cent) of the columns with missing cells, by name."""


def missing_shares(dataset: Dataset, least: int = 0) -> MissingShares:
    """What is told of a table: nothing of a column without missing cells, or where fewer than
    `least` cells are missing or fewer than `least` are there.

    >>> from fedbn.data.dataset import Schema
    >>> schema = Schema.categorical({"a": "01", "b": "01"})
    >>> missing_shares(Dataset(schema, [[0, 0]] * 3, [[0, 0], [0, 1], [0, 0]]))
    (('b', 35),)
    """
    if dataset.gone is None:
        return ()
    return tuple(
        (name, UNIT * -(-100 * missing // (UNIT * dataset.n_rows)))
        for name, missing in zip(dataset.names, dataset.gone.sum(axis=0).tolist(), strict=True)
        if missing >= max(least, 1) and dataset.n_rows - missing >= least
    )


def missing_counts(dataset: Dataset, digest: str) -> list[ToldCounts]:
    """How many cells of each column are there and missing, to compare with what was told before."""
    assert dataset.gone is not None
    missing = dataset.gone.sum(axis=0)
    return [
        missing_cells(digest, name, dataset.n_rows, int(count))
        for name, count in zip(dataset.names, missing, strict=True)
    ]


def shares_text(shares: Iterable[tuple[str, int]]) -> str:
    """The shares as they travel: canonical JSON."""
    return canonical(dict(shares))


def read_shares(text: str, names: Collection[str]) -> MissingShares:
    """The inverse of `shares_text`; raises MessageError for other columns than these, or other
    numbers than a site tells."""
    try:
        shares = dict(json_value(text))
    except (ValueError, TypeError, DataError) as error:
        raise MessageError(f"shares of missing cells must be JSON: {error!r:.100}") from None
    told = {UNIT * step for step in range(1, 100 // UNIT + 1)}
    for name, share in shares.items():
        if name not in names or type(share) is not int or share not in told:
            raise MessageError(
                f"a share of missing cells must be of an agreed column and a multiple of {UNIT} "
                f"from {UNIT} to 100, not {name!r:.60}: {share!r:.30}"
            )
    return tuple(sorted(shares.items()))
