"""fedbn's searches beside other programs, on the same data in one run.

    python -m simulations.benchmarks.search --networks asia,child --samples 2
    python -m simulations.benchmarks.search --networks random-gaussian:25:50 --score gaussian-bic
    python -m simulations.benchmarks.search --networks alarm --rows 1000,5000,20000,100000

Programs that are not installed (`pip install 'fedbn[bench]'`) are named and left out;
`--peer-python` names further interpreters to look for them (xges needs an older numpy than fedbn),
`--peers` chooses among them. Every
structure is scored by fedbn with one and the same score; "at most ges" counts the samples where a
program's score is not above that of `fedbn ges`. Written to `--output`: search.csv, and seconds.png
(CPU seconds over rows and over nodes).
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG, consistent_extension
from fedbn.metrics import shd
from fedbn.networks.catalog import load_network
from fedbn.scores import SCORES, TabulatedScore, make_score, total_score
from fedbn.search.ges import ges
from fedbn.search.hill_climbing import hill_climbing
from fedbn.search.xges import xges0
from simulations.terminal import print_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OWN: dict[str, Callable[[TabulatedScore], DAG]] = {
    "fedbn ges": lambda score: ges(score).dag,
    "fedbn ges, turning": lambda score: ges(score, turning=True, repeat=True).dag,
    "fedbn xges0": lambda score: xges0(score).dag,
    "fedbn hill climbing": lambda score: hill_climbing(score).dag,
}
PEERS = {
    "bdeu": ("causal-learn ges (bdeu, prior)", "pgmpy hill climbing"),
    "gaussian-bic": ("causal-learn ges", "ges", "xges (xges-0)"),
}
_EQUAL = 1e-9  # relative; scores this near to each other count as one
_MISSING = "not installed"
_PEERS_FILE = Path(__file__).with_name("peers.py")


@dataclass(frozen=True)
class Row:
    """One program on one sample; `seconds` are CPU seconds, `note` says why there are none."""

    network: str
    nodes: int
    rows: int
    sample: int
    program: str
    seconds: float | None
    score: float | None
    shd: int | None
    note: str = ""


def own_rows(network: str, sample: int, data: Dataset, truth: DAG, score: str) -> Iterator[Row]:
    """fedbn's searches, warm; preparing the score counts."""
    small = load_network("asia" if SCORES[score].kind == "categorical" else "random-gaussian:5:4")
    for program, search in OWN.items():
        search(make_score(score, small.sample(50, np.random.default_rng(0))))
        began = time.process_time()
        made = make_score(score, data)
        found = search(made)
        seconds = time.process_time() - began
        yield Row(
            network,
            data.n,
            data.n_rows,
            sample,
            program,
            seconds,
            total_score(made, found),
            shd(found, truth),
        )


def peer_row(
    network: str,
    sample: int,
    data: Dataset,
    truth: DAG,
    score: TabulatedScore,
    program: str,
    pythons: list[str],
    limit: float,
) -> Row:
    """Another program, by the first interpreter that has it, each ended after `limit` seconds."""
    for python in pythons:
        row = _run_peer(network, sample, data, truth, score, program, python, limit)
        if not row.note.startswith(_MISSING):
            break
    return row


def _run_peer(
    network: str,
    sample: int,
    data: Dataset,
    truth: DAG,
    score: TabulatedScore,
    program: str,
    python: str,
    limit: float,
) -> Row:
    empty = Row(network, data.n, data.n_rows, sample, program, None, None, None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        np.savez(path, data.table)
        try:
            done = subprocess.run(
                [python, str(_PEERS_FILE), program, str(path)],
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Row(**asdict(empty) | {"note": f"more than {limit:g} s"})
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return Row(**asdict(empty) | {"note": f"failed: {last[0]}"})
    answer = json.loads(done.stdout.strip().splitlines()[-1])
    if "missing" in answer:
        return Row(**asdict(empty) | {"note": f"{_MISSING}: {answer['missing']}"})
    found = PDAG(data.names, np.array(answer["adjacency"], dtype=bool))
    try:
        dag = consistent_extension(found)
    except StructureError:
        note = "its graph has no DAG extension"
        return Row(**asdict(empty) | {"seconds": answer["seconds"], "note": note})
    known = {"score": total_score(score, dag), "shd": shd(dag, truth)}
    return Row(**asdict(empty) | {"seconds": answer["seconds"]} | known)


def chosen_peers(options: argparse.Namespace) -> list[str]:
    """The other programs to run: those for this score, or the ones asked for among them.

    Raises
    ------
    ConfigError : a program is not one of those for this score.
    """
    known = PEERS.get(options.score, ())
    if options.peers is None:
        return [] if options.no_peers else list(known)
    asked = [program.strip() for program in options.peers.split(";")]
    for program in asked:
        if program not in known:
            raise ConfigError(f"no program {program!r} for {options.score}; there are {known}")
    return asked


def measure(options: argparse.Namespace, note: Callable[[Row], None]) -> list[Row]:
    """All programs on all samples."""
    found: list[Row] = []
    for network in options.networks.split(","):
        truth = load_network(network, options.network_dir)
        for rows in (int(count) for count in options.rows.split(",")):
            for sample in range(options.samples):
                data = truth.sample(rows, np.random.default_rng([options.seed, sample]))
                score = make_score(options.score, data)
                batch = list(own_rows(network, sample, data, truth.dag, options.score))
                for program in chosen_peers(options):
                    batch.append(
                        peer_row(
                            network,
                            sample,
                            data,
                            truth.dag,
                            score,
                            program,
                            [sys.executable, *filter(None, options.peer_python.split(","))],
                            options.limit,
                        )
                    )
                for row in batch:
                    note(row)
                found += batch
    return found


def append(row: Row, path: Path) -> None:
    """Add a row to search.csv at once: a run that is ended keeps what it measured."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)])
        if fresh:
            writer.writeheader()
        writer.writerow(asdict(row))


def table_of(rows: list[Row]) -> Table:
    """Means over the samples."""
    table = Table(title="searches on the same data (means over samples; score: higher is better)")
    columns = ("CPU s", "score", "SHD to truth", "at most ges")
    for column in ("network", "rows", "program", *columns, "note"):
        table.add_column(column, justify="left" if column in {"network", "note"} else "right")
    reached = {
        (row.network, row.rows, row.sample): row.score
        for row in rows
        if row.program == next(iter(OWN))
    }
    keys = dict.fromkeys((row.network, row.rows, row.program) for row in rows)
    for key in keys:
        group = [row for row in rows if (row.network, row.rows, row.program) == key]
        cells = [
            f"{np.mean(values):{form}}" if (values := [v for v in column if v is not None]) else ""
            for column, form in (
                ([row.seconds for row in group], ".4f"),
                ([row.score for row in group], ".2f"),
                ([row.shd for row in group], ".1f"),
            )
        ]
        below = [
            row.score <= best + _EQUAL * abs(best)
            for row in group
            if row.score is not None
            and (best := reached[row.network, row.rows, row.sample]) is not None
        ]
        table.add_row(
            key[0], str(key[1]), key[2], *cells, f"{sum(below)} of {len(below)}", group[0].note
        )
    return table


def plot(rows: list[Row], path: Path) -> None:
    """CPU seconds over rows, on the network with most numbers of rows, and over nodes, with the
    number of rows that most networks have (of equals the larger); both axes logarithmic, means
    over samples."""
    from matplotlib.figure import Figure

    counts = {net: {r.rows for r in rows if r.network == net} for net in _in_order(rows, "network")}
    nodes = {row.network: row.nodes for row in rows}
    network = max(counts, key=lambda net: (len(counts[net]), nodes[net]))
    networks = {n: {r.network for r in rows if r.rows == n} for n in _in_order(rows, "rows")}
    number = max(networks, key=lambda n: (len(networks[n]), n))
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    _lines(left, [row for row in rows if row.network == network], "rows")
    left.set_title(network)
    _lines(right, [row for row in rows if row.rows == number], "nodes")
    right.set_title(f"{number} rows")
    left.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def _in_order(rows: list[Row], field: str) -> list[Any]:
    return list(dict.fromkeys(getattr(row, field) for row in rows))


def _lines(axes: Axes, rows: list[Row], field: str) -> None:
    for program in _in_order(rows, "program"):
        points: dict[int, list[float]] = {}
        for row in rows:
            if row.program == program and row.seconds is not None:
                points.setdefault(getattr(row, field), []).append(row.seconds)
        if points:
            xs = sorted(points)
            axes.plot(xs, [np.mean(points[x]) for x in xs], marker="o", label=program)
    axes.set(xscale="log", yscale="log", xlabel=field, ylabel="CPU seconds")
    axes.grid(alpha=0.3)


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m simulations.benchmarks.search",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--networks", default="asia,child", help="names or BIF files, by commas")
    made.add_argument("--network-dir", help="folder of further networks")
    made.add_argument("--rows", default="5000", help="numbers of rows, by commas")
    made.add_argument("--samples", type=int, default=1)
    made.add_argument("--score", choices=tuple(SCORES), default="bdeu")
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--limit", type=float, default=60.0, help="seconds for one run of a peer")
    made.add_argument("--no-peers", action="store_true", help="fedbn alone")
    made.add_argument("--peers", help="these programs alone, by semicolons")
    made.add_argument("--peer-python", default="", help="further interpreters, by commas")
    made.add_argument("--output", type=Path, default=Path("results/benchmark-search"))
    return made


def main(arguments: list[str] | None = None) -> None:
    """Measure, print the table, write the files."""
    options = parser().parse_args(arguments)
    table = options.output / "search.csv"
    table.unlink(missing_ok=True)

    def note(row: Row) -> None:
        print(row.network, row.rows, row.sample, row.program, row.note, file=sys.stderr)
        append(row, table)

    rows = measure(options, note)
    print_table(table_of(rows))
    plot(rows, options.output / "seconds.png")
    print(f"written to {options.output}")


if __name__ == "__main__":
    main()
