"""The structures of a run as numbers: pairs of variables, and per state how each pair is joined.

A pair (i, j) has in a structure one of the codes NONE, FORWARD (i -> j, and the class determines
it), BACKWARD, or OPEN (joined, direction not determined). A state is told by what changes from the
one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbn.consensus.threshold import PathState
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.known_class import class_of
from fedbn.graphs.moral import moral_graph
from fedbn.results.outcome import Outcome

NONE, FORWARD, BACKWARD, OPEN = range(4)


class Pairs:
    """A list of pairs of positions, and the codes of structures over them.

    Parameters
    ----------
    pairs : (i, j), no two over the same variables.
    """

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        self.pairs = list(pairs)
        self._ends = np.array(self.pairs, dtype=np.int64).reshape(-1, 2)

    def codes(self, dag: DAG, knowledge: Knowledge | None = None) -> NDArray[np.int8]:
        """The code of every pair in a DAG, which keeps the knowledge."""
        i, j = self._ends.T
        joined = class_of(dag, knowledge).adjacency
        there, back = joined[i, j], joined[j, i]
        found = np.where(there, FORWARD, np.where(back, BACKWARD, NONE))
        return np.where(there & back, OPEN, found).astype(np.int8)

    def arcs(self, dags: Sequence[DAG]) -> list[int]:
        """The arcs that any of the DAGs has: 2 k for pair k as it is listed, 2 k + 1 reversed."""
        i, j = self._ends.T
        has = np.logical_or.reduce([dag.adjacency for dag in dags])
        listed = np.stack([has[i, j], has[j, i]], axis=1).ravel()
        return [int(arc) for arc in np.flatnonzero(listed)]


def changes(before: NDArray[np.int8], after: NDArray[np.int8]) -> list[int]:
    """Pair, code, pair, code ... of the pairs whose code differs."""
    (where,) = np.nonzero(before != after)
    return [int(number) for k in where for number in (k, after[k])]


def readings_of(outcome: Outcome, pairs: Pairs) -> list[dict[str, Any]]:
    """Every reading with its states, for the page."""
    found: dict[str, list[dict[str, Any]]] = {}
    before: dict[str, NDArray[np.int8]] = {}
    for reading, theta, dag, distance in _structures(outcome):
        after = pairs.codes(dag, outcome.path.knowledge)
        last = before.get(reading, np.zeros_like(after))
        before[reading] = after
        found.setdefault(reading, []).append(
            {
                "theta": None if theta is None else str(theta),
                "decimal": decimal(theta),
                "edges": dag.n_edges,
                "smhd": decimal(distance),
                "gold": None if outcome.gold is None else smhd(dag, outcome.gold),
                "changes": changes(last, after),
            }
        )
    return [{"reading": reading, "states": states} for reading, states in found.items()]


def _structures(outcome: Outcome) -> Iterable[tuple[str, Fraction | None, DAG, Fraction]]:
    """Reading, θ, DAG and mean SMHD of every state; the chosen one in its final directions."""
    consensus = outcome.consensus
    for state in consensus.states:
        dag = consensus.dag if is_chosen(outcome, state) else state.dag
        yield state.reading, state.theta, dag, state.mean_smhd
    if consensus.reading == "counts":
        yield "counts", consensus.theta, consensus.dag, consensus.mean_smhd


def is_chosen(outcome: Outcome, state: PathState) -> bool:
    """Whether the state is the one that the consensus came from."""
    consensus = outcome.consensus
    return (state.reading, state.theta) == (consensus.reading, consensus.theta)


def site_distances(outcome: Outcome) -> dict[str, list[list[float]]]:
    """Reading -> per state, per client the SMHD of its DAGs to the state, over the client's own
    variables (means by shares)."""
    n = outcome.consensus.dag.n
    placed = [(dag, row) for dags, row in zip(outcome.placed, outcome.seen, strict=True)
              for dag in dags]  # fmt: skip
    ours = np.stack([_pack(dag) for dag, _ in placed])
    own = np.stack([np.packbits(np.outer(row, row)) for _, row in placed])
    found: dict[str, list[list[float]]] = {}
    for reading, _, dag, _ in _structures(outcome):
        differing = (ours ^ _pack(dag)) & own
        counts = np.bitwise_count(differing).sum(axis=1) if n else np.zeros(len(placed))
        place, row = 0, []
        for client in outcome.clients:
            total = sum(client.shares)
            some = counts[place : place + len(client.dags)]
            mean = sum((s * int(c) for s, c in zip(client.shares, some, strict=True)), Fraction(0))
            row.append(decimal(mean / total))
            place += len(client.dags)
        found.setdefault(reading, []).append(row)
    return found


def _pack(dag: DAG) -> NDArray[np.uint8]:
    """The moral graph's pairs as bits."""
    return np.packbits(np.triu(moral_graph(dag), 1))


def decimal(value: Fraction | float | None) -> Any:
    """A number with at most six decimals; whole ones as integers.

    >>> decimal(Fraction(1, 3)), decimal(2.0), decimal(None)
    (0.333333, 2, None)
    """
    if value is None:
        return None
    rounded = round(float(value), 6)
    return int(rounded) if rounded.is_integer() else rounded
