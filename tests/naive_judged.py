"""Slow, obvious twin of choosing by counts where sites have different columns.

A site is a table of its own columns. What a move is worth is counted anew, row by row, from the
rows of the sites that have every column of the families that it changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG, consistent_extension, dag_to_cpdag
from fedbn.search.operators import Delete, Insert, Operator
from tests import naive_mixed
from tests import naive_search as naive

Sites = Mapping[str, Dataset]
Change = tuple[int, frozenset[int], frozenset[int]]  # of a variable: parents before and after
Move = tuple[str, int, int, tuple[str, ...], float]
Value = Callable[[list[Dataset], tuple[str, ...], int, frozenset[int]], float]
Cost = Callable[[int, int], float]

UNIT = 8


def changes(move: Operator, cpdag: PDAG) -> list[Change]:
    """By the definitions of GES: whose parents a move changes, from what to what."""
    arcs, x, y = cpdag.adjacency, move.x, move.y
    near = {v for v in range(cpdag.n) if arcs[v, y] and arcs[y, v]}
    common = {v for v in near if arcs[v, x] or arcs[x, v]}
    parents = {v for v in range(cpdag.n) if arcs[v, y] and not arcs[y, v]}
    if isinstance(move, Insert):
        rest = frozenset(common | move.T | parents)
        return [(y, rest, rest | {x})]
    if isinstance(move, Delete):
        rest = frozenset((common - move.H) | parents) - {x}
        return [(y, rest | {x}, rest)]
    rest = frozenset(parents | move.C)
    of_x = {v for v in range(cpdag.n) if arcs[v, x] and not arcs[x, v]}
    if arcs[x, y]:
        of_x |= move.C & common
    return [(y, rest, rest | {x}), (x, frozenset(of_x | {y}), frozenset(of_x - {y}))]


def judges(sites: Sites, names: tuple[str, ...], changed: list[Change]) -> tuple[str, ...]:
    needed = {names[v] for y, old, new in changed for v in {y, *old, *new}}
    return tuple(sorted(site for site, table in sites.items() if needed <= set(table.names)))


def value(
    tables: list[Dataset], names: tuple[str, ...], node: int, parents: frozenset[int]
) -> float:
    """The larger of BDeu of all rows together and of the sum of the sites' own."""
    columns = sorted({names[v] for v in {node, *parents}})
    own = [table.select(columns) for table in tables]
    pooled = Dataset(own[0].schema, np.concatenate([table.codes for table in own]))
    place, given = (
        columns.index(names[node]),
        tuple(columns.index(names[p]) for p in sorted(parents)),
    )
    shared = naive.bdeu(pooled, place, given, 1.0)
    return larger(shared, [own_units(table, place, given) for table in own])


def larger(shared: float, own: list[int]) -> float:
    """Of one site alone both are the same."""
    return shared if len(own) == 1 else max(shared, sum(own) / UNIT)


def own_units(table: Dataset, node: int, parents: tuple[int, ...]) -> int:
    """A site's own score in eighths of a nat: those of the complete DAGs over the family and over
    the parents, each rounded down, less each other."""

    return _units(lambda v, given: naive.bdeu(table, v, given, 1.0), node, parents)


def own_mixed_units(table: Dataset, node: int, parents: tuple[int, ...]) -> int:
    """The same of mixed BIC, less what residual covariances cost."""
    return _units(lambda v, given: naive_mixed.within([table], v, given), node, parents)


def _units(
    score: Callable[[int, tuple[int, ...]], float], node: int, parents: tuple[int, ...]
) -> int:
    def of_set(columns: tuple[int, ...]) -> int:
        nats = sum(score(v, columns[:k]) for k, v in enumerate(columns))
        return math.floor(round(nats, 6) * UNIT)

    return of_set((*parents, node)) - of_set(parents)


def mixed_value(
    tables: list[Dataset], names: tuple[str, ...], node: int, parents: frozenset[int]
) -> float:
    """The same of mixed BIC, each site less its own means."""
    columns = sorted({names[v] for v in {node, *parents}})
    own = [table.select(columns) for table in tables]
    place, given = (
        columns.index(names[node]),
        tuple(columns.index(names[p]) for p in sorted(parents)),
    )
    shared = naive_mixed.within(own, place, given)
    return larger(shared, [own_mixed_units(table, place, given) for table in own])


def free(n: int, edges: int) -> float:
    """BIC has its price of a parent."""
    return 0.0


def cost(n: int, edges: int) -> float:
    """Nats of a structure of so many edges, every number of them being as probable as any other."""
    pairs = n * (n - 1) // 2
    return math.log(max(math.comb(pairs, m) for m in range(min(edges, pairs) + 1)))


def gain(
    sites: Sites,
    names: tuple[str, ...],
    changed: list[Change],
    edges: int,
    seen: dict,
    value_of: Value = value,
    cost_of: Cost = cost,
) -> float:
    """Over the rows of the judges, from a structure of so many edges. `seen` keeps what was
    counted."""
    heard = judges(sites, names, changed)

    def worth(node: int, parents: frozenset[int]) -> float:
        key = heard, node, parents
        if key not in seen:
            seen[key] = value_of([sites[site] for site in heard], names, node, parents)
        return seen[key]

    more = sum(len(new) - len(old) for _, old, new in changed)
    paid = cost_of(len(names), edges + more) - cost_of(len(names), edges)
    return sum(worth(node, new) - worth(node, old) for node, old, new in changed) - paid


def climb(
    sites: Sites, dag: DAG, min_judges: int = 1, value_of: Value = value, cost_of: Cost = cost
) -> tuple[list[Move], DAG]:
    """All moves, the best first, among all valid operators; no class is entered again."""
    left: set[bytes] = set()
    seen: dict = {}
    taken: list[Move] = []
    while True:
        cpdag = dag_to_cpdag(dag)
        left.add(cpdag.adjacency.tobytes())
        found = []
        for kind in ("insert", "delete", "turn"):
            for move in naive.valid_operators(cpdag, kind):
                changed = changes(move, cpdag)
                heard = judges(sites, dag.names, changed)
                if len(heard) < min_judges:
                    continue
                worth = gain(sites, dag.names, changed, dag.n_edges, seen, value_of, cost_of)
                if worth > 1e-6 and move.apply(cpdag).adjacency.tobytes() not in left:
                    moved = move.T if isinstance(move, Insert) else (
                        move.H if isinstance(move, Delete) else move.C
                    )  # fmt: skip
                    key = -round(worth, 6), kind, move.x, move.y, tuple(sorted(moved))
                    found.append((key, move, heard, worth))
        if not found:
            return taken, dag
        _, move, heard, worth = min(found, key=lambda each: each[0])
        taken.append((move.kind, move.x, move.y, heard, worth))
        dag = consistent_extension(move.apply(cpdag))


def summed_scores(sites: Sites, dag: DAG) -> float:
    """What must not be compared: every family over the sites that have it, added up."""
    return sum(
        value(_having(sites, dag.names, node, parents), dag.names, node, frozenset(parents))
        for node, parents in enumerate(dag.parent_sets())
    )


def summed_gains(sites: Sites, dag: DAG) -> float:
    """Nor this: the same over no parents in the same rows."""
    total = 0.0
    for node, parents in enumerate(dag.parent_sets()):
        tables = _having(sites, dag.names, node, parents)
        total += value(tables, dag.names, node, frozenset(parents))
        total -= value(tables, dag.names, node, frozenset())
    return total


def _having(
    sites: Sites, names: tuple[str, ...], node: int, parents: tuple[int, ...]
) -> list[Dataset]:
    columns = {names[v] for v in (node, *parents)}
    return [table for table in sites.values() if columns <= set(table.names)]
