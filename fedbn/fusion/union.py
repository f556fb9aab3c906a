"""Unrestricted fusion: the union G+ of the minimal I-maps under one order.

All the maps follow the same order, so the union is acyclic, and it is an I-map of every input.

The order heuristic is that of Puerta, Aledo, Gámez, Laborda: Efficient and accurate structural
fusion of Bayesian networks, Information Fusion 66 (2021); σ is built from last to first. For each
remaining node v, cost(v) = (children(v) - 1) + #{(p, c): p parent, c child of v, p and c not
adjacent} + #{q: q another parent of some child of v, q and v not adjacent}, summed over the current
DAGs with their weights; the cheapest node goes in front of σ, becomes a sink in every DAG by
covered reversals and is removed. A sink costs -1, as in the authors' program. The result depends on
which child is reversed first where several qualify: here the one of smallest name.

Where background knowledge is kept (docs/decisions/026), required edges and tiers bind the order, a
forbidden arc whose reverse is allowed binds the next try, and what is forbidden still leaves the
union, which then is no I-map of all inputs any more; required edges join it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedbn.arrays import Bits, Floats, Ints
from fedbn.fusion.inputs import MergedInputs, Variables, merge_inputs
from fedbn.fusion.weights import Weight
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge

if TYPE_CHECKING:
    from fedbn._core.fusion import Precedence

Report = Callable[[str, int, int], None]  # stage, done, of how many

# Work between two reports: inputs times nodes that get their place, words of I-maps.
PLACES_AT_ONCE = 2_000_000
MAPS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class Fusion:
    """Result of the unrestricted fusion.

    Attributes
    ----------
    order : σ, the names from first to last.
    imaps : the minimal I-map of every given DAG under σ, in the order given.
    union : G+, their union; names sorted as text.
    """

    order: tuple[str, ...]
    imaps: tuple[DAG, ...]
    union: DAG


def fuse(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    rng: np.random.Generator | None = None,
    variables: Variables = "same",
) -> Fusion:
    """Order, minimal I-maps and their union.

    Parameters
    ----------
    dags : at least one, over the same names in any order, unless `variables` is "union".
    weights : one positive int or Fraction per DAG (they only matter for the order); default 1.
    rng : chooses among ties of the order heuristic; ties go to the smallest name without it.
    variables : see `merge_inputs`; in an I-map what a DAG does not observe is isolated.

    Raises
    ------
    StructureError : no DAG, or DAGs over different names. ConfigError : a bad weight.

    Examples
    --------
    >>> chain = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
    >>> fuse([chain, chain]).union == chain
    True
    """
    inputs = merge_inputs(dags, weights, variables)
    order, imaps, union = fuse_inputs(inputs, rng)
    place = {i: k for k, members in enumerate(inputs.members) for i in members}
    return Fusion(order, tuple(imaps[place[i]] for i in range(len(dags))), union)


def fuse_inputs(
    inputs: MergedInputs, rng: np.random.Generator | None = None
) -> tuple[tuple[str, ...], tuple[DAG, ...], DAG]:
    """Order, I-map of every distinct input, and union."""
    from fedbn._core.fusion import OrderHeuristic, minimal_imaps

    n = len(inputs.names)
    draws = np.empty(0) if rng is None else rng.random(n)
    heuristic = OrderHeuristic(
        inputs.parent_bits, inputs.weight_array, draws, observed=inputs.observed_bits
    )
    heuristic.extend(n)
    order = heuristic.order
    maps = minimal_imaps(inputs.parent_bits, order)
    imaps = tuple(DAG.from_parent_bits(inputs.names, parents) for parents in maps)
    union = DAG.from_parent_bits(inputs.names, np.bitwise_or.reduce(maps))
    return tuple(inputs.names[i] for i in order), imaps, union


def fuse_in_stages(
    inputs: MergedInputs,
    rng: np.random.Generator | None,
    report: Report,
    quorum: int = 1,
    knowledge: Knowledge | None = None,
) -> tuple[Ints, Bits]:
    """σ as indices [n], and the parents in G+ as bits [n, W].

    quorum : how many of the given DAGs must have an arc in their I-map; 1: their union. Where fewer
        observe both ends, all of these must have it.
    report : called as report("order" or "I-maps", done, of how many) every second or so; may raise
        to stop.
    knowledge : what G+ keeps; see `precedence_of`.
    """
    n = len(inputs.names)
    draws = np.empty(0) if rng is None else rng.random(size=(n,))
    if knowledge is None:
        return _fuse_once(inputs, draws, report, quorum, None)
    precedence = precedence_of(knowledge, inputs.names)
    while True:
        order, union = _fuse_once(inputs, draws, report, quorum, precedence.after)
        if not precedence.settle(union):
            return order, precedence.kept(union)


def precedence_of(knowledge: Knowledge, names: Sequence[str]) -> Precedence:
    """What the knowledge puts in order: required edges and tiers; `settle` adds to it.

    Raises
    ------
    ConfigError : the knowledge names a variable that is not among the names.
    """
    from fedbn._core.fusion import Precedence

    return Precedence(**knowledge.bits(names), after=knowledge.after(names))


def _fuse_once(
    inputs: MergedInputs,
    draws: Floats,
    report: Report,
    quorum: int,
    after: Bits | None,
) -> tuple[Ints, Bits]:
    """The order in which row v of `after` follows v, and the union of the I-maps under it."""
    from fedbn._core.fusion import OrderHeuristic, arcs_of_quorum, minimal_imaps

    pa = inputs.parent_bits
    r, n, _ = pa.shape
    heuristic = OrderHeuristic(pa, inputs.weight_array, draws, after, inputs.observed_bits)
    left = n
    while left > 0:
        left = heuristic.extend(max(1, PLACES_AT_ONCE // (r * n)))
        report("order", n - left, n)
    order = heuristic.order
    union = np.zeros_like(pa[0])
    maps = np.empty_like(pa[: r if quorum > 1 else 0])
    at_once = max(1, MAPS_AT_ONCE // (n * n))
    for start in range(0, r, at_once):
        some = minimal_imaps(pa[start : start + at_once], order)
        union |= np.bitwise_or.reduce(some)
        maps[start : start + at_once] = some[: len(maps)]
        report("I-maps", min(start + at_once, r), r)
    if quorum > 1:
        union = arcs_of_quorum(maps, inputs.counts, quorum, inputs.observed_bits)
    return order, union
