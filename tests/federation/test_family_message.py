"""Requests for counts and their answers on the wire, from parties that are not trusted."""

from __future__ import annotations

from functools import reduce
from io import BytesIO
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import MessageError
from fedbn.federation.family_message import (
    ANSWERS,
    MAX_SITE_ROWS,
    REQUESTS,
    FamilyAnswer,
    FamilyRequest,
    answer_from_arrays,
    answer_request,
    answer_to_arrays,
    request_from_arrays,
    request_to_arrays,
)
from fedbn.networks.family_counts import (
    MAX_ROWS,
    Family,
    FamilyCounts,
    FamilyTables,
    families_of,
)
from fedbn.scores.family_scores import own_scores
from tests.strategies import dag_lists

SCHEMA = Schema.categorical({"a": "01", "b": "012", "c": "01"})
FAMILIES = (Family(0, ()), Family(1, (0, 2)), Family(2, (0,)))
REQUEST = FamilyRequest(FamilyTables(SCHEMA, FAMILIES), with_own=True)
DATA = Dataset(SCHEMA, np.array([[0, 2, 1], [1, 0, 1], [0, 2, 0]]))


@settings(max_examples=25, deadline=None)
@given(dag_lists(max_nodes=4), st.booleans())
def test_what_is_sent_is_what_arrives(graphs, with_own: bool) -> None:
    n = graphs[0].n
    schema = Schema.categorical({f"v{i}": "012"[: 2 + i % 2] for i in range(n)})
    sent = FamilyRequest(FamilyTables(schema, families_of(graphs)), with_own)
    received = request_from_arrays(request_to_arrays(sent), schema)
    assert received == sent
    assert received.digest == sent.digest
    rows = np.random.default_rng(n).integers(0, 2, (5, n))
    answer = answer_request(received, Dataset(schema, rows), ess=1.0)
    found = answer_from_arrays(answer_to_arrays(received, answer), sent, ess=1.0)
    assert found.counts == answer.counts
    assert np.array_equal(found.own, answer.own)


def request_with(**changed: Any) -> dict[str, Any]:
    return {**request_to_arrays(REQUEST), **changed}


def int32(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


BAD_REQUESTS = {
    "a missing array": (
        {key: request_to_arrays(REQUEST)[key] for key in REQUESTS.keys[:3]},
        "exactly the arrays",
    ),
    "another type": (request_with(nodes=np.zeros(3)), "nodes must be int32"),
    "two axes": (request_with(parents=np.zeros((3, 1), dtype=np.int32)), "with one axis"),
    "a short header": (request_with(header=np.full(3, 4, dtype=np.uint8)), "34 bytes"),
    "another version": (request_with(header=np.full(34, 9, dtype=np.uint8)), "must be 4, not 9"),
    "no variable": (request_with(nodes=int32(0, 1, 7)), "nodes must lie between 0 and 2, not 7"),
    "its own parent": (request_with(parents=int32(0, 2, 2)), "different variables"),
    "parents that fall": (request_with(parents=int32(2, 0, 0)), "must ascend"),
    "families that fall": (
        request_with(nodes=int32(1, 0, 2), indptr=np.array([0, 2, 2, 3])),
        "sorted and distinct",
    ),
    "indptr past the end": (request_with(indptr=np.array([0, 0, 2, 4])), "rise from 0"),
    "indptr that wraps": (request_with(indptr=np.array([0, 2**62, 2, 3])), "rise from 0"),
    "nothing": (
        request_with(nodes=int32(), parents=int32(), indptr=np.array([0])),
        "at least one family",
    ),
}


@pytest.mark.parametrize("case", BAD_REQUESTS)
def test_a_bad_request_is_refused_by_the_site(case: str) -> None:
    arrays, reason = BAD_REQUESTS[case]
    with pytest.raises(MessageError, match=rf".*{reason}"):
        request_from_arrays(arrays, SCHEMA)


def test_a_request_under_another_schema_is_refused() -> None:
    other = Schema.categorical({"a": "01", "b": "01", "c": "01"})
    with pytest.raises(MessageError, match="hash of the schema"):
        request_from_arrays(request_to_arrays(REQUEST), other)


def test_a_request_for_a_huge_table_costs_nothing() -> None:
    schema = Schema.categorical({f"v{i:02d}": "01234" for i in range(40)})
    tables = FamilyTables(schema, (Family(0, (1,)),))
    arrays = request_to_arrays(FamilyRequest(tables, with_own=True))
    huge = {**arrays, "parents": np.arange(1, 40, dtype=np.int32), "indptr": np.array([0, 39])}
    with pytest.raises(MessageError, match="at most 1099511627776 cells"):
        request_from_arrays(huge, schema)


def answer_with(**changed: Any) -> dict[str, Any]:
    return {**answer_to_arrays(REQUEST, answer_request(REQUEST, DATA, 1.0)), **changed}


def uint8(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint8)


# DATA has 18 cells: 2 of a, 12 of b given a and c, 4 of c given a. Those that count rows:
SEEN = np.flatnonzero(np.unpackbits(answer_with()["seen"])).tolist()
CELLS = answer_with()["cells"].tolist()


def test_the_answer_of_the_example_is_this_one() -> None:
    assert SEEN == [0, 1, 4, 7, 11, 14, 15, 17]
    assert CELLS == [2, 1, 1, 1, 1, 1, 1, 1]
    assert answer_with()["cells"].dtype == np.uint8


def seen(*cells: int) -> np.ndarray:
    bits = np.zeros(24, dtype=np.bool_)
    bits[list(cells)] = True
    return np.packbits(bits)


BAD_ANSWERS = {
    "a missing array": ({"cells": answer_with()["cells"]}, "exactly the arrays"),
    "floats": (answer_with(cells=answer_with()["cells"].astype(float)), "cells must be uint8 or"),
    "signed counts": (answer_with(cells=-np.array(CELLS)), "cells must be uint8 or"),
    "too few cells": (
        answer_with(cells=uint8(*CELLS[:-1])),
        r"cells must be \[8\] by seen",
    ),
    "too many cells": (
        answer_with(cells=uint8(*CELLS, 1)),
        r"cells must be \[8\] by seen",
    ),
    "seen too short": (answer_with(seen=answer_with()["seen"][:-1]), "3 bytes for 18 cells, not 2"),
    "seen too long": (answer_with(seen=np.append(answer_with()["seen"], uint8(0))), "not 4"),
    "seen past the end": (answer_with(seen=seen(*SEEN[:-1], 20)), "end with zeros after 18 bits"),
    "an empty cell": (
        answer_with(cells=uint8(2, 1, 0, 1, 1, 1, 1, 1)),
        "cells must be at least 1 and at most 4503599627370496, not 0",
    ),
    "a wide type": (answer_with(cells=np.array(CELLS, dtype=np.uint16)), "cells must be uint8, as"),
    "a count too large": (
        answer_with(cells=np.array([2**62, *CELLS[1:]], dtype=np.uint64)),
        "cells must be at least 1 and at most",
    ),
    "a count that wraps": (
        answer_with(cells=np.array([2**64 - 1, *CELLS[1:]], dtype=np.uint64)),
        "cells must be at least 1 and at most",
    ),
    "another number of rows": (answer_with(cells=uint8(9, *CELLS[1:])), "must count the same rows"),
    "no rows": (answer_with(seen=seen(), cells=uint8()), "at least 1 row"),
    "an own score of its own": (
        answer_with(own=answer_with()["own"] + np.array([0, 2, 0])),
        "must be .* by its counts",
    ),
    "counts that were moved": (
        answer_with(seen=seen(0, *SEEN[2:]), cells=uint8(3, *CELLS[2:])),
        "by its counts",
    ),
    "gaps where no table is large": (answer_with(gaps=uint8(0)), r"cells must be \[9\]"),
    "own scores too few": (answer_with(own=answer_with()["own"][:2]), r"own must be \[3\]"),
}


@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_a_bad_answer_is_refused_by_the_server(case: str) -> None:
    arrays, reason = BAD_ANSWERS[case]
    with pytest.raises(MessageError, match=rf".*{reason}"):
        answer_from_arrays(arrays, REQUEST, 1.0)


def test_an_answer_to_another_request_is_refused() -> None:
    other = FamilyRequest(FamilyTables(SCHEMA, (*FAMILIES[:2], Family(2, (1,)))), with_own=True)
    arrays = answer_to_arrays(other, answer_request(other, DATA, 1.0))
    with pytest.raises(MessageError, match="hash of the request"):
        answer_from_arrays(arrays, REQUEST, 1.0)
    without = FamilyRequest(REQUEST.tables, with_own=False)
    arrays = answer_to_arrays(without, answer_request(without, DATA, 1.0))
    header = arrays["header"].copy()
    header[2:] = answer_with()["header"][2:]
    with pytest.raises(MessageError, match="if, and only if"):
        answer_from_arrays({**arrays, "header": header}, REQUEST, 1.0)


PLAIN = FamilyRequest(REQUEST.tables, with_own=False)


@pytest.mark.parametrize("kept", [FAMILIES[:1], FAMILIES[1:], (FAMILIES[0], FAMILIES[2]), FAMILIES])
def test_families_may_be_held_back_where_none_are_compared(kept: tuple[Family, ...]) -> None:
    answer = answer_request(PLAIN, DATA, 1.0)
    part = FamilyAnswer(answer.counts.of(kept), answer.own)
    found = answer_from_arrays(answer_to_arrays(PLAIN, part), PLAIN, 1.0)
    assert found.counts == part.counts
    for family in kept:
        assert np.array_equal(found.counts.table(family), answer.counts.table(family))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (uint8(), "given must have 1 bytes for 3 families, not 0"),
        (uint8(0b11100000, 0), "given must have 1 bytes for 3 families, not 2"),
        (uint8(0b11110000), "given must end with zeros after 3 bits"),
        (uint8(0), "the counts of at least one family must be given, found 0"),
        (uint8(0b11000000), "seen must have|cells must be"),
        (np.array([224]), "given must be uint8"),
    ],
)
def test_what_is_given_is_checked(given: np.ndarray, reason: str) -> None:
    arrays = {**answer_to_arrays(PLAIN, answer_request(PLAIN, DATA, 1.0)), "given": given}
    with pytest.raises(MessageError, match=rf".*({reason})"):
        answer_from_arrays(arrays, PLAIN, 1.0)


def test_families_that_are_compared_are_given_together() -> None:
    with pytest.raises(MessageError, match="the counts of all families must be given, found 2"):
        answer_from_arrays(answer_with(given=uint8(0b11000000)), REQUEST, 1.0)


def test_no_site_alone_makes_the_sum_too_large() -> None:
    """Rows that nobody has, each in one state: the counts agree, and their scores are near 0."""
    for rows, allowed in ((MAX_SITE_ROWS, True), (MAX_SITE_ROWS + 1, False), (MAX_ROWS, False)):
        cells = np.zeros(18, dtype=np.int64)
        cells[[0, 2, 14]] = rows
        counts = FamilyCounts.of_cells(REQUEST.tables, cells)
        answer = FamilyAnswer(counts, own_scores(counts))
        arrays = answer_to_arrays(REQUEST, answer)
        if allowed:
            found = answer_from_arrays(arrays, REQUEST, 1.0).counts
            assert reduce(add, [found] * 4096).rows == MAX_ROWS
        else:
            with pytest.raises(MessageError, match=f"at most {MAX_SITE_ROWS}, not {rows}"):
                answer_from_arrays(arrays, REQUEST, 1.0)


@pytest.mark.parametrize(
    ("rows", "kind"), [(255, np.uint8), (256, np.uint16), (65_535, np.uint16), (65_536, np.uint32)]
)
def test_counts_have_the_narrowest_type_that_holds_them(rows: int, kind: type) -> None:
    schema = Schema.categorical({"a": "01"})
    request = FamilyRequest(FamilyTables(schema, (Family(0, ()),)), with_own=False)
    answer = answer_request(request, Dataset(schema, np.ones((rows, 1), dtype=int)), 1.0)
    arrays = answer_to_arrays(request, answer)
    assert arrays["cells"].dtype == kind
    assert arrays["seen"].tolist() == [0b01000000]
    parts = [(key, npy(array)) for key, array in arrays.items()]
    arrived = ANSWERS.read(parts)
    assert answer_from_arrays(arrived, request, 1.0).counts == answer.counts


def npy(array: np.ndarray) -> bytes:
    file = BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_keys_are_the_documented_ones() -> None:
    assert tuple(request_with()) == REQUESTS.keys
    assert tuple(answer_with()) == ANSWERS.keys


WIDE = Schema.categorical({name: [f"{s:03d}" for s in range(150)] for name in "ab"})
LARGE = FamilyRequest(
    FamilyTables(WIDE, (Family(0, ()), Family(0, (1,)), Family(1, ()), Family(1, (0,)))), True
)


def large_table(rows: int, seed: int) -> Dataset:
    return Dataset(WIDE, np.random.default_rng(seed).integers(0, 150, (rows, 2)))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 400), st.integers(0, 99))
def test_large_tables_travel_as_the_cells_that_count_rows(rows: int, seed: int) -> None:
    answer = answer_request(LARGE, large_table(rows, seed), ess=1.0)
    arrays = answer_to_arrays(LARGE, answer)
    assert arrays["seen"].size == -(-300 // 8)
    assert arrays["gaps"].size <= 2 * rows
    found = answer_from_arrays(arrays, LARGE, ess=1.0)
    assert found.counts == answer.counts


def large_answer(**changed: Any) -> dict[str, Any]:
    return {**answer_to_arrays(LARGE, answer_request(LARGE, large_table(9, 0), 1.0)), **changed}


GAPS = large_answer()["gaps"]
BAD_GAPS = {
    "wide": (large_answer(gaps=GAPS.astype(np.uint64)), "gaps must be uint16, as the largest"),
    "past the end": (
        large_answer(gaps=np.append(GAPS[:-1], np.uint16(45_000)).astype(np.uint16)),
        "gaps must lead to cells below 45000",
    ),
    "that wrap": (
        large_answer(gaps=np.append(GAPS[:-1].astype(np.uint64), np.uint64(2**64 - 1))),
        "gaps must lead to cells below 45000",
    ),
    "too few": (large_answer(gaps=GAPS[:-1]), "cells must be"),
    "of another family": (
        large_answer(gaps=np.array([22_500, *GAPS[1:]], dtype=np.uint16)),
        "same rows|by its counts|below 45000",
    ),
}


@pytest.mark.parametrize("case", BAD_GAPS)
def test_bad_gaps_are_refused(case: str) -> None:
    arrays, reason = BAD_GAPS[case]
    with pytest.raises(MessageError, match=rf".*({reason})"):
        answer_from_arrays(arrays, LARGE, 1.0)
