"""Embedded networks, and networks from JSON and BIF files."""

import gzip
import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.errors import FedbnWarning, NetworkError
from fedbn.graphs.random import random_dag
from fedbn.networks import catalog
from fedbn.networks.bif import bif_text, from_pgmpy, read_bif, to_pgmpy, write_bif
from fedbn.networks.bif_grammar import network_from_bif
from fedbn.networks.catalog import (
    PGMPY_NAMES,
    known_networks,
    load_network,
    network_names,
    networks_in,
    pgmpy_folder,
    read_network,
)
from fedbn.networks.json_file import network_from_json, network_to_json, write_json_network
from fedbn.networks.network import BayesianNetwork, ConditionalTable
from fedbn.networks.random import random_bayesian_network, random_linear_gaussian_network

# Nodes, edges and free parameters as the repository publishes them.
PUBLISHED = {
    "alarm": (37, 46, 509),
    "andes": (223, 338, 1157),
    "asia": (8, 8, 18),
    "cancer": (5, 4, 10),
    "child": (20, 25, 230),
    "earthquake": (5, 4, 10),
    "hailfinder": (56, 66, 2656),
    "hepar2": (70, 123, 1453),
    "insurance": (27, 52, 1008),
    "pigs": (441, 592, 5618),
    "sachs": (11, 17, 178),
    "survey": (6, 6, 21),
    "win95pts": (76, 112, 574),
}

BIF = """network tiny { }
// a comment
variable Rain { type discrete [ 2 ] { yes, no }; }
variable "wet" {
  type discrete [ 3 ] { wet, damp, <1mm };
}
probability ( Rain ) {
  table 0.2, 0.8;
}
probability ( wet | Rain ) {
  (no) 0.1, 0.2, 0.7;
  (yes) 0.333, 0.333, 0.333;
}
"""


@pytest.mark.parametrize("name", PUBLISHED)
def test_embedded_networks_have_the_published_sizes(name):
    network = load_network(name)
    assert (network.dag.n, network.dag.n_edges, network.n_parameters) == PUBLISHED[name]


def test_embedded_names_and_known_cells():
    assert network_names() == tuple(PUBLISHED)
    asia = load_network("asia")
    assert asia.schema.states[asia.names.index("smoke")] == ("no", "yes")
    assert asia.cpts[asia.names.index("lung")].tolist() == [[0.99, 0.01], [0.9, 0.1]]


def test_loading_an_embedded_network_does_not_import_pgmpy():
    code = (
        "import sys; from fedbn.networks.catalog import load_network; load_network('alarm');"
        "sys.exit('pgmpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@given(st.integers(0, 10_000), st.booleans())
def test_json_reads_back_exactly(seed, gaussian):
    rng = np.random.default_rng(seed)
    dag = random_dag("abcde", edge_probability=0.5, rng=rng)
    make = random_linear_gaussian_network if gaussian else random_bayesian_network
    network = make(dag, rng=rng)
    text = network_to_json(network)
    assert network_from_json(text, "text") == network
    assert network_to_json(network_from_json(text, "text")) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[]", '"kind"'),
        ('{"kind": "other"}', '"kind"'),
        ('{"kind": "gaussian", "variables": {}}', "at least one"),
        ('{"kind": "gaussian", "variables": {"x": {"intercept": 0}}}', "'x' must have exactly"),
        (
            '{"kind": "gaussian", "variables": {"x": {"coefficients": {}, "intercept": "0",'
            ' "standard_deviation": 1}}}',
            "'x': expected a number, found '0'",
        ),
        (
            '{"kind": "gaussian", "variables": {"x": {"coefficients": [], "intercept": 0,'
            ' "standard_deviation": 1}}}',
            "'coefficients' must be",
        ),
        (
            '{"kind": "categorical", "variables": {"x": {"states": ["a", 1], "parents": [],'
            ' "probabilities": [[0.5, 0.5]]}}}',
            "'states' must be a list of texts",
        ),
        (
            '{"kind": "categorical", "variables": {"x": {"states": ["a", "b"], "parents": [],'
            ' "probabilities": [[0.5, 0.5], [1]]}}}',
            "'probabilities' must be a list of equally long",
        ),
        (
            '{"kind": "categorical", "variables": {"x": {"states": ["a", "b"], "parents": ["y"],'
            ' "probabilities": [[0.5, 0.5]]}}}',
            "'y'",
        ),
    ],
)
def test_bad_json_networks_are_refused(tmp_path, text, words):
    path = tmp_path / "net.json"
    path.write_text(text)
    with pytest.raises(NetworkError, match=words) as error:
        load_network(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("name", ["tiny.bif", "tiny.bif.gz"])
def test_bif_files(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(BIF.encode()) if name.endswith(".gz") else BIF.encode())
    for network in (load_network(path), load_network("tiny", network_dir=tmp_path)):
        assert network.names == ("Rain", "wet")
        assert network.dag.edges == (("Rain", "wet"),)
        assert network.schema.states == (("no", "yes"), ("<1mm", "damp", "wet"))
        assert network.cpts[0].tolist() == [[0.8, 0.2]]
        assert network.cpts[1][0].tolist() == [0.7, 0.2, 0.1]
        assert network.cpts[1][1].tolist() == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not a network",
        BIF.replace("0.2, 0.8", "0.2, 0.7"),
        BIF.replace("0.2, 0.8", "0.2"),
        BIF.replace("(no)", "(maybe)"),
        BIF.replace("| Rain", "| Snow"),
        BIF.replace("  (no) 0.1, 0.2, 0.7;\n", ""),
        BIF.partition("probability ( wet")[0],
        BIF + BIF[BIF.index("variable R") :],
        BIF.replace("[ 2 ]", "[ 3 ]"),
        BIF.replace("(no) 0.1", "(no, yes) 0.1"),
        BIF.replace("0.2, 0.8", "0.2, often"),
        BIF.replace("table 0.2, 0.8;", "table 0.2, 0.8; (yes) 0.2, 0.8;"),
        BIF.replace("(yes) 0.333", "(no) 0.333"),
        BIF.replace("| Rain", ", Rain"),
        BIF.replace("type", "kind"),
        BIF.replace('"wet"', '"wet'),
        BIF.replace("// a", "/* a"),
        BIF.rstrip()[:-1],
    ],
)
def test_bad_bif_files_are_refused(tmp_path, text):
    path = tmp_path / "net.bif"
    path.write_text(text)
    with pytest.raises(NetworkError) as error:
        read_bif(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_an_error_in_a_bif_file_names_line_and_variable():
    bad = BIF.replace("(no) 0.1", "(no) 0.1x")
    with pytest.raises(NetworkError, match=r"file\.bif, line 11: the table of 'wet'"):
        network_from_bif(bad, "file.bif")


def test_bif_in_other_hands():
    """Properties, comments, quotes, no commas, a default row, a table with parents."""
    text = """network "n" { property author "me; you"; }
    variable a { type discrete [2] { "0" "1" }; property position = (1, 2); }
    variable A { /* another one */ type discrete [3] { x y z }; }
    probability (a) { property old; table 0.5 0.5; }  // fair
    probability (A | a) { default 0.25 0.25 0.5; ("1") 1 0 0; }"""
    network = network_from_bif(text, "text")
    assert network.names == ("A", "a")
    assert network.cpts[0].tolist() == [[0.25, 0.25, 0.5], [1.0, 0.0, 0.0]]
    rows = 'default 0.25 0.25 0.5; ("1") 1 0 0;'
    slowest = network_from_bif(text.replace(rows, "table 0.25 1 0.25 0 0.5 0;"), "text")
    assert slowest == network


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10_000))
@pytest.mark.slow
def test_bif_is_read_and_written_as_pgmpy_does(seed):
    from pgmpy.readwrite import BIFReader, BIFWriter

    rng = np.random.default_rng(seed)
    network = random_bayesian_network(random_dag("abcde", edges=6, rng=rng), rng=rng)
    text = bif_text(network)
    assert text == str(BIFWriter(to_pgmpy(network)))
    assert network_from_bif(text, "text") == from_pgmpy(BIFReader(string=text).get_model())


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 10_000))
def test_bif_reads_back_exactly_and_has_the_same_bytes(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    network = random_bayesian_network(random_dag("abcde", edges=6, rng=rng), rng=rng)
    path = tmp_path_factory.mktemp("bif") / "net.bif"
    write_bif(network, path)
    assert read_bif(path) == network
    assert bif_text(read_bif(path)).encode() == path.read_bytes()


def test_bif_renames_what_it_cannot_carry_and_says_so(tmp_path):
    half = np.array([[0.25, 0.75]])
    network = BayesianNetwork.from_tables(
        {
            "a b": ConditionalTable(("0-1 (low)", "2, 3"), (), half),
            "a_b": ConditionalTable(("x", "X"), ("a b",), np.vstack([half, half[:, ::-1]])),
            "A_B": ConditionalTable(("<5", "5%"), (), half),
        }
    )
    path = tmp_path / "net.bif"
    with pytest.warns(FedbnWarning, match=r"cannot be written in BIF.*'a b' -> "):
        write_bif(network, path)
    found = read_bif(path)
    assert found.dag.n == 3
    assert found.dag.n_edges == 1
    assert sorted(map(sorted, map(np.ravel, found.cpts))) == sorted(
        map(sorted, map(np.ravel, network.cpts))
    )


def test_networks_that_cannot_be_found(tmp_path):
    with pytest.raises(NetworkError, match=r"'alram'; did you mean 'alarm'\?"):
        load_network("alram")
    with pytest.raises(NetworkError, match="'none of mine' and not in"):
        load_network("none of mine", network_dir=tmp_path)
    with pytest.raises(NetworkError, match=r"absent\.bif cannot be read"):
        load_network(tmp_path / "absent.bif")
    with pytest.raises(NetworkError, match=r"must end in \.bif"):
        read_network(tmp_path / "net.xml")
    spoilt = tmp_path / "net.json.gz"
    spoilt.write_bytes(gzip.compress(b"{}" * 99)[:-9])
    with pytest.raises(NetworkError, match=r"net\.json\.gz cannot be read"):
        read_network(spoilt)


# Nodes and edges as the repository publishes them, of the networks that pgmpy brings.
INSIDE_PGMPY = {
    "barley": (48, 84),
    "diabetes": (413, 602),
    "link": (724, 1125),
    "mildew": (35, 46),
    "munin": (1041, 1397),
    "munin1": (186, 273),
    "munin2": (1003, 1244),
    "munin3": (1041, 1306),
    "munin4": (1038, 1388),
    "pathfinder": (109, 195),
    "water": (32, 66),
}


def test_networks_that_pgmpy_brings_are_at_hand():
    """pgmpy promises no such folder: this fails when it is gone."""
    assert tuple(INSIDE_PGMPY) == PGMPY_NAMES
    assert set(known_networks()) == {*PUBLISHED, *INSIDE_PGMPY}


@pytest.mark.parametrize("name", ["water", "pathfinder", "munin1"])
def test_networks_inside_pgmpy_have_the_published_sizes(name):
    network = load_network(name)
    assert (network.dag.n, network.dag.n_edges) == INSIDE_PGMPY[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_embedded_networks_are_those_of_the_files(name):
    """The embedded files were made through pgmpy's reader, which so is the oracle of ours."""
    assert read_bif(pgmpy_folder() / f"{name}.bif.gz") == load_network(name)


def test_network_dir_comes_before_pgmpy(tmp_path):
    network = load_network("asia")
    write_json_network(network, tmp_path / "water.json")
    assert load_network("water", network_dir=tmp_path) == network


def test_without_its_file_a_network_is_fetched_or_the_error_says_what_to_do(monkeypatch):
    import pgmpy.example_models

    from fedbn.networks.bif import to_pgmpy

    asked = []
    monkeypatch.setattr(catalog, "find_spec", lambda name: None)
    monkeypatch.setattr(
        pgmpy.example_models,
        "load_model",
        lambda name: asked.append(name) or to_pgmpy(network_from_bif(BIF, "text")),
    )
    assert known_networks() == network_names()
    assert load_network("water") == network_from_bif(BIF, "text")
    assert asked == ["bnlearn/water"]

    def offline(name):
        raise OSError(f"cannot reach the hub for {name}\nmore lines")

    monkeypatch.setattr(pgmpy.example_models, "load_model", offline)
    words = r"'water'.*no file of it.*could not be fetched.*--network-dir"
    with pytest.raises(NetworkError, match=words) as error:
        load_network("water")
    assert "\n" not in str(error.value)


def test_random_networks_by_name():
    network = load_network("random:12:20:3")
    assert (network.dag.n, network.dag.n_edges) == (12, 20)
    assert network == load_network("random:12:20:3")
    assert network != load_network("random:12:20:4")
    linear = load_network("random-gaussian:12:20")
    assert linear.sample(5, np.random.default_rng(0)).kind == "gaussian"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("random:12", "random:NODES:EDGES"),
        ("random:0:0", "1 to 10000"),
        ("random:1000000:1", "1 to 10000"),
        ("random:3:4", r"in \[0, 3\]"),
        ("random:40:780", "may have at most 5000000 cells"),
    ],
)
def test_impossible_random_networks_are_refused(name, words):
    with pytest.raises(NetworkError, match=words):
        load_network(name)


def test_the_tool_writes_the_embedded_files(tmp_path, monkeypatch):
    path = Path(__file__).parents[2] / "tools" / "embed_networks.py"
    spec = importlib.util.spec_from_file_location("embed_networks", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert network_names() == tool.NAMES
    monkeypatch.setattr(tool, "NAMES", ("asia", "survey"))
    for name in tool.NAMES:
        write_bif(load_network(name), tmp_path / f"{name}.bif")
    written = tool.embed(tmp_path, tmp_path)
    assert written == sum((tmp_path / f"{name}.json").stat().st_size for name in tool.NAMES)
    for name in tool.NAMES:
        assert (tmp_path / f"{name}.json").read_bytes() == (
            tool.EMBEDDED / f"{name}.json"
        ).read_bytes()
    assert sum(file.stat().st_size for file in tool.EMBEDDED.glob("*.json")) < tool.LIMIT
    (tmp_path / "survey.bif").unlink()
    with pytest.raises(FileNotFoundError, match=r"survey\.bif"):
        tool.embed(tmp_path, tmp_path)


def test_a_folder_lists_what_can_be_loaded_from_it(tmp_path: Path) -> None:
    for name in ("b.bif.gz", "a.json", "notes.txt", "bifold.csv"):
        (tmp_path / name).write_text("")
    assert networks_in(tmp_path) == ("a", "b")
    with pytest.raises(NetworkError, match="folder"):
        networks_in(tmp_path / "a.json")
