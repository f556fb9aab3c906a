"""Structures into files: edge CSV, JSON, GraphML and DOT. The bytes depend on the graph alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from fedbn.errors import ResultsError
from fedbn.graphs.dag import DAG
from fedbn.graphs.directions import directed_words
from fedbn.graphs.drawn import dot_id, require_xml_names
from fedbn.spreadsheet import written_text
from fedbn.whole_file import require_writable, write_whole

Edge = tuple[str, str]
Support = Mapping[Edge, float] | None


def structure_text(
    dag: DAG,
    suffix: str,
    *,
    support: Mapping[Edge, float] | None = None,
    directed: Mapping[Edge, str] | None = None,
) -> str:
    """The text of a structure file.

    Parameters
    ----------
    suffix : ".csv" (header `parent,child,directed`), ".json", ".graphml" or ".dot" (an edge whose
        direction is open is dashed).
    support : the fraction of clients that have each edge; not written into JSON.
    directed : the word of every edge; by default that of `directed_words`. Likewise.

    >>> print(structure_text(DAG.from_edges(("a", "b"), [("b", "a")]), ".csv"), end="")
    parent,child,directed
    b,a,open
    """
    if suffix not in _WRITERS:
        raise ResultsError(
            f"a structure file must end in one of {', '.join(_WRITERS)}, not {suffix!r}"
        )
    words = directed_words(dag) if directed is None else directed
    return _WRITERS[suffix](dag, support, words)


def require_structure_file(path: str | Path) -> None:
    """Checks before a long search that `write_structure` can write there.

    Raises
    ------
    ResultsError : the suffix is unknown, or the file cannot be written.
    """
    path = Path(path)
    structure_text(DAG.empty(("a",)), path.suffix.lower())
    require_writable(path)


def write_structure(
    dag: DAG,
    path: str | Path,
    *,
    support: Mapping[Edge, float] | None = None,
    directed: Mapping[Edge, str] | None = None,
) -> None:
    """Write `structure_text` for the suffix of `path`, whole or not at all.

    Raises
    ------
    ResultsError : the suffix is unknown or the file cannot be written.
    """
    path = Path(path)
    text = structure_text(dag, path.suffix.lower(), support=support, directed=directed)
    write_whole(path, text)


def _edge_csv(dag: DAG, support: Support, directed: Mapping[Edge, str]) -> str:
    rows = [("parent", "child", "directed"), *((*edge, word) for edge, word in directed.items())]
    if support is None:
        return written_text(rows)
    last = ("support", *(support[edge] for edge in directed))
    return written_text((*row, cell) for row, cell in zip(rows, last, strict=True))


def _json(dag: DAG, support: Support, directed: Mapping[Edge, str]) -> str:
    content = {"nodes": list(dag.names), "edges": [list(edge) for edge in dag.edges]}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _graphml(dag: DAG, support: Support, directed: Mapping[Edge, str]) -> str:
    import networkx as nx

    require_xml_names(dag.names)
    graph = dag.to_networkx()
    for edge, share in (support or {}).items():
        if graph.has_edge(*edge):
            graph.edges[edge]["support"] = float(share)
    for edge, word in directed.items():
        graph.edges[edge]["direction"] = word
    lines = nx.generate_graphml(graph, named_key_ids=True)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + "\n".join(lines) + "\n"


def _dot(dag: DAG, support: Support, directed: Mapping[Edge, str]) -> str:
    lines = ["digraph consensus {", "  rankdir=TB;", "  node [shape=box, style=rounded];"]
    lines += [f"  {dot_id(name)};" for name in dag.names]
    for (parent, child), word in directed.items():
        share = None if support is None else support.get((parent, child))
        width = () if share is None else (f"penwidth={0.5 + 2.5 * share:.2f}, weight={share:.4f}",)
        style = ", ".join((*width, *(("style=dashed",) if word == "open" else ())))
        lines.append(f"  {dot_id(parent)} -> {dot_id(child)}{style and f' [{style}]'};")
    return "\n".join([*lines, "}"]) + "\n"


_WRITERS: Mapping[str, Callable[[DAG, Support, Mapping[Edge, str]], str]] = {
    ".csv": _edge_csv,
    ".json": _json,
    ".graphml": _graphml,
    ".dot": _dot,
}
