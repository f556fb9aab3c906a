"""The bar of fb.learn, fb.fuse and fb.simulate: who sees it, when, and as what."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from collections.abc import Sequence

import nbformat
import pytest
from nbclient import NotebookClient

import fedbn as fb
from fedbn.api import progress
from fedbn.api.progress import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def open_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """In place of standard error, which pytest sets anew between a fixture and its test."""
    made = Terminal()
    monkeypatch.setattr(sys, "stderr", made)
    monkeypatch.setattr(progress, "EVERY", 0.01)
    return made


def wait_for(words: str, terminal: Terminal) -> None:
    until = time.monotonic() + 60
    while words not in terminal.getvalue() and time.monotonic() < until:
        time.sleep(0.01)
    assert words in terminal.getvalue()


def test_a_bar_shows_what_is_counted_stage_after_stage_and_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with progress_bar("sites") as count:
        wait_for("sites 00:00", terminal)
        count(3, 10)
        wait_for("3/10", terminal)
        count(1, 7)
        wait_for("1/7", terminal)
    assert terminal.getvalue().rstrip(" ").endswith("\r")


def test_nothing_is_shown_of_what_takes_less_than_the_delay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = open_terminal(monkeypatch)
    with progress_bar("quick") as count:
        count(1, 2)
    assert terminal.getvalue() == ""


def test_a_pipe_sees_nothing_and_tqdm_is_not_loaded() -> None:
    program = (
        "import sys, fedbn as fb\nfrom fedbn.api import progress\nprogress.DELAY = 0.0\n"
        "t = fb.Table.from_columns({'a': '0011' * 9, 'b': '0101' * 9})\n"
        "fb.simulate({'x': t, 'y': t}), fb.fuse([fb.learn(t)])\nassert 'tqdm' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_counted_are_sites_and_deletions(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int, int]] = []

    class Bar:
        def __init__(self, words: str) -> None:
            self.words = words

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None: ...

        def __call__(self, done: int, total: int) -> None:
            told.append((self.words, done, total))

    monkeypatch.setattr("fedbn.api.simulation.progress_bar", Bar)
    monkeypatch.setattr("fedbn.api.fusing.progress_bar", Bar)
    table = fb.Table.from_columns({"a": "0011" * 20, "b": "0011" * 20, "c": "0101" * 20})
    fb.simulate({"x": table, "y": table})
    fb.fuse([fb.DAG.from_edges("ab", ["ab"]), fb.DAG.empty("ab")])

    def of(words: Sequence[str]) -> list[tuple[int, int]]:
        return [(done, total) for name, done, total in told if name == " ".join(words)]

    assert of(["fedbn.simulate,", "sites"]) == [(0, 2), (1, 2)]
    assert all(0 <= done <= total for _, done, total in told)
    assert of(["fedbn.simulate,", "deletions"])
    assert of(["fedbn.fuse,", "deletions"])


@pytest.mark.slow
def test_a_notebook_shows_a_widget() -> None:
    cell = """
import time
import fedbn as fb
from fedbn.api import progress

progress.DELAY = 0.1

def slow(table, rng, settings):
    time.sleep(2.0)
    return fb.DAG.empty(["a", "b"])

fb.learn(fb.Table.from_columns({"a": "0011" * 9, "b": "0101" * 9}), slow).dag.n_edges
"""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    NotebookClient(book, timeout=120, kernel_name="python3").execute()
    outputs = book.cells[0].outputs
    assert any("application/vnd.jupyter.widget-view+json" in o.get("data", {}) for o in outputs)
    assert not any(output.output_type == "stream" for output in outputs)
