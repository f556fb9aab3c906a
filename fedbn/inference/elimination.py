"""Variable elimination on a bucket tree (Dechter 1999; Lauritzen and Spiegelhalter 1988).

Every factor has its axes in elimination order, so that a product is a broadcast and the variable to
be eliminated is always axis 0. The table of variable v is the product of all factors in which v
goes first; what is left when v is summed out goes to the next variable of the table. On the way
back each table is multiplied by what its message did not know, and is then the joint distribution
of its variables with the evidence. How many cells that takes is known before any of it is done.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Floats
from fedbn.errors import QueryError
from fedbn.graphs.treewidth import min_fill_order

MAX_CELLS = 2**27
"""Cells of all tables of one question together, 1 GiB; a question that needs more is refused."""

_Placed = tuple[tuple[int, ...], Floats]


@dataclass(frozen=True)
class Factor:
    """A table over some variables.

    Parameters
    ----------
    variables : node indices, one per axis.
    values : float, 0 or more.
    """

    variables: tuple[int, ...]
    values: Floats


@dataclass(frozen=True)
class Plan:
    """In which order variables go, and which table each of them needs.

    Attributes
    ----------
    order : node indices, first to go first.
    clusters : per place of the order, the places of the table's axes, ascending; the first is the
        place itself.
    cells : cells of all tables together, an exact integer.
    """

    order: tuple[int, ...]
    clusters: tuple[tuple[int, ...], ...]
    cells: int

    @property
    def width(self) -> int:
        """Variables of the largest table, minus one."""
        return max(map(len, self.clusters), default=1) - 1

    def require_within(self, max_cells: int) -> None:
        """Raise QueryError, before any table is made, when there would be too many cells."""
        if self.cells > max_cells:
            raise QueryError(
                f"an exact answer takes tables of {self.cells} cells (width {self.width}), the "
                f"limit is {max_cells}: observe more variables, ask fewer, choose a sparser "
                "network (a larger θ), or raise --max-cells"
            )


def plan(families: Sequence[tuple[int, ...]], sizes: Mapping[int, int]) -> Plan:
    """The elimination order by min-fill, and its tables.

    Parameters
    ----------
    families : the variables of each factor.
    sizes : variable -> number of states; every variable to be eliminated.
    """
    nodes = sorted(sizes)
    place = {node: i for i, node in enumerate(nodes)}
    adjacency = np.zeros((len(nodes), len(nodes)), dtype=np.bool_)
    for family in families:
        members = [place[node] for node in family]
        adjacency[np.ix_(members, members)] = True
    np.fill_diagonal(adjacency, False)
    order = tuple(nodes[i] for i in min_fill_order(adjacency))
    clusters = _clusters(families, order)
    cells = sum(math.prod(sizes[order[i]] for i in cluster) for cluster in clusters)
    return Plan(order, clusters, cells)


def _clusters(
    families: Iterable[tuple[int, ...]], order: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    place = {node: i for i, node in enumerate(order)}
    members: list[set[int]] = [{i} for i in range(len(order))]
    for family in families:
        if places := {place[node] for node in family}:
            members[min(places)] |= places
    clusters = []
    for i in range(len(order)):
        cluster = tuple(sorted(members[i]))
        if len(cluster) > 1:
            members[cluster[1]].update(cluster[1:])
        clusters.append(cluster)
    return tuple(clusters)


class BucketTree:
    """The tables of a plan, filled from factors.

    Parameters
    ----------
    steps : of exactly these factors' variables.
    factors : in any order; a factor without variables is a number.
    maximise : whether variables are maximised over instead of summed out.

    Attributes
    ----------
    log_total : logarithm of the sum (or maximum) over all variables; -inf when that is 0.
    """

    def __init__(self, steps: Plan, factors: Iterable[Factor], *, maximise: bool = False) -> None:
        self._plan = steps
        self._places = {node: i for i, node in enumerate(steps.order)}
        self._tables: list[Floats] = []
        self._messages: list[Floats] = []
        self.log_total = 0.0
        waiting: list[list[_Placed]] = [[] for _ in steps.order]
        for factor in factors:
            self._deliver(waiting, *self._place(factor))
        for i, cluster in enumerate(steps.clusters):
            table = self._product(cluster, waiting[i])
            waiting[i] = []
            message = table.max(axis=0) if maximise else table.sum(axis=0)
            self._tables.append(table)
            self._messages.append(self._deliver(waiting, cluster[1:], message))

    def marginals(self, nodes: Iterable[int]) -> dict[int, Floats]:
        """Node -> its probabilities given the evidence; `log_total` must be finite."""
        wanted = {self._places[node] for node in nodes}
        joints = self._joints(wanted)
        found = {}
        for i in sorted(wanted, reverse=True):
            weight = joints[i].sum(axis=tuple(range(1, joints[i].ndim)))
            found[self._plan.order[i]] = weight / weight.sum()
        return found

    def joint(self, nodes: Sequence[int]) -> Floats:
        """The joint probabilities of the variables of a factor given the evidence, an axis for each
        in this order; `log_total` must be finite."""
        places = [self._places[node] for node in nodes]
        first = min(places)
        cluster = self._plan.clusters[first]
        table = self._joints({first})[first]
        away = tuple(axis for axis, i in enumerate(cluster) if i not in places)
        table = table.sum(axis=away)
        kept = [i for i in cluster if i in places]
        weight: Floats = table.transpose([kept.index(i) for i in places])
        weight = weight / weight.sum()
        return weight

    def _joints(self, wanted: Iterable[int]) -> dict[int, Floats]:
        """Place -> the joint table of its cluster, not normalised, of these and those above."""
        needed = set(wanted)
        for i, cluster in enumerate(self._plan.clusters):
            if i in needed and len(cluster) > 1:
                needed.add(cluster[1])
        joints: dict[int, Floats] = {}
        for i in sorted(needed, reverse=True):
            joints[i] = self._joint(i, joints)
        return joints

    def best_states(self) -> dict[int, int]:
        """Node -> its code in a configuration of largest value; of equal ones the lowest code.

        For tables made with `maximise`.
        """
        codes: dict[int, int] = {}
        for i in range(len(self._tables) - 1, -1, -1):
            column = self._tables[i]
            for j in self._plan.clusters[i][1:]:
                column = column[:, codes[j]]
            codes[i] = int(np.argmax(column))
        return {self._plan.order[i]: code for i, code in codes.items()}

    def _joint(self, i: int, joints: Mapping[int, Floats]) -> Floats:
        """The table of place i times what the rest of the tree says about its other variables."""
        cluster = self._plan.clusters[i]
        if len(cluster) == 1:
            return self._tables[i]
        above = self._plan.clusters[cluster[1]]
        dropped = tuple(axis for axis, j in enumerate(above) if j not in cluster)
        outside = joints[cluster[1]].sum(axis=dropped)
        message = self._messages[i]
        ratio = np.zeros(message.shape)
        np.divide(outside, message, out=ratio, where=message > 0)
        joint: Floats = self._tables[i] * ratio
        return joint

    def _deliver(
        self, waiting: list[list[_Placed]], variables: tuple[int, ...], values: Floats
    ) -> Floats:
        """Hand a factor to its first variable, scaled; returns it so."""
        if not variables:
            number = float(values)
            self.log_total += math.log(number) if number > 0 else -math.inf
            return values
        values = self._scale(values)
        waiting[variables[0]].append((variables, values))
        return values

    def _scale(self, values: Floats) -> Floats:
        """The table times a power of two, largest cell in [1/2, 1), so that nothing underflows."""
        exponent = math.frexp(float(values.max()))[1]
        self.log_total += exponent * math.log(2)
        scaled: Floats = np.ldexp(values, -exponent)
        return scaled

    def _product(self, cluster: tuple[int, ...], factors: list[_Placed]) -> Floats:
        """The product, an axis per variable of the cluster; small factors first."""
        product = np.ones((1,) * len(cluster))
        for variables, values in sorted(factors, key=lambda factor: factor[1].size):
            size = dict(zip(variables, values.shape, strict=True))
            product = self._scale(product * values.reshape([size.get(i, 1) for i in cluster]))
        return product

    def _place(self, factor: Factor) -> _Placed:
        """The factor with places for variables, its axes ascending."""
        places = [self._places[node] for node in factor.variables]
        axes = sorted(range(len(places)), key=places.__getitem__)
        return tuple(places[axis] for axis in axes), factor.values.transpose(axes)
