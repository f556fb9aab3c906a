"""GES and XGES-0 against a naive twin; limits, start, knowledge, ties, invariances."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.pdag import PDAG, consistent_extension, dag_to_cpdag
from fedbn.graphs.random import random_dag
from fedbn.scores import SCORES, TabulatedScore, make_score, total_score
from fedbn.search.constraints import SearchRules
from fedbn.search.ges import ges
from fedbn.search.xges import xges, xges0
from tests.naive_search import class_of, greedy, operators_on_record, place

NAMES = tuple(f"v{i}" for i in range(6))


def sample(kind: str, seed: int, n: int = 6, rows: int = 200, density: float = 0.5) -> Dataset:
    """Data from a random network over v0 ... with effects of every strength."""
    rng = np.random.default_rng(seed)
    dag = random_dag(NAMES[:n], edge_probability=density, rng=rng)
    values = np.zeros((rows, n))
    for y in dag.topological_order():
        weights = rng.normal(size=n) * dag.adjacency[:, y]
        values[:, y] = values @ weights + rng.standard_normal(rows)
    if kind == "gaussian":
        return Dataset(Schema.gaussian(NAMES[:n]), values)
    codes = np.digitize(values, [-0.7, 0.7]).astype(np.int32)
    return Dataset(Schema.categorical(dict.fromkeys(NAMES[:n], "012")), codes)


@pytest.mark.parametrize("name", list(SCORES))
@pytest.mark.parametrize("seed", range(6))
def test_the_same_steps_as_the_naive_twin(name: str, seed: int) -> None:
    score = make_score(name, sample(SCORES[name].kind, seed))
    empty = PDAG(NAMES, np.zeros((6, 6), dtype=bool))
    forward_backward = (("insert",), ("delete",))
    assert ges(score).cpdag == greedy(score, empty, forward_backward)
    turned = ges(score, turning=True).cpdag
    assert turned == greedy(score, empty, (*forward_backward, ("turn",)))
    assert xges0(score).cpdag == greedy(score, empty, (("delete", "turn", "insert"),))


@pytest.mark.parametrize("name", ["bdeu", "gaussian-bic"])
@pytest.mark.parametrize("seed", range(4))
def test_xges_ends_where_no_edge_less_leads_to_more(name: str, seed: int) -> None:
    """Every edge taken away by hand, then the naive twin of XGES-0 with the edge kept out."""
    score = make_score(name, sample(SCORES[name].kind, seed, n=5, density=0.8))
    found = xges(score)
    assert found.score >= xges0(score).score - 1e-9
    assert found.score == pytest.approx(total_score(score, found.dag))
    for x, y in np.argwhere(found.dag.adjacency).tolist():
        less = found.dag.adjacency.copy()
        less[x, y] = False
        apart = greedy(
            score,
            dag_to_cpdag(DAG(score.names, less)),
            (("delete", "turn", "insert"),),
            kept_apart=(x, y),
        )
        again = greedy(score, apart, (("delete", "turn", "insert"),))
        reached = total_score(score, consistent_extension(again))
        assert reached <= found.score + 1e-9 * (1 + abs(found.score))


def test_xges_leaves_local_optima_of_xges0_on_dense_data() -> None:
    gains = []
    for seed in range(8):
        score = make_score("bdeu", sample("categorical", seed, density=0.9, rows=2000))
        gains.append(xges(score).score - xges0(score).score)
    assert min(gains) >= -1e-6
    assert max(gains) > 1.0


def greedy_from_fresh_records(score: TabulatedScore) -> PDAG:
    """GES that enumerates all operators again before every step."""
    cpdag = PDAG(score.names, np.zeros((score.n, score.n), dtype=bool))
    for kind in ("insert", "delete"):
        while True:
            here = total_score(score, consistent_extension(cpdag))
            tolerance = 1e-9 * (1 + abs(here))
            valid = operators_on_record(score, cpdag, kind)
            best = max((gain for _, gain, _ in valid), default=0.0)
            if best <= tolerance:
                break
            tied = [entry for entry in valid if entry[1] >= max(best - tolerance, tolerance)]
            cpdag = min(tied, key=lambda entry: place(entry[0]))[2]
    return cpdag


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.slow
def test_the_record_is_as_good_as_a_fresh_one(seed: int) -> None:
    """Constant and copied columns make large undirected neighbourhoods and many equal gains."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (60, 11)).astype(np.int32)
    codes[:, 6:] = 0
    codes[:, 1] = codes[:, 0] ^ (rng.random(60) < 0.1)
    codes[:, 2] = codes[:, 0] ^ (rng.random(60) < 0.1)
    codes[:, 3] = codes[:, 1] & codes[:, 2]
    states = dict.fromkeys((f"v{i:02d}" for i in range(11)), "01")
    score = make_score("bdeu", Dataset(Schema.categorical(states), codes))
    assert ges(score).cpdag == greedy_from_fresh_records(score)


@pytest.mark.parametrize("seed", range(6))
def test_from_a_start(seed: int) -> None:
    score = make_score("bdeu", sample("categorical", seed))
    start = random_dag(NAMES, edge_probability=0.4, rng=np.random.default_rng(100 + seed))
    expected = greedy(score, dag_to_cpdag(start), (("insert",), ("delete",)))
    assert ges(score, SearchRules(start=start)).cpdag == expected
    assert ges(score, SearchRules(start=start.reorder(NAMES[::-1]))).cpdag == expected


@pytest.mark.parametrize("search", [ges, xges0, xges])
def test_result_is_consistent(search) -> None:
    score = make_score("bic", sample("categorical", 7))
    found = search(score)
    assert found.status == "complete"
    assert dag_to_cpdag(found.dag) == found.cpdag
    assert found.score == pytest.approx(total_score(score, found.dag), rel=1e-12)


def test_repetition_never_loses_and_ends_where_nothing_gains() -> None:
    for seed in range(8):
        score = make_score("gaussian-bic", sample("gaussian", seed, density=0.8))
        once, again = ges(score, turning=True), ges(score, turning=True, repeat=True)
        assert again.score >= once.score - 1e-6
        for phase in ("insert", "delete", "turn"):
            assert greedy(score, again.cpdag, ((phase,),)) == again.cpdag


@pytest.mark.parametrize("n", [63, 64, 65, 130])
def test_many_nodes(n: int) -> None:
    """A chain and a star, over the boundary of one word."""
    rng = np.random.default_rng(n)
    names = tuple(f"v{i:03d}" for i in range(n))
    chain = np.cumsum(rng.standard_normal((2000, n)), axis=1)
    found = ges(make_score("gaussian-bic", Dataset(Schema.gaussian(names), chain)))
    expected = dag_to_cpdag(DAG.from_edges(names, pairwise(names)))
    assert {frozenset(edge) for edge in expected.undirected_edges} <= {
        frozenset(edge) for edge in found.dag.edges
    }
    star = rng.standard_normal((500, n))
    star[:, 1:] += star[:, :1]
    found = ges(make_score("bge", Dataset(Schema.gaussian(names), star)))
    assert sum(names[0] in edge for edge in found.dag.edges) == n - 1


def test_order_of_columns_and_of_states_changes_nothing() -> None:
    """The same table under other names and states: the DAG is the same but for the names."""
    data = sample("categorical", 3)
    turned = data.codes[:, ::-1]
    relabelled = (turned + 1) % data.cardinalities[::-1]
    schema = Schema.categorical(
        {
            name: data.schema.variables[i].states
            for name, i in zip(NAMES, range(data.n)[::-1], strict=True)
        }
    )
    once = ges(make_score("bdeu", data))
    again = ges(make_score("bdeu", Dataset(schema, relabelled)))
    assert not np.array_equal(data.codes, relabelled)
    assert np.array_equal(again.cpdag.adjacency, once.cpdag.adjacency[::-1, ::-1])


def test_limits_are_kept_and_reported() -> None:
    score = make_score("gaussian-bic", sample("gaussian", 1, density=0.9, rows=2000))
    assert max(len(parents) for parents in ges(score).dag.parent_sets()) > 2
    limited = ges(score, SearchRules(max_parents=2))
    assert limited.status == "parent limit"
    members = class_of(limited.dag)
    assert min(max(map(len, dag.parent_sets())) for dag in members) <= 2
    assert ges(score, SearchRules(max_parents=0)).dag.n_edges == 0
    for setting in ({"max_parents": -1}, {"max_t": -1}, {"seconds": 0}):
        with pytest.raises(ConfigError):
            SearchRules(**setting)


def test_time_limit() -> None:
    names = tuple(f"v{i:02d}" for i in range(60))
    values = np.random.default_rng(0).standard_normal((100, 60))
    score = make_score("gaussian-bic", Dataset(Schema.gaussian(names), values))
    limited = ges(score, SearchRules(seconds=1e-9))
    assert limited.status == "time limit"
    assert limited.score <= ges(score).score
    assert ges(score, SearchRules(seconds=1e9)) == ges(score)


def test_ties_at_random() -> None:
    """Three copies of one column: any two edges explain them, so chains differ."""
    column = np.random.default_rng(0).integers(0, 2, 300)
    data = Dataset(Schema.categorical(dict.fromkeys("abc", "01")), np.stack([column] * 3, axis=1))
    score = make_score("bic", data)
    found = {ges(score, SearchRules(rng=np.random.default_rng(seed))).cpdag for seed in range(20)}
    assert len(found) == 3
    assert len({ges(score).cpdag for _ in range(3)}) == 1
    once, again = (ges(score, SearchRules(rng=np.random.default_rng(5))) for _ in range(2))
    assert once.cpdag == again.cpdag


@pytest.mark.parametrize("search", [ges, xges0, xges])
@pytest.mark.parametrize("seed", range(4))
def test_knowledge_is_honoured(search, seed: int) -> None:
    score = make_score("gaussian-bic", sample("gaussian", seed, density=0.6))
    known = Knowledge(
        required=(("v1", "v0"),),
        forbidden=(("v2", "v3"), ("v3", "v2"), ("v4", "v5")),
        tiers=(("v1", "v2"), ("v0", "v3", "v4")),
    )
    found = search(score, SearchRules(knowledge=known))
    assert not (found.dag.adjacency & known.forbidden_matrix(NAMES)).any()
    assert (found.dag.adjacency >= known.required_matrix(NAMES)).all()
    assert dag_to_cpdag(found.dag) == found.cpdag
    free = search(score)
    allows = Knowledge(required=free.dag.edges)
    assert search(score, SearchRules(knowledge=allows, start=free.dag)).score >= free.score - 1e-6


def test_no_operator_that_keeps_the_knowledge_is_left_out() -> None:
    """At the end of the forward phase no valid Insert leads to a class with a permitted member."""
    from tests.naive_search import valid_operators

    known = Knowledge(tiers=(("v5", "v4"), ("v3", "v2"), ("v1", "v0")))
    forbidden = known.forbidden_matrix(NAMES)
    for seed in range(5):
        score = make_score("gaussian-bic", sample("gaussian", seed))
        found = ges(score, SearchRules(knowledge=known), repeat=True)
        for kind in ("insert", "delete"):
            for operator in valid_operators(found.cpdag, kind):
                if operator.gain(score, found.cpdag) > 1e-5:
                    members = class_of(consistent_extension(operator.apply(found.cpdag)))
                    assert all((dag.adjacency & forbidden).any() for dag in members)


def test_contradictions_name_the_edges() -> None:
    with pytest.raises(ConfigError, match="a -> b is both required and forbidden"):
        Knowledge(required=(("a", "b"),), forbidden=(("a", "b"),))
    with pytest.raises(ConfigError, match="cycle.*a -> b"):
        Knowledge(required=(("a", "b"), ("b", "a")))
    with pytest.raises(ConfigError, match="b -> a is required, but the tiers put a first"):
        Knowledge(required=(("b", "a"),), tiers=(("a",), ("b",)))
    with pytest.raises(ConfigError, match="'a' is in two"):
        Knowledge(tiers=(("a",), ("a",)))
    stray = SearchRules(knowledge=Knowledge(tiers=(("x",),)))
    with pytest.raises(ConfigError, match="'x', which is no variable"):
        ges(make_score("bdeu", sample("categorical", 0)), stray)
    three = Knowledge(required=(("v0", "v3"), ("v1", "v3"), ("v2", "v3")))
    with pytest.raises(ConfigError, match="max-parents 2.*v0 -> v3, v1 -> v3, v2 -> v3"):
        SearchRules(knowledge=three, max_parents=2)
