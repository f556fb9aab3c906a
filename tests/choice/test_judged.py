"""Choosing by counts where sites have different columns: moves, each judged by the same rows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.choice.judged import (
    CountsOfSites,
    JudgedClimb,
    Told,
    begin_judged,
    go_on,
    judged_mechanisms,
    wanted_moves,
)
from fedbn.choice.judged_sums import ScattersOfSites
from fedbn.choice.prior import FREE, EdgePrior
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.networks.family_counts import Family, FamilyTables, count_own_families, families_of
from fedbn.scores.family_scores import own_scores
from fedbn.scores.scatter import scatter_of_table
from tests import naive_judged as naive
from tests.naive import all_dags

Sites = dict[str, Dataset]


def known_of(sites: Sites, schema: Schema, families: set[Family]) -> CountsOfSites:
    """What all sites tell of these families."""
    found: dict[Family, dict[tuple[str, ...], Told]] = {}
    for site in sorted(sites):
        names = set(sites[site].names)
        own = sorted(
            f for f in families if {schema.names[v] for v in (f.node, *f.parents)} <= names
        )
        counts = count_own_families(sites[site], FamilyTables(schema, tuple(own)))
        for family, score in zip(own, own_scores(counts).tolist(), strict=True):
            found.setdefault(family, {})[site,] = Told(counts.filled_cells(family), score)
    return CountsOfSites(schema, 1.0, found)


def columns_of(sites: Sites, schema: Schema) -> dict[str, frozenset[int]]:
    return {
        site: frozenset(schema.index(name) for name in table.names) for site, table in sites.items()
    }


def start(sites: Sites, schema: Schema, dag: DAG, **more: object) -> JudgedClimb:
    """With all families known."""
    every = set(families_of(all_dags(dag.n)))
    base = JudgedClimb(
        schema=schema,
        columns=columns_of(sites, schema),
        dag=dag,
        min_judges=1,
        prior=EdgePrior.over(dag.n),
        known=known_of(sites, schema, every),
    )
    return replace(base, **more)


def random_sites(rng: np.random.Generator, n: int, least: int, most: int) -> tuple[Sites, Schema]:
    """Up to four sites of very different numbers of rows; every column is somewhere."""
    schema = Schema.categorical({f"v{i}": [str(s) for s in range(2 + i % 2)] for i in range(n)})
    sites = {}
    for number in range(int(rng.integers(1, 5))):
        rows = int(rng.integers(least, most))
        codes = rng.integers(0, 2, (rows, n))
        for v in range(1, n):
            chosen = rng.random(rows) < rng.choice([0.0, 0.5, 0.8])
            codes[:, v] = np.where(chosen, codes[:, v - 1], codes[:, v])
        has = [v for v in range(n) if number == 0 or rng.random() < 0.7] or [0]
        sites[f"s{number}"] = Dataset(schema, codes).select([f"v{v}" for v in has])
    return sites, schema


@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 10_000), least=st.integers(1, 2))
def test_every_move_is_the_twins(seed: int, least: int) -> None:
    rng = np.random.default_rng(seed)
    sites, schema = random_sites(rng, 4, 5, 60)
    dag = all_dags(4)[int(rng.integers(543))]
    dag = DAG(schema.names, dag.adjacency)
    found = begin_judged(start(sites, schema, dag, min_judges=least))
    moves, reached = naive.climb(sites, dag, least)
    assert [(m.kind, m.x, m.y, m.judges) for m in found.moves] == [
        (kind, dag.names[x], dag.names[y], heard) for kind, x, y, heard, _ in moves
    ]
    assert [m.nats for m in found.moves] == pytest.approx([m[-1] for m in moves], abs=1e-5)
    assert dag_to_cpdag(found.dag) == dag_to_cpdag(reached)


def random_numbers(rng: np.random.Generator) -> tuple[Sites, Schema]:
    """The same of three numbers and a category, each site with means of its own."""
    schema = Schema((*(Variable(f"v{i}") for i in range(3)), Variable("w", ("a", "b", "c"))))
    sites = {}
    for number in range(int(rng.integers(1, 5))):
        rows = int(rng.integers(40, 300))
        values = rng.normal(size=(rows, 4)) + rng.normal(scale=9, size=4)
        values[:, 3] = rng.integers(0, 3, rows)
        values[:, 1] += rng.choice([-0.5, 0.0, 0.5]) * values[:, 0] + (values[:, 3] == 1)
        values[:, 2] += rng.choice([0.0, 0.7]) * values[:, 1]
        has = [v for v in range(4) if number == 0 or rng.random() < 0.7] or [0]
        sites[f"s{number}"] = Dataset(schema, values).select([schema.names[v] for v in has])
    return sites, schema


def of_numbers(sites: Sites, schema: Schema, dag: DAG, min_judges: int = 1) -> JudgedClimb:
    """With all families that some site has."""
    columns = columns_of(sites, schema)
    scatters = {site: scatter_of_table(table) for site, table in sites.items()}
    every = {
        family
        for family in families_of(all_dags(dag.n))
        if any({family.node, *family.parents} <= own for own in columns.values())
    }
    known = ScattersOfSites(schema, columns, scatters).looking_at(every)
    return JudgedClimb(schema, columns, dag, min_judges, FREE, known)


@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 10_000), least=st.integers(1, 2))
def test_every_move_of_numbers_is_the_twins(seed: int, least: int) -> None:
    rng = np.random.default_rng(seed)
    sites, schema = random_numbers(rng)
    dag = DAG(schema.names, all_dags(4)[int(rng.integers(543))].adjacency)
    found = begin_judged(of_numbers(sites, schema, dag, least))
    moves, reached = naive.climb(sites, dag, least, naive.mixed_value, naive.free)
    assert [(m.kind, m.x, m.y, m.judges) for m in found.moves] == [
        (kind, dag.names[x], dag.names[y], heard) for kind, x, y, heard, _ in moves
    ]
    assert [m.nats for m in found.moves] == pytest.approx([m[-1] for m in moves], abs=1e-5)
    assert dag_to_cpdag(found.dag) == dag_to_cpdag(reached)


def test_a_family_without_a_score_is_in_no_move() -> None:
    """b is a copy of a at both sites, so neither is given the other: but c depends on it."""
    rng, sites = np.random.default_rng(7), {}
    for site, rows in (("large", 2_000), ("small", 100)):
        a = rng.normal(size=rows)
        whole = Dataset(Schema.gaussian("abc"), np.stack([a, 2 * a, a + rng.normal(size=rows)], 1))
        sites[site] = whole
    sites["large"] = sites["large"].select(["b", "c"])
    schema, copied = sites["small"].schema, DAG.from_edges("abc", ["ab"])
    found = begin_judged(of_numbers(sites, schema, copied))
    assert [(move.judges, move.nats < math.inf) for move in found.moves] == [
        (("large", "small"), True)
    ]
    assert {frozenset(edge) for edge in found.dag.edges} == {frozenset("ab"), frozenset("bc")}
    assert "a" not in [mechanism.variable for mechanism in judged_mechanisms(found)]
    from_empty = begin_judged(of_numbers(sites, schema, DAG.empty("abc")))
    assert from_empty.moves[0].judges == ("large", "small")
    assert frozenset("ab") not in {frozenset(edge) for edge in from_empty.dag.edges}


def chain(rows: int, rng: np.random.Generator) -> Dataset:
    """x -> m -> y, each a copy of the one before in nine of ten rows."""
    columns = [rng.integers(0, 2, rows)]
    for _ in range(2):
        copied = rng.random(rows) < 0.8
        columns.append(np.where(copied, columns[-1], rng.integers(0, 2, rows)))
    x, m, y = columns
    schema = Schema.categorical({"m": "01", "x": "01", "y": "01"})
    return Dataset(schema, np.stack([m, x, y], axis=1))


def test_a_large_site_without_the_mediator_gives_no_edge() -> None:
    """The gains over no parents, added up over whoever has a family, would trade m -> y for x -> y,
    which has 41 times the rows.

    The moves are judged by the small site alone, as only it has all three; the right structure
    stays, and the wrong one is left for it.
    """
    rng = np.random.default_rng(1)
    sites = {"large": chain(12_000, rng).select(["x", "y"]), "small": chain(300, rng)}
    schema = sites["small"].schema
    right = DAG.from_edges(("m", "x", "y"), [("x", "m"), ("m", "y")])
    wrong = DAG.from_edges(("m", "x", "y"), [("x", "m"), ("x", "y")])
    assert naive.summed_gains(sites, wrong) > naive.summed_gains(sites, right) + 300
    stayed = begin_judged(start(sites, schema, right))
    assert stayed.moves == ()
    assert stayed.dag == right
    mended = begin_judged(start(sites, schema, wrong))
    assert dag_to_cpdag(mended.dag) == dag_to_cpdag(right)
    assert {move.judges for move in mended.moves} == {("small",)}


def test_a_column_that_a_small_site_alone_has_is_no_cheap_parent() -> None:
    """Totals over whoever has a family would take any column of few rows for a parent."""
    rng = np.random.default_rng(6)
    whole = chain(12_000, rng)
    noise = Dataset(whole.schema, rng.integers(0, 2, (200, 3)))
    sites = {"large": whole.select(["x", "y"]), "small": noise}
    right = DAG.from_edges(("m", "x", "y"), [("x", "y")])
    wrong = DAG.from_edges(("m", "x", "y"), [("x", "y"), ("m", "y")])
    assert naive.summed_scores(sites, wrong) > naive.summed_scores(sites, right) + 1_000
    for dag in (right, wrong):
        found = begin_judged(start(sites, whole.schema, dag))
        assert dag_to_cpdag(found.dag) == dag_to_cpdag(right)


def test_where_all_is_judged_and_rows_are_many_the_truth_is_found() -> None:
    """From every structure; each triple is at a site, and one small site has all."""
    rng = np.random.default_rng(3)
    truth = DAG.from_edges(("a", "b", "c", "d"), ["ac", "bc", "cd"])
    schema = Schema.categorical(dict.fromkeys("abcd", "01"))

    def table(rows: int) -> Dataset:
        a, b = rng.integers(0, 2, (2, rows))
        c = (rng.random(rows) < 0.1 + 0.4 * a + 0.35 * b).astype(np.int64)
        d = np.where(rng.random(rows) < 0.8, c, 1 - c)
        return Dataset(schema, np.stack([a, b, c, d], axis=1))

    sites = {name: table(20_000).select([v for v in "abcd" if v != name]) for name in "abcd"}
    sites["whole"] = table(3_000)
    begun = start(sites, schema, DAG.empty("abcd"), prior=FREE)
    for dag in all_dags(4)[::50]:
        found = begin_judged(replace(begun, dag=DAG("abcd", dag.adjacency)))
        assert dag_to_cpdag(found.dag) == dag_to_cpdag(truth.reorder(found.dag.names))


def test_without_a_judge_nothing_moves() -> None:
    rng = np.random.default_rng(2)
    whole = chain(500, rng)
    sites = {"one": whole.select(["m", "x"]), "two": whole.select(["m", "y"])}
    dag = DAG.from_edges(("m", "x", "y"), [("x", "m"), ("y", "m")])
    begun = start(sites, whole.schema, dag)
    assert begin_judged(begun).moves == ()
    few = begin_judged(
        start({"one": whole}, whole.schema, DAG.empty(("m", "x", "y")), min_judges=2)
    )
    assert few.moves == ()


def test_what_is_asked_is_what_moves_compare_and_somebody_judges() -> None:
    rng = np.random.default_rng(4)
    whole = chain(500, rng)
    sites = {"one": whole.select(["m", "x"]), "two": whole.select(["m", "y"])}
    empty = DAG.empty(("m", "x", "y"))
    state = replace(start(sites, whole.schema, empty), known=CountsOfSites(whole.schema, 1.0, {}))
    pairs = ~np.eye(3, dtype=np.bool_)
    expected = {Family(v, ()) for v in range(3)}
    expected |= {Family(0, (1,)), Family(1, (0,)), Family(0, (2,)), Family(2, (0,))}
    assert wanted_moves(state, pairs) == expected
    assert wanted_moves(state, ~pairs) == set()
    assert wanted_moves(replace(state, stuck=True), ~pairs) == expected
    known = known_of(sites, whole.schema, expected)
    moved = go_on(state, known)
    assert {(m.x, m.y) for m in moved.moves} == {("m", "x"), ("m", "y")}
    assert not moved.stuck
    again = go_on(moved, known)
    assert again.stuck
    assert not again.done
    assert go_on(again, known).done


def test_knowledge_is_kept() -> None:
    rng = np.random.default_rng(5)
    sites = {"one": chain(2_000, rng)}
    empty, schema = DAG.empty(("m", "x", "y")), sites["one"].schema
    known = Knowledge(forbidden=(("m", "x"), ("x", "m")))
    found = begin_judged(start(sites, schema, empty, knowledge=known))
    assert found.dag.n_edges == 2
    assert not known.breaches(found.dag)


def test_no_order_of_sites_matters() -> None:
    sites, schema = random_sites(np.random.default_rng(8), 4, 50, 300)
    dag = DAG.empty(schema.names)
    back = dict(reversed(list(sites.items())))
    first, second = (begin_judged(start(each, schema, dag)) for each in (sites, back))
    assert first.moves == second.moves
    assert first.dag == second.dag
