"""Messages survive the wire unchanged, and nothing that is not a message is accepted."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.schema import Schema
from fedbn.errors import MessageError
from fedbn.federation.message import (
    STRUCTURES,
    StructureMessage,
    as_classes,
    dags_over,
    from_arrays,
    rungs_from_arrays,
    to_arrays,
)
from fedbn.federation.reply_limits import Limits
from fedbn.federation.schema_text import schema_from_text, schema_to_text
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.limits import STATUSES
from fedbn.wire.npy import array_of_npy
from tests.naive import members, same_class
from tests.strategies import dag_lists
from tests.work import counted

Arrays = dict[str, npt.NDArray[Any]]


def schema_of(names: tuple[str, ...]) -> Schema:
    return Schema.categorical({name: ["no", "yes"] for name in names})


def message_of(dags: list[DAG], status: str = "complete") -> tuple[StructureMessage, Schema]:
    schema = schema_of(dags[0].names)
    weights = tuple(1.0 / (i + 1) for i in range(len(dags)))
    return StructureMessage(schema.hash, schema.names, tuple(dags), weights, status), schema


def npy(array: npt.NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def small() -> tuple[Arrays, Schema]:
    chain = DAG.from_edges(("a", "b", "c"), [("a", "b"), ("b", "c")])
    fork = DAG.from_edges(("a", "b", "c"), [("b", "a"), ("b", "c")])
    message, schema = message_of([chain, fork])
    return to_arrays(message), schema


@given(dag_lists(), st.sampled_from(STATUSES))
def test_what_is_sent_is_what_arrives(dags: list[DAG], status: str) -> None:
    message, schema = message_of(dags, status)
    wire = {key: npy(array) for key, array in to_arrays(message).items()}
    received = from_arrays(STRUCTURES.read(wire.items()), schema)
    assert received == message
    assert {key: npy(array) for key, array in to_arrays(received).items()} == wire


@given(dag_lists(), st.booleans(), st.data())
def test_graphs_kept_as_arcs_travel_as_the_same_bytes(
    dags: list[DAG], is_class: bool, data: st.DataObject
) -> None:
    message, schema = message_of(dags)
    message = as_classes(message) if is_class else message
    arrays = to_arrays(message)
    own = data.draw(st.lists(st.sampled_from(schema.names), min_size=1, unique=True).map(sorted))
    narrow = outcome_of(lambda: dags_over(from_arrays(arrays, schema), own))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedbn.graphs.graph.WIDE", -1)
        wide = from_arrays(arrays, schema)
        again = to_arrays(wide)
        assert outcome_of(lambda: dags_over(wide, own)) == narrow
    assert wide == message
    assert all(np.array_equal(again[key], arrays[key]) for key in arrays)


def outcome_of(call: Callable[[], object]) -> object:
    try:
        return call()
    except MessageError as error:
        return str(error)


@pytest.mark.parametrize("form", ["dag", "cpdag"])
def test_a_message_of_many_columns_makes_no_matrix(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_matrix(graph: object) -> None:
        raise AssertionError("a matrix of all pairs was made")

    names = tuple(f"X{i:05d}" for i in range(5_000))
    tree = DAG.from_arcs(names, [(i // 2, i) for i in range(1, 4_999)])
    monkeypatch.setattr("fedbn.graphs.graph.Graph.adjacency", property(no_matrix))
    monkeypatch.setattr("fedbn.graphs.graph.matrix_of_pairs", no_matrix)
    message, schema = message_of([tree])
    message = as_classes(message) if form == "cpdag" else message
    received = from_arrays(to_arrays(message), schema, limits=Limits(max_bytes=10**6))
    assert received == message
    (kept,) = dags_over(received, names[:-1])
    assert kept.n_edges == 4_998


def test_the_wire_format_is_the_documented_one() -> None:
    arrays, schema = small()
    assert tuple(arrays) == STRUCTURES.keys
    assert arrays["header"].tobytes() == bytes([3, 0, 0]) + bytes.fromhex(schema.hash)
    assert arrays["edges"].tolist() == [[0, 1], [1, 2], [1, 0], [1, 2]]
    assert arrays["indptr"].tolist() == [0, 2, 4]
    assert arrays["weights"].tolist() == [1.0, 0.5]
    assert arrays["row_weights"].tolist() == [1.0, 1.0]


def changed(key: str, value: Any, dtype: Any) -> Arrays:
    arrays, _ = small()
    return {**arrays, key: np.array(value, dtype=dtype)}


def with_header(position: int, value: int) -> Arrays:
    arrays, _ = small()
    header = arrays["header"].copy()
    header[position] = value
    return {**arrays, "header": header}


BAD_ARRAYS = {
    "a key too few": (lambda: {k: v for k, v in small()[0].items() if k != "indptr"}, "exactly"),
    "a key too many": (lambda: {**small()[0], "scores": np.zeros(2)}, "exactly"),
    "another version": (lambda: with_header(0, 1), "version of structures must be 3, not 1"),
    "an unknown status": (lambda: with_header(1, 9), "status must be a number below 6, not 9"),
    "an unknown form": (lambda: with_header(2, 2), "form must be a number below 2, not 2"),
    "another schema": (lambda: with_header(5, 0), "hash of the schema must be"),
    "a short header": (lambda: changed("header", [3, 0], np.uint8), "35 bytes"),
    "float edges": (lambda: changed("edges", [[0, 1]], np.float64), "edges must be int32"),
    "edges in a row": (lambda: changed("edges", [0, 1, 1, 2], np.int32), r"\[M, 2\]"),
    "an index too large": (
        lambda: changed("edges", [[0, 1], [1, 3], [1, 0], [1, 2]], np.int32),
        "edges must lie between 0 and 2, not 3",
    ),
    "a negative index": (
        lambda: changed("edges", [[0, 1], [1, 2], [-1, 0], [1, 2]], np.int32),
        "not -1",
    ),
    "a repeated edge": (
        lambda: changed("edges", [[0, 1], [0, 1], [1, 0], [1, 2]], np.int32),
        "sorted and distinct",
    ),
    "unsorted edges": (
        lambda: changed("edges", [[1, 2], [0, 1], [1, 0], [1, 2]], np.int32),
        "sorted and distinct",
    ),
    "a cycle": (
        lambda: changed("edges", [[0, 1], [1, 0], [1, 0], [1, 2]], np.int32),
        "no directed cycle",
    ),
    "a loop": (
        lambda: changed("edges", [[0, 0], [1, 2], [1, 0], [1, 2]], np.int32),
        "own parent",
    ),
    "indptr past the end": (lambda: changed("indptr", [0, 2, 5], np.int64), "indptr must rise"),
    "indptr that falls": (lambda: changed("indptr", [0, 5, 4], np.int64), "indptr must rise"),
    "indptr that wraps": (
        lambda: {
            **changed("indptr", [0, 2**63 - 1, -(2**63), -1, 4], np.int64),
            "weights": np.ones(4),
            "row_weights": np.ones(4),
        },
        "indptr must rise",
    ),
    "a missing weight": (
        lambda: changed("weights", [1.0], np.float64),
        r"weights must be \[B\] with B = 2, not \[1\]",
    ),
    "a zero weight": (
        lambda: changed("weights", [1.0, 0.0], np.float64),
        "above 0 and finite, not 0",
    ),
    "a NaN weight": (
        lambda: changed("weights", [1.0, np.nan], np.float64),
        "above 0 and finite, not nan",
    ),
    "a missing row weight": (
        lambda: changed("row_weights", [1.0], np.float64),
        r"row_weights must be \[B\]",
    ),
    "a row weight below 1": (
        lambda: changed("row_weights", [0.5, 1.0], np.float64),
        "row_weights must be at least 1",
    ),
    "an infinite row weight": (
        lambda: changed("row_weights", [1.0, np.inf], np.float64),
        "row_weights must be at least 1 and finite",
    ),
    "a row weight of NaN": (
        lambda: changed("row_weights", [1.0, np.nan], np.float64),
        "row_weights must be at least 1 and finite",
    ),
    "row weights that fall": (
        lambda: changed("row_weights", [2.0, 1.0], np.float64),
        "row_weights must ascend",
    ),
    "no DAG": (
        lambda: {
            **small()[0],
            "weights": np.zeros(0),
            "row_weights": np.zeros(0),
            "indptr": np.zeros(1, dtype=np.int64),
            "edges": np.zeros((0, 2), dtype=np.int32),
        },
        "1 to 20 DAGs, not 0",
    ),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_a_bad_message_is_refused_with_sender_and_reason(case: str) -> None:
    build, reason = BAD_ARRAYS[case]
    with pytest.raises(MessageError, match=rf".*{reason}"):
        from_arrays(build(), small()[1])


def test_limits_on_in_degree_edges_dags_and_bytes() -> None:
    names = tuple("abcdef")
    star = DAG.from_edges(names, [(name, "f") for name in names[:-1]])
    message, schema = message_of([star, star])
    arrays = to_arrays(message)
    for limits, reason in [
        (Limits(max_in_degree=4), "at most 4 parents, not 5"),
        (Limits(max_edges=4), "at most 4 edges, not 5"),
        (Limits(max_dags=1), "1 to 1 DAGs, not 2"),
        (Limits(max_bytes=50), "2 DAGs of 6 variables"),
    ]:
        with pytest.raises(MessageError, match=reason):
            from_arrays(arrays, schema, limits=limits)
    assert from_arrays(arrays, schema, limits=Limits(5, 5, 2, 72)) == message


STAR = DAG.from_edges("abcd", ["ad", "bd", "cd"])
EDGE = DAG.from_edges("abcd", ["ab"])


@pytest.mark.parametrize("form", ["dag", "cpdag"])
def test_a_class_that_breaks_a_limit_goes_and_the_others_stay(form: str) -> None:
    schema = schema_of(EDGE.names)
    dags, row_weights = (EDGE, STAR, EDGE, STAR), (1.0, 1.5, 1.5, 2.0)
    whole = StructureMessage(
        schema.hash, schema.names, dags, (0.5, 2.0, 3.0, 1.0), "complete", row_weights=row_weights
    )
    arrays = to_arrays(as_classes(whole) if form == "cpdag" else whole)
    for limits, reason in [
        (Limits(max_in_degree=2), "a node must have at most 2 parents, not 3"),
        (Limits(max_edges=2), "a DAG must have at most 2 edges, not 3"),
        (Limits(max_edges=1), "a DAG must have at most 1 edge, not 3"),
    ]:
        found, left_out = rungs_from_arrays(arrays, schema, limits=limits)
        assert left_out == ((1.5, reason), (2.0, reason))
        assert found.row_weights == (1.0,)
        assert found.weights == (0.5,)
        assert dag_to_cpdag(found.dags[0]) == dag_to_cpdag(EDGE)
    assert rungs_from_arrays(arrays, schema) == (from_arrays(arrays, schema), ())


def test_what_breaks_a_limit_in_every_class_is_refused() -> None:
    schema = schema_of(STAR.names)
    two = StructureMessage(
        schema.hash, schema.names, (STAR, STAR), (1.0, 1.0), "complete", row_weights=(1.0, 2.0)
    )
    for arrays in (to_arrays(two), to_arrays(message_of([STAR])[0])):
        with pytest.raises(MessageError, match="a node must have at most 2 parents, not 3"):
            rungs_from_arrays(arrays, schema, limits=Limits(max_in_degree=2))


def test_other_faults_are_not_left_out() -> None:
    schema = schema_of(STAR.names)
    two = StructureMessage(
        schema.hash, schema.names, (EDGE, STAR), (1.0, 1.0), "complete", row_weights=(1.0, 2.0)
    )
    arrays = {**to_arrays(two), "weights": np.array([1.0, -1.0])}
    with pytest.raises(MessageError, match="weights must be above 0 and finite, not -1"):
        rungs_from_arrays({**arrays, "weights": np.array([-1.0, 1.0])}, schema, limits=Limits(2))
    with pytest.raises(MessageError, match="weights must be above 0 and finite, not -1"):
        rungs_from_arrays(arrays, schema)
    nan = {**to_arrays(two), "row_weights": np.array([1.0, np.nan])}
    with pytest.raises(MessageError):
        rungs_from_arrays(nan, schema, limits=Limits(2))


def npy_claiming(
    shape: str, descr: str = "'<i4'", body: bytes = b"", order: str = "False"
) -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + body


BAD_BYTES = {
    "nothing": b"",
    "only the magic": b"\x93NUMPY\x01\x00",
    "text": b"data: a,b\n1,2\n",
    "a truncated header": npy_claiming("(1,)")[:60],
    "truncated data": npy(np.zeros((5, 2), dtype=np.int32))[:-3],
    "data to spare": npy(np.zeros((5, 2), dtype=np.int32)) + b"x",
    "a million DAGs claimed": npy_claiming("(1000001,)", "'<i8'"),
    "an exabyte claimed": npy_claiming("(1152921504606846976, 2)"),
    "a negative shape": npy_claiming("(-1, 2)"),
    "three axes": npy_claiming("(1, 1, 1)", body=b"\0" * 4),
    "objects": npy_claiming("(1,)", "'|O'", body=b"\0" * 8),
    "fields": npy_claiming("(1,)", "[('a', '<i4')]", body=b"\0" * 4),
    "columns first": npy_claiming("(1,)", body=b"\0" * 4, order="True"),
    "an expression": npy_claiming("(1).__class__"),
    "a deep expression": npy_claiming("(" * 90),
    "truth as a size": npy_claiming("(True,)", body=b"\0" * 4),
}


@pytest.mark.parametrize("case", BAD_BYTES)
def test_bad_bytes_are_refused_before_anything_is_allocated(case: str) -> None:
    with counted() as work, pytest.raises(MessageError):
        array_of_npy(BAD_BYTES[case])
    assert work.peak < 100_000
    assert work.calls < 200


def test_a_message_with_too_many_bytes_is_refused_unread() -> None:
    arrays, _ = small()
    wire = {key: npy(array) for key, array in arrays.items()}
    with pytest.raises(MessageError, match="a message must have at most 300 bytes"):
        STRUCTURES.read(wire.items(), max_bytes=300)


@pytest.mark.parametrize("other", ["text", 5, None, [1], bytearray(b"x")])
def test_what_is_not_bytes_is_refused(other: object) -> None:
    arrays, _ = small()
    wire = {key: npy(array) for key, array in arrays.items()}
    with pytest.raises(
        MessageError, match=f"weights must be the bytes of .*{type(other).__name__}"
    ):
        STRUCTURES.read({**wire, "weights": other}.items())


@settings(max_examples=1500, deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(*2 * [st.sampled_from([*5 * [0, 1, 2], -1, 3])]), max_size=4),
        max_size=3,
    ),
    st.sampled_from(["sorted", "with repeats", "as drawn"]),
    st.lists(st.sampled_from([*5 * [0.5], 0.0, -1.0, float("inf"), float("nan")]), max_size=2),
    st.integers(0, 1),
    st.lists(st.sampled_from([*5 * [1.0], 0.5, float("nan")]), max_size=2),
)
@pytest.mark.slow
def test_made_up_records_never_make_an_invalid_structure(
    graphs: list[list[tuple[int, int]]],
    order: str,
    weights: list[float],
    form: int,
    row_weights: list[float],
) -> None:
    """Nearly messages: a weight for each graph, most nodes are there, many edges are in order."""
    _, schema = small()
    if order != "as drawn":
        graphs = [sorted(set(graph) if order == "sorted" else graph) for graph in graphs]
    number, edges = len(graphs), [edge for graph in graphs for edge in graph]
    wire = {
        "header": npy(with_header(2, form)["header"]),
        "edges": npy(np.array(edges, dtype=np.int32).reshape(-1, 2)),
        "indptr": npy(np.cumsum([0, *map(len, graphs)], dtype=np.int64)),
        "weights": npy(np.array([*weights, *number * [1.0]][:number])),
        "row_weights": npy(np.array([*row_weights, *number * [1.5]][:number])),
    }
    accepts_only_messages(wire, schema)


def accepts_only_messages(wire: dict[str, bytes], schema: Schema) -> None:
    """Refused with a MessageError; or what arrives is sound and would be sent as it came."""
    try:
        arrays = STRUCTURES.read(wire.items())
        part, _ = rungs_from_arrays(arrays, schema, limits=Limits(max_in_degree=1))
        assert all(max(dag.adjacency.sum(axis=0)) <= 1 for dag in part.dags)
    except MessageError:
        pass
    try:
        arrays = STRUCTURES.read(wire.items())
        received = from_arrays(arrays, schema)
    except MessageError:
        return
    again = to_arrays(received)
    assert all(np.array_equal(again[key], arrays[key]) for key in STRUCTURES.keys)
    assert 1 <= len(received.dags) == len(received.weights) <= 20
    assert all(0 < weight < float("inf") for weight in received.weights)
    for dag in received.dags:
        assert dag.names == schema.names
        assert has_no_cycle(dag.adjacency.tolist())
        assert max(map(sum, zip(*dag.adjacency.tolist(), strict=True))) <= 16


def has_no_cycle(adjacency: list[list[bool]]) -> bool:
    """By the definition: some order of the nodes, found by taking away those without parents."""
    left = set(range(len(adjacency)))
    while left:
        sources = {j for j in left if not any(adjacency[i][j] for i in left)}
        if not sources:
            return False
        left -= sources
    return True


def test_classes_travel_as_cpdags_and_arrive_as_their_canonical_members() -> None:
    chain = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
    other = DAG.from_edges("abc", [("c", "b"), ("b", "a")])
    collider = DAG.from_edges("abc", [("a", "b"), ("c", "b")])
    message, schema = message_of([chain, collider, other])
    sent = as_classes(message)
    assert len(sent.dags) == 2
    assert sent.weights == (1.0 + 1.0 / 3, 0.5)
    arrays = to_arrays(sent)
    assert arrays["edges"].tolist() == [[0, 1], [1, 0], [1, 2], [2, 1], [0, 1], [2, 1]]
    received = from_arrays(arrays, schema)
    assert received == sent
    assert all(same_class(dag, by) for dag, by in zip(received.dags, message.dags, strict=False))


@given(dag_lists(max_nodes=5, max_dags=3))
def test_a_class_says_nothing_about_its_member(dags: list[DAG]) -> None:
    message, _ = message_of(dags)
    instead = replace(message, dags=tuple(members(dag)[0] for dag in dags))
    assert as_classes(message) == as_classes(instead)


def test_a_class_must_be_given_by_its_cpdag_and_keep_the_limits() -> None:
    directed = {**changed("edges", [[0, 1], [1, 2], [0, 1], [1, 2]], np.int32)}
    with pytest.raises(MessageError, match="by its CPDAG"):
        from_arrays({**directed, "header": with_header(2, 1)["header"]}, small()[1])
    star = DAG.from_edges("abcd", [(name, "d") for name in "abc"])
    message, schema = message_of([star])
    arrays = to_arrays(as_classes(message))
    for limits in (Limits(max_in_degree=2), Limits(max_edges=2)):
        with pytest.raises(MessageError, match="at most 2"):
            from_arrays(arrays, schema, limits=limits)


def large(edges: npt.NDArray[np.int32], n: int, count: int = 1) -> tuple[dict[str, bytes], Schema]:
    """A message of graphs over n variables on the wire: the same edges, so many times."""
    schema = schema_of(tuple(f"v{i:04}" for i in range(n)))
    header = bytes([3, 0, 0]) + bytes.fromhex(schema.hash)
    arrays = {
        "header": np.frombuffer(header, dtype=np.uint8),
        "edges": np.ascontiguousarray(np.tile(edges, (count, 1))),
        "indptr": np.arange(count + 1, dtype=np.int64) * len(edges),
        "weights": np.ones(count),
        "row_weights": np.ones(count),
    }
    return {key: npy(array) for key, array in arrays.items()}, schema


def million_edges() -> tuple[dict[str, bytes], Schema]:
    return large(
        np.argwhere(np.triu(np.ones((1450, 1450)), k=1)).astype(np.int32)[:1_000_000], 1450
    )


def million_claimed() -> tuple[dict[str, bytes], Schema]:
    wire, schema = large(np.zeros((0, 2), dtype=np.int32), 1000)
    return {**wire, "edges": npy_claiming("(1000000, 2)")}, schema


def long_cycle() -> tuple[dict[str, bytes], Schema]:
    ring = [[i, (i + 1) % 1000] for i in range(1000)]
    return large(np.array(ring, dtype=np.int32), 1000)


def cycle_in_the_last_of_many() -> tuple[dict[str, bytes], Schema]:
    chain = [[i, i + 1] for i in range(179)]
    wire, schema = large(np.array(chain, dtype=np.int32), 180, 20)
    edges = array_of_npy(wire["edges"])
    edges[-1] = (178, 0)
    return {**wire, "edges": npy(edges)}, schema


def wrong_hash() -> tuple[dict[str, bytes], Schema]:
    wire, _ = long_cycle()
    return wire, schema_of(("a", "b"))


HOSTILE = {
    "a million edges": (million_edges, "at most 10000 edges, not 1000000"),
    "a million edges claimed": (million_claimed, "must have 8000000 bytes, not 0"),
    "a cycle of a thousand": (long_cycle, "no directed cycle"),
    "a cycle in the last of many": (cycle_in_the_last_of_many, "no directed cycle"),
    "another schema": (wrong_hash, "hash of the schema must be"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_message_is_refused_with_little_work_and_50_mb(case: str) -> None:
    build, reason = HOSTILE[case]
    wire, schema = build()
    from_arrays(*small())  # whatever the first call loads
    with counted() as work, pytest.raises(MessageError, match=reason):
        from_arrays(STRUCTURES.read(wire.items()), schema)
    assert work.peak < 50_000_000
    assert work.calls < 3000  # the longest message has twenty DAGs of 179 edges


def test_a_schema_survives_the_handshake() -> None:
    for schema in [schema_of(("b", "a")), Schema.gaussian(("x", "y"))]:
        assert schema_from_text(schema_to_text(schema), schema.hash) == schema


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *((text, "a schema must be JSON") for text in ("", "[]", "{", "[" * 100_000)),
        ("{}", "a schema must have at least one column"),
        ('{"a": 1}', "column 'a': expected a list of states or"),
        ('{"a": ["x", "x"]}', "column 'a': state 'x' is listed twice"),
        ('{"a": [1]}', "column 'a': a state must be a non-empty text, not 1"),
        *((other, "a schema must be a text of at most") for other in (b"{}", None)),
    ],
)
def test_a_bad_schema_text_is_refused(text: object, reason: str) -> None:
    with pytest.raises(MessageError, match=f"^{reason}"):
        schema_from_text(text, "00")


def test_a_schema_must_have_its_hash() -> None:
    with pytest.raises(MessageError, match="the schema does not have the hash"):
        schema_from_text('{"a": ["x"]}', "00")


def test_a_schema_with_too_many_states_is_refused() -> None:
    many = Schema.categorical({"a": map(str, range(1001))})
    with pytest.raises(MessageError, match="a column must have at most 1000 states"):
        schema_from_text(schema_to_text(many), many.hash, limits=Limits())


def test_a_message_of_our_own_is_checked_too() -> None:
    chain = DAG.from_edges(("a", "b"), [("a", "b")])
    with pytest.raises(MessageError, match="status"):
        StructureMessage("00", ("a", "b"), (chain,), (1.0,), "done: 12 rows")
    with pytest.raises(MessageError, match="over its names"):
        StructureMessage("00", ("a", "c"), (chain,), (1.0,), "complete")
    with pytest.raises(MessageError, match="at least one DAG"):
        StructureMessage("00", ("a", "b"), (), (), "complete")
