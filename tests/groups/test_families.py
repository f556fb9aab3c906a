"""What of a variable differs between groups, by counts."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.groups.families import FamilyDifference, family_differences
from fedbn.networks.family_counts import count_families, families_of
from tests import naive_groups as naive
from tests.strategies import dag_lists

BITS = dict.fromkeys("abc", "01")


def rows_of(tables: list[np.ndarray], dags: list[DAG]) -> tuple[FamilyDifference, ...]:
    schema = Schema.categorical(BITS)
    counts = [count_families(Dataset(schema, table), families_of(dags)) for table in tables]
    return family_differences(dags, counts, 1.0)


def copies(*columns: object) -> np.ndarray:
    return np.array(np.broadcast_arrays(*columns)).T.astype(np.int32)


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_scores_are_those_of_prediction_row_by_row(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = [rng.integers(0, 2, size=(int(rng.integers(1, 9)), 3)) for _ in "xy"]
    sets = [tuple(np.flatnonzero(rng.integers(0, 2, size=2))) for _ in "xy"]
    dags = [DAG.from_edges("abc", [("abc"[p], "c") for p in own]) for own in sets]
    row = next(r for r in rows_of(tables, dags) if r.variable == "c")

    def score(parents: tuple[int, ...], *parts: np.ndarray) -> float:
        both = np.vstack(parts)
        columns = [both[:, p].tolist() for p in (*parents, 2)]
        return naive.bdeu(columns, [2] * len(columns), 1.0)

    assert row.nothing == pytest.approx(max(score(own, *tables) for own in sets))
    assert row.parameters == pytest.approx(max(sum(score(o, t) for t in tables) for o in sets))
    apart = sum(score(own, table) for own, table in zip(sets, tables, strict=True))
    cost = (len(sets[1]) + 1) * log(3)
    if sets[0] == sets[1]:
        assert row.structure is None
    else:
        assert row.structure == pytest.approx(apart - cost)
    known = {"structure": row.structure, "parameters": row.parameters, "nothing": row.nothing}
    assert known[row.differs] == max(value for value in known.values() if value is not None)


def test_structure_parameters_and_nothing_are_told_apart() -> None:
    a = np.arange(200) % 2
    b, flip = (np.arange(200) // 2) % 2, np.arange(200) % 10 == 0
    one, other = copies(a, b, a ^ flip), copies(a, b, b ^ flip)
    first, second = DAG.from_edges("abc", ["ac"]), DAG.from_edges("abc", ["bc"])
    assert [r.differs for r in rows_of([one, other], [first, second])] == [
        "nothing",
        "nothing",
        "structure",
    ]
    turned = copies(a, b, 1 - (a ^ flip))
    (_, _, row) = rows_of([one, turned], [first, first])
    assert (row.differs, row.parents, row.other_parents) == ("parameters", "a", "a")
    assert {r.differs for r in rows_of([one, one], [first, first])} == {"nothing"}


def test_an_edge_that_is_only_turned_is_no_difference() -> None:
    a = np.arange(100) % 2
    table = copies(a, a ^ (np.arange(100) % 9 == 0), 0 * a)
    turned = [DAG.from_edges("abc", ["ab"]), DAG.from_edges("abc", ["ba"])]
    assert {r.differs for r in rows_of([table, table], turned)} == {"nothing"}


@given(dag_lists(max_dags=3), st.integers(0, 100))
def test_every_pair_of_groups_has_every_variable(dags: list[DAG], seed: int) -> None:
    names = dags[0].names
    schema = Schema.categorical(dict.fromkeys(names, "01"))
    ordered = [dag.reorder(schema.names) for dag in dags]
    table = np.random.default_rng(seed).integers(0, 2, size=(6, len(names)))
    counts = count_families(Dataset(schema, table), families_of(ordered))
    rows = family_differences(ordered, [counts] * len(dags), 1.0)
    assert len(rows) == len(names) * len(dags) * (len(dags) - 1) // 2
