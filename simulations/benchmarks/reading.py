"""What reading a CSV file costs beside pyarrow's own reader of the same file.

All read every table in turn, in one process; the ratios are those of the medians. pyarrow makes
columns of text and numbers, of types that it guesses; `pyarrow typed` makes what fedbn asks of it,
dictionaries and floats; fedbn makes codes of states under a schema, and looks at every quote. In
`commas` separators are inside the quotes, in `doubled` quotes, in `lines` line ends; in `gaps` one
number of a hundred is missing; in `names` one column of text has another cell in every row, whose
sorting alone takes longer than pyarrow's reading of the table.

    python -m simulations.benchmarks.reading --rows 100000 --rows 1000000
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import typer

from fedbn.data.preparation import Preparation
from fedbn.data.tables import read_dataset
from fedbn.errors import FedbnWarning

COLUMNS = 10
QUOTED = {"commas": "a, ", "doubled": 'a "b" ', "lines": "a\n"}
"""Table -> what every cell begins with, so that it needs quotes."""
TABLES = ("text", "digits", "numbers", "mixed", "gaps", "names", "quoted", *QUOTED)

Clock = Callable[[], float]


def columns_of(table: str, rows: int, rng: np.random.Generator) -> dict[str, Any]:
    """The columns of one table: c... are states, x... are numbers."""
    words = np.array([f"state{i}" for i in range(4)])
    texts = {f"c{j}": words[rng.integers(0, 4, rows)] for j in range(COLUMNS)}
    digits = {f"c{j}": rng.integers(0, 3, rows) for j in range(COLUMNS)}
    numbers = {f"x{j}": np.round(rng.normal(size=rows), 6) for j in range(COLUMNS)}
    half = COLUMNS // 2
    mixed = {**dict(list(texts.items())[:half]), **dict(list(numbers.items())[:half])}
    people = np.array([f"person {i:07}" for i in rng.permutation(rows)])
    gaps = {
        name: pa.array(cells, mask=rng.random(rows) < 0.01) if name[0] == "x" else cells
        for name, cells in mixed.items()
    }
    found: Mapping[str, dict[str, Any]] = {
        "text": texts,
        "quoted": texts,
        "gaps": gaps,
        "names": {**texts, "c0": people},
        **{
            word: {name: np.char.add(begin, cells) for name, cells in texts.items()}
            for word, begin in QUOTED.items()
        },
        "digits": digits,
        "numbers": numbers,
        "mixed": mixed,
    }
    return found[table]


def write(table: str, rows: int, folder: Path) -> Path:
    """The table as a file; only `quoted` and QUOTED have quotes, around every text."""
    columns = pa.table(columns_of(table, rows, np.random.default_rng(rows)))
    style: Literal["needed", "none"] = "needed" if table in ("quoted", *QUOTED) else "none"
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style=style)
    path = folder / f"{table}{rows}.csv"
    with path.open("wb") as file:
        file.write((",".join(columns.column_names) + "\n").encode())
        pyarrow.csv.write_csv(columns, file, options)
    return path


def measure(table: str, path: Path, repeats: int) -> dict[str, Any]:
    """Medians of CPU and wall-clock seconds of the readers, and their ratios."""
    lines = pyarrow.csv.ParseOptions(newlines_in_values=table == "lines")
    names = pyarrow.csv.open_csv(path, parse_options=lines).schema.names
    cuts = {name: (-0.5, 0.5) for name in names if name[0] == "x"}
    kind: Literal["categorical", "gaussian"] = "gaussian" if table == "numbers" else "categorical"
    how = Preparation(missing_cells="state", cuts={} if kind == "gaussian" else cuts)
    text = pa.dictionary(pa.int32(), pa.string())
    typed = pyarrow.csv.ConvertOptions(
        column_types={name: pa.float64() if name[0] == "x" else text for name in names}
    )
    readers: Mapping[str, Callable[[], object]] = {
        "pyarrow": lambda: pyarrow.csv.read_csv(path, parse_options=lines),
        "pyarrow typed": lambda: pyarrow.csv.read_csv(
            path, parse_options=lines, convert_options=typed
        ),
        "fedbn": lambda: read_dataset(path, kind, how),
    }
    clocks: Mapping[str, Clock] = {"cpu": time.process_time, "wall": time.perf_counter}
    times: dict[str, list[float]] = {f"{r} {c}": [] for r in readers for c in clocks}
    for _ in range(repeats + 1):
        for reader, read in readers.items():
            began = {name: clock() for name, clock in clocks.items()}
            read()
            for name, clock in clocks.items():
                times[f"{reader} {name}"].append(clock() - began[name])
    medians = {key: statistics.median(found[1:]) for key, found in times.items()}
    return {
        **{key: round(seconds, 4) for key, seconds in medians.items()},
        **{
            f"ratio to {reader} {name}": round(
                medians[f"fedbn {name}"] / medians[f"{reader} {name}"], 2
            )
            for reader in ("pyarrow", "pyarrow typed")
            for name in clocks
        },
    }


def main(
    rows: Annotated[list[int] | None, typer.Option(help="Rows of every table.")] = None,
    table: Annotated[list[str] | None, typer.Option(help=f"Of {', '.join(TABLES)}.")] = None,
    repeats: Annotated[int, typer.Option(min=1)] = 7,
) -> None:
    """Measure and print one JSON object per table."""
    warnings.simplefilter("ignore", FedbnWarning)
    with tempfile.TemporaryDirectory() as folder:
        for count in rows or [100_000]:
            for name in table or TABLES:
                found = measure(name, write(name, count, Path(folder)), repeats)
                print(json.dumps({"table": name, "rows": count, **found}))


if __name__ == "__main__":
    typer.run(main)
