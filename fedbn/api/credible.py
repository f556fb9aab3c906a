"""All structures that are credible given one table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fedbn.api.drawing import frame_of, network_html, new_axes
from fedbn.api.learning import default_score
from fedbn.credible.classes import markov_classes
from fedbn.credible.enumerate import CredibleSet
from fedbn.credible.enumerate import credible_set as credible_set_of
from fedbn.credible.pruning import candidate_sets
from fedbn.data.dataset import Dataset
from fedbn.data.table import Table, dataset_of
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG, dag_to_cpdag
from fedbn.wording import count_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class EdgePosterior:
    """The share of the set's weight that has an edge."""

    parent: str
    child: str
    posterior: float


@dataclass(frozen=True, eq=False, repr=False)
class Credible:
    """The DAGs within a Bayes factor of the best one; iterating gives them, the best first.

    Attributes
    ----------
    found : the set, with all that is proven of it.
    score_name : which score.
    """

    found: CredibleSet
    score_name: str

    @cached_property
    def dag(self) -> DAG:
        """The best structure."""
        return self.found.k_best(1)[0].dag

    @property
    def cpdag(self) -> PDAG:
        """The equivalence class of the best structure."""
        return dag_to_cpdag(self.dag)

    @property
    def score(self) -> float:
        """Score of the best structure, higher is better."""
        return -self.found.opt

    @property
    def complete(self) -> bool:
        """Whether every credible DAG is in the set."""
        return self.found.complete

    @property
    def proof(self) -> str:
        """What is proven of the count, in words."""
        return self.found.proof

    @property
    def count(self) -> int:
        """The exact number of DAGs, however large; a lower bound unless `complete`."""
        return self.found.count

    @cached_property
    def classes(self) -> int:
        """The number of Markov equivalence classes; raises SearchError where they are too many."""
        return markov_classes(self.found).count

    def __len__(self) -> int:
        """`count`, where it is below 2^63; beyond, Python raises OverflowError."""
        return self.count

    def __iter__(self) -> Iterator[DAG]:
        return (ranked.dag for ranked in self.found)

    def edges_frame(self) -> pd.DataFrame:
        """Columns parent, child, posterior: every edge of a credible DAG, by parent and child."""
        shares, names = self.found.edge_posteriors, self.found.names
        rows = [
            EdgePosterior(parent, child, float(shares[i, j]))
            for i, parent in enumerate(names)
            for j, child in enumerate(names)
            if shares[i, j] > 0
        ]
        return frame_of(EdgePosterior, sorted(rows, key=lambda row: (row.parent, row.child)))

    def plot(self, ax: Axes | None = None) -> Axes:
        """The posteriors of all edges as a matrix, on `ax` or a new pyplot figure; the axes."""
        from fedbn.results.credible_plots import draw_posteriors

        side = min(9.0, 2.2 + 0.16 * len(self.found.names))
        axes = ax or new_axes((side + 0.8, side))
        draw_posteriors(axes, self.found.edge_posteriors, self.found.names)
        return axes

    def _repr_html_(self) -> str:
        rows = self.edges_frame().sort_values("posterior", ascending=False, kind="stable")
        shares = {(row.parent, row.child): row.posterior for row in rows.itertuples()}
        return network_html(self.dag, rows, repr(self), {e: shares[e] for e in self.dag.edges})

    def __repr__(self) -> str:
        least = "" if self.complete else "at least "
        return (
            f"Credible({least}{count_of(self.count, 'DAG')} over "
            f"{count_of(len(self.found.names), 'node')}, best "
            f"{self.score_name} {self.score:.2f})"
        )


def credible_set(
    table: Table | Dataset,
    bf: float = 20.0,
    *,
    score: str | None = None,
    ess: float = 1.0,
    max_parents: int | None = None,
    seconds: float | None = None,
    memory_mb: float | None = None,
) -> Credible:
    """All structures whose score is within ln(bf) of the best.

    Parameters
    ----------
    table : a Table.
    bf : Bayes factor, at least 1.
    score : bdeu, bic, gaussian-bic, ...; by default bdeu for states, gaussian-bic for
        floats, mixed-bic for a table of both.
    ess : equivalent sample size of BDeu.
    max_parents : cap on the parents of a variable; then the set need not be complete.
    seconds : wall clock of the candidates, and again of the set.
    memory_mb : MB that may be held; by default half of what is free.

    Raises
    ------
    ConfigError : a setting is unknown or out of range.
    DataError : this is no table, or not of the kind that the score needs.
    SearchError : the limits do not allow even the candidates.

    Examples
    --------
    >>> table = Table.from_columns({"a": "0011" * 20, "b": "0011" * 20, "c": "0101" * 20})
    >>> found = credible_set(table, bf=20)
    >>> len(found), found.dag.n_edges, found.complete
    (10, 1, True)
    """
    dataset = dataset_of(table)
    name = score or default_score(dataset)
    memory = None if memory_mb is None else int(memory_mb * 1e6)
    candidates = candidate_sets(
        dataset, name, bayes_factor=bf, ess=ess, max_parents=max_parents, memory=memory,
        seconds=seconds,
    )  # fmt: skip
    return Credible(credible_set_of(candidates, memory=memory, seconds=seconds), name)
