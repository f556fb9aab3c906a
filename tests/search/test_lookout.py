"""Looking around among known scores against its twin by the definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn._core import search
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import consistent_extension, dag_to_cpdag
from fedbn.scores import make_score, total_score
from tests.naive_search import KnownScores, greedy, greedy_among_known, subsets

NAMES = ("a", "b", "c", "d", "e")


def score_of(seed: int, n: int):
    """BDeu of 60 rows in which each column may depend on those before it."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (60, n))
    for v in range(1, n):
        copied = codes[:, rng.integers(v)] ^ codes[:, rng.integers(v)] * rng.integers(2)
        codes[:, v] = np.where(rng.random(60) < 0.7, copied, codes[:, v])
    schema = Schema.categorical(dict.fromkeys(NAMES[:n], ("0", "1")))
    return make_score("bdeu", Dataset(schema, codes))


def known_scores(score, share: float, rng: np.random.Generator, dag: DAG) -> dict:
    """Of the DAG's families, and of a share of all others."""
    own = set(enumerate(tuple(sorted(parents)) for parents in dag.parent_sets()))
    found = {}
    for node in range(score.n):
        for parents in subsets(set(range(score.n)) - {node}):
            family = (node, tuple(sorted(parents)))
            if rng.random() < share or family in own:
                found[family] = score.local_score(*family)
    return found


def look_around(known: dict, dag: DAG, **given) -> tuple[DAG, set]:
    members = np.zeros((len(known), dag.n), dtype=bool)
    for row, (_, parents) in zip(members, known, strict=True):
        row[list(parents)] = True
    none = np.zeros((dag.n, dag.n), dtype=bool)
    arguments = {"forbidden": none, "required": none} | given
    reached, nodes, wanted = search.look_around(
        [node for node, _ in known],
        pack(members),
        np.array(list(known.values())),
        start=pack(dag.adjacency.T),
        forbidden=pack(arguments["forbidden"]),
        required=pack(arguments["required"]),
        kicks=given.get("kicks", False),
        patience=1000,
    )
    asked = [tuple(np.flatnonzero(row).tolist()) for row in unpack(wanted, dag.n)]
    found = list(zip(nodes.tolist(), asked, strict=True))
    assert len(found) == len(set(found))
    return DAG(dag.names, unpack(reached, dag.n).T), set(found)


def start_of(rng: np.random.Generator, n: int) -> DAG:
    return DAG(NAMES[:n], np.triu(rng.random((n, n)) < 0.4, k=1))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.5, 0.8, 0.95, 1.0]))
def test_it_goes_where_the_twin_goes_and_wants_what_the_twin_wants(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    score, dag = score_of(seed, 4), start_of(rng, 4)
    known = known_scores(score, share, rng, dag)
    found, wanted = look_around(known, dag)
    twin = KnownScores(known)
    reached = greedy_among_known(twin, dag)
    members = {(v, tuple(sorted(parents))) for v, parents in enumerate(found.parent_sets())}
    assert members <= set(known)
    assert twin.wanted <= wanted
    assert not wanted & set(known)
    if share == 1.0:
        assert not wanted
        assert dag_to_cpdag(found) == reached
    elif found != dag:
        assert dag_to_cpdag(found) == reached
    assert total_score(score, found) >= total_score(score, dag)


@pytest.mark.parametrize("seed", range(6))
def test_with_kicks_no_edge_less_leads_to_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    score, dag = score_of(seed, 5), start_of(rng, 5)
    found, wanted = look_around(known_scores(score, 1.0, rng, dag), dag, kicks=True)
    best = total_score(score, found)
    assert not wanted
    order = ("delete", "turn", "insert")
    for x, y in np.argwhere(found.adjacency).tolist():
        matrix = found.adjacency.copy()
        matrix[x, y] = False
        without = dag_to_cpdag(DAG(found.names, matrix))
        apart = greedy(score, without, (order,), kept_apart=(x, y))
        reached = consistent_extension(greedy(score, apart, (order,)))
        assert total_score(score, reached) <= best + 1e-6


def kicked_anew(score, known: dict, dag: DAG, **knowledge: np.ndarray) -> DAG:
    """Every kick by searches of its own, which know nothing of the operators looked at before."""
    best = look_around(known, dag, **knowledge)[0]
    for y, x in np.argwhere(best.adjacency.T & ~knowledge["required"]).tolist():
        matrix, apart = best.adjacency.copy(), knowledge["forbidden"].copy()
        matrix[x, y], apart[x, y], apart[y, x] = False, True, True
        without = DAG(dag.names, matrix)
        reached = look_around(known, without, **(knowledge | {"forbidden": apart}))[0]
        reached = look_around(known, reached, **knowledge)[0]
        if total_score(score, reached) > total_score(score, best) + 1e-6:
            return kicked_anew(score, known, reached, **knowledge)
    return best


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 5), barred=st.sampled_from([0.0, 0.2]))
def test_kicks_on_the_record_lead_where_kicks_anew_lead(seed: int, n: int, barred: float) -> None:
    rng = np.random.default_rng(seed)
    score, dag = score_of(seed, n), start_of(rng, n)
    known = known_scores(score, 1.0, rng, dag)
    matrix = dag.adjacency.T
    knowledge = {
        "forbidden": (rng.random((n, n)) < barred) & ~matrix & ~np.eye(n, dtype=bool),
        "required": (rng.random((n, n)) < barred) & matrix,
    }
    found, wanted = look_around(known, dag, kicks=True, **knowledge)
    assert not wanted
    assert found == kicked_anew(score, known, dag, **knowledge)


def test_pairs_that_are_barred_are_neither_joined_nor_wanted() -> None:
    rng = np.random.default_rng(3)
    score, dag = score_of(3, 5), DAG.empty(NAMES)
    barred = np.zeros((5, 5), dtype=bool)
    barred[0, :] = barred[:, 0] = True
    known = known_scores(score, 0.0, rng, dag)
    _, wanted = look_around(known, dag, forbidden=barred, kicks=True)
    assert wanted == {(y, (x,)) for y in range(1, 5) for x in range(1, 5) if x != y}


def test_scores_that_contradict_each_other_come_to_an_end() -> None:
    """No score of classes: adding an edge gains in whatever direction, so does removing it."""
    rng = np.random.default_rng(5)
    dag = DAG.empty(NAMES)
    families = known_scores(score_of(5, 5), 1.0, rng, dag)
    known = {family: float(rng.normal()) for family in families}
    total = [sum(known[v, tuple(sorted(p))] for v, p in enumerate(each.parent_sets()))
             for each in (dag, look_around(known, dag, kicks=True)[0])]  # fmt: skip
    assert total[1] >= total[0]
