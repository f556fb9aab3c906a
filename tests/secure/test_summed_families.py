"""Parameters of numbers from sums under masks: those of the open run, by sums that are as near to
the exact ones as is said."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.arrays import Floats, Ints
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.errors import DataError, MessageError
from fedbn.graphs.dag import DAG
from fedbn.networks.conditional_gaussian import Regressions
from fedbn.networks.family_counts import Family
from fedbn.networks.mixed_parameters import gaussian_parameters, mixed_parameters
from fedbn.networks.mixed_sums import MixedFamilies, mixed_sums
from fedbn.networks.moments import family_pairs, moments_of
from fedbn.networks.summed_regressions import own_weights, regressions_of_sums, squares_left
from fedbn.secure.blocks import Answering
from fedbn.secure.requests import (
    EquationRequest,
    LevelRequest,
    PlaceRequest,
    ResidualRequest,
)
from fedbn.secure.scatter_sums import LEVELS, LevelError, sum_levels
from fedbn.secure.summed_families import (
    Place,
    SummedFamilies,
    own_equations,
    own_place,
    own_residuals,
    request_of,
    sum_equations,
    sum_place,
    sum_residuals,
    wanted_families,
)
from tests import naive_summed_families as naive

SCHEMA = Schema(
    (
        Variable("a"),
        Variable("b", ("x", "y", "z")),
        Variable("c", ("k", "m")),
        Variable("d"),
        Variable("e"),
    )
)
DAG_OF_ALL = DAG.from_edges(SCHEMA.names, ["bc", "ba", "bd", "cd", "ad", "be", "ae", "de"])
WANTED = MixedFamilies(DAG_OF_ALL, SCHEMA)
AMONG = Answering.of(SCHEMA, 3)


def own_part(request: Any, table: Dataset, among: Answering) -> Ints:
    """What a site adds, that answers for the columns of its table."""
    schema = among.schema
    if isinstance(request, LevelRequest | PlaceRequest):
        numbers = table.schema.numbers
        return own_place(request, table.select(numbers) if numbers else None, among)
    if isinstance(request, EquationRequest):
        return own_equations(request, table, wanted_families(request, schema), among)
    return own_residuals(request, table, wanted_families(request.of, schema), among)


@dataclass
class Found:
    """What a server finds, one after the other: what it asked for, the sums, by number the squares
    that are left, and its equations and whether they are own."""

    asked: EquationRequest
    sums: SummedFamilies
    left: dict[int, Floats]
    equations: dict[int, tuple[Regressions, bool]]


def serve(
    found: Any, wanted: MixedFamilies, tables: Sequence[Dataset], ess: float = 1.0, lie: Any = None
) -> None:
    """Ask all sites; `lie` changes the sums of a request."""
    names, schema = wanted.schema.names, wanted.schema
    columns = [[schema.index(name) for name in each.names] for each in tables]
    among = Answering.of(schema, len(tables), columns)

    def search() -> Any:
        levels = yield from sum_levels(LevelRequest(), len(wanted.schema.numbers) + 1)
        place = yield from sum_place(levels, among)
        found.asked = request_of(wanted, place)
        found.sums = yield from sum_equations(found.asked, wanted, place.rows, among)
        numbers = found.sums.numbers
        weights = {v: own_weights(names[v], own) for v, own in numbers.items()}
        found.left = yield from sum_residuals(found.asked, numbers, weights, among.sites)
        found.equations = {
            v: regressions_of_sums(names[v], own, weights[v], found.left[v], ess)
            for v, own in numbers.items()
        }

    running = search()
    request = next(running)
    with suppress(StopIteration):
        while True:
            parts = [own_part(request, each, among) for each in tables]
            added = np.sum(parts, axis=0)
            request = running.send(added if lie is None else lie(request, added))


def served(wanted: MixedFamilies, tables: Sequence[Dataset], ess: float = 1.0) -> Found:
    """What a server finds; without equations where there is too little noise for these."""
    found = Found.__new__(Found)
    with suppress(DataError):
        serve(found, wanted, tables, ess)
    return found


def federation(
    seed: int,
    sites: int,
    powers: Sequence[int] = (0, 0, 0),
    far: float = 0.0,
    apart: float = 1.0,
    rows: int = 40,
    lacking: bool = False,
) -> list[Dataset]:
    """Tables with interactions; numbers in these units, so far from 0 and so far apart."""
    rng = np.random.default_rng(seed)
    tables = []
    for _ in range(sites):
        states = rng.permutation(3)[:2] if lacking else np.arange(3)
        b, c = rng.choice(states, rows), rng.integers(0, 2, rows)
        a = b + rng.normal(size=rows) + apart * rng.normal()
        d = (1 + b) * a - 2 * c + rng.normal(size=rows) + apart * rng.normal()
        e = a - d + b * d + (0.5 + b) * rng.normal(size=rows)
        numbers = [np.ldexp(far + x, p) for x, p in zip((a, d, e), powers, strict=True)]
        tables.append(Dataset(SCHEMA, np.column_stack([numbers[0], b, c, *numbers[1:]])))
    return tables


def require_equal(wanted: MixedFamilies, tables: Sequence[Dataset], ess: float = 1.0) -> int:
    """Tables, equations and decisions are those of the open run; how many are own."""
    sites = {str(k): mixed_sums(each, wanted) for k, each in enumerate(tables)}
    expected = mixed_parameters(wanted, sites, ess)
    found, schema = served(wanted, tables, ess), wanted.schema
    assert [schema.names[v] for v, (_, own) in found.equations.items() if own] == [
        name for name, _ in expected.shifts
    ]
    for v, (own, _) in found.equations.items():
        require_near(own, expected.network.regressions(v), v, wanted, tables)
    for v in wanted.categories:
        counts = sum(each.tables[v] for each in sites.values())
        assert np.array_equal(found.sums.tables[v], counts)
    return len(expected.shifts)


def require_near(
    ours: Regressions, theirs: Regressions, v: int, wanted: MixedFamilies, tables: Any
) -> None:
    """To a millionth of what an equation leaves, in units of the parents' standard deviations."""
    pooled = np.concatenate([each.table for each in tables])
    parents, sd = wanted.number_family(v).numbers, theirs.standard_deviations
    np.testing.assert_allclose(ours.standard_deviations, sd, rtol=1e-6)
    slopes = (ours.coefficients - theirs.coefficients) * pooled[:, parents].std(axis=0)
    assert (np.abs(slopes) <= 1e-6 * sd[:, None]).all()
    middle = pooled[:, parents].mean(axis=0)
    at = [each.intercepts + each.coefficients @ middle for each in (ours, theirs)]
    assert (np.abs(at[0] - at[1]) <= 1e-6 * sd).all()


POWERS = st.lists(st.integers(-20, 20), min_size=3, max_size=3)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), POWERS, st.sampled_from([0.0, 1e3, 1e6]))
@settings(max_examples=25, deadline=None)
def test_sums_of_families_are_as_near_to_the_exact_ones_as_is_said(
    seed: int, sites: int, powers: list[int], far: float
) -> None:
    tables = federation(seed, sites, powers, far, rows=12, lacking=seed % 2 == 0)
    for v, own in served(WANTED, tables).sums.numbers.items():
        family = WANTED.number_family(v)
        rows = [naive.rows_of(t, family, own.centres.tolist()) for t in tables]
        q, k = len(own.rows), len(own.off) - 1
        off = [Fraction(float(each)) for each in own.off]
        for c in range(q):
            assert own.rows[c] == naive.total(rows, c, 0, 0)
            for i in range(k + 1):
                for j in range(i, k + 1):
                    exact = naive.total(rows, c, i, j)
                    assert abs(Fraction(float(own.total[c, i, j])) - exact) <= off[i] * off[j]
        flat = [*((c, i) for c in range(q) for i in range(k)), (-1, k)]
        for m, one in enumerate(flat):
            for n, other in enumerate(flat[m:], start=m):
                exact = naive.between(rows, one, other)
                wrong = abs(Fraction(float(own.between[m, n])) - exact)
                assert wrong <= off[one[1]] * off[other[1]]


@given(st.integers(0, 2**32 - 1), st.integers(2, 4))
@settings(max_examples=25, deadline=None)
def test_what_own_equations_leave_is_what_exact_least_squares_leaves(seed: int, sites: int) -> None:
    """Whole numbers, few and often alike, and configurations that few sites have."""
    rng = np.random.default_rng(seed)
    schema = Schema((Variable("a"), Variable("b", ("x", "y", "z")), Variable("c")))
    wanted = MixedFamilies(DAG.from_edges("abc", ["ac", "bc"]), schema)
    tables = []
    for _ in range(sites):
        rows = int(rng.integers(3, 9))
        b = rng.choice(rng.permutation(3)[: rng.integers(1, 4)], rows)
        tables.append(
            Dataset(
                schema, np.column_stack([rng.integers(0, 4, rows), b, rng.integers(0, 9, rows)])
            )
        )
    found, family = served(wanted, tables), wanted.number_family(2)
    own = found.sums.numbers[2]
    rows = [naive.rows_of(each, family, own.centres.tolist()) for each in tables]
    expected = [float(each) for each in naive.residual_squares(rows, len(own.rows))]
    whole = own.total[:, -1, -1].sum()
    np.testing.assert_allclose(found.left[2], expected, rtol=1e-9, atol=1e-12 * whole)
    left, off = squares_left(own, own_weights("c", own))
    assert abs(left - sum(expected)) <= off + 1e-12 * whole


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 20),
    POWERS,
    st.sampled_from([0.0, 30.0, 1e4]),
    st.sampled_from([0.0, 0.1, 1.0, 30.0]),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_parameters_are_those_of_the_open_run(
    seed: int, sites: int, powers: list[int], far: float, apart: float, lacking: bool
) -> None:
    """In units from 1e-6 to 1e6, far from 0 and from each other, where sites lack a state."""
    require_equal(WANTED, federation(seed, sites, powers, far, apart, lacking=lacking))


def require_those_of_the_rows_with_its_columns(
    v: int, tables: Sequence[Dataset], found: Found
) -> None:
    """What is known of a variable is what the open run finds of the sites that have its family."""
    columns = sorted((v, *DAG_OF_ALL.parents(v)))
    names = [SCHEMA.names[column] for column in columns]
    here = [each.select(names) for each in tables if set(names) <= set(each.names)]
    name, schema = SCHEMA.names[v], SCHEMA.restrict(names)
    assert ((v in found.equations) or (v in found.sums.tables)) == bool(here)
    if not here:
        return
    arcs = [(parent, name) for parent in names if parent != name]
    family = MixedFamilies(DAG.from_edges(names, arcs), schema)
    sites = {str(k): mixed_sums(each, family) for k, each in enumerate(here)}
    place = names.index(name)
    if v in found.sums.tables:
        assert np.array_equal(
            found.sums.tables[v], sum(each.tables[place] for each in sites.values())
        )
        return
    ours, own = found.equations[v]
    expected = mixed_parameters(family, sites)
    assert own == (name in dict(expected.shifts))
    require_near(ours, expected.network.regressions(place), place, family, here)


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.sets(st.integers(0, 4), min_size=2), min_size=1, max_size=3),
    st.integers(1, 4),
    POWERS,
    st.sampled_from([0.0, 30.0, 1e4]),
    st.sampled_from([0.0, 0.1, 1.0, 30.0]),
)
@settings(max_examples=40, deadline=None)
def test_where_columns_differ_each_family_is_of_the_sites_that_have_it(
    seed: int, blocks: list[set[int]], sites: int, powers: list[int], far: float, apart: float
) -> None:
    """In blocks of so many sites, some of which may have no number, or no family."""
    whole = federation(seed, sites * len(blocks), powers, far, apart)
    tables = [
        each.select([SCHEMA.names[v] for v in sorted(blocks[k % len(blocks)])])
        for k, each in enumerate(whole)
    ]
    found = served(WANTED, tables)
    for v in range(SCHEMA.n):
        require_those_of_the_rows_with_its_columns(v, tables, found)


def test_shared_and_own_equations_are_both_found() -> None:
    assert require_equal(WANTED, federation(1, 5, apart=0.0, rows=200)) == 0
    assert require_equal(WANTED, federation(1, 5, apart=3.0, rows=200)) == 2


def test_a_configuration_that_no_site_has_is_smoothed_as_in_the_open() -> None:
    tables = [each.take(np.flatnonzero(each.column(1) != 2)) for each in federation(2, 4)]
    require_equal(WANTED, tables, ess=2.0)
    assert (served(WANTED, tables).sums.numbers[4].rows == 0).any()


def test_constants_that_configurations_alone_tell_are_as_small_as_in_the_open() -> None:
    """Every site has one state of b, so its constant cannot be told from that of b."""
    tables = []
    for k, each in enumerate(federation(3, 6, rows=100)):
        rows = np.array(each.table)
        rows[:, 1] = k % 3
        tables.append(Dataset(SCHEMA, rows))
    assert require_equal(WANTED, tables) > 0
    only = [Dataset(SCHEMA, each.table) for each in tables[:3]]
    assert require_equal(WANTED, only) == 0


@pytest.mark.parametrize("apart", [0.0, 2.0])
def test_numbers_alone_have_the_equations_of_the_open_run(apart: float) -> None:
    names = ("a", "d", "e")
    dag = DAG.from_edges(names, ["ad", "de", "ae"])
    tables = [each.select(names) for each in federation(4, 7, (3, -9, 0), 500.0, apart)]
    wanted = MixedFamilies(dag, tables[0].schema)
    moments = {str(k): moments_of(each, family_pairs(dag)) for k, each in enumerate(tables)}
    expected, shifts = gaussian_parameters(dag, moments)
    found = served(wanted, tables, ess=0.0)
    assert [names[v] for v, (_, own) in found.equations.items() if own] == [s for s, _ in shifts]
    assert bool(shifts) == bool(apart)
    for v, (own, _) in found.equations.items():
        parents = list(dag.parents(v))
        theirs = Regressions(
            expected.coefficients[parents, v][None],
            expected.intercepts[[v]],
            expected.standard_deviations[[v]],
        )
        require_near(own, theirs, v, wanted, tables)


def test_the_order_of_the_sites_changes_no_bit() -> None:
    tables = federation(5, 5)
    for one, other in zip(
        served(WANTED, tables).equations.values(),
        served(WANTED, tables[::-1]).equations.values(),
        strict=True,
    ):
        assert one == other


def test_a_column_that_is_constant_everywhere_has_no_noise() -> None:
    tables = []
    for each in federation(6, 4):
        rows = np.array(each.table)
        rows[:, 4] = 1e9 / 3
        tables.append(Dataset(SCHEMA, rows))
    with pytest.raises(DataError, match="column 'e' has no noise"):
        serve(Found.__new__(Found), WANTED, tables)
    above = MixedFamilies(DAG.from_edges(SCHEMA.names, ["ea", "ba"]), SCHEMA)
    assert served(above, tables).sums.numbers[0].total.shape == (3, 3, 3)


@pytest.mark.parametrize(
    ("noise", "apart", "exact"),
    [(1e-4, 1.0, True), (2e-6, 1.0, False), (1.0, 3e3, True), (1.0, 1e5, False)],
)
def test_what_is_not_exact_enough_is_refused(noise: float, apart: float, exact: bool) -> None:
    """Parents that nearly determine a number, and sites that lie far apart."""
    schema = Schema((Variable("a"), Variable("b", ("x", "y")), Variable("c")))
    wanted = MixedFamilies(DAG.from_edges("abc", ["ac", "ba"]), schema)
    rng, tables = np.random.default_rng(7), []
    for site in range(3):
        b = rng.integers(0, 2, 200)
        a = rng.normal(size=200) + b + apart * site
        c = a + noise * rng.normal(size=200)
        tables.append(Dataset(schema, np.column_stack([a, b, c])))
    if exact:
        require_equal(wanted, tables)
        return
    with pytest.raises(DataError, match="the equation of 'c' is not exact enough under masks"):
        serve(Found.__new__(Found), wanted, tables)


def test_a_wrong_level_a_wrong_dag_or_a_wrong_number_of_them_is_refused() -> None:
    tables = federation(8, 3)
    good = served(WANTED, tables).asked
    with pytest.raises(LevelError) as above:
        own_part(replace(good, levels=(1, *good.levels[1:])), tables[0], AMONG)
    assert above.value.length == own_part(good, tables[0], AMONG).size
    residuals = ResidualRequest(good, _weights(1e300), (1, 1, 1))
    with pytest.raises(LevelError) as above:
        own_part(residuals, tables[0], AMONG)
    assert above.value.length == 3 + 6 + 3
    with pytest.raises(LevelError):
        own_place(PlaceRequest((1, 200, 200, 200)), tables[0].select("ade"), AMONG)
    turned = [*good.families[:1], Family(1, (0,)), *good.families[2:]]
    for wrong, words in (
        (replace(good, families=good.families[1:]), "one family of every column"),
        (replace(good, families=tuple(turned)), "from a number to a category|cycle"),
        (replace(good, families=good.families[::-1]), "sorted"),
        (replace(good, centres=good.centres[1:]), "centres of 3 numbers"),
        (replace(good, centres=(1e91, 0.0, 0.0)), "a centre must be at most"),
        (replace(good, levels=(257, 1, 1, 1)), "a level of at most"),
        (ResidualRequest(good, _weights(0.0)[1:], (1, 1)), "equations of 3 numbers"),
        (ResidualRequest(good, ((0.0,), *_weights(0.0)[1:]), (1, 1, 1)), "has 1 weights, not 3"),
        (PlaceRequest((1, 1)), "levels of 3 numbers"),
    ):
        with pytest.raises(MessageError, match=f"server: .*({words})"):
            own_part(wrong, tables[0], AMONG)


def _weights(value: float) -> tuple[tuple[float, ...], ...]:
    return ((value,) * 3, (value,) * 12, (value,) * 9)


def test_families_of_too_many_configurations_are_refused() -> None:
    states = tuple(map(str, range(60)))
    schema = Schema((Variable("a", states), Variable("b", states), Variable("c"), Variable("d")))
    wanted = MixedFamilies(DAG.from_edges("abcd", ["ad", "bd", "cd"]), schema)
    with pytest.raises(DataError, match="may not have so many configurations"):
        request_of(wanted, Place({(): 100}, np.zeros(2), np.ones(2)))


@pytest.mark.parametrize(
    ("kind", "place", "more", "words"),
    [
        (PlaceRequest, 0, 5, "the rows are 125 and 120"),
        (PlaceRequest, 3, 2**50, "the rows are 120 and"),
        (PlaceRequest, 2, 2**57, "are those of no table"),
        (EquationRequest, 0, -1, "the rows are 120 and 119"),
        (EquationRequest, 1, 1, "must count the same rows"),
        (EquationRequest, 40, 2**57, "those of no table|differ between families"),
        (EquationRequest, 42, 2**56, "differ between families|those of no table"),
        (ResidualRequest, 0, 2**58, "squares of residuals sum to"),
        (ResidualRequest, 4, -(2**59), "squares of residuals sum to"),
    ],
)
def test_sums_that_no_sites_have_are_refused(kind: type, place: int, more: int, words: str) -> None:
    def lie(request: Any, added: Ints) -> Ints:
        if isinstance(request, kind):
            added[place] += more
        return added

    with pytest.raises((MessageError, DataError), match=words):
        serve(Found.__new__(Found), WANTED, federation(9, 3), lie=lie)


def test_a_site_takes_its_columns_once_for_all_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not for each of them, which cost the cube of their number."""
    found, rng = Found.__new__(Found), np.random.default_rng(3)
    tables = [Dataset(SCHEMA.restrict("ade"), rng.normal(size=(40, 3))) for _ in range(3)]
    serve(found, MixedFamilies(DAG_OF_ALL.restrict("ade"), SCHEMA.restrict("ade")), tables)
    taken: list[Any] = []
    restrict = DAG.restrict
    monkeypatch.setattr(DAG, "restrict", lambda dag, own: taken.append(own) or restrict(dag, own))
    among = Answering.of(tables[0].schema, 3)
    weights = tuple((0.0,) * len(own.centres) for own in found.sums.numbers.values())
    wanted = wanted_families(found.asked, among.schema)
    own_residuals(ResidualRequest(found.asked, weights, (LEVELS,) * 3), tables[0], wanted, among)
    assert len(taken) == 1
