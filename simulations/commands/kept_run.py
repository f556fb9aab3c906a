"""What a finished federated run kept in its results folder, for commands that go on from it."""

from __future__ import annotations

from pathlib import Path

from fedbn.bounded_file import read_bounded
from fedbn.errors import ResultsError, system_errors_as
from fedbn.federation.checkpoint import STATE_FILE, Checkpoint, read_checkpoint
from fedbn.results.grouped_sums import COHORTS


def read_kept(folder: Path) -> Checkpoint:
    """The checkpoint of a results folder.

    Raises
    ------
    ResultsError : it has none, as after secure sums, or it cannot be read.
    """
    file = folder / STATE_FILE
    if not file.exists() and ((folder / COHORTS).is_dir() or (folder / "sums.json").is_file()):
        raise ResultsError(
            f"{folder} is the result of secure sums, which keep no site's structures: run again"
        )
    words = f"{folder} is no result of a federated run: {STATE_FILE}"
    with system_errors_as(ResultsError, words):
        text = read_bounded(file).decode("utf-8")
    return read_checkpoint(text, str(file))
