"""Background knowledge: required and forbidden edges, and tiers.

A DAG keeps it when it has all required edges and none that is forbidden, by a pair or by the tiers.
Hill climbing never makes a graph that breaks it. The searches over equivalence classes keep, after
every step, at least one member of the class that satisfies all of it: an operator that leads to a
class without such a member is not used. Required edges are in the graph from the start.

In a file it is a JSON object or a TOML table with any of the keys of `Knowledge`:

    required = [["smoke", "lung"]]
    forbidden = [["xray", "lung"], ["dysp", "xray"]]
    tiers = [["asia", "smoke"], ["tub", "lung", "bronc"]]
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.arrays import Bits, Bools
from fedbn.bounded_file import MAX_SETTINGS, json_value, read_bounded
from fedbn.errors import ConfigError, StructureError, did_you_mean, system_errors_as
from fedbn.graphs.bits import pack
from fedbn.graphs.dag import DAG
from fedbn.wording import list_some

Edge = tuple[str, str]


@dataclass(frozen=True)
class Knowledge:
    """What is known about edges before the data are seen.

    Parameters
    ----------
    required : (parent, child) pairs that must be edges.
    forbidden : (parent, child) pairs that must not be edges.
    tiers : groups of variables from first to last; no edge goes from a later to an earlier one.
        Variables in no tier are free.

    Raises
    ------
    ConfigError : an edge is required and forbidden (by a pair or by the tiers), the required edges
        have a cycle or lead from a tier to an earlier one, or a variable is in two tiers; the edges
        are named.
    """

    required: tuple[Edge, ...] = ()
    forbidden: tuple[Edge, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "required", _edges(self.required))
        object.__setattr__(self, "forbidden", _edges(self.forbidden))
        object.__setattr__(self, "tiers", tuple(tuple(tier) for tier in self.tiers))
        placed = [name for tier in self.tiers for name in tier]
        for name in placed:
            if placed.count(name) > 1:
                raise ConfigError(f"a variable must be in one tier at most, {name!r} is in two")
        tier_of = {name: k for k, tier in enumerate(self.tiers) for name in tier}
        for parent, child in self.required:
            if (parent, child) in self.forbidden:
                raise ConfigError(f"edge {parent} -> {child} is both required and forbidden")
            if tier_of.get(parent, 0) > tier_of.get(child, len(self.tiers)):
                raise ConfigError(
                    f"edge {parent} -> {child} is required, but the tiers put {child} first"
                )
        names = sorted({name for edge in self.required for name in edge})
        try:
            DAG.from_edges(names, self.required)
        except StructureError as error:
            raise ConfigError(f"required edges must not form a cycle: {error}") from error
        self._require_order(tier_of)

    def required_matrix(self, names: Sequence[str]) -> Bools:
        """bool [n, n], [i, j] if names[i] -> names[j] is required.

        Raises
        ------
        ConfigError : an edge or a tier has a variable that is not in `names`.
        """
        return self._matrix(self.required, names)

    def forbidden_matrix(self, names: Sequence[str]) -> Bools:
        """bool [n, n], [i, j] if names[i] -> names[j] is forbidden, by a pair or by the tiers."""
        matrix = self._matrix(self.forbidden, names)
        position = self._positions(names)
        for k, tier in enumerate(self.tiers):
            later = [position[name] for group in self.tiers[k + 1 :] for name in group]
            for name in tier:
                matrix[later, position[name]] = True
        return matrix

    def bits(self, names: Sequence[str]) -> dict[str, Bits]:
        """What is forbidden and required for the compiled searches: row y has x for x -> y."""
        return {
            "forbidden": pack(self.forbidden_matrix(names).T),
            "required": pack(self.required_matrix(names).T),
        }

    def after(self, names: Sequence[str]) -> Bits:
        """What every order must put after a node: row v has its required children, and what is in
        later tiers."""
        later = self._matrix(self.required, names)
        position = self._positions(names)
        for k, tier in enumerate(self.tiers):
            follow = [position[name] for group in self.tiers[k + 1 :] for name in group]
            for name in tier:
                later[position[name], follow] = True
        return pack(later)

    def breaches(self, dag: DAG) -> tuple[str, ...]:
        """How a DAG breaks the knowledge, in words, sorted; empty where it keeps it.

        Raises
        ------
        ConfigError : the knowledge names a variable that the DAG lacks.
        """
        missing = self.required_matrix(dag.names) & ~dag.adjacency
        wrong = self.forbidden_matrix(dag.names) & dag.adjacency
        pairs = [(missing, "is required"), (wrong, "is forbidden")]
        return tuple(
            sorted(
                f"{dag.names[a]} -> {dag.names[b]} {words}"
                for matrix, words in pairs
                for a, b in np.argwhere(matrix)
            )
        )

    @property
    def text(self) -> str:
        """The knowledge as JSON in one line, which `read_knowledge` reads."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"))

    def and_also(self, other: Knowledge) -> Knowledge:
        """What both say; where both have tiers, the other's are told as forbidden edges.

        Raises
        ------
        ConfigError : they contradict each other; the edge is named.
        """
        forbidden = {*self.forbidden, *other.forbidden}
        tiers = self.tiers or other.tiers
        if other.tiers != tiers:
            forbidden |= {
                (late, early)
                for k, tier in enumerate(other.tiers)
                for early in tier
                for group in other.tiers[k + 1 :]
                for late in group
            }
        return Knowledge((*self.required, *other.required), tuple(forbidden), tiers)

    def of_some(self, names: Sequence[str]) -> Knowledge:
        """What it says of some variables to whoever lacks others.

        Required edges and tiers hold as they are, and a chain of required edges through others puts
        its ends in order. A forbidden edge says nothing: a path through a variable that is lacking
        looks like an edge.

        Examples
        --------
        >>> Knowledge(required=(("a", "m"), ("m", "b")), tiers=(("a",), ("m", "c"))).of_some("abc")
        Knowledge(required=(), forbidden=(('b', 'a'),), tiers=(('a',), ('c',)))
        """
        there = set(names)
        kept = tuple(edge for edge in self.required if {*edge} <= there)
        tiers = tuple(tuple(name for name in tier if name in there) for tier in self.tiers)
        return Knowledge(kept, self._through(there), tuple(tier for tier in tiers if tier))

    def among(self, names: Sequence[str]) -> Knowledge:
        """What a consensus over some variables keeps: `of_some`, and the forbidden edges of these.

        Examples
        --------
        >>> Knowledge(required=(("a", "m"),), forbidden=(("a", "b"), ("m", "b"))).among("ab")
        Knowledge(required=(), forbidden=(('a', 'b'),), tiers=())
        """
        there, some = set(names), self.of_some(names)
        kept = tuple(edge for edge in self.forbidden if {*edge} <= there)
        return replace(some, forbidden=(*some.forbidden, *kept))

    def _through(self, there: set[str]) -> tuple[Edge, ...]:
        """(later, earlier) of variables that a chain of required edges through others joins."""
        children: dict[str, set[str]] = {}
        for parent, child in self.required:
            children.setdefault(parent, set()).add(child)
        found = set()
        for start in there & set(children):
            waiting = [child for child in children[start] if child not in there]
            seen = set(waiting)
            while waiting:
                fresh = children.get(waiting.pop(), set()) - seen
                found |= {(late, start) for late in fresh & there}
                seen |= fresh
                waiting += sorted(fresh - there)
        return tuple(sorted(found))

    def with_required(self, dag: DAG) -> DAG:
        """`dag` with the required edges added and forbidden ones left out.

        Raises
        ------
        ConfigError : a cycle closes, so the start contradicts the knowledge.
        """
        required = self.required_matrix(dag.names)
        kept = dag.adjacency & ~self.forbidden_matrix(dag.names) & ~required.T
        try:
            return DAG(dag.names, kept | required)
        except StructureError as error:
            raise ConfigError(f"the start contradicts the required edges: {error}") from error

    def require_room(self, max_parents: int | None) -> None:
        """Checks that the required edges give no variable more than `max_parents` parents.

        Raises
        ------
        ConfigError : they do; the edges are named.
        """
        for child in sorted({child for _, child in self.required}):
            edges = [edge for edge in self.required if edge[1] == child]
            if max_parents is not None and len(edges) > max_parents:
                named = ", ".join(f"{parent} -> {child}" for parent, _ in edges)
                raise ConfigError(
                    f"the required edges must respect max-parents {max_parents}, these do not: "
                    f"{named}"
                )

    def _require_order(self, tier_of: dict[str, int]) -> None:
        """Checks that no chain of required edges leads from a tier to an earlier one."""
        children: dict[str, list[str]] = {}
        for parent, child in self.required:
            children.setdefault(parent, []).append(child)
        for start in sorted(set(tier_of) & set(children)):
            waiting, seen = [start], {start}
            while waiting:
                name = waiting.pop()
                if tier_of.get(name, len(self.tiers)) < tier_of[start]:
                    words = f"required edges lead from {start} to {name}"
                    raise ConfigError(f"{words}, but the tiers put {name} first")
                fresh = set(children.get(name, ())) - seen
                seen |= fresh
                waiting += sorted(fresh)

    def _positions(self, names: Sequence[str]) -> dict[str, int]:
        position = {name: i for i, name in enumerate(names)}
        mentioned = [*self.required, *self.forbidden, *self.tiers]
        for name in (name for group in mentioned for name in group):
            if name not in position:
                raise ConfigError(
                    f"background knowledge names {name!r}, which is no variable of the table: "
                    f"{list_some(names, 8)}{did_you_mean(name, names)}"
                )
        return position

    def _matrix(self, edges: Iterable[Edge], names: Sequence[str]) -> Bools:
        position = self._positions(names)
        matrix = np.zeros((len(names), len(names)), dtype=np.bool_)
        for parent, child in edges:
            matrix[position[parent], position[child]] = True
        return matrix


def _edges(pairs: Iterable[Edge]) -> tuple[Edge, ...]:
    kept = tuple(sorted({(parent, child) for parent, child in pairs}))
    for parent, child in kept:
        if parent == child:
            raise ConfigError(f"an edge must join two variables, not {parent} -> {child}")
    return kept


def is_text(source: str | Path) -> bool:
    """Whether this is knowledge itself, as JSON, and names no file."""
    return isinstance(source, str) and source.lstrip().startswith("{")


def read_knowledge(source: str | Path) -> Knowledge:
    """Knowledge from a .json or .toml file with the keys required, forbidden, tiers.

    Parameters
    ----------
    source : the file; or, where `is_text` says so, its content.

    Raises
    ------
    ConfigError : the file cannot be read, has another form, or contradicts itself; contradictory
        edges are named.
    """
    if isinstance(source, str) and is_text(source):
        path, content = "the knowledge", _parse(source, "the knowledge", is_toml=False)
    else:
        path, content = str(source), _content(Path(source))
    known = [field.name for field in fields(Knowledge)]
    if not isinstance(content, dict) or not set(content) <= set(known):
        strange = sorted(set(content) - set(known))[:1] if isinstance(content, dict) else []
        shown = f", not {strange[0]!r}{did_you_mean(strange[0], known)}" if strange else ""
        words = f"background knowledge must have no keys but {', '.join(known)}{shown}"
        raise ConfigError(f"{path}: {words}")
    for key, groups in content.items():
        whole = isinstance(groups, list) and all(_is_group(group, key) for group in groups)
        if not whole:
            form = "groups of variables" if key == "tiers" else "pairs [parent, child]"
            raise ConfigError(f"{path}: {key} must be a list of {form}")
    try:
        return Knowledge(**{key: tuple(map(tuple, groups)) for key, groups in content.items()})
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def knowledge_of(told: Knowledge | Mapping[str, Any] | str | Path) -> Knowledge:
    """Knowledge as Python says it: itself, a mapping with the keys of a file, or a file's name.

    Raises
    ------
    ConfigError : see `read_knowledge`.

    Examples
    --------
    >>> knowledge_of({"tiers": [["age"], ["death"]]}).tiers
    (('age',), ('death',))
    """
    if isinstance(told, Knowledge):
        return told
    if not isinstance(told, Mapping):
        return read_knowledge(told)
    try:
        text = json.dumps(dict(told))
    except (TypeError, ValueError) as error:
        raise ConfigError(f"knowledge must be lists of names: {error}") from None
    return read_knowledge(text)


def _content(path: Path) -> Any:
    with system_errors_as(ConfigError, f"cannot read the background knowledge {path}"):
        text = read_bounded(path, MAX_SETTINGS).decode("utf-8")
    return _parse(text, str(path), is_toml=path.suffix == ".toml")


def _parse(text: str, source: str, *, is_toml: bool) -> Any:
    try:
        return tomllib.loads(text) if is_toml else json_value(text)
    except (ValueError, RecursionError) as error:  # of TOML, of JSON
        form = "TOML" if is_toml else "JSON"
        raise ConfigError(f"{source} is not {form}: {error}") from error


def _is_group(group: Any, key: str) -> bool:
    whole = isinstance(group, list) and all(isinstance(name, str) for name in group)
    return whole and (key == "tiers" or len(group) == 2)
