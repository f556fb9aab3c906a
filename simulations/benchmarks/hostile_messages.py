"""Messages and schema texts, changed in every way, and a slow reader that knows the right ones.

A message is that of `fedbn.federation.message`: DAGs in one half, classes in the other.
"""

from __future__ import annotations

import io
import math
import warnings
from itertools import pairwise, product
from typing import Any

import numpy as np

from fedbn.data.schema import Schema
from fedbn.federation.message import FORMS, StructureMessage, as_classes, to_arrays
from fedbn.federation.reply_limits import Limits
from fedbn.graphs.random import random_dag
from fedbn.limits import STATUSES

SCHEMA = Schema.categorical({name: ["no", "yes", "é\n"] for name in "abcdef"})
LIMITS = Limits(max_in_degree=4, max_edges=12, max_dags=5, max_bytes=100_000, max_states=10)
SPECIAL = (0, 1, -1, 2, 5, 6, 255, 2**31 - 1, -(2**31), 2**62, -(2**63))
NUMBERS = (0.0, -1.0, math.nan, math.inf, -math.inf, 1e308, 5e-324, 0.5, 1.0, 3.0)
PIECES = (
    '"',
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "null",
    "1e9999999",
    '"\\ud800"',
    "NaN",
    "\\u0000",
    "é",
)


def good_message(rng: np.random.Generator) -> dict[str, bytes]:
    """The `.npy` bytes of a message of one to four DAGs, or of their classes."""
    count, as_class = int(rng.integers(1, 5)), bool(rng.integers(0, 2))
    edges = int(rng.integers(0, 6 if as_class else 8))
    dags = tuple(random_dag(SCHEMA.names, edges=edges, rng=rng) for _ in range(count))
    weights = tuple((rng.random(count) + 0.1).tolist())
    message = StructureMessage(SCHEMA.hash, SCHEMA.names, dags, weights, "complete")
    sent = as_classes(message) if as_class else message
    return {key: npy(array) for key, array in to_arrays(sent).items()}


def npy(array: Any) -> bytes:
    """The array as a `.npy` file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def mutated_message(parts: dict[str, bytes], rng: np.random.Generator) -> dict[str, bytes]:
    """Some changes of bytes, entries, lengths or keys."""
    found = dict(parts)
    for _ in range(int(rng.integers(0, 3))):
        key = str(rng.choice(sorted(found)))
        match int(rng.integers(0, 6)):
            case 0:
                found[key] = mutated_bytes(found[key], rng)
            case 1:
                found[key] = found[str(rng.choice(sorted(found)))]
            case 2:
                found.pop(key)
                if not found:
                    return found
            case _:
                found[key] = mutated_array(found[key], rng)
    return found


def mutated_array(data: bytes, rng: np.random.Generator) -> bytes:
    """One entry, one row or the type changed; bytes that are no array stay."""
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except Exception:  # numpy's reader raises whatever comes
        return data
    how = int(rng.integers(0, 5))
    if how == 0 and array.size:
        place = int(rng.integers(0, array.size))
        wanted = rng.choice(NUMBERS) if array.dtype.kind == "f" else int(rng.choice(SPECIAL))
        array.reshape(-1)[place] = np.array(wanted).astype(array.dtype)
    elif how == 1 and len(array):
        array = np.concatenate([array, array[:1]])
    elif how == 2 and len(array):
        array = array[:-1]
    elif how == 3 and array.ndim == 2:
        array = array[:, ::-1]
    elif array.ndim and len(array):
        array = array[rng.permutation(len(array))]
    return npy(np.ascontiguousarray(array))


def mutated_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """A byte changed, a piece cut out or doubled, the end cut off."""
    if not data:
        return data
    place = int(rng.integers(0, len(data)))
    length = int(rng.integers(1, 9))
    match int(rng.integers(0, 4)):
        case 0:
            return data[:place] + bytes([int(rng.integers(0, 256))]) + data[place + 1 :]
        case 1:
            return data[:place] + data[place + length :]
        case 2:
            return data[: place + length] + data[place:]
        case _:
            return data[:place]


def mutated_text(text: str, rng: np.random.Generator) -> str:
    """A piece of JSON put in, cut out or exchanged."""
    for _ in range(int(rng.integers(0, 4))):
        place, length = int(rng.integers(0, len(text) + 1)), int(rng.integers(0, 6))
        piece = str(rng.choice(PIECES)) if rng.random() < 0.7 else text[place : place + 9]
        text = text[:place] + piece + text[place + length :]
    return text


def is_right(parts: dict[str, bytes]) -> bool:
    """Whether the parts are a message, found out slowly, edge by edge."""
    arrays = arrays_as_numpy_reads_them(parts)
    wanted = {"header": "u1", "edges": "<i4", "indptr": "<i8", "weights": "<f8"}
    wanted["row_weights"] = "<f8"
    if arrays is None or set(arrays) != set(wanted):
        return False
    if any(arrays[key].dtype != np.dtype(kind) for key, kind in wanted.items()):
        return False
    if any(arrays[key].ndim != 1 + (key == "edges") for key in wanted):
        return False
    header, edges, indptr, weights, row_weights = (arrays[key].tolist() for key in wanted)
    if arrays["edges"].shape[1] != 2 or len(header) < 3:
        return False
    version, status, form = header[:3]
    if version != 3 or status >= len(STATUSES) or form >= len(FORMS):
        return False
    if header[3:] != list(bytes.fromhex(SCHEMA.hash)):
        return False
    if not 1 <= len(weights) <= LIMITS.max_dags or len(indptr) != len(weights) + 1:
        return False
    if [indptr[0], indptr[-1]] != [0, len(edges)] or indptr != sorted(indptr):
        return False
    if not all(0 < weight < math.inf for weight in weights) or len(row_weights) != len(weights):
        return False
    if not all(1 <= k < math.inf for k in row_weights) or row_weights != sorted(row_weights):
        return False
    graphs = [edges[start:end] for start, end in pairwise(indptr)]
    return all(map(is_dag if FORMS[form] == "dag" else is_class, graphs))


def arrays_as_numpy_reads_them(parts: dict[str, bytes]) -> dict[str, Any] | None:
    """The arrays; None where one is none, or not written as numpy writes it."""
    arrays = {}
    for key, data in parts.items():
        try:
            with warnings.catch_warnings(action="ignore"):
                arrays[key] = np.load(io.BytesIO(data), allow_pickle=False)
        except Exception:  # numpy's reader raises whatever comes
            return None
        if npy(arrays[key]) != data:
            return None
    return arrays


def is_dag(edges: list[list[int]]) -> bool:
    """Sorted, distinct edges within the limits, of which no walk comes back."""
    if not are_listed(edges) or len(edges) > LIMITS.max_edges:
        return False
    if any(sum(e[1] == node for e in edges) > LIMITS.max_in_degree for node in range(SCHEMA.n)):
        return False
    return comes_never_back({(a, b) for a, b in edges})


def is_class(edges: list[list[int]]) -> bool:
    """What the DAGs of one skeleton and the same colliders, tried one after the other, share.

    The limits hold for all members or for none: so few edges give a node five parents only where
    nearly all pairs of them collide.
    """
    if not are_listed(edges):
        return False
    graph = {(a, b) for a, b in edges}
    skeleton = sorted({(min(edge), max(edge)) for edge in graph})
    classes: dict[frozenset[tuple[int, int, int]], list[set[tuple[int, int]]]] = {}
    for turned in product((False, True), repeat=len(skeleton)):
        dag = {(b, a) if turn else (a, b) for (a, b), turn in zip(skeleton, turned, strict=True)}
        if comes_never_back(dag):
            classes.setdefault(colliders(dag), []).append(dag)
    for members in classes.values():
        if set().union(*members) == graph:
            return is_dag(sorted([a, b] for a, b in members[0]))
    return False


def are_listed(edges: list[list[int]]) -> bool:
    """Edges between the columns, in order, none twice."""
    known = all(0 <= end < SCHEMA.n for edge in edges for end in edge)
    return known and edges == sorted(edges) and len({tuple(e) for e in edges}) == len(edges)


def comes_never_back(dag: set[tuple[int, int]]) -> bool:
    """No walk comes back: nodes without parents are taken away until none is left."""
    left = set(range(SCHEMA.n))
    while free := {node for node in left if not any(b == node and a in left for a, b in dag)}:
        left -= free
    return not left


def colliders(dag: set[tuple[int, int]]) -> frozenset[tuple[int, int, int]]:
    """(a, b, c) of every a -> c <- b with a < b, where a and b are not joined."""
    return frozenset(
        (a, b, c)
        for a, c in dag
        for b, other in dag
        if other == c and a < b and (a, b) not in dag and (b, a) not in dag
    )
