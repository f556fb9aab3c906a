"""Structure files: what is read, what is refused, and that the writers' bytes are fixed."""

import gzip
import json
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from fedbn.data.tables import write_table
from fedbn.errors import ResultsError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.files import read_nodes, read_structures
from fedbn.graphs.writing import structure_text, write_structure
from fedbn.networks.catalog import load_network

CHAIN = DAG.from_edges(("a", "b", "c"), [("a", "b"), ("b", "c")])

SEVERAL = """nodes a,b,c
# two graphs
dag first
a,b
b,c

dag second
"""

BIF = """network unknown { }
// a comment with variable x {
variable a { type discrete [ 2 ] { yes, no }; }
variable "b" { type discrete [ 2 ] { variable, probability }; }
variable c-1 { type discrete [ 2 ] { yes, no }; }
probability ( a ) { table 0.5, 0.5; }
probability ( b | a ) { (yes) 0.1, 0.9; (no) 0.5, 0.5; }
probability ( c-1 | a, b ) { (yes, variable) 0.1, 0.9; }
"""


def write(folder, name, text):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["graph.json", "graph.json.gz"])
def test_json_is_read_plain_and_gzipped(tmp_path, name):
    path = write(tmp_path, name, structure_text(CHAIN, ".json"))
    (entry,) = read_structures(path)
    assert (entry.label, entry.dag, entry.weight) == ("graph", CHAIN, 1)


def test_json_lists_carry_names_and_exact_weights(tmp_path):
    one = {"nodes": ["a", "b"], "edges": [["b", "a"]], "name": "north", "weight": "2/3"}
    two = {"nodes": ["a", "b"], "edges": [], "weight": 0.1}
    north, second = read_structures(write(tmp_path, "x.json", json.dumps([one, two])))
    assert (north.label, north.weight) == ("north", Fraction(2, 3))
    assert (second.label, second.weight) == ("x.1", Fraction(1, 10))


def test_several_dags_text(tmp_path):
    first, second = read_structures(write(tmp_path, "two.txt.gz", SEVERAL))
    assert (first.label, first.dag) == ("first", CHAIN)
    assert (second.label, second.dag) == ("second", DAG.empty(("a", "b", "c")))


def test_bif_gives_the_graph_alone(tmp_path):
    (entry,) = read_structures(write(tmp_path, "net.bif.gz", BIF))
    assert entry.dag.names == ("a", "b", "c-1")
    assert entry.dag.edges == (("a", "b"), ("a", "c-1"), ("b", "c-1"))


@pytest.mark.parametrize(
    "text", ["parent,child\na,b\nb,c\n", "a,b\nb,c\n", "to,x,from\nb,1,a\nc,,b"]
)
def test_edge_csv_with_and_without_header(tmp_path, text):
    (entry,) = read_structures(write(tmp_path, "e.csv", text), nodes=("a", "b", "c"))
    assert entry.dag == CHAIN


def test_a_header_word_that_is_a_node_is_an_edge(tmp_path):
    (entry,) = read_structures(write(tmp_path, "e.csv", "from,to\n"), nodes=("from", "to"))
    assert entry.dag.edges == (("from", "to"),)


def test_own_edge_csv_is_read_back(tmp_path):
    path = tmp_path / "e.csv"
    write_structure(CHAIN, path)
    assert read_structures(path, nodes=CHAIN.names)[0].dag == CHAIN


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.json", '{"nodes": ["a", "b"], "edges": [["a", "b"], ["b", "a"]]}', "cycle, found"),
        ("x.json", '{"nodes": ["a"], "edges": [["a", "q"]]}', "names 'q', which is no node"),
        ("x.json", '{"nodes": ["a"]}', "must be an object"),
        ("x.json", '{"nodes": "a", "edges": []}', "must be a list of texts"),
        ("x.json", '{"nodes": ["a"], "edges": [["a"]]}', r"must be \[parent, child\]"),
        ("x.json", '{"nodes": ["a"], "edges": [], "weight": 0}', "positive number, got 0"),
        ("x.json", '{"nodes": [', "not valid JSON"),
        ("x.json", "[]", "empty"),
        ("x.csv", "parent,child\n", "--nodes"),
        ("x.bif", "hello", "at least one variable"),
        ("x.txt", "a,b\n", "line 1: the first line must be 'nodes a,b,c'"),
        ("x.txt", "nodes a,b\na,b\n", "line 2: expected 'dag NAME'"),
        ("x.txt", "nodes a,b\n", "no DAG found"),
        ("x.txt", "nodes a,b\ndag z\na,b\nb,a\n", "DAG 'z': .*cycle"),
    ],
)
def test_wrong_files_are_refused_with_the_reason(tmp_path, name, text, words):
    path = write(tmp_path, name, text)
    with pytest.raises(StructureError, match=words) as error:
        read_structures(path)
    assert str(error.value).startswith(str(path))


def test_a_table_in_place_of_edges_is_told_where_it_belongs(tmp_path):
    table = write(tmp_path, "x.csv", "smoke,lung\nyes,no\nyes,no\nno,no\n")
    twice = r"edge 'yes' -> 'no' must be given once; a table .* \(fedbn learn\)"
    with pytest.raises(StructureError, match=twice):
        read_structures(table)
    with pytest.raises(StructureError, match="own parent, 'a' is$"):
        read_structures(write(tmp_path, "y.csv", "parent,child\na,a\n"))


@pytest.mark.parametrize("columns", [2, 3, 4, 8])
def test_tables_of_rows_are_known(tmp_path: Path, columns: int) -> None:
    rows = load_network("asia").sample(60, np.random.default_rng(columns))
    path = tmp_path / "x.csv"
    write_table(rows.select(rows.names[-columns:]), path)
    with pytest.raises(StructureError, match=r"\(fedbn learn\)$"):
        read_structures(path)


@pytest.mark.parametrize(
    "text",
    [
        "a,b\nb,c\nb,c\n",
        "a,b\nc,d\na,c\nc,d\n",
        "1,2\n3,4\n3,4\n",
        "a,b\nb,c\n\n\nc,a\n",
        "a,b,0.9\nc,d,0.8\nd,c,0.7\n",
        "a,b,0.9,0.6\nc,d,0.8,0.6\nc,d,0.7,0.5\n",
        "a,b,directed\nb,c,directed\nb,c,directed\n",
        "parent,child,strength\na,b,1\na,b,1\n",
    ],
)
def test_lists_of_edges_are_not_taken_for_tables(tmp_path: Path, text: str) -> None:
    with pytest.raises(StructureError, match="once|cycle") as error:
        read_structures(write(tmp_path, "x.csv", text))
    assert "fedbn learn" not in str(error.value)


@pytest.mark.parametrize("text", ["a -> b\nb -> c\nb -> c\n", "age\n40\n40\n"])
def test_lines_of_one_cell_are_not_taken_for_tables(tmp_path: Path, text: str) -> None:
    with pytest.raises(StructureError) as error:
        read_structures(write(tmp_path, "x.csv", text))
    assert "fedbn learn" not in str(error.value)


def test_short_edge_rows_name_their_line(tmp_path):
    path = write(tmp_path, "x.csv", "a,b\nc\n")
    with pytest.raises(StructureError, match="line 2: an edge needs"):
        read_structures(path, nodes=("a", "b", "c"))


def test_unreadable_files(tmp_path):
    with pytest.raises(StructureError, match=r"cannot read .*No such file"):
        read_structures(tmp_path / "nowhere.json")
    (tmp_path / "broken.json.gz").write_bytes(gzip.compress(b"[" * 1000)[:20])
    with pytest.raises(StructureError, match="not a complete gzip"):
        read_structures(tmp_path / "broken.json.gz")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StructureError, match="UTF-8"):
        read_structures(tmp_path / "binary.txt")


def test_given_nodes_must_agree(tmp_path):
    path = write(tmp_path, "x.json", structure_text(CHAIN, ".json"))
    with pytest.raises(StructureError, match=r"missing \['d'\], unknown \['c'\]"):
        read_structures(path, nodes=("a", "b", "d"))


def test_nodes_from_text_or_file(tmp_path):
    path = write(tmp_path, "names.txt", "b\na, c\n\n")
    assert read_nodes(str(path)) == ("b", "a", "c")
    with pytest.raises(StructureError, match="at least one name"):
        read_nodes(",")


def test_graphml_is_read_by_networkx_with_support(tmp_path):
    path = tmp_path / "g.graphml"
    write_structure(CHAIN, path, support={("a", "b"): 0.5})
    graph = nx.read_graphml(path)
    assert list(graph.nodes) == ["a", "b", "c"]
    assert graph.edges["a", "b"]["support"] == 0.5


def test_dot_escapes_names():
    dag = DAG.from_edges(('say "hi"', "b\\c"), [('say "hi"', "b\\c")])
    text = structure_text(dag, ".dot", support={('say "hi"', "b\\c"): 1.0})
    assert '"say \\"hi\\"" -> "b\\\\c" [penwidth=3.00, weight=1.0000, style=dashed];' in text


def test_writing_refuses_unknown_suffixes_and_bad_places(tmp_path):
    with pytest.raises(ResultsError, match=r"must end in one of"):
        write_structure(CHAIN, tmp_path / "g.xls")
    with pytest.raises(ResultsError, match="cannot write"):
        write_structure(CHAIN, tmp_path / "no" / "g.csv")


@pytest.mark.parametrize("suffix", [".json", ".graphml", ".dot"])
def test_what_is_written_is_read_again(tmp_path: Path, suffix: str) -> None:
    names = (" outer ", 'a "quoted" one', "back\\slash", "ä", "x.y-z", "$a$b", "alone")
    dag = DAG.from_edges(names, [(names[0], names[1]), (names[2], names[3]), (names[4], names[5])])
    write_structure(dag, tmp_path / f"g{suffix}")
    (entry,) = read_structures(tmp_path / f"g{suffix}")
    assert entry.dag.reorder(names) == dag


def test_an_edge_csv_keeps_outer_blanks_and_needs_no_nodes(tmp_path: Path) -> None:
    dag = DAG.from_edges((" a", "b "), [(" a", "b ")])
    write_structure(dag, tmp_path / "g.csv")
    (entry,) = read_structures(tmp_path / "g.csv")
    assert entry.dag == dag
    (entry,) = read_structures(tmp_path / "g.csv", nodes=("a", "b"))
    assert entry.dag.edges == (("a", "b"),)
    (entry,) = read_structures(tmp_path / "g.csv", nodes=(" a", "b ", "c"))
    assert entry.dag.edges == ((" a", "b "),)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("g.dot", "graph {\n  a -- b\n}\n", "line 1"),
        ("g.dot", "digraph {\n  a -> b [dir=none]\n}\n", "must be directed"),
        ("g.dot", "digraph { a -> b }\n", "line 1: not a node"),
        ("g.dot", "digraph {\n}\n", "at least one node"),
        ("g.graphml", "<graphml", "not valid GraphML"),
        ("g.json", '{"nodes": ["a\\ud800"], "edges": []}', "must be valid text"),
    ],
)
def test_drawings_that_are_no_dags(tmp_path: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(StructureError, match=words):
        read_structures(write(tmp_path, name, text))


def test_a_class_is_not_read_as_a_dag(tmp_path: Path) -> None:
    from fedbn.graphs.directions import write_class
    from fedbn.graphs.pdag import dag_to_cpdag

    for suffix in (".graphml", ".dot", ".json"):
        write_class(dag_to_cpdag(DAG.from_edges("ab", ["ab"])), tmp_path / f"g{suffix}")
        with pytest.raises(StructureError):
            read_structures(tmp_path / f"g{suffix}")


def test_names_that_xml_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="GraphML cannot hold the name"):
        write_structure(DAG.empty(("a\x01",)), tmp_path / "g.graphml")


def test_a_structure_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fedbn.whole_file.os.fsync", full)
    (tmp_path / "dag.csv").write_text("before")
    with pytest.raises(ResultsError, match=r"cannot write .*dag\.csv: No space left on device"):
        write_structure(DAG.from_edges("ab", [("a", "b")]), tmp_path / "dag.csv")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]
