"""Which row-weight class to take when nothing but structures is known.

The card's rule, the state of least mean SMHD to the inputs, cannot compare two classes, for their
inputs differ. What can be compared is how many *chance* pairs a majority of the sites would join.
As k grows, weak true edges come to be seen by most sites, while chance edges differ from site to
site; so the largest k is best at which chance still cannot make a majority.

As in stability selection (Meinshausen & Bühlmann 2010; Shah & Samworth 2013) the chance pairs are
bounded in expectation. A pair that fewer than half of the sites join in their moral graphs is taken
to be chance; f is the mean share of the sites that join such a pair (weak true pairs only
raise it; (a + 1) / (b + 2) keeps it off 0). If S sites err independently, the expected number of
chance pairs that at least half of them join is P × P(Bin(S, f) ≥ S / 2) over all P pairs. Where
sites have different variables, each pair counts the sites that have both, in S as well as in f, and
a structure has the parameters of its own variables.

Sites do not err independently where few rows meet many states. A row that counts k times costs
about ln r nats once it has a configuration of parents to itself, and k times its entropy before:
from some k on parents that tell all rows apart are best, and at every site these are the variables
of many states. Votes cannot see it, but the number of parameters does, which then grows a
thousandfold. The consensus is to be that of the rows of all S sites; these are S times the rows of
one, and pay for S times the parameters and no more. So a family that alone has more parameters than
S times all of the median site's structure with the smallest weight is not *paid*: it keeps those
of its parents alone with which the site's structures of the next smaller weight join it, in either
direction, so no pair is lost that these have. What they join stays, even where the family is then
still that large; and the other families stay as they are (`paid_structures`).

Taken is the largest k up to which the expected chance pairs of the paid structures are at most
`EXPECTED` = 0.05; the smallest k where there is none.

Deviations from these papers: the sites are not subsamples of one table, and the same search errs at
several of them in the same way, so this is a rule with a meaning and no certificate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise, takewhile
from statistics import median_low

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bools
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.scores.mixed import block_widths

EXPECTED = 0.05
"""Chance pairs of a majority, in expectation, that a class may have."""


def expected_chance_pairs(
    moral: NDArray[np.int64], total: int, sites: int, seen: NDArray[np.int64] | None = None
) -> float:
    """How many pairs at least half of the sites are expected to join by chance.

    Parameters
    ----------
    moral : int64 [n, n], symmetric: weight of the inputs whose moral graph has the pair.
    total : weight of all inputs.
    sites : how many sites they come from; each has the same weight.
    seen : int64 [n, n], the weight of the inputs that observe both variables of a pair; None: all.
        A pair then has the sites that observe it, and none that nobody observes.

    Examples
    --------
    >>> votes = np.array([[0, 9, 1], [9, 0, 0], [1, 0, 0]])
    >>> round(expected_chance_pairs(votes, total=10, sites=10), 4)
    0.0032
    """
    from scipy.stats import binom

    upper = np.triu_indices(len(moral), k=1)
    pairs = moral[upper]
    possible = np.full(pairs.size, total) if seen is None else seen[upper]
    is_chance = 2 * pairs < possible
    joined = pairs[is_chance].sum() * sites / total
    trials = int(possible[is_chance].sum()) * sites // total
    share = (joined + 1.0) / (trials + 2.0)
    found = 0.0
    for weight, many in zip(*np.unique(possible[possible > 0], return_counts=True), strict=True):
        voters = int(weight) * sites // total
        found += float(many * binom.sf(math.ceil(voters / 2) - 1, voters, share))
    return found


def number_of_parameters(dag: DAG, schema: Schema) -> int:
    """Free parameters of a structure; exact.

    >>> dag = DAG.from_edges("abc", ["ab", "cb"])
    >>> number_of_parameters(dag, Schema.categorical({"a": "01", "b": "012", "c": "01"}))
    10
    """
    return sum(parameters_of_families(dag, schema))


def parameters_of_families(dag: DAG, schema: Schema) -> tuple[int, ...]:
    """Free parameters of each node's family: of categories q (r - 1), else w (1 + v), where w
    columns stand for the variable and v for its parents (`fedbn.scores.mixed`); exact."""
    widths = dict(zip(schema.names, block_widths(schema), strict=True))
    own = [widths[name] for name in dag.names]
    if schema.kind == "categorical":
        return tuple(
            own[node] * math.prod(own[parent] + 1 for parent in parents)
            for node, parents in enumerate(dag.parent_sets())
        )
    return tuple(
        own[node] * (1 + sum(own[parent] for parent in parents))
        for node, parents in enumerate(dag.parent_sets())
    )


def paid_structures(
    sites: Sequence[Mapping[float, Sequence[DAG]]], schema: Schema
) -> list[dict[float, tuple[DAG, ...]]]:
    """The structures of every site without the parents that the rows of all sites do not pay for.

    Parameters
    ----------
    sites : of each, row weight -> structures, at least one of every weight that it has.
    schema : the agreed one.

    Returns
    -------
    Of each site the same weights and numbers of structures. Those of its smallest weight are as
    they were; a pair that goes is joined by no paid structure of the site's next smaller weight.
    """
    smallest = [own[min(own)] for own in sites]
    sizes = [median_low(number_of_parameters(dag, schema) for dag in dags) for dags in smallest]
    most = len(sites) * median_low(sizes)
    return [_paid(own, schema, most) for own in sites]


def _paid(
    own: Mapping[float, Sequence[DAG]], schema: Schema, most: int
) -> dict[float, tuple[DAG, ...]]:
    """One site's structures; a family of more than `most` parameters is not paid."""
    weights = sorted(own)
    found = {weights[0]: tuple(own[weights[0]])}
    for smaller, weight in pairwise(weights):
        joined = np.logical_or.reduce([dag.adjacency for dag in found[smaller]])
        pairs = joined | joined.T
        found[weight] = tuple(_without_unpaid(dag, pairs, schema, most) for dag in own[weight])
    return found


def _without_unpaid(dag: DAG, pairs: Bools, schema: Schema, most: int) -> DAG:
    """The structure; families that are not paid have those arcs alone whose pair is in `pairs`."""
    sizes = parameters_of_families(dag, schema)
    unpaid = [node for node, parameters in enumerate(sizes) if parameters > most]
    if not unpaid:
        return dag
    arcs = dag.adjacency.copy()
    arcs[:, unpaid] &= pairs[:, unpaid]
    return DAG(dag.names, arcs)


def class_by_chance(chance_pairs: Sequence[float]) -> int:
    """The position of the class to take, of the expected chance pairs of all by ascending row
    weight.

    >>> class_by_chance([0.0, 0.01, 0.3, 0.01])
    1
    """
    sound = takewhile(lambda expected: expected <= EXPECTED, chance_pairs)
    return max(0, len(list(sound)) - 1)
