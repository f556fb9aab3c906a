"""Parameters of numbers where sites have different columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.federation.known_parameters import parameters_of_own_sums, sums_of_table
from fedbn.graphs.dag import DAG
from fedbn.networks.conditional_gaussian import ConditionalGaussianNetwork
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.parameter_sources import LackingFamily

Sites = dict[str, Dataset]


def some_columns(rng: np.random.Generator, whole: Dataset, first: bool) -> Dataset:
    names = [name for name in whole.names if rng.random() < 0.7] or [whole.names[0]]
    return whole.select(whole.names if first else names)


def fitted(dag: DAG, schema: Schema, sites: Sites, ess: float = 1.0):
    columns = {
        site: frozenset(schema.index(name) for name in table.names) for site, table in sites.items()
    }
    sums = {site: sums_of_table(table, dag, schema.kind) for site, table in sites.items()}
    return parameters_of_own_sums(dag, schema, sums, columns, None, ess)


def rows_with(sites: Sites, names: list[str]) -> np.ndarray:
    """The rows of the sites that have all of these, in this order of columns."""
    found = [
        table.table[:, [table.names.index(name) for name in names]].astype(float)
        for table in sites.values()
        if set(names) <= set(table.names)
    ]
    return np.concatenate(found) if found else np.zeros((0, len(names)))


def regression(rows: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Least squares of the last column on the others: slopes, constant, deviation."""
    design = np.column_stack([rows[:, :-1], np.ones(len(rows))])
    found, *_ = np.linalg.lstsq(design, rows[:, -1], rcond=None)
    left = rows[:, -1] - design @ found
    return found[:-1], float(found[-1]), float(np.sqrt((left**2).mean()))


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), whole_site=st.booleans())
def test_every_equation_is_that_of_the_rows_that_have_its_columns(
    seed: int, whole_site: bool
) -> None:
    """Of one population, so that no site has a constant of its own (but by chance, rarely)."""
    rng, names = np.random.default_rng(seed), tuple("abcd")
    schema = Schema.gaussian(names)
    dag = DAG(names, np.triu(rng.random((4, 4)) < 0.6, 1))
    slopes = np.where(dag.adjacency, 0.8, 0.0)
    sites = {}
    for number in range(int(rng.integers(1, 4))):
        values = rng.normal(size=(int(rng.integers(30, 200)), 4))
        for node in range(4):
            values[:, node] += values @ slopes[:, node]
        whole = Dataset(schema, values)
        sites[f"s{number}"] = some_columns(rng, whole, whole_site and number == 0)
    network, sources = fitted(dag, schema, sites)
    rows = {
        name: rows_with(sites, [*(dag.names[p] for p in dag.parents(node)), name])
        for node, name in enumerate(names)
    }
    lacking = {name for name in names if not len(rows[name])}
    assert {each.variable for each in sources.not_given} == lacking
    beyond = {
        name
        for name in names
        if name not in lacking
        and any(dag.names[u] in lacking for u in ancestors(dag, names.index(name)))
    }
    assert {name for name, _ in sources.beyond} == beyond
    known = tuple(name for name in names if name not in lacking | beyond)
    if not known:
        assert network is None
        return
    assert isinstance(network, LinearGaussianNetwork)
    assert network.names == known
    for node, name in enumerate(known):
        if name in dict(sources.shifts):
            continue
        found, constant, deviation = regression(rows[name])
        parents = list(network.dag.parents(node))
        assert network.coefficients[parents, node] == pytest.approx(found, abs=1e-8)
        assert network.intercepts[node] == pytest.approx(constant, abs=1e-8)
        assert network.standard_deviations[node] == pytest.approx(deviation, rel=1e-8)


def ancestors(dag: DAG, node: int) -> set[int]:
    above = set(dag.parents(node))
    return above.union(*(ancestors(dag, parent) for parent in above))


MIXED = Schema(
    (Variable("age"), Variable("crp"), Variable("ill", ("no", "yes")), Variable("sex", "fm"))
)


def patients(rows: int, rng: np.random.Generator, shift: float = 0.0) -> Dataset:
    """sex → ill → crp ← age."""
    sex = rng.integers(0, 2, rows)
    ill = (rng.random(rows) < 0.3 + 0.3 * sex).astype(float)
    age = rng.normal(50, 10, rows)
    crp = 0.5 * age + 8 * ill + rng.normal(size=rows) + shift
    return Dataset(MIXED, np.column_stack([age, crp, ill, sex]))


DAG_OF_PATIENTS = DAG.from_edges(MIXED.names, [("sex", "ill"), ("ill", "crp"), ("age", "crp")])


def test_tables_and_equations_are_each_of_their_own_sites() -> None:
    rng = np.random.default_rng(1)
    sites = {
        "categories": patients(90, rng).select(["ill", "sex"]),
        "numbers": patients(70, rng).select(["age"]),
        "whole": patients(400, rng),
    }
    network, sources = fitted(DAG_OF_PATIENTS, MIXED, sites, ess=0.0)
    assert isinstance(network, ConditionalGaussianNetwork)
    assert network.names == MIXED.names
    assert sources.not_given == sources.held_back == sources.apart == ()
    both = rows_with(sites, ["sex", "ill"])
    assert len(both) == 490
    for code in (0, 1):
        share = both[both[:, 0] == code, 1].mean()
        assert network.table(2)[code, 1] == pytest.approx(share, abs=1e-12)
    age = rows_with(sites, ["age"])
    assert network.regressions(0).intercepts[0] == pytest.approx(age.mean(), abs=1e-9)
    assert len(age) == 470
    spreads = dict(sources.spreads)
    assert [site for site, *_ in spreads["age"]] == ["numbers", "whole"]
    assert [site for site, *_ in spreads["crp"]] == ["whole"]


def test_equations_of_shifted_sites_that_are_not_the_same_are_named() -> None:
    rng = np.random.default_rng(2)
    chain = DAG.from_edges("abc", ["ab", "bc"])
    sites = {}
    for site, shift, names in (("n", 0.0, "abc"), ("s", 9.0, "ab"), ("e", -9.0, "ab")):
        a = rng.normal(size=300)
        b = a + shift + rng.normal(size=300)
        c = b + rng.normal(size=300)
        whole = Dataset(Schema.gaussian("abc"), np.column_stack([a, b, c]))
        sites[site] = whole.select(list(names))
    _, sources = fitted(chain, Schema.gaussian("abc"), sites)
    assert [name for name, _ in sources.shifts] == ["b"]
    assert sources.apart == ("b", "c")
    sites["s"], sites["e"] = sites["s"].select(["b"]), sites["e"].select(["b"])
    _, sources = fitted(chain, Schema.gaussian("abc"), sites)
    assert sources.shifts == sources.apart == ()


def test_what_no_site_has_whole_is_named_with_what_each_lacks() -> None:
    rng = np.random.default_rng(3)
    sites = {
        "n": patients(200, rng).select(["age", "crp", "sex"]),
        "s": patients(300, rng).select(["crp", "ill", "sex"]),
    }
    network, sources = fitted(DAG_OF_PATIENTS, MIXED, sites)
    assert network is not None
    assert network.names == ("age", "ill", "sex")
    lacks = (("n", ("ill",)), ("s", ("age",)))
    (lacking,) = sources.not_given
    assert lacking == LackingFamily("crp", ("age", "ill"), lacks, number=True)
    assert lacking.words.startswith("the equation of 'crp' given 'age', 'ill' is not known: n ")
    assert LackingFamily.from_dict(lacking.to_dict()) == lacking
