"""Slow, obvious twins of hill climbing and of the iterated local search."""

from __future__ import annotations

import math

import numpy as np

from fedbn.graphs.dag import DAG, find_cycle
from fedbn.scores import total_score

ADD, REMOVE, REVERSE = range(3)


def tolerance(total: float) -> float:
    return 1e-9 * (1 + abs(total))


def adjacent_dags(dag: DAG, rules, candidates: np.ndarray | None = None) -> list:
    """(kind, y, x) and the DAG of every permitted move on an edge x -> y, but for in-degrees."""
    names, present = dag.names, dag.adjacency
    forbidden = rules.known.forbidden_matrix(names)
    required = rules.known.required_matrix(names)
    found = []
    for x, y in np.argwhere(~np.eye(dag.n, dtype=bool)).tolist():
        if candidates is not None and not candidates[x, y]:
            continue
        kinds = (REMOVE, REVERSE) if present[x, y] else () if present[y, x] else (ADD,)
        for kind in kinds:
            matrix = present.copy()
            matrix[x, y], matrix[y, x] = kind == ADD, kind == REVERSE
            known = (matrix >= required).all() and not (matrix & forbidden).any()
            if known and find_cycle(matrix) is None:
                found.append(((kind, y, x), DAG(names, matrix)))
    return found


class NaiveClimb:
    """Tabu search on DAGs; plain hill climbing without tabu and patience."""

    def __init__(self, score, dag: DAG, rules, tabu: int = 0, patience: int = 0):
        self.score, self.rules, self.tabu, self.patience = score, rules, tabu, patience
        self.dag = self.best = dag
        self.best_total = self.total(dag)
        self.until: dict[frozenset, float] = {}
        self.steps = self.since = 0
        self.candidates: np.ndarray | None = None
        self.parents_met = False

    def total(self, dag: DAG) -> float:
        return total_score(self.score, dag)

    def fits(self, dag: DAG, place: tuple[int, int, int]) -> bool:
        """Whether the move that led to `dag` keeps the largest in-degree."""
        kind, y, x = place
        grown = {ADD: y, REMOVE: None, REVERSE: x}[kind]
        limit = self.rules.max_parents
        return grown is None or limit is None or dag.adjacency[:, grown].sum() <= limit

    def go_to(self, dag: DAG, pair: tuple[int, int]) -> None:
        self.dag = dag
        self.steps += 1
        self.since += 1
        self.until[frozenset(pair)] = self.steps + self.tabu

    def climb(self, in_order: bool = False) -> DAG:
        """Best moves to the end; in_order: removals before reversals before additions."""
        while True:
            here = self.total(self.dag)
            margin = tolerance(here)
            aspired = self.best_total - here + margin
            floor = margin if self.since >= self.patience else -math.inf
            found = []
            for place, dag in adjacent_dags(self.dag, self.rules, self.candidates):
                gain = self.total(dag) - here
                is_tabu = self.until.get(frozenset(place[1:]), 0) > self.steps
                if gain > floor and not (is_tabu and gain <= aspired):
                    found.append((gain, place, dag))
            open_moves = []
            for kinds in ([REMOVE], [REVERSE], [ADD]) if in_order else ([ADD, REMOVE, REVERSE],):
                if not open_moves:
                    open_moves = self.those_that_fit(found, kinds, floor)
            if not open_moves:
                return self.best
            top = max(gain for gain, _, _ in open_moves)
            tied = [each for each in open_moves if each[0] > top - margin]
            _, place, dag = min(tied, key=lambda each: each[1])
            self.go_to(dag, place[1:])
            if self.total(dag) > self.best_total + margin:
                self.best, self.best_total, self.since = dag, self.total(dag), 0

    def those_that_fit(self, found: list, kinds: list[int], floor: float) -> list:
        """The moves of some kinds, but for those that the largest in-degree leaves out."""
        moves = [each for each in found if each[1][0] in kinds]
        fitting = [each for each in moves if self.fits(each[2], each[1])]
        top = max((gain for gain, _, _ in fitting), default=floor)
        lost = max((each[0] for each in moves if each not in fitting), default=-math.inf)
        self.parents_met |= lost > max(top, 0.0)
        return fitting


class NaiveKicks(NaiveClimb):
    """Kicks between climbs, by the words of SplitMix64."""

    def __init__(self, score, dag: DAG, rules, kicks, word: int):
        super().__init__(score, dag, rules)
        self.kicks, self.word = kicks, word
        self.count = 0

    def draw(self, number: int) -> int:
        mask = (1 << 64) - 1
        self.word = (self.word + 0x9E3779B97F4A7C15) & mask
        z = self.word
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return (z ^ (z >> 31)) % number

    def choose_candidates(self) -> np.ndarray:
        chosen = self.dag.adjacency | self.dag.adjacency.T
        for family in self.dag.parent_sets():
            for x in family:
                chosen[x, [other for other in family if other != x]] = True
        margin = tolerance(self.total(self.dag))
        for y in range(self.dag.n):
            parents = self.dag.parents(y)
            gains = {
                x: self.score.local_score(y, sorted((*parents, x)))
                for x in range(self.dag.n)
                if x != y and x not in parents
            }
            for _ in range(min(self.kicks.candidates, len(gains))):
                best = min(gains)
                for x, value in gains.items():
                    best = x if value > gains[best] + margin else best
                chosen[best, y] = chosen[y, best] = True
                del gains[best]
        return chosen

    def cheapest(self, tried: set) -> tuple[int, int] | None:
        """(y, x) of the edge x -> y to kick."""
        required = self.rules.known.required_matrix(self.dag.names)
        least, found = math.inf, None
        for y in range(self.dag.n):
            whole = self.score.local_score(y, self.dag.parents(y))
            for x in self.dag.parents(y):
                rest = [other for other in self.dag.parents(y) if other != x]
                loss = whole - self.score.local_score(y, rest)
                known = required[x, y] or frozenset((x, y)) in tried
                if not known and loss < least - tolerance(self.total(self.dag)):
                    least, found = loss, (y, x)
        return found

    def nodes_near(self, y: int, x: int, distance: int) -> list[int]:
        """Those at most `distance` edges away from y or x."""
        either = self.dag.adjacency | self.dag.adjacency.T
        found = {y, x}
        for _ in range(distance):
            found |= {int(v) for u in found for v in np.flatnonzero(either[u])}
        return sorted(found)

    def draw_edge(self, nodes: list[int]) -> tuple[int, int] | None:
        """(y, x) of an edge x -> y that is not required."""
        y = nodes[self.draw(len(nodes))]
        parents = list(self.dag.parents(y))
        if not parents:
            return None
        x = parents[self.draw(len(parents))]
        return None if self.rules.known.required_matrix(self.dag.names)[x, y] else (y, x)

    def change(self, y: int, x: int, *, reverse: bool) -> None:
        """Take x -> y away or reverse it."""
        matrix = self.dag.adjacency.copy()
        matrix[x, y], matrix[y, x] = False, reverse
        self.go_to(DAG(self.dag.names, matrix), (y, x))

    def walk(self, nodes: list[int]) -> None:
        forbidden = self.rules.known.forbidden_matrix(self.dag.names)
        for _ in range(self.kicks.reversals):
            place = self.draw_edge(nodes)
            if place is None:
                continue
            y, x = place
            covered = set(self.dag.parents(y)) - {x} == set(self.dag.parents(x))
            if covered and not forbidden[y, x]:
                self.change(y, x, reverse=True)

    def kick(self, y: int, x: int, strength: int) -> None:
        nodes, beside = self.nodes_near(y, x, 2), self.nodes_near(y, x, 1)
        taken = [(y, x)]
        self.change(y, x, reverse=False)
        for _ in range(4 * (strength - 1)):
            if len(taken) < strength and (place := self.draw_edge(beside)):
                self.change(*place, reverse=False)
                taken.append(place)
        self.until = {frozenset(pair): math.inf for pair in taken}
        for in_order in (True, False):
            self.walk(nodes)
            self.climb(in_order)
            self.until = {}

    def run(self) -> DAG:
        self.candidates = self.choose_candidates()
        self.climb()
        tried: set[frozenset] = set()
        idle, strength = 0, 1
        while idle < self.kicks.patience:
            place = self.cheapest(tried)
            if place is None and not tried:
                break
            if place is None:
                tried, strength = set(), min(strength + 1, self.kicks.strongest)
                continue
            tried.add(frozenset(place))
            before, record = self.dag, self.best_total
            self.kick(*place, strength)
            self.count += 1
            idle += 1
            if self.total(self.dag) < self.best_total - tolerance(self.best_total):
                self.dag = before
            if self.best_total > record:
                idle, strength, tried = idle // 2, 1, set()
        return self.best
