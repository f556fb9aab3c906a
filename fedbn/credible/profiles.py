"""How many DAGs of a diagram have each excess: profiles of its states, and of the whole.

A profile of a state lists the distinct costs of the ways to it or from it, and how many ways have
each; it stops where no DAG is within the budget. Those of the whole diagram come from the layer in
the middle: every DAG is one way to a state of it and one way on. So neither the largest profiles,
near the ends, nor all of them at once are ever there when graphs are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Floats, Ints, Ints32
from fedbn.credible.limits import DiagramLimit, Limits

__all__ = [
    "END",
    "TOGETHER",
    "Layer",
    "Profile",
    "Profiles",
    "Slack",
    "group_starts",
    "profiles_above",
    "profiles_below",
    "whole_profile",
]

TOGETHER = 2e-11  # excesses this close count as one; rounding inside a class is below 4e-12
PIECE = 4_000_000  # sums that are sorted at once

Profiles = tuple[Ints, Floats, Ints]
END: Profiles = (np.array([0, 1]), np.zeros(1), np.ones(1, dtype=np.int64))


@dataclass(frozen=True)
class Layer:
    """Arcs from one layer of states to the next, sorted by source."""

    source: Ints32
    family: Ints32
    target: Ints32


@dataclass(frozen=True)
class Profile:
    """How many DAGs have each excess over the optimum.

    value [K] ascending, count [K] Python integers.
    """

    value: Floats
    count: tuple[int, ...]

    def within(self, budget: float) -> int:
        """The number of DAGs whose excess is at most `budget`."""
        last = int(np.searchsorted(self.value, budget, side="right"))
        return sum(self.count[:last])


@dataclass(frozen=True)
class Slack:
    """Which ways count: those of cost at most `limit`, with the best way at the other end.

    Parameters
    ----------
    excess : [F] costs of the families, less the least cost of the node's families.
    limit : largest cost of a DAG in these units.
    reach, rest : per layer, least cost to each state and from it to the end.
    """

    excess: Floats
    limit: float
    reach: Sequence[Floats]
    rest: Sequence[Floats]


def profiles_below(
    layers: Sequence[Layer], depth: int, below: Profiles, slack: Slack, limits: Limits
) -> Profiles:
    """Of the ways from each state of layer `depth` to the end, given those of the next layer.

    Raises
    ------
    DiagramLimit : memory or time do not suffice, or a count is beyond 2^62.
    """
    layer, states = layers[depth], slack.reach[depth].size
    return _step(
        (states, group_starts(layer.source, states), layer.family, layer.target, slack.excess,
         slack.limit - slack.reach[depth], *below), limits,
    )  # fmt: skip


def profiles_above(
    layers: Sequence[Layer], depth: int, above: Profiles, slack: Slack, limits: Limits
) -> Profiles:
    """Of the ways from the top to each state below layer `depth`; errors as `profiles_below`."""
    layer, states = layers[depth], slack.rest[depth + 1].size
    order = np.argsort(layer.target, kind="stable")
    return _step(
        (states, group_starts(layer.target[order], states), layer.family[order],
         layer.source[order], slack.excess, slack.limit - slack.rest[depth + 1], *above), limits,
    )  # fmt: skip


def _step(arguments: tuple[object, ...], limits: Limits) -> Profiles:
    from fedbn.credible._profile_kernels import FITTED, UNCOUNTABLE, profiles

    starts, value, count, outcome = limits.run(profiles, *arguments, TOGETHER, limits.memory // 32)
    if outcome == UNCOUNTABLE:
        raise _uncountable()
    if outcome != FITTED:
        limits.require_time()
        raise _too_large(limits)
    return starts, value, count


def _uncountable() -> DiagramLimit:
    return DiagramLimit("more than 2^62 credible graphs of one score; lower the Bayes factor")


def _too_large(limits: Limits) -> DiagramLimit:
    return DiagramLimit(f"the counts need more than {limits.memory >> 20} MiB")


def whole_profile(layers: Sequence[Layer], slack: Slack, limits: Limits) -> Profile:
    """The number of DAGs per excess over the optimum; errors as `profiles_below`."""
    above, below = END, END
    first, last = 0, len(layers)
    while first < last:
        if above[1].size <= below[1].size:
            above = profiles_above(layers, first, above, slack, limits)
            first += 1
        else:
            last -= 1
            below = profiles_below(layers, last, below, slack, limits)
    value, count = _join(above, below, slack, limits)
    return Profile(np.maximum(value - slack.rest[0][0], 0.0), tuple(count.tolist()))


def _join(above: Profiles, below: Profiles, slack: Slack, limits: Limits) -> tuple[Floats, Ints]:
    """Distinct costs of the ways through the states of one layer, and how many have each.

    The sums are sorted in pieces of at most `PIECE`, from the least cost to the limit.
    """
    from fedbn.credible._profile_kernels import UNCOUNTABLE, UNFINISHED, sums_between

    room: tuple[Floats, Ints] = (np.empty(PIECE), np.empty(PIECE, dtype=np.int64))
    pieces: list[tuple[Floats, Ints]] = []
    low, width = -np.inf, slack.limit - float(slack.rest[0][0])
    at, kept = slack.limit - width, 0
    while low < slack.limit:
        limits.require_time()
        high = min(slack.limit, at + width)
        number, outcome = limits.run(sums_between, *above, *below, low, high, *room)
        if outcome == UNCOUNTABLE:
            raise _uncountable()
        if outcome == UNFINISHED:
            limits.require_time()
            width /= 2
            if width < TOGETHER or kept > limits.memory // 64:
                raise _too_large(limits)
            continue
        order = np.argsort(room[0][:number])
        pieces.append(_distinct(room[0][:number][order], room[1][:number][order]))
        kept += len(pieces[-1][0])
        low = at = high
        width *= 2 if number < PIECE // 4 else 1
    return _distinct(*(np.concatenate(column) for column in zip(*pieces, strict=True)))


def _distinct(value: Floats, count: Ints) -> tuple[Floats, Ints]:
    """Sorted costs, those within `TOGETHER` of their predecessor made one."""
    first = np.flatnonzero(np.diff(value, prepend=-np.inf) > TOGETHER)
    if not first.size:
        return value, count
    if np.add.reduceat(count.astype(np.float64), first).max() > 2.0**62:
        raise _uncountable()
    return value[first], np.add.reduceat(count, first)


def group_starts(group: Ints32, groups: int) -> Ints:
    """Where each group begins in a sorted array of group numbers; [groups + 1]."""
    return np.searchsorted(group, np.arange(groups + 1)).astype(np.int64)
