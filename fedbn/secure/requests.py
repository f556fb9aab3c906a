"""What the server may ask of every site in one round, and its bytes.

The server of `path.py` needs sums over the sites only, so a request is a question that every site
answers by a vector of integers (`answers.py`), and the server sees the sum of the vectors. Nodes
are indices into the agreed names in name order. A request carries its whole history, the deletions
done and the sinks taken, in order: a site keeps no state of the search between two rounds, and the
same request gives the same answer.

A deletion is (x, y, S): with P known, S = (NA_yx \\ H) + Pa(y) - {x} determines H. The operators of
P are not listed in a request: a site finds them itself, so it cannot be asked about any other pair
or set.

The bytes of a request are its canonical JSON (`fedbn.wire.texts`), and what is not that is refused.
Parties with other requests have other versions of fedbn, which the handshake refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from fedbn.bounded_file import json_value
from fedbn.errors import DataError, MessageError
from fedbn.networks.family_counts import Family
from fedbn.wire.texts import canonical, plain, reader_of

Arcs = tuple[tuple[int, int], ...]
Indices = tuple[int, ...]


class Deletion(NamedTuple):
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


@dataclass(frozen=True)
class SizeRequest:
    """Of every column of all blocks (`fedbn.scores.mixed`), above which levels the sites' sums of
    squares about their own means are (`scatter_sums`)."""


@dataclass(frozen=True)
class ScatterRequest:
    """The rows, and the sums of products of all columns about the sites' own means.

    levels : of every column, the one that no site's sum of squares is above.
    """

    levels: Indices


@dataclass(frozen=True)
class LevelRequest:
    """Of every number in name order, and of ones, above which levels the sites' sums of squares
    about 0 are."""


@dataclass(frozen=True)
class PlaceRequest:
    """The rows, and of every number the sum and the sum of squares (`summed_families`).

    levels : of every number and of ones, as in `ScatterRequest`.
    """

    levels: Indices


@dataclass(frozen=True)
class EquationRequest:
    """What tables and equations need of the families of a DAG (`summed_families`).

    families : one of every column, in name order.
    centres : of every number, in name order: what is taken off it.
    levels : of every number less its centre, and of ones.
    """

    families: tuple[Family, ...]
    centres: tuple[float, ...]
    levels: Indices


@dataclass(frozen=True)
class ResidualRequest:
    """Of every number and each configuration of its categories, what equations with a constant of
    the site's own leave: the sum of squares.

    of : the families, as they were asked for.
    weights : of every number, constant and slopes of each configuration.
    levels : of every number, for the sum of squares.
    """

    of: EquationRequest
    weights: tuple[tuple[float, ...], ...]
    levels: Indices


@dataclass(frozen=True)
class ScoreRequest:
    """The sites' own mixed BIC of families, and whether some site has none.

    families : sorted and distinct, over the agreed names.
    """

    families: tuple[Family, ...]


ForParameters = LevelRequest | PlaceRequest | EquationRequest | ResidualRequest

TableRequest = CountRequest | SizeRequest | ScatterRequest | ScoreRequest | ForParameters
"""What is answered from a site's table; everything else is from its structures."""

SumRequest = OrderRequest | UnionRequest | CutRequest | VoteRequest | TableRequest

_KINDS: dict[str, type[SumRequest]] = {
    "counts": CountRequest,
    "order": OrderRequest,
    "union": UnionRequest,
    "cuts": CutRequest,
    "votes": VoteRequest,
    "sizes": SizeRequest,
    "scatter": ScatterRequest,
    "scores": ScoreRequest,
    "levels": LevelRequest,
    "place": PlaceRequest,
    "equations": EquationRequest,
    "residuals": ResidualRequest,
}


def to_bytes(
    request: Any, session: bytes, number: int, kinds: Mapping[str, type] = _KINDS
) -> bytes:
    """The canonical bytes of round `number` (from 1) of a session (its 32-byte id).

    `kinds` are the requests that there are, by their words.
    """
    kind = next(kind for kind, of_kind in kinds.items() if isinstance(request, of_kind))
    content = {"ask": plain(request), "kind": kind, "round": number, "session": session.hex()}
    return canonical(content).encode("ascii")


def from_bytes(data: bytes, kinds: Mapping[str, type] = _KINDS) -> tuple[Any, bytes, int]:
    """The inverse of `to_bytes`: (request, session, round).

    Raises
    ------
    MessageError : the bytes are not the canonical form of a request.
    """
    try:
        content = json_value(data.decode("ascii"))
        session, number = bytes.fromhex(content["session"]), reader_of(int)(content["round"])
        request = reader_of(kinds[content["kind"]])(content["ask"])
    except (ValueError, KeyError, TypeError, DataError) as error:
        raise MessageError(f"a request for a sum must be well formed: {error!r:.200}") from None
    if len(session) != 32 or to_bytes(request, session, number, kinds) != data:
        raise MessageError("a request for a sum must be in its canonical form")
    return request, session, number
