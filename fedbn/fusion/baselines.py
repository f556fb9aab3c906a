"""Other ways to make one DAG of several, behind one interface: `fuse_by(name, dags, ...)`.

- union: the unrestricted fusion G+ (Peña 2011; order of Puerta et al. 2021).
- intersection: the edges that all minimal I-maps under the same order share.
- vote: edges by the share of inputs that have them, as in model averaging; above a fixed threshold
  or one found from the shares (Scutari, Nagarajan 2013, as in bnlearn).
- median: greedy descent on the mean SMHD (`median.py`).
- genetic-union, genetic-inputs: of bounded treewidth (`genetic.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedbn.errors import ConfigError
from fedbn.fusion.genetic import genetic_inputs, genetic_union
from fedbn.fusion.inputs import MergedInputs, merge_inputs
from fedbn.fusion.median import median_dag
from fedbn.fusion.union import fuse, fuse_inputs
from fedbn.fusion.weights import Weight
from fedbn.graphs.dag import DAG

__all__ = [
    "BASELINES",
    "arc_votes",
    "automatic_threshold",
    "edge_vote",
    "elected",
    "fuse_by",
    "intersection",
    "threshold_of",
    "union",
]


class Baseline(Protocol):
    """DAGs over the same names, weights, a source of randomness: one DAG, names sorted as text."""

    def __call__(
        self,
        dags: Sequence[DAG],
        weights: Sequence[Weight] | None = None,
        rng: np.random.Generator | None = None,
    ) -> DAG: ...


def union(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    rng: np.random.Generator | None = None,
) -> DAG:
    """G+, the unrestricted fusion."""
    return fuse(dags, weights, rng).union


def intersection(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    rng: np.random.Generator | None = None,
) -> DAG:
    """The edges that the minimal I-maps of all inputs under one order share."""
    _, imaps, _ = fuse_inputs(merge_inputs(dags, weights), rng)
    shared = np.logical_and.reduce([imap.adjacency for imap in imaps])
    return DAG(imaps[0].names, shared)


def edge_vote(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    rng: np.random.Generator | None = None,
    *,
    threshold: Fraction | float | None = None,
) -> DAG:
    """Edges whose share of the inputs is above a threshold, most frequent first.

    The strength of a pair is the weight of the inputs that join it, its direction the more frequent
    one (ties: from the smaller name). An edge that would close a cycle is left out.

    Parameters
    ----------
    dags, weights : the inputs.
    rng : not used.
    threshold : a share in [0, 1]; found from the strengths by default.

    Raises
    ------
    ConfigError : the threshold is outside [0, 1].
    """
    inputs = merge_inputs(dags, weights)
    if threshold is not None and not 0 <= threshold <= 1:
        raise ConfigError(f"the threshold must be a share in [0, 1], got {threshold}")
    least = automatic_threshold(inputs) if threshold is None else Fraction(threshold)
    return elected(inputs.names, arc_votes(inputs), least * inputs.total)


def elected(names: tuple[str, ...], votes: NDArray[np.int64], least: Fraction) -> DAG:
    """The edges whose weight is above `least`, as `edge_vote` takes them.

    votes : int64 [n, n], weight of the inputs with a -> b.
    """
    strengths = votes + votes.T
    n = len(names)
    pairs = [
        (-int(strengths[a, b]), a, b)
        for a in range(n)
        for b in range(a + 1, n)
        if strengths[a, b] > least
    ]
    chosen = np.zeros((n, n), dtype=np.bool_)
    reach = np.eye(n, dtype=np.bool_)
    for _, a, b in sorted(pairs):
        x, y = (a, b) if votes[a, b] >= votes[b, a] else (b, a)
        if not reach[y, x]:
            chosen[x, y] = True
            reach |= np.outer(reach[:, x], reach[y])
    return DAG(names, chosen)


def automatic_threshold(inputs: MergedInputs) -> Fraction:
    """bnlearn's threshold: the strength at the quantile t whose step is nearest to their ECDF.

    With F the distribution function of the strengths of all pairs, t minimises the integral of
    |F(p) - t| over [0, 1], and the threshold is the smallest strength s with F(s) >= t. Edges are
    significant above it.
    """
    return threshold_of(arc_votes(inputs), inputs.total)


def threshold_of(votes: NDArray[np.int64], total: int) -> Fraction:
    """`automatic_threshold` from int64 [n, n], weight of the inputs with a -> b, and the total."""
    both = (votes + votes.T)[np.triu_indices(len(votes), k=1)]
    if not both.size:
        return Fraction(0)
    strengths, counts = np.unique(both, return_counts=True)
    levels = [Fraction(int(c), int(both.size)) for c in np.cumsum(counts)]
    shares = [Fraction(int(s), total) for s in strengths]
    widths = [b - a for a, b in zip([Fraction(0), *shares], [*shares, Fraction(1)], strict=True)]
    heights = [Fraction(0), *levels]

    def distance(t: Fraction) -> Fraction:
        parts = (w * abs(h - t) for w, h in zip(widths, heights, strict=True))
        return sum(parts, Fraction(0))

    best = min(heights, key=distance)
    return next(s for s, level in zip(shares, levels, strict=True) if level >= best)


def arc_votes(inputs: MergedInputs) -> NDArray[np.int64]:
    """int64 [n, n]: weight of the inputs with a -> b."""
    return np.tensordot(inputs.weight_array, inputs.adjacency.astype(np.int64), axes=1)


def median(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    rng: np.random.Generator | None = None,
) -> DAG:
    """`median_dag` from the empty graph; `rng` is not used."""
    return median_dag(dags, weights)


BASELINES: Mapping[str, Baseline] = {
    "union": union,
    "intersection": intersection,
    "vote": edge_vote,
    "median": median,
    "genetic-union": genetic_union,
    "genetic-inputs": genetic_inputs,
}


def fuse_by(
    name: str,
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    rng: np.random.Generator | None = None,
) -> DAG:
    """One DAG from several by a baseline of this name, with its default settings.

    Raises
    ------
    ConfigError : the name is unknown. StructureError : no DAG, or DAGs over different names.

    Examples
    --------
    >>> chain = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
    >>> fuse_by("vote", [chain, chain, DAG.empty("abc")]).n_edges
    2
    """
    if name not in BASELINES:
        raise ConfigError(f"a baseline must be one of {', '.join(BASELINES)}, got {name!r}")
    return BASELINES[name](dags, weights, rng)
