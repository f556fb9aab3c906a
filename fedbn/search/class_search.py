"""The state of a greedy search over equivalence classes, around its compiled kernels.

`ges.py` and `xges.py` say in which order the kinds of operators are used; what they share is here:
the start, the limits, growing the record of operators, the clock, and the result.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedbn.errors import ConfigError, SearchError
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG
from fedbn.limits import Limit
from fedbn.scores.base import TabulatedScore
from fedbn.search.knowledge import Knowledge
from fedbn.search.result import SearchResult
from fedbn.search.rules import SearchRules

if TYPE_CHECKING:
    from fedbn.search._state import Graph, Record, Rules, Scratch

__all__ = ["KINDS", "ClassSearch", "Kind"]

Kind = Literal["insert", "delete", "turn"]
KINDS: tuple[Kind, ...] = ("insert", "delete", "turn")
"""Operators by the codes of the kernels."""

_SETS_BETWEEN_LOOKS_AT_THE_CLOCK = 2000
_NO_LIMIT = 1 << 40


@dataclass
class ClassSearch:
    """A search in progress; made by `begin`, driven by `climb`, read by `result`."""

    score: TabulatedScore
    graph: Graph
    trial: Graph | None
    record: Record
    rules: Rules
    scratch: Scratch
    knowledge: Knowledge | None
    deadline: float | None
    total: np.ndarray
    steps: np.ndarray
    out_of_time: bool = False

    @classmethod
    def begin(
        cls,
        score: TabulatedScore,
        rules: SearchRules,
    ) -> ClassSearch:
        """The search at the class of the start; raises ConfigError if knowledge contradicts it."""
        from fedbn.search import _greedy_kernels

        deadline = None if rules.seconds is None else time.monotonic() + rules.seconds
        dag = DAG.empty(score.names) if rules.start is None else rules.start
        dag = rules.known.with_required(dag.reorder(score.names))
        graph = begin_graph(dag)
        search = cls(
            score=score,
            graph=graph,
            trial=None if rules.knowledge is None else begin_graph(dag),
            record=empty_record(score.n),
            rules=kernel_rules(score.names, rules),
            scratch=empty_scratch(score.n),
            knowledge=rules.knowledge,
            deadline=deadline,
            total=np.array([_greedy_kernels.total(score.tables, graph.dag_pa)]),
            steps=np.zeros(len(KINDS), dtype=np.int64),
        )
        search._require_member()
        return search

    def climb(self, kinds: Sequence[Kind]) -> bool:
        """Take the best operator of the first of `kinds` that has one, until none has one.

        Returns whether anything changed.

        Raises
        ------
        SearchError : an operator that passed its tests was not valid; that is a bug.
        """
        from fedbn.search import _greedy_kernels
        from fedbn.search._state import BROKEN, DONE, FULL

        codes = np.array([KINDS.index(kind) for kind in kinds], dtype=np.int64)
        budget = -1 if self.deadline is None else _SETS_BETWEEN_LOOKS_AT_THE_CLOCK
        before = int(self.steps.sum())
        while not self.out_of_time:
            outcome = _greedy_kernels.climb(
                self.score.tables,
                self.graph,
                self.trial,
                self.record,
                codes,
                self.rules,
                self.scratch,
                self.total,
                self.steps,
                budget,
            )
            if outcome == BROKEN:
                raise SearchError("a search step led out of the space of classes: a bug in fedbn")
            if outcome == DONE:
                break
            if outcome == FULL:
                self.record = double(self.record)
            if self.deadline is not None and time.monotonic() > self.deadline:
                self.out_of_time = True
        return int(self.steps.sum()) > before

    def result(self) -> SearchResult:
        """What has been found so far."""
        from fedbn.graphs._bit_kernels import unpack
        from fedbn.search import _greedy_kernels

        graph, n = self.graph, self.score.n
        cpdag = PDAG(self.score.names, unpack(graph.ch | graph.ne, n))
        if self.knowledge is None:
            if not _greedy_kernels.settle(graph):
                raise SearchError("a chain component is not chordal: a bug in fedbn")
            children = graph.dag_ch
        else:
            children = self._require_member()
        dag = DAG(self.score.names, unpack(children, n))
        counted, emptied = self.score.tables.counters[1:3].tolist()
        counters: dict[str, int] = {"sets counted": counted, "store emptied": emptied}
        for kind, count in zip(KINDS, self.steps, strict=True):
            counters[kind] = int(count)
        score = float(_greedy_kernels.total(self.score.tables, graph.dag_pa))
        return SearchResult(dag, cpdag, score, self._met(), counters)

    def _require_member(self) -> np.ndarray:
        """Children of a member of the class that satisfies the knowledge, uint64 [n, W]."""
        from fedbn.search._knowledge_kernels import constrained_extension

        graph, rules = self.graph, self.rules
        if self.knowledge is None:
            return graph.dag_ch
        found, _, children = constrained_extension(
            graph.pa, graph.ch, graph.ne, rules.forbidden, rules.required
        )
        if not found:
            raise ConfigError(
                "no graph equivalent to the start satisfies the background knowledge: "
                f"{self.knowledge}"
            )
        return np.asarray(children)

    def _met(self) -> frozenset[Limit]:
        hit = {
            Limit.TIME: self.out_of_time,
            Limit.PARENTS: self.rules.hit[0],
            Limit.SETS: self.rules.hit[1],
        }
        return frozenset(limit for limit, met in hit.items() if met)


def begin_graph(dag: DAG) -> Graph:
    from fedbn.graphs._bit_kernels import pack
    from fedbn.graphs._cpdag_kernels import cpdag_bits
    from fedbn.search._state import Graph

    children, parents = pack(dag.adjacency), pack(dag.adjacency.T)
    pa, ch, ne = cpdag_bits(parents, children)
    queue, before, rank = (np.zeros(dag.n, dtype=np.int64) for _ in range(3))
    return Graph(parents, children, pa, ch, ne, pa | ch | ne, queue, before, rank)


def empty_record(n: int) -> Record:
    from fedbn.search._state import PATH_NODES, Record

    words, capacity = (n + 63) // 64, max(64, 4 * n)
    following = np.arange(1, capacity + 1, dtype=np.int32)
    following[-1] = -1
    return Record(
        head=np.full((len(KINDS), n, n), -1, dtype=np.int32),
        best=np.full((len(KINDS), n, n), -np.inf),
        row_best=np.full((len(KINDS), n), -np.inf),
        ceiling=np.full((len(KINDS), n), -np.inf),
        stale=np.full((len(KINDS), n, words), ~np.uint64(0), dtype=np.uint64),
        grown=np.full((n, 2), -1, dtype=np.int64),
        gain=np.empty(capacity),
        sets=np.empty((capacity, words), dtype=np.uint64),
        path=np.empty((capacity, PATH_NODES), dtype=np.int32),
        path_length=np.zeros(capacity, dtype=np.int32),
        barred=np.zeros(capacity, dtype=np.bool_),
        following=following,
        free=np.zeros(1, dtype=np.int64),
    )


def double(record: Record) -> Record:
    """The same record with twice the room; it must be full."""
    capacity = record.gain.size
    following = np.arange(1, 2 * capacity + 1, dtype=np.int32)
    following[:capacity] = record.following
    following[-1] = -1
    return record._replace(
        gain=np.concatenate((record.gain, np.empty(capacity))),
        sets=np.concatenate((record.sets, np.empty_like(record.sets))),
        path=np.concatenate((record.path, np.empty_like(record.path))),
        path_length=np.concatenate((record.path_length, np.zeros_like(record.path_length))),
        barred=np.concatenate((record.barred, np.zeros_like(record.barred))),
        following=following,
        free=np.array([capacity], dtype=np.int64),
    )


def kernel_rules(names: tuple[str, ...], rules: SearchRules) -> Rules:
    from fedbn.graphs._bit_kernels import pack
    from fedbn.search._state import Rules

    forbidden = rules.known.forbidden_matrix(names)
    required = rules.known.required_matrix(names)
    seed = 0 if rules.rng is None else int(rules.rng.integers(1 << 63))
    return Rules(
        max_parents=_NO_LIMIT if rules.max_parents is None else rules.max_parents,
        max_t=_NO_LIMIT if rules.max_t is None else rules.max_t,
        hit=np.zeros(2, dtype=np.int64),
        floor=0.0,
        forbidden=pack(forbidden.T),
        required=pack(required.T),
        apart=pack(forbidden & forbidden.T),
        together=pack(required | required.T),
        random_ties=rules.rng is not None,
        random=np.array([seed], dtype=np.uint64),
    )


def empty_scratch(n: int) -> Scratch:
    from fedbn.search._state import Scratch

    words = (n + 63) // 64
    return Scratch(
        choice=np.zeros((n + 2, words), dtype=np.uint64),
        chosen=np.zeros(n + 1, dtype=np.int64),
        clique=np.zeros(words, dtype=np.uint64),
        subset=np.zeros(words, dtype=np.uint64),
        candidates=np.zeros(n, dtype=np.int64),
        parents=np.zeros(n + 2, dtype=np.int64),
        xs=np.zeros(n, dtype=np.int64),
        full=np.zeros(n),
        part=np.zeros(n),
    )
