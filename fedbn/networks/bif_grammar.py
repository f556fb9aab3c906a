"""The text of a BIF file as a network.

The grammar is that of the Interchange Format for Bayesian Networks, version 0.15 (Cozman 1998), as
the Bayesian Network Repository writes it:

    network NAME { }
    variable X { type discrete [ 2 ] { yes, no }; }
    probability ( X | A, B ) { (yes, no) 0.1, 0.9;  default 0.5, 0.5; }
    probability ( A ) { table 0.2, 0.8; }

Words may stand in quotes; commas are blanks; `property ...;` is passed over; comments are those of
C++. In a `table` with parents the variable's states run slowest and the last parent fastest. Names
that differ in case only are different names.

Nothing is guessed: every configuration of the parents has exactly one row, from the file or from
`default`, and an error names file, line and variable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod

import numpy as np

from fedbn.arrays import Floats
from fedbn.errors import NetworkError, SchemaError
from fedbn.networks.network import BayesianNetwork, ConditionalTable, table_shape

_TOKEN = re.compile(
    r"""[\s,]*+(?:(?P<mark>[{}()\[\];|])|(?P<word>"[^"]*"|[^\s"{}()\[\],;|]+)|(?P<end>\Z))"""
)
_COMMENT = re.compile(r'"[^"]*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_MARKS = frozenset("{}()[];|")
_Wrong = Callable[[str], NetworkError]


def network_from_bif(text: str, source: str) -> BayesianNetwork:
    """The network of a BIF text.

    Parameters
    ----------
    text : as in the module's docstring.
    source : the file, for the error text.

    Raises
    ------
    NetworkError : it is not as described; names source, line, and variable where there is one.

    Examples
    --------
    >>> coin = "variable c { type discrete [2] { h, t }; } probability (c) { table 0.5, 0.5; }"
    >>> network_from_bif(coin, "coin.bif").names
    ('c',)
    """
    parser = _Parser(text, source)
    parser.read()
    try:
        return BayesianNetwork.from_tables(parser.network_tables())
    except (NetworkError, SchemaError) as error:
        raise NetworkError(f"{source}: {error}") from error


def _blank(found: re.Match[str]) -> str:
    """A comment as blanks that keep the lines; a quoted word as it is."""
    text = found.group()
    return text if text[0] == '"' else " " + "\n" * text.count("\n")


@dataclass
class _Block:
    """One probability block: parents, rows by configuration, and the row of all others."""

    parents: list[str]
    place: int
    rows: dict[tuple[str, ...], list[float]] = field(default_factory=dict)
    default: list[float] | None = None
    table: list[float] | None = None


class _Parser:
    """A cursor over the tokens; `read` fills `states` and `blocks`, by variable."""

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self.text = _COMMENT.sub(_blank, text)
        self.states: dict[str, list[str]] = {}
        self.blocks: dict[str, _Block] = {}
        self.at = 0

    def read(self) -> None:
        while keyword := self._peek():
            self._next()
            if keyword == "network":
                self._network()
            elif keyword == "variable":
                self._variable()
            elif keyword == "probability":
                self._probability()
            else:
                raise self._error(f"expected network, variable or probability, found {keyword!r}")
        if not self.states:
            raise NetworkError(f"{self.source} is not a BIF file: it declares no variable")

    def network_tables(self) -> dict[str, ConditionalTable]:
        for name in self.states:
            if name not in self.blocks:
                raise NetworkError(f"{self.source}: variable {name!r} has no probability table")
        return {name: self._table(name, block) for name, block in self.blocks.items()}

    # --- the blocks ---

    def _network(self) -> None:
        while self._next() != "{":
            pass
        while (token := self._next()) != "}":
            self._property(token)

    def _variable(self) -> None:
        name = self._word("a variable's name")
        if name in self.states:
            raise self._error(f"variable {name!r} is declared twice")
        self._expect("{")
        while (token := self._next()) != "}":
            if token != "type":
                self._property(token)
                continue
            self._expect("discrete")
            self._expect("[")
            count = self._word("a number of states")
            self._expect("]")
            self._expect("{")
            states = list(self._words_until("}"))
            self._expect(";")
            if count != str(len(states)):
                raise self._error(
                    f"variable {name!r} must have {count} states, as it says, not {len(states)}"
                )
            self.states[name] = states
        if name not in self.states:
            raise self._error(f"variable {name!r} must say its type: discrete [ n ] {{ ... }}")

    def _probability(self) -> None:
        self._expect("(")
        name = self._word("a variable's name")
        if name in self.blocks:
            raise self._error(f"variable {name!r} has two probability tables")
        if name not in self.states:
            raise self._error(f"{name!r} is declared by no variable block before")
        block = _Block([], self.at)
        opened = self._next()
        if opened == "|":
            block.parents = list(self._words_until(")"))
        elif opened != ")":
            raise self._error(f"the parents of {name!r} must follow a |, found {opened!r}")
        self._expect("{")
        while (token := self._next()) != "}":
            self._entry(name, block, token)
        self.blocks[name] = block

    def _entry(self, name: str, block: _Block, token: str) -> None:
        if token == "(":
            key = tuple(self._words_until(")"))
            if key in block.rows:
                raise self._error(f"the table of {name!r} has two rows for ({', '.join(key)})")
            block.rows[key] = self._numbers(name)
        elif token in ("table", "default") and getattr(block, token) is None:
            setattr(block, token, self._numbers(name))
        elif token in ("table", "default"):
            raise self._error(f"the table of {name!r} has two entries {token!r}")
        else:
            self._property(token)

    # --- a table ---

    def _table(self, name: str, block: _Block) -> ConditionalTable:
        def wrong(what: str) -> NetworkError:
            return self._error(f"the table of {name!r} {what}", block.place)

        for parent in block.parents:
            if parent not in self.states:
                raise wrong(f"has a parent {parent!r} that is declared nowhere")
        sizes = [len(self.states[parent]) for parent in block.parents]
        shape = table_shape(name, sizes, len(self.states[name]))
        if block.table is not None:
            if block.rows or block.default is not None:
                raise wrong("must have either one entry 'table' or rows")
            if len(block.table) != prod(shape):
                raise wrong(f"must have {prod(shape)} numbers, not {len(block.table)}")
            rows = np.array(block.table).reshape(shape[::-1]).T
        else:
            rows = self._fill(block, sizes, shape, wrong)
        return ConditionalTable(tuple(self.states[name]), tuple(block.parents), rows)

    def _fill(
        self, block: _Block, sizes: list[int], shape: tuple[int, int], wrong: _Wrong
    ) -> Floats:
        place = [{s: i for i, s in enumerate(self.states[parent])} for parent in block.parents]
        rows = np.zeros((*sizes, shape[1]))
        filled = np.zeros(sizes, dtype=np.bool_)
        if block.default is not None:
            if len(block.default) != shape[1]:
                raise wrong(f"must have {shape[1]} numbers a row, 'default' {len(block.default)}")
            rows[...] = block.default
            filled[...] = True
        for key, numbers in block.rows.items():
            known = len(key) == len(sizes) and all(
                s in at for s, at in zip(key, place, strict=True)
            )
            if not known:
                raise wrong(f"has a row ({', '.join(key)}) that is no configuration of the parents")
            if len(numbers) != shape[1]:
                raise wrong(
                    f"must have {shape[1]} numbers a row, not {len(numbers)} in ({', '.join(key)})"
                )
            at = tuple(states[s] for s, states in zip(key, place, strict=True))
            rows[at] = numbers
            filled[at] = True
        if not filled.all():
            first = np.argwhere(~filled)[0]
            missing = [self.states[p][i] for p, i in zip(block.parents, first, strict=True)]
            raise wrong(f"has no row for ({', '.join(missing)})")
        return rows.reshape(shape)

    # --- tokens ---

    def _peek(self) -> str:
        """The next token, "" at the end of the file; the cursor stands before it afterwards."""
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            raise self._error("a quote that is opened must be closed")
        token = found.group(found.lastgroup or 0)
        self.at = found.end() - len(token)
        return token

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise self._error("the file ends in the middle of a block")
        self.at += len(token)
        return token

    def _expect(self, wanted: str) -> None:
        found = self._next()
        if found != wanted:
            raise self._error(f"expected {wanted!r}, found {found!r}")

    def _word(self, what: str) -> str:
        token = self._next()
        if token in _MARKS:
            raise self._error(f"expected {what}, found {token!r}")
        return token[1:-1] if token[0] == '"' else token

    def _words_until(self, end: str) -> Iterator[str]:
        while self._peek() != end:
            yield self._word(f"a word or {end!r}")
        self._expect(end)

    def _numbers(self, name: str) -> list[float]:
        """The numbers up to the next semicolon."""
        end = self.text.find(";", self.at)
        words = self.text[self.at : end].replace(",", " ").split()
        try:
            numbers = [float(word) for word in words]
        except ValueError as error:
            raise self._error(f"the table of {name!r} must hold numbers: {error}") from None
        self.at = end
        self._expect(";")
        return numbers

    def _property(self, keyword: str) -> None:
        if keyword != "property":
            raise self._error(f"{keyword!r} is not known here")
        while self._next() != ";":
            pass

    def _error(self, what: str, place: int | None = None) -> NetworkError:
        """An error at a place of the text, by default where the cursor stands."""
        line = self.text.count("\n", 0, self.at if place is None else place) + 1
        return NetworkError(f"{self.source}, line {line}: {what}")
