"""Mutated messages and files: is anything wrong accepted, does anything break, does memory grow?

    python -m simulations.benchmarks.hostile_inputs --messages 1000000 --files 200

Every message is a good one with some of its bytes, entries or arrays changed; every second is the
text of a schema. A mutation may leave a message as good as it was. So what the reader accepts is
compared with a slow reader (`is_right`), and what is right has to be accepted. Every file is a
good one of a kind that fedbn reads, changed in the same way; its reader must say in one line what
is wrong, or read it. A reader that takes longer than LONGEST seconds counts as hanging.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.data.dataset import Schema
from fedbn.errors import FedbnError, FedbnWarning, MessageError
from fedbn.federation.message import (
    Limits,
    StructureMessage,
    arrays_of_npy,
    from_arrays,
    schema_from_text,
    schema_to_text,
    to_arrays,
)
from fedbn.graphs.random import random_dag
from fedbn.limits import STATUSES
from simulations.benchmarks.hostile_files import FILES, make_files

LONGEST = 20
"""Seconds after which a reader is said to hang."""

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
    """The `.npy` bytes of a message of one to four DAGs."""
    count = int(rng.integers(1, 5))
    edges = int(rng.integers(0, 8))
    dags = tuple(random_dag(SCHEMA.names, edges=edges, rng=rng) for _ in range(count))
    weights = tuple((rng.random(count) + 0.1).tolist())
    message = StructureMessage(SCHEMA.hash, SCHEMA.names, dags, weights, "complete")
    return {key: npy(array) for key, array in to_arrays(message).items()}


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
    if set(parts) != {"header", "edges", "indptr", "weights", "row_weights"}:
        return False
    arrays = {}
    for key, data in parts.items():
        try:
            arrays[key] = np.load(io.BytesIO(data), allow_pickle=False)
        except Exception:  # numpy's reader raises whatever comes
            return False
        if npy(arrays[key]) != data:
            return False
    wanted = {
        "header": "u1",
        "edges": "<i4",
        "indptr": "<i8",
        "weights": "<f8",
        "row_weights": "<f8",
    }
    if any(arrays[key].dtype != np.dtype(kind) for key, kind in wanted.items()):
        return False
    header, edges, indptr = (arrays[key].tolist() for key in ("header", "edges", "indptr"))
    if arrays["edges"].ndim != 2 or arrays["edges"].shape[1] != 2:
        return False
    weights, row_weights = arrays["weights"], arrays["row_weights"]
    if any(arrays[key].ndim != 1 for key in ("header", "indptr", "weights", "row_weights")):
        return False
    count = len(weights)
    if not 1 <= count <= LIMITS.max_dags or len(indptr) != count + 1 or len(row_weights) != count:
        return False
    if header != [3, header[1] if len(header) > 1 else 0, 0, *bytes.fromhex(SCHEMA.hash)]:
        return False
    if (
        header[1] >= len(STATUSES)
        or indptr[0] != 0
        or indptr[-1] != len(edges)
        or indptr != sorted(indptr)
    ):
        return False
    if not all(0 < w < math.inf for w in weights) or not all(
        1 <= k < math.inf for k in row_weights
    ):
        return False
    if row_weights.tolist() != sorted(row_weights.tolist()):
        return False
    return all(is_dag(edges[start:end]) for start, end in pairwise(indptr))


def is_dag(edges: list[list[int]]) -> bool:
    """Sorted, distinct edges within the limits, of which no walk comes back."""
    if edges != sorted(edges) or len({tuple(e) for e in edges}) < len(edges):
        return False
    if len(edges) > LIMITS.max_edges or any(not 0 <= end < SCHEMA.n for e in edges for end in e):
        return False
    if any(sum(e[1] == node for e in edges) > LIMITS.max_in_degree for node in range(SCHEMA.n)):
        return False
    left = set(range(SCHEMA.n))
    while free := {node for node in left if not any(b == node and a in left for a, b in edges)}:
        left -= free
    return not left


@contextmanager
def in_time() -> Iterator[None]:
    """Raises TimeoutError inside after LONGEST seconds."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"a reader takes longer than {LONGEST} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def message_outcome(number: int, rng: np.random.Generator) -> str:
    """What became of one message, in a word."""
    if number % 2:
        return schema_outcome(mutated_text(schema_to_text(SCHEMA), rng), rng)
    parts = mutated_message(good_message(rng), rng)
    try:
        arrays = arrays_of_npy(parts.items(), limits=LIMITS)
        message = from_arrays(arrays, SCHEMA, limits=LIMITS)
    except MessageError:
        # form 1, classes, has a reader of its own; no mutation makes a right one of a DAG
        return "WRONGLY REFUSED" if is_right(parts) else "refused"
    if message.form == "cpdag":
        again = {key: npy(array) for key, array in to_arrays(message).items()}
        return "accepted" if again == parts else "WRONGLY ACCEPTED"
    return "accepted" if is_right(parts) else "WRONGLY ACCEPTED"


def schema_outcome(text: str, rng: np.random.Generator) -> str:
    """What became of one schema's text, in a word; its hash is right wherever it has one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            claimed = Schema.from_dict(json.loads(text)).hash
    except Exception:
        claimed = "00"
    if rng.random() < 0.02:
        text = "[" * 100_000
    try:
        schema = schema_from_text(text, claimed, limits=LIMITS)
    except MessageError:
        return "refused"
    again = json.loads(text)
    for name, states in schema.to_dict().items():
        name.encode("utf-8")
        if isinstance(states, list) and (
            sorted(again[name]) != states or not all(s and s.encode("utf-8") for s in states)
        ):
            return "WRONGLY ACCEPTED"
    return "accepted" if set(schema.names) == set(again) else "WRONGLY ACCEPTED"


def file_outcome(read: Callable[[Path], object], path: Path) -> str:
    """What became of one file, in a word."""
    try:
        with in_time(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FedbnWarning)
            read(path)
    except FedbnError as error:
        return "one line" if "\n" not in str(error).strip() else "SEVERAL LINES"
    return "read"


def count_outcomes(count: int, outcome: Callable[[int], str], what: str) -> Counter[str]:
    """How often which outcome; a traceback is printed and counts as one."""
    found: Counter[str] = Counter()
    for number in range(count):
        try:
            found[outcome(number)] += 1
        except Exception:
            found["TRACEBACK"] += 1
            if found["TRACEBACK"] <= 5:
                print(f"{what} {number}:")
                traceback.print_exc()
        if number and number % max(count // 10, 1) == 0:
            print(f"{what} {number}: {dict(found)}, {megabytes()} MB at most", flush=True)
    return found


def megabytes() -> int:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def hostile_messages(count: int, seed: int) -> Counter[str]:
    """Outcomes of mutated messages and schema texts."""
    return count_outcomes(
        count, lambda i: message_outcome(i, np.random.default_rng([seed, i])), "message"
    )


def hostile_files(count: int, seed: int) -> Counter[str]:
    """Outcomes of edited files, the kinds in turn."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        good = make_files(folder)

        def outcome(number: int) -> str:
            rng = np.random.default_rng([seed, number])
            kind = list(FILES)[number % len(FILES)]
            path = folder / f"edited-{good[kind].name}"
            content = good[kind].read_bytes()
            binary = good[kind].suffix in (".gz", ".parquet")
            for _ in range(int(rng.integers(1, 4))):
                if binary or rng.random() < 0.5:
                    content = mutated_bytes(content, rng)
                else:
                    text = content.decode("utf-8", errors="replace")
                    content = mutated_text(text, rng).encode("utf-8", errors="replace")
            path.write_bytes(content)
            return file_outcome(FILES[kind], path)

        return count_outcomes(count, outcome, "file")


def main() -> int:
    """Print the outcomes; 1 if any is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--messages", type=int, default=100_000, help="mutated messages (100000)")
    parser.add_argument("--files", type=int, default=200, help="edited files (200)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.process_time()
    outcomes = {
        "messages": hostile_messages(options.messages, options.seed),
        "files": hostile_files(options.files, options.seed),
    }
    for what, found in outcomes.items():
        print(f"{what}: {dict(sorted(found.items()))}")
    print(f"{time.process_time() - began:.0f} CPU s, {megabytes()} MB at most")
    return any(word.isupper() for found in outcomes.values() for word in found)


if __name__ == "__main__":
    raise SystemExit(main())
