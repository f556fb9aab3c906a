"""The consensus on a path: choosing θ after the search, with a certificate.

Two readings of the consensus at θ. `search`: a DAG extension of P, Algorithm 1 of the paper.
`refusion`: order, I-maps and union of the inputs as pruned at θ, which is what the paper's
published figures report though it does not say so. Neither dominates; `best` looks at both.

θ is the state of smallest mean SMHD to the original inputs; ties: smaller mean SHD between the
CPDAGs of the state and of the inputs, then fewer edges, then `search`, then larger θ. SHD comes
before fewer edges because SMHD compares moral graphs: a -> c <- b is at 0 from the complete graph,
and fewer edges would drop an edge that every input has.

With c_e the weight of the inputs whose moral graph has e, and W the total weight,
mean SMHD(G) = sum_e (c_e if e not in moral(G) else W - c_e) / W, so no DAG at all is below
LB = sum_e min(c_e, W - c_e) / W.

A path that was cut short by its limit of time or memory may have got hardly below G+. Then the
edge vote of the inputs is one more state, the reading `vote`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbn.consensus.directions import nearest_member
from fedbn.consensus.path import POOLINGS, McbncPath, Pooling, as_threshold
from fedbn.errors import ConfigError
from fedbn.fusion.baselines import edge_vote
from fedbn.fusion.inputs import MergedInputs
from fedbn.graphs.dag import DAG

__all__ = [
    "READINGS",
    "Consensus",
    "PathState",
    "Reading",
    "lower_bound",
    "missing_pairs",
    "path_states",
    "preference",
    "select_consensus",
]

Reading = Literal["best", "search", "refusion"]
READINGS: tuple[Reading, ...] = ("best", "search", "refusion")
StateReading = Literal["search", "refusion", "vote"]
STATE_READINGS: tuple[StateReading, ...] = ("search", "refusion", "vote")


@dataclass(frozen=True, eq=False)
class PathState:
    """One structure of a path.

    Attributes
    ----------
    theta : all deletions with running maximum <= θ are done; None: G+ itself.
    reading : "search" or "refusion"; "vote", the edge vote, where a path was cut short.
    pooling : of its path.
    deletions : how many deletions that is.
    names, parents : the structure, as names and bits uint64 [n, W]; `dag` is the graph.
    n_edges : its number of edges.
    mean_smhd : its weighted mean SMHD to the original inputs, exact.
    mean_shd : the weighted mean SHD of its CPDAG to those of the inputs, exact.
    """

    theta: Fraction | None
    reading: StateReading
    pooling: Pooling
    deletions: int
    names: tuple[str, ...]
    parents: NDArray[np.uint64]
    n_edges: int
    mean_smhd: Fraction
    mean_shd: Fraction

    @cached_property
    def dag(self) -> DAG:
        """The structure."""
        from fedbn.graphs._bit_kernels import unpack

        return DAG(self.names, unpack(self.parents, len(self.names)).T)


@dataclass(frozen=True, eq=False)
class Consensus:
    """The chosen structure, and what can be said about it.

    Attributes
    ----------
    dag : the consensus, names sorted as text; of its class the member `nearest_member`.
    theta : the θ of its state; None: G+ itself, or the edge vote.
    reading : the reading that it came from: "search", "refusion" or "vote".
    pooling : of the path that it came from: "mean", "clip" or "median".
    mean_smhd : its weighted mean SMHD to the inputs.
    lower_bound : no DAG has a mean SMHD below this.
    gap : mean_smhd - lower_bound; 0 proves that no DAG is nearer to the inputs.
    missing_pairs : pairs of names, sorted, that every input joins by an edge and `dag` does not.
    state : the one that was chosen.
    states : every state of its path that was compared, by reading, then θ.
    complete : whether the path was, and those that it was compared with.
    """

    dag: DAG
    theta: Fraction | None
    reading: StateReading
    pooling: Pooling
    mean_smhd: Fraction
    lower_bound: Fraction
    gap: Fraction
    missing_pairs: tuple[tuple[str, str], ...]
    state: PathState
    states: tuple[PathState, ...]
    complete: bool


def select_consensus(
    path: McbncPath,
    reading: Reading = "best",
    theta: Fraction | float | str | None = None,
) -> Consensus:
    """The state of smallest mean SMHD to the inputs, or the state at a given θ.

    Parameters
    ----------
    path : from `mcbnc_path`; one that was stopped early gives the best state so far, or the edge
        vote, if that is nearer.
    reading : "search", "refusion", or "best" of both.
    theta : use the state at this threshold; chosen after the search by default.

    Raises
    ------
    ConfigError : the reading is unknown or θ is no number >= 0.
    """
    if reading not in READINGS:
        raise ConfigError(f"reading must be one of {', '.join(READINGS)}, got {reading!r}")
    wanted = None if theta is None else as_threshold(theta)
    states = path_states(path, reading)
    if path.cut_short:
        states = (*states, _vote_state(path))
    eligible = states if wanted is None else _at(states, wanted)
    chosen = min(eligible, key=preference)
    bound = lower_bound(path.inputs)
    return Consensus(
        dag=nearest_member(chosen.dag, path.inputs),
        theta=chosen.theta,
        reading=chosen.reading,
        pooling=chosen.pooling,
        mean_smhd=chosen.mean_smhd,
        lower_bound=bound,
        gap=chosen.mean_smhd - bound,
        missing_pairs=missing_pairs(chosen.dag, path.inputs),
        state=chosen,
        states=states,
        complete=path.complete,
    )


def preference(state: PathState) -> tuple[Fraction, Fraction, int, int, Fraction, int]:
    """Sort key: mean SMHD, mean SHD, edges, `search` first, larger θ (G+ last), `mean` first."""
    return (
        state.mean_smhd,
        state.mean_shd,
        state.n_edges,
        STATE_READINGS.index(state.reading),
        Fraction(1) if state.theta is None else -state.theta,
        POOLINGS.index(state.pooling),
    )


def _at(states: tuple[PathState, ...], theta: Fraction) -> list[PathState]:
    """The last state of every reading of the path that is not beyond θ."""
    on_path = [s for s in states if s.reading != "vote"]
    last = {s.reading: s for s in on_path if s.theta is None or s.theta <= theta}
    return list(last.values())


def missing_pairs(dag: DAG, inputs: MergedInputs) -> tuple[tuple[str, str], ...]:
    """The pairs of names, sorted, that every input joins by an edge and `dag` does not.

    dag : over the names of `inputs`, sorted as text.
    """
    from fedbn.graphs._bit_kernels import pack, unpack

    pa, ch = inputs.bits
    joined = pack(dag.adjacency | dag.adjacency.T)
    missing = unpack(np.bitwise_and.reduce(pa | ch) & ~joined, dag.n)
    return tuple((dag.names[a], dag.names[b]) for a, b in np.argwhere(np.triu(missing)))


def path_states(path: McbncPath, reading: Reading = "best") -> tuple[PathState, ...]:
    """G+ and one state per distinct θ, for one reading, or for both when it is "best"."""
    from fedbn.consensus._state_kernels import refusion_states, search_states

    thetas: tuple[Fraction | None, ...] = (None, *path.thetas)
    cuts = _deletions(path)
    inputs = path.inputs
    votes = _votes(inputs)
    kinds: tuple[StateReading, ...] = ("search", "refusion") if reading == "best" else (reading,)
    states: list[PathState] = []
    for kind in kinds:
        if kind == "search":
            parents = search_states(*_recorded(path), cuts)
        else:
            parents = refusion_states(*inputs.bits, inputs.weight_array, path.lost_arcs, cuts)
        states += _measured(path, kind, parents, thetas, cuts, votes)
    return tuple(states)


def _vote_state(path: McbncPath) -> PathState:
    """The edge vote of the inputs."""
    from fedbn.graphs._bit_kernels import pack

    inputs = path.inputs
    parents = pack(edge_vote(inputs.dags, inputs.weights).adjacency.T)[None]
    no_deletions = np.zeros(1, dtype=np.int64)
    return _measured(path, "vote", parents, (None,), no_deletions, _votes(inputs))[0]


class _Votes(NamedTuple):
    """Votes of the inputs on moral edges [n, n], and on the edges of CPDAGs [2, n, n]."""

    moral: NDArray[np.int64]
    classes: NDArray[np.int64]


def _votes(inputs: MergedInputs) -> _Votes:
    from fedbn.consensus._state_kernels import class_votes, moral_votes

    given = (*inputs.bits, inputs.weight_array)
    return _Votes(moral_votes(*given), class_votes(*given))


def _measured(
    path: McbncPath,
    reading: StateReading,
    parents: NDArray[np.uint64],
    thetas: tuple[Fraction | None, ...],
    cuts: NDArray[np.int64],
    votes: _Votes,
) -> list[PathState]:
    """States with their distances: parents bits [B, n, W], thetas [B], deletions [B]."""
    from fedbn.consensus._state_kernels import shd_sums, smhd_sums, vote_sums

    total = path.inputs.total
    smhd = smhd_sums(parents, votes.moral, total, vote_sums(votes.moral, total)[0])
    shd = shd_sums(parents, votes.classes, total)
    edges = np.bitwise_count(parents).sum(axis=(1, 2))
    parents.flags.writeable = False
    return [
        PathState(
            theta=theta,
            reading=reading,
            pooling=path.pooling,
            deletions=int(cuts[b]),
            names=path.names,
            parents=parents[b],
            n_edges=int(edges[b]),
            mean_smhd=Fraction(int(smhd[b]), total),
            mean_shd=Fraction(int(shd[b]), total),
        )
        for b, theta in enumerate(thetas)
    ]


def _deletions(path: McbncPath) -> NDArray[np.int64]:
    """Numbers of deletions: 0, and for every distinct θ those with running maximum <= θ."""
    ends = [0]
    for k, step in enumerate(path.steps):
        if k + 1 == len(path.steps) or path.steps[k + 1].theta != step.theta:
            ends.append(k + 1)
    return np.array(ends, dtype=np.int64)


def _recorded(path: McbncPath) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint64]]:
    """G+ as parents' bits, and x, y and H of the deletions for the kernels."""
    from fedbn.graphs._bit_kernels import pack

    place = {name: i for i, name in enumerate(path.names)}
    left_out = np.zeros((len(path.steps), len(path.names)), dtype=np.bool_)
    for k, step in enumerate(path.steps):
        for name in step.h:
            left_out[k, place[name]] = True
    xy = np.array([(place[s.x], place[s.y]) for s in path.steps], dtype=np.int32).reshape(-1, 2)
    return pack(path.union.adjacency.T), xy, pack(left_out)


def lower_bound(inputs: MergedInputs) -> Fraction:
    """LB: the least mean SMHD to the inputs that a DAG could have, by votes on moral edges."""
    from fedbn.consensus._state_kernels import moral_votes, vote_sums

    votes = moral_votes(*inputs.bits, inputs.weight_array)
    return Fraction(int(vote_sums(votes, inputs.total)[1]), inputs.total)
