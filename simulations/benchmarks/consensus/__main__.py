"""Speed and quality of the consensus.

    python -m simulations.benchmarks.consensus                  synthetic inputs, n and r swept
    python -m simulations.benchmarks.consensus --files *.txt.gz --r 20 50
    python -m simulations.benchmarks.consensus --network munin --changes 780 --r 20
    python -m simulations.benchmarks.consensus --network pigs --changes 4 --r 1000 --quorum 1 2 5
    python -m simulations.benchmarks.consensus --n 100 --changes 3 --r 10000
    python -m simulations.benchmarks.consensus --network hepar2 --learned --r 20
    python -m simulations.benchmarks.consensus --appendix-b --out results/appendix-b
    python -m simulations.benchmarks.consensus --methods --files alarm.r100.txt.gz --r 20

Times are CPU seconds of one warm core: order, union and complete path; then of choosing the
consensus over both readings.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fedbn.errors import FedbnError
from fedbn.fusion.baselines import BASELINES
from fedbn.graphs.files import read_structures
from simulations.benchmarks.arguments import parser_of
from simulations.benchmarks.consensus import appendix_b
from simulations.benchmarks.consensus.inputs import (
    GENERATORS,
    Inputs,
    around_network,
    around_random,
    from_file,
    learn,
)
from simulations.benchmarks.consensus.methods import MethodRow, compare
from simulations.benchmarks.consensus.speed import Row, draw_growth, growth, measure

SIZES = [10, 30, 50, 100]


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = parser_of("consensus", __doc__)
    add = parser.add_argument
    add("--files", type=Path, nargs="+", default=[], help="fuse the first r DAGs of each file")
    add("--network", help="inputs around, or learned from, this network: a name or a file")
    add("--network-dir", type=Path, help="folder with more networks, NAME.bif[.gz]")
    add("--changes", type=int, help="random changes of the base per input (default 0.75 n)")
    add("--quorum", type=int, nargs="+", default=[1], help="DAGs that must have an arc of G+ (1)")
    add("--learned", action="store_true", help="inputs are learned by GES, ties at random")
    add("--rows", type=int, default=5000, help="rows per sample of --learned (5000)")
    add("--n", type=int, nargs="+", help="nodes of synthetic inputs")
    add("--r", type=int, nargs="+", default=SIZES, help="numbers of inputs (10 30 50 100)")
    add("--generator", choices=sorted(GENERATORS), help="of synthetic inputs")
    add("--seeds", type=int, help="runs per size (3; with --appendix-b 10)")
    add("--seconds", type=float, default=600.0, help="budget of one run (600)")
    add("--appendix-b", action="store_true", help="SMHD to the base DAG over θ; can be resumed")
    add("--methods", action="store_true", help="every method on --files, instead of the speed")
    names = ["mcbnc", *BASELINES]
    add("--only", nargs="+", choices=names, default=names, help="methods of --methods")
    add("--gold", type=Path, nargs="+", help="the true DAG of each of --files")
    add("--out", type=Path, help="folder for the CSV file and the figure")
    return parser.parse_args(arguments)


def wanted_inputs(options: argparse.Namespace) -> Iterator[Inputs]:
    """Every set of inputs that the options ask for."""
    for file in options.files:
        for r in options.r:
            found = from_file(file, r)
            if found is not None:
                yield found
    if options.files:
        return
    for r in options.r:
        for seed in range(options.seeds or 3):
            if options.network is None:
                for n in options.n or SIZES[:3]:
                    generator = options.generator or "changes"
                    yield around_random(generator, n, r, options.changes, seed)
            elif options.learned:
                yield learn(options.network, options.network_dir, r, options.rows, seed)
            else:
                name, folder = options.network, options.network_dir
                yield around_network(name, folder, r, options.changes, seed)


def print_row(row: Sequence[Any]) -> None:
    """One line, tabs between."""
    csv.writer(sys.stdout, delimiter="\t", lineterminator="\n").writerow(row)
    sys.stdout.flush()


def write_table(folder: Path | None, name: str, rows: Sequence[Sequence[Any]]) -> None:
    """The rows as CSV, if a folder is wanted."""
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)


def run_speed(options: argparse.Namespace) -> None:
    """Print a row as each run ends; growth exponents; CSV and figure."""
    print_row(Row._fields)
    found = []
    for inputs in wanted_inputs(options):
        for quorum in options.quorum:
            found.append(measure(inputs, options.seconds, quorum))
            print_row(found[-1])
    for of in ("n", "r"):
        exponent = growth(found, of)
        if exponent is not None:
            print(f"path seconds grow as {of}^{exponent:.2f}")
    write_table(options.out, "consensus.csv", [Row._fields, *found])
    if options.out is not None and found:
        draw_growth(found, options.out / "consensus.png")


def run_methods(options: argparse.Namespace) -> None:
    """Print a row per method and set of inputs; CSV."""
    print_row(MethodRow._fields)
    found = []
    golds = options.gold or [None] * len(options.files)
    for file, gold in zip(options.files, golds, strict=True):
        truth = None if gold is None else read_structures(gold)[0].dag
        for r in options.r:
            inputs = from_file(file, r)
            if inputs is not None:
                for row in compare(inputs.label, inputs.dags, truth, options.only):
                    found.append(row)
                    print_row(row)
    write_table(options.out, "methods.csv", [MethodRow._fields, *found])


def run_appendix_b(options: argparse.Namespace) -> None:
    """Print the table of medians at θ = 0.5; CSV and figure over θ."""
    generator = options.generator or "walk"
    folder = options.out or Path("results/appendix-b")
    folder.mkdir(parents=True, exist_ok=True)

    def progress(done: int, total: int, at: str) -> None:
        if sys.stderr.isatty() or done % 10 == 0:
            print(f"{done} of {total} runs, {at}", file=sys.stderr)

    sizes = [(n, r) for n in options.n or SIZES for r in options.r]
    file = folder / f"{generator}.csv"
    points = appendix_b.study(generator, sizes, options.seeds or 10, file, progress)
    rows = appendix_b.medians(points)
    print_row(list(rows[0]))
    for row in rows:
        print_row(list(row.values()))
    write_table(
        folder, f"{generator}-medians.csv", [list(rows[0]), *(list(row.values()) for row in rows)]
    )
    appendix_b.draw(points, folder / f"{generator}.png")
    print(f"Written: {generator}.csv, {generator}-medians.csv and {generator}.png in {folder}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the options ask for."""
    options = options_of(arguments)
    if options.appendix_b:
        run_appendix_b(options)
    elif options.methods:
        run_methods(options)
    else:
        run_speed(options)


if __name__ == "__main__":
    try:
        main()
    except FedbnError as error:
        sys.exit(f"error: {error}")
