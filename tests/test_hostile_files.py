"""Files that are no good: bombs, endless nesting and numbers, states that were edited."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbn.bounded_file import MAX_TEXT, read_bounded
from fedbn.data.tables import read_dataset
from fedbn.errors import DataError, FedbnError, ResultsError, StructureError
from fedbn.federation.checkpoint import read_checkpoint
from fedbn.graphs.files import read_structures
from fedbn.graphs.pdag import PDAG, consistent_extension, dag_to_cpdag
from fedbn.graphs.random import random_dag
from simulations.benchmarks.hostile_files import FILES, make_files
from simulations.benchmarks.hostile_inputs import file_outcome, hostile_files, hostile_messages
from simulations.benchmarks.hostile_messages import SCHEMA, is_class, is_dag
from tests.work import counted


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A good file of every kind."""
    return make_files(tmp_path_factory.mktemp("good"))


# --- The command that tries a million: a few of each ---------------------------------------------


def test_mutated_messages_are_refused_or_right() -> None:
    assert set(hostile_messages(600, seed=2)) == {"refused", "accepted"}


def test_edited_files_are_read_or_refused_in_a_line() -> None:
    assert set(hostile_files(4 * len(FILES), seed=2)) == {"one line", "read"}


def test_the_slow_reader_of_that_command_knows_dags_and_classes() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        dag = random_dag(SCHEMA.names, edges=int(rng.integers(1, 6)), rng=rng)
        cpdag = np.argwhere(dag_to_cpdag(dag).adjacency).tolist()
        edges = np.argwhere(dag.adjacency).tolist()
        assert is_dag(edges)
        assert is_class(cpdag)
        assert is_class(edges) == (edges == cpdag)
        assert not is_dag([*edges, edges[0]])
        changed = sorted([*cpdag[:-1], cpdag[-1][::-1]])
        assert is_class(changed) == (is_listed(changed) and is_its_own_class(changed))
        assert not is_class(cpdag[::-1]) or len(cpdag) == 1


def is_listed(edges: list[list[int]]) -> bool:
    return len({tuple(edge) for edge in edges}) == len(edges)


def is_its_own_class(edges: list[list[int]]) -> bool:
    """As the quick reader has it."""
    pdag = PDAG.from_arcs(SCHEMA.names, edges)
    try:
        return dag_to_cpdag(consistent_extension(pdag)) == pdag
    except StructureError:
        return False


# --- Every kind of file ---------------------------------------------------------------------------

NONSENSE = {
    "nothing": b"",
    "NUL": b"\x00" * 40,
    "no text": b"\xff\xfe\x00\xd8",
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "deep tables": b"a = " + b"[" * 100_000,
    "a long line": b"a" * 300_000,
    "an endless number": b"a = 1" + b"0" * 10_000,
}


@pytest.mark.parametrize("content", NONSENSE)
def test_no_kind_of_file_takes_nonsense_amiss(content: str, good: dict[str, Path]) -> None:
    for kind, read in FILES.items():
        path = good[kind].with_name(f"nonsense-{kind}")
        path.write_bytes(NONSENSE[content])
        assert file_outcome(read, path) in ("one line", "read"), kind


# --- Bombs ----------------------------------------------------------------------------------------


def bomb(path: Path, megabytes: int) -> Path:
    """A gzip file of a few kilobytes that unpacks to so much."""
    path.write_bytes(gzip.compress(b" " * 2**20, mtime=0) * megabytes)
    return path


def test_a_bomb_is_unpacked_to_the_bound_and_no_further(tmp_path: Path) -> None:
    path = bomb(tmp_path / "bomb.gz", 64)
    assert path.stat().st_size < 100_000
    with counted() as work, pytest.raises(OSError, match="more than 100,000 bytes"):
        read_bounded(path, 100_000, gzipped=True)
    assert work.peak < 1_000_000


def test_a_structure_that_unpacks_to_more_than_its_bound_is_refused(tmp_path: Path) -> None:
    path = bomb(tmp_path / "bomb.json.gz", (MAX_TEXT >> 20) + 1)
    with pytest.raises(StructureError, match="more than 268,435,456 bytes"):
        read_structures(path)


def test_a_table_that_unpacks_to_more_than_its_bound_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedbn.data.csv_columns.MAX_TABLE", 2**20)
    with pytest.raises(DataError, match="more than 1,048,576 bytes"):
        read_dataset(bomb(tmp_path / "bomb.csv.gz", 2), "categorical")


def test_a_device_without_an_end_is_read_to_the_bound() -> None:
    with counted() as work, pytest.raises(OSError, match="more than 1,000,000 bytes"):
        read_bounded("/dev/zero", 1_000_000)
    assert work.peak < 5_000_000


# --- Weights and names of structures --------------------------------------------------------------


@pytest.mark.parametrize("weight", ["1e9999999", "1e-9999999", "1" * 5000, "nan", "1/0", "-1"])
def test_a_weight_that_no_machine_holds_is_refused(tmp_path: Path, weight: str) -> None:
    """As a fraction, 1e9999999 takes minutes and all memory."""
    entry = {"nodes": ["a", "b"], "edges": [["a", "b"]], "weight": weight}
    (tmp_path / "g.json").write_text(json.dumps([entry]))
    with counted() as work, pytest.raises(StructureError, match="weight"):
        read_structures(tmp_path / "g.json")
    assert work.peak < 1_000_000


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("g.txt", "nodes a,b,a\ndag one\nb,a\n", "'a' is repeated"),
        ("g.csv", "parent,child\na\rb,c\n", "line 2: an edge needs a parent and a child"),
        ("g.csv", f"parent,child\n{'a' * 200_000},c\n", "line 2: field larger than"),
    ],
)
def test_names_that_broke_a_reader(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text, newline="")
    with pytest.raises(StructureError, match=words) as error:
        read_structures(tmp_path / name)
    assert len(str(error.value)) < 1000


# --- The state of a run ---------------------------------------------------------------------------


def put(*keys: Any) -> Callable[[Any], None]:
    """An edit that puts the last of `keys` where the others lead."""

    def edit(content: Any) -> None:
        *path, last, value = keys
        for key in path:
            content = content[key]
        content[last] = value

    return edit


EDITS = {
    "a lost arc of no input": put("path", "lost_arcs", 0, 1, 10**6),
    "a lost arc of no node": put("path", "lost_arcs", 0, 2, 99),
    "a lost arc before the first step": put("path", "lost_arcs", 0, 0, -1),
    "a lost arc of 2^63": put("path", "lost_arcs", 0, 3, 2**63),
    "lost arcs of three numbers": put("path", "lost_arcs", [[0, 0, 0]]),
    "an order without a name": put("path", "order", ["a", "b", "c"]),
    "an order against G+": put("path", "order", ["d", "c", "b", "a"]),
    "a name twice": put("path", "names", ["a", "a", "c", "d"]),
    "an edge of G+ to nowhere": put("path", "union", 0, [0, 10**9]),
    "an edge of an input to nowhere": put("path", "inputs", 0, 0, [-1, 2]),
    "a step of no edge": put("path", "steps", 0, 0, "z"),
    "a step with a separator of nobody": put("path", "steps", 0, 2, ["z"]),
    "a step by 1/0": put("path", "steps", 0, 3, "1/0"),
    "a step by 1e9999999": put("path", "steps", 0, 4, "1e9999999"),
    "an endless weight": put("path", "weights", 0, 2**80),
    "a member of nothing": put("path", "members", 0, [10**9]),
    "a k_max below 0": put("path", "k_max", -5),
    "no inputs": put("path", "inputs", []),
    "a reply's edge to nowhere": put("replies", 0, "dags", 0, [[0, 77]]),
    "a reply with a cycle": put("replies", 0, "dags", 0, [[0, 1], [1, 0]]),
    "a reply of weight NaN": put("replies", 0, "weights", [float("nan")]),
    "rows of a text": put("replies", 0, "rows", "many"),
    "a row weight of nothing": put("row_weight", None),
    "endless rounds": put("rounds", 1e400),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_state_is_an_error_and_no_crash(edit: str, good: dict[str, Path]) -> None:
    """Compiled code replays the path: places that are none ended the process, or never ended."""
    content = json.loads(good["state.json"].read_text())
    assert content["path"]["lost_arcs"]
    EDITS[edit](content)
    with pytest.raises(ResultsError, match="it was changed after it was written"):
        read_checkpoint(json.dumps(content), "state.json")
    del content["sha256"]
    with pytest.raises(ResultsError, match=r"state\.json must be a checkpoint of fedbn") as error:
        read_checkpoint(json.dumps(content), "state.json")
    assert len(str(error.value)) < 500
    assert isinstance(error.value, FedbnError)
