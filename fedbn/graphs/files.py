"""Structures in files: read DAGs from what people have.

They may be (each plain or gzipped, told apart by the suffix before `.gz`):

* `.json`: `{"nodes": [...], "edges": [[parent, child], ...]}`, or a list of such objects; an
  object may have a `name` and a `weight` (a number, or an exact fraction as text, "2/3");
* `.bif`: the graph of a Bayesian network (its tables are not looked at);
* `.csv`: one edge per row, parent then child, with or without a header. An edge list does not name
  the variables without edges: give them as `nodes`, or those with edges are all;
* `.graphml`, `.dot`: as written here; other GraphML of directed graphs, nodes named by their ids;
* anything else: the several-DAGs text format, a line `nodes a,b,c`, then for each DAG a line
  `dag NAME` and one line `parent,child` per edge; lines that start with `#` are comments.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from fedbn.bounded_file import json_value, read_bounded
from fedbn.errors import StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.drawn import dag_of_text
from fedbn.spreadsheet import read_cell

Edge = tuple[str, str]

_NUMBER = re.compile(r"\+?[0-9./_]{1,100}(?:[eE][+-]?[0-9]{1,3})?")
"""A weight that is worth computing: "1e9999999" as a fraction fills the memory."""

_WIDEST_EDGE = 4
"""Cells of an edge in a file without a header: parent, child, strength, direction."""

_HEADERS = (("parent", "child"), ("from", "to"), ("source", "target"), ("tail", "head"))


@dataclass(frozen=True)
class NamedDAG:
    """A DAG as a file gave it: with a label for humans and a positive weight."""

    label: str
    dag: DAG
    weight: Fraction = Fraction(1)


def read_structures(
    path: str | Path, *, nodes: Sequence[str] | None = None
) -> tuple[NamedDAG, ...]:
    """Read the DAGs of one file, in the file's order.

    Parameters
    ----------
    path : the file; its suffix tells the format (see the module).
    nodes : the variables of an edge CSV; other formats name their own, and must agree.

    Raises
    ------
    StructureError
        The file cannot be read, is not of its format, or holds a graph that is no DAG; the message
        names file, line or DAG, and offending value.
    """
    path = Path(path)
    text = _read_text(path)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    found: tuple[NamedDAG, ...]
    try:
        if suffix == ".csv":
            found = (_from_edge_csv(text, path, nodes),)
        elif suffix == ".json":
            found = _from_json(text, path)
        elif suffix == ".bif":
            found = (_from_bif(text, path),)
        elif suffix in (".graphml", ".dot"):
            found = (NamedDAG(_stem(path), dag_of_text(text, suffix)),)
        else:
            found = _from_several(text)
    except StructureError as error:
        hint = _table_hint(text) if suffix == ".csv" else ""
        raise StructureError(f"{path}: {error}{hint}") from None
    if nodes is not None:
        _check_nodes(found, nodes, path)
    _check_names(found, path)
    return found


def read_nodes(text: str) -> tuple[str, ...]:
    """Variable names from `a,b,c`, or from a file with one name per line or commas between.

    >>> read_nodes("wet, rain,sun")
    ('wet', 'rain', 'sun')
    """
    path = Path(text)
    listed = _read_text(path) if len(text) < 4096 and path.is_file() else text
    names = tuple(name.strip() for name in re.split(r"[,\n]", listed) if name.strip())
    if not names:
        raise StructureError(f"--nodes must list at least one name, got {text!r}")
    return names


def _read_text(path: Path) -> str:
    try:
        data = read_bounded(path, gzipped=path.suffix.lower() == ".gz")
        return data.decode("utf-8-sig")
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise StructureError(f"{path}: not a complete gzip file") from None
    except UnicodeDecodeError as error:
        raise StructureError(
            f"{path}: a structure file must be UTF-8 text, byte {error.start} is not"
        ) from None
    except OSError as error:
        raise StructureError(f"cannot read {path}: {error.strerror or error}") from None


def _check_nodes(found: Iterable[NamedDAG], nodes: Sequence[str], path: Path) -> None:
    for entry in found:
        missing = sorted(set(nodes) - set(entry.dag.names))
        unknown = sorted(set(entry.dag.names) - set(nodes))
        if missing or unknown:
            raise StructureError(
                f"{path}: DAG {entry.label!r} must have the given nodes; "
                f"missing {missing}, unknown {unknown}"
            )


def _check_names(found: Iterable[NamedDAG], path: Path) -> None:
    """Names must be text that files can hold."""
    for name in {name for entry in found for name in entry.dag.names}:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            raise StructureError(f"{path}: a name must be valid text, {name!r} is not") from None


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]


def _from_edge_csv(text: str, path: Path, nodes: Sequence[str] | None) -> NamedDAG:
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        rows = [(n, row) for n, row in enumerate(reader, 1) if any(row)]
    except csv.Error as error:
        raise StructureError(f"line {reader.line_num}: {error}") from None
    columns = (0, 1)
    if rows:
        head = [cell.strip().lower() for cell in rows[0][1]]
        header = next((pair for pair in _HEADERS if set(pair) <= set(head)), None)
        if header is not None and (nodes is None or not set(rows[0][1]) <= set(nodes)):
            columns = (head.index(header[0]), head.index(header[1]))
            rows = rows[1:]
        elif len(head) > _WIDEST_EDGE and nodes is None:
            raise StructureError(
                f"line 1 must be a header with parent and child, or an edge, not {len(head)} cells"
            )
    if not rows and nodes is None:
        raise StructureError("an edge CSV without edges names no variables; give them with --nodes")
    edges: list[Edge] = []
    for number, row in rows:
        if len(row) <= max(columns) or (columns == (0, 1) and len(row) < 2):
            raise StructureError(f"line {number}: an edge needs a parent and a child, got {row}")
        edges.append((_cell(row[columns[0]], nodes), _cell(row[columns[1]], nodes)))
    if nodes is None:
        nodes = sorted({name for edge in edges for name in edge})
    return NamedDAG(_stem(path), DAG.from_edges(nodes, edges))


def _table_hint(text: str) -> str:
    """Words for a file that looks like a table of rows.

    Its first line is not the header of an edge list, and has more cells than an edge; or it is like
    the names of columns (no numbers, and no cell comes up again below), and has more cells than
    parent and child, or as many while a line below is repeated.
    """
    lines = [_bare_cells(line) for line in text.splitlines() if line.strip()]
    if not lines or any(set(pair) <= {cell.lower() for cell in lines[0]} for pair in _HEADERS):
        return ""
    first, others = lines[0], lines[1:]
    below = {cell for line in others for cell in line}
    names = below.isdisjoint(first) and not any(map(_NUMBER.fullmatch, first))
    is_repeated = len({*map(tuple, others)}) < len(others)
    like_rows = len(first) > 2 or (len(first) == 2 and is_repeated)
    if not (len(first) > _WIDEST_EDGE or (names and like_rows)):
        return ""
    return "; a table of rows is no list of edges: learn a structure from it (fedbn learn)"


def _bare_cells(line: str) -> list[str]:
    return [cell.strip(" \"'") for cell in re.split("[,;\t]", line)]


def _cell(text: str, nodes: Sequence[str] | None) -> str:
    """The name in a cell as it stands; without outer blanks only where that is the given name."""
    stripped = text.strip()
    if nodes is not None and text not in nodes and stripped in nodes:
        return stripped
    return text if nodes is not None and text in nodes else read_cell(text)


def _from_json(text: str, path: Path) -> tuple[NamedDAG, ...]:
    try:
        content = json_value(text)
    except ValueError as error:
        raise StructureError(f"not valid JSON: {error}") from None
    entries = content if isinstance(content, list) else [content]
    if not entries:
        raise StructureError("the list of DAGs is empty")
    stem = _stem(path)
    several = isinstance(content, list)
    return tuple(
        _from_object(entry, f"{stem}.{i}" if several else stem) for i, entry in enumerate(entries)
    )


def _from_object(entry: Any, label: str) -> NamedDAG:
    if not isinstance(entry, dict) or "nodes" not in entry or "edges" not in entry:
        raise StructureError(
            'a DAG must be an object {"nodes": [...], "edges": [[parent, child], ...]}'
        )
    nodes, edges = entry["nodes"], entry["edges"]
    if not isinstance(nodes, list) or not all(isinstance(name, str) for name in nodes):
        raise StructureError(f'"nodes" must be a list of texts, got {_show(nodes)}')
    if not isinstance(edges, list):
        raise StructureError(f'"edges" must be a list of pairs, got {_show(edges)}')
    for edge in edges:
        if (
            not isinstance(edge, list)
            or len(edge) != 2
            or not all(isinstance(end, str) for end in edge)
        ):
            raise StructureError(f"an edge must be [parent, child], got {_show(edge)}")
    dag = DAG.from_edges(nodes, [(parent, child) for parent, child in edges])
    name = entry.get("name", label)
    return NamedDAG(name if isinstance(name, str) else label, dag, _weight(entry.get("weight", 1)))


def _weight(value: Any) -> Fraction:
    text = value if isinstance(value, str) else repr(value)
    try:
        weight = Fraction(text) if _NUMBER.fullmatch(text.strip()) else Fraction(0)
    except (ValueError, ZeroDivisionError):
        weight = Fraction(0)
    if isinstance(value, bool) or weight <= 0:
        raise StructureError(f"a weight must be a positive number, got {_show(value)}")
    return weight


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_BIF_TOKEN = re.compile(r'"[^"]*"|[^\s{}()|,;\[\]="]+|[{}()|,;\[\]=]')


def _from_bif(text: str, path: Path) -> NamedDAG:
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    tokens = [token.strip('"') for token in _BIF_TOKEN.findall(bare)]
    nodes: list[str] = []
    edges: list[Edge] = []
    depth = 0
    for at, token in enumerate(tokens):
        if depth == 0 and token == "variable" and at + 1 < len(tokens):
            nodes.append(tokens[at + 1])
        if depth == 0 and token == "probability":
            inside = tokens[at + 2 : tokens.index(")", at) if ")" in tokens[at:] else at + 2]
            family = [name for name in inside if name not in ("|", ",")]
            edges.extend((parent, family[0]) for parent in family[1:])
        depth += (token == "{") - (token == "}")
    if not nodes:
        raise StructureError("a BIF file must declare at least one variable, found none")
    return NamedDAG(_stem(path), DAG.from_edges(nodes, edges))


def _from_several(text: str) -> tuple[NamedDAG, ...]:
    nodes: tuple[str, ...] | None = None
    graphs: list[tuple[str, list[Edge]]] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if nodes is None:
            if not line.startswith("nodes "):
                raise StructureError(
                    f"line {number}: the first line must be 'nodes a,b,c', got {_show(line)}"
                )
            nodes = tuple(name.strip() for name in line[6:].split(","))
        elif line.startswith("dag ") or line == "dag":
            graphs.append((line[4:].strip() or str(len(graphs)), []))
        else:
            ends = tuple(end.strip() for end in line.split(","))
            if len(ends) != 2 or not graphs:
                raise StructureError(
                    f"line {number}: expected 'dag NAME' or, in a DAG, 'parent,child'; "
                    f"got {_show(line)}"
                )
            graphs[-1][1].append((ends[0], ends[1]))
    if nodes is None or not graphs:
        raise StructureError("no DAG found: it needs a 'nodes' line and at least one 'dag' line")
    return tuple(_several_entry(nodes, label, edges) for label, edges in graphs)


def _several_entry(nodes: tuple[str, ...], label: str, edges: list[Edge]) -> NamedDAG:
    try:
        return NamedDAG(label, DAG.from_edges(nodes, edges))
    except StructureError as error:
        raise StructureError(f"DAG {label!r}: {error}") from None
