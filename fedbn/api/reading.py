"""Results on disk as one data frame: of sweeps and of single runs."""

from __future__ import annotations

import glob
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbn.errors import ResultsError

if TYPE_CHECKING:
    import pandas as pd


def read_results(paths: str | Path | Iterable[str | Path]) -> pd.DataFrame:
    """The results of sweeps and runs, one row for each case or run.

    Parameters
    ----------
    paths : a results folder, a sweep's folder, a .csv or .parquet file of `fedbn sweep`, a pattern
        like "results/*", or several of these.

    Returns
    -------
    A frame whose column `source` says which folder or file a row is from. A run's row has its
    settings and what is in its `summary` and `seconds`; a sweep's row has what `fedbn sweep` wrote.

    Raises
    ------
    ResultsError : nothing is there, or something is no result.
    """
    import pandas as pd

    given = [paths] if isinstance(paths, str | Path) else list(paths)
    found = [path for each in given for path in _matches(each)]
    if not found:
        raise ResultsError("no path of results was given")
    frames = [_frame(path) for path in found]
    return pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]


def _matches(path: str | Path) -> list[Path]:
    """What a path or a pattern names, sorted."""
    text = str(path)
    if Path(text).exists():
        return [Path(text)]
    found = [Path(each) for each in sorted(glob.glob(text))]
    if not found:
        raise ResultsError(f"there are no results at {text!r}")
    return found


def _frame(path: Path) -> pd.DataFrame:
    import pandas as pd

    if path.is_dir():
        table = path / "results.parquet"
        if table.is_file():
            return _frame(table).assign(source=str(path))
        return pd.DataFrame([_row(path)])
    readers = {".csv": pd.read_csv, ".parquet": pd.read_parquet}
    if path.suffix not in readers:
        raise ResultsError(f"{path} must be a results folder, .csv or .parquet")
    try:
        return readers[path.suffix](path).assign(source=str(path.parent))
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path} cannot be read: {error}") from error


def _row(folder: Path) -> dict[str, Any]:
    """One run's settings and figures."""
    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or error
        raise ResultsError(f"{folder} is no results folder: run.json: {reason}") from None
    except ValueError as error:
        raise ResultsError(f"{folder / 'run.json'} is no JSON: {error}") from None
    settings, summary = run.get("settings", {}), run.get("summary", {})
    if not isinstance(settings, Mapping) or not isinstance(summary, Mapping):
        raise ResultsError(f"{folder / 'run.json'} is no record of a run")
    row = {"seed": run.get("seed"), **settings, **summary, "seconds": run.get("seconds")}
    return {**row, "source": str(folder)}
