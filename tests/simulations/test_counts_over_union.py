"""Parameters where sites have different columns: of the rows of those that have all of a family."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from fedbn.data.dataset import Dataset, Schema
from fedbn.errors import DataError, ResultsError, StructureError
from fedbn.federation.parameter_sources import not_given_in, unanswered_in
from fedbn.graphs.dag import DAG
from fedbn.networks.family_counts import (
    Family,
    FamilyTables,
    count_families,
    count_own_families,
    families_of,
)
from fedbn.networks.fitting import parameters_of, parameters_where_known
from fedbn.networks.json_file import read_json_network
from simulations.experiment import experiment_from
from simulations.run import run_experiment
from tests.simulations.conftest import Fedbn
from tests.simulations.test_different_variables import tables  # noqa: F401

pytestmark = pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")


@pytest.fixture
def majority(tmp_path: Path) -> list[Path]:
    """c is mostly the majority of a, b and d; no site has both a and b."""
    rng, paths = np.random.default_rng(0), []
    for site, columns in {"north": "acde", "south": "bcde"}.items():
        a, b, d = rng.integers(0, 2, (3, 3000))
        c = (rng.random(3000) < 0.05 + 0.9 * (a + b + d >= 2)).astype(np.int64)
        e = np.where(rng.random(3000) < 0.9, c, 1 - c)
        every = {"a": a, "b": b, "c": c, "d": d, "e": e}
        paths.append(tmp_path / f"{site}.csv")
        with paths[-1].open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(
                [("no", "yes")[v] for v in row]
                for row in zip(*(every[k] for k in columns), strict=True)
            )
    return paths


def federated(paths: list[Path], **settings: object):
    wanted = {"sites": [str(path) for path in paths], "variables": "union", "engine": "in-process"}
    return run_experiment(experiment_from({**wanted, "parameters": "federated", **settings}))


def test_every_table_is_of_the_rows_of_the_sites_that_have_its_family(
    tables: list[Path],  # noqa: F811
) -> None:
    """The twin puts those sites' rows together and counts them one by one."""
    run = federated(tables)
    network, dag = run.network, run.result.consensus.dag
    assert network is not None
    assert network.dag == dag
    assert run.sources.not_given == ()
    states = dict(zip(run.result.schema.names, run.result.schema.states, strict=True))
    sizes = set()
    for node, name in enumerate(dag.names):
        family = [*(dag.names[p] for p in dag.parents(node)), name]
        rows = [
            tuple(site.dataset.schema.states[k][row[k]] for k in own)
            for site in run.simulation.sites
            if set(family) <= set(site.dataset.names)
            for own in [[site.dataset.names.index(each) for each in family]]
            for row in site.dataset.codes.tolist()
        ]
        sizes.add(len(rows))
        cells = len(states[name]) * network.cpts[node].shape[0]
        for place, probabilities in enumerate(network.cpts[node]):
            given, left = [], place
            for parent in reversed(family[:-1]):
                left, code = divmod(left, len(states[parent]))
                given.insert(0, states[parent][code])
            here = [row[-1] for row in rows if list(row[:-1]) == given]
            for state, found in zip(states[name], probabilities, strict=True):
                expected = (here.count(state) + 1 / cells) / (len(here) + len(states[name]) / cells)
                assert found == pytest.approx(expected, abs=1e-12)
    assert len(sizes) > 1


def test_a_family_that_no_site_has_whole_is_not_given_and_query_says_who_lacks_what(
    fedbn: Fedbn, majority: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    asked = ("simulate", "--sites", *majority, "--variables", "union", "--engine", "in-process")
    said = fedbn(*asked, "--out", out)
    assert said.status == 0
    words = "the table of 'c' given 'a', 'b', 'd' is not known: north lacks 'b'; south lacks 'a'"
    assert words in said.err
    assert read_json_network(out / "network.json").names == ("a", "b", "d")
    told = json.loads((out / "run.json").read_text())["parameters"]
    assert told["not_given"] == [
        {
            "variable": "c",
            "parents": ["a", "b", "d"],
            "lacks": {"north": ["b"], "south": ["a"]},
            "silent": [],
        }
    ]
    assert told["beyond"] == {"e": ["c"]}
    assert f"'c' has no answer: {words}" in fedbn("query", out, "--ask", "c").error
    assert words in fedbn("query", out, "--ask", "a", "--given", "e=yes").error
    assert words in fedbn("query", out, "--ask", "a", "--do", "d=yes", "--class").error
    everything = fedbn("query", out, "--all", "--json")
    assert set(everything.json) == {"a", "b", "d"}
    assert words in everything.err
    page = (out / "report.html").read_text()
    assert "Some tables are not known" in page
    assert "north lacks &#x27;b&#x27;" in page
    before = {name: (out / name).read_bytes() for name in ("network.json", "report.html")}
    again = fedbn("parameters", out, "--sites", *majority)
    assert words.replace("north", str(majority[0])).split(":")[0] in again.err
    assert (out / "network.json").read_bytes() == before["network.json"]
    assert "Some tables are not known" in (out / "report.html").read_text()
    assert fedbn("query", out, "--ask", "c").status == 1
    public = tmp_path / "public.html"
    fedbn("report", out, "--public", "--out", public)
    assert "is not known:" not in public.read_text()


def test_a_column_more_at_a_site_gives_the_table(
    fedbn: Fedbn, majority: list[Path], tmp_path: Path
) -> None:
    """`fedbn parameters` with a third table that has all columns of the family."""
    out, whole = tmp_path / "out", tmp_path / "whole.csv"
    rng = np.random.default_rng(3)
    with whole.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow("abcde")
        writer.writerows([("no", "yes")[v] for v in row] for row in rng.integers(0, 2, (200, 5)))
    asked = ("simulate", "--sites", *majority, "--variables", "union", "--engine", "in-process")
    fedbn(*asked, "--out", out)
    assert fedbn("parameters", out, "--sites", *majority, whole).status == 0
    assert read_json_network(out / "network.json").names == tuple("abcde")
    assert json.loads((out / "run.json").read_text())["parameters"]["held_back"] == {}
    assert fedbn("query", out, "--ask", "e", "--json").status == 0


def test_a_site_may_hold_a_family_back_by_its_min_cell(
    majority: list[Path], tmp_path: Path
) -> None:
    """As where all have the same columns; nobody else has the families of a, which are held."""
    site = tmp_path / "north.toml"
    site.write_text('table = "north.csv"\n[policy]\ncounts = true\nmin-cell = 3000\n')
    run = federated([site, majority[1]])
    assert run.network is not None
    assert run.network.names == ("b", "d")
    lacking = {each.variable: each for each in run.sources.not_given}
    assert set(lacking) == {"a", "c"}
    assert [columns for _, columns in lacking["a"].lacks] == [("a",)]
    assert len(lacking["a"].silent) == 1


SCHEMA = Schema.categorical({"a": "01", "b": "012", "c": "01"})


def test_counts_in_some_columns_are_those_in_all() -> None:
    rng = np.random.default_rng(1)
    whole = Dataset(SCHEMA, rng.integers(0, 2, (50, 3)))
    families = (Family(1, ()), Family(1, (2,)), Family(2, (1,)))
    own = whole.select(["b", "c"])
    assert count_own_families(own, FamilyTables(SCHEMA, families)) == count_families(
        whole, families
    )
    with pytest.raises(StructureError, match="the table lacks column 'a' of the family of 'b'"):
        count_own_families(own, FamilyTables(SCHEMA, (Family(1, (0,)),)))
    other = Dataset(Schema.categorical({"b": "01"}), np.zeros((2, 1), dtype=np.int64))
    with pytest.raises(DataError, match="states of the table must be those of the agreed schema"):
        count_own_families(other, FamilyTables(SCHEMA, (Family(1, ()),)))


def test_with_all_families_known_the_network_is_that_of_all() -> None:
    rng = np.random.default_rng(2)
    table = Dataset(SCHEMA, rng.integers(0, 2, (50, 3)))
    dag = DAG.from_edges("abc", ["ab", "bc"])
    counts = count_families(table, families_of([dag]))
    assert parameters_where_known(dag, [counts]) == (parameters_of(dag, counts), ())
    leaf = counts.of([Family(0, ())])
    network, lacking = parameters_where_known(dag, [leaf])
    assert network is not None
    assert network.names == ("a",)
    assert lacking == (Family(1, (0,)), Family(2, (1,)))
    assert parameters_where_known(dag, [counts.of([Family(2, (1,))])])[0] is None


@pytest.mark.parametrize(
    "told",
    [
        {"not_given": 3},
        {"not_given": [{"variable": "c"}]},
        {"not_given": [{"variable": "c", "parents": "a", "lacks": {}, "silent": []}]},
        {
            "not_given": [{"variable": "c", "parents": [], "lacks": {}, "silent": []}],
            "beyond": {"e": ["x"]},
        },
    ],
)
def test_a_run_json_that_says_it_otherwise_is_refused(told: dict) -> None:
    with pytest.raises(ResultsError, match=r"run.json: \"(not_given|beyond)\" must be"):
        unanswered_in({"parameters": told}, "run.json")
    assert not_given_in({"parameters": None}, "run.json") == ()
