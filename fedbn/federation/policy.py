"""What a site lets leave, whatever a run asks for; decided at the site, before anything is sent.

A refusal says one of the words of REASONS and nothing else: no figure, no name. The full reason is
for the site's own log. Policies bind what an honest app sends; they cannot bind code that a site
lets in without looking at it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from fedbn.data.dataset import Dataset, Schema
from fedbn.errors import ConfigError, PolicyError
from fedbn.federation.message import StructureMessage, as_classes
from fedbn.graphs.dag import DAG
from fedbn.networks.family_counts import Family
from fedbn.privacy.guarantee import Guarantee

__all__ = ["FORMS", "REASONS", "SitePolicy", "refusal"]

REASONS = (
    "min-rows",
    "variables",
    "max-in-degree",
    "max-dags",
    "max-epsilon",
    "counts",
    "histograms",
    "secure-sums",
    "min-cohort",
    "cohort",
    "cohort-changed",
    "query",
    "schema",
)
"""The words that a refusal may say: the keys of a policy that can stop a message; and, of secure
sums, company that the site does not want, or a question that the protocol does not ask."""

FORMS = ("dag", "cpdag")
WEIGHTS = ("exact", "uniform")


@dataclass(frozen=True)
class SitePolicy:
    """The limits of one site; every limit is off unless it is given.

    Attributes
    ----------
    min_rows : int
        With fewer rows nothing is sent, not even column names.
    variables : tuple of str or None
        The columns (agreed names) that may be named; with any other, nothing is sent.
    max_in_degree : int or None
        Largest number of parents in a structure that is sent.
    max_dags : int or None
        Largest number of structures in one message.
    structures : "dag" or "cpdag"
        "cpdag": only equivalence classes leave (see `fedbn.federation.message`), so no
        direction that the data do not determine.
    weights : "exact" or "uniform"
        "uniform": all structures of a message have the same weight. Exact weights of several
        structures are ratios of scores, which nearly every row changes.
    diagnostics : bool
        Whether rows and seconds may leave when the run asks for them.
    counts : bool
        Whether exact counts of families may leave. They say far more than a structure.
    counts_min_rows : int
        With fewer rows no counts leave.
    counts_max_parents : int or None
        Largest number of parents of a family whose counts leave; with any larger one in a
        request, none do.
    histograms : bool
        Whether counts of a column's numbers may leave, for cut points common to all sites.
    secure_sums : bool
        Whether structures may leave only under secure sums, never in the open.
    min_cohort : int
        Fewest sites of a secure sum, this one among them.
    max_epsilon, delta : float or None
        With `max_epsilon`, only private structures leave, and all runs on the site's tables
        together stay within this ε at `delta` (see `fedbn.privacy.ledger`).
    """

    min_rows: int = 0
    variables: tuple[str, ...] | None = None
    max_in_degree: int | None = None
    max_dags: int | None = None
    structures: str = "dag"
    diagnostics: bool = False
    max_epsilon: float | None = None
    delta: float = 1e-6
    histograms: bool = True
    counts: bool = False
    counts_min_rows: int = 0
    counts_max_parents: int | None = None
    secure_sums: bool = False
    min_cohort: int = 3
    weights: str = "exact"

    def __post_init__(self) -> None:
        if self.weights not in WEIGHTS:
            raise ConfigError(f"weights must be one of {WEIGHTS}, not {self.weights!r}")
        if self.structures not in FORMS:
            raise ConfigError(f"structures must be one of {FORMS}, not {self.structures!r}")
        for name in (
            "min_rows",
            "max_in_degree",
            "max_dags",
            "counts_min_rows",
            "counts_max_parents",
            "min_cohort",
        ):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ConfigError(f"{name.replace('_', '-')} must be at least 0, not {value}")
        if self.max_epsilon is not None:
            Guarantee(self.max_epsilon, self.delta)

    def require_open(self) -> None:
        """Raise PolicyError where structures may not leave in the open."""
        if self.secure_sums:
            raise refusal("secure-sums", "structures leave under secure sums only")

    def require_private(self, guarantee: Guarantee | None) -> None:
        """Raise PolicyError where only private structures may leave and these are not.

        Whether the sum over all runs is within the limits is the ledger's to say.
        """
        if guarantee is None and self.max_epsilon is not None:
            raise refusal("max-epsilon", "the run's learner is not private")

    def require_table(self, dataset: Dataset) -> None:
        """Raise PolicyError unless this table may take part at all."""
        if dataset.n_rows < self.min_rows:
            raise refusal("min-rows", f"{dataset.n_rows} rows, at least {self.min_rows} wanted")
        self.require_schema(dataset.schema)

    def require_schema(self, schema: Schema) -> None:
        """Raise PolicyError unless every column may be named."""
        if self.variables is None:
            return
        forbidden = sorted(set(schema.names) - set(self.variables))
        if forbidden:
            raise refusal("variables", f"column {forbidden[0]!r} is not among those allowed")

    def require_counts(self, rows: int, families: Iterable[Family]) -> None:
        """Raise PolicyError unless the counts of these families may leave a table of `rows`."""
        if self.max_epsilon is not None:
            raise refusal("max-epsilon", "counts are not private")
        if not self.counts:
            raise refusal("counts", "this site sends no counts")
        if rows < self.counts_min_rows:
            raise refusal("counts", f"{rows} rows, at least {self.counts_min_rows} wanted")
        largest = max(len(family.parents) for family in families)
        if self.counts_max_parents is not None and largest > self.counts_max_parents:
            raise refusal("counts", f"{largest} parents, limit {self.counts_max_parents}")

    def require_histograms(self) -> None:
        """Raise PolicyError unless counts of a column's numbers may leave."""
        if self.max_epsilon is not None:
            raise refusal("max-epsilon", "histograms are not private")
        if not self.histograms:
            raise refusal("histograms", "this site sends no histograms")

    def permit(self, message: StructureMessage) -> StructureMessage:
        """The message in the form that may leave; raises PolicyError if none may."""
        allowed = as_classes(message) if self.structures == "cpdag" else message
        if self.weights == "uniform":
            allowed = replace(allowed, weights=(1.0,) * len(allowed.dags))
        if self.max_dags is not None and len(allowed.dags) > self.max_dags:
            raise refusal("max-dags", f"{len(allowed.dags)} structures, limit {self.max_dags}")
        largest = max(_in_degree(dag) for dag in allowed.dags)
        if self.max_in_degree is not None and largest > self.max_in_degree:
            raise refusal("max-in-degree", f"{largest} parents, limit {self.max_in_degree}")
        return allowed


def refusal(reason: str, details: str) -> PolicyError:
    """The error of a refusal: its `args` are the word that may leave, and what may not."""
    assert reason in REASONS
    return PolicyError(reason, details)


def _in_degree(dag: DAG) -> int:
    degrees: Any = dag.adjacency.sum(axis=0)
    return int(degrees.max(initial=0))
