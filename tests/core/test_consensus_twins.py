"""What is read off a path of deletions, and what sites answer, against twins by definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedbn._core import consensus, fusion, secure
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.graph import matrix_of_pairs
from tests import naive_consensus, naive_states
from tests.strategies import dag_lists, dags


def parents_of(inputs: list[np.ndarray]) -> np.ndarray:
    return np.stack([pack(np.ascontiguousarray(dag.T)) for dag in inputs])


def matrix_of(state: np.ndarray, n: int) -> np.ndarray:
    """The adjacency of a state, which is given as its arcs, or as the parents of every node."""
    return unpack(state, n).T if state.dtype == np.uint64 else matrix_of_pairs(state, n)


def arcs_of(states: np.ndarray, n: int) -> list[np.ndarray]:
    return [unpack(state, n).T for state in states]


class Path:
    """All deletions from the fusion of some DAGs, by the core and by the twin."""

    def __init__(self, dags_: list[DAG]) -> None:
        self.inputs = [dag.adjacency.copy() for dag in dags_]
        self.n = len(self.inputs[0])
        self.weights = np.arange(1, len(dags_) + 1)
        bits = parents_of(self.inputs)
        heuristic = fusion.OrderHeuristic(bits, self.weights, np.zeros(0))
        heuristic.extend(self.n)
        self.fusion = np.bitwise_or.reduce(fusion.minimal_imaps(bits, heuristic.order))
        self.search = consensus.Deletions(
            bits, self.weights, self.fusion, 3, consensus.Pooling.mean, 1 << 24
        )
        while self.search.advance(100, 1 << 40, 1 << 60) == consensus.Outcome.paused:
            pass
        self.twin = naive_consensus.greedy_delete(
            unpack(self.fusion, self.n).T,
            self.inputs,
            [Fraction(int(w)) for w in self.weights],
            3,
        )
        self.bits = bits


@given(dag_lists(min_nodes=1, max_nodes=5, max_dags=4))
@settings(max_examples=40)
def test_states_of_the_search_are_those_of_the_deletions(dags_: list[DAG]) -> None:
    path = Path(dags_)
    steps = path.search.steps()
    xy = np.array([s[:2] for s in steps], dtype=np.int32).reshape(len(steps), 2)
    cuts = np.arange(len(steps) + 1)
    states = consensus.search_states(path.fusion, xy, [h for _, _, h, _ in steps], cuts)
    expected = [naive_consensus.cpdag(unpack(path.fusion, path.n).T)]
    expected += [state.cpdag for state in path.twin]
    assert len(states) == len(expected)
    for found, pattern in zip(states, expected, strict=True):
        assert np.array_equal(matrix_of(found, path.n), naive_consensus.extension(pattern))


@pytest.mark.parametrize("n", [6, 63, 130])
def test_a_state_takes_no_more_bytes_than_its_arcs_and_its_bits(n: int) -> None:
    rng = np.random.default_rng(n)
    dense, thin = (np.triu(rng.random((n, n)) < share, 1) for share in (0.6, 0.01))
    ones, none = np.ones(1, dtype=np.int64), np.zeros((0, 4), dtype=np.int32)
    kinds = set()
    for dag in (dense, thin):
        bits = parents_of([dag])
        (state,) = consensus.refusion_states(bits, ones, none, np.zeros(1, np.int64), ones, 1)
        assert np.array_equal(matrix_of(state, n), dag)
        assert state.nbytes == min(8 * dag.sum(), bits.nbytes)
        kinds.add(state.dtype)
    assert len(kinds) == 2


def dense_search(seed: int) -> consensus.Deletions:
    """Over 24 nodes; the inputs have different orders, so that their fusion is dense."""
    rng = np.random.default_rng(seed)
    inputs = []
    for _ in range(4):
        place = rng.permutation(24)
        inputs.append(np.triu(rng.random((24, 24)) < 0.12, 1)[np.ix_(place, place)])
    bits, weights = parents_of(inputs), np.arange(1, 5)
    heuristic = fusion.OrderHeuristic(bits, weights, np.zeros(0))
    heuristic.extend(24)
    union = np.bitwise_or.reduce(fusion.minimal_imaps(bits, heuristic.order))
    return consensus.Deletions(bits, weights, union, 3, consensus.Pooling.mean, 1 << 24)


@pytest.mark.parametrize("seed", range(3))
def test_entries_of_what_edges_were_before_are_forgotten(seed: int) -> None:
    search = dense_search(seed)
    before, shrank = 0, False
    while search.advance(1, 1 << 40, 1 << 60) == consensus.Outcome.limit:
        slots = search.known()
        around = {(x, y): {x, y} for x, y, *_ in slots}
        for x, y, h, f, u, *_ in slots:
            around[x, y].update(h, f, u)
        waiting, noted = search.entries
        assert waiting <= 2 * (search.n_edges - search.done) + 64
        assert noted <= 2 * sum(map(len, around.values())) + 64
        before, shrank = noted, shrank or noted < before
    assert shrank


def test_what_separates_is_not_kept_where_all_observe_all() -> None:
    search = dense_search(3)
    search.advance(1_000, 1 << 40, 1 << 60)
    assert len(search.given()) == search.n_edges > 100
    assert not any(search.given())


@given(dag_lists(min_nodes=1, max_nodes=5, max_dags=4), st.data())
@settings(max_examples=40)
def test_states_of_refusion_are_fusions_of_the_pruned_inputs(
    dags_: list[DAG], data: st.DataObject
) -> None:
    path = Path(dags_)
    members = np.array(
        data.draw(st.lists(st.integers(1, 2), min_size=len(dags_), max_size=len(dags_)))
    )
    quorum = data.draw(st.integers(1, int(members.sum())))
    cuts = np.arange(path.search.done + 1)
    states = consensus.refusion_states(
        path.bits, path.weights, path.search.lost_arcs(), cuts, members, quorum
    )
    pruned = [dag.copy() for dag in path.inputs]
    for done, found in enumerate(states):
        if done:
            for dag, lost in zip(pruned, path.twin[done - 1].arcs, strict=True):
                for a, b in lost:
                    dag[a, b] = False
        order = naive_consensus.order(pruned, [Fraction(int(w)) for w in path.weights])
        maps = [naive_consensus.imap(dag, order) for dag in pruned]
        votes = sum(int(m) * one.astype(int) for m, one in zip(members, maps, strict=True))
        assert np.array_equal(matrix_of(found, path.n), votes >= quorum)


@pytest.mark.parametrize("n", [1, 2, 12, 63, 64, 65, 130])
@pytest.mark.parametrize("of_all", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_refusions_that_keep_what_stayed_the_same_are_fusions_from_nothing(
    n: int, of_all: bool, seed: int
) -> None:
    """Inputs 0 and 5 have the same arcs all the way, but not always the same variables; 3 and 4 are
    of other orders."""
    rng = np.random.default_rng([n, seed])
    start = np.triu(rng.random((n, n)) < min(0.5, 3 / n), 1)
    inputs = [start.copy() for _ in range(6)]
    for dag in inputs[1:5]:
        dag &= rng.random((n, n)) < 0.9
        dag |= np.triu(rng.random((n, n)) < 1 / n**2, 1)
    for i in (3, 4):
        place = rng.permutation(n)
        inputs[i] = inputs[i][np.ix_(place, place)]
    steps = min(12, n * n)
    lost = [
        (int(rng.integers(steps)), i, int(a), int(b))
        for i, dag in enumerate(inputs[:5])
        for a, b in np.argwhere(dag)
        if rng.random() < 0.4
    ]
    lost = sorted(lost + [(step, 5, a, b) for step, i, a, b in lost if i == 0])
    joined = np.array([dag.any(axis=0) | dag.any(axis=1) for dag in inputs])
    seen = joined | (rng.random((6, n)) < 0.5)
    seen[0], seen[5] = True, joined[5]
    observed = None if of_all else pack(seen)
    weights, ones = np.arange(1, 7), np.ones(6, dtype=np.int64)
    arcs = np.array(lost, dtype=np.int32).reshape(len(lost), 4)
    cuts = np.arange(steps + 1)
    states = consensus.refusion_states(
        parents_of(inputs), weights, arcs, cuts, ones, 2, observed=observed
    )
    for cut, found in zip(cuts, states, strict=True):
        pruned = [dag.copy() for dag in inputs]
        for step, i, a, b in lost:
            if step < cut:
                pruned[i][a, b] = False
        bits = parents_of(pruned)
        heuristic = fusion.OrderHeuristic(bits, weights, np.zeros(0), observed=observed)
        heuristic.extend(n)
        maps = fusion.minimal_imaps(bits, heuristic.order)
        wanted = fusion.arcs_of_quorum(maps, ones, 2)
        assert np.array_equal(matrix_of(found, n), unpack(wanted, n).T)


@given(dag_lists(min_nodes=1, max_nodes=6, max_dags=5), st.data())
@settings(max_examples=60)
def test_sums_of_distances(dags_: list[DAG], data: st.DataObject) -> None:
    first, *others = [dag.adjacency for dag in dags_]
    others = others or [first]
    weights = np.array(
        data.draw(st.lists(st.integers(1, 9), min_size=len(others), max_size=len(others)))
    )
    n, total = len(first), int(weights.sum())
    states = [DAG(dags_[0].names, dag).arcs for dag in [first, *others]]
    states += [DAG(dags_[0].names, dag).parent_bits for dag in [first, *others]]
    pairs, votes = consensus.pair_votes(parents_of(others), weights)
    seen = None if data.draw(st.booleans()) else np.full((n, n), total)
    for sums, numbers, distance in (
        (consensus.smhd_sums, votes[:1], naive_states.smhd),
        (consensus.shd_sums, votes[1:4], naive_states.shd),
    ):
        found = sums(states, n, pairs, np.ascontiguousarray(numbers), total, seen)
        expected = [
            sum(int(w) * distance(state, dag) for w, dag in zip(weights, others, strict=True))
            for state in [first, *others]
        ]
        assert found.tolist() == [*expected, *expected]


@given(dags(min_nodes=2, max_nodes=7), dags(min_nodes=2, max_nodes=7), st.integers(0, 10_000))
def test_what_is_possible_differs_from_pair_to_pair(dag: DAG, other: DAG, seed: int) -> None:
    n = min(dag.n, other.n)
    state, said = (each.adjacency[:n, :n] for each in (dag, other))
    upper = np.triu(np.random.default_rng(seed).integers(0, 9, (n, n)), k=1)
    arcs = np.ascontiguousarray(np.argwhere(state), np.int32)
    pairs, votes = consensus.pair_votes(parents_of([said]), np.array([2]))
    for sums, numbers, joined in (
        (consensus.smhd_sums, votes[:1], naive_consensus.moral(state)),
        (consensus.shd_sums, votes[1:4], state | state.T),
    ):
        numbers = np.ascontiguousarray(numbers)
        (found,) = sums([arcs], n, pairs, numbers, 2, np.ascontiguousarray(upper + upper.T))
        (everywhere,) = sums([arcs], n, pairs, numbers, 2, None)
        assert found - everywhere == (upper - 2)[np.triu(joined, k=1)].sum()


@given(dags(min_nodes=1, max_nodes=7), st.integers(0, 10_000))
def test_covered_edges_are_reversed_by_their_margins(dag: DAG, seed: int) -> None:
    upper = np.triu(np.random.default_rng(seed).integers(-4, 5, (dag.n, dag.n)), k=1)
    margins, pairs = upper - upper.T, np.ascontiguousarray(np.argwhere(upper), np.int32)
    given_ = pairs, upper[tuple(pairs.T)][None]
    found = consensus.reverse_covered(parents_of([dag.adjacency])[0], *given_)
    expected = naive_states.reverse_covered(dag.adjacency, margins)
    assert np.array_equal(unpack(found, dag.n).T, expected)


@given(dags(min_nodes=2, max_nodes=9), st.data())
@settings(max_examples=100)
def test_criticality_is_the_maximum_flow_of_networkx(dag: DAG, data: st.DataObject) -> None:
    x, y, *rest = data.draw(st.permutations(range(dag.n)))
    s = set(rest[: data.draw(st.integers(0, len(rest)))])
    row = np.array([[v in s for v in range(dag.n)]])
    size, arcs = consensus.min_cut(parents_of([dag.adjacency])[0], x, y, pack(row))
    assert size == naive_states.cut_size(dag.adjacency, x, y, s)
    pruned = dag.adjacency.copy()
    for a, b in arcs:
        assert pruned[a, b]
        pruned[a, b] = False


@given(dag_lists(min_nodes=1, max_nodes=6, max_dags=4), st.data())
@settings(max_examples=60)
def test_a_site_s_costs_of_the_order(dags_: list[DAG], data: st.DataObject) -> None:
    inputs = [dag.adjacency for dag in dags_]
    places = data.draw(st.permutations(range(len(inputs[0]))))
    taken, chain = data.draw(st.integers(0, len(places))), data.draw(st.integers(0, 3))
    first, then = places[:taken], places[taken : taken + chain]
    weights = list(range(1, len(inputs) + 1))
    found = secure.cost_sums(
        parents_of(inputs), np.array(weights),
        np.array(first, dtype=np.int64), np.array(then, dtype=np.int64),
    )  # fmt: skip
    assert found.tolist() == naive_states.cost_sums(inputs, weights, first, then)


@given(dags(min_nodes=2, max_nodes=6), st.data())
@settings(max_examples=60)
def test_a_valid_deletion_leads_to_the_class_of_the_definition(
    dag: DAG, data: st.DataObject
) -> None:
    pattern = naive_consensus.cpdag(dag.adjacency)
    operators = naive_consensus.operators(pattern, dag.n)
    assume(operators)
    x, y, h, _ = data.draw(st.sampled_from(operators))
    directed, undirected = pattern & ~pattern.T, pattern & pattern.T
    p = np.stack([pack(np.ascontiguousarray(part)) for part in (directed.T, directed, undirected)])
    row = np.zeros((1, dag.n), dtype=bool)
    row[0, list(h)] = True
    after = secure.delete(p, x, y, pack(row))
    expected = naive_consensus.deleted(pattern, x, y, h)
    assert after is not None
    assert np.array_equal(unpack(after[1], dag.n) | unpack(after[2], dag.n), expected)
    assert np.array_equal(unpack(after[0], dag.n).T, expected & ~expected.T)
