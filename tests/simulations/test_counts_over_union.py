"""Counts where sites have different columns: parameters, and the choice between structures."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import fedbn as fb
from fedbn.consensus.pooling import select_among
from fedbn.data.columns import column_names
from fedbn.data.dataset import Dataset
from fedbn.data.lacking import draw_columns
from fedbn.data.preparation import Preparation
from fedbn.data.schema import Schema, Variable
from fedbn.data.tables import read_dataset, write_table
from fedbn.errors import ConfigError, DataError, ResultsError, StructureError
from fedbn.federation.choice_record import choice_from_dict, choice_to_dict
from fedbn.federation.family_message import answer_request
from fedbn.federation.judged_counting import begin_choosing
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.whole_families import columns_of, requests_of
from fedbn.graphs.dag import DAG
from fedbn.networks.catalog import load_network
from fedbn.networks.family_counts import (
    Family,
    FamilyTables,
    count_families,
    count_own_families,
    families_of,
)
from fedbn.networks.fitting import parameters_of, parameters_where_known
from fedbn.networks.json_file import read_json_network
from fedbn.networks.parameter_sources import not_given_in, unanswered_in
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
    wanted = {
        "sites": [str(path) for path in paths],
        "variables": "union",
        "engine": "in-process",
        "share-diagnostics": True,
        "parameters": "federated",
    }
    return run_experiment(experiment_from({**wanted, **settings}))


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


# --- choosing by counts -------------------------------------------------------------------------


@pytest.fixture
def child(tmp_path: Path) -> list[Path]:
    """Six sites of 200 rows of the network child, each with some columns."""
    network, rng, paths = load_network("child"), np.random.default_rng(4), []
    for number, has in enumerate(draw_columns(network.dag.n, 6, 0.2, rng)):
        table = network.sample(200, rng)
        own = table.select([name for name, there in zip(table.names, has, strict=True) if there])
        paths.append(tmp_path / f"s{number}.csv")
        with paths[-1].open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(own.names)
            states = [[s.replace("None", "No") for s in of] for of in own.schema.states]
            writer.writerows([states[k][code] for k, code in enumerate(row)] for row in own.table)
    return paths


def simulated(paths: list[Path], choose: str, kind: str = "categorical", **more: object):
    """By the interface; of a mixed table all columns but w are numbers."""
    read = {}
    for path in paths:
        numbers = {"m", "x", "y"}.intersection(column_names(path)) if kind == "mixed" else ()
        read[path.stem] = read_dataset(path, kind, Preparation(numbers=tuple(sorted(numbers))))
    settings = ConsensusSettings(variables="union", choose=choose)
    return fb.simulate(read, consensus=settings, seed=1, **more).result


@pytest.mark.parametrize("choose", ["counts", "climb"])
def test_command_and_interface_choose_alike(child: list[Path], choose: str) -> None:
    api = simulated(child, choose)
    run = federated(child, choose=choose, parameters="none")
    assert choice_to_dict(run.result.choice) == choice_to_dict(api.choice)
    assert run.result.consensus.dag == api.consensus.dag
    assert api.choice.moves
    assert (api.choice.requests > 1) == (choose == "climb")
    columns = {path.stem: set(fb.read_table(path).dataset.names) for path in child}
    assert set(api.choice.sites) == set(columns)
    for move in api.choice.moves:
        assert all({move.x, move.y} <= columns[site] for site in move.judges)
    again = choice_from_dict(choice_to_dict(api.choice), api.schema)
    assert choice_to_dict(again) == choice_to_dict(api.choice)
    assert again.moves == api.choice.moves


def test_where_nothing_moves_the_consensus_is_that_of_the_structures(
    majority: list[Path],
) -> None:
    alone = simulated(majority, "smhd")
    counted = simulated(majority, "climb")
    assert counted.choice.moves == ()
    assert counted.consensus.dag == alone.consensus.dag
    assert counted.consensus.theta == alone.consensus.theta
    assert counted.consensus.reading == alone.consensus.reading != "counts"


@pytest.mark.parametrize("choose", ["counts", "climb"])
def test_sites_with_the_same_columns_give_the_same_bytes(tmp_path: Path, choose: str) -> None:
    network, read = load_network("asia"), {}
    for seed, site in enumerate(("north", "south", "east")):
        read[site] = network.sample(300, np.random.default_rng(seed))
    found = [
        fb.simulate(
            read, consensus=ConsensusSettings(variables=variables, choose=choose), seed=1
        ).result
        for variables in ("same", "union")
    ]
    assert choice_to_dict(found[0].choice) == choice_to_dict(found[1].choice)
    assert found[0].choice.moves is None
    assert found[0].consensus.dag == found[1].consensus.dag
    assert found[0].consensus.mean_smhd == found[1].consensus.mean_smhd


def dialogue(paths: list[Path], leaving: str = "", other_rows: str = ""):
    """A climb by hand: a site leaves after the first answer, or counts other rows then."""
    result = simulated(paths, "smhd")
    settings = ConsensusSettings(variables="union", choose="climb")
    state, columns, number = begin_choosing(result, settings, 1.0, 1), columns_of(result), 0
    rows = {path.stem: fb.read_table(path).dataset for path in paths}
    while (wanted := state.request()) is not None:
        number += 1
        answers = {}
        for site, own in requests_of(wanted, columns).items():
            table = rows[site].with_schema(result.schema.restrict(rows[site].names))
            if number > 1 and site == leaving:
                continue
            if number > 1 and site == other_rows:
                table = table.take(range(table.n_rows - 1))
            answers[site] = answer_request(own, table, 1.0)
        state = state.hear(answers)
    return state.conclude(result), state, number


def test_a_site_that_answers_no_more_or_of_other_rows_ends_the_climb(child: list[Path]) -> None:
    whole, _, requests = dialogue(child)
    assert requests > 2
    assert whole.choice.requests == requests
    for fault in ({"leaving": "s1"}, {"other_rows": "s1"}):
        found, state, asked = dialogue(child, **fault)
        assert asked == 2
        assert state.ended
        assert found.choice.requests == 1


def test_what_has_no_judge_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="variables = union does not go with site-column = c"):
        ConsensusSettings(variables="union", choose="counts", site_column="c")


def test_with_several_row_weights_structures_choose_the_weight(child: list[Path]) -> None:
    """The moves begin at the structure nearest to all sites, before judges of pairs choose, and
    families of all weights are counted."""
    ladder: dict = {"row-weight": "ladder", "parameters": "none"}
    alone = federated(child, **ladder).result
    counted = federated(child, **ladder, choose="counts").result
    assert counted.row_weight == alone.row_weight == counted.choice.row_weight
    assert len(counted.classes) > len(alone.classes)
    at_start, same = (
        next(each for each in result.classes if each.row_weight == alone.row_weight)
        for result in (counted, alone)
    )
    assert at_start.consensus.dag == select_among(same.paths, by_judges=False)[1].dag
    ladder["row-weight"] = str(alone.row_weight)
    one = federated(child, **ladder, choose="counts").result
    assert counted.choice.families > one.choice.families


@pytest.fixture
def measured(tmp_path: Path) -> list[Path]:
    """Four sites of unequal sizes with numbers and a category, each with means of its own; x -> m
    -> y, and the largest lacks m."""
    rng, paths = np.random.default_rng(5), []
    for site, rows, columns in (
        ("large", 4_000, "wxy"),
        ("north", 300, "mwxy"),
        ("south", 400, "mxy"),
        ("east", 60, "mw"),
    ):
        x = rng.normal(size=rows)
        w = (x + rng.normal(size=rows) > 0).astype(float)
        m = 0.9 * x + rng.normal(size=rows)
        y = 0.9 * m + rng.normal(size=rows)
        schema = Schema((Variable("m"), Variable("w", ("no", "yes")), Variable("x"), Variable("y")))
        shift = rng.normal(scale=3, size=4) * [1, 0, 1, 1]
        whole = Dataset(schema, np.stack([m, w, x, y], axis=1) + shift)
        paths.append(tmp_path / f"{site}.csv")
        write_table(whole.select(list(columns)), paths[-1])
    return paths


@pytest.mark.parametrize("choose", ["counts", "climb"])
def test_numbers_of_different_columns_are_chosen_alike(measured: list[Path], choose: str) -> None:
    """By command and interface; each move is judged by sites that have all that it changes."""
    api = simulated(measured, choose, "mixed", score="mixed-bic")
    run = federated(measured, **MIXED, choose=choose, parameters="none")
    assert choice_to_dict(run.result.choice) == choice_to_dict(api.choice)
    assert run.result.consensus.dag == api.consensus.dag
    assert api.choice.requests == 1
    assert set(api.choice.rows) == {"east", "large", "north", "south"}
    joined = {frozenset(edge) for edge in api.consensus.dag.edges}
    assert frozenset("xy") not in joined
    again = choice_from_dict(choice_to_dict(api.choice), api.schema)
    assert choice_to_dict(again) == choice_to_dict(api.choice)


MIXED = {"score": "mixed-bic", "numbers": ("m", "x", "y")}


@pytest.mark.usefixtures("packed_flower")
def test_flower_chooses_and_estimates_numbers_alike(measured: list[Path]) -> None:
    here, there = (
        federated(measured, **MIXED, choose="climb", engine=engine)
        for engine in ("in-process", "flower")
    )
    assert choice_to_dict(here.result.choice) == choice_to_dict(there.result.choice)
    assert here.network == there.network is not None
    assert here.sources == there.sources


def test_a_site_that_refuses_is_named_and_the_others_rows_remain(measured: list[Path]) -> None:
    """North has few rows of each state of w, so no table of its may leave."""
    site = measured[1].with_suffix(".toml")
    site.write_text('table = "north.csv"\n[policy]\ncounts = true\nmin-cell = 200\n')
    run = federated([measured[0], site, *measured[2:]], **MIXED)
    whole = federated(measured, **MIXED)
    assert run.result.consensus.dag == whole.result.consensus.dag
    assert whole.sources.refused == whole.sources.not_given == ()
    ((refused, reason),) = run.sources.refused
    assert "min-cell" in reason
    assert refused not in run.sources.sites
    assert run.network is not None
    table, of_all = (net.table(net.names.index("w")) for net in (run.network, whole.network))
    assert not np.array_equal(table, of_all)


@pytest.mark.parametrize("score", ["mixed-bic", "gaussian-bic"])
def test_parameters_of_numbers_are_those_that_the_command_makes_of_the_tables(
    fedbn: Fedbn, measured: list[Path], tmp_path: Path, score: str
) -> None:
    """The run asks its sites; `fedbn parameters` has the tables."""
    out, how = tmp_path / "out", ["--numbers", "m,x,y"]
    if score == "gaussian-bic":
        measured, how = measured[:3], ["--leave-out", "w"]
        write_table(read_dataset(measured[2], "gaussian"), measured[2])
        with measured[2].open() as file:
            assert file.readline() == "m,x,y\n"
    asked = ("simulate", "--sites", *measured, "--variables", "union", "--score", score, *how)
    said = fedbn(*asked, "--engine", "in-process", "--parameters", "federated", "--out", out)
    assert said.status == 0, said.err
    before = (out / "network.json").read_bytes()
    told = json.loads((out / "run.json").read_text())["parameters"]
    assert told.get("failure") is None
    assert "large" not in told["spreads"]["m"]
    again = fedbn("parameters", out, "--sites", *measured)
    assert again.status == 0, again.err
    assert (out / "network.json").read_bytes() == before


@pytest.mark.slow
def test_the_command_says_how_many_moves_and_judges(
    fedbn: Fedbn, child: list[Path], tmp_path: Path
) -> None:
    asked = ("simulate", "--sites", *child, "--variables", "union", "--choose", "climb")
    said = fedbn(*asked, "--engine", "in-process", "--out", tmp_path / "out")
    assert said.status == 0, said.err
    told = json.loads((tmp_path / "out" / "run.json").read_text())["counts"]
    assert "score" not in told
    assert f"Counts changed the structure by {len(told['moves'])} move" in said.out
    assert all(move["judges"] for move in told["moves"])
