"""Which directions of a DAG its equivalence class determines, and the class as a file.

An edge is compelled when every DAG of the class has it in this direction, and open when some have
it in the other. No score that is equal for equivalent DAGs, and no data without interventions, say
anything of an open direction. Where background knowledge is kept, an edge that is open without it
may have one direction in all members that keep it: then it is directed by knowledge. `ARROWS` says
so to whoever reads a result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from fedbn.errors import ResultsError
from fedbn.graphs.dag import DAG
from fedbn.graphs.drawn import dot_id, require_xml_names
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.known_class import class_of
from fedbn.graphs.pdag import PDAG, consistent_extension, dag_to_cpdag
from fedbn.spreadsheet import written_text
from fedbn.whole_file import write_whole

Edge = tuple[str, str]

ARROWS = (
    "An arrow marked compelled has the same direction in every network that fits the data equally; "
    "an arrow marked open could also be reversed. A compelled arrow shows a cause only if no "
    "common cause is missing; an open arrow never does."
)
"""What an arrow means, and what it does not."""


def directed_words(dag: DAG, knowledge: Knowledge | None = None) -> dict[Edge, str]:
    """Each edge of a DAG -> "compelled", "by knowledge" or "open".

    Parameters
    ----------
    dag : keeps the knowledge.
    knowledge : what is known; None for nothing.

    Raises
    ------
    StructureError : no DAG of the class keeps the knowledge.

    Examples
    --------
    >>> chain = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
    >>> directed_words(chain)
    {('a', 'b'): 'open', ('b', 'c'): 'open'}
    >>> directed_words(chain, Knowledge(forbidden=(("b", "a"),)))
    {('a', 'b'): 'by knowledge', ('b', 'c'): 'by knowledge'}
    """
    compelled = set(dag_to_cpdag(dag).directed_edges)
    known = set() if knowledge is None else set(class_of(dag, knowledge).directed_edges)
    return {
        edge: "compelled" if edge in compelled else "by knowledge" if edge in known else "open"
        for edge in dag.edges
    }


def directions_line(dag: DAG) -> str:
    """How many directions are open, in one line.

    >>> directions_line(DAG.from_edges("abc", [("a", "b"), ("b", "c")]))
    '2 of 2 directions are not determined'
    """
    words = list(directed_words(dag).values())
    some = words.count("open")
    if not words:
        return "there is no edge, so no direction"
    if len(words) == 1:
        return "the only direction is " + ("not determined" if some else "determined")
    return f"{some} of {len(words)} directions {'is' if some == 1 else 'are'} not determined"


def class_text(cpdag: PDAG, suffix: str) -> str:
    """The text of a file of an equivalence class, or of one under knowledge (`class_of`).

    Parameters
    ----------
    suffix : ".csv" (`from,to,directed`), ".json" (nodes, directed, undirected), ".graphml" or
        ".dot" (open edges without an arrowhead).

    Raises
    ------
    ResultsError : another suffix. StructureError : this is no class.

    >>> print(class_text(PDAG.from_edges("ab", undirected=[("a", "b")]), ".csv"), end="")
    from,to,directed
    a,b,open
    """
    if suffix not in _WRITERS:
        raise ResultsError(
            f"a file of a class must end in one of {', '.join(CLASS_SUFFIXES)}, not {suffix!r}"
        )
    return _WRITERS[suffix](cpdag)


def write_class(cpdag: PDAG, path: str | Path) -> None:
    """Write `class_text` for the last suffix of `path`; raises ResultsError if that cannot be."""
    write_whole(path, class_text(cpdag, Path(path).suffix.lower()))


def _mark(cpdag: PDAG) -> list[tuple[str, str, str]]:
    compelled = set(dag_to_cpdag(consistent_extension(cpdag)).directed_edges)
    marked = [
        (*edge, "compelled" if edge in compelled else "by knowledge")
        for edge in cpdag.directed_edges
    ]
    return sorted(marked + [(*pair, "open") for pair in cpdag.undirected_edges])


def _csv(cpdag: PDAG) -> str:
    return written_text([("from", "to", "directed"), *_mark(cpdag)])


def _json(cpdag: PDAG) -> str:
    content = {
        "nodes": list(cpdag.names),
        "directed": [list(edge) for edge in cpdag.directed_edges],
        "undirected": [list(pair) for pair in cpdag.undirected_edges],
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _graphml(cpdag: PDAG) -> str:
    import networkx as nx

    require_xml_names(cpdag.names)
    graph = nx.DiGraph()
    graph.add_nodes_from(cpdag.names)
    for one, other, word in _mark(cpdag):
        graph.add_edge(one, other, directed=word)
    lines = nx.generate_graphml(graph, named_key_ids=True)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + "\n".join(lines) + "\n"


def _dot(cpdag: PDAG) -> str:
    lines = ["digraph cpdag {", "  rankdir=TB;", "  node [shape=box, style=rounded];"]
    lines += [f"  {dot_id(name)};" for name in cpdag.names]
    for one, other, word in _mark(cpdag):
        style = " [dir=none]" if word == "open" else ""
        lines.append(f"  {dot_id(one)} -> {dot_id(other)}{style};")
    return "\n".join([*lines, "}"]) + "\n"


_WRITERS: Mapping[str, Callable[[PDAG], str]] = {
    ".csv": _csv,
    ".json": _json,
    ".graphml": _graphml,
    ".dot": _dot,
}
CLASS_SUFFIXES = tuple(_WRITERS)
