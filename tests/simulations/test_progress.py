"""Progress without a terminal: lines by a clock that the test moves."""

import math
import os
from pathlib import Path

import pytest

from fedbn.kernel_compilation import quick_compilation
from fedbn.kernel_sources import digest_of
from simulations import progress
from simulations.compilation import Compilation
from simulations.progress import stages


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress.time, "monotonic", made)
    monkeypatch.setattr(Compilation, "words", lambda self, now: "")
    return made


def test_lines_say_what_how_far_and_how_long(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = progress._Lines()
    quick = progress._Task("quick")
    lines.add(quick)
    clock.now += 1.0
    lines.tick()
    lines.end(quick)
    task = progress._Task("sites")
    lines.add(task)
    for second in range(600):
        clock.now += 1.0
        task.count((second + 1) // 60, 10)
        lines.tick()
    told = capsys.readouterr().err.splitlines()
    assert "quick" not in " ".join(told)
    assert told[0] == "fedbn: sites 0/10, 0:02"
    assert "fedbn: sites 3/10, 7:05 left" in told
    assert len(told) == 100 + 10  # every three seconds for five minutes, then every thirty


def test_stages_of_displays_one_after_the_other_wait_two_seconds_together(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_began", math.inf)
    progress.begin_command()
    for words in ("loading", "reading"):
        lines = progress._Lines()
        lines.add(progress._Task(words))
        for _ in range(3):
            clock.now += 0.5
            lines.tick()
    assert capsys.readouterr().err == "fedbn: reading, 0:00\n"


def test_seconds_left_that_are_known_better_are_believed(clock: Clock) -> None:
    task = progress._Task("cases")
    task.count(70, 100, math.inf)
    clock.now += 9.0
    assert task.text(clock.now) == "cases 70/100, 0:09"
    task.count(71, 100, 8000.0)
    clock.now += 10.0
    assert task.text(clock.now) == "cases 71/100, 2:13:10 left"


def test_the_first_run_says_that_it_compiles(tmp_path: Path) -> None:
    source = tmp_path / "room" / "_any_kernels.py"
    cache = source.parent / "__pycache__"
    cache.mkdir(parents=True)
    source.write_text("@door\ndef one(): ...\n\n@door\ndef two(): ...\n")
    seen = Compilation(tmp_path)
    told = "compiling for this machine, once: {} of at most 2 kernels"
    assert seen.words(0.0) == told.format(0)
    index = cache / "_any_kernels.one-2.py311.nbi"
    index.write_bytes(b"made of other sources")
    assert seen.words(2.0) == told.format(0)
    index.write_bytes(b"made of " + digest_of(source.resolve()).encode())
    assert seen.words(5.0) == told.format(1)
    assert seen.words(64.0) == told.format(1)
    assert seen.words(66.0) == ""
    assert Compilation(tmp_path).words(0.0) == ""
    os.utime(source, (source.stat().st_mtime + 10,) * 2)  # the same text counts as the same
    assert Compilation(tmp_path).count_compiled() == 1
    with quick_compilation():  # another kernel, in this process
        assert seen.words(70.0) == told.format(1)
    assert seen.words(71.0) == ""
    index.write_bytes(b"made of other sources")
    assert Compilation(tmp_path).words(0.0) == told.format(0)


def test_nothing_is_said_when_nothing_is_to_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with stages(False) as notify:
        notify("anything")
        notify.count(1, 2)
    assert capsys.readouterr().err == ""
