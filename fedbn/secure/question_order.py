"""What a site lets itself be asked: the questions of the protocol, in their order, and no other.

Sums over pruned inputs, for any pair and any set, would be an oracle. So a site answers a request
only if it can follow the one before it. `answers.py` finds the operators of P by itself, so it
cannot be asked for another cut; here it is seen to that every round goes on from the last one:
more sinks taken, more deletions done, each of them valid in P. Hence the number of rounds is bound,
too. What a site cannot check is that the server chose the smallest sums.

The order of the rounds: order of the inputs, union, cuts, orders of the pruned inputs, their
unions, votes, then what is summed of tables. Phases may be left out (a graph without edges has no
cuts), never come back. Tables are asked as often as the terms say, at most: for counts of families;
or for the levels of columns, then once for sums of products, then for own scores of families. For
parameters of numbers they are asked once for levels about 0, sums, sums of families, and residuals
of these very families. What may leave is for the site's policy to say.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, get_args

from fedbn.errors import MessageError, PolicyError
from fedbn.secure.guesses_ahead import MAX_CHAIN
from fedbn.secure.pattern import after, pattern_of
from fedbn.secure.requests import (
    CutRequest,
    Deletions,
    EquationRequest,
    ForParameters,
    Indices,
    OrderRequest,
    OrderState,
    ResidualRequest,
    ScatterRequest,
    ScoreRequest,
    SizeRequest,
    SumRequest,
    TableRequest,
    UnionRequest,
    VoteRequest,
    from_bytes,
    to_bytes,
)
from fedbn.secure.session import Terms

Start = tuple[int, int]  # of a state: number of its path, number of deletions


_KEPT = ("cuts", "orders", "equations")


@dataclass(frozen=True)
class Asked:
    """What a site was asked so far.

    Attributes
    ----------
    last : the bytes of the last request; empty before the first.
    number : its round.
    phase : 0 order, 1 union, 2 cuts, 3 orders, 4 unions, 5 votes, 6 tables; -1 before the first.
    cuts : the last request for cuts.
    orders : the paths of the orders, and of every state all the sinks that were told.
    counts : how many requests there were for what is summed of tables.
    products : what was asked of sums of products: 0 nothing, 1 levels, 2 the sums.
    parameters : what was asked for those of numbers: 0 nothing, 1 levels, 2 sums, 3 sums of
        families, 4 residuals.
    equations : the request for sums of families.
    """

    last: bytes = b""
    number: int = 0
    phase: int = -1
    cuts: CutRequest | None = None
    orders: OrderRequest | None = None
    counts: int = 0
    products: int = 0
    parameters: int = 0
    equations: EquationRequest | None = None

    def to_text(self) -> str:
        """For the site's own memory between two rounds."""
        kept = {name: getattr(self, name) for name in _KEPT}
        parts: dict[str, Any] = {
            name: None if request is None else to_bytes(request, bytes(32), 0).decode("ascii")
            for name, request in kept.items()
        }
        last = self.last.decode("ascii")
        whole = ("number", "phase", "counts", "products", "parameters")
        return json.dumps(parts | {"last": last} | {name: getattr(self, name) for name in whole})

    @classmethod
    def from_text(cls, text: str) -> Asked:
        """The inverse of `to_text`."""
        content = json.loads(text)
        for name in _KEPT:
            if content[name] is not None:
                content[name] = from_bytes(content[name].encode("ascii"))[0]
        return cls(**content | {"last": content["last"].encode("ascii")})


NOTHING_ASKED = Asked()


def allow(data: bytes, before: Asked, terms: Terms, n: int) -> tuple[SumRequest, Asked]:
    """The request, and what was asked with it; the request before, word for word, is one, too.

    Parameters
    ----------
    data : the bytes of a request.
    before : what was asked so far.
    terms : of the run.
    n : number of variables.

    Raises
    ------
    PolicyError : "query", and why.
    """
    try:
        request, session, number = from_bytes(data)
        _require(session == terms.session, "the request is of another run")
        if data == before.last:
            return request, before
        _require(number == before.number + 1, f"round {number} after round {before.number}")
        after_it = _follow(request, before, terms, n)
    except MessageError as error:
        raise PolicyError("query", str(error)) from None
    return request, replace(after_it, last=data, number=number)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise MessageError(otherwise)


def _follow(request: SumRequest, before: Asked, terms: Terms, n: int) -> Asked:
    """What was asked with this request; raises MessageError where it does not follow."""
    if isinstance(request, VoteRequest):
        return _votes(request, before, terms)
    if isinstance(request, TableRequest):
        return _tables(request, before, terms)
    _require(terms.aggregation == "secure-sums", "only votes were agreed on")
    if isinstance(request, OrderRequest):
        return _order(request, before, n)
    if isinstance(request, UnionRequest):
        return _union(request, before, n)
    return _cuts(request, before, terms, n)


def _order(request: OrderRequest, before: Asked, n: int) -> Asked:
    """Orders go on where they were; the first one is of the inputs as they are."""
    known: dict[Start, Indices]
    if before.phase in (0, 3):
        assert before.orders is not None
        known = {(s.path, s.deletions): s.taken for s in before.orders.states}
        _require(request.paths == before.orders.paths, "the deletions were changed")
        phase = before.phase
    else:
        phase = 0 if before.phase == -1 else 3
        _require(phase == 0 or before.phase == 2, "an order is asked for out of turn")
        _require_paths(request.paths, before, n)
        known = {}
    states = dict(known)
    for state in request.states:
        start = (state.path, state.deletions)
        if not known:
            _require(start not in states and not state.taken, "an order must begin")
            _require_start(start, request.paths, phase)
        else:
            _require(start in known, "an order was not begun")
            longer = len(state.taken) > len(known[start])
            _require(longer and _begins(state.taken, known[start]), "an order must go on")
        told = (*state.taken, *state.chain)
        _require(len(state.chain) <= MAX_CHAIN, f"a chain is longer than {MAX_CHAIN}")
        _require(len(set(told)) == len(told) < n and max(told, default=0) < n, "no sinks")
        states[start] = state.taken
    _require(len({(s.path, s.deletions) for s in request.states}) == len(request.states), "twice")
    kept = tuple(OrderState(*start, taken, ()) for start, taken in states.items())
    return replace(before, phase=phase, orders=OrderRequest(request.paths, kept))


def _require_paths(paths: tuple[Deletions, ...], before: Asked, n: int) -> None:
    """Deletions go on where the cuts were, each of them valid."""
    if before.cuts is None:
        _require(paths == ((),), "nothing was deleted yet")
        return
    _require(len(paths) == len(before.cuts.paths), "there are other paths")
    for path, known in zip(paths, before.cuts.paths, strict=True):
        _require(_begins(path, known.deletions), "the deletions were changed")
        p = pattern_of(before.cuts.union, n)
        for deletion in path:
            p, _ = after(p, deletion, before.cuts.k_max)


def _require_start(start: Start, paths: tuple[Deletions, ...], phase: int) -> None:
    path, deletions = start
    inside = path < len(paths) and deletions <= len(paths[path])
    _require(inside and (deletions == 0) == (phase == 0), "there is no such state")


def _union(request: UnionRequest, before: Asked, n: int) -> Asked:
    """Unions are of the orders that were found."""
    starts = [(s.path, s.deletions) for s in request.states]
    if n == 1 and before.phase == -1:
        taken: dict[Start, Indices] = {(0, 0): ()}
        _require(request.paths == ((),), "nothing was deleted yet")
    else:
        _require(before.phase in (0, 3), "a union is asked for out of turn")
        assert before.orders is not None
        _require(request.paths == before.orders.paths, "the deletions were changed")
        taken = {(s.path, s.deletions): s.taken for s in before.orders.states}
    _require(sorted(starts) == sorted(taken), "unions must be of all orders")
    for state in request.states:
        known = taken[state.path, state.deletions]
        _require(sorted(state.order) == list(range(n)), "an order must hold every node once")
        _require(_begins(state.order[::-1], known), "an order was changed")
    return replace(before, phase=4 if before.phase == 3 else 1)


def _cuts(request: CutRequest, before: Asked, terms: Terms, n: int) -> Asked:
    """Cuts go on where they were; `answers.py` sees to it that every deletion is valid."""
    _require(before.phase in (1, 2), "cuts are asked for out of turn")
    clips = tuple(path.clip for path in request.paths)
    _require(clips == tuple(p == "clip" for p in terms.poolings), "other poolings were agreed on")
    _require(request.k_max == terms.k_max, f"k-max {terms.k_max} was agreed on")
    _require(any(path.asked for path in request.paths), "nothing is asked")
    for number, path in enumerate(request.paths):
        _require(len(path.chain) <= MAX_CHAIN, f"a chain is longer than {MAX_CHAIN}")
        named = {v for d in (*path.deletions, *path.chain) for v in (d.x, d.y, *d.given)}
        _require(max(named, default=0) < n, "there is no such node")
        if before.cuts is None:
            _require(not path.deletions, "nothing was deleted yet")
            continue
        known = before.cuts.paths[number]
        longer = len(path.deletions) > len(known.deletions) or not path.asked
        _require(longer and _begins(path.deletions, known.deletions), "deletions must go on")
    same = before.cuts is None or request.union == before.cuts.union
    _require(same, "the union was changed")
    return replace(before, phase=2, cuts=request, orders=None)


def _votes(request: VoteRequest, before: Asked, terms: Terms) -> Asked:
    """Votes come last; of moral edges alone, they are all that is asked."""
    if terms.aggregation == "moral-votes":
        _require(before.phase == -1 and request == VoteRequest(None, False), "only moral votes")
    else:
        _require(before.phase in (1, 2, 4), "votes are asked for out of turn")
        _require(request.classes, "votes on classes were agreed on, too")
        on_all = terms.quorum > 1 or terms.known
        _require((request.union is None) == on_all, "other pairs were agreed on")
        if before.cuts is not None and request.union is not None:
            _require(request.union == before.cuts.union, "the union was changed")
    return replace(before, phase=5)


def _tables(request: TableRequest, before: Asked, terms: Terms) -> Asked:
    """What is summed of tables comes after the votes; levels, sums of products and own scores come
    in this order, and the first two once."""
    _require(before.phase in (5, 6), "counts are asked for out of turn")
    _require(before.counts < terms.counts, f"{terms.counts} requests for counts were agreed on")
    asked = replace(before, phase=6, counts=before.counts + 1)
    if isinstance(request, ForParameters):
        return _for_parameters(request, asked)
    if isinstance(request, SizeRequest | ScatterRequest):
        turn = 0 if isinstance(request, SizeRequest) else 1
        _require(before.products == turn, "sums of products are asked for out of turn")
        return replace(asked, products=turn + 1)
    _require(bool(request.families), "nothing is asked")
    told = before.products == 2 or not isinstance(request, ScoreRequest)
    _require(told, "scores are asked for out of turn")
    return asked


def _for_parameters(request: ForParameters, asked: Asked) -> Asked:
    """The four questions for parameters of numbers come in this order, and once."""
    turn = get_args(ForParameters).index(type(request))
    _require(asked.parameters == turn, "sums for parameters are asked for out of turn")
    if isinstance(request, EquationRequest):
        asked = replace(asked, equations=request)
    if isinstance(request, ResidualRequest):
        _require(request.of == asked.equations, "residuals are of other families")
    return replace(asked, parameters=turn + 1)


def _begins(longer: tuple[Any, ...], shorter: tuple[Any, ...]) -> bool:
    return longer[: len(shorter)] == shorter
