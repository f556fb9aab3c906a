"""README.txt of a results folder names the files that are there, with their columns, no more."""

from __future__ import annotations

import csv
from html import unescape
from pathlib import Path

import pytest

from fedbn.graphs.directions import ARROWS
from tests.simulations.conftest import Fedbn

SIMULATED = ("--network", "asia", "--clients", 3, "--rows", 500, "--engine", "in-process")
SUMS = ("--aggregation", "secure-sums", "-q")
VOTES = ("--aggregation", "moral-votes", "-q")


def told(folder: Path) -> dict[str, list[str]]:
    """File -> columns, as README.txt has them."""
    found: dict[str, list[str]] = {}
    entries = (folder / "README.txt").read_text(encoding="utf-8").split("\n\n")[2]
    for line in entries.splitlines():
        if not line.startswith(" "):
            found[line.split()[0]] = []
        elif line.startswith("    ") and line[4] != " ":
            found[list(found)[-1]].append(line.split()[0])
    return found


def there(folder: Path) -> dict[str, list[str]]:
    """File -> columns, as they are."""
    found = {}
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open(encoding="utf-8", errors="replace", newline="") as text:
                columns = next(csv.reader(text)) if file.suffix == ".csv" else []
            found[file.relative_to(folder).as_posix()] = columns
    return found


@pytest.mark.slow
def test_every_kind_of_run(fedbn: Fedbn, tmp_path: Path) -> None:
    table, dag = tmp_path / "a.csv", tmp_path / "a.json"
    fedbn("sample", "asia", "--rows", 500, "--out", table, "-q")
    fedbn("learn", table, "--out", dag, "-q")
    runs = {
        "groups": ("fuse", dag, dag, "--groups", "auto", "-q"),
        "baseline": ("fuse", dag, dag, "--method", "vote", "-q"),
        "sums": ("simulate", *SIMULATED, *SUMS),
        "votes": ("simulate", *SIMULATED, *VOTES),
    }
    for name, arguments in runs.items():
        folder = tmp_path / name
        assert fedbn(*arguments, "--out", folder).status == 0
        assert told(folder) == there(folder), name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*a deployed site would refuse")
def test_what_is_written_later_is_described_too(fedbn: Fedbn, tmp_path: Path) -> None:
    table, other, folder = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "out"
    fedbn("sample", "asia", "--rows", 500, "--seed", 1, "--out", table, "-q")
    fedbn("sample", "asia", "--rows", 500, "--seed", 2, "--out", other, "-q")
    fedbn("simulate", "--sites", table, other, "--parameters", "none", "--out", folder, "-q",
          "--engine", "in-process")  # fmt: skip
    assert "network.json" not in told(folder)
    assert fedbn("parameters", folder, "--sites", table, other, "--average").status == 0
    assert fedbn("report", folder, "--public").status == 0
    assert {"network.json", "average.json", "report-public.html"} <= set(told(folder))
    (folder / "notes.csv").write_text("mine")
    assert fedbn("report", folder).status == 0
    (folder / "notes.csv").unlink()
    assert told(folder) == there(folder)


def test_what_an_arrow_means_is_said_wherever_arrows_are_read(fedbn: Fedbn, tmp_path: Path) -> None:
    dag = tmp_path / "a.json"
    dag.write_text('{"nodes": ["x", "y"], "edges": [["x", "y"]]}')
    fedbn("fuse", dag, "--out", tmp_path / "out", "-q")
    root = Path(__file__).resolve().parents[2]
    results = [tmp_path / "out" / name for name in ("README.txt", "report.html")]
    for file in (*results, root / "README.md", root / "docs" / "report.md"):
        assert ARROWS in unescape(" ".join(file.read_text(encoding="utf-8").split())), file
