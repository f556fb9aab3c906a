"""MCBNC for a server that hears sums only.

The order heuristic, the union of the I-maps, the choice of every deletion and the choice of θ need
sums over the sites and nothing else ("Bayesian Network Structural Consensus via Greedy Min-Cut
Analysis", AAAI-26, names this as future work). So the search here asks for sums, and its result is
that of `mcbnc_paths`, `select_consensus` and `prefer` on the same inputs, exactly.

`secure_path` is a generator that yields requests (`requests.py`) and is sent the sums of the sites'
answers (`answers.py`). It knows nothing of networks, masks or sites:

    order      the costs of the nodes left, until one is left            n - 1 rounds at most
    union      which arcs the minimal I-maps under σ have: G+            1
    cuts       the cuts of all operators of P, until it is empty         edges of G+, at most
    order, union on the inputs pruned at every θ, all of them at once    n, at most
    votes      on the moral edges and the CPDAGs of the original inputs  1

Knowledge is the server's to keep: it chooses among the sums that it is told, and what is forbidden
leaves the union on its side.

What differs from the open run: far inputs are not ignored, and no judged vote is looked for; an
edge that is forbidden in one direction alone binds every order from the start; no random ties, no
median of cuts (that is no sum), and with a quorum above 1 a union has only the arcs that so many
sites have, so it is no I-map of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Ints, Ints32
from fedbn.consensus.path import DeletionPath, Status, Step
from fedbn.consensus.pooling import Robust, poolings_of
from fedbn.consensus.threshold import Reading
from fedbn.consensus.votes import Votes
from fedbn.errors import ConfigError, MessageError
from fedbn.fusion.union import precedence_of
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.secure.blocks import Columns
from fedbn.secure.guesses_ahead import MAX_CHAIN
from fedbn.secure.honest_sums import require_arcs, require_costs, require_cuts
from fedbn.secure.pattern import pattern_of
from fedbn.secure.requests import (
    Arcs,
    CutRequest,
    Deletions,
    OrderRequest,
    OrderState,
    SumRequest,
    UnionRequest,
    UnionState,
    VoteRequest,
)
from fedbn.secure.searches import DeletionSearch, OrderSearch
from fedbn.secure.votes import asked_pairs, summed_votes
from fedbn.secure.words import largest_sum

if TYPE_CHECKING:
    from fedbn._core.fusion import Precedence

SecureSums = Generator[SumRequest, Ints, "SecurePath"]
Orders = tuple[tuple[int, ...], ...]

LARGEST_SUM = 2**62


@dataclass(frozen=True, eq=False, kw_only=True)
class SecureBranch(DeletionPath):
    """The deletions of one pooling.

    Attributes
    ----------
    fusions : [B], the arcs [m, 2] in the fusion of the inputs as pruned after every entry of
        `state_ends`; None where only the reading `search` is wanted.
    """

    fusions: tuple[Ints32, ...] | None


@dataclass(frozen=True, eq=False)
class SecurePath:
    """What the server knows at the end: of the sites, sums only.

    Attributes
    ----------
    branches : the path of every pooling.
    votes : of the original inputs.
    clients : number of sites.
    quorum : how many sites an arc of a union needs.
    rounds : how many sums were asked.
    integers : how many integers every site sent.
    """

    branches: tuple[SecureBranch, ...]
    votes: Votes
    clients: int
    quorum: int
    rounds: int
    integers: int


@dataclass
class _Tally:
    """Counts what was asked of sites whose inputs have the weight `total` together, and checks that
    the sums have the length of the question."""

    total: int
    rounds: int = 0
    integers: int = 0

    def ask(self, request: SumRequest, length: int) -> Generator[SumRequest, Ints, Ints]:
        sums = yield request
        if sums.shape != (length,) or sums.dtype != np.int64:
            raise MessageError(f"the sums must be {length} int64, not {sums.dtype} {sums.shape}")
        self.rounds += 1
        self.integers += length
        return sums


def _never() -> bool:
    return False


def secure_path(
    names: Sequence[str],
    clients: int,
    units: int,
    *,
    k_max: int = 10,
    look_ahead: int = 8,
    quorum: int = 1,
    reading: Reading = "best",
    robust: Robust = "best",
    stop: Callable[[], bool] = _never,
    knowledge: Knowledge | None = None,
    columns: Columns | None = None,
) -> SecureSums:
    """Ask for sums until the path is known; a generator that is sent int64 vectors.

    Parameters
    ----------
    names : the agreed variables, sorted as text.
    clients : number of sites, whose answers are summed.
    units : what the weights of every site's DAGs sum to.
    k_max : largest |H| of an operator, >= 0.
    look_ahead : how many choices are guessed ahead, 0 to 16; without effect on the result.
    quorum : how many sites must have an arc for a union to have it.
    reading : "search" spares the rounds of the refusion.
    robust : "mean", "clip", or "best" of both; a median is no sum.
    stop : asked before every round of cuts; when it says yes, the path ends there.
    knowledge : what G+ and every state keep; the sites are not asked for more than without.
    columns : for which of the variables each site answers, where they have different ones. A sum is
        then a mean over those that do (docs/different-variables.md).

    Raises
    ------
    ConfigError : a parameter is out of its range, or exact sums could overflow 64 bits.
    SearchError : P has too many operators.
    MessageError : sums are none that so many sites can have.

    Examples
    --------
    >>> from fedbn.secure.answers import answer
    >>> sites = [DAG.from_edges("abc", [("a", "b"), ("b", "c")]), DAG.from_edges("abc", ["ab"])]
    >>> search = secure_path("abc", 2, 1, robust="mean")
    >>> request = next(search)
    >>> try:
    ...     while True:
    ...         request = search.send(sum(answer(request, [dag], [1]) for dag in sites))
    ... except StopIteration as end:
    ...     path = end.value
    >>> [(s.x, s.y, str(s.psi)) for s in path.branches[0].steps]
    [('b', 'c', '1/2'), ('a', 'b', '1')]
    """
    poolings = poolings_of(robust)
    _check(names, clients, units, k_max, look_ahead, quorum, poolings)
    n, total = len(names), clients * units
    tally = _Tally(total)
    start: tuple[Deletions, ...] = ((),)
    rules = _Rules(tuple(names), look_ahead, clients, quorum, knowledge, columns)
    ((order, union),) = yield from _fusions(start, [(0, 0)], None, rules, tally)
    arcs = tuple((int(a), int(b)) for a, b in np.argwhere(union))
    known = None if knowledge is None else knowledge.bits(names)
    p = pattern_of(arcs, n)
    searches = [
        DeletionSearch(p, k_max, word == "clip", known, units, columns) for word in poolings
    ]
    yield from _deletions(arcs, k_max, searches, look_ahead, stop, tally)
    branches = [
        SecureBranch(
            names=tuple(names),
            order=tuple(names[v] for v in order),
            union=DAG(tuple(names), union),
            k_max=k_max,
            steps=_steps(search, names, search.scale(total)),
            status=_status(search),
            pooling=pooling,
            fusions=None,
            knowledge=knowledge,
        )
        for pooling, search in zip(poolings, searches, strict=True)
    ]
    if reading != "search":
        ends = [branch.state_ends for branch in branches]
        fused = yield from _refusions(union, order, searches, ends, rules, tally)
        branches = [
            replace(branch, fusions=fusions)
            for branch, fusions in zip(branches, fused, strict=True)
        ]
    is_imap = quorum == 1 and knowledge is None
    request = VoteRequest(arcs if is_imap else None, classes=True)
    votes = yield from _vote(request, names, tally, _seen(columns, units))
    return SecurePath(tuple(branches), votes, clients, quorum, tally.rounds, tally.integers)


def secure_votes(
    names: Sequence[str], clients: int, units: int, columns: Columns | None = None
) -> Generator[SumRequest, Ints, Votes]:
    """Ask for the moral votes alone: one round."""
    _check(names, clients, units, 0, 0, 1, ())
    request = VoteRequest(None, classes=False)
    return (yield from _vote(request, names, _Tally(clients * units), _seen(columns, units)))


def _seen(columns: Columns | None, units: int) -> Ints | None:
    return None if columns is None else columns.seeing * units


def _check(
    names: Sequence[str],
    clients: int,
    units: int,
    k_max: int,
    look_ahead: int,
    quorum: int,
    poolings: Sequence[str],
) -> None:
    if list(names) != sorted(set(names)) or not names:
        raise ConfigError("the names must be sorted as text and distinct, at least one")
    if clients < 1 or units < 1:
        raise ConfigError(f"clients and units must be at least 1, got {clients} and {units}")
    if k_max < 0:
        raise ConfigError(f"k-max must be >= 0, got {k_max}")
    if not 0 <= look_ahead <= MAX_CHAIN:
        raise ConfigError(f"look-ahead must be 0 to {MAX_CHAIN}, got {look_ahead}")
    if not 1 <= quorum <= clients:
        raise ConfigError(f"the vote quorum must be 1 to {clients} clients, got {quorum}")
    if "median" in poolings:
        raise ConfigError("a median is no sum: robust must be best, mean or clip")
    n = len(names)
    if largest_sum(n, clients, units) >= LARGEST_SUM:
        raise ConfigError(f"sums over {clients} clients and {n} variables must stay below 2^62")


def _orders(
    paths: tuple[Deletions, ...],
    states: Sequence[tuple[int, int]],
    searches: Sequence[OrderSearch],
    look_ahead: int,
    tally: _Tally,
) -> Generator[SumRequest, Ints, Orders]:
    """σ of every state (path, number of deletions); each advances at its own pace."""
    while waiting := [pair for pair in zip(states, searches, strict=True) if not pair[1].done]:
        asked = []
        for (path, count), search in waiting:
            search.ask(look_ahead)
            asked.append(OrderState(path, count, tuple(search.taken), search.chain))
        length = sum(search.length for _, search in waiting)
        sums = yield from tally.ask(OrderRequest(paths, tuple(asked)), length)
        require_costs(sums, searches[0].n, tally.total)
        for _, search in waiting:
            sums = search.hear(sums)
    return tuple(search.order for search in searches)


def _unions(
    paths: tuple[Deletions, ...],
    states: Sequence[tuple[int, int]],
    orders: Orders,
    rules: _Rules,
    tally: _Tally,
) -> Generator[SumRequest, Ints, list[NDArray[np.bool_]]]:
    """The union of the I-maps under every order, as bool [n, n]."""
    asked = tuple(
        UnionState(path, count, order) for (path, count), order in zip(states, orders, strict=True)
    )
    n = len(orders[0])
    pairs = n * (n - 1) // 2
    sums = yield from tally.ask(UnionRequest(paths, asked), len(asked) * pairs)
    if rules.quorum > 1:
        require_arcs(sums, rules.clients)
    needed = np.full((n, n), rules.quorum)
    if rules.columns is not None:
        needed = np.minimum(needed, np.maximum(rules.columns.seeing, 1))
    first, second = np.triu_indices(n, k=1)
    unions = []
    for order, part in zip(orders, sums.reshape(len(asked), pairs), strict=True):
        adjacency = np.zeros((n, n), np.bool_)
        sigma = np.array(order)
        adjacency[sigma[first], sigma[second]] = (
            part != 0 if rules.quorum == 1 else part >= needed[sigma[first], sigma[second]]
        )
        unions.append(adjacency)
    return unions


class _Rules(NamedTuple):
    """How fusions are asked for."""

    names: tuple[str, ...]
    look_ahead: int
    clients: int
    quorum: int
    knowledge: Knowledge | None
    columns: Columns | None


def _fusions(
    paths: tuple[Deletions, ...],
    states: Sequence[tuple[int, int]],
    guess: Sequence[int] | None,
    rules: _Rules,
    tally: _Tally,
) -> Generator[SumRequest, Ints, list[tuple[tuple[int, ...], NDArray[np.bool_]]]]:
    """σ and G+ of every state (path, number of deletions)."""
    n = len(rules.names)
    bound = None if rules.knowledge is None else _bound(rules.knowledge, rules.names)
    after = None if bound is None else bound.after
    having = None if rules.columns is None else rules.columns.having
    searches = [OrderSearch(n, guess, after, having) for _ in states]
    orders = yield from _orders(paths, states, searches, rules.look_ahead, tally)
    unions = yield from _unions(paths, states, orders, rules, tally)
    if bound is not None:
        unions = [unpack(bound.kept(pack(union.T)), n).T for union in unions]
    return list(zip(orders, unions, strict=True))


def _bound(knowledge: Knowledge, names: tuple[str, ...]) -> Precedence:
    """What binds every order. A site answers each phase once, so an order cannot be asked for again
    when its union needs a forbidden arc a -> b: unless b -> a is forbidden, too, or closes a cycle,
    b precedes a from the start."""
    precedence = precedence_of(knowledge, names)
    for a, b in np.argwhere(knowledge.forbidden_matrix(names)):
        arc = np.zeros((len(names), len(names)), np.bool_)
        arc[b, a] = True
        precedence.settle(pack(arc))
    return precedence


def _status(search: DeletionSearch) -> Status:
    if search.barred:
        return "knowledge"
    return "complete" if search.done else "time limit"


def _deletions(
    union: Arcs,
    k_max: int,
    searches: Sequence[DeletionSearch],
    look_ahead: int,
    stop: Callable[[], bool],
    tally: _Tally,
) -> Generator[SumRequest, Ints, None]:
    """Delete until P is empty on every path, or the time is over."""
    while not all(search.done for search in searches) and not stop():
        asked = tuple(search.ask(look_ahead) for search in searches)
        length = sum(search.length for search in searches)
        sums = yield from tally.ask(CutRequest(union, k_max, asked), length)
        for search in searches:
            of = search.weights(tally.total)
            require_cuts(sums[: search.length], search.n, of, clip=search.clip)
            sums = search.hear(sums)


def _refusions(
    union: NDArray[np.bool_],
    order: tuple[int, ...],
    searches: Sequence[DeletionSearch],
    ends: Sequence[tuple[int, ...]],
    rules: _Rules,
    tally: _Tally,
) -> Generator[SumRequest, Ints, list[tuple[Ints32, ...]]]:
    """The arcs in the fusions of the inputs as pruned at every θ; equal ones are asked for once.

    Where P is empty and every arc of an input was in G+, no input has an arc left: a cut between x
    and y parts them, so it holds the arc that joins them. Under a quorum or knowledge an arc may
    not have been in G+.
    """
    is_imap = rules.quorum == 1 and rules.knowledge is None
    paths = tuple(tuple(step.deletion for step in search.steps) for search in searches)
    fused: dict[Deletions, Ints32] = {(): np.ascontiguousarray(np.argwhere(union), np.int32)}
    states: dict[Deletions, tuple[int, int]] = {}
    for number, (deletions, counts) in enumerate(zip(paths, ends, strict=True)):
        for count in counts[1:]:
            if is_imap and searches[number].done and count == len(deletions):
                fused[deletions] = np.empty((0, 2), np.int32)
            else:
                states.setdefault(deletions[:count], (number, count))
    if states:
        wanted = list(states.values())
        unions = yield from _fusions(paths, wanted, order, rules, tally)
        for key, (_, made) in zip(states, unions, strict=True):
            fused[key] = np.ascontiguousarray(np.argwhere(made), np.int32)
    return [
        tuple(fused[deletions[:count]] for count in counts)
        for deletions, counts in zip(paths, ends, strict=True)
    ]


def _vote(
    request: VoteRequest, names: Sequence[str], tally: _Tally, seen: Ints | None
) -> Generator[SumRequest, Ints, Votes]:
    pairs = asked_pairs(request, len(names))
    sums = yield from tally.ask(request, pairs.length)
    return summed_votes(pairs, sums, names, tally.total, seen)


def _steps(search: DeletionSearch, names: Sequence[str], total: int) -> tuple[Step, ...]:
    """The deletions with names and exact fractions."""
    steps, largest = [], 0
    for deletion, h, psi in search.steps:
        largest = max(largest, psi)
        left_out = np.flatnonzero(unpack(h[None], len(names))[0]).tolist()
        given = () if search.columns is None else deletion.given
        steps.append(
            Step(
                x=names[deletion.x],
                y=names[deletion.y],
                h=tuple(names[v] for v in left_out),
                psi=Fraction(psi, total),
                theta=Fraction(largest, total),
                given=tuple(names[v] for v in given),
            )
        )
    return tuple(steps)
