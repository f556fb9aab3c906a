"""Structures weighted by their posterior on the rows of all sites, from summed counts alone.

The weight of a structure is proportional to exp of its BDeu on the sums, the posterior under a
uniform prior over the structures given: exact, and no row leaves its site. Structures of one
equivalence class have one score and one distribution, so each class counts once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.networks.family_counts import Family, FamilyCounts
from fedbn.scores.family_scores import bdeu_of_counts


def structures_of_classes(dags: Sequence[DAG]) -> tuple[DAG, ...]:
    """The first structure of every equivalence class; all have the same names in one order."""
    found: dict[bytes, DAG] = {}
    for dag in dags:
        pdag = dag_to_cpdag(dag)
        found.setdefault(pdag.adjacency.tobytes(), dag)
    return tuple(found.values())


def weights_of_structures(
    dags: Sequence[DAG], counts: FamilyCounts, ess: float = 1.0
) -> tuple[float, ...]:
    """The posterior weight of each structure; they sum to 1.

    Parameters
    ----------
    dags : over the names of the counts' schema, in its order.
    counts : over all sites, of all families of the DAGs.
    ess : equivalent sample size of BDeu.

    Raises
    ------
    KeyError : a family was not counted.
    """
    scores, place = bdeu_of_counts(counts, ess), counts.tables.place
    totals = [
        math.fsum(scores[place[Family(node, parents)]] for node, parents in enumerate(sets))
        for sets in (dag.parent_sets() for dag in dags)
    ]
    shares = [math.exp(total - max(totals)) for total in totals]
    return tuple(share / math.fsum(shares) for share in shares)
