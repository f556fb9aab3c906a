"""The inputs of a fusion: DAGs over the same variables, identical ones merged.

Identical inputs have the same I-map, the same cuts and lose the same arcs, so they stay identical
for ever: one copy with the summed weight gives the same result. Variables are put in name order,
so ties by the smallest index are ties by name, and the result depends neither on the order of the
clients nor on that of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.errors import ConfigError, StructureError
from fedbn.fusion.weights import Weight, checked_weights, common_scale
from fedbn.graphs.dag import DAG, positions

__all__ = ["MergedInputs", "merge_inputs", "stacked_bits"]


# Sums of weights times cuts are int64 in the core.
LARGEST_SUM = 2**62


@dataclass(frozen=True, eq=False)
class MergedInputs:
    """Distinct DAGs over the same names, with exact weights.

    Attributes
    ----------
    names : the variables, sorted as text, but for `reorder`.
    adjacency : bool [r, n, n], read-only; [i, a, b] means a -> b in distinct input i.
    weights : coprime positive ints [r], proportional to the given weights.
    unit : the given weight for which the integer 1 stands.
    members : for each distinct input, the positions of the given DAGs that are equal to it.
    """

    names: tuple[str, ...]
    adjacency: NDArray[np.bool_]
    weights: tuple[int, ...]
    unit: Fraction
    members: tuple[tuple[int, ...], ...]

    @property
    def total(self) -> int:
        """Sum of the integer weights."""
        return sum(self.weights)

    @property
    def count(self) -> int:
        """Number of DAGs that were given."""
        return sum(len(m) for m in self.members)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many of the given DAGs each distinct input stands for, int64 [r]."""
        return np.array([len(m) for m in self.members], dtype=np.int64)

    @cached_property
    def dags(self) -> tuple[DAG, ...]:
        """The distinct inputs."""
        return tuple(DAG(self.names, matrix) for matrix in self.adjacency)

    def reorder(self, order: NDArray[np.intp]) -> MergedInputs:
        """The same inputs with the variables in another order, [n] indices of this one."""
        names = tuple(self.names[v] for v in order)
        return replace(self, names=names, adjacency=self.adjacency[:, order][:, :, order])

    @cached_property
    def bits(self) -> tuple[Bits, Bits]:
        """Parents and children of every node as uint64 [r, n, W]. Not to be changed."""
        return stacked_bits(self.adjacency)

    @cached_property
    def weight_array(self) -> NDArray[np.int64]:
        """The integer weights as int64 [r]."""
        return np.array(self.weights, dtype=np.int64)


def stacked_bits(adjacency: NDArray[np.bool_]) -> tuple[Bits, Bits]:
    """Parents and children of several DAGs, bool [r, n, n], as bits [r, n, W] each."""
    from fedbn.graphs.bits import pack

    return pack(adjacency.transpose(0, 2, 1)), pack(adjacency)


def merge_inputs(dags: Sequence[DAG], weights: Sequence[Weight] | None = None) -> MergedInputs:
    """Put the variables in name order and merge equal DAGs, summing their weights.

    Parameters
    ----------
    dags : at least one DAG, all over the same set of names, in any order.
    weights : one positive int or Fraction per DAG; 1 each by default.

    Raises
    ------
    StructureError : no DAG is given, or their variables differ.
    ConfigError : a weight is not a positive int or Fraction, or exact sums would overflow.
    """
    if not dags:
        raise StructureError("at least one DAG is needed for a fusion, got none")
    given = checked_weights(weights, len(dags))
    names = tuple(sorted(dags[0].names))
    groups: dict[bytes, list[int]] = {}
    matrices: dict[bytes, NDArray[np.bool_]] = {}
    orders: dict[tuple[str, ...], NDArray[np.intp]] = {}
    for i, dag in enumerate(dags):
        if dag.names not in orders:
            orders[dag.names] = _name_order(dag, names, i)
        order = orders[dag.names]
        matrix = dag.adjacency if dag.names == names else dag.adjacency[order[:, None], order]
        key = np.packbits(matrix).tobytes()
        groups.setdefault(key, []).append(i)
        matrices.setdefault(key, matrix)
    keys = sorted(groups, reverse=True)
    merged = [sum((given[i] for i in groups[key]), Fraction(0)) for key in keys]
    integers, unit = common_scale(merged)
    if sum(integers) * max(1, len(names)) ** 2 >= LARGEST_SUM:
        raise ConfigError(
            "the weights must stay exact in 64 bits once scaled to integers: their sum times the "
            "square of the number of variables must be below 2^62, got "
            f"{_short(sum(integers))} x {len(names)}^2; "
            f"the smallest weight is {float(min(merged)):g}, the largest {float(max(merged)):g}"
        )
    stacked = np.stack([matrices[key] for key in keys])
    stacked.flags.writeable = False
    return MergedInputs(names, stacked, integers, unit, tuple(tuple(groups[key]) for key in keys))


def _name_order(dag: DAG, names: tuple[str, ...], place: int) -> NDArray[np.intp]:
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
