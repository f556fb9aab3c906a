"""Which inputs are far from a consensus, unlike the rest, and what the rest agrees on by itself.

A few inputs unlike all others cannot outvote these where they agree. But they can lead a path
away, whose order and first deletions are those of the union of all, and they decide the pairs on
which the rest is divided. So inputs that are far from what the rest agrees on have no say in it: as
in robust estimation, their influence is bounded. Far is who is more than `TIMES` times as far as
the median input and further than there are variables, if these have less than half of the weight.

That rule is `far_among`, for inputs (`far_from`) as for sites (`fedbn.federation.far_sites`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from fedbn.arrays import Bools
from fedbn.fusion.inputs import MergedInputs, merge_inputs
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import induced_smhd, smhd

TIMES = 3
"""As far as the median input."""

AWAY = Fraction(1, 6)
"""What is farther from the median input by more pairs than so large a share of the variables leads
away."""

ATTEMPTS = 3
"""Consensuses of a part of the inputs that are looked at."""


def far_among(distances: Sequence[int], weights: Sequence[int], n: int) -> Bools:
    """Which SMHDs over `n` variables are far, each with its weight.

    >>> far_among([12, 12, 36, 37], [1, 1, 1, 1], n=27).tolist()
    [False, False, False, True]
    >>> far_among([1, 1, 1, 20], [1, 1, 1, 1], n=27).any()
    np.False_
    """
    found: Bools = np.asarray(distances) > max(TIMES * _usual(distances, weights), n)
    return found


def _usual(distances: Sequence[int], weights: Sequence[int]) -> int:
    """The smallest distance that at least half of the weight does not exceed."""
    values, shares = np.asarray(distances), np.asarray(weights)
    order = np.argsort(values, kind="stable")
    reached = 2 * np.cumsum(shares[order]) >= shares.sum()
    return int(values[order][np.argmax(reached)])


def leads_away(inputs: MergedInputs, start: DAG, end: DAG) -> bool:
    """Whether the median input is farther from `end` than from `start` by more than `AWAY` of the
    variables, each input over those that it is about.

    A path that few inputs have led away ends with structures by which they alone seem to judge. In
    a vote on each pair they are few.

    >>> from fedbn.fusion.inputs import merge_inputs
    >>> chain, empty = DAG.from_edges("abc", ["ab", "bc"]), DAG.empty("abc")
    >>> leads_away(merge_inputs([empty, empty, chain]), empty, chain)
    True
    """
    before, after = (
        _usual([induced_smhd(dag, own) for own in inputs.own_dags], inputs.weights)
        for dag in (start, end)
    )
    return after - before > AWAY * len(inputs.names)


def agreed_by_rest(
    inputs: MergedInputs, dag: DAG, agree: Callable[[list[DAG], list[Fraction]], DAG]
) -> DAG | None:
    """What the inputs that are not far agree on; None where there is no such thing.

    That is a DAG from which exactly those inputs are far that had no say in it, looked for from the
    inputs that are far from a given one on.

    Parameters
    ----------
    inputs : of which some may be far.
    dag : the consensus of all, over their names.
    agree : of some inputs and their weights, the consensus.
    """
    far = far_from(dag, inputs)
    for _ in range(ATTEMPTS):
        weight = int(inputs.weight_array[far].sum())
        if not 0 < 2 * weight < inputs.total:
            return None
        found = agree(*_without(inputs, far))
        before, far = far, far_from(found, inputs)
        if np.array_equal(before, far):
            return found
    return None


def far_from(dag: DAG, inputs: MergedInputs) -> Bools:
    """bool [r]: the distinct inputs that are far; none where they are about different variables."""
    if inputs.observed is not None:
        return np.zeros(len(inputs.weights), dtype=np.bool_)
    distances = [smhd(dag, each) for each in inputs.dags]
    return far_among(distances, inputs.weight_array.tolist(), dag.n)


def with_say(dag: DAG, inputs: MergedInputs) -> MergedInputs:
    """The inputs that are not far."""
    return merge_inputs(*_without(inputs, far_from(dag, inputs)))


def _without(inputs: MergedInputs, far: Bools) -> tuple[list[DAG], list[Fraction]]:
    """The inputs that are not far, as often as they were given, with their weights."""
    dags, weights = [], []
    for place in np.flatnonzero(~far).tolist():
        count = int(inputs.counts[place])
        dags += [inputs.dags[place]] * count
        weights += [Fraction(inputs.weights[place], count)] * count
    return dags, weights
