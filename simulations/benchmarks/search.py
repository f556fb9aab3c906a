"""fedbn's searches beside other programs, on the same data in one run.

    python -m simulations.benchmarks.search --networks asia,child --samples 2
    python -m simulations.benchmarks.search --networks random-gaussian:25:50 --score gaussian-bic
    python -m simulations.benchmarks.search --networks 'random-gaussian:8:12:{sample}' \\
        --score gaussian-bic --rows 300 --samples 100 --peers ges
    python -m simulations.benchmarks.search --networks alarm --rows 1000,5000,20000,100000
    python -m simulations.benchmarks.search --networks alarm --score bic --samples 10 \\
        --peers "bnlearn tabu;pgmpy hill climbing:2"

Programs that are not installed (`pip install 'fedbn[bench]'`) are named and left out.
`--peer-python` names further interpreters to look for them (xges needs an older numpy than fedbn),
RSCRIPT an Rscript with bnlearn, XGES_PROGRAM the C++ program of XGES, which
`simulations.benchmarks.build_xges` builds; `--peers` chooses among them, and gives slow ones fewer
samples.
{sample} in the name of a random network is its seed. Every structure is scored by fedbn with one
and the same score. What pgmpy finds depends on the order of its sets: PYTHONHASHSEED is 0 unless
the environment has another.

Written to `--output`: rows.jsonl, a line as soon as it is known; at the end search.csv, report.md,
and seconds.png (CPU seconds over rows and over nodes). A run that is started again in the same
folder keeps what the other programs gave, except where they were not installed, failed, or were
ended after a shorter `--limit`; fedbn's own searches are measured again each time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from fedbn.errors import FedbnError, ResultsError
from fedbn.scores import SCORES
from simulations.benchmarks.arguments import count, counts, parser_of, seed
from simulations.benchmarks.search_programs import (
    OWN,
    TOO_LONG,
    chosen_own,
    chosen_peers,
    own_result,
    peer_result,
    sample_of,
)
from simulations.benchmarks.search_report import (
    HEADER,
    RACE_HEADER,
    RACE_WORDS,
    Row,
    csv_text,
    plot,
    race_rows,
    table_rows,
)
from simulations.study import Study
from simulations.study_report import Section, write_study_report
from simulations.terminal import print_table, show_error


def measure(options: argparse.Namespace) -> list[Row]:
    """All programs on their samples."""
    programs = dict.fromkeys(chosen_own(options.own), options.samples)
    if not options.no_peers:
        programs |= chosen_peers(options.peers, options.score, options.samples)
    cases = [
        {"network": network, "rows": rows, "sample": sample, "program": program}
        | {"score_name": options.score, "seed": options.seed}
        for network in options.networks.split(",")
        for rows in options.rows
        for sample in range(options.samples)
        for program, samples in programs.items()
        if sample < samples
    ]
    pythons = [sys.executable, *filter(None, options.peer_python.split(","))]

    def run(case: Mapping[str, Any]) -> dict[str, Any]:
        program, score = case["program"], case["score_name"]
        place = (case["rows"], case["sample"], case["seed"])
        sample = sample_of(case["network"], options.network_dir, *place, score)
        if program in OWN:
            found = own_result(sample, program, score)
        else:
            found = peer_result(sample, program, score, pythons, options.limit)
        print(case["network"], *place[:2], program, found.get("note", ""), file=sys.stderr)
        return {"nodes": sample.data.n, "limit": options.limit} | found

    def again(row: Mapping[str, Any]) -> bool:
        too_long = row.get("note", "").startswith(TOO_LONG)
        ended = row["limit"] < options.limit if too_long else row.get("seconds") is None
        return row["program"] in OWN or ended

    found = Study(options.output).collect(cases, run, again=again)
    names = [field.name for field in fields(Row)]
    return [Row(**{name: row[name] for name in names if name in row}) for row in found]


def write(rows: Sequence[Row], folder: Path) -> None:
    """search.csv, seconds.png and report.md.

    Raises
    ------
    ResultsError : the folder cannot be written.
    """
    try:
        (folder / "search.csv").write_text(csv_text(rows), encoding="utf-8", newline="")
        plot(rows, folder / "seconds.png")
    except OSError as error:
        raise ResultsError(f"cannot write to {folder}: {error}") from error
    words = (
        "Means over the samples with a figure. Over ges: the score minus that of `fedbn ges`. At "
        "most ges, same class: in how many samples the score is not above it, the class the same."
    )
    means = Section("Means over samples", words, HEADER, table_rows(rows))
    race = Section("The race with fedbn ils", RACE_WORDS, RACE_HEADER, race_rows(rows))
    growth = Section("CPU seconds", figures=["seconds.png"])
    write_study_report(folder, "Searches on the same data", [means, race, growth])


def as_table(rows: Sequence[Row]) -> Table:
    """The table at the terminal; as `Text`, for rich would see an emoji in "random:100:200"."""
    table = Table(title="searches on the same data (means over samples; score: higher is better)")
    for column in HEADER:
        left = column in {"network", "program", "note"}
        table.add_column(column, justify="left" if left else "right")
    for line in table_rows(rows):
        table.add_row(*(Text("" if cell is None else str(cell)) for cell in line))
    return table


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = parser_of("search", __doc__)
    made.add_argument("--networks", default="asia,child", help="names or BIF files, by commas")
    made.add_argument("--network-dir", help="folder of further networks")
    made.add_argument("--rows", type=counts, default=[5000], help="numbers of rows, by commas")
    made.add_argument("--samples", type=count, default=1)
    made.add_argument("--score", choices=tuple(SCORES), default="bdeu")
    made.add_argument("--seed", type=seed, default=1)
    made.add_argument("--limit", type=float, default=60.0, help="seconds for one run of a peer")
    made.add_argument("--no-peers", action="store_true", help="fedbn alone")
    made.add_argument("--peers", help="these programs alone, by semicolons; NAME:3 gets 3 samples")
    made.add_argument("--own", help="these of fedbn's searches and ges alone, by semicolons")
    made.add_argument("--peer-python", default="", help="further interpreters, by commas")
    made.add_argument("--output", type=Path, default=Path("results/benchmark-search"))
    return made


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the table, write the files."""
    options = parser().parse_args(arguments)
    try:
        rows = measure(options)
        write(rows, options.output)
    except FedbnError as error:
        show_error(error)
        return 1
    print_table(as_table(rows))
    print(f"written to {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
