"""A site's answers: vectors of integers, of which only the sums over the sites are ever read.

`answer` depends on the request and the site's own DAGs alone, so the same request gives the same
answer. The compiled parts are those of the fusion and of the consensus, run over one site's DAGs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedbn.arrays import Bits, Ints
from fedbn.errors import ConfigError
from fedbn.graphs.bits import unpack
from fedbn.graphs.dag import DAG
from fedbn.secure.blocks import Columns
from fedbn.secure.pattern import after, operators_of, pattern_of, set_bits
from fedbn.secure.requests import (
    CutPath,
    CutRequest,
    Deletion,
    Deletions,
    OrderRequest,
    SumRequest,
    UnionRequest,
    VoteRequest,
)
from fedbn.secure.votes import asked_pairs, own_votes

if TYPE_CHECKING:
    from fedbn._core.secure import OwnInputs as Pruned

UNCLIPPED = 2**31
"""More than any cut."""


class OwnInputs(NamedTuple):
    """What a site answers from.

    pa, weights : the parents in each of its DAGs, bits [k, n, W], and their weights, int64 [k].
    columns, site : where sites have different ones, those of all and its own place; what it does
        not answer for is isolated in its DAGs.
    """

    pa: Bits
    weights: Ints
    columns: Columns | None = None
    site: int = 0


def answer(
    request: SumRequest,
    dags: Sequence[DAG],
    weights: Sequence[int],
    columns: Columns | None = None,
    site: int = 0,
) -> Ints:
    """The vector that this site adds to the sum.

    Parameters
    ----------
    request : what is asked; one that `guard.require_allowed` let pass.
    dags : the site's own, all over the agreed names in name order.
    weights : a positive whole number for each; of every site the same sum.
    columns, site : where sites answer for different columns, which; and the place of this site.

    Returns
    -------
    int64 [L]. Of a union: 1 where one of the DAGs has the arc, else 0.

    Raises
    ------
    ConfigError : DAGs and weights do not match.
    MessageError : the request names nodes that are not there, or a deletion that P does not allow.
    SearchError : P has too many operators.
    """
    if not dags or len(dags) != len(weights) or min(weights) < 1:
        raise ConfigError(f"a site needs DAGs and positive weights, got {len(dags)}, {weights}")
    pa = np.stack([dag.parent_bits for dag in dags])
    own = OwnInputs(pa, np.array(weights, dtype=np.int64), columns, site)
    return np.concatenate([np.empty(0, np.int64), *_parts(request, own)])


@singledispatch
def _parts(request: object, own: OwnInputs) -> Iterator[Ints]:
    raise TypeError(f"no request for a sum: {request!r}")


@_parts.register
def _costs(request: OrderRequest, own: OwnInputs) -> Iterator[Ints]:
    """For every state and along its chain: the summed costs of the nodes left, by index; of a node
    that the site does not answer for 0."""
    from fedbn._core.secure import cost_sums

    if own.columns is None:
        answered = np.ones(own.pa.shape[1], np.int64)
    else:
        answered = own.columns.has[own.site].astype(np.int64)
    pruned = _prune_along(request.paths, [(s.path, s.deletions) for s in request.states], own)
    for state in request.states:
        pa = pruned[state.path, state.deletions]
        taken, chain = (np.array(v, dtype=np.int64) for v in (state.taken, state.chain))
        left = np.ones(pa.shape[1], np.bool_)
        left[taken] = False
        for level, costs in enumerate(cost_sums(pa, own.weights, taken, chain)):
            if level > 0:
                left[chain[level - 1]] = False
            yield (costs * answered)[left]


@_parts.register
def _arcs(request: UnionRequest, own: OwnInputs) -> Iterator[Ints]:
    """For every state and pair of places i < j of its order: 1 where an I-map has the arc."""
    from fedbn._core.fusion import minimal_imaps

    pruned = _prune_along(request.paths, [(s.path, s.deletions) for s in request.states], own)
    for state in request.states:
        order = np.array(state.order, dtype=np.int64)
        maps = minimal_imaps(pruned[state.path, state.deletions], order)
        parents = np.bitwise_or.reduce(maps)
        arcs = unpack(parents, len(order)).T[np.ix_(order, order)]
        yield arcs[np.triu_indices(len(order), k=1)].astype(np.int64)


@_parts.register
def _cuts(request: CutRequest, own: OwnInputs) -> Iterator[Ints]:
    """For every path that is asked and along its chain: the cuts of all operators of P."""
    p = pattern_of(request.union, own.pa.shape[1])
    for path in request.paths:
        if path.asked:
            yield from _cuts_along(path, p, request.k_max, own)


def _cuts_along(path: CutPath, p: Bits, k_max: int, own: OwnInputs) -> Iterator[Ints]:
    from fedbn._core.secure import OwnInputs as Pruned

    pruned = Pruned(own.pa)
    for deletion in path.deletions:
        p, _ = after(p, deletion, k_max)
        _prune(pruned, deletion, own)
    largest = 1 if path.clip else UNCLIPPED
    for level in range(len(path.chain) + 1):
        if level > 0:
            p, _ = after(p, path.chain[level - 1], k_max)
            _prune(pruned, path.chain[level - 1], own)
        asked = operators_of(p, k_max)
        cuts = pruned.cut_sums(own.weights, asked.xy, asked.given, largest)
        if own.columns is not None:
            cuts[~own.columns.is_judge(own.site, asked.xy, asked.given)] = 0
        yield cuts


@_parts.register
def _votes(request: VoteRequest, own: OwnInputs) -> Iterator[Ints]:
    yield own_votes(asked_pairs(request, own.pa.shape[1]), own.pa, own.weights)


def _prune(pruned: Pruned, deletion: Deletion, own: OwnInputs) -> None:
    given = set_bits(deletion.given, own.pa.shape[2])
    pruned.prune(deletion.x, deletion.y, given[None])


def _prune_along(
    paths: Sequence[Deletions], wanted: Sequence[tuple[int, int]], own: OwnInputs
) -> dict[tuple[int, int], Bits]:
    """(path, number of deletions) -> parents of the inputs after them."""
    from fedbn._core.secure import OwnInputs as Pruned

    found = {state: own.pa for state in wanted if state[1] == 0}
    for number, deletions in enumerate(paths):
        counts = {count for path, count in wanted if path == number and count > 0}
        if not counts:
            continue
        pruned = Pruned(own.pa)
        for done, deletion in enumerate(deletions[: max(counts)], start=1):
            _prune(pruned, deletion, own)
            if done in counts:
                found[number, done] = pruned.parents()
    return found
