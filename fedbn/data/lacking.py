"""Which sites lack which columns, drawn for simulations of sites that measure different things."""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bools, Ints
from fedbn.errors import ConfigError


def draw_columns(
    n: int,
    sites: int,
    share: float,
    rng: np.random.Generator,
    *,
    blocks: int | None = None,
    neighbours: Ints | None = None,
) -> Bools:
    """Which site has which column: every site lacks a share, and every column stays somewhere.

    Every site lacks round(share x n) columns. What all sites would lack, one of them, drawn, has.

    Parameters
    ----------
    n, sites : how many there are.
    share : of the columns that a site lacks, in [0, 1).
    rng : draws.
    blocks : columns are dealt out to so many panels at random, and a site lacks whole panels,
        round(share x blocks) of them.
    neighbours : int64 [n]; the chance of a column to be lost is in proportion to this + 0.1: hubs
        are lost most.

    Returns
    -------
    bool [sites, n]; every site has at least one column.

    Raises
    ------
    ConfigError : the share is out of its range, there are more blocks than columns, or both
        patterns are wanted.

    Examples
    --------
    >>> draw_columns(10, 3, 0.2, np.random.default_rng(1)).sum(axis=1).tolist()
    [8, 8, 8]
    """
    if not 0 <= share < 1:
        raise ConfigError(f"the share of missing variables must be in [0, 1), not {share:g}")
    if blocks is not None and neighbours is not None:
        raise ConfigError("missing-blocks and missing-hubs exclude each other")
    if blocks is not None and not 2 <= blocks <= n:
        raise ConfigError(f"missing-blocks must be between 2 and {n}, the columns, not {blocks}")
    block_of = np.arange(n) if blocks is None else rng.permutation(np.arange(n) % blocks)
    many = n if blocks is None else blocks
    chance = None
    if neighbours is not None:
        chance = (neighbours + 0.1) / (neighbours + 0.1).sum()
    lost = min(round(share * many), many - 1)
    has = np.ones((sites, many), dtype=np.bool_)
    for row in has:
        row[rng.choice(many, lost, replace=False, p=chance)] = False
    for column in np.flatnonzero(~has.any(axis=0)):
        has[rng.integers(sites), column] = True
    return np.ascontiguousarray(has[:, block_of])
