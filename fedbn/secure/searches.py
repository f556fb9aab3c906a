"""The searches of MCBNC on sums: the order heuristic, and the deletions from G+.

Both choose the smallest of some sums again and again. A round of a deployment costs seconds and its
bytes next to nothing, so a search asks along a chain of choices that it guesses: the sums for the
next choice, those that will be wanted if it is the first of the chain, and so on. What was asked
along a wrong guess is thrown away. The result cannot depend on the guesses: every choice is made on
the sums of the state that it is made in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Bits, Ints
from fedbn.graphs.bits import unpack
from fedbn.secure.blocks import Columns
from fedbn.secure.guesses_ahead import MAX_CHAIN
from fedbn.secure.pattern import Operators, after, operators_of
from fedbn.secure.requests import CutPath, Deletion

FURTHER = 2
"""How much further a search looks ahead than it was right before."""


class OrderSearch:
    """The order of Puerta et al. (2021) from summed costs; ties go to the smallest index.

    One of many orders that are asked for together, which has a guess to begin with, looks ahead
    two choices further than it was right before: far fewer bytes for a round more.

    Attributes
    ----------
    taken : the nodes removed so far: σ from its end.
    chain : those that were guessed to follow, in the question that is open.
    """

    def __init__(
        self,
        n: int,
        guess: Sequence[int] | None = None,
        after: Bits | None = None,
        having: Ints | None = None,
    ) -> None:
        """guess: an order that this one may be near to. after: row v has what must follow v.
        having: how many sites answer for each node, where these differ: the costs are means."""
        self._shares = None if having is None else _shares(having.tolist())

        self._after = None if after is None else unpack(after, n)
        self.taken: list[int] = []
        self.chain: tuple[int, ...] = ()
        self._reach = MAX_CHAIN  # how far it pays to look ahead
        self._thrifty = guess is not None
        self._costs = np.zeros(n, np.int64)  # as last heard; at first, ranks of the guess
        if guess is not None:
            self._costs[list(guess)[::-1]] = np.arange(n)

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self._costs)

    @property
    def order(self) -> tuple[int, ...]:
        """σ, once one node is left."""
        return (*self._left(), *reversed(self.taken))

    @property
    def done(self) -> bool:
        """Whether there is nothing to choose any more."""
        return len(self._costs) - len(self.taken) <= 1

    @property
    def length(self) -> int:
        """How many sums the open question asks for."""
        left = len(self._left())
        return sum(range(left - len(self.chain), left + 1))

    def ask(self, look_ahead: int) -> None:
        """Guess the chain of the next question."""
        left = self._left()
        length = max(0, min(look_ahead, self._reach, len(left) - 2))
        if self._after is None:
            self.chain = tuple(sorted(left, key=lambda v: (self._costs[v], v))[:length])
            return
        chain: list[int] = []
        for _ in range(length):
            chain.append(min(self._able(left), key=lambda v: (self._costs[v], v)))
            left = [v for v in left if v != chain[-1]]
        self.chain = tuple(chain)

    def hear(self, sums: Ints) -> Ints:
        """Take the answer from the front of `sums` and choose; the rest of `sums`."""
        left, before = self._left(), len(self.taken)
        guessed_right = True
        for level in range(len(self.chain) + 1):
            costs, sums = sums[: len(left)], sums[len(left) :]
            guess = self.chain[level] if level < len(self.chain) else -1
            if guessed_right:
                if self._shares is None:
                    self._costs[left] = costs
                else:
                    self._costs = self._costs.astype(object)
                    self._costs[left] = self._shares[left] * costs.astype(object)
                chosen = min(self._able(left), key=lambda v: (self._costs[v], v))
                self.taken.append(chosen)
                guessed_right = chosen == guess
            left = [v for v in left if v != guess]
        if self._thrifty:
            self._reach = len(self.taken) - before - 1 + FURTHER
        return sums

    def _able(self, left: list[int]) -> list[int]:
        """The nodes that nothing left must follow."""
        if self._after is None:
            return left
        return [v for v in left if not self._after[v, left].any()]

    def _left(self) -> list[int]:
        gone = set(self.taken)
        return [v for v in range(len(self._costs)) if v not in gone]


class Taken(NamedTuple):
    """A deletion, its H as bits [W], and its Ψ times the total weight."""

    deletion: Deletion
    h: Bits
    psi: int


class DeletionSearch:
    """Greedy Delete from G+ by summed cuts; ties go to the smallest (x, y, |H|, H).

    It looks ahead a few choices further than it was right before, as an order with a guess does.

    A deletion with Ψ = 0 changes no input, so what is known of the others stays true; after any
    other deletion nothing is known.

    Attributes
    ----------
    p : the CPDAG after the deletions.
    clip : whether an input's cut counts at most 1.
    columns : for which each site answers, where they have different ones; Ψ is a mean over judges.
    steps : the deletions done.
    barred : whether every other deletion breaks the knowledge.
    """

    def __init__(
        self,
        p: Bits,
        k_max: int,
        clip: bool,
        known: Mapping[str, Bits] | None = None,
        units: int = 1,
        columns: Columns | None = None,
    ) -> None:
        """known: what is forbidden and required, as bits; a member of P keeps it. units: the weight
        of a site."""
        self.p, self.barred, self.clip, self.columns = p, False, clip, columns
        self._units = units
        self._bits = known
        required = 0 if known is None else int(np.bitwise_count(known["required"]).sum())
        self._most = _edges(p) - required
        self.steps: list[Taken] = []
        self._k_max = k_max
        self._known: dict[bytes, int] = {}  # the sums that are true now
        self._heard: dict[bytes | frozenset[int], int] = {}  # of (x, y, S), and of the pair, ever
        self._levels: list[Operators] = []
        self._chain: tuple[Deletion, ...] = ()
        self._reach = MAX_CHAIN

    @property
    def n(self) -> int:
        """Number of variables."""
        return int(self.p.shape[1])

    @property
    def done(self) -> bool:
        """Whether there is nothing to delete any more."""
        return self.barred or len(self.steps) == self._most

    @property
    def length(self) -> int:
        """How many sums the open question asks for."""
        return sum(len(operators.xy) for operators in self._levels)

    def scale(self, total: int) -> int:
        """The number for which a Ψ of 1 stands in `steps`, where all sites weigh `total`."""
        if self.columns is None:
            return total
        return self._units * math.lcm(*range(1, len(self.columns.has) + 1))

    def weights(self, total: int) -> int | Ints:
        """What the judges of each open question weigh, where all sites weigh `total`."""
        if self.columns is None:
            return total
        parts = [self.columns.judges(o.xy, o.given) for o in self._levels]
        return np.concatenate([np.empty(0, np.int64), *parts]) * self._units

    def ask(self, look_ahead: int) -> CutPath:
        """The next question, with the chain as guessed."""
        chain: list[Deletion] = []
        self._levels, p = [], self.p
        while not self.done:
            operators = operators_of(p, self._k_max)
            self._levels.append(operators)
            if len(chain) == min(look_ahead, self._reach):
                break
            expected = self._expect(operators)
            guess = operators.deletion(expected.index(min(expected)))
            p, _ = after(p, guess, self._k_max)
            if not p.any():
                break
            chain.append(guess)
        self._chain = tuple(chain)
        done = tuple(step.deletion for step in self.steps)
        return CutPath(self.clip, done, self._chain, asked=not self.done)

    def hear(self, sums: Ints) -> Ints:
        """Take the answer from the front of `sums` and delete; the rest of `sums`."""
        guessed_right, before = True, len(self.steps)
        for level, operators in enumerate(self._levels):
            cuts, sums = sums[: len(operators.xy)], sums[len(operators.xy) :]
            cuts = self._means(operators, cuts)
            if guessed_right and not self.done:
                self._note(operators, cuts)
                chosen = self._delete(operators, cuts)
                guessed_right = level < len(self._chain) and chosen == self._chain[level]
        self._reach = len(self.steps) - before + FURTHER
        while not self.done and self._known:
            operators = operators_of(self.p, self._k_max)
            known = [self._known.get(key) for key in operators.labels()]
            if None in known:
                break
            exact = np.int64 if self.columns is None else object
            self._delete(operators, np.array(known, dtype=exact))
        return sums

    def _means(self, operators: Operators, cuts: Ints) -> Ints:
        """Sums over the judges as means, exact integers in the unit of `scale`; where nobody judges
        a number above all means."""
        if self.columns is None:
            return cuts
        judges = self.columns.judges(operators.xy, operators.given).tolist()
        whole = math.lcm(*range(1, len(self.columns.has) + 1))
        nobody = whole * self._units * self.n
        pairs = zip(cuts.tolist(), judges, strict=True)
        return np.array([c * whole // j if j else nobody for c, j in pairs], dtype=object)

    def _note(self, operators: Operators, cuts: Ints) -> None:
        pairs = operators.xy.tolist()
        for key, pair, cut in zip(operators.labels(), pairs, cuts.tolist(), strict=True):
            self._known[key] = self._heard[key] = self._heard[frozenset(pair)] = cut

    def _delete(self, operators: Operators, cuts: Ints) -> Deletion | None:
        """Apply the operator of the smallest cut that keeps the knowledge: the first of them, as
        they are sorted; None where there is none."""
        for best in np.argsort(cuts, kind="stable").tolist():
            deletion = operators.deletion(best)
            if self._has_no_judge(deletion):
                continue
            made, h = after(self.p, deletion, self._k_max)
            if not self._keeps(made):
                continue
            self.p = made
            self.steps.append(Taken(deletion, h, int(cuts[best])))
            if cuts[best] > 0:
                self._known.clear()
            return deletion
        self.barred = True
        return None

    def _has_no_judge(self, deletion: Deletion) -> bool:
        """Whether no site answers for both ends: then the edge is known, and stays."""
        return self.columns is not None and not self.columns.seeing[deletion.x, deletion.y]

    def _keeps(self, p: Bits) -> bool:
        """Whether a member of a class keeps the knowledge."""
        from fedbn._core.graphs import constrained_extension

        return self._bits is None or constrained_extension(p[0], p[2], **self._bits) is not None

    def _expect(self, operators: Operators) -> list[float]:
        """A guess at every cut: as last heard, else as last of this pair, else large."""
        pairs = operators.xy.tolist()
        return [
            self._heard.get(key, self._heard.get(frozenset(pair), float("inf")))
            for key, pair in zip(operators.labels(), pairs, strict=True)
        ]


def _shares(having: Sequence[int]) -> Ints:
    """For each node a factor that makes sums over the sites that have it comparable as means, as
    exact integers; 0 where no site has it."""
    whole = math.lcm(*(count for count in having if count))
    return np.array([whole // count if count else 0 for count in having], dtype=object)


def _edges(p: Bits) -> int:
    """How many edges a CPDAG has."""
    arcs, ends = (int(np.bitwise_count(p[k]).sum()) for k in (0, 2))
    return arcs + ends // 2
