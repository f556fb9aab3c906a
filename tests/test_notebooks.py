"""The notebooks of docs/notebooks, executed as they stand; what they show is looked at."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "notebooks"
SHOWN = {
    "first-hour": ("Table(1000 rows", "Learned(xges: 8 nodes", "optimal"),
    "own-method": ("Simulated(4 sites: 5 nodes", "mean SMHD", "mcbnc"),
    "three-hospitals": ("Table(400 rows", "Simulated(3 sites: 8 nodes", "smhd_to_consensus"),
}
FIGURES = {"first-hour": 1, "own-method": 0, "three-hospitals": 2}


def test_every_notebook_is_here_without_outputs() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(SHOWN)
    for path in FOLDER.glob("*.ipynb"):
        book = nbformat.read(path, as_version=4)
        assert not any(cell.get("outputs") for cell in book.cells)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_runs_and_shows(name: str) -> None:
    book = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    NotebookClient(book, timeout=300, kernel_name="python3").execute()
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    shown = [output.get("data", {}) for output in outputs]
    text = "".join(data.get("text/plain", "") + data.get("text/html", "") for data in shown)
    for words in SHOWN[name]:
        assert words in text
    assert any("<svg" in data.get("text/html", "") for data in shown)
    assert sum("image/png" in data for data in shown) == FIGURES[name]
    assert not any(output.output_type == "stream" for output in outputs)
