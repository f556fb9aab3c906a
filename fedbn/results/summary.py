"""A finished fusion in one summary: the figures that its table prints."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fedbn.consensus.remarks import is_judged_vote, remarks
from fedbn.consensus.votes import mean_smhd_by_votes
from fedbn.graphs.adjustment import orientations, sid
from fedbn.graphs.dag import DAG
from fedbn.graphs.directions import directed_words
from fedbn.graphs.distances import induced_smhd, shd, smhd
from fedbn.graphs.treewidth import told_treewidth
from fedbn.results.outcome import Outcome
from fedbn.results.strengths import vote_above_threshold


@dataclass(frozen=True)
class Summary:
    """The figures that say what happened; None where gold or the inputs are unknown.

    `agreeing` are the clients that sent nothing but the consensus, or DAGs equivalent to it.
    `inclusion_threshold` is bnlearn's, of the supports, beside MCBNC's θ; `edges_above_it` are the
    edges of the vote with it. `log_likelihood` is the mean of the held-out rows under the consensus
    and its parameters.
    """

    clients: int
    refused: int
    agreeing: int | None
    inputs: int
    inputs_edges: float | None
    inputs_to_gold: float | None
    inputs_shd_to_gold: float | None
    fusion_edges: int
    fusion_mean_smhd: float
    fusion_to_gold: int | None
    fusion_shd_to_gold: int | None
    reading: str
    is_judged_vote: bool
    pooling: str
    theta: Fraction | None
    inclusion_threshold: Fraction
    edges_above_it: int
    edges: int
    open_directions: int
    treewidth: int | None
    mean_smhd: Fraction
    lower_bound: Fraction
    gap: Fraction
    smhd_to_gold: int | None
    shd_to_gold: int | None
    inputs_sid_to_gold: float | None
    sid_to_gold: int | None
    orientation_precision: float | None
    orientation_recall: float | None
    inputs_held_out: float | None
    held_out: float | None
    log_likelihood: float | None
    complete: bool
    remarks: tuple[str, ...]
    pooled_edges: int | None
    pooled_to_gold: int | None
    pooled_shd_to_gold: int | None
    closed: float | None


def summarise(outcome: Outcome) -> Summary:
    """The figures of a run that its table prints."""
    gold, consensus, union = outcome.gold, outcome.consensus, outcome.path.union
    pooled = outcome.pooled
    scored = [client.held_out for client in outcome.clients if client.held_out is not None]

    right = None if gold is None else orientations(consensus.dag, gold)

    threshold, above = vote_above_threshold(outcome)

    mean = outcome.mean_over
    whole = gold if outcome.is_whole else None  # what is only known of sites with all variables

    return Summary(
        clients=len(outcome.clients) or len(outcome.cohort),
        refused=len(outcome.refused),
        agreeing=outcome.agreeing,
        inputs=len(outcome.dags),
        inputs_edges=mean(lambda dag: dag.n_edges),
        inputs_to_gold=None if gold is None else mean(lambda dag: induced_smhd(gold, dag)),
        inputs_shd_to_gold=None if whole is None else mean(lambda dag: shd(dag, whole)),
        fusion_edges=union.n_edges,
        fusion_mean_smhd=float(_mean_smhd(union, outcome)),
        fusion_to_gold=None if gold is None else smhd(union, gold),
        fusion_shd_to_gold=None if gold is None else shd(union, gold),
        reading=consensus.reading,
        is_judged_vote=is_judged_vote(outcome.path, consensus),
        pooling=consensus.pooling,
        theta=consensus.theta,
        inclusion_threshold=threshold,
        edges_above_it=above.n_edges,
        edges=consensus.dag.n_edges,
        open_directions=_open_directions(outcome),
        treewidth=told_treewidth(consensus.dag),
        mean_smhd=consensus.mean_smhd,
        lower_bound=consensus.lower_bound,
        gap=consensus.mean_smhd - consensus.lower_bound,
        smhd_to_gold=None if gold is None else smhd(consensus.dag, gold),
        shd_to_gold=None if gold is None else shd(consensus.dag, gold),
        inputs_sid_to_gold=None if whole is None else mean(lambda dag: sid(dag, whole)),
        sid_to_gold=None if gold is None else sid(consensus.dag, gold),
        orientation_precision=None if right is None else right.precision,
        orientation_recall=None if right is None else right.recall,
        inputs_held_out=sum(scored) / len(scored) if scored else None,
        held_out=outcome.held_out,
        log_likelihood=outcome.log_likelihood,
        complete=consensus.complete,
        remarks=(*remarks(outcome.path, consensus), *outcome.remarks),
        pooled_edges=None if pooled is None else pooled.dag.n_edges,
        pooled_to_gold=None if pooled is None or gold is None else smhd(pooled.dag, gold),
        pooled_shd_to_gold=None if pooled is None or gold is None else shd(pooled.dag, gold),
        closed=None if pooled is None else pooled.closed,
    )


def _mean_smhd(dag: DAG, outcome: Outcome) -> Fraction:
    """Of a DAG to the inputs, or by their votes where they are not known."""
    if outcome.votes is not None:
        return mean_smhd_by_votes(dag, outcome.votes)
    distances = (induced_smhd(dag, each) for each in outcome.dags)
    pairs = zip(outcome.shares, distances, strict=True)
    return sum((share * d for share, d in pairs), Fraction(0)) / sum(outcome.shares)


def _open_directions(outcome: Outcome) -> int:
    words = directed_words(outcome.consensus.dag, outcome.path.knowledge)
    return list(words.values()).count("open")
