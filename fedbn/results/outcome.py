"""A finished fusion: consensus and path, clients, the gold network and the pooled reference.

Its tables are in `rows`, its figures in `summary`; `report` writes them, `plots` draws them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import compress
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from fedbn.arrays import Bools
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag

if TYPE_CHECKING:
    from fedbn.consensus.claimed_independences import Claim
    from fedbn.consensus.path import DeletionPath
    from fedbn.consensus.threshold import Consensus
    from fedbn.consensus.votes import Votes
    from fedbn.federation.secure_rounds import SecureResult
    from fedbn.federation.state import FederationResult
    from fedbn.groups.grouping import Grouping

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
    clients : whose DAGs were fused; none under secure sums, where no DAG is known. Where sites have
        different variables, each DAG is over its own site's.
    path, consensus : as the fusion gave them.
    gold : the true DAG, where known.
    held_out, held_out_name : score of the consensus on the held-out rows, and which score it is.
    log_likelihood : of a held-out row under the consensus with its parameters, mean.
    refused : (client, reason) of replies that were not used.
    votes, cohort : under secure sums, the summed votes of the sites, and their names.
    lone_states : (client, column, state) of the states that one site alone has.
    pooled : what pooling would have given, in a simulation.
    remarks : what a reader must be told of the run, besides what follows from the consensus.
    grouping : of the clients, where groups were asked for.
    """

    clients: tuple[Client, ...]
    path: DeletionPath
    consensus: Consensus
    gold: DAG | None = None
    held_out: float | None = None
    held_out_name: str = "bdeu"
    log_likelihood: float | None = None
    refused: tuple[tuple[str, str], ...] = ()
    votes: Votes | None = None
    cohort: tuple[str, ...] = ()
    lone_states: tuple[tuple[str, str, str], ...] = ()
    pooled: PooledReference | None = None
    remarks: tuple[str, ...] = ()
    grouping: Grouping | None = None

    @classmethod
    def of_federation(cls, result: FederationResult, gold: DAG | None = None) -> Outcome:
        """The outcome of a federated run."""
        from fedbn.federation.run_remarks import run_remarks

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
            remarks=run_remarks(result),
        )

    @classmethod
    def of_sums(
        cls, branch: DeletionPath, consensus: Consensus, result: SecureResult, gold: DAG | None
    ) -> Outcome:
        """The outcome of a run under secure sums, which found this consensus on this path."""
        from fedbn.federation.run_remarks import run_remarks

        return cls(
            clients=(),
            path=branch,
            consensus=consensus,
            gold=None if gold is None else gold.reorder(sorted(gold.names)),
            refused=result.refused,
            votes=result.votes,
            cohort=result.clients,
            remarks=run_remarks(result),
        )

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Independences that the consensus claims for the knowledge's sake, against some input;
        none under secure sums, where no input is known."""
        from fedbn.consensus.claimed_independences import claims_of

        known = self.path.knowledge
        if known is None or not self.dags:
            return ()
        return claims_of(self.consensus.dag, known, self.dags, self.shares)

    @property
    def dags(self) -> list[DAG]:
        """All inputs, client by client."""
        return [dag for client in self.clients for dag in client.dags]

    @cached_property
    def places(self) -> dict[str, int]:
        """Where the names of the consensus are."""
        return {name: v for v, name in enumerate(self.consensus.dag.names)}

    @cached_property
    def placed(self) -> tuple[tuple[DAG, ...], ...]:
        """Of each client its DAGs over the names of the consensus; what it lacks is isolated."""
        names = self.consensus.dag.names
        return tuple(tuple(dag.extend(names) for dag in client.dags) for client in self.clients)

    @cached_property
    def seen(self) -> Bools:
        """[clients, n]: which client has which variable of the consensus."""
        names = self.consensus.dag.names
        own = [set(client.dags[0].names) for client in self.clients]
        return np.array([[name in of for name in names] for of in own], dtype=np.bool_)

    @cached_property
    def is_whole(self) -> bool:
        """Whether every client has every variable, as far as anybody knows."""
        return not self.clients or bool(self.seen.all())

    def seeing(self, a: str, b: str) -> int:
        """How many clients have both variables."""
        if not self.clients:
            return len(self.cohort)
        i, j = self.places[a], self.places[b]
        return int((self.seen[:, i] & self.seen[:, j]).sum())

    def mean_over(self, value: Callable[[DAG], int]) -> float | None:
        """The weighted mean of a number over the inputs; None where they are not known."""
        if not self.clients:
            return None
        pairs = zip(self.shares, self.dags, strict=True)
        return float(sum(share * value(dag) for share, dag in pairs) / sum(self.shares))

    @property
    def shares(self) -> list[Fraction]:
        """The weight of each of `dags`."""
        return [share for client in self.clients for share in client.shares]

    @cached_property
    def arcs_of(self) -> tuple[frozenset[tuple[int, int]], ...]:
        """Of each client the arcs of its structures, as indices of the names of the consensus."""
        return tuple(
            frozenset((i, j) for dag in dags for i, j in dag.arcs.tolist()) for dags in self.placed
        )

    def weights_joining(self, shares: Sequence[Sequence[float]]) -> dict[tuple[int, int], float]:
        """Of the pairs (i, j), i < j, that an input joins the sum of the shares of those that do.

        shares : of every client, of each of its structures.
        """
        found: dict[tuple[int, int], float] = {}
        for dags, own in zip(self.placed, shares, strict=True):
            for dag, share in zip(dags, own, strict=True):
                for i, j in np.sort(dag.arcs, axis=1).tolist():
                    found[i, j] = found.get((i, j), 0.0) + share
        return found

    @cached_property
    def _joined(self) -> dict[tuple[int, int], float]:
        """The weight of the inputs that join a pair (i, j), i < j, where there are some."""
        if self.votes is None:
            return self.weights_joining([list(map(float, c.shares)) for c in self.clients])
        joined = self.votes.arcs.sum(axis=0).astype(float).tolist()
        return dict(zip(map(tuple, self.votes.pairs.tolist()), joined, strict=True))

    def support(self, i: int, j: int) -> float:
        """Of the inputs that have both variables the weighted share that joins them; 0 where no
        input has both."""
        possible = self._possible(i, j)
        return self._joined.get((min(i, j), max(i, j)), 0.0) / possible if possible > 0 else 0.0

    def _possible(self, i: int, j: int) -> float:
        """The weight of the inputs that have both variables."""
        if self.votes is not None:
            return float(self.votes.total if self.votes.seen is None else self.votes.seen[i, j])
        if self.is_whole:
            return float(sum(self.shares))
        having = self.seen[:, i] & self.seen[:, j]
        weights = (float(sum(c.shares)) for c in compress(self.clients, having))
        return reduce(
            add, weights, 0.0
        )  # as numerators are added: `sum` rounds otherwise from 3.12 on

    def joining(self, a: str, b: str) -> int | None:
        """How many clients have a structure that joins two variables; None under secure sums."""
        if self.votes is not None:
            return None
        i, j = self.places[a], self.places[b]
        return sum((i, j) in arcs or (j, i) in arcs for arcs in self.arcs_of)

    @cached_property
    def agreeing(self) -> int | None:
        """How many clients sent nothing but the consensus, or DAGs that are equivalent to it."""
        if self.votes is not None:
            return None
        wanted = dag_to_cpdag(self.consensus.dag)
        return sum(
            all(dag_to_cpdag(dag) == wanted for dag in client.dags) for client in self.clients
        )

    def edge_support(self, edges: Sequence[Edge]) -> dict[Edge, float]:
        """The share of the inputs that join each of `edges`, in either direction."""
        return {(p, c): self.support(self.places[p], self.places[c]) for p, c in edges}


def _shares(weights: Sequence[float]) -> tuple[Fraction, ...]:
    exact = [Fraction(weight) for weight in weights]
    total = sum(exact)
    return tuple(weight / total for weight in exact)
