"""The tables of a finished fusion: its path, its edges, its clients, as frozen rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from fedbn.graphs.dag import DAG
from fedbn.graphs.directions import directed_words
from fedbn.graphs.distances import induced_smhd, shd, smhd
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.graphs.treewidth import told_treewidth
from fedbn.results.outcome import Outcome

if TYPE_CHECKING:
    from fedbn.consensus.path import DeletionPath
    from fedbn.graphs.knowledge import Knowledge

Edge = tuple[str, str]


@dataclass(frozen=True)
class PathRow:
    """One state of the path: the DAG of one reading at one θ, and its distances.

    `theta` is None for the unrestricted fusion G+; `psi` is the criticality of the last deletion
    before the state (θ is its running maximum).
    """

    reading: str
    theta: Fraction | None
    theta_decimal: float | None
    psi: Fraction | None
    psi_decimal: float | None
    edges: int
    treewidth: int | None
    mean_smhd: float
    smhd_to_gold: int | None
    shd_to_gold: int | None
    selected: bool


def path_rows(outcome: Outcome) -> tuple[PathRow, ...]:
    """One row per state of the consensus's path, in the path's order."""
    gold, consensus = outcome.gold, outcome.consensus
    psi = _last_psi(outcome.path)
    rows = []
    for state in consensus.states:
        rows.append(
            PathRow(
                reading=state.reading,
                theta=state.theta,
                theta_decimal=_decimal(state.theta),
                psi=None if state.theta is None else psi.get(state.theta),
                psi_decimal=None if state.theta is None else _decimal(psi.get(state.theta)),
                edges=state.n_edges,
                treewidth=told_treewidth(state.dag),
                mean_smhd=float(state.mean_smhd),
                smhd_to_gold=None if gold is None else smhd(state.dag, gold),
                shd_to_gold=None if gold is None else shd(state.dag, gold),
                selected=(state.reading, state.theta) == (consensus.reading, consensus.theta),
            )
        )
    return tuple(rows)


def _decimal(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _last_psi(path: DeletionPath) -> dict[Fraction, Fraction]:
    """θ -> Ψ of the last deletion whose running maximum is θ."""
    return {step.theta: step.psi for step in path.steps}


@dataclass(frozen=True)
class EdgeRow:
    """One pair of variables that an input, G+, the consensus or the truth joins.

    The direction is that of the consensus, else of the truth, else of G+, else of most clients.
    `same`, `reversed` count clients with a DAG that has the edge in this, or the other, direction;
    `support` is their weighted share, of those that have both variables; `theta`, `psi` belong to
    the deletion that removed the pair from G+. `directed` is "compelled" or "open" for edges of the
    consensus (see `fedbn.graphs.directions`).
    """

    parent: str
    child: str
    support: float | None
    same: int
    reversed: int
    theta: Fraction | None
    theta_decimal: float | None
    psi: Fraction | None
    psi_decimal: float | None
    in_fusion: bool
    in_consensus: bool
    directed: str
    status: str
    supporters: tuple[str, ...]


def edge_rows(outcome: Outcome) -> tuple[EdgeRow, ...]:
    """One row per joined pair, sorted by parent and child."""
    names = outcome.consensus.dag.names
    deleted = {frozenset((step.x, step.y)): step for step in outcome.path.steps}
    status = edge_status(outcome.consensus.dag, outcome.gold)
    directed = directed_words(outcome.consensus.dag, outcome.path.knowledge)
    union = outcome.path.union.reorder(names)
    fused, kept = (set(map(tuple, dag.arcs.tolist())) for dag in (union, outcome.consensus.dag))
    own = [(c.label, arcs) for c, arcs in zip(outcome.clients, outcome.arcs_of, strict=True)]
    rows = []
    for i, j in _joined_pairs(outcome, union):
        parent, child = names[i], names[j]
        step = deleted.get(frozenset((parent, child)))
        same = [label for label, arcs in own if (i, j) in arcs]
        other = [label for label, arcs in own if (j, i) in arcs]
        rows.append(
            EdgeRow(
                parent=parent,
                child=child,
                support=outcome.support(i, j),
                same=len(same),
                reversed=len(other),
                theta=None if step is None else step.theta,
                theta_decimal=None if step is None else float(step.theta),
                psi=None if step is None else step.psi,
                psi_decimal=None if step is None else float(step.psi),
                in_fusion=(i, j) in fused or (j, i) in fused,
                in_consensus=(i, j) in kept,
                directed=directed.get((parent, child), ""),
                status=status.get((parent, child), ""),
                supporters=tuple(dict.fromkeys([*same, *other])),
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.parent, row.child)))


@dataclass(frozen=True)
class ConsensusRow:
    """One edge of the consensus; None where it is not known.

    `directed` is a word of `fedbn.graphs.directions`; `support` the weighted share of the
    structures that join the pair; `sites` the number of sites with a structure that does, `of` so
    many; `theta` the θ above which the path has the pair no more, a decimal, because a spreadsheet
    reads 1/3 as a date.
    """

    parent: str
    child: str
    directed: str
    support: float | None = None
    sites: int | None = None
    of: int | None = None
    theta: float | None = None


def consensus_rows(outcome: Outcome) -> tuple[ConsensusRow, ...]:
    """One row per edge of the consensus, in its order.

    Under secure sums nobody knows how many sites join a pair.
    """
    dag = outcome.consensus.dag
    deleted = {frozenset((step.x, step.y)): float(step.theta) for step in outcome.path.steps}
    support = outcome.edge_support(dag.edges)
    return tuple(
        ConsensusRow(
            *edge,
            directed,
            support=support[edge],
            sites=outcome.joining(*edge),
            of=outcome.seeing(*edge),
            theta=deleted.get(frozenset(edge)),
        )
        for edge, directed in directed_words(dag, outcome.path.knowledge).items()
    )


def bare_rows(dag: DAG, knowledge: Knowledge | None = None) -> tuple[ConsensusRow, ...]:
    """The rows of a consensus of which nothing but its edges is known."""
    return tuple(ConsensusRow(*edge, word) for edge, word in directed_words(dag, knowledge).items())


def _joined_pairs(outcome: Outcome, union: DAG) -> Iterator[tuple[int, int]]:
    votes = Counter(
        arc for dags in outcome.placed for dag in dags for arc in map(tuple, dag.arcs.tolist())
    )
    sources = [outcome.consensus.dag.arcs.tolist()]
    if outcome.gold is not None:
        sources.append(outcome.gold.arcs.tolist())
    sources.append(union.arcs.tolist())
    sources.append(sorted((i, j) for i, j in votes if votes[i, j] > votes[j, i]))
    sources.append(sorted(votes))
    seen: set[tuple[int, int]] = set()
    for source in sources:
        for i, j in source:
            if (i, j) not in seen and (j, i) not in seen:
                seen.add((i, j))
                yield i, j


def edge_status(dag: DAG, gold: DAG | None) -> dict[Edge, str]:
    """How each edge of `dag` and `gold` fares when their CPDAGs are compared.

    Returns
    -------
    "true", "reversed" (joined, but directed differently) and "extra" for the edges of `dag`,
    "missing" for edges that only `gold` has; empty without `gold`. SHD is the number of edges that
    are not "true".
    """
    if gold is None:
        return {}
    gold = gold.reorder(dag.names)
    ours, truth = dag_to_cpdag(dag).adjacency, dag_to_cpdag(gold).adjacency
    position = {name: i for i, name in enumerate(dag.names)}
    status = {}
    for parent, child in dag.edges:
        i, j = position[parent], position[child]
        if not (truth[i, j] or truth[j, i]):
            status[parent, child] = "extra"
        elif ours[i, j] == truth[i, j] and ours[j, i] == truth[j, i]:
            status[parent, child] = "true"
        else:
            status[parent, child] = "reversed"
    for parent, child in gold.edges:
        i, j = position[parent], position[child]
        if not (ours[i, j] or ours[j, i]):
            status[parent, child] = "missing"
    return status


@dataclass(frozen=True)
class ClientRow:
    """One client: what it sent, and how far it is from the consensus and the truth.

    Numbers of a client with several DAGs are means by their shares. SMHD is over the client's own
    variables; SHD is only known of a client that has all.
    """

    client: str
    status: str
    dags: int
    rows: int | None
    rows_dropped: int | None
    edges: float
    seconds: float | None
    smhd_to_consensus: float
    smhd_to_gold: float | None
    shd_to_gold: float | None
    held_out: float | None


def client_rows(outcome: Outcome) -> tuple[ClientRow, ...]:
    """One row per client, in their order."""
    gold = outcome.gold
    rows = []
    for client in outcome.clients:
        total = sum(client.shares)
        weights = [share / total for share in client.shares]

        def mean(values: Sequence[int], weights: Sequence[Fraction] = weights) -> float:
            return float(sum(w * v for w, v in zip(weights, values, strict=True)))

        rows.append(
            ClientRow(
                client=client.label,
                status=client.status,
                dags=len(client.dags),
                rows=client.rows,
                rows_dropped=None if client.rows is None else client.rows_dropped,
                edges=mean([dag.n_edges for dag in client.dags]),
                seconds=client.seconds,
                smhd_to_consensus=mean(
                    [induced_smhd(outcome.consensus.dag, d) for d in client.dags]
                ),
                smhd_to_gold=None
                if gold is None
                else mean([induced_smhd(gold, d) for d in client.dags]),
                shd_to_gold=None
                if gold is None or client.dags[0].n < gold.n
                else mean([shd(d, gold) for d in client.dags]),
                held_out=client.held_out,
            )
        )
    return tuple(rows)
