"""Hugin's .net: networks of discrete chance nodes, in and out.

    node X { states = ("no" "yes"); }
    potential (X | A B) { data = ((0.1 0.9) (0.8 0.2) ...); }

In `data` the parents run as they are listed, the last one fastest, then the states of X; numbers
are written so that they are read back bit by bit. Names and states are identifiers; a warning says
what was renamed. Other attributes are passed over; other kinds of nodes are refused by their name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from fedbn.errors import NetworkError
from fedbn.networks.json_file import read_text
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.number_tables import network_of_numbers
from fedbn.networks.plain_words import IDENTIFIER, with_words

_TOKEN = re.compile(r'\s*+(?:%[^\n]*+|("(?:[^"\\]|\\.)*+"|[{}()=;|]|[^\s{}()=;|"%]++|"|\Z))')
_CHANCE = ("node", "discrete")
_OTHER = ("continuous", "utility", "decision", "function", "class")


def hugin_text(network: BayesianNetwork) -> str:
    """The network as Hugin's .net; equal texts for equal networks. Warns of changed names."""
    said = with_words(network, "Hugin", IDENTIFIER)
    lines = ["net", "{", "}"]
    for name, states in zip(said.names, said.schema.states, strict=True):
        told = " ".join(f'"{state}"' for state in states)
        lines += [f"node {name}", "{", f"  states = ({told});", "}"]
    for node, name in enumerate(said.names):
        parents = [said.names[parent] for parent in said.dag.parents(node)]
        sizes = [len(said.schema.states[parent]) for parent in said.dag.parents(node)]
        head = f"{name} | {' '.join(parents)}" if parents else name
        data = _in_brackets(said.cpts[node].tolist(), sizes)
        lines += [f"potential ({head})", "{", f"  data = {data};", "}"]
    return "\n".join(lines) + "\n"


def _in_brackets(rows: list[list[float]], sizes: list[int]) -> str:
    """The rows in one pair of brackets per parent."""
    parts = [f"({' '.join(map(repr, row))})" for row in rows]
    for size in reversed(sizes):
        parts = [f"({' '.join(parts[i : i + size])})" for i in range(0, len(parts), size)]
    return parts[0]


def read_hugin(path: str | Path) -> BayesianNetwork:
    """The network of a .net file.

    Raises
    ------
    NetworkError : the file cannot be read, or is not such a network; names file and variable.
    """
    reader = _Reader(str(path), read_text(path))
    reader.read()
    return network_of_numbers(str(path), reader.states, reader.tables)


class _Reader:
    """A cursor over the tokens; `read` fills `states` and `tables`, by variable."""

    def __init__(self, source: str, text: str) -> None:
        self.source = source
        self.tokens: list[str] = [*filter(None, _TOKEN.findall(text)), ""]
        self.at = 0
        self.states: dict[str, list[str]] = {}
        self.tables: dict[str, tuple[list[str], list[float]]] = {}

    def read(self) -> None:
        while word := self._next():
            if word in _CHANCE:
                name = self._next()
                name = self._next() if word == "discrete" and name == "node" else name
                self._node(name)
            elif word == "potential":
                self._potential()
            elif word == "net":
                list(self._attributes("net"))
            elif word in _OTHER:
                raise self._wrong(f"{word} {self._next()}: only discrete chance nodes can be read")
            else:
                raise self._wrong(f"expected net, node or potential, found {word[:40]!r}")

    def _node(self, name: str) -> None:
        if name in self.states:
            raise self._wrong(f"variable {name!r} is there twice")
        self.states[name] = []
        for key, values in self._attributes(name):
            if key == "states":
                self.states[name] = [_without_quotes(v) for v in values if v not in "()"]

    def _potential(self) -> None:
        self._expect("(", "potential")
        family = list(iter(self._next, ")"))
        if "" in family or "(" in family:
            raise self._wrong("a potential must name its variables in brackets")
        name = family[0] if family else ""
        if name in self.tables:
            raise self._wrong(f"variable {name!r} has two tables")
        if family[1:2] not in ([], ["|"]):
            raise self._wrong(f"the potential of {name!r} must be of one variable given others")
        self.tables[name] = (family[2:], [])
        for key, values in self._attributes(name):
            if key == "data":
                self.tables[name] = (family[2:], self._numbers(name, values))

    def _numbers(self, name: str, values: list[str]) -> list[float]:
        try:
            return [float(value) for value in values if value not in "()"]
        except ValueError as error:
            raise self._wrong(f"the table of {name!r}: {error}") from None

    def _attributes(self, name: str) -> Iterator[tuple[str, list[str]]]:
        """Key and tokens of every `key = tokens;` between braces."""
        self._expect("{", name)
        while (key := self._next()) != "}":
            self._expect("=", name)
            values = list(iter(self._next, ";"))
            if "" in values:
                raise self._wrong(f"{name}: the file ends after {key!r}")
            yield key, values

    def _expect(self, token: str, name: str) -> None:
        found = self._next()
        if found != token:
            raise self._wrong(f"{name}: expected {token!r}, found {found[:40]!r}")

    def _next(self) -> str:
        token = self.tokens[min(self.at, len(self.tokens) - 1)]
        if self.at > len(self.tokens):
            raise self._wrong("the file ends too early")
        self.at += 1
        return token

    def _wrong(self, words: str) -> NetworkError:
        return NetworkError(f"{self.source}: {words}")


def _without_quotes(token: str) -> str:
    quoted = len(token) > 1 and token.startswith('"') and token.endswith('"')
    return token[1:-1] if quoted else token
