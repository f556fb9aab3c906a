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
LB = sum_e min(c_e, W - c_e) / W. Where inputs are about different variables, an input counts on the
pairs that it sees alone, and the weight r_e of those that see e takes the place of W in both sums,
not in the denominator.

With the reading `best` what the votes of the inputs elect competes, too, the reading `vote`: the
edges that a majority of their weight joins, and those above the threshold of `averaged_dag`. It
costs little, and no hostile input can lead it away as it can a path; taken is it only where it is
strictly nearer to the inputs than every state, so it is not computed where one of these is at LB. A
path that was cut short by its limit of time or memory may have got hardly below G+, so there it
competes in every reading.

Where inputs are about different variables, the reading `best` chooses twice. An input without what
separates two variables has a dependence between them, which counts in the distance to it. So the
state that is nearest to all inputs, or what judges leave of the edge vote
(`fedbn.consensus.judged_vote`) if it is nearer by more than 5 %, only says which inputs judge a
pair. Then the states of that path, that vote, and what the votes of these judges
(`fedbn.consensus.votes_of_judges`) elect compete by the distance to these judges. Distances and the
bound are told to all inputs nevertheless.

Where inputs are far from what the rest agrees on, the reading `best` takes the consensus that the
rest has by itself, the reading `others`, with its distance and bound to all inputs. That is looked
for over all paths of the inputs (`fedbn.consensus.pooling`), not here.

Under a bound on the treewidth only structures within it compete. Where that excludes the one that
would be taken otherwise, single edges are then changed within the bound while that lowers the mean
SMHD: the path deletes the least supported edges, not those that make a graph wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeGuard

import numpy as np

from fedbn.arrays import Bits, Ints32, Structure
from fedbn.consensus.directions import nearest_member
from fedbn.consensus.path import POOLINGS, DeletionPath, McbncPath, Pooling, as_threshold
from fedbn.consensus.votes import (
    Votes,
    lower_bound,
    mean_smhd_by_votes,
    missing_pairs,
    smhd_sums_of,
    votes_of,
)
from fedbn.consensus.votes_of_judges import votes_of_judges
from fedbn.errors import ConfigError
from fedbn.fusion.median import descend_by_votes
from fedbn.fusion.union import precedence_of
from fedbn.graphs.averaging import averaged_dag
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.treewidth import dag_treewidth

Reading = Literal["best", "search", "refusion"]
READINGS: tuple[Reading, ...] = ("best", "search", "refusion")
StateReading = Literal["search", "refusion", "vote", "others"]
ConsensusReading = Literal["search", "refusion", "vote", "others", "counts"]
ON_PATH: tuple[StateReading, ...] = ("search", "refusion")
STATE_READINGS: tuple[StateReading, ...] = (*ON_PATH, "vote", "others")


@dataclass(frozen=True, eq=False)
class PathState:
    """One structure of a path.

    Attributes
    ----------
    theta : all deletions with running maximum <= θ are done; None: G+ itself.
    reading : "search" or "refusion"; "vote", what the votes on edges elect, where inputs have
        different variables those of judges, or what judges leave of all votes; "others", the
        consensus of the inputs that are not far.
    pooling : of its path.
    deletions : how many deletions that is.
    names, structure : its names, and whichever takes fewer bytes, its arcs (parent, child) as
        indices, int32 [m, 2], or the parents of every node as bits; `dag` is the graph.
    n_edges : its number of edges.
    mean_smhd : its weighted mean SMHD to the original inputs, exact.
    mean_shd : the weighted mean SHD of its CPDAG to those of the inputs, exact.
    """

    theta: Fraction | None
    reading: StateReading
    pooling: Pooling
    deletions: int
    names: tuple[str, ...]
    structure: Structure
    n_edges: int
    mean_smhd: Fraction
    mean_shd: Fraction

    @cached_property
    def dag(self) -> DAG:
        """The structure."""
        if _is_bits(self.structure):
            return DAG.from_parent_bits(self.names, self.structure)
        return DAG.from_arcs(self.names, self.structure)


@dataclass(frozen=True, eq=False)
class Consensus:
    """The chosen structure, and what can be said about it.

    Attributes
    ----------
    dag : the consensus, names sorted as text; of its class the member `nearest_member`.
    theta : the θ of its state; None: G+ itself, or no state of the path.
    reading : the reading that it came from: "search", "refusion", "vote" or "others"; "counts"
        where exact counts chose the structure, which then need not be a state of the path.
    pooling : of the path that it came from: "mean", "clip" or "median".
    mean_smhd : its weighted mean SMHD to the inputs.
    lower_bound : no DAG has a mean SMHD below this.
    gap : mean_smhd - lower_bound; 0 proves that no DAG is nearer to the inputs.
    missing_pairs : pairs of names, sorted, that every input joins by an edge and `dag` does not.
    state : the one that was chosen.
    states : every state of its path that was compared, by reading, then θ; with the others that
        were compared where one of them was taken or the path was cut short.
    complete : whether the path was, and those that it was compared with.
    rest_cut_short : whether a limit of time or memory was met before it was known what the rest
        agrees on by itself, where some inputs are far, or what judges leave of the edge vote, where
        inputs have different variables; then the consensus is on the path, and not complete.
    led_away : whether what judges of pairs prefer would be far from half of the inputs
        (`fedbn.consensus.far_inputs.leads_away`); then the consensus is the judged vote.
    """

    dag: DAG
    theta: Fraction | None
    reading: ConsensusReading
    pooling: Pooling
    mean_smhd: Fraction
    lower_bound: Fraction
    gap: Fraction
    missing_pairs: tuple[tuple[str, str], ...]
    state: PathState
    states: tuple[PathState, ...]
    complete: bool
    rest_cut_short: bool = False
    led_away: bool = False


def select_consensus(
    path: McbncPath,
    reading: Reading = "best",
    theta: Fraction | float | str | None = None,
    max_treewidth: int | None = None,
) -> Consensus:
    """The state of smallest mean SMHD to the inputs, or the state at a given θ.

    All inputs have a say; `select_among` leaves it to those that are not far.

    Parameters
    ----------
    path : from `mcbnc_path`; one that was stopped early gives the best state so far, or the edge
        vote, if that is nearer.
    reading : "search", "refusion", or "best" of both.
    theta : use the state at this threshold; chosen after the search by default.
    max_treewidth : `dag_treewidth` of the consensus is at most this.

    Raises
    ------
    ConfigError : the reading is unknown, θ is no number >= 0, or no state is within the bound.
    """
    if reading not in READINGS:
        raise ConfigError(f"reading must be one of {', '.join(READINGS)}, got {reading!r}")
    wanted = None if theta is None else as_threshold(theta)
    votes = votes_of(path.inputs)
    states = path_states(path, reading, votes)
    compare = reading == "best" and path.inputs.observed is None
    return choose_among(
        path, states, votes, wanted, compare_votes=compare, max_treewidth=max_treewidth
    )


def consensus_beside_path(
    chosen: Consensus, dag: DAG, path: McbncPath, reading: Literal["vote", "others"]
) -> Consensus:
    """A DAG that is no state of a path, as its consensus in place of the chosen one: what inputs
    that are not far agree on ("others"), or what judges leave of a vote ("vote")."""
    votes = votes_of(path.inputs)
    state = _state_of(path, reading, dag, votes)
    return _consensus_at(state, dag, path, (*chosen.states, state), votes)


def choose_by_judges(
    path: McbncPath,
    chosen: Consensus,
    first: Consensus,
    vote: DAG,
    max_treewidth: int | None = None,
) -> Consensus:
    """The consensus that the judges of pairs prefer, with its distances to all inputs.

    Parameters
    ----------
    path : of inputs about different variables.
    chosen : the consensus on it.
    first : the consensus by which pairs are judged.
    vote : what judges leave of the edge vote.
    max_treewidth : see `select_consensus`.
    """
    votes, heard = votes_of(path.inputs), votes_of_judges(path.inputs, first.dag)
    elected = [state.dag for state in _elected_states(path, heard)]
    beside = [_state_of(path, "vote", dag, votes) for dag in dict.fromkeys([*elected, vote])]
    states = [*chosen.states, *beside]
    smhd, shd = _distances([state.structure for state in states], heard)
    told = [
        replace(state, mean_smhd=near, mean_shd=shown)
        for state, near, shown in zip(states, smhd, shd, strict=True)
    ]
    preferred = _choose_within(told, max_treewidth)
    state = states[told.index(preferred)]
    compared = (*chosen.states, state) if state in beside else chosen.states
    dag = nearest_member(state.dag, votes, path.knowledge)
    consensus = _consensus_at(state, dag, path, compared, votes)
    if preferred != min(told, key=preference):
        return _lower(consensus, votes, path.knowledge, max_treewidth, heard)
    return consensus


def choose_among(
    path: DeletionPath,
    states: tuple[PathState, ...],
    votes: Votes,
    theta: Fraction | None = None,
    *,
    compare_votes: bool = True,
    max_treewidth: int | None = None,
) -> Consensus:
    """The consensus on a path, by the votes of its inputs.

    Parameters
    ----------
    path : whose states these are; one that was cut short may give the edge vote.
    states : G+ and one state per distinct θ, of every reading that is compared.
    votes : of the original inputs.
    theta : take the state at this threshold.
    compare_votes : whether what the votes elect competes, too; it always does where the path was
        cut short.
    max_treewidth : see `select_consensus`, also for what is raised.
    """
    eligible = list(states) if theta is None else _at(states, theta)
    elected: tuple[PathState, ...] = ()
    may_win = theta is None and (max_treewidth is not None or _may_be_beaten(states, votes))
    if path.cut_short or (compare_votes and may_win):
        elected = tuple(_elected_states(path, votes))
    if theta is None:
        eligible += elected
    chosen = _choose_within(eligible, max_treewidth)
    if path.cut_short or chosen in elected:
        states = (*states, *elected)
    dag = nearest_member(chosen.dag, votes, path.knowledge)
    consensus = _consensus_at(chosen, dag, path, states, votes)
    if theta is None and max_treewidth is not None and chosen != min(eligible, key=preference):
        return _lower(consensus, votes, path.knowledge, max_treewidth)
    return consensus


def _consensus_at(
    chosen: PathState, dag: DAG, path: DeletionPath, states: tuple[PathState, ...], votes: Votes
) -> Consensus:
    """The consensus from one of the states; `dag` is the member of its class that is written."""
    bound = lower_bound(votes)
    return Consensus(
        dag=dag,
        theta=chosen.theta,
        reading=chosen.reading,
        pooling=chosen.pooling,
        mean_smhd=chosen.mean_smhd,
        lower_bound=bound,
        gap=chosen.mean_smhd - bound,
        missing_pairs=missing_pairs(chosen.dag, votes),
        state=chosen,
        states=states,
        complete=path.complete,
    )


def _may_be_beaten(states: Sequence[PathState], votes: Votes) -> bool:
    """Whether some DAG may be strictly nearer to the inputs than each of the states."""
    return min(state.mean_smhd for state in states) > lower_bound(votes)


def _choose_within(states: Sequence[PathState], max_treewidth: int | None) -> PathState:
    """The preferred of the states within the bound."""
    if max_treewidth is None:
        return min(states, key=preference)
    widths = []
    for state in sorted(states, key=preference):
        widths.append(dag_treewidth(state.dag))
        if widths[-1] <= max_treewidth:
            return state
    raise ConfigError(
        f"no structure that was compared has a treewidth of at most {max_treewidth}: the minimum "
        f"is {min(widths)} (a given theta, required edges or a short time budget can be the cause)"
    )


def _lower(
    consensus: Consensus,
    votes: Votes,
    knowledge: Knowledge | None,
    max_treewidth: int | None,
    heard: Votes | None = None,
) -> Consensus:
    """The consensus after changes of single edges, within the bound, that lower the mean SMHD, to
    those that are heard where these are not all."""
    lowered = heard or votes
    possible = lowered.total if lowered.seen is None else lowered.seen
    given = lowered.matrix(lowered.moral), possible, knowledge
    lowest = descend_by_votes(consensus.dag, *given, max_treewidth)
    dag = nearest_member(lowest, votes, knowledge)
    distance = mean_smhd_by_votes(dag, votes)
    return replace(
        consensus,
        dag=dag,
        mean_smhd=distance,
        gap=distance - consensus.lower_bound,
        missing_pairs=missing_pairs(dag, votes),
    )


def preference(state: PathState) -> tuple[Fraction, int, Fraction, int, int, Fraction, int]:
    """Sort key: mean SMHD, the path before all else, mean SHD, edges, `search` first, larger θ (G+
    last), `mean` first."""
    return (
        state.mean_smhd,
        int(state.reading not in ON_PATH),
        state.mean_shd,
        state.n_edges,
        STATE_READINGS.index(state.reading),
        Fraction(1) if state.theta is None else -state.theta,
        POOLINGS.index(state.pooling),
    )


def _at(states: tuple[PathState, ...], theta: Fraction) -> list[PathState]:
    """The last state of every reading of the path that is not beyond θ."""
    on_path = [s for s in states if s.reading in ON_PATH]
    last = {s.reading: s for s in on_path if s.theta is None or s.theta <= theta}
    return list(last.values())


def path_states(
    path: McbncPath, reading: Reading = "best", votes: Votes | None = None
) -> tuple[PathState, ...]:
    """G+ and one state per distinct θ, for one reading, or for both when it is "best".

    votes : of the path's inputs, if they are known already.
    """
    from fedbn._core.consensus import refusion_states

    inputs, known = path.inputs, path.knowledge
    fused = None
    if reading != "search":
        cuts = np.array(path.state_ends, dtype=np.int64)
        given = inputs.parent_bits, inputs.weight_array, path.lost_arcs, cuts, inputs.counts
        precedence = None if known is None else precedence_of(known, inputs.names)
        fused = refusion_states(*given, path.quorum, precedence, inputs.observed_bits)
    return states_of(path, reading, fused, votes or votes_of(inputs))


def states_of(
    path: DeletionPath, reading: Reading, fused: Sequence[Structure] | None, votes: Votes
) -> tuple[PathState, ...]:
    """`path_states` from the votes of the inputs and the fusions of the pruned ones.

    fused : structures as `PathState` has them, one fusion per entry of `path.state_ends`; None
        where only "search" is read.
    """
    from fedbn._core.consensus import search_states

    states: list[PathState] = []
    if reading != "refusion":
        cuts = np.array(path.state_ends, dtype=np.int64)
        known = {} if path.knowledge is None else path.knowledge.bits(path.names)
        states += _measure(path, "search", search_states(*_as_bits(path), cuts, **known), votes)
    if fused is not None:
        states += _measure(path, "refusion", fused, votes)
    return tuple(states)


def _elected_states(path: DeletionPath, votes: Votes) -> Iterator[PathState]:
    """What the votes of the inputs elect: the edges that most of their weight joins."""
    elected_of = votes.total if votes.seen is None else votes.seen
    elected = (
        averaged_dag(path.names, votes.arc_votes, elected_of, threshold, path.knowledge)
        for threshold in (None, Fraction(1, 2))
    )
    for dag in dict.fromkeys(elected):
        yield _state_of(path, "vote", dag, votes)


def _state_of(path: DeletionPath, reading: StateReading, dag: DAG, votes: Votes) -> PathState:
    """A structure that no deletion led to, with its distances."""
    return _measure(path, reading, [dag.arcs], votes)[0]


def _measure(
    path: DeletionPath, reading: StateReading, structures: Sequence[Structure], votes: Votes
) -> list[PathState]:
    """States with their distances; structures: of each, at the first B thresholds."""
    smhd, shd = _distances(structures, votes)
    thetas = (None, *path.thetas)
    for structure in structures:
        structure.flags.writeable = False
    return [
        PathState(
            theta=thetas[b],
            reading=reading,
            pooling=path.pooling,
            deletions=path.state_ends[b],
            names=path.names,
            structure=structure,
            n_edges=_size(structure),
            mean_smhd=smhd[b],
            mean_shd=shd[b],
        )
        for b, structure in enumerate(structures)
    ]


def _distances(
    structures: Sequence[Structure], votes: Votes
) -> tuple[list[Fraction], list[Fraction]]:
    """Of each its mean SMHD and its mean SHD."""
    from fedbn._core.consensus import shd_sums

    given = len(votes.names), votes.pairs, votes.classes, votes.total, votes.seen
    smhd, shd = smhd_sums_of(structures, votes), shd_sums(list(structures), *given)
    total = votes.total
    return [Fraction(int(d), total) for d in smhd], [Fraction(int(d), total) for d in shd]


def _size(structure: Structure) -> int:
    """Its number of edges."""
    return int(np.bitwise_count(structure).sum()) if _is_bits(structure) else len(structure)


def _is_bits(structure: Structure) -> TypeGuard[Bits]:
    return structure.dtype == np.uint64


def _as_bits(
    path: DeletionPath,
) -> tuple[Bits, Ints32, list[list[int]]]:
    """G+ as parents' bits, and x, y and H of the deletions for the core."""
    place = {name: i for i, name in enumerate(path.names)}
    left_out = [[place[name] for name in step.h] for step in path.steps]
    xy = np.array([(place[s.x], place[s.y]) for s in path.steps], dtype=np.int32).reshape(-1, 2)
    return path.union.parent_bits, xy, left_out
