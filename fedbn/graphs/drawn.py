"""DAGs read from GraphML and DOT, the formats of programs that draw."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fedbn.errors import ResultsError, StructureError
from fedbn.graphs.dag import DAG

_NOT_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # long to compile, seldom used
_ID = r'"(?:[^"\\]|\\.)*"|[\w.-]+'
_LINE = re.compile(rf"^\s*({_ID})(?:\s*(->|--)\s*({_ID}))?\s*(\[.*\])?\s*;?\s*$")
_HEAD = r"(?:strict\s+)?digraph\b[^{}]*\{"
_SETTING = r"(?:node|edge)\s*\[[^\]]*\]\s*;?|\w+\s*=[^;]*;?"
_IGNORED = re.compile(rf"^\s*(?:(?://|\#).*|\}}|{_HEAD}|{_SETTING})?\s*$")


def require_xml_names(names: Iterable[str]) -> None:
    """Raises ResultsError for a name with a character that XML, and so GraphML, cannot hold."""
    for name in names:
        if re.search(_NOT_XML, name):
            raise ResultsError(f"GraphML cannot hold the name {name!r}; use .json or .csv")


def dot_id(name: str) -> str:
    """A name as DOT quotes it."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def dag_of_text(text: str, suffix: str) -> DAG:
    """The DAG of a ".graphml" or ".dot" text.

    DOT is read line by line, a node or an edge on each, as `structure_text` writes it.

    Raises
    ------
    StructureError : the text is not of the format, or the graph is not directed.
    """
    nodes, edges = _of_graphml(text) if suffix == ".graphml" else _of_dot(text)
    if not nodes:
        raise StructureError(f"a {suffix} file must have at least one node, found none")
    return DAG.from_edges(nodes, edges)


def _of_graphml(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    import networkx as nx

    try:
        graph = nx.parse_graphml(text)
    except Exception as error:  # the parser raises whatever it stumbles over
        raise StructureError(f"not valid GraphML: {error}") from None
    if not graph.is_directed() or graph.is_multigraph():
        raise StructureError("the graph must be directed, with at most one edge per pair")
    if any(word == "open" for _, _, word in graph.edges(data="directed")):
        raise StructureError("this is an equivalence class with open directions, not a DAG")
    return [str(node) for node in graph.nodes], [(str(a), str(b)) for a, b in graph.edges]


def _of_dot(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    nodes: dict[str, None] = {}
    edges = []
    for number, line in enumerate(text.split("\n"), 1):
        if _IGNORED.match(line):
            continue
        found = _LINE.match(line)
        if found is None:
            raise StructureError(f"line {number}: not a node or an edge on its own: {line[:60]!r}")
        one, arrow, other, style = found.groups()
        if arrow == "--" or (style and "dir=none" in style):
            raise StructureError(
                f"line {number}: an edge must be directed, got {line.strip()[:60]}"
            )
        ends = [_plain(word) for word in (one, other) if word is not None]
        nodes.update(dict.fromkeys(ends))
        if len(ends) == 2:
            edges.append((ends[0], ends[1]))
    return list(nodes), edges


def _plain(word: str) -> str:
    """A DOT id without its quotes."""
    if not word.startswith('"'):
        return word
    return re.sub(r'\\(["\\])', r"\1", word[1:-1])
