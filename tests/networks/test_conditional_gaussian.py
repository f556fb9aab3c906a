"""Conditional-Gaussian networks: from sums over sites, to files and back, and what they refuse."""

from __future__ import annotations

import json
import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.errors import DataError, NetworkError, ResultsError
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.networks.conditional_gaussian import (
    ConditionalGaussianNetwork,
    NumberFamily,
    Regressions,
    member_with_numbers_last,
)
from fedbn.networks.conditional_sums import (
    ConditionalSums,
    conditional_sums,
    regressions_of_sites,
)
from fedbn.networks.formats import write_network_file
from fedbn.networks.json_file import network_from_json, network_to_json
from fedbn.networks.likelihood import log_likelihood
from fedbn.networks.mixed_parameters import gaussian_parameters
from fedbn.networks.moments import family_pairs, moments_of
from tests import naive
from tests.naive_conditional import (
    equations_in,
    least_squares,
    mixture_given,
    random_conditional,
)
from tests.naive_knowledge import keeps
from tests.naive_regression import fit_linear_gaussian

ABCD = Schema((Variable("a", ("0", "1", "2")), Variable("b", ("0", "1")), Variable("x"),
               Variable("y")))  # fmt: skip
DAG_ABCD = DAG.from_edges("abxy", [("a", "y"), ("b", "y"), ("x", "y")])
FAMILY = NumberFamily.of(DAG_ABCD, ABCD, 3)


def table(seed: int, rows: int, above: float = 0.0) -> Dataset:
    """y depends on a, b and x; the site's y lies above by a constant."""
    rng = np.random.default_rng(seed)
    a, b, x = rng.integers(0, 3, rows), rng.integers(0, 2, rows), rng.normal(3, 2, rows)
    y = above + a + 2 * b + (0.5 + b) * x + rng.normal(size=rows)
    return Dataset(ABCD, np.column_stack([a, b, x, y]))


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from([0.0, 1.0, 3.5]))
def test_sums_of_sites_give_the_weighted_regressions_of_all_rows(
    seed: int, sites: int, ess: float
) -> None:
    parts = {f"s{i}": table(seed + i, 4 + 7 * i) for i in range(sites)}
    whole = Dataset(ABCD, np.concatenate([part.table for part in parts.values()]))
    found = regressions_of_sites(
        "y", {site: conditional_sums(part, FAMILY) for site, part in parts.items()}, ess
    )
    if found.shifts:
        return  # own equations have a test of their own
    for row, (weights, intercept, left) in enumerate(
        least_squares(whole, 3, (0, 1, 2), ess).values()
    ):
        np.testing.assert_allclose(found.equations.coefficients[row], weights, rtol=1e-7, atol=1e-9)
        assert found.equations.intercepts[row] == pytest.approx(intercept, rel=1e-7, abs=1e-7)
        assert found.equations.standard_deviations[row] ** 2 == pytest.approx(left, rel=1e-7)


def test_without_categories_it_is_the_pooled_regression() -> None:
    data = table(0, 60).select(["x", "y"])
    dag = DAG.from_edges("xy", [("x", "y")])
    family = NumberFamily.of(dag, data.schema, 1)
    sums = {str(i): conditional_sums(data.take(range(i, 60, 3)), family) for i in range(3)}
    found = regressions_of_sites("y", sums, ess=1.0)
    expected = fit_linear_gaussian(dag, data)
    assert found.shifts == {}
    assert found.equations.coefficients[0, 0] == pytest.approx(expected.coefficients[0, 1])
    assert found.equations.intercepts[0] == pytest.approx(expected.intercepts[1])
    assert found.equations.standard_deviations[0] == pytest.approx(expected.standard_deviations[1])


def test_shifted_sites_have_constants_of_their_own() -> None:
    """The shifts and slopes are those of least squares with a column of ones for each site."""
    above = {"east": 0.0, "north": 30.0, "south": -20.0}
    parts = {site: table(i, 90, shift) for i, (site, shift) in enumerate(above.items())}
    sums = {site: conditional_sums(part, FAMILY) for site, part in parts.items()}
    found = regressions_of_sites("y", sums)
    rows = np.concatenate([part.table for part in parts.values()])
    configuration = (2 * rows[:, 0] + rows[:, 1]).astype(int)
    columns = [np.repeat(np.eye(3), 90, axis=0)]
    for c in range(6):
        inside = (configuration == c).astype(float)
        columns.append(np.column_stack([inside, inside * rows[:, 2]]))
    solution = np.linalg.lstsq(np.hstack(columns), rows[:, 3], rcond=None)[0]
    expected = solution[:3] - solution[:3].mean()
    assert list(found.shifts) == sorted(above)
    assert list(found.shifts.values()) == pytest.approx(expected.tolist(), abs=1e-8)
    lowered = {
        site: Dataset(ABCD, part.table - np.array([0, 0, 0, found.shifts[site]]))
        for site, part in parts.items()
    }
    again = regressions_of_sites(
        "y", {site: conditional_sums(part, FAMILY) for site, part in lowered.items()}
    )
    assert again.shifts == {}
    np.testing.assert_allclose(
        again.equations.coefficients, found.equations.coefficients, rtol=1e-9
    )
    assert found.equations.standard_deviations.max() < 1.5


def test_sites_that_are_alike_share_their_equations() -> None:
    shared = 0
    for seed in range(0, 60, 3):
        parts = {str(i): conditional_sums(table(seed + i, 80), FAMILY) for i in range(3)}
        shared += not regressions_of_sites("y", parts).shifts
    assert shared >= 18


@pytest.mark.parametrize("seed", range(5))
def test_the_names_of_sites_change_nothing(seed: int) -> None:
    """Bit for bit: on Flower a site's name may depend on the order in which nodes connect."""
    parts = [conditional_sums(table(seed + i, 50, above=4.0 * i), FAMILY) for i in range(3)]
    found = []
    for order in permutations(range(3)):
        named = {f"client {k}": parts[i] for k, i in enumerate(order)}
        own = regressions_of_sites("y", named)
        assert own.shifts
        found.append((own.equations, {i: own.shifts[f"client {k}"] for k, i in enumerate(order)}))
    assert all(each == found[0] for each in found)


def test_what_has_no_noise_is_refused() -> None:
    data = table(0, 30)
    flat = Dataset(ABCD, np.column_stack([data.table[:, :3], np.ones(30)]))
    with pytest.raises(DataError, match="'y' has no noise"):
        regressions_of_sites("y", {"north": conditional_sums(flat, FAMILY)})
    few = table(0, 2)
    with pytest.raises(DataError, match="no noise.*in 2 rows"):
        regressions_of_sites("y", {"north": conditional_sums(few, FAMILY)})
    with pytest.raises(DataError, match="sums of no rows must be 0"):
        ConditionalSums(np.array([0, 3]), np.ones((2, 1)), np.zeros((2, 1, 1)))


@given(st.integers(0, 2**32 - 1), st.text("cn", min_size=1, max_size=6))
def test_a_file_holds_every_bit(seed: int, kinds: str) -> None:
    network = random_conditional(np.random.default_rng(seed), kinds)
    assert network_from_json(network_to_json(network), "it") == network
    content = json.loads(network_to_json(network))
    assert content["kind"] == "mixed"


BAD = {
    "unsorted parents": ({"numbers": ["x", "w"]}, "'numbers' of a mixed network must be sorted"),
    "a category as a number": ({"numbers": ["a"]}, "'a' is none of the numbers"),
    "unknown parents": ({"numbers": ["z"]}, "'z'"),
    "text": ({"intercepts": ["low"]}, "must be .* numbers"),
    "too few": ({"intercepts": [1.0]}, "must have shape"),
    "negative": ({"standard_deviations": [1.0] * 5 + [-1.0]}, "must be above 0, not -1"),
    "one key": ({"slope": 1}, "must have exactly the keys"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused(name: str) -> None:
    changes, words = BAD[name]
    network = ConditionalGaussianNetwork(
        DAG_ABCD,
        ABCD,
        (
            np.full((1, 3), 1 / 3),
            np.full((1, 2), 0.5),
            Regressions(np.zeros((1, 0)), np.zeros(1), np.ones(1)),
            Regressions(np.ones((6, 1)), np.zeros(6), np.ones(6)),
        ),
    )
    content = json.loads(network_to_json(network))
    content["variables"]["y"] |= changes
    with pytest.raises(NetworkError, match=words):
        network_from_json(json.dumps(content), "it")


def test_a_number_above_a_category_is_named() -> None:
    dag = DAG.from_edges("abxy", [("x", "a")])
    parameters = (np.ones((1, 3)) / 3,) * 4
    with pytest.raises(NetworkError, match="the arc 'x' → 'a' leads from a number to a category"):
        ConditionalGaussianNetwork(dag, ABCD, parameters)


@given(st.integers(0, 2**32 - 1))
def test_the_member_with_numbers_last_is_one_of_the_class(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(list("abxy")).tolist()
    edges = [(p, c) for i, p in enumerate(order) for c in order[i + 1 :] if rng.random() < 0.5]
    dag = DAG.from_edges("abxy", edges)
    pattern = dag_to_cpdag(dag)
    compelled = [edge for edge in pattern.directed_edges if edge[0] in "xy" and edge[1] in "ab"]
    try:
        member = member_with_numbers_last(dag, ABCD)
    except NetworkError as error:
        told = str(error)
        assert "leads from a number to a category" in told
        assert any(f"{a!r} → {b!r}" in told for a, b in compelled or dag.edges)
        return
    assert not compelled
    assert dag_to_cpdag(member) == pattern
    assert not [edge for edge in member.edges if edge[0] in "xy" and edge[1] in "ab"]


@given(st.integers(0, 2**32 - 1))
def test_a_member_that_keeps_what_is_known_goes_before_others(seed: int) -> None:
    """By looking at all members of the class."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(list("abxy")).tolist()
    pairs = [(p, c) for i, p in enumerate(order) for c in order[i + 1 :]]
    dag = DAG.from_edges("abxy", [pair for pair in pairs if rng.random() < 0.5])
    back = [(c, p) for p, c in pairs if rng.random() < 0.3]
    known = Knowledge(required=dag.edges[: int(rng.integers(0, 2))], forbidden=tuple(back))
    usable = [
        each
        for each in naive.members(dag)
        if not [edge for edge in each.edges if edge[0] in "xy" and edge[1] in "ab"]
    ]
    if usable:
        member = member_with_numbers_last(dag, ABCD, known)
        assert member in usable
        assert (not known.breaches(member)) == any(keeps(each, known) for each in usable)


def test_the_likelihood_of_rows_is_that_of_all_variables() -> None:
    rng = np.random.default_rng(2)
    network = random_conditional(rng, "ccnn")
    rows = network.sample(5, rng)
    total = 0.0
    for row in range(5):
        observed: dict[str, str | float] = {}
        for place, variable in enumerate(network.schema.variables):
            value = rows.column(place)[row]
            observed[variable.name] = (
                float(value) if variable.states is None else variable.states[int(value)]
            )
        (found,) = mixture_given(network, observed)
        total += math.log(found[1])
    assert log_likelihood(network, rows) == pytest.approx(total / 5)


def test_constants_of_a_site_move_a_number_alone() -> None:
    network = random_conditional(np.random.default_rng(4), "cnn")
    moved = network.with_shifts({network.names[1]: 2.0})
    case = {network.names[0]: "a"}
    before, after = equations_in(network, case), equations_in(moved, case)
    assert (after.intercepts - before.intercepts).tolist() == pytest.approx([2.0, 0.0])
    with pytest.raises(NetworkError, match="is a category"):
        network.with_shifts({network.names[0]: 1.0})


def test_equations_have_one_format(tmp_path: object) -> None:
    network = random_conditional(np.random.default_rng(4), "cn")
    with pytest.raises(ResultsError, match=r"written to \.json alone"):
        write_network_file(network, f"{tmp_path}/network.bif")


@pytest.mark.parametrize("child", [0.0, 1.0], ids=["one row", "constant within sites"])
def test_what_is_constant_within_sites_has_a_shared_equation(child: float) -> None:
    """Its rounding was taken for the noise of an own equation."""
    rng = np.random.default_rng(2)
    dag = DAG.from_edges(("a", "b"), [("a", "b")])
    sites = {}
    for site in range(6):
        rows = 1 + 9 * int(child)
        b = np.full(rows, rng.normal(7.1))
        table = Dataset(Schema.gaussian(("a", "b")), np.column_stack([rng.normal(size=rows), b]))
        sites[str(site)] = moments_of(table, family_pairs(dag))
    network, shifts = gaussian_parameters(dag, sites)
    assert "b" not in dict(shifts)
    assert network.standard_deviations[1] > 0.01


def constant_parents(unit: float) -> dict[str, ConditionalSums]:
    """Five sites where a parent is constant, 1 unit at three of them, which alone have x of b, and
    2 units at the others."""
    rng, sites = np.random.default_rng(3), {}
    schema = Schema((Variable("a"), Variable("b", ("x", "y")), Variable("c")))
    family = NumberFamily.of(DAG.from_edges("abc", ["ac", "bc"]), schema, 2)
    for site, rows in enumerate((200, 40, 3, 10, 41)):
        a, b = np.full(rows, unit * (1 + (site > 2))), np.arange(rows) % 2 | (site > 2)
        c = a / unit + b + site + rng.normal(size=rows)
        sites[str(site)] = conditional_sums(Dataset(schema, np.column_stack([a, b, c])), family)
    return sites


def test_the_rounding_of_a_mean_is_nothing_to_regress_on() -> None:
    """0.7 has other last bits in the mean of three sites than in each; 1 has not."""
    exact = regressions_of_sites("c", constant_parents(1.0))
    found = regressions_of_sites("c", constant_parents(0.7))
    assert list(exact.shifts) == list(found.shifts) == ["0", "1", "2", "3", "4"]
    ours, theirs = found.equations, exact.equations
    np.testing.assert_allclose(ours.coefficients * 0.7, theirs.coefficients, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.standard_deviations, theirs.standard_deviations, rtol=1e-9)
    np.testing.assert_allclose(ours.intercepts, theirs.intercepts, rtol=1e-9)


def test_a_number_that_is_constant_everywhere_has_no_noise_in_any_unit() -> None:
    schema = Schema.gaussian(("a", "b"))
    dag = DAG.empty(("a", "b"))
    for value in (0.3, 1e9 / 3, 4e-7 / 3):
        sites = {}
        for site, rows in enumerate((40, 1000, 7)):
            table = np.column_stack([np.full(rows, value), np.arange(rows)])
            sites[str(site)] = moments_of(Dataset(schema, table), family_pairs(dag))
        with pytest.raises(DataError, match="column 'a' has no noise"):
            gaussian_parameters(dag, sites)
