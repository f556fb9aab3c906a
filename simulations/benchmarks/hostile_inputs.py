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
import json
import resource
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from fedbn.data.schema import Schema
from fedbn.errors import FedbnError, FedbnWarning, MessageError
from fedbn.federation.message import STRUCTURES, from_arrays
from fedbn.federation.schema_text import schema_from_text, schema_to_text
from simulations.benchmarks.hostile_files import FILES, make_files
from simulations.benchmarks.hostile_messages import (
    LIMITS,
    SCHEMA,
    good_message,
    is_right,
    mutated_bytes,
    mutated_message,
    mutated_text,
)

LONGEST = 20
"""Seconds after which a reader is said to hang."""


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
        arrays = STRUCTURES.read(parts.items(), max_bytes=LIMITS.max_bytes)
        from_arrays(arrays, SCHEMA, limits=LIMITS)
    except MessageError:
        return "WRONGLY REFUSED" if is_right(parts) else "refused"
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
            print(f"{what} {number}: {dict(found)}, {megabytes_words()}", flush=True)
    return found


def megabytes_words() -> str:
    """The memory that this process holds, and the most that it has held."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return f"{pages * resource.getpagesize() >> 20} MB, {most} MB at most"


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
    print(f"{time.process_time() - began:.0f} CPU s, {megabytes_words()}")
    return any(word.isupper() for found in outcomes.values() for word in found)


if __name__ == "__main__":
    raise SystemExit(main())
