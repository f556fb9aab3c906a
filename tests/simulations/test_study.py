"""A study is resumed where it stopped, and loses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbn.errors import FedbnWarning, ResultsError
from simulations.study import Section, Study, write_study_report

CASES = [{"n": n, "seed": seed} for n in (3, 4) for seed in (1, 2)]


def square(case: dict[str, int]) -> dict[str, int]:
    return {"answer": case["n"] ** 2 + case["seed"]}


def test_a_second_start_computes_only_what_is_missing(tmp_path: Path) -> None:
    first = Study(tmp_path).collect(CASES[:3], square)
    asked = []

    def counted(case: dict[str, int]) -> dict[str, int]:
        asked.append(case)
        return square(case)

    ticks: list[tuple[int, int]] = []
    rows = Study(tmp_path).collect(CASES, counted, lambda *tick: ticks.append(tick))
    assert asked == [CASES[3]]
    assert rows[:3] == first
    assert [row["answer"] for row in rows] == [10, 11, 17, 18]
    assert ticks[-1] == (4, 4)


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
    with pytest.warns(FedbnWarning, match="cut off"):
        study = Study(tmp_path)
    assert len(study.rows) == 3
    study.collect(CASES, square)
    assert path.read_bytes() == whole


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"n": 1}\nnothing\n')
    with pytest.raises(ResultsError, match="line 2"):
        Study(tmp_path)


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "study").write_text("")
    with pytest.raises(ResultsError, match="writable"):
        Study(tmp_path / "study")


def test_the_report_has_tables_and_figures(tmp_path: Path) -> None:
    rows = [(3, 0.123456), (4, None), (5, -52817.126)]
    section = Section("Sizes", "Words.", ("n", "value"), rows, ("a.png",))
    text = write_study_report(tmp_path, "A study", [section]).read_text()
    assert "# A study\n" in text
    assert "| n | value |\n| --- | --- |\n| 3 | 0.1235 |\n| 4 | - |\n| 5 | -52,817.13 |\n" in text
    assert "![Sizes](a.png)" in text
