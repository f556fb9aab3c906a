"""The consensus on a path: choosing θ after the search, with a certificate.

Two readings of the consensus at θ. `search`: a DAG extension of P, Algorithm 1 of the paper.
`refusion`: order, I-maps and union of the inputs as pruned at θ, which is what the paper's
published figures report though it does not say so. Neither dominates; `best` looks at both.

θ is the state of smallest mean SMHD to the original inputs; ties: fewer edges, then `search`, then
larger θ. With c_e the weight of the inputs whose moral graph has e, and W the total weight,
mean SMHD(G) = sum_e (c_e if e not in moral(G) else W - c_e) / W, so no DAG at all is below
LB = sum_e min(c_e, W - c_e) / W.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedbn.consensus.mcbnc import McbncPath, as_threshold
from fedbn.errors import ConfigError
from fedbn.fusion.inputs import MergedInputs
from fedbn.graphs.dag import DAG

__all__ = ["READINGS", "Consensus", "PathState", "Reading", "path_states", "select_consensus"]

Reading = Literal["best", "search", "refusion"]
READINGS: tuple[Reading, ...] = ("best", "search", "refusion")


@dataclass(frozen=True, eq=False)
class PathState:
    """One structure of a path.

    Attributes
    ----------
    theta : all deletions with running maximum <= θ are done; None: G+ itself.
    reading : "search" or "refusion".
    deletions : how many deletions that is.
    names, parents : the structure, as names and bits uint64 [n, W]; `dag` is the graph.
    n_edges : its number of edges.
    mean_smhd : its weighted mean SMHD to the original inputs, exact.
    """

    theta: Fraction | None
    reading: Reading
    deletions: int
    names: tuple[str, ...]
    parents: NDArray[np.uint64]
    n_edges: int
    mean_smhd: Fraction

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
    dag : the consensus, names sorted as text.
    theta : the θ of its state; None: G+ itself.
    reading : the reading that it came from, "search" or "refusion".
    mean_smhd : its weighted mean SMHD to the inputs.
    lower_bound : no DAG has a mean SMHD below this.
    gap : mean_smhd - lower_bound; 0 proves that no DAG is nearer to the inputs.
    states : every state that was compared, by reading, then θ.
    complete : whether the path was.
    """

    dag: DAG
    theta: Fraction | None
    reading: Reading
    mean_smhd: Fraction
    lower_bound: Fraction
    gap: Fraction
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
    path : from `mcbnc_path`; one that was stopped early gives the best state so far.
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
    eligible = states if wanted is None else _at(states, wanted)
    chosen = min(eligible, key=_preference)
    bound = lower_bound(path.inputs)
    return Consensus(
        dag=chosen.dag,
        theta=chosen.theta,
        reading=chosen.reading,
        mean_smhd=chosen.mean_smhd,
        lower_bound=bound,
        gap=chosen.mean_smhd - bound,
        states=states,
        complete=path.complete,
    )


def _preference(state: PathState) -> tuple[Fraction, int, bool, Fraction]:
    """Sort key: mean SMHD, edges, `search` first, larger θ (G+ last)."""
    theta = Fraction(-1) if state.theta is None else state.theta
    return state.mean_smhd, state.n_edges, state.reading != "search", -theta


def _at(states: tuple[PathState, ...], theta: Fraction) -> list[PathState]:
    """The last state of every reading that is not beyond θ."""
    last = {s.reading: s for s in states if s.theta is None or s.theta <= theta}
    return list(last.values())


def path_states(path: McbncPath, reading: Reading = "best") -> tuple[PathState, ...]:
    """G+ and one state per distinct θ, for one reading, or for both when it is "best"."""
    from fedbn.consensus._state_kernels import (
        moral_votes,
        refusion_states,
        search_states,
        smhd_sums,
        vote_sums,
    )

    thetas: tuple[Fraction | None, ...] = (None, *path.thetas)
    cuts = _deletions(path)
    inputs = path.inputs
    votes = moral_votes(*inputs.bits, inputs.weight_array)
    everything, _ = vote_sums(votes, inputs.total)
    states: list[PathState] = []
    for kind in ("search", "refusion") if reading == "best" else (reading,):
        if kind == "search":
            parents = search_states(*_recorded(path), cuts)
        else:
            parents = refusion_states(*inputs.bits, inputs.weight_array, path.lost_arcs, cuts)
        sums = smhd_sums(parents, votes, inputs.total, everything)
        edges = np.bitwise_count(parents).sum(axis=(1, 2))
        parents.flags.writeable = False
        states += [
            PathState(
                theta=theta,
                reading=kind,
                deletions=int(cuts[b]),
                names=path.names,
                parents=parents[b],
                n_edges=int(edges[b]),
                mean_smhd=Fraction(int(sums[b]), inputs.total),
            )
            for b, theta in enumerate(thetas)
        ]
    return tuple(states)


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
