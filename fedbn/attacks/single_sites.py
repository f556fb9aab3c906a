"""What sums of votes and whole structures say about single sites.

Votes are those that secure sums reveal: for every pair of variables, how many sites have it in the
moral graph of their DAG.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Ints
from fedbn.attacks.samples import Share
from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.graphs.moral import moral_graph


@dataclass(frozen=True)
class UniqueVotes:
    """Moral edges that one site alone has, or alone lacks, of all that any site has."""

    one: Share
    all_but_one: Share


def moral_votes(dags: Sequence[DAG]) -> Ints:
    """int64 [n, n], symmetric: how many of the DAGs have each pair in their moral graph."""
    if not dags:
        raise ConfigError("votes need at least one DAG")
    votes = np.zeros((dags[0].n, dags[0].n), dtype=np.int64)
    for dag in dags:
        votes += moral_graph(dag)
    return votes


def unique_votes(dags: Sequence[DAG]) -> UniqueVotes:
    """How many moral edges point at one site; raises ConfigError if no DAG has an edge."""
    votes = moral_votes(dags)[np.triu_indices(dags[0].n, k=1)]
    edges = int((votes > 0).sum())
    return UniqueVotes(
        Share.of_trials(int((votes == 1).sum()), edges),
        Share.of_trials(int((votes == len(dags) - 1).sum()), edges),
    )


def reidentify(first: Sequence[DAG], second: Sequence[DAG]) -> Share:
    """Sites found again by their structures: `first[i]` and `second[i]` are of the same site.

    A site is found if its second DAG is nearer (SMHD) to its own first one than to any other's;
    of those equally near the first is taken. Chance is 1 / sites.

    Raises
    ------
    ConfigError : there are not as many structures in both runs, or none.
    """
    if len(first) != len(second) or not first:
        raise ConfigError(
            f"both runs must have the same sites, not {len(first)} and {len(second)} structures"
        )
    found = 0
    for site, dag in enumerate(second):
        distances = [smhd(dag, other) for other in first]
        found += int(np.argmin(distances)) == site
    return Share.of_trials(found, len(first))
