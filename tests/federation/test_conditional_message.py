"""Sums of families of both kinds on the wire, from sites that are not trusted."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.errors import MessageError, NetworkError
from fedbn.federation.sums_message import sums_from_arrays, sums_to_arrays
from fedbn.fusion.numbers_last import with_numbers_last
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.graphs.separation import d_separated
from fedbn.networks.conditional_gaussian import Regressions
from fedbn.networks.fitting import fit_parameters
from fedbn.networks.mixed_parameters import (
    families_held_back,
    gaussian_parameters,
    mixed_parameters,
    spreads_of_sums,
)
from fedbn.networks.mixed_sums import MixedFamilies, MixedSums, category_tables, mixed_sums
from fedbn.networks.moments import family_pairs, linear_gaussian_of, moments_of, pooled_moments
from fedbn.networks.parameter_sources import ParameterSources
from fedbn.privacy.counts_in_sums import tells_few

SCHEMA = Schema((Variable("a", ("0", "1")), Variable("b", ("0", "1", "2")), Variable("x"),
                 Variable("y")))  # fmt: skip
GRAPH = DAG.from_edges("abxy", [("a", "b"), ("a", "y"), ("b", "y"), ("x", "y")])
WANTED = MixedFamilies(GRAPH, SCHEMA)


def table(seed: int = 0, rows: int = 60) -> Dataset:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2, rows), rng.integers(0, 3, rows)
    x = rng.normal(size=rows)
    return Dataset(SCHEMA, np.column_stack([a, b, x, a + b * x + rng.normal(size=rows)]))


def equal(one: MixedSums, other: MixedSums) -> bool:
    return (
        one.rows == other.rows
        and one.told == other.told
        and all(np.array_equal(own, other.tables[v]) for v, own in one.tables.items())
        and all(
            np.array_equal(getattr(own, field), getattr(other.numbers[v], field))
            for v, own in one.numbers.items()
            for field in ("rows", "means", "products")
        )
    )


@given(st.integers(0, 10**6), st.frozensets(st.integers(0, 3)))
def test_what_is_sent_arrives(seed: int, told: frozenset[int]) -> None:
    sums = mixed_sums(table(seed), WANTED).only(told)
    found = sums_from_arrays(sums_to_arrays(sums, WANTED), WANTED)
    assert equal(found, sums)
    assert found.told == told


def changed(name: str, place: int, value: float) -> dict[str, Any]:
    array = sums_to_arrays(mixed_sums(table(), WANTED), WANTED)[name].copy()
    array[place] = value
    return {name: array}


BAD = {
    "a negative count": (changed("counts", 0, -1), "counts must be at least 0"),
    "other rows": (changed("counts", 0, 1000), "the family of 'a' must count 60 rows"),
    "held back and told": (changed("told", 3, 0), "the family of 'y' is held back, but has sums"),
    "no such mark": (changed("told", 3, 2), "told must be at most 1"),
    "no variance": (changed("products", 0, -1.0), "of 'x' must not be below 0"),
    "no table": (changed("products", 2, 1e9), "of the family of 'y' are those of no table"),
    "no number": (changed("means", 0, np.nan), "finite, not nan"),
    "another length": ({"means": np.zeros(3)}, r"means must be \[M\] with M = 13"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_lie_is_seen(name: str) -> None:
    changes, words = BAD[name]
    arrays = sums_to_arrays(mixed_sums(table(), WANTED), WANTED) | changes
    with pytest.raises(MessageError, match=words):
        sums_from_arrays(arrays, WANTED)


def test_an_answer_to_another_question_is_refused() -> None:
    other = MixedFamilies(DAG.from_edges("abxy", [("a", "b")]), SCHEMA)
    arrays = sums_to_arrays(mixed_sums(table(), WANTED), WANTED)
    with pytest.raises(MessageError, match="hash of the schema and the DAG"):
        sums_from_arrays(arrays, other)
    with pytest.raises(NetworkError, match="the arc 'x' → 'a'"):
        MixedFamilies(DAG.from_edges("abxy", [("x", "a")]), SCHEMA)


def test_every_table_is_that_of_the_pooled_rows() -> None:
    parts = {str(i): table(i) for i in range(3)}
    sums = {site: mixed_sums(part, WANTED) for site, part in parts.items()}
    found = mixed_parameters(WANTED, sums, ess=2.0)
    codes = np.concatenate([part.table[:, :2] for part in parts.values()]).astype(np.int32)
    whole = Dataset(WANTED.category_schema, codes)
    expected = fit_parameters(DAG.from_edges("ab", [("a", "b")]), whole, 2.0)
    for v in range(2):
        assert np.array_equal(found.network.table(v), expected.cpts[v])
    assert isinstance(found.network.parameters[3], Regressions)


def test_a_family_that_a_site_holds_back_is_that_of_the_others() -> None:
    sums = {"east": mixed_sums(table(1), WANTED).only(frozenset({0, 1, 2})),
            "west": mixed_sums(table(2), WANTED)}  # fmt: skip
    assert families_held_back(WANTED, sums) == (("y", ("east",)),)
    found = mixed_parameters(WANTED, sums).network
    alone = mixed_parameters(WANTED, {"west": sums["west"]}).network
    assert found.regressions(3) == alone.regressions(3)
    assert found.regressions(2) != alone.regressions(2)
    nobody = {"east": sums["east"]}
    with pytest.raises(NetworkError, match="nobody counted the family of 'y'"):
        mixed_parameters(WANTED, nobody)


def test_means_and_spreads_are_those_of_the_tables() -> None:
    parts = {str(i): table(i) for i in range(2)}
    sums = {site: mixed_sums(part, WANTED) for site, part in parts.items()}
    for name, sites in spreads_of_sums(WANTED, sums):
        place = SCHEMA.names.index(name)
        for site, mean, deviation in sites:
            column = parts[site].column(place)
            assert (mean, deviation) == pytest.approx((column.mean(), column.std()))


@given(st.integers(0, 2**32 - 1))
def test_numbers_come_last_and_no_independence_is_made(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(list("abxy")).tolist()
    edges = [(p, c) for i, p in enumerate(order) for c in order[i + 1 :] if rng.random() < 0.5]
    dag = DAG.from_edges("abxy", edges)
    fitted = with_numbers_last(dag, SCHEMA)
    assert not [edge for edge in fitted.edges if edge[0] in "xy" and edge[1] in "ab"]
    same_class = dag_to_cpdag(fitted) == dag_to_cpdag(dag)
    sources = ParameterSources().of_dag(fitted, dag, None)
    assert same_class == (sources.added == ())
    assert {*sources.turned, *sources.added} == set(fitted.edges) - set(dag.edges)
    for i, j in itertools.combinations(range(4), 2):
        rest = [k for k in range(4) if k not in (i, j)]
        for size in range(3):
            for given_ones in itertools.combinations(rest, size):
                if d_separated(fitted, [i], [j], list(given_ones)):
                    assert d_separated(dag, [i], [j], list(given_ones))


def numbers(seed: int, above: float) -> Dataset:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=80)
    return Dataset(Schema.gaussian("xy"), np.column_stack([x, above + 2 * x + rng.normal(size=80)]))


def test_equations_of_numbers_are_within_sites_where_these_are_shifted() -> None:
    dag = DAG.from_edges("xy", [("x", "y")])
    pairs = family_pairs(dag)
    alike = {str(i): moments_of(numbers(i, 0.0), pairs) for i in range(3)}
    found, shifts = gaussian_parameters(dag, alike)
    assert shifts == ()
    assert found == linear_gaussian_of(dag, pooled_moments(alike, pairs))
    parts = {str(i): numbers(i, 20.0 * i) for i in range(3)}
    moments = {site: moments_of(part, pairs) for site, part in parts.items()}
    found, shifts = gaussian_parameters(dag, moments)
    ((name, told),) = shifts
    rows = np.concatenate([part.values for part in parts.values()])
    design = np.column_stack([np.repeat(np.eye(3), 80, axis=0), rows[:, 0]])
    solution, left, *_ = np.linalg.lstsq(design, rows[:, 1], rcond=None)
    assert name == "y"
    expected = solution[:3] - solution[:3].mean()
    assert [shift for _, shift in told] == pytest.approx(expected.tolist())
    assert found.coefficients[0, 1] == pytest.approx(solution[3])
    assert found.standard_deviations[1] == pytest.approx(np.sqrt(left[0] / 240))
    moved = found.with_shifts({"y": dict(told)["2"]})
    assert moved.intercepts[1] == pytest.approx(solution[2])


def test_sums_that_tell_of_few_rows() -> None:
    family = WANTED.number_family(3)
    data = table()
    least = int(np.bincount(family.configuration(data)).min())
    assert not tells_few(data, family, least)
    assert tells_few(data, family, least + 1)
    columns = data.table.copy()
    columns[:, 2] = np.arange(60) % 10  # ten values: counts may be read off their sums
    assert tells_few(Dataset(SCHEMA, columns), family, 2)
    columns[:, 2] = np.arange(60)
    assert not tells_few(Dataset(SCHEMA, columns), family, 2)
    inside = np.flatnonzero(family.configuration(data) == 4)
    columns[inside[: len(inside) // 2 + 1], 2] = 7.0  # most rows of a configuration share a value
    assert tells_few(Dataset(SCHEMA, columns), family, 2)


def test_all_counts_are_told_beforehand() -> None:
    counts = category_tables(table(), WANTED)
    assert {WANTED.table_family(v) for v in range(4)} - {None} == set(counts.tables.families)
    assert WANTED.table_family(2) is None
