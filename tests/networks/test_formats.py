"""XMLBIF, GeNIe and Hugin: read back equal, read by and from other libraries, and wrong files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.schema import Schema
from fedbn.errors import FedbnWarning, NetworkError, ResultsError
from fedbn.graphs.dag import DAG
from fedbn.inference import query
from fedbn.networks.bif import to_pgmpy
from fedbn.networks.catalog import load_network, read_network
from fedbn.networks.formats import WRITERS, write_network_file
from fedbn.networks.linear_gaussian import LinearEquation, LinearGaussianNetwork
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.random import random_bayesian_network
from tests.strategies import dags

FORMATS = (".xmlbif", ".xdsl", ".net")


@pytest.mark.parametrize("suffix", FORMATS)
@settings(max_examples=15)
@given(dags(max_nodes=5), st.integers(0, 10**6))
def test_what_is_written_is_read_back_bit_by_bit(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, dag: DAG, seed: int
) -> None:
    drawn = random_bayesian_network(dag, rng=np.random.default_rng(seed), states=(1, 3))
    states = {
        name: tuple(f"s{i}" for i in range(len(own)))
        for name, own in zip(drawn.names, drawn.schema.states, strict=True)
    }
    network = BayesianNetwork(drawn.dag, Schema.categorical(states), drawn.cpts)
    path = tmp_path_factory.mktemp("n") / f"n{suffix}"
    write_network_file(network, path)
    assert read_network(path) == network


@pytest.mark.parametrize("suffix", FORMATS)
def test_pyagrum_reads_and_writes_the_same_network(suffix: str, tmp_path: Path) -> None:
    import pyagrum as gum

    asia = load_network("asia")
    ours = tmp_path / ("ours" + {".xmlbif": ".bifxml"}.get(suffix, suffix))
    write_network_file(asia, ours)
    found = gum.loadBN(str(ours))
    for name in asia.names:
        shares = gum.getPosterior(found, target=name, evs={"smoke": "yes"})
        own = asia.names.index(name)
        assert found.variable(name).labels() == asia.schema.states[own]
        assert shares.sum() == pytest.approx(1.0, abs=1e-6)
    gum.saveBN(found, str(tmp_path / f"theirs{ours.suffix}"))
    back = read_network(tmp_path / f"theirs{ours.suffix}")
    assert back.dag == asia.dag
    for one, other in zip(back.cpts, asia.cpts, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("suffix", FORMATS)
def test_pgmpy_writes_what_is_read(suffix: str, tmp_path: Path) -> None:
    from pgmpy.readwrite import NETWriter, XDSLWriter, XMLBIFWriter

    writers = {".xmlbif": XMLBIFWriter, ".xdsl": XDSLWriter, ".net": NETWriter}
    asia = load_network("asia")
    path = tmp_path / f"theirs{suffix}"
    path.write_text(str(writers[suffix](to_pgmpy(asia))))
    if suffix == ".xdsl":
        writers[suffix](to_pgmpy(asia)).write(str(path))
    back = read_network(path)
    assert back.dag == asia.dag
    for one, other in zip(back.cpts, asia.cpts, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)


def test_names_become_words_and_a_warning_says_which(tmp_path: Path) -> None:
    schema = Schema.categorical({"a b": ["<=5", ">5"], 'é<&"': ["no", "yes"]})
    dag = DAG.from_edges(schema.names, [schema.names])
    rng = np.random.default_rng(0)
    drawn = BayesianNetwork(dag, schema, (rng.dirichlet([1, 1], 1), rng.dirichlet([1, 1], 2)))
    (wanted,) = query(drawn, ["a b"]).posteriors.values()
    for suffix in FORMATS:
        path = tmp_path / f"n{suffix}"
        with pytest.warns(FedbnWarning, match="4 names cannot be written in .*'a b' -> 'a_b'"):
            write_network_file(drawn, path)
        found = query(read_network(path), ["a_b"]).posteriors["a_b"]
        assert (found["le_5"], found["gt_5"]) == (wanted["<=5"], wanted[">5"])


NET = 'net {} node a { states = ("x" "y"); label = "A (1)"; } '


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("n.net", NET, "variable 'a' has no probability table"),
        ("n.net", NET + "potential (a) { data = (0.5); }", "must have 1 x 2 numbers, not 1"),
        ("n.net", NET + "potential (a) { data = (0.5 z); }", "the table of 'a': could not convert"),
        ("n.net", NET + "potential (a | b) { data = (1 0); }", "'b' is no variable"),
        ("n.net", NET + "potential (a) { data = (1 0)", "the file ends"),
        ("n.net", NET + "potential (a", "the file ends"),
        ("n.net", "decision d { }", "decision d: only discrete chance nodes"),
        ("n.net", "hello", "expected net, node or potential, found 'hello'"),
        ("n.net", "", "declares no variable"),
        ("n.xdsl", "<smile><nodes><noisymax id='m'/></nodes></smile>", "node 'm' is a noisymax"),
        ("n.xdsl", "<x/>", "is not a GeNIe file"),
        ("n.xdsl", "<smile><nodes><cpt id='a'/></nodes></smile>", "variable 'a'|'a'"),
        ("n.xmlbif", "<BIF>", "is not XML"),
        ("n.xmlbif", "<BIF/>", "it has no NETWORK"),
        ("n.xmlbif", "<!DOCTYPE B [<!ENTITY a 'b'>]><B/>", "entities of XML are not read"),
        ("n.xmlbif", "<BIF><NETWORK><VARIABLE/></NETWORK></BIF>", "a name is missing"),
        (
            "n.xmlbif",
            "<BIF><NETWORK><VARIABLE TYPE='decision'><NAME>d</NAME></VARIABLE></NETWORK></BIF>",
            "variable 'd' is of TYPE 'decision'",
        ),
    ],
)
def test_wrong_files_are_named(name: str, text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(NetworkError, match=words) as caught:
        read_network(path)
    assert name in str(caught.value)


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="a network is written to .bif"):
        write_network_file(load_network("asia"), tmp_path / "n.dsl")
    line = LinearGaussianNetwork.from_equations({"a": LinearEquation({}, 0.0, 1.0)})
    with pytest.raises(ResultsError, match="written to .json alone"):
        write_network_file(line, tmp_path / "n.xdsl")
    write_network_file(line, tmp_path / "n.json")
    assert read_network(tmp_path / "n.json") == line
    assert set(FORMATS) <= set(WRITERS)
