"""Files written whole or not at all: names at the limit of the system, places that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbn.errors import ResultsError
from fedbn.whole_file import require_writable, write_whole


@pytest.mark.parametrize("name", ["a.csv", "表" * 83 + ".json", "x" * 255, "<script>.csv"])
def test_every_name_that_the_system_takes(tmp_path: Path, name: str) -> None:
    require_writable(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    write_whole(tmp_path / name, "α\n")
    require_writable(tmp_path / name)
    assert [(path.name, path.read_text("utf-8")) for path in tmp_path.iterdir()] == [(name, "α\n")]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("no/a.csv", "there is no folder"),
        ("folder", "it is a folder"),
        ("file/a.csv", "there is no folder"),
        ("x" * 256, "File name too long"),
    ],
)
def test_places_that_cannot_be_written_are_said_before(
    tmp_path: Path, place: str, words: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError, match=words):
        require_writable(tmp_path / place)
    assert len(list(tmp_path.iterdir())) == 2
