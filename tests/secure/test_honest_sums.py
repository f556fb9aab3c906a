"""Sums of honest sites pass; sums that no such sites can have end the search."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.arrays import Ints
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import DataError, MessageError
from fedbn.graphs.dag import DAG
from fedbn.networks.family_counts import Family, FamilyTables, count_families
from fedbn.scores.family_scores import FIXED_POINT, own_scores
from fedbn.secure.answers import answer
from fedbn.secure.family_sums import sum_families_of_blocks
from fedbn.secure.path import secure_path, secure_votes
from fedbn.secure.requests import (
    CutRequest,
    OrderRequest,
    SumRequest,
    UnionRequest,
    VoteRequest,
)
from fedbn.secure.selection import secure_consensus
from tests.naive_judged import own_units
from tests.strategies import dag_lists

CHAIN = DAG.from_edges("abcd", ["ab", "bc", "cd"])
SITES = [CHAIN, CHAIN, DAG.from_edges("abcd", ["ab", "cb", "cd"])]


def told(
    search: Generator[SumRequest, Any, Any],
    dags: Sequence[DAG],
    lie: Callable[[SumRequest, Ints], Ints] = lambda _, sums: sums,
) -> Any:
    """The end of a search over sites of one DAG each, one of which adds to the honest sums."""
    try:
        request = next(search)
        while True:
            sums = np.sum([answer(request, [dag], [1]) for dag in dags], axis=0)
            request = search.send(lie(request, sums))
    except StopIteration as end:
        return end.value


@given(dag_lists(max_nodes=6, max_dags=4), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_sums_of_honest_sites_pass(dags: list[DAG], quorum: int) -> None:
    quorum = min(quorum, len(dags))
    told(secure_path(dags[0].names, len(dags), 1, look_ahead=2, quorum=quorum), dags)
    told(secure_votes(dags[0].names, len(dags), 1), dags)


@pytest.mark.parametrize(
    ("kind", "most", "words"),
    [
        (OrderRequest, 3 * (4 + 8), "costs of an order must lie between -3 and 36"),
        (CutRequest, 3 * 3, "minimum cuts must lie between 0 and 9"),
        (UnionRequest, 3, "sites with an arc must lie between 0 and 3"),
        (VoteRequest, 3, "votes on moral edges must lie between 0 and 3"),
    ],
)
@pytest.mark.parametrize("beyond", [0, 1])
def test_a_sum_at_its_bound_passes_and_one_beyond_does_not(
    kind: type, most: int, words: str, beyond: int
) -> None:
    def lie(request: SumRequest, sums: Ints) -> Ints:
        if isinstance(request, kind):
            sums = sums.copy()
            sums[0] = most + beyond
        return sums

    def run() -> Any:
        return told(secure_path("abcd", 3, 1, robust="mean", quorum=2), SITES, lie)

    if not beyond:
        run()
        return
    with pytest.raises(
        MessageError, match=f"{words}, not be {most + 1}: some site sent wrong sums"
    ):
        run()


def test_a_clipped_cut_counts_at_most_once() -> None:
    def lie(request: SumRequest, sums: Ints) -> Ints:
        return sums + 4 if isinstance(request, CutRequest) else sums

    with pytest.raises(MessageError, match="minimum cuts must lie between 0 and 3"):
        told(secure_path("abcd", 3, 1, robust="clip"), SITES, lie)


@pytest.mark.parametrize("field", ["compelled", "reversible", "arc"])
def test_votes_on_a_pair_must_go_together(field: str) -> None:
    """The DAGs' six pairs: the moral votes are the first six integers, then come four fields."""

    def lie(request: SumRequest, sums: Ints) -> Ints:
        if isinstance(request, VoteRequest):
            sums = sums.copy()
            moral, (forward, _, reversible, arc) = sums[:6], sums[6:].reshape(4, 6)
            moral[0] = 2
            forward[0] = reversible[0] = arc[0] = 1
            if field == "compelled":
                forward[0], arc[0] = 2, 2
            elif field == "reversible":
                reversible[0] = 2
            else:
                arc[0] = 3
        return sums

    with pytest.raises(MessageError, match="votes on a pair cannot be"):
        told(secure_path("abcd", 3, 1, quorum=2), SITES, lie)


def test_a_lie_within_the_bounds_decides_and_is_not_noticed() -> None:
    """Two honest sites of three send a chain; the third, which knows it, makes the sums those of
    three sites with another structure. Nothing caps its share (docs/security.md)."""
    wanted = DAG.from_edges("abcd", ["ac", "bd", "ad"])

    def lie(request: SumRequest, sums: Ints) -> Ints:
        others = np.sum([answer(request, [CHAIN], [1]) for _ in range(2)], axis=0)
        added = 3 * answer(request, [wanted], [1]) - others
        honest = answer(request, [CHAIN], [1])
        return sums - honest + added

    def search() -> Generator[SumRequest, Any, Any]:
        return secure_path("abcd", 3, 1, quorum=2)

    lied, alone = told(search(), [CHAIN] * 3, lie), told(search(), [wanted] * 3)
    assert secure_consensus(lied)[1].dag == secure_consensus(alone)[1].dag == wanted


SCHEMA = Schema.categorical({"a": "01", "b": "012", "c": "01"})
TABLES = FamilyTables(
    SCHEMA, (Family(0, ()), Family(1, (0,)), Family(1, (0, 2)), Family(2, (0, 1)))
)


def summed(parts: Sequence[Dataset]) -> tuple[Ints, Ints]:
    """Cells and own scores of honest sites."""
    counts = [count_families(table, TABLES.families) for table in parts]
    return sum(c.cells for c in counts), sum(own_scores(c) for c in counts)


def sent(cells: Ints, own: Ints) -> Any:
    search = sum_families_of_blocks(TABLES, (), 1.0)
    next(search)
    with pytest.raises(StopIteration) as end:
        search.send(np.concatenate([cells, own]))
    ((_, sums),) = end.value.value
    return sums


@st.composite
def site_tables(draw: st.DrawFn) -> list[Dataset]:
    row = st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 1))
    parts = draw(st.lists(st.lists(row, min_size=1, max_size=12), min_size=1, max_size=4))
    return [Dataset(SCHEMA, np.array(rows)) for rows in parts]


@given(site_tables())
@settings(deadline=None)
def test_counts_of_honest_sites_pass(parts: list[Dataset]) -> None:
    cells, own = summed(parts)
    assert sent(cells, own).own.tolist() == own.tolist()
    for place, (node, parents) in enumerate(TABLES.families):
        assert own[place] == sum(own_units(part, node, parents) for part in parts)


def test_counts_of_no_table_are_refused() -> None:
    """Of (b | a) with the same number of rows, but another a: every family alone looks right."""
    cells, own = summed([Dataset(SCHEMA, np.array([[0, 1, 0], [1, 2, 1], [1, 0, 0]]))])
    place = int(TABLES.start[1])
    cells = cells.copy()
    cells[place + 1] -= 1
    cells[place + 3] += 1
    with pytest.raises(DataError, match=r"counts of 'a' are \[1, 2\] in one family and \[0, 3\]"):
        sent(cells, own)


@pytest.mark.parametrize("nats", [1 / FIXED_POINT, -1e4, 2.0**30])
def test_own_scores_that_no_site_has_are_refused(nats: float) -> None:
    cells, own = summed([Dataset(SCHEMA, np.array([[0, 1, 0], [1, 2, 1], [1, 0, 0]]))] * 3)
    own = own.copy()
    own[1] = round(nats * FIXED_POINT)
    with pytest.raises(DataError, match=r"own scores of family \(1, \(0,\)\) must lie between -"):
        sent(cells, own)
