"""Which directions a class determines, from all its members; and the class in files."""

import json

import networkx as nx
import numpy as np
import pytest

from fedbn.errors import ResultsError
from fedbn.graphs.dag import DAG
from fedbn.graphs.directions import (
    CLASS_SUFFIXES,
    class_text,
    directed_words,
    directions_line,
    write_class,
)
from fedbn.graphs.pdag import dag_to_cpdag
from tests import naive_credible as slow

CANCER = DAG.from_edges(
    ("cancer", "dysp", "pollution", "smoke", "xray"),
    [("pollution", "cancer"), ("smoke", "cancer"), ("cancer", "xray"), ("cancer", "dysp")],
)


@pytest.fixture(scope="module")
def by_class() -> dict[bytes, list[DAG]]:
    classes: dict[bytes, list[DAG]] = {}
    for choice in slow.all_parent_sets(4):
        dag = slow.dag_of(tuple("abcd"), choice)
        classes.setdefault(dag_to_cpdag(dag).adjacency.tobytes(), []).append(dag)
    return classes


def test_a_direction_is_open_iff_a_member_has_the_other(by_class) -> None:
    for members in by_class.values():
        some = np.any([dag.adjacency for dag in members], axis=0)
        for dag in members:
            expected = {
                (a, b): "open" if some[dag.names.index(b), dag.names.index(a)] else "compelled"
                for a, b in dag.edges
            }
            assert directed_words(dag) == expected


def test_the_line() -> None:
    assert directions_line(CANCER) == "0 of 4 directions are not determined"
    chain = DAG.from_edges("abc", [("b", "a"), ("b", "c")])
    assert directions_line(chain) == "2 of 2 directions are not determined"
    assert directions_line(DAG.empty("ab")) == "there is no edge, so no direction"
    pair = DAG.from_edges("ab", [("a", "b")])
    assert directions_line(pair) == "the only direction is not determined"


def test_files_of_a_class(tmp_path) -> None:
    mixed = DAG.from_edges(("a", "b", "c", 'd "x"', "e"), [("a", "c"), ("b", "c"), ('d "x"', "e")])
    cpdag = dag_to_cpdag(mixed)
    assert class_text(cpdag, ".csv") == (
        'from,to,directed\na,c,compelled\nb,c,compelled\n"d ""x""",e,open\n'
    )
    content = json.loads(class_text(cpdag, ".json"))
    assert content["directed"] == [["a", "c"], ["b", "c"]]
    assert content["undirected"] == [['d "x"', "e"]]
    write_class(cpdag, tmp_path / "class.graphml")
    graph = nx.read_graphml(tmp_path / "class.graphml")
    assert {word for _, _, word in graph.edges(data="directed")} == {"compelled", "open"}
    dot = class_text(cpdag, ".dot")
    assert '"d \\"x\\"" -> "e" [dir=none];' in dot
    assert '"a" -> "c";' in dot
    assert CLASS_SUFFIXES == (".csv", ".json", ".graphml", ".dot")
    with pytest.raises(ResultsError, match="must end in one of"):
        class_text(cpdag, ".txt")
    with pytest.raises(ResultsError, match="cannot write"):
        write_class(cpdag, tmp_path / "nowhere" / "class.csv")
