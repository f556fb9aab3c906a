"""What the compiled room does, by itself: every DAG of small random families, and every class."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn._core import credible as core
from fedbn.credible.building import Problem, build_diagram
from fedbn.credible.depth_first import depth_first
from fedbn.credible.diagram import Barred
from fedbn.credible.limits import DiagramLimit, Limits
from fedbn.errors import ArgumentError, SearchError
from fedbn.graphs.bits import pack
from fedbn.search.families.families import Families
from tests import naive_optimal

SEEDS = st.integers(0, 10_000)


def random_families(rng: np.random.Generator, n: int) -> Families:
    """Costs are quarters, so that sums are exact."""
    lists = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        sets = {(): rng.integers(12) / 4.0}
        for _ in range(int(rng.integers(0, 5))):
            size = int(rng.integers(0, len(others) + 1))
            parents = tuple(sorted(rng.choice(others, size, replace=False).tolist()))
            sets.setdefault(parents, rng.integers(12) / 4.0)
        lists.append([(float(cost), parents) for parents, cost in sets.items()])
    return Families.from_parents([f"v{i}" for i in range(n)], lists)


def completions(families: Families) -> np.ndarray:
    """[2^n]: the least cost of placing all nodes that are not in a set after it."""
    n = families.n
    rest = np.full(1 << n, np.inf)
    rest[-1] = 0.0
    for placed in range((1 << n) - 2, -1, -1):
        for f in range(families.size):
            v, parents = int(families.node[f]), sum(1 << j for j in families.parents(f))
            if not placed >> v & 1 and not parents & ~placed:
                rest[placed] = min(rest[placed], families.cost[f] + rest[placed | 1 << v])
    return rest


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(1, 5), st.sampled_from([0.0, 0.5, 2.0]), st.booleans())
def test_diagram_and_list_have_every_dag_within_the_limit_once(seed, n, epsilon, by_table) -> None:
    rng = np.random.default_rng(seed)
    families = random_families(rng, n)
    cost = {
        rows: sum(families.cost[f] for f in rows)
        for rows in naive_optimal.choices(families, list(range(n)))
    }
    opt = min(cost.values())
    expected = {rows: c - opt for rows, c in cost.items() if c <= opt + epsilon}
    rest = completions(families) if by_table else None
    problem = Problem.of(families, opt, epsilon, rest=rest)
    diagram = build_diagram(problem, epsilon, Limits())
    assert diagram.opt == opt
    pieces = list(diagram.listing(diagram.budget, int(rng.integers(1, 9))))
    listed = [(tuple(r), x) for rows, excess in pieces for r, x in zip(rows, excess, strict=True)]
    assert len(listed) == len(expected)
    assert dict(listed) == expected
    values, counts = np.unique(list(expected.values()), return_counts=True)
    assert (diagram.profile.value.tolist(), diagram.profile.count) == (
        values.tolist(), tuple(counts.tolist()),
    )  # fmt: skip
    known = min(cost, key=cost.__getitem__)
    found = depth_first(problem, epsilon, (opt, known), Limits())
    assert found.whole
    assert {tuple(rows): x for rows, x in zip(found.rows, found.ascending, strict=True)} == expected
    weights = diagram.family_weights(diagram.budget, np.zeros(1), np.ones(1))
    naive = np.zeros(families.size)
    for rows, excess in expected.items():
        naive[list(rows)] += math.exp(-excess)
    assert weights == pytest.approx(naive, abs=1e-12)
    for excess in values:
        assert expected[tuple(diagram.draw(float(excess), rng))] == excess
    pairs = [
        rng.choice(families.size, int(rng.integers(0, 3))).tolist() for _ in range(families.size)
    ]
    pairs = [  # the nodes of what is barred come before
        [g for g in some if families.has_parent[f, families.node[g]]]
        for f, some in enumerate(pairs)
    ]
    start = np.concatenate(([0], np.cumsum([len(some) for some in pairs]))).astype(np.int64)
    barred = Barred(start, np.array([g for some in pairs for g in some], dtype=np.int32))
    left = [tuple(r) for rows, _ in diagram.listing(diagram.budget, barred=barred) for r in rows]
    allowed = [rows for rows in expected if not any(g in rows for f in rows for g in pairs[f])]
    assert sorted(left) == sorted(allowed)


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.sampled_from([2, 5, 64, 65, 130]), st.booleans())
def test_keys_are_equal_iff_skeletons_and_colliders_are(seed, n, shielded) -> None:
    rng = np.random.default_rng(seed)
    nodes = np.sort(rng.choice(n, int(rng.integers(1, min(n, 5) + 1)), replace=False))
    families: list[tuple[int, set[int]]] = []
    for v in nodes.tolist():
        outside = [u for u in range(n) if u not in nodes][:2]
        usable = [u for u in nodes.tolist() if u < v] + outside  # so no choice is cyclic
        families += [(v, {u for u in usable if rng.random() < 0.5}) for _ in range(3)]
    inside = set(nodes.tolist())
    rows = 3 * np.arange(nodes.size) + rng.integers(3, size=(40, nodes.size))

    def content(row: np.ndarray) -> tuple[frozenset, frozenset]:
        chosen = dict(families[f] for f in row)
        edges = {(p, v) for v, parents in chosen.items() for p in parents}
        joined = edges | {(v, p) for p, v in edges}
        colliders = {
            (a, v, b)
            for v, parents in chosen.items()
            for a in parents
            for b in parents
            if a < b and {a, b} & inside and (shielded or (a, b) not in joined)
        }
        skeleton = {(p, v) if p not in inside or p < v else (v, p) for p, v in edges}
        return frozenset(skeleton), frozenset(colliders)

    parents = np.zeros((len(families), n), dtype=np.bool_)
    for row, (_, some) in zip(parents, families, strict=True):
        row[list(some)] = True
    node = np.array([v for v, _ in families])
    keys = core.class_keys(rows.astype(np.int32), nodes, node, pack(parents), shielded)
    pairs = {(content(row), key.tobytes()) for row, key in zip(rows, keys, strict=True)}
    assert len({c for c, _ in pairs}) == len({k for _, k in pairs}) == len(pairs)


def test_limits_of_memory_and_time_and_problems_without_a_dag() -> None:
    families = random_families(np.random.default_rng(3), 5)
    problem = Problem.of(families, float(families.cost.sum()), 2.0)
    with pytest.raises(DiagramLimit, match="states after 0 of 5 variables"):
        build_diagram(problem, 2.0, Limits(memory=10))
    limits = Limits()
    limits.interrupt()
    with pytest.raises(DiagramLimit, match="interrupted"):
        limits.run(core.build_diagram, problem.compiled, 2.0, 1 << 30)
    with pytest.raises(SearchError, match="no acyclic graph"):
        build_diagram(Problem.of(families, -1.0, 0.0), 0.0, Limits())


def test_arguments_that_do_not_fit_are_refused() -> None:
    families = random_families(np.random.default_rng(3), 5)
    cost, bits, start = families.cost, families.bits, families.start
    lowest = cost[start[:-1]]
    with pytest.raises(ArgumentError, match="value for each set"):
        core.Problem.by_table(start, cost, bits, 1.0, lowest, np.zeros(31))
    with pytest.raises(ArgumentError, match="least cost"):
        core.Problem.by_table(start, cost, bits, 1.0, lowest[1:], np.zeros(32))
    with pytest.raises(ArgumentError, match="sorted by cost"):
        core.Problem.by_table(start, cost[::-1].copy(), bits, 1.0, lowest, np.zeros(32))
    with pytest.raises(ArgumentError, match="end at"):
        core.Problem.by_table(start[:-1], cost, bits, 1.0, lowest, np.zeros(16))
    clusters = np.ones((2, 1), dtype=np.uint64)
    with pytest.raises(ArgumentError, match="duals"):
        core.Problem.by_clusters(start, cost, bits, 1.0, lowest, lowest, cost, clusters, lowest)
    problem = Problem.of(families, float(cost.sum()), 2.0)
    diagram, other = (build_diagram(problem, 2.0, Limits()) for _ in range(2))
    ways = other.paths.ways_to_end(1 << 30, core.Stop())
    with pytest.raises(ArgumentError, match="those of the diagram"):
        diagram.paths.draw(ways, 0.0, np.zeros(5))
    with pytest.raises(ArgumentError, match="one number for each node"):
        other.paths.draw(ways, 0.0, np.zeros(4))
    with pytest.raises(ArgumentError, match="one of the diagram's"):
        other.paths.draw(ways, -1.0, np.zeros(5))
    starts, none = np.zeros(families.size + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    for barred in ((starts[1:], none), (starts, np.array([999], dtype=np.int32))):
        with pytest.raises(ArgumentError):
            core.PathListing(diagram.paths, 1.0, barred)
    rows, nodes, node = (
        np.zeros((1, 5), dtype=np.int32),
        np.arange(5),
        families.node.astype(np.int64),
    )
    assert core.class_keys(rows[:0], nodes, node, bits, False).shape == (0, 2)
    for wrong in (
        (rows - np.int32(1), nodes, node, bits),
        (rows, nodes + 64, node, bits),
        (rows, nodes, node - 1, bits),
        (rows[:, 1:].copy(), nodes, node, bits),
        (rows, nodes, node[1:], bits),
    ):
        with pytest.raises(ArgumentError):
            core.class_keys(*wrong, False)
