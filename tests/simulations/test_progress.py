"""Progress without a terminal: lines by a clock that the test moves."""

import math

import pytest

from simulations import progress
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
    monkeypatch.setattr(progress, "_began", math.inf)  # another test may have begun a command
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
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_a_guess_of_more_than_half_a_minute_is_not_told_before_half_a_minute(clock: Clock) -> None:
    task = progress._Task("cases")
    task.count(1, 100)
    clock.now += 6.0
    assert task.text(clock.now) == "cases 1/100, 0:06"
    task.count(50, 100)
    assert task.text(clock.now) == "cases 50/100, 0:06 left"
    task.count(1, 100)
    clock.now += 24.0
    assert task.text(clock.now) == "cases 1/100, 49:30 left"


def test_nothing_is_said_when_nothing_is_to_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with stages(False) as notify:
        notify("anything")
        notify.count(1, 2)
    assert capsys.readouterr().err == ""
