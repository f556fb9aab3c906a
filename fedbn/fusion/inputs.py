"""The inputs of a fusion: DAGs over the same or different variables, identical ones merged.

Identical inputs have the same I-map, the same cuts and lose the same arcs, so they stay identical
for ever: one copy with the summed weight gives the same result. Variables are put in name order,
so ties by the smallest index are ties by name, and the result depends neither on the order of the
clients nor on that of the columns.

With `variables` "union" a DAG is about its own names alone: the inputs are over all names, and say
which of them each observes. Equal edges over different names are different inputs.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits, Bools, Indices, Ints
from fedbn.errors import ConfigError, StructureError
from fedbn.fusion.weights import Weight, checked_weights, common_scale
from fedbn.graphs.bits import pack
from fedbn.graphs.dag import DAG
from fedbn.graphs.graph import positions

Variables = Literal["same", "union"]
VARIABLES: tuple[Variables, ...] = ("same", "union")

# Sums of weights times cuts are int64 in the core.
LARGEST_SUM = 2**62
_AFTER_ALL = LARGEST_SUM.to_bytes(8, "big")

_PACKED_AT_ONCE = 2**24
"""Bytes of matrices up to which those of all inputs are packed together."""


@dataclass(frozen=True, eq=False)
class MergedInputs:
    """Distinct DAGs with exact weights; what an input does not observe is isolated in it.

    Attributes
    ----------
    names : the variables, sorted as text, but for `reorder`.
    dags : the distinct inputs, [r], over these names.
    weights : coprime positive ints [r], proportional to the given weights.
    unit : the given weight for which the integer 1 stands.
    members : for each distinct input, the positions of the given DAGs that are equal to it.
    observed : bool [r, n], read-only: which variables a distinct input is about; None: all of them.
    site_counts : int64 [r], where there is `observed`: of the inputs about one set of variables the
        first has the number of sites that they come from, the others 0.
    """

    names: tuple[str, ...]
    dags: tuple[DAG, ...]
    weights: tuple[int, ...]
    unit: Fraction
    members: tuple[tuple[int, ...], ...]
    observed: Bools | None = None
    site_counts: Ints | None = None

    @property
    def total(self) -> int:
        """Sum of the integer weights."""
        return sum(self.weights)

    @property
    def count(self) -> int:
        """Number of DAGs that were given."""
        return sum(len(m) for m in self.members)

    @cached_property
    def counts(self) -> Ints:
        """How many of the given DAGs each distinct input stands for, int64 [r]."""
        return np.array([len(m) for m in self.members], dtype=np.int64)

    @cached_property
    def adjacency(self) -> Bools:
        """bool [r, n, n], read-only; [i, a, b] means a -> b in distinct input i."""
        stacked = np.stack([dag.adjacency for dag in self.dags])
        stacked.flags.writeable = False
        return stacked

    @cached_property
    def own_dags(self) -> tuple[DAG, ...]:
        """The distinct inputs, each over the names that it observes."""
        if self.observed is None:
            return self.dags
        return tuple(
            dag.restrict([self.names[v] for v in np.flatnonzero(row)])
            for row, dag in zip(self.observed, self.dags, strict=True)
        )

    def reorder(self, order: Indices) -> MergedInputs:
        """The same inputs with the variables in another order, [n] indices of this one."""
        observed = None if self.observed is None else self.observed[:, order]
        dags = tuple(dag.permute(order) for dag in self.dags)
        return replace(self, names=dags[0].names, dags=dags, observed=observed)

    @cached_property
    def parent_bits(self) -> Bits:
        """Parents of every node as uint64 [r, n, W]. Not to be changed."""
        if len(self.dags) * len(self.names) ** 2 <= _PACKED_AT_ONCE:
            return pack(np.stack([dag.adjacency.T for dag in self.dags]))
        return np.stack([dag.parent_bits for dag in self.dags])

    @cached_property
    def observed_bits(self) -> Bits | None:
        """`observed` as uint64 [r, W]."""
        return None if self.observed is None else pack(self.observed)

    @cached_property
    def seen(self) -> Ints:
        """r(x, y): the weight of the inputs that observe both variables, int64 [n, n]."""
        n = len(self.names)
        if self.observed is None:
            return np.full((n, n), self.total, dtype=np.int64)
        shown = self.observed.astype(np.int64)
        return np.ascontiguousarray((shown * self.weight_array[:, None]).T @ shown)

    @cached_property
    def weight_array(self) -> Ints:
        """The integer weights as int64 [r]."""
        return np.array(self.weights, dtype=np.int64)


def merge_inputs(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    variables: Variables = "same",
    sites: Sequence[Hashable] | None = None,
) -> MergedInputs:
    """Put the variables in name order and merge equal DAGs, summing their weights.

    Parameters
    ----------
    dags : at least one DAG, names in any order.
    weights : one positive int or Fraction per DAG; 1 each by default.
    variables : "same": all DAGs must be over the same names; "union": each may be over its own.
    sites : for each DAG the site that it comes from; each is a site of its own by default.

    Raises
    ------
    StructureError : no DAG is given, or their variables differ and must not.
    ConfigError : a weight is not a positive int or Fraction, or exact sums would overflow.
    """
    if not dags:
        raise StructureError("at least one DAG is needed for a fusion, got none")
    if variables not in VARIABLES:
        raise ConfigError(f"variables must be one of {', '.join(VARIABLES)}, got {variables!r}")
    given = checked_weights(weights, len(dags))
    if variables == "union" and len({frozenset(dag.names) for dag in dags}) > 1:
        return _merge_over_union(dags, given, range(len(dags)) if sites is None else sites)
    names = tuple(sorted(dags[0].names))
    groups: dict[bytes, list[int]] = {}
    orders: dict[tuple[str, ...], Indices] = {}
    places: dict[tuple[str, ...], Indices] = {}
    for i, dag in enumerate(dags):
        if dag.names not in orders:
            orders[dag.names] = _name_order(dag, names, i)
            places[dag.names] = np.argsort(orders[dag.names])
        arcs = dag.arcs if dag.names == names else places[dag.names][dag.arcs]
        groups.setdefault(_key(arcs, len(names)), []).append(i)
    members = [groups[key] for key in sorted(groups)]
    distinct = [dags[own[0]] for own in members]
    ordered = [d if d.names == names else d.permute(orders[d.names]) for d in distinct]
    return _merge(names, ordered, members, given)


def _key(arcs: NDArray[np.integer[Any]], n: int) -> bytes:
    """Arcs [m, 2] below n as bytes: of two graphs, the one with the first arc that the other lacks
    comes first."""
    return np.sort(arcs @ (n, 1)).astype(">i8").tobytes() + _AFTER_ALL


def _merge_over_union(
    dags: Sequence[DAG], given: Sequence[Fraction], sites: Sequence[Hashable]
) -> MergedInputs:
    """Inputs over all names: DAGs are equal that have the same edges and the same names."""
    names = tuple(sorted(set().union(*(dag.names for dag in dags))))
    place = {name: v for v, name in enumerate(names)}
    columns: dict[tuple[str, ...], tuple[Indices, bytes]] = {}
    groups: dict[tuple[bytes, bytes], list[int]] = {}
    for i, dag in enumerate(dags):
        if dag.names not in columns:
            own = np.array(list(map(place.__getitem__, dag.names)), dtype=np.intp)
            unseen = np.ones(len(names), dtype=np.bool_)
            unseen[own] = False
            columns[dag.names] = own, np.packbits(unseen).tobytes()
        own, lacking = columns[dag.names]
        groups.setdefault((_key(own[dag.arcs], len(names)), lacking), []).append(i)
    keys = sorted(groups)
    members = [groups[key] for key in keys]
    distinct = [dags[of[0]] for of in members]
    spread = [dag.spread(names, columns[dag.names][0]) for dag in distinct]
    merged = _merge(names, spread, members, given)
    shown = np.zeros((len(keys), len(names)), dtype=np.bool_)
    for row, dag in zip(shown, distinct, strict=True):
        row[columns[dag.names][0]] = True
    shown.flags.writeable = False
    counts = _count_sites([lacking for _, lacking in keys], members, sites)
    return replace(merged, observed=shown, site_counts=counts)


def _count_sites(
    seen: Sequence[bytes], members: Sequence[Sequence[int]], sites: Sequence[Hashable]
) -> Ints:
    """`MergedInputs.site_counts`; seen: for each distinct input the set of its variables."""
    found: dict[bytes, set[Hashable]] = {}
    for each, own in zip(seen, members, strict=True):
        found.setdefault(each, set()).update(sites[i] for i in own)
    counts = np.zeros(len(seen), dtype=np.int64)
    for each, of in found.items():
        counts[seen.index(each)] = len(of)
    counts.flags.writeable = False
    return counts


def _merge(
    names: tuple[str, ...],
    dags: Sequence[DAG],
    groups: Sequence[Sequence[int]],
    given: Sequence[Fraction],
) -> MergedInputs:
    """Distinct inputs, and the positions of the DAGs that each stands for."""
    scaled, unit = common_scale(given)
    sums = [sum(scaled[i] for i in group) for group in groups]
    divisor = math.gcd(*sums)
    integers, unit = tuple(each // divisor for each in sums), unit * divisor
    if sum(integers) * max(1, len(names)) ** 2 >= LARGEST_SUM:
        raise ConfigError(
            "the weights must stay exact in 64 bits once scaled to integers: their sum times the "
            "square of the number of variables must be below 2^62, got "
            f"{_short(sum(integers))} x {len(names)}^2; "
            f"the smallest weight is {float(min(integers) * unit):g}, "
            f"the largest {float(max(integers) * unit):g}"
        )
    return MergedInputs(names, tuple(dags), integers, unit, tuple(map(tuple, groups)))


def _name_order(dag: DAG, names: tuple[str, ...], place: int) -> Indices:
    try:
        return positions(dag.names, names)
    except StructureError as error:
        raise StructureError(f"DAG {place + 1} differs from DAG 1: {error}") from None


def _short(number: int) -> str:
    """The number; of a long one its first digits.

    >>> _short(12), _short(3 * 2**1000)
    ('12', '3.21e+301')
    """
    if number < 10**20:
        return str(number)
    digits = str(number)
    return f"{digits[0]}.{digits[1:3]}e+{len(digits) - 1}"
