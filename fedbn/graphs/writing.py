"""Structures into files: edge CSV, JSON, GraphML and DOT. The bytes depend on the graph alone."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from fedbn.errors import ResultsError
from fedbn.graphs.dag import DAG
from fedbn.graphs.drawn import require_xml_names
from fedbn.spreadsheet import written_cells
from fedbn.whole_file import require_writable, write_whole

__all__ = ["dot_id", "require_structure_file", "structure_text", "write_structure"]

Edge = tuple[str, str]


def structure_text(dag: DAG, suffix: str, *, support: Mapping[Edge, float] | None = None) -> str:
    """The text of a structure file.

    Parameters
    ----------
    suffix : ".csv" (header `parent,child`), ".json", ".graphml" or ".dot".
    support : the fraction of clients that have each edge; written into GraphML and DOT.

    >>> print(structure_text(DAG.from_edges(("a", "b"), [("b", "a")]), ".csv"), end="")
    parent,child
    b,a
    """
    if suffix not in _WRITERS:
        raise ResultsError(
            f"a structure file must end in one of {', '.join(_WRITERS)}, not {suffix!r}"
        )
    return _WRITERS[suffix](dag, support or {})


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
    dag: DAG, path: str | Path, *, support: Mapping[Edge, float] | None = None
) -> None:
    """Write `structure_text` for the suffix of `path`, whole or not at all.

    Raises
    ------
    ResultsError : the suffix is unknown or the file cannot be written.
    """
    path = Path(path)
    text = structure_text(dag, path.suffix.lower(), support=support)
    write_whole(path, text)


def _edge_csv(dag: DAG, support: Mapping[Edge, float]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("parent", "child"))
    writer.writerows(map(written_cells, dag.edges))
    return out.getvalue()


def _json(dag: DAG, support: Mapping[Edge, float]) -> str:
    content = {"nodes": list(dag.names), "edges": [list(edge) for edge in dag.edges]}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _graphml(dag: DAG, support: Mapping[Edge, float]) -> str:
    import networkx as nx

    require_xml_names(dag.names)
    graph = dag.to_networkx()
    for edge, share in support.items():
        if graph.has_edge(*edge):
            graph.edges[edge]["support"] = float(share)
    lines = nx.generate_graphml(graph, named_key_ids=True)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + "\n".join(lines) + "\n"


def _dot(dag: DAG, support: Mapping[Edge, float]) -> str:
    lines = ["digraph consensus {", "  rankdir=TB;", "  node [shape=box, style=rounded];"]
    lines += [f"  {dot_id(name)};" for name in dag.names]
    for parent, child in dag.edges:
        share = support.get((parent, child))
        style = "" if share is None else f" [penwidth={0.5 + 2.5 * share:.2f}, weight={share:.4f}]"
        lines.append(f"  {dot_id(parent)} -> {dot_id(child)}{style};")
    return "\n".join([*lines, "}"]) + "\n"


def dot_id(name: str) -> str:
    """A name as DOT quotes it."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_WRITERS: Mapping[str, Callable[[DAG, Mapping[Edge, float]], str]] = {
    ".csv": _edge_csv,
    ".json": _json,
    ".graphml": _graphml,
    ".dot": _dot,
}
