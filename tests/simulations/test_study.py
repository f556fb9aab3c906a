"""A study is resumed where it stopped, and loses nothing."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from fedbn.errors import ConfigError, FedbnWarning, ResultsError
from simulations.study import Study, end_line
from simulations.study_cases import Tick
from simulations.study_report import Section, write_study_report

PROVENANCE = ("cpu_seconds", "fedbn", "numpy", "python", "machine")

CASES = [{"n": n, "seed": seed} for n in (3, 4) for seed in (1, 2)]


def square(case: dict[str, int]) -> dict[str, int]:
    return {"answer": case["n"] ** 2 + case["seed"]}


def result_of(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in PROVENANCE}


def test_a_second_start_computes_only_what_is_missing(tmp_path: Path) -> None:
    first = Study(tmp_path).collect(CASES[:3], square)
    asked = []

    def counted(case: dict[str, int]) -> dict[str, int]:
        asked.append(case)
        return square(case)

    ticks: list[Tick] = []
    rows = Study(tmp_path).collect(CASES, counted, ticks.append)
    assert asked == [CASES[3]]
    assert rows[:3] == first
    assert [row["answer"] for row in rows] == [10, 11, 17, 18]
    assert ticks[0] == (3, 4, None)
    assert ticks[-1] == (4, 4, 0.0)


def test_rows_that_will_not_do_are_computed_again(tmp_path: Path) -> None:
    Study(tmp_path).collect(CASES, square)
    better = Study(tmp_path).collect(
        CASES, lambda case: {"answer": 0}, again=lambda row: row["answer"] == 11
    )
    assert [row["answer"] for row in better] == [10, 0, 17, 18]
    assert Study(tmp_path).collect(CASES, square) == better
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 5


def test_a_line_that_was_cut_off_is_computed_again(tmp_path: Path) -> None:
    Study(tmp_path).collect(CASES, square)
    path = tmp_path / "rows.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-7])
    rows = [json.loads(line) for line in whole.splitlines()]
    with pytest.warns(FedbnWarning, match="cut off"):
        study = Study(tmp_path)
    assert len(study.rows) == 3
    study.collect(CASES, square)
    again = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert list(map(result_of, again)) == list(map(result_of, rows))
    assert path.read_bytes()[: len(whole) // 2] == whole[: len(whole) // 2]


def test_processes_give_the_rows_of_one(tmp_path: Path) -> None:
    """The same rows in the same order; the file is whole, whatever the order of its lines."""
    alone = Study(tmp_path / "one").collect(CASES, square)
    study = Study(tmp_path / "two")
    together = study.collect(CASES, square, jobs=2, cost=lambda case: case["n"])
    assert list(map(result_of, together)) == list(map(result_of, alone))
    lines = [json.loads(line) for line in study.path.read_text().splitlines()]
    assert sorted(map(str, lines)) == sorted(map(str, together))
    assert Study(tmp_path / "two").collect(CASES, square, jobs=2) == together


def fails_at_four(case: dict[str, int]) -> dict[str, int]:
    if case["n"] == 4:
        raise ConfigError("n must not be 4")
    return square(case)


def test_what_was_done_before_an_error_is_kept(tmp_path: Path) -> None:
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        with pytest.raises(ConfigError, match="must not be 4"):
            Study(folder).collect(CASES, fails_at_four, jobs=jobs, cost=lambda case: 1 / case["n"])
        assert {row["n"] for row in Study(folder).rows} == {3}
    with pytest.raises(ConfigError, match="at least 1"):
        Study(tmp_path).collect(CASES, square, jobs=0)


def test_no_case_begins_after_the_time(tmp_path: Path) -> None:
    for jobs in (1, 2):
        assert Study(tmp_path).collect(CASES, square, seconds=0.0, jobs=jobs) == []


def test_time_left_is_told_after_every_case(tmp_path: Path) -> None:
    ticks: list[Tick] = []
    Study(tmp_path).collect(CASES, square, ticks.append, cost=lambda case: 9.0 * case["seed"])
    left = [tick.seconds_left for tick in ticks[1:]]
    assert all(a is not None and a >= 0.0 for a in left)
    assert left[-1] == 0.0


def test_a_row_says_where_it_comes_from(tmp_path: Path) -> None:
    (row,) = Study(tmp_path, "inputs.jsonl").collect(CASES[:1], square)
    assert (tmp_path / "inputs.jsonl").is_file()
    assert set(row) == {"n", "seed", "answer", *PROVENANCE}
    assert row["fedbn"] == version("fedbn")


def test_the_end_says_what_this_call_took(tmp_path: Path) -> None:
    Study(tmp_path).collect(CASES[:1], square)
    study = Study(tmp_path)
    study.collect(CASES, square)
    assert study.n_run == len(CASES) - 1
    assert study.cpu_seconds == sum(row["cpu_seconds"] for row in study.rows[1:])
    told = end_line(tmp_path / "report.md", 2.04, study)
    assert told.endswith("s (CPU), 2.0 s in all by the clock")
    assert f"report.md; {len(CASES) - 1} cases run in" in told


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"n": 1}\nnothing\n')
    with pytest.raises(ResultsError, match="line 2"):
        Study(tmp_path)


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "study").write_text("")
    with pytest.raises(ResultsError, match="must be a folder: .* is a file"):
        Study(tmp_path / "study")


def test_the_report_has_tables_and_figures(tmp_path: Path) -> None:
    rows = [(3, 0.123456), (4, None), (5, -52817.126)]
    (tmp_path / "a.png").write_bytes(b"picture")
    section = Section("Sizes <b>", "Words.", ("n", "value"), rows, ("a.png",))
    text = write_study_report(tmp_path, "A study", [section]).read_text()
    assert "# A study\n" in text
    assert "| n | value |\n| --- | --- |\n| 3 | 0.1235 |\n| 4 | - |\n| 5 | -52,817.13 |\n" in text
    assert "![Sizes <b>](a.png)" in text
    page = (tmp_path / "report.html").read_text()
    assert "data:image/png;base64,cGljdHVyZQ==" in page
    assert "<td>-52,817.13</td>" in page
    assert "<b>" not in page
