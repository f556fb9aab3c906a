"""How far stated probabilities are from shares of edges: in bins, over pairs and over networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Floats
from fedbn.consensus.sureness import SURENESS, Pairs, probabilities
from simulations.studies.strengths.fit import fit_sureness
from simulations.study_cases import Row

WIDTH = 10
"""Bins of stated probability: 0 to 10 %, ..., 90 to 100 %."""

LEAST = 30
"""Pairs that a bin must have to count in the mean over bins."""

FOLDS = 10

DRAWS = 2_000
"""Bootstrap samples of the families of networks."""


class Bin(NamedTuple):
    """Pairs of about the same stated probability.

    weight : of all of them; stated, true : mean stated probability and share of edges among them,
        in points (0 to 100).
    """

    pairs: int
    weight: float
    stated: float
    true: float


def seen(rows: Sequence[Row]) -> Iterator[tuple[Pairs, int, int, Floats]]:
    """Of every federation the pairs, sites, variables, and which of the pairs are edges."""
    for row in rows:
        for sites in row["sites"]:
            k, common, degree, clustering, edges = np.array(row[f"of_{sites}"]).reshape(-1, 5).T
            none = np.zeros(len(k), dtype=np.int64)
            yield Pairs(none, none, k, common, degree, clustering), sites, row["variables"], edges


def bins(rows: Sequence[Row], *, networks_alike: bool = False) -> list[Bin]:
    """The pairs of the rows by stated probability; bins without a pair are left out.

    networks_alike : all networks have the same weight, whatever the number of their pairs.
    """
    return _bins(_totals(rows, networks_alike=networks_alike))


def left_out(rows: Sequence[Row], family: Mapping[str, str]) -> tuple[list[Bin], list[Bin]]:
    """As `bins`, over pairs and with networks alike, but each probability is stated by constants
    fitted to rows of other families.

    The families are in `FOLDS` parts; the constants are fitted once without each part. family : as
    of `interval`.
    """
    names = [family.get(row["network"], row["network"]) for row in rows]
    part = {name: place % FOLDS for place, name in enumerate(sorted(set(names)))}
    once: dict[str, Floats] = {}
    alike: dict[str, Floats] = {}
    for fold in sorted(set(part.values())):
        others = [row for row, name in zip(rows, names, strict=True) if part[name] != fold]
        own = [row for row, name in zip(rows, names, strict=True) if part[name] == fold]
        fitted = fit_sureness(list(seen(others)))
        once |= _totals(own, fitted, networks_alike=False)
        alike |= _totals(own, fitted, networks_alike=True)
    return _bins(once), _bins(alike)


def _bins(totals: Mapping[str, Floats]) -> list[Bin]:
    summed = sum(totals.values(), np.zeros((4, WIDTH)))
    return [Bin(int(n), w, 100 * s / w, 100 * t / w) for n, w, s, t in summed.T if n]


def _totals(
    rows: Sequence[Row], numbers: Sequence[float] = SURENESS, *, networks_alike: bool
) -> dict[str, Floats]:
    """Network -> float64 [4, WIDTH]: pairs, their weight, what is stated of them, true ones."""
    found: dict[str, Floats] = {}
    for row in rows:
        for pairs, sites, variables, edges in seen([row]):
            stated = probabilities(pairs, sites, variables, numbers)
            at = np.minimum((stated * WIDTH).astype(np.int64), WIDTH - 1)
            ones = np.ones(len(at))
            sums = [np.bincount(at, each, WIDTH) for each in (ones, ones, stated, edges)]
            name = row["network"]
            found[name] = found.get(name, np.zeros((4, WIDTH))) + np.array(sums)
    if networks_alike:
        for total in found.values():
            total[1:] /= max(total[0].sum(), 1.0)
    return found


def deviation(found: Sequence[Bin]) -> float:
    """Mean absolute deviation in points, each bin with its weight."""
    weight = sum(each.weight for each in found)
    far = sum(each.weight * abs(each.stated - each.true) for each in found)
    return far / weight if weight else 0.0


def over_bins(found: Sequence[Bin]) -> float:
    """Mean absolute deviation in points, over the bins of at least `LEAST` pairs."""
    return deviation([each._replace(weight=1.0) for each in found if each.pairs >= LEAST])


def one_at_a_time(rows: Sequence[Row]) -> list[float]:
    """The deviation over pairs of every network alone, sorted."""
    names = sorted({row["network"] for row in rows})
    return sorted(deviation(bins([row for row in rows if row["network"] == n])) for n in names)


def interval(
    rows: Sequence[Row], family: Mapping[str, str], *, networks_alike: bool
) -> tuple[float, float]:
    """The 95 % bootstrap interval of the deviation: families of networks are drawn again.

    family : of networks; a network that is not there is one of its own.
    """
    totals = _totals(rows, networks_alike=networks_alike)
    families: dict[str, Floats] = {}
    for name, total in totals.items():
        key = family.get(name, name)
        families[key] = families.get(key, np.zeros((4, WIDTH))) + total
    stack = np.array(list(families.values()))
    drawn = np.random.default_rng(0).integers(len(stack), size=(DRAWS, len(stack)))
    summed = stack[drawn].sum(axis=1)
    far = np.abs(summed[:, 2] - summed[:, 3]).sum(axis=1) / summed[:, 1].sum(axis=1)
    low, high = np.quantile(100 * far, (0.025, 0.975))
    return float(low), float(high)
