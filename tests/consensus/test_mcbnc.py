"""The search against its naive twin, the paper's example, and the theorems of the field."""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.min_cut import min_cut
from fedbn.consensus.path import POOLINGS, McbncPath, Pooling
from fedbn.errors import ConfigError, SearchError, StructureError
from fedbn.fusion.minimal_imap import minimal_imap
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import perturb, random_dag
from tests import naive_consensus as naive
from tests.naive_consensus import pruned_inputs
from tests.strategies import dag_lists
from tests.work import clock_that_counts

# How many random cases the twin is asked about: FEDBN_TWIN_CASES=10000 for a long run.
CASES = int(os.environ.get("FEDBN_TWIN_CASES", "60"))
# And about cases with many inputs, which the twin takes longer for.
MANY = CASES // 6

PAPER = [
    DAG.from_edges("wxyz", edges)
    for edges in (["wx", "xy", "yz"], ["wx", "wy", "xz"], ["wx", "yx", "xz"])
]


def same_as_naive(
    dags: list[DAG],
    weights: list[Fraction] | None,
    k_max: int,
    pooling: Pooling = "mean",
    quorum: int = 1,
) -> McbncPath:
    """Ψ, operator, cut arcs of every input, and the final order and union agree at every step."""
    path = mcbnc_path(dags, weights, k_max=k_max, pooling=pooling, quorum=quorum)
    used = [Fraction(1)] * len(dags) if weights is None else weights
    matrices = [dag.reorder(path.names).adjacency.copy() for dag in dags]
    sigma = naive.order(matrices, used)
    assert path.order == tuple(path.names[i] for i in sigma)
    union = sum(naive.imap(matrix, sigma).astype(int) for matrix in matrices) >= quorum
    assert np.array_equal(path.union.adjacency, union)
    place = {i: k for k, members in enumerate(path.inputs.members) for i in members}
    states = naive.greedy_delete(union, matrices, used, k_max, pooling)
    assert len(states) == len(path.steps)
    for number, (state, step) in enumerate(zip(states, path.steps, strict=True)):
        wanted = (path.names[state.x], path.names[state.y])
        h = tuple(path.names[i] for i in state.h)
        assert ((step.x, step.y), step.h, step.psi) == (wanted, h, state.psi), number
        now = path.lost_arcs[path.lost_arcs[:, 0] == number]
        for i in range(len(dags)):
            arcs = {(int(a), int(b)) for _, k, a, b in now if k == place[i]}
            assert arcs == state.arcs[i]
    return path


@given(
    dag_lists(min_nodes=2, max_nodes=6, max_dags=4),
    st.sampled_from([0, 1, 2, 3, 10]),
    st.lists(st.integers(1, 3), min_size=4, max_size=4),
    st.sampled_from(POOLINGS),
)
@settings(max_examples=CASES, deadline=None)
@pytest.mark.slow
def test_every_step_agrees_with_the_twin(
    dags: list[DAG], k_max: int, weights: list[int], pooling: Pooling
) -> None:
    same_as_naive(dags, [Fraction(w, 2) for w in weights[: len(dags)]], k_max, pooling)


@pytest.mark.parametrize("seed", range(CASES // 2))
@pytest.mark.slow
def test_similar_inputs_agree_with_the_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 8))
    base = random_dag([f"v{i}" for i in range(n)], edges=int(rng.integers(n, 2 * n - 1)), rng=rng)
    count = int(rng.integers(2, 7))
    dags = [perturb(base, int(rng.integers(0, n)), rng=rng) for _ in range(count)]
    same_as_naive(dags, None, int(rng.choice([0, 1, 2, 3, 10])))
    same_as_naive(dags, None, 10, "clip")
    same_as_naive(dags, None, 10, "median")


@given(dag_lists(min_nodes=2, max_nodes=6, max_dags=4))
@settings(max_examples=50, deadline=None)
@pytest.mark.slow
def test_cpdags_on_the_way_agree_with_the_twin(dags: list[DAG]) -> None:
    from fedbn.consensus.threshold import path_states

    path = mcbnc_path(dags)
    matrices = [dag.adjacency.copy() for dag in dags]
    twins = naive.greedy_delete(
        path.union.adjacency.copy(), matrices, [Fraction(1)] * len(dags), 10
    )
    for state in path_states(path, "search")[1:]:
        ours = naive.cpdag(state.dag.adjacency)
        assert np.array_equal(ours, twins[state.deletions - 1].cpdag)


@given(dag_lists(min_nodes=2, max_nodes=7, max_dags=1), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
@pytest.mark.slow
def test_cut_agrees_with_all_subsets(dags: list[DAG], random) -> None:
    dag = dags[0]
    nodes = list(range(dag.n))
    random.shuffle(nodes)
    x, y, *rest = nodes
    s = set(rest[: random.randint(0, len(rest))])
    size, arcs = naive.cut(dag.adjacency, x, y, s)
    found = min_cut(dag, dag.names[x], dag.names[y], [dag.names[v] for v in s])
    assert found.size == size
    assert set(found.arcs) == {(dag.names[a], dag.names[b]) for a, b in arcs}
    assert (size == 0) == naive.separated(dag.adjacency, x, y, s)


def test_the_paper_s_example_number_by_number() -> None:
    """Appendix E."""
    path = mcbnc_path(PAPER)
    assert path.order == ("w", "y", "x", "z")
    first = minimal_imap(PAPER[0], path.order)
    assert first.edges == (("w", "x"), ("w", "y"), ("y", "x"), ("y", "z"))
    union = (("w", "x"), ("w", "y"), ("x", "z"), ("y", "x"), ("y", "z"))
    assert path.union.edges == union
    given_parents = {
        (x, y): [p for p in path.names if (p, y) in union and p != x] for x, y in union
    }
    psi = {
        x + y: Fraction(sum(min_cut(dag, x, y, s).size for dag in PAPER), 3)
        for (x, y), s in given_parents.items()
    }
    assert psi == {
        "wx": 1,
        "yz": Fraction(1, 3),
        "wy": Fraction(2, 3),
        "xz": Fraction(2, 3),
        "yx": Fraction(2, 3),
    }
    step = path.steps[0]
    assert (step.x, step.y, step.h, step.psi) == ("y", "z", (), Fraction(1, 3))
    pruned = pruned_inputs(path, 1)
    after = {
        h: Fraction(
            sum(min_cut(dag, "w", "x", [v for v in "y" if v not in h]).size for dag in pruned), 3
        )
        for h in ("", "y")
    }
    assert after == {"": 1, "y": Fraction(4, 3)}
    assert len(mcbnc_path(PAPER, threshold="1/2").steps) == 1
    assert mcbnc_path(PAPER, threshold=0.5).status == "threshold"


def test_prefix_property() -> None:
    rng = np.random.default_rng(3)
    base = random_dag([f"v{i:02d}" for i in range(12)], edges=16, rng=rng)
    dags = [perturb(base, 6, rng=rng) for _ in range(8)]
    path = mcbnc_path(dags)
    for theta in path.thetas:
        direct = mcbnc_path(dags, threshold=theta)
        count = sum(step.theta <= theta for step in path.steps)
        assert direct.steps == path.steps[:count]
        assert np.array_equal(direct.lost_arcs, path.lost_arcs[path.lost_arcs[:, 0] < count])


@given(dag_lists(min_nodes=2, max_nodes=6, max_dags=5), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_order_of_clients_and_columns_and_duplicates_change_nothing(dags, random) -> None:
    path = mcbnc_path(dags)
    shuffled = [
        dag.reorder(random.sample(dag.names, dag.n)) for dag in random.sample(dags, len(dags))
    ]
    other = mcbnc_path([*shuffled, dags[0]], None)
    weighted = mcbnc_path(dags, [2] + [1] * (len(dags) - 1))
    assert (other.steps, other.union, other.order) == (
        weighted.steps,
        weighted.union,
        weighted.order,
    )
    again = mcbnc_path(shuffled, [Fraction(1, 3)] * len(dags))
    assert (path.steps, path.union) == (again.steps, again.union)
    assert np.array_equal(path.lost_arcs, again.lost_arcs)


def test_random_ties_need_not_agree_but_are_reproducible() -> None:
    rng = np.random.default_rng(5)
    base = random_dag([f"v{i}" for i in range(8)], edges=10, rng=rng)
    dags = [perturb(base, 4, rng=rng) for _ in range(5)]
    paths = [mcbnc_path(dags, rng=np.random.default_rng(seed)) for seed in (1, 1, 2, 3, 4)]
    assert paths[0].steps == paths[1].steps
    assert len({path.steps for path in paths}) > 1
    for path in paths:
        assert path.complete
        assert not any(dag.n_edges for dag in pruned_inputs(path, len(path.steps)))


def test_slots_grow_and_collapse_without_changing_the_path(monkeypatch) -> None:
    rng = np.random.default_rng(7)
    names = [f"v{i}" for i in range(9)]
    dags = [random_dag(names, edge_probability=0.6, rng=rng) for _ in range(3)]
    path = mcbnc_path(dags)
    monkeypatch.setattr("fedbn.consensus.deletions.CUTS_AT_ONCE", 5 * 9)
    monkeypatch.setattr("fedbn.consensus.deletions.STEPS_AT_ONCE", 1)
    seen: list[tuple[int, int]] = []
    slow = mcbnc_path(dags, progress=lambda done, total: seen.append((done, total)))
    assert slow.steps == path.steps
    assert seen[-1] == (len(path.steps), len(path.steps))


@pytest.mark.slow
def test_time_budget_ends_with_the_path_so_far(monkeypatch) -> None:
    monkeypatch.setattr("fedbn.consensus.deletions.CUTS_AT_ONCE", 50 * 40)
    names = [f"v{i:02d}" for i in range(40)]
    rng = np.random.default_rng(0)
    dags = [random_dag(names, edge_probability=0.4, rng=rng) for _ in range(6)]
    whole = mcbnc_path(dags)
    clock_that_counts(monkeypatch, "fedbn.consensus.mcbnc", "fedbn.consensus.deletions")
    path = mcbnc_path(dags, seconds=1000)
    assert path.status == "time limit"
    assert not path.complete
    assert 0 < len(path.steps) < len(whole.steps)
    assert path.steps == whole.steps[: len(path.steps)]


def test_time_budget_covers_what_comes_before_the_deletions() -> None:
    with pytest.raises(SearchError, match="0 of|of 4"):
        mcbnc_path(PAPER, seconds=1e-9)


def test_stages_are_told() -> None:
    told: list[tuple[str, int, int]] = []
    mcbnc_path(PAPER, stages=lambda *stage: told.append(stage))
    assert told == [("order", 4, 4), ("I-maps", 3, 3)]


def test_one_hostile_input_holds_edges_alone_unless_its_cuts_are_clipped() -> None:
    names = [f"v{i}" for i in range(8)]
    honest = [DAG.from_edges(names, list(pairwise(names)))] * 9
    hostile = DAG(tuple(names), np.triu(np.ones((8, 8), dtype=bool), k=1))
    held = {}
    for pooling in POOLINGS:
        path = mcbnc_path([*honest, hostile], threshold="1/2", pooling=pooling)
        held[pooling] = path.union.n_edges - len(path.steps)
    assert held["mean"] >= held["clip"] == held["median"] == 7


@pytest.mark.parametrize(
    ("settings_", "error"),
    [
        ({"k_max": -1}, ConfigError),
        ({"quorum": 0}, ConfigError),
        ({"pooling": "sum"}, ConfigError),
        ({"seconds": 0.0}, ConfigError),
        ({"threshold": -0.5}, ConfigError),
        ({"threshold": "high"}, ConfigError),
        ({"weights": [1, 2, 0]}, ConfigError),
        ({"weights": [1, 2, 0.5]}, ConfigError),
        ({"weights": [1]}, ConfigError),
        ({"weights": [1, 2, 2**70]}, ConfigError),
    ],
)
def test_bad_settings_are_refused(settings_: dict, error: type[Exception]) -> None:
    with pytest.raises(error):
        mcbnc_path(PAPER, **settings_)


def test_no_input_and_different_variables_are_refused() -> None:
    with pytest.raises(StructureError, match="at least one"):
        mcbnc_path([])
    with pytest.raises(StructureError, match="DAG 2 differs"):
        mcbnc_path([DAG.empty("ab"), DAG.empty("ac")])


def test_trivial_inputs() -> None:
    assert mcbnc_path([DAG.empty(("a",))]).steps == ()
    assert mcbnc_path([DAG.empty("ab"), DAG.empty("ab")]).thetas == ()


@pytest.mark.parametrize("seed", range(MANY))
@pytest.mark.slow
def test_many_inputs_with_a_few_changes_agree_with_the_twin(seed: int) -> None:
    rng = np.random.default_rng([22, seed])
    n = int(rng.integers(5, 8))
    base = random_dag([f"v{i}" for i in range(n)], edges=int(rng.integers(n, 2 * n - 1)), rng=rng)
    count = int(rng.integers(8, 17))
    dags = [perturb(base, int(rng.integers(0, 3)), rng=rng) for _ in range(count)]
    same_as_naive(dags, None, int(rng.choice([1, 2, 10])), POOLINGS[seed % 3])


@pytest.mark.parametrize("seed", range(max(3, MANY // 20)))
@pytest.mark.slow
def test_more_inputs_than_bits_of_a_word_agree_with_the_twin(seed: int) -> None:
    """All distinct, so that G+ is nearly complete and families are split."""
    rng = np.random.default_rng([220, seed])
    base = random_dag([f"v{i}" for i in range(5)], edges=5, rng=rng)
    drawn = {perturb(base, int(rng.integers(1, 4)), rng=rng).edges: None for _ in range(400)}
    dags = [DAG.from_edges(base.names, list(edges)) for edges in list(drawn)[:70]]
    assert len(dags) > 64
    weights = [Fraction(int(w), 2) for w in rng.integers(1, 4, len(dags))] if seed else None
    same_as_naive(dags, weights, 1 + seed % 2, POOLINGS[seed % 3])


@pytest.mark.slow
def test_classes_on_the_way_are_those_of_deletes_from_scratch() -> None:
    """With more than 64 nodes; every deletion is followed by labels that it changes, or by all."""
    from fedbn._core.consensus import search_states
    from fedbn._core.graphs import cpdag, extension
    from fedbn._core.secure import delete
    from fedbn.consensus.threshold import _as_bits
    from fedbn.graphs.bits import bits_of_pairs, pack

    rng = np.random.default_rng(22)
    base = random_dag([f"v{i:02d}" for i in range(67)], edges=120, rng=rng)
    path = mcbnc_path([perturb(base, 12, rng=rng) for _ in range(5)])
    union, xy, h = _as_bits(path)
    found = search_states(union, xy, h, np.arange(len(path.steps) + 1))
    p = np.stack(cpdag(union))
    for number, state in enumerate(found):
        parents = state if state.dtype == np.uint64 else bits_of_pairs(state[:, ::-1], len(union))
        assert np.array_equal(parents, extension(p[0], p[2]))
        if number < len(path.steps):
            left_out = np.zeros((1, path.union.n), dtype=bool)
            left_out[0, h[number]] = True
            p = delete(p, *(int(v) for v in xy[number]), pack(left_out))
            assert p is not None
    assert any(step.h for step in path.steps)


@given(dag_lists(min_nodes=2, max_nodes=5, max_dags=5), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_a_quorum_keeps_rare_arcs_out_of_both_fusions(dags: list[DAG], quorum: int) -> None:
    from fedbn.consensus.threshold import path_states

    path = same_as_naive([*dags, dags[0]], None, 10, quorum=quorum)
    place = {i: k for k, members in enumerate(path.inputs.members) for i in members}
    for state in path_states(path, "refusion"):
        pruned = pruned_inputs(path, state.deletions)
        matrices = [pruned[place[i]].adjacency.copy() for i in range(len(dags) + 1)]
        sigma = naive.order(matrices, [Fraction(1)] * len(matrices))
        votes = sum(naive.imap(matrix, sigma).astype(int) for matrix in matrices)
        assert np.array_equal(state.dag.adjacency, votes >= quorum)
