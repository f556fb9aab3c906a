"""Other ways to make one DAG of several, behind one interface: `fuse_by(name, dags, ...)`.

- union: the unrestricted fusion G+ (Peña 2011; order of Puerta et al. 2021).
- intersection: the edges that all minimal I-maps under the same order share.
- vote: edges by the share of inputs that have them, as in model averaging (`averaged_dag`).
- median: greedy descent on the mean SMHD (`median.py`), from the vote and from the empty graph.
- genetic-union, genetic-inputs: of bounded treewidth (`genetic.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np

from fedbn.errors import ConfigError
from fedbn.fusion.genetic import genetic_inputs, genetic_union
from fedbn.fusion.inputs import MergedInputs, Variables, merge_inputs
from fedbn.fusion.median import descend_to_median
from fedbn.fusion.union import fuse, fuse_in_stages
from fedbn.fusion.weights import Weight
from fedbn.graphs.averaging import ArcVotes, averaged_dag
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import induced_smhd


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
    *,
    variables: Variables = "same",
) -> DAG:
    """G+, the unrestricted fusion."""
    return fuse(dags, weights, rng, variables).union


def intersection(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    rng: np.random.Generator | None = None,
    *,
    variables: Variables = "same",
) -> DAG:
    """The edges that the minimal I-maps under one order of all inputs with both ends share."""
    inputs = merge_inputs(dags, weights, variables)
    _, parents = fuse_in_stages(inputs, rng, lambda *_: None, quorum=len(dags))
    return DAG.from_parent_bits(inputs.names, parents)


def edge_vote(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    rng: np.random.Generator | None = None,
    *,
    threshold: Fraction | float | None = None,
    variables: Variables = "same",
) -> DAG:
    """Edges whose share of the inputs that see both ends is above a threshold, or 1, by
    `averaged_dag`.

    Parameters
    ----------
    dags, weights : the inputs.
    rng : not used.
    threshold : a share in [0, 1]; found from the strengths by default.

    Raises
    ------
    ConfigError : the threshold is outside [0, 1].
    """
    if threshold is not None and not 0 <= threshold <= 1:
        raise ConfigError(f"the threshold must be a share in [0, 1], got {threshold}")
    return vote_of(merge_inputs(dags, weights, variables), threshold)


def vote_of(inputs: MergedInputs, threshold: Fraction | float | None = None) -> DAG:
    """`edge_vote` of merged inputs."""
    of = inputs.total if inputs.observed is None else inputs.seen
    return averaged_dag(inputs.names, arc_votes(inputs), of, threshold)


def arc_votes(inputs: MergedInputs) -> ArcVotes:
    """The weight of the inputs with each arc."""
    n = len(inputs.names)
    arcs = np.concatenate([dag.arcs for dag in inputs.dags]).astype(np.int64)
    weights = np.repeat(inputs.weight_array, [dag.n_edges for dag in inputs.dags])
    low, high = arcs.min(axis=1), arcs.max(axis=1)
    keys, place = np.unique(low * n + high, return_inverse=True)
    forward, back = np.zeros_like(keys), np.zeros_like(keys)
    is_forward = arcs[:, 0] < arcs[:, 1]
    np.add.at(forward, place[is_forward], weights[is_forward])
    np.add.at(back, place[~is_forward], weights[~is_forward])
    return ArcVotes(n, np.column_stack(np.divmod(keys, n)), forward, back)


def median(
    dags: Sequence[DAG],
    weights: Sequence[Weight] | None = None,
    rng: np.random.Generator | None = None,
    *,
    variables: Variables = "same",
) -> DAG:
    """The nearer of two descents to a median, from the edge vote and from the empty graph.

    Equal inputs are their own vote, and their own median. `rng` is not used.
    """
    inputs = merge_inputs(dags, weights, variables)
    starts = (vote_of(inputs), DAG.empty(inputs.names))
    found = [descend_to_median(inputs, start) for start in starts]
    return min(found, key=lambda dag: _distance(dag, inputs))


def _distance(dag: DAG, inputs: MergedInputs) -> int:
    """The weighted sum of the SMHD to the inputs, each over the pairs that it sees."""
    pairs = zip(inputs.own_dags, inputs.weights, strict=True)
    return sum(weight * induced_smhd(dag, own) for own, weight in pairs)


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
