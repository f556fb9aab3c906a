"""A slow, obvious twin of BOSS: every place of every node, every trace from the empty set.

Kicks begin a search of its own each.
"""

from __future__ import annotations

from fedbn.graphs.dag import DAG
from tests.naive_hill import tolerance


class NaiveBoss:
    def __init__(self, score, order: list[int], rules, candidates: int | None = None):
        self.score, self.order, self.rules = score, list(order), rules
        self.required = rules.known.required_matrix(score.names)
        self.forbidden = rules.known.forbidden_matrix(score.names)
        self.parents_met = False
        self.moves = 0
        self.near = [self.neighbours(y, candidates) for y in range(score.n)]
        self.total = self.score_of(self.order)

    def neighbours(self, y: int, number: int | None) -> set[int]:
        """The candidates of y: those that gain most as its only neighbour."""
        free = [
            x
            for x in range(self.score.n)
            if x != y and not (self.forbidden[x, y] and self.forbidden[y, x])
        ]
        free.sort(key=lambda x: (-self.gain(min(x, y), max(x, y)), x))
        return set(free[:number])

    def gain(self, y: int, x: int) -> float:
        """What x gains as the only neighbour of y, which is what y gains as that of x."""
        return self.score.local_score(y, [x]) - self.score.local_score(y, [])

    def may_be_parent(self, x: int, y: int) -> bool:
        near = x in self.near[y] or y in self.near[x] or self.required[x, y] or self.required[y, x]
        return bool(near) and not self.forbidden[x, y]

    def family(self, y: int, before: set[int]) -> tuple[list[int], float]:
        """What growing and shrinking gives y."""
        score = self.score
        required = [x for x in range(score.n) if self.required[x, y]]
        parents = list(required)
        while True:
            here = score.local_score(y, parents)
            gains = {
                x: score.local_score(y, [*parents, x]) - here
                for x in sorted(before - set(parents))
                if self.may_be_parent(x, y)
            }
            gains = {x: gain for x, gain in gains.items() if gain > tolerance(here)}
            if not gains:
                break
            if self.rules.max_parents is not None and len(parents) >= self.rules.max_parents:
                self.parents_met = True
                break
            parents = sorted([*parents, max(gains, key=lambda x: gains[x])])
        while True:
            here = score.local_score(y, parents)
            without = {
                x: score.local_score(y, [p for p in parents if p != x])
                for x in parents
                if x not in required
            }
            without = {x: value for x, value in without.items() if value > here + tolerance(here)}
            if not without:
                return parents, here
            best = max(without.values())
            gone = next(x for x in without if without[x] >= best - tolerance(here))
            parents.remove(gone)

    def score_of(self, order: list[int]) -> float:
        return sum(self.family(y, set(order[:i]))[1] for i, y in enumerate(order))

    def keeps_required(self, order: list[int]) -> bool:
        rank = {v: i for i, v in enumerate(order)}
        return all(
            rank[x] < rank[y]
            for x in range(self.score.n)
            for y in range(self.score.n)
            if self.required[x, y]
        )

    def improve(self, v: int) -> bool:
        rest = [u for u in self.order if u != v]
        orders = [[*rest[:slot], v, *rest[slot:]] for slot in range(self.score.n)]
        totals = {
            slot: self.score_of(order)
            for slot, order in enumerate(orders)
            if self.keeps_required(order)
        }
        best, margin = max(totals.values()), tolerance(self.total)
        here = totals[self.order.index(v)]
        if best <= here + margin:
            return False
        slot = next(
            s for s in sorted(totals) if totals[s] >= best - margin and totals[s] > here + margin
        )
        self.order, self.total = orders[slot], totals[slot]
        self.moves += 1
        return True

    def run(self) -> DAG:
        while sum(self.improve(v) for v in list(self.order)):
            pass
        return self.dag()

    def dag(self) -> DAG:
        edges = [
            (self.score.names[x], self.score.names[y])
            for i, y in enumerate(self.order)
            for x in self.family(y, set(self.order[:i]))[0]
        ]
        return DAG.from_edges(self.score.names, edges)

    def with_required_first(self, order: list[int]) -> list[int]:
        """Again and again the first of the order that no required parent is left of."""
        left, placed = list(order), []
        while left:
            v = next(v for v in left if not self.required[left, v].any())
            left.remove(v)
            placed.append(v)
        return placed


def naive_kicks(score, order, rules, candidates, patience: int, rng) -> tuple[NaiveBoss, int]:
    """The best search, and how many kicks there were."""
    best = NaiveBoss(score, order, rules, candidates)
    best.run()
    made = vain = 0
    while vain < patience:
        kicked = list(best.order)
        for v in rng.choice(kicked, size=min(3, score.n), replace=False).tolist():
            kicked.remove(v)
            kicked.insert(int(rng.integers(score.n)), v)
        new = NaiveBoss(score, best.with_required_first(kicked), rules, candidates)
        new.run()
        made, vain = made + 1, 0 if new.total > best.total + 1 else vain + 1
        if new.total > best.total + 1 or abs(new.total - best.total) <= tolerance(best.total):
            best = new
    return best, made
