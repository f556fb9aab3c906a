"""What the server may ask of every site in one round, and its bytes.

The server of `path.py` needs sums over the sites only, so a request is a question that every site
answers by a vector of integers (`answers.py`), and the server sees the sum of the vectors. Nodes
are indices into the agreed names in name order. A request carries its whole history, the deletions
done and the sinks taken, in order: a site keeps no state of the search between two rounds, and the
same request gives the same answer.

A deletion is (x, y, S): with P known, S = (NA_yx \\ H) + Pa(y) - {x} determines H. The operators of
P are not listed in a request: a site finds them itself, so it cannot be asked about any other pair
or set.

The bytes of a request are JSON without spaces, with sorted keys, in one form only: what is not the
canonical form of a request is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

from fedbn.errors import MessageError
from fedbn.networks.family_counts import Family

__all__ = [
    "MAX_CHAIN",
    "CountRequest",
    "CutPath",
    "CutRequest",
    "Deletion",
    "OrderRequest",
    "OrderState",
    "SumRequest",
    "UnionRequest",
    "UnionState",
    "VoteRequest",
    "from_bytes",
    "to_bytes",
]

MAX_CHAIN = 16
"""Longest chain of predicted choices in one request."""

Arcs = tuple[tuple[int, int], ...]
Indices = tuple[int, ...]


@dataclass(frozen=True)
class Deletion:
    """Every input loses the arcs of its minimum cut between x and y given S, nearest to y."""

    x: int
    y: int
    given: Indices


Deletions = tuple[Deletion, ...]


@dataclass(frozen=True)
class OrderState:
    """The order heuristic on the inputs after the first `deletions` of path number `path`.

    taken: the nodes made sinks and removed so far, in that order (σ from its end). chain: the next
    ones, as the server guesses.
    """

    path: int
    deletions: int
    taken: Indices
    chain: Indices


@dataclass(frozen=True)
class OrderRequest:
    """The summed costs of every node left, for every state, and along its chain."""

    paths: tuple[Deletions, ...]
    states: tuple[OrderState, ...]


@dataclass(frozen=True)
class UnionState:
    """The minimal I-maps under `order` of the inputs after some deletions of a path."""

    path: int
    deletions: int
    order: Indices


@dataclass(frozen=True)
class UnionRequest:
    """For every state and every two places in its order: has the site the arc in an I-map?"""

    paths: tuple[Deletions, ...]
    states: tuple[UnionState, ...]


@dataclass(frozen=True)
class CutPath:
    """One search down from G+.

    clip: whether a cut counts as at most 1. deletions: done; chain: the next ones, as the server
    guesses. asked: whether the cuts are wanted (a search that has ended waits for the others).
    """

    clip: bool
    deletions: Deletions
    chain: Deletions
    asked: bool


@dataclass(frozen=True)
class CutRequest:
    """The summed minimum cuts of all valid operators of P, for every path, along its chain.

    union: the arcs of G+, sorted. k_max: largest |H|.
    """

    union: Arcs
    k_max: int
    paths: tuple[CutPath, ...]


@dataclass(frozen=True)
class VoteRequest:
    """Votes on moral edges and, if `classes`, on how the CPDAGs of the original inputs join pairs.

    union: the arcs of G+: only pairs of its moral graph, or of its skeleton, can have votes. None:
    all pairs.
    """

    union: Arcs | None
    classes: bool


@dataclass(frozen=True)
class CountRequest:
    """The counts of families in the sites' tables and, if `own`, the sites' own scores of them.

    families: sorted and distinct, over the agreed names.
    """

    families: tuple[Family, ...]
    own: bool


SumRequest = OrderRequest | UnionRequest | CutRequest | VoteRequest | CountRequest

_KINDS: dict[str, type[SumRequest]] = {
    "counts": CountRequest,
    "order": OrderRequest,
    "union": UnionRequest,
    "cuts": CutRequest,
    "votes": VoteRequest,
}


def to_bytes(request: SumRequest, session: bytes, number: int) -> bytes:
    """The canonical bytes of round `number` (from 1) of a session (its 32-byte id)."""
    kind = next(kind for kind, of_kind in _KINDS.items() if isinstance(request, of_kind))
    content = {
        "ask": _plain(request),
        "kind": kind,
        "round": number,
        "session": session.hex(),
    }
    return json.dumps(content, separators=(",", ":"), sort_keys=True).encode("ascii")


def _plain(value: Any) -> Any:
    """For JSON; deletions as [x, y, S], for requests repeat them round after round."""
    if isinstance(value, Deletion):
        return [value.x, value.y, value.given]
    if is_dataclass(value):
        return {entry.name: _plain(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, tuple) and value and not isinstance(value[0], int):
        return [_plain(part) for part in value]
    return value


def from_bytes(data: bytes) -> tuple[SumRequest, bytes, int]:
    """The inverse of `to_bytes`: (request, session, round).

    Raises
    ------
    MessageError : the bytes are not the canonical form of a request.
    """
    try:
        content = json.loads(data.decode("ascii"))
        session, number = bytes.fromhex(content["session"]), _index(content["round"])
        request = _READERS[content["kind"]](content["ask"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise MessageError(f"a request for a sum must be well formed: {error!r}") from None
    if len(session) != 32 or to_bytes(request, session, number) != data:
        raise MessageError("a request for a sum must be in its canonical form")
    return request, session, number


T = TypeVar("T")


def _index(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} must be a whole number >= 0")
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError(f"{value!r} must be true or false")
    return value


def _tuple(read: Callable[[Any], T], values: Any) -> tuple[T, ...]:
    if type(values) is not list:
        raise ValueError("a list is expected")
    return tuple(read(value) for value in values)


def _indices(values: Any) -> Indices:
    """As `_tuple` with `_index`, but fast: requests repeat whole histories."""
    if type(values) is not list or not all(type(v) is int and v >= 0 for v in values):
        raise ValueError(f"{values!r} must be a list of whole numbers >= 0")
    return tuple(values)


def _arcs(values: Any) -> Arcs:
    pairs = _tuple(_indices, values)
    return tuple((a, b) for a, b in pairs)


def _deletions(values: Any) -> Deletions:
    def deletion(value: Any) -> Deletion:
        x, y, given = value
        return Deletion(_index(x), _index(y), _indices(given))

    return _tuple(deletion, values)


def _order(ask: Any) -> OrderRequest:
    def state(value: Any) -> OrderState:
        return OrderState(
            path=_index(value["path"]),
            deletions=_index(value["deletions"]),
            taken=_indices(value["taken"]),
            chain=_indices(value["chain"]),
        )

    return OrderRequest(_tuple(_deletions, ask["paths"]), _tuple(state, ask["states"]))


def _union(ask: Any) -> UnionRequest:
    def state(value: Any) -> UnionState:
        return UnionState(
            path=_index(value["path"]),
            deletions=_index(value["deletions"]),
            order=_indices(value["order"]),
        )

    return UnionRequest(_tuple(_deletions, ask["paths"]), _tuple(state, ask["states"]))


def _cuts(ask: Any) -> CutRequest:
    def path(value: Any) -> CutPath:
        return CutPath(
            clip=_flag(value["clip"]),
            deletions=_deletions(value["deletions"]),
            chain=_deletions(value["chain"]),
            asked=_flag(value["asked"]),
        )

    return CutRequest(_arcs(ask["union"]), _index(ask["k_max"]), _tuple(path, ask["paths"]))


def _votes(ask: Any) -> VoteRequest:
    union = None if ask["union"] is None else _arcs(ask["union"])
    return VoteRequest(union, _flag(ask["classes"]))


def _counts(ask: Any) -> CountRequest:
    def family(value: Any) -> Family:
        node, parents = value
        return Family(_index(node), _indices(parents))

    return CountRequest(_tuple(family, ask["families"]), _flag(ask["own"]))


_READERS: dict[str, Callable[[Any], SumRequest]] = {
    "counts": _counts,
    "order": _order,
    "union": _union,
    "cuts": _cuts,
    "votes": _votes,
}
