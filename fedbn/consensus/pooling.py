"""One consensus from the paths of several poolings.

Ψ as a mean of unbounded cuts (the paper) lets one dense input outvote any number of unanimous
ones: a cut of c in it outweighs c inputs. With cuts clipped at 1 every input has one vote, but
where inputs are honest the mean often leads nearer to them. So the default, "best", makes both
paths from one fusion and takes the state that the rule of `threshold.py` prefers among those of
both, ties to "mean". Which path that was is `Consensus.pooling`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal, TypeVar

from fedbn.consensus.path import POOLINGS, DeletionPath, McbncPath, Pooling
from fedbn.consensus.threshold import Consensus, Reading, preference, select_consensus
from fedbn.errors import ConfigError

__all__ = ["ROBUST", "Robust", "poolings_of", "prefer", "select_among"]

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
) -> tuple[McbncPath, Consensus]:
    """The path that holds the preferred state, and the consensus on it.

    Parameters
    ----------
    paths : at least one, of the same inputs, as from `mcbnc_paths`.
    reading, theta, max_treewidth : see `select_consensus`.

    Examples
    --------
    >>> from fedbn.consensus.mcbnc import mcbnc_paths
    >>> from fedbn.graphs.dag import DAG
    >>> edge = DAG.from_edges("ab", [("a", "b")])
    >>> path, consensus = select_among(mcbnc_paths([edge, edge, DAG.empty("ab")]))
    >>> path.pooling, consensus.dag.edges
    ('mean', (('a', 'b'),))
    """
    return prefer(paths, lambda path: select_consensus(path, reading, theta, max_treewidth))


def prefer(paths: Sequence[P], choose: Callable[[P], Consensus]) -> tuple[P, Consensus]:
    """The path whose consensus is preferred to those of the others, and that; one in which far
    inputs had no say before one in which all had.

    choose : of a path, the consensus; the path knows its rivals.
    """
    candidates = []
    for path in paths:
        others = tuple((other.pooling, other.status) for other in paths if other is not path)
        told = replace(path, rivals=others)
        candidates.append((told, choose(told)))
    return min(
        candidates, key=lambda each: (each[1].reading != "others", preference(each[1].state))
    )
