"""One consensus from the paths of several poolings.

Ψ as a mean of unbounded cuts (the paper) lets one dense input outvote any number of unanimous
ones: a cut of c in it outweighs c inputs. With cuts clipped at 1 every input has one vote, but
where inputs are honest the mean often leads nearer to them. So the default, "best", makes both
paths from one fusion and takes the state that the rule of `threshold.py` prefers among those of
both, ties to "mean". Which path that was is `Consensus.pooling`.

Where some inputs are far from that consensus (`fedbn.consensus.far_inputs`), the reading "best"
then takes what the rest agrees on, by paths of the same poolings, once for all. Not where a path
was cut short, θ is given, or inputs are about different variables. Of these the reading "best"
takes what the judges of pairs prefer (`fedbn.consensus.threshold`), or the judged vote where that
leads away from half of the inputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Literal, TypeVar

from fedbn.consensus.far_inputs import agreed_by_rest, leads_away
from fedbn.consensus.judged_vote import judged_vote_of
from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.path import POOLINGS, DeletionPath, McbncPath, Pooling
from fedbn.consensus.threshold import (
    Consensus,
    Reading,
    choose_by_judges,
    consensus_beside_path,
    preference,
    select_consensus,
)
from fedbn.errors import ConfigError, SearchError
from fedbn.graphs.dag import DAG
from fedbn.graphs.treewidth import dag_treewidth

NEARER = Fraction(19, 20)
"""A judged vote with less than so much of the distance of a path's state says who judges."""

P = TypeVar("P", bound=DeletionPath)
Robust = Literal["best", "mean", "clip", "median"]
ROBUST: tuple[Robust, ...] = ("best", *POOLINGS)


def poolings_of(robust: Robust) -> tuple[Pooling, ...]:
    """The poolings whose paths are compared: one, or for "best" mean and clip.

    Raises
    ------
    ConfigError : the word is unknown.
    """
    if robust not in ROBUST:
        raise ConfigError(f"robust must be one of {', '.join(ROBUST)}, got {robust!r}")
    return ("mean", "clip") if robust == "best" else (robust,)


def select_among(
    paths: Sequence[McbncPath],
    reading: Reading = "best",
    theta: Fraction | float | str | None = None,
    max_treewidth: int | None = None,
    end: float | None = None,
    by_judges: bool = True,
) -> tuple[McbncPath, Consensus]:
    """The path that holds the preferred state, and the consensus: on it, of those inputs that are
    not far from what they agree on, or what the judges of pairs prefer.

    Parameters
    ----------
    paths : at least one, of the same inputs, as from `mcbnc_paths`.
    reading, theta, max_treewidth : see `select_consensus`.
    end : of `time.monotonic()`, when the search for what the rest agrees on, or for what judges
        leave of the vote, has to stop; then the consensus on the path is taken, and says so
        (`Consensus.rest_cut_short`).
    by_judges : whether judges of pairs choose, where inputs are about different variables.

    Examples
    --------
    >>> from fedbn.consensus.mcbnc import mcbnc_paths
    >>> from fedbn.graphs.dag import DAG
    >>> edge = DAG.from_edges("ab", [("a", "b")])
    >>> path, consensus = select_among(mcbnc_paths([edge, edge, DAG.empty("ab")]))
    >>> path.pooling, consensus.dag.edges
    ('mean', (('a', 'b'),))
    """
    path, chosen = prefer(paths, lambda path: select_consensus(path, reading, theta, max_treewidth))
    if reading != "best" or theta is not None or path.cut_short:
        return path, chosen
    try:
        if path.inputs.observed is not None:
            vote = _judged_vote(path, end)
            first = _nearer_vote(path, chosen, vote, max_treewidth) or chosen
            if not by_judges:
                return path, first
            judged = choose_by_judges(path, chosen, first, vote, max_treewidth)
            if _fits(vote, max_treewidth) and leads_away(path.inputs, vote, judged.dag):
                found = consensus_beside_path(chosen, vote, path, "vote")
                return path, replace(found, led_away=True)
            return path, judged
        agree = partial(_consensus_of_some, path, max_treewidth, end)
        dag = agreed_by_rest(path.inputs, chosen.dag, agree)
    except _CutShortError:
        return path, replace(chosen, complete=False, rest_cut_short=True)
    return path, chosen if dag is None else consensus_beside_path(chosen, dag, path, "others")


def _judged_vote(path: McbncPath, end: float | None) -> DAG:
    """What judges leave of the edge vote.

    Raises
    ------
    _CutShortError : before the judges have come to an end.
    """
    if end is not None and time.monotonic() >= end:
        raise _CutShortError
    dag = judged_vote_of(
        path.inputs,
        min_judges=path.min_judges,
        k_max=path.k_max,
        knowledge=path.knowledge,
        end=end,
    )
    if dag is None:
        raise _CutShortError
    return dag


def _nearer_vote(
    path: McbncPath, chosen: Consensus, vote: DAG, max_treewidth: int | None
) -> Consensus | None:
    """The vote as the consensus, where it is nearer to all inputs by more than 5 %.

    A little nearer says nothing: the distance counts edges of inputs that lack what separates their
    ends. So much nearer says that the path has lost edges on its way down from a dense G+.
    """
    if not _fits(vote, max_treewidth):
        return None
    found = consensus_beside_path(chosen, vote, path, "vote")
    return found if found.mean_smhd < NEARER * chosen.mean_smhd else None


def _fits(dag: DAG, max_treewidth: int | None) -> bool:
    return max_treewidth is None or dag_treewidth(dag) <= max_treewidth


class _CutShortError(Exception):
    """There is no time or memory left for what a part of the inputs agrees on, or judges leave of a
    vote."""


def _consensus_of_some(
    path: McbncPath,
    max_treewidth: int | None,
    end: float | None,
    dags: Sequence[DAG],
    weights: Sequence[Fraction],
) -> DAG:
    """What some of the inputs agree on, by paths like the given one and its rivals, ties by name.

    Raises
    ------
    _CutShortError : before the paths are whole.
    """
    left = None if end is None else end - time.monotonic()
    if left is not None and left <= 0:
        raise _CutShortError
    poolings = {path.pooling, *(pooling for pooling, _ in path.rivals)}
    try:
        paths = mcbnc_paths(
            dags,
            weights,
            sorted(poolings, key=POOLINGS.index),
            k_max=path.k_max,
            quorum=path.quorum,
            seconds=left,
            knowledge=path.knowledge,
        )
    except SearchError:
        raise _CutShortError from None
    if any(each.cut_short for each in paths):
        raise _CutShortError
    return prefer(paths, lambda each: select_consensus(each, max_treewidth=max_treewidth))[1].dag


def prefer(paths: Sequence[P], choose: Callable[[P], Consensus]) -> tuple[P, Consensus]:
    """The path whose consensus is preferred to those of the others, and that.

    A consensus that was lowered within a bound on the treewidth counts as near as it then is.

    choose : of a path, the consensus; the path knows its rivals, a lone one those that it had.
    """
    candidates = []
    for path in paths:
        others = tuple((other.pooling, other.status) for other in paths if other is not path)
        told = replace(path, rivals=others or path.rivals)
        candidates.append((told, choose(told)))
    return min(candidates, key=lambda each: (each[1].mean_smhd, preference(each[1].state)))
