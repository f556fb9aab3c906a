"""The candidates for the consensus: the states of every row-weight class, each structure once.

A site that counts its rows k times (`make_score`, row weight) admits weak edges, and chance ones.
Chance edges differ from site to site, weak true ones do not, so the fusion of the class of one k
deletes the first and keeps the second; but how large k may be differs from problem to problem.
So each site learns once per k of a ladder, every class is fused by itself, and what is then to be
chosen is one of all their states: both readings, all poolings, every θ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedbn.consensus.threshold import PathState
from fedbn.data.dataset import Schema
from fedbn.errors import SearchError
from fedbn.graphs.dag import DAG
from fedbn.networks.family_counts import Family, FamilyTables, families_of
from fedbn.networks.network import configurations

__all__ = ["Candidate", "CandidateLimits", "Candidates", "candidates_of", "cells_of"]


@dataclass(frozen=True)
class CandidateLimits:
    """How much is asked about.

    Attributes
    ----------
    max_candidates : candidates at most.
    family_cells : cells of the table of one family at most; it keeps G+ and its like out, whose
        tables hold more cells than there are rows.
    cells : cells of all tables together at most.
    """

    max_candidates: int = 1_000
    family_cells: int = 20_000
    cells: int = 2_000_000


@dataclass(frozen=True, eq=False)
class Candidate:
    """One structure that may become the consensus: the state of a path of a row-weight class."""

    row_weight: float
    state: PathState
    dag: DAG


@dataclass(frozen=True, eq=False)
class Candidates:
    """The distinct structures to choose among, the families to ask for, and what was left out.

    Parameters
    ----------
    listed : by ascending row weight; within a class in the order of its states.
    families : of all of them.
    left_out : how many distinct structures the limits left out.
    """

    listed: tuple[Candidate, ...]
    families: tuple[Family, ...]
    left_out: int


def candidates_of(
    classes: Sequence[tuple[float, Sequence[PathState]]],
    schema: Schema,
    limits: CandidateLimits | None = None,
) -> Candidates:
    """List the candidates of all classes.

    Parameters
    ----------
    classes : row weight and states of each class; the states of a class by preference, so that
        the limits leave out the least preferred. Classes take turns.
    schema : the agreed one, whose cardinalities give the size of tables.
    limits : what is asked about at most.

    Raises
    ------
    SearchError : no structure keeps the limits.
    """
    bounds = limits or CandidateLimits()
    sizes: dict[Family, int] = {}
    kept: dict[DAG, tuple[int, Candidate]] = {}
    seen: set[DAG] = set()
    asked: set[Family] = set()
    total = 0
    for rank in range(max(len(states) for _, states in classes)):
        for place, (row_weight, states) in enumerate(classes):
            if rank >= len(states) or states[rank].dag in seen:
                continue
            dag = states[rank].dag
            seen.add(dag)
            new = set(families_of([dag])) - asked
            for family in new - sizes.keys():
                sizes[family] = cells_of(schema, family)
            more = sum(sizes[family] for family in new)
            largest = max((sizes[family] for family in new), default=0)
            if len(kept) == bounds.max_candidates or largest > bounds.family_cells:
                continue
            if total + more > bounds.cells:
                continue
            kept[dag] = (place, Candidate(row_weight, states[rank], dag))
            asked |= new
            total += more
    if not kept:
        raise SearchError(
            f"no candidate has tables of at most {bounds.family_cells} cells: variables have too "
            "many states for choosing by counts"
        )
    listed = [candidate for _, candidate in sorted(kept.values(), key=lambda entry: entry[0])]
    tables = FamilyTables(schema, tuple(sorted(asked)))
    return Candidates(tuple(listed), tables.families, len(seen) - len(kept))


def cells_of(schema: Schema, family: Family) -> int:
    """How many cells the table of a family has, exact."""
    sizes = schema.cardinalities
    return configurations(sizes[list(family.parents)]) * int(sizes[family.node])
