"""Requests for counts and their answers on the wire, from parties that are not trusted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset, Schema
from fedbn.errors import MessageError
from fedbn.federation.family_message import (
    ANSWER_KEYS,
    REQUEST_KEYS,
    FamilyRequest,
    answer_from_arrays,
    answer_request,
    answer_to_arrays,
    request_from_arrays,
    request_to_arrays,
)
from fedbn.networks.family_counts import Family, FamilyTables, families_of
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
        {key: request_to_arrays(REQUEST)[key] for key in REQUEST_KEYS[:3]},
        "exactly the arrays",
    ),
    "another type": (request_with(nodes=np.zeros(3)), "nodes must be int32"),
    "two axes": (request_with(parents=np.zeros((3, 1), dtype=np.int32)), "with one axis"),
    "a short header": (request_with(header=np.zeros(3, dtype=np.uint8)), "34 bytes"),
    "another version": (request_with(header=np.full(34, 9, dtype=np.uint8)), "must be 1, not 9"),
    "no variable": (request_with(nodes=int32(0, 1, 7)), "variables 0 to 2"),
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
    with pytest.raises(MessageError, match=rf"^server: .*{reason}"):
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
    with pytest.raises(MessageError, match="at most 5000000 cells"):
        request_from_arrays(huge, schema)


def answer_with(**changed: Any) -> dict[str, Any]:
    return {**answer_to_arrays(REQUEST, answer_request(REQUEST, DATA, 1.0)), **changed}


def cells(change: Any) -> np.ndarray:
    found = answer_with()["cells"].copy()
    change(found)
    return found


def moved(found: np.ndarray) -> None:
    found[0] += 1
    found[1] -= 1


BAD_ANSWERS = {
    "a missing array": ({"cells": answer_with()["cells"]}, "exactly the arrays"),
    "floats": (answer_with(cells=answer_with()["cells"].astype(float)), "cells must be int64"),
    "too few cells": (answer_with(cells=answer_with()["cells"][:-1]), r"int64 \[18\], not"),
    "a negative count": (answer_with(cells=-answer_with()["cells"]), "between 0 and"),
    "a count too large": (
        answer_with(cells=cells(lambda found: found.__setitem__(0, 2**62))),
        "between 0 and",
    ),
    "another number of rows": (
        answer_with(cells=cells(lambda found: found.__setitem__(0, 9))),
        "must count the same rows",
    ),
    "no rows": (answer_with(cells=np.zeros(18, dtype=np.int64)), "at least 1 row"),
    "an own score of its own": (
        answer_with(own=answer_with()["own"] + np.array([0, 2, 0])),
        "must be .* as its counts say",
    ),
    "counts that were moved": (answer_with(cells=cells(moved)), "as its counts say"),
    "own scores too few": (answer_with(own=answer_with()["own"][:2]), r"own must be \[3\]"),
}


@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_a_bad_answer_is_refused_by_the_server(case: str) -> None:
    arrays, reason = BAD_ANSWERS[case]
    with pytest.raises(MessageError, match=rf"^north: .*{reason}"):
        answer_from_arrays(arrays, REQUEST, 1.0, sender="north")


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


def test_keys_are_the_documented_ones() -> None:
    assert tuple(request_with()) == REQUEST_KEYS
    assert tuple(answer_with()) == ANSWER_KEYS
