"""A finished fusion as tables: its path, its edges, its clients, its figures in one summary.

Rows are frozen values; `report` writes them, `plots` draws them, the command prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedbn.consensus.remarks import remarks
from fedbn.consensus.votes import mean_smhd_by_votes
from fedbn.graphs.dag import DAG
from fedbn.graphs.directions import directed_words
from fedbn.graphs.distances import mean_smhd, shd, smhd
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.graphs.treewidth import dag_treewidth

if TYPE_CHECKING:
    from fedbn.consensus.path import DeletionPath
    from fedbn.consensus.threshold import Consensus
    from fedbn.consensus.votes import Votes
    from fedbn.federation.rounds import FederationResult
    from fedbn.federation.secure_rounds import SecureResult

__all__ = [
    "Client",
    "ClientRow",
    "EdgeRow",
    "Outcome",
    "PathRow",
    "PooledReference",
    "Summary",
    "client_rows",
    "edge_rows",
    "edge_status",
    "path_rows",
    "summarise",
]

Edge = tuple[str, str]


@dataclass(frozen=True)
class Client:
    """One party of a fusion: its DAGs (names sorted), their shares, and what it told about itself.

    `shares` are positive and sum to the client's weight; `held_out` is the mean score of its DAGs
    on common held-out rows.
    """

    label: str
    dags: tuple[DAG, ...]
    shares: tuple[Fraction, ...]
    status: str = "complete"
    rows: int | None = None
    seconds: float | None = None
    rows_dropped: int = 0
    held_out: float | None = None


@dataclass(frozen=True)
class PooledReference:
    """What GES found on all rows together, which only a simulation has.

    `closed` is the share of the distance to the truth, from the mean site down to `dag`, that the
    consensus closes; None where the truth is unknown or there is no such distance.
    """

    dag: DAG
    closed: float | None


@dataclass(frozen=True)
class Outcome:
    """A finished fusion and whatever is known around it.

    Parameters
    ----------
    clients : whose DAGs were fused; none under secure sums, where no DAG is known.
    path, consensus : as the fusion gave them.
    gold : the true DAG, where known.
    held_out, held_out_name : score of the consensus on the held-out rows, and which score it is.
    refused : (client, reason) of replies that were not used.
    votes, cohort : under secure sums, the summed votes of the sites, and their names.
    lone_states : (client, column, state) of the states that one site alone has.
    pooled : what pooling would have given, in a simulation.
    """

    clients: tuple[Client, ...]
    path: DeletionPath
    consensus: Consensus
    gold: DAG | None = None
    held_out: float | None = None
    held_out_name: str = "bdeu"
    refused: tuple[tuple[str, str], ...] = ()
    votes: Votes | None = None
    cohort: tuple[str, ...] = ()
    lone_states: tuple[tuple[str, str, str], ...] = ()
    pooled: PooledReference | None = None

    @classmethod
    def of_federation(cls, result: FederationResult, gold: DAG | None = None) -> Outcome:
        """The outcome of a federated run."""
        clients = tuple(
            Client(
                label=str(reply.client),
                dags=tuple(dag.reorder(sorted(dag.names)) for dag in reply.dags),
                shares=_shares(reply.weights),
                status=reply.status,
                rows=reply.rows,
                seconds=reply.seconds,
                rows_dropped=reply.rows_dropped,
            )
            for reply in result.fused_replies
        )
        aligned = None if gold is None else gold.reorder(sorted(gold.names))
        refused = tuple((str(client), reason) for client, reason in result.refused)
        return cls(
            clients,
            result.path,
            result.consensus,
            gold=aligned,
            refused=refused,
            lone_states=result.lone_states,
        )

    @classmethod
    def of_sums(
        cls, branch: DeletionPath, consensus: Consensus, result: SecureResult, gold: DAG | None
    ) -> Outcome:
        """The outcome of a run under secure sums, which found this consensus on this path."""
        return cls(
            clients=(),
            path=branch,
            consensus=consensus,
            gold=None if gold is None else gold.reorder(sorted(gold.names)),
            refused=result.refused,
            votes=result.votes,
            cohort=result.clients,
        )

    @property
    def dags(self) -> list[DAG]:
        """All inputs, client by client."""
        return [dag for client in self.clients for dag in client.dags]

    @property
    def shares(self) -> list[Fraction]:
        """The weight of each of `dags`."""
        return [share for client in self.clients for share in client.shares]

    @cached_property
    def support(self) -> NDArray[np.float64]:
        """[n, n], symmetric: the weighted share of the inputs that join each pair."""
        if self.votes is not None:
            joined: NDArray[np.float64] = (self.votes.arcs + self.votes.arcs.T) / self.votes.total
            return joined
        total = float(sum(self.shares))
        votes = np.zeros((self.consensus.dag.n,) * 2)
        for dag, share in zip(self.dags, self.shares, strict=True):
            votes += float(share) * (dag.adjacency | dag.adjacency.T)
        return votes / total

    def edge_support(self, edges: Sequence[Edge]) -> dict[Edge, float]:
        """The share of the inputs that join each of `edges`, in either direction."""
        position = {name: i for i, name in enumerate(self.consensus.dag.names)}
        return {(p, c): float(self.support[position[p], position[c]]) for p, c in edges}


def _shares(weights: Sequence[float]) -> tuple[Fraction, ...]:
    exact = [Fraction(weight) for weight in weights]
    total = sum(exact)
    return tuple(weight / total for weight in exact)


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
    treewidth: int
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
                treewidth=dag_treewidth(state.dag),
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
    `support` is their weighted share; `theta`, `psi` belong to the deletion that removed the pair
    from G+. `directed` is "compelled" or "open" for edges of the consensus (see
    `fedbn.graphs.directions`).
    """

    parent: str
    child: str
    support: float
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
    directed = directed_words(outcome.consensus.dag)
    union = outcome.path.union.reorder(names)
    rows = []
    for i, j in _joined_pairs(outcome, union):
        parent, child = names[i], names[j]
        step = deleted.get(frozenset((parent, child)))
        same = [c.label for c in outcome.clients if any(dag.adjacency[i, j] for dag in c.dags)]
        other = [c.label for c in outcome.clients if any(dag.adjacency[j, i] for dag in c.dags)]
        rows.append(
            EdgeRow(
                parent=parent,
                child=child,
                support=float(outcome.support[i, j]),
                same=len(same),
                reversed=len(other),
                theta=None if step is None else step.theta,
                theta_decimal=None if step is None else float(step.theta),
                psi=None if step is None else step.psi,
                psi_decimal=None if step is None else float(step.psi),
                in_fusion=bool(union.adjacency[i, j] or union.adjacency[j, i]),
                in_consensus=bool(outcome.consensus.dag.adjacency[i, j]),
                directed=directed.get((parent, child), ""),
                status=status.get((parent, child), ""),
                supporters=tuple(dict.fromkeys([*same, *other])),
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.parent, row.child)))


def _joined_pairs(outcome: Outcome, union: DAG) -> Iterator[tuple[int, int]]:
    votes = sum(dag.adjacency.astype(np.int64) for dag in outcome.dags)
    sources = [outcome.consensus.dag.adjacency]
    if outcome.gold is not None:
        sources.append(outcome.gold.adjacency)
    sources += [union.adjacency, np.asarray(votes > np.asarray(votes).T), np.asarray(votes > 0)]
    seen = np.zeros_like(union.adjacency)
    for source in sources:
        for i, j in np.argwhere(source & ~seen):
            if not seen[i, j]:
                seen[i, j] = seen[j, i] = True
                yield int(i), int(j)


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

    Numbers of a client with several DAGs are means by their shares.
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
                smhd_to_consensus=mean([smhd(d, outcome.consensus.dag) for d in client.dags]),
                smhd_to_gold=None if gold is None else mean([smhd(d, gold) for d in client.dags]),
                shd_to_gold=None if gold is None else mean([shd(d, gold) for d in client.dags]),
                held_out=client.held_out,
            )
        )
    return tuple(rows)


@dataclass(frozen=True)
class Summary:
    """The figures that say what happened; None where gold or the inputs are unknown."""

    clients: int
    refused: int
    inputs: int
    inputs_edges: float | None
    inputs_to_gold: float | None
    inputs_shd_to_gold: float | None
    fusion_edges: int
    fusion_mean_smhd: float
    fusion_to_gold: int | None
    fusion_shd_to_gold: int | None
    reading: str
    pooling: str
    theta: Fraction | None
    edges: int
    open_directions: int
    treewidth: int
    mean_smhd: Fraction
    lower_bound: Fraction
    gap: Fraction
    smhd_to_gold: int | None
    shd_to_gold: int | None
    inputs_held_out: float | None
    held_out: float | None
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
    known, total = bool(outcome.clients), sum(outcome.shares)
    scored = [client.held_out for client in outcome.clients if client.held_out is not None]

    def mean(value: Callable[[DAG], int]) -> float | None:
        if not known:
            return None
        pairs = zip(outcome.shares, outcome.dags, strict=True)
        return float(sum(share * value(dag) for share, dag in pairs) / total)

    return Summary(
        clients=len(outcome.clients) or len(outcome.cohort),
        refused=len(outcome.refused),
        inputs=len(outcome.dags),
        inputs_edges=mean(lambda dag: dag.n_edges),
        inputs_to_gold=None if gold is None else mean(lambda dag: smhd(dag, gold)),
        inputs_shd_to_gold=None if gold is None else mean(lambda dag: shd(dag, gold)),
        fusion_edges=union.n_edges,
        fusion_mean_smhd=float(_mean_smhd(union, outcome)),
        fusion_to_gold=None if gold is None else smhd(union, gold),
        fusion_shd_to_gold=None if gold is None else shd(union, gold),
        reading=consensus.reading,
        pooling=consensus.pooling,
        theta=consensus.theta,
        edges=consensus.dag.n_edges,
        open_directions=list(directed_words(consensus.dag).values()).count("open"),
        treewidth=dag_treewidth(consensus.dag),
        mean_smhd=consensus.mean_smhd,
        lower_bound=consensus.lower_bound,
        gap=consensus.mean_smhd - consensus.lower_bound,
        smhd_to_gold=None if gold is None else smhd(consensus.dag, gold),
        shd_to_gold=None if gold is None else shd(consensus.dag, gold),
        inputs_held_out=sum(scored) / len(scored) if scored else None,
        held_out=outcome.held_out,
        complete=consensus.complete,
        remarks=remarks(outcome.path, consensus),
        pooled_edges=None if pooled is None else pooled.dag.n_edges,
        pooled_to_gold=None if pooled is None or gold is None else smhd(pooled.dag, gold),
        pooled_shd_to_gold=None if pooled is None or gold is None else shd(pooled.dag, gold),
        closed=None if pooled is None else pooled.closed,
    )


def _mean_smhd(dag: DAG, outcome: Outcome) -> Fraction:
    """Of a DAG to the inputs, or by their votes where they are not known."""
    if outcome.votes is not None:
        return mean_smhd_by_votes(dag, outcome.votes)
    return mean_smhd(dag, outcome.dags, outcome.shares)
