"""Slow, obvious twins of the scores and of the searches over equivalence classes."""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain, combinations

import numpy as np

from fedbn._core import search
from fedbn.data.dataset import Dataset
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.dag import DAG, find_cycle
from fedbn.graphs.pdag import PDAG, consistent_extension, dag_to_cpdag
from fedbn.scores.base import TabulatedScore
from fedbn.search.operators import Delete, Insert, Operator, Turn

OPERATORS = {"insert": Insert, "delete": Delete, "turn": Turn}


def subsets(items) -> chain:
    items = list(items)
    return chain.from_iterable(combinations(items, k) for k in range(len(items) + 1))


def counts(dataset: Dataset, node: int, parents: tuple[int, ...]) -> tuple[Counter, Counter]:
    """Rows per (configuration of the parents, state) and per configuration."""
    both: Counter = Counter()
    of_parents: Counter = Counter()
    for row in dataset.codes:
        configuration = tuple(row[list(parents)])
        both[configuration, row[node]] += 1
        of_parents[configuration] += 1
    return both, of_parents


def bdeu(dataset: Dataset, node: int, parents: tuple[int, ...], ess: float) -> float:
    both, of_parents = counts(dataset, node, parents)
    q = math.prod(int(dataset.cardinalities[p]) for p in parents)
    cell = ess / q / int(dataset.cardinalities[node])
    value = sum(math.lgamma(cell + count) - math.lgamma(cell) for count in both.values())
    return value + sum(
        math.lgamma(ess / q) - math.lgamma(ess / q + count) for count in of_parents.values()
    )


def weighted_bdeu(
    dataset: Dataset, node: int, parents: tuple[int, ...], ess: float, weight: float
) -> float:
    """BDeu with every count multiplied by the weight, by the formula with Γ of real numbers."""
    both, of_parents = counts(dataset, node, parents)
    q = math.prod(int(dataset.cardinalities[p]) for p in parents)
    cell = ess / q / int(dataset.cardinalities[node])
    value = sum(math.lgamma(cell + weight * count) - math.lgamma(cell) for count in both.values())
    return value + sum(
        math.lgamma(ess / q) - math.lgamma(ess / q + weight * count)
        for count in of_parents.values()
    )


def penalised(dataset: Dataset, node: int, parents: tuple[int, ...], penalty: float) -> float:
    both, of_parents = counts(dataset, node, parents)
    q = math.prod(int(dataset.cardinalities[p]) for p in parents)
    likelihood = sum(
        count * math.log(count / of_parents[configuration])
        for (configuration, _), count in both.items()
    )
    return likelihood - penalty * q * (int(dataset.cardinalities[node]) - 1)


def gaussian_bic(dataset: Dataset, node: int, parents: tuple[int, ...]) -> float:
    centred = dataset.values - dataset.values.mean(axis=0)
    rest = centred[:, node]
    if parents:
        columns = centred[:, list(parents)]
        rest = rest - columns @ np.linalg.lstsq(columns, rest, rcond=None)[0]
    rows = dataset.n_rows
    value = -0.5 * rows * (1 + math.log(2 * math.pi)) - 0.5 * rows * math.log((rest**2).mean())
    return value - 0.5 * math.log(rows) * len(parents)


def bge_total(dataset: Dataset, members: tuple[int, ...]) -> float:
    """ln p(d over `members`) for a complete graph, as Kuipers et al. 2014 print it."""
    rows, n, size = dataset.n_rows, dataset.n, len(members)
    if not size:
        return 0.0
    mean_weight, degrees = 1.0, n + 2.0
    t = mean_weight * (degrees - n - 1) / (mean_weight + 1)
    values = dataset.values[:, list(members)]
    centred = values - values.mean(axis=0)
    R = t * np.eye(size) + centred.T @ centred
    prior = (degrees - n + size) / 2

    def multigamma(a: float) -> float:
        return size * (size - 1) / 4 * math.log(math.pi) + sum(
            math.lgamma(a + (1 - j) / 2) for j in range(1, size + 1)
        )

    return (
        size / 2 * math.log(mean_weight / (rows + mean_weight))
        + multigamma(rows / 2 + prior)
        - multigamma(prior)
        - size * rows / 2 * math.log(math.pi)
        + prior * size * math.log(t)
        - (rows / 2 + prior) * float(np.linalg.slogdet(R)[1])
    )


def class_of(dag: DAG) -> list[DAG]:
    """Every member of the equivalence class, by reversals of covered edges (Chickering 1995)."""
    seen, waiting = {dag}, [dag]
    while waiting:
        member = waiting.pop()
        for x, y in np.argwhere(member.adjacency).tolist():
            if set(member.parents(y)) - {x} == set(member.parents(x)):
                matrix = member.adjacency.copy()
                matrix[x, y], matrix[y, x] = False, True
                other = DAG(dag.names, matrix)
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
    return list(seen)


def one_edge_away(cpdag: PDAG, kind: str) -> set[PDAG]:
    """The classes of all DAGs one insertion, deletion or reversal from a member of the class."""
    found = set()
    for member in class_of(consistent_extension(cpdag)):
        for x, y in np.argwhere(~np.eye(cpdag.n, dtype=bool)).tolist():
            matrix = member.adjacency.copy()
            if kind == "insert" and not (matrix[x, y] or matrix[y, x]):
                matrix[x, y] = True
            elif kind == "delete" and matrix[x, y]:
                matrix[x, y] = False
            elif kind == "turn" and matrix[x, y]:
                matrix[x, y], matrix[y, x] = False, True
            else:
                continue
            if find_cycle(matrix) is None:
                found.add(dag_to_cpdag(DAG(cpdag.names, matrix)))
    return found - {cpdag}


def valid_operators(cpdag: PDAG, kind: str) -> set:
    """Every valid operator of one kind, by trying all (x, y, set)."""
    around = cpdag.adjacency & cpdag.adjacency.T
    found = set()
    for x, y in np.argwhere(~np.eye(cpdag.n, dtype=bool)).tolist():
        for chosen in subsets(np.flatnonzero(around[y]).tolist()):
            operator = OPERATORS[kind](x, y, frozenset(chosen))
            if operator.is_valid(cpdag):
                found.add(operator)
    return found


def operators_on_record(
    score: TabulatedScore, cpdag: PDAG, kind: str
) -> list[tuple[Operator, float, PDAG]]:
    """Every valid operator of one kind as the searches see it: (operator, gain, where it leads)."""
    found: list[tuple[Operator, float, PDAG]] = []
    parents = pack(consistent_extension(cpdag).adjacency.T)
    for x, y, chosen, gain, to in search.leads(score.core, parents, getattr(search.Kind, kind)):
        assert to is not None, f"{kind} of {x}, {y}, {chosen} does not apply"
        target = PDAG(cpdag.names, unpack(to, score.n))
        found.append((OPERATORS[kind](x, y, frozenset(chosen)), gain, target))
    return found


def best_step(
    score, cpdag: PDAG, kinds: tuple[str, ...], total: float, kept_apart: tuple[int, ...] = ()
):
    """The operator to take by the stated rule, or None: by kind, gain, (y, x, set)."""
    tolerance = 1e-9 * (1 + abs(total))
    for kind in kinds:
        allowed = [
            operator
            for operator in valid_operators(cpdag, kind)
            if kind != "insert" or {operator.x, operator.y} != set(kept_apart)
        ]
        gains = {operator: operator.gain(score, cpdag) for operator in allowed}
        best = max(gains.values(), default=-math.inf)
        if best > tolerance:
            tied = [operator for operator, gain in gains.items() if gain >= best - tolerance]
            return min(tied, key=place)
    return None


def place(operator) -> tuple:
    chosen = {"insert": "T", "delete": "H", "turn": "C"}[operator.kind]
    return operator.y, operator.x, sorted(getattr(operator, chosen))


def greedy(
    score, cpdag: PDAG, phases: tuple[tuple[str, ...], ...], kept_apart: tuple[int, ...] = ()
) -> PDAG:
    """Take best steps until there is none, phase by phase; no Insert joins the pair kept apart."""
    for kinds in phases:
        while True:
            total = sum(
                score.local_score(y, parents)
                for y, parents in enumerate(consistent_extension(cpdag).parent_sets())
            )
            operator = best_step(score, cpdag, kinds, total, kept_apart)
            if operator is None:
                break
            cpdag = operator.apply(cpdag)
    return cpdag


class KnownScores:
    """Local scores of some families, NaN for the others, which are noted as wanted."""

    def __init__(self, known: dict[tuple[int, tuple[int, ...]], float]) -> None:
        self.known = known
        self.wanted: set[tuple[int, tuple[int, ...]]] = set()

    def local_score(self, node: int, parents) -> float:
        family = (int(node), tuple(sorted(map(int, parents))))
        if family not in self.known:
            self.wanted.add(family)
        return self.known.get(family, math.nan)


def greedy_among_known(score: KnownScores, dag: DAG) -> PDAG:
    """XGES-0 from a DAG, where an operator with an unknown score is not taken."""
    cpdag = dag_to_cpdag(dag)
    total = sum(score.local_score(y, parents) for y, parents in enumerate(dag.parent_sets()))
    while True:
        for kind in ("delete", "turn", "insert"):
            every = {each: each.gain(score, cpdag) for each in valid_operators(cpdag, kind)}
            gains = {each: gain for each, gain in every.items() if gain > 1e-9 * (1 - total)}
            if gains:
                break
        else:
            return cpdag
        best = max(gains.values())
        tied = [each for each, gain in gains.items() if gain >= best - 1e-9 * (1 - total)]
        total += gains[min(tied, key=place)]
        cpdag = min(tied, key=place).apply(cpdag)
