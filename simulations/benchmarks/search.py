"""fedbn's searches beside other programs, on the same data in one run.

    python -m simulations.benchmarks.search --networks asia,child --samples 2
    python -m simulations.benchmarks.search --networks random-gaussian:25:50 --score gaussian-bic
    python -m simulations.benchmarks.search --networks 'random-gaussian:8:12:{sample}' \\
        --score gaussian-bic --rows 300 --samples 100 --peers ges
    python -m simulations.benchmarks.search --networks alarm --rows 1000,5000,20000,100000

Programs that are not installed (`pip install 'fedbn[bench]'`) are named and left out.
`--peer-python` names further interpreters to look for them (xges needs an older numpy than fedbn),
RSCRIPT an Rscript with bnlearn, XGES_PROGRAM the C++ program of XGES; `--peers` chooses among them.
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
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError, FedbnError, ResultsError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import shd
from fedbn.graphs.pdag import PDAG, consistent_extension, dag_to_cpdag
from fedbn.networks.catalog import load_network
from fedbn.scores import SCORES, TabulatedScore, make_score, total_score
from fedbn.search.ges import ges
from fedbn.search.hill_climbing import hill_climbing
from fedbn.search.iterated_local_search import iterated_local_search
from fedbn.search.xges import xges, xges0
from simulations.benchmarks.arguments import count, counts, seed
from simulations.benchmarks.other_languages import OTHER_LANGUAGES, answer_of
from simulations.benchmarks.search_report import (
    HEADER,
    REFERENCE,
    Row,
    csv_text,
    plot,
    table_rows,
)
from simulations.study import Section, Study, write_study_report
from simulations.terminal import print_table, show_error

OWN: dict[str, Callable[[TabulatedScore], DAG]] = {
    REFERENCE: lambda score: ges(score).dag,
    "fedbn ges, turning": lambda score: ges(score, turning=True, repeat=True).dag,
    "fedbn xges0": lambda score: xges0(score).dag,
    "fedbn xges": lambda score: xges(score).dag,
    "fedbn ils": lambda score: iterated_local_search(score, rng=np.random.default_rng(1)).dag,
    "fedbn hill climbing": lambda score: hill_climbing(score).dag,
}
PEERS = {
    "bdeu": (
        "causal-learn ges (bdeu, prior)",
        "causal-learn ges (bdeu, prior), vectorised",
        "pgmpy hill climbing",
        "bnlearn hc",
        "bnlearn tabu",
        "pyagrum hill climbing",
        "pyagrum tabu",
    ),
    "gaussian-bic": ("causal-learn ges", "ges", "xges (xges-0)", "xges in C++ (xges-0)"),
}
_TOO_LONG = "more than"
_MISSING = "not installed"
_PEER_SETTINGS = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Unless the environment has others."""
_PEERS_FILE = Path(__file__).with_name("peers.py")


@dataclass(frozen=True)
class Sample:
    """A table drawn from a network."""

    truth: DAG
    data: Dataset
    score: TabulatedScore


@lru_cache(maxsize=1)
def sample_of(
    network: str, folder: str | None, rows: int, sample: int, seed: int, score: str
) -> Sample:
    """The table; {sample} in the network's name is replaced by the number of the sample."""
    truth = load_network(network.replace("{sample}", str(sample)), folder)
    data = truth.sample(rows, np.random.default_rng([seed, sample]))
    return Sample(truth.dag, data, make_score(score, data))


def own_result(sample: Sample, program: str, score: str) -> dict[str, Any]:
    """One of fedbn's searches, warm; preparing the score counts."""
    small = load_network("asia" if SCORES[score].kind == "categorical" else "random-gaussian:5:4")
    search = OWN[program]
    search(make_score(score, small.sample(50, np.random.default_rng(0))))
    began = time.process_time()
    found = search(make_score(score, sample.data))
    return {"seconds": time.process_time() - began} | _known_facts(sample, found)


def _known_facts(sample: Sample, dag: DAG) -> dict[str, Any]:
    return {
        "score": total_score(sample.score, dag),
        "shd": shd(dag, sample.truth),
        "cpdag": np.argwhere(dag_to_cpdag(dag).adjacency).tolist(),
    }


def peer_result(
    sample: Sample, program: str, pythons: Sequence[str], limit: float
) -> dict[str, Any]:
    """Another program, by the first interpreter that has it; a note if none has, or it failed."""
    found: dict[str, Any] = {}
    for python in pythons:
        try:
            found = _facts_of(sample, _answer(sample, program, python, limit))
        except subprocess.TimeoutExpired:
            return {"note": f"{_TOO_LONG} {limit:g} s"}
        if not found.get("note", "").startswith(_MISSING):
            break
    return found


def _answer(sample: Sample, program: str, python: str, limit: float) -> dict[str, Any]:
    """`seconds` and `adjacency` of a program, or `missing`, or a `note` why there is nothing."""
    if program in OTHER_LANGUAGES:
        return answer_of(program, sample.data, limit)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.npz"
        np.savez(path, table=sample.data.table, arities=_arities(sample.data))
        try:
            done = subprocess.run(
                [python, str(_PEERS_FILE), program, str(path)],
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
                env=_PEER_SETTINGS | os.environ,
            )
        except OSError as error:
            raise ConfigError(f"{python} cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return {"note": f"failed: {last[0]}"}
    answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def _arities(data: Dataset) -> np.ndarray:
    return data.cardinalities if data.kind == "categorical" else np.zeros(0, dtype=np.int64)


def _facts_of(sample: Sample, answer: dict[str, Any]) -> dict[str, Any]:
    """What the table says of an answer."""
    if "missing" in answer:
        return {"note": f"{_MISSING}: {answer['missing']}"}
    if "note" in answer:
        return answer
    found = PDAG(sample.data.names, np.array(answer["adjacency"], dtype=np.int64) == 1)
    try:
        return {"seconds": answer["seconds"]} | _known_facts(sample, consistent_extension(found))
    except StructureError:
        return {"seconds": answer["seconds"], "note": "its graph has no DAG extension"}


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


def measure(options: argparse.Namespace) -> list[Row]:
    """All programs on all samples."""
    cases = [
        {"network": network, "rows": rows, "sample": sample, "program": program}
        | {"score_name": options.score, "seed": options.seed}
        for network in options.networks.split(",")
        for rows in options.rows
        for sample in range(options.samples)
        for program in (*OWN, *chosen_peers(options))
    ]
    pythons = [sys.executable, *filter(None, options.peer_python.split(","))]

    def run(case: Mapping[str, Any]) -> dict[str, Any]:
        program, score = case["program"], case["score_name"]
        place = (case["rows"], case["sample"], case["seed"])
        sample = sample_of(case["network"], options.network_dir, *place, score)
        if program in OWN:
            found = own_result(sample, program, score)
        else:
            found = peer_result(sample, program, pythons, options.limit)
        print(case["network"], *place[:2], program, found.get("note", ""), file=sys.stderr)
        return {"nodes": sample.data.n, "limit": options.limit} | found

    def again(row: Mapping[str, Any]) -> bool:
        too_long = row.get("note", "").startswith(_TOO_LONG)
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
    growth = Section("CPU seconds", figures=["seconds.png"])
    write_study_report(folder, "Searches on the same data", [means, growth])


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
    made = argparse.ArgumentParser(
        prog="python -m simulations.benchmarks.search",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--networks", default="asia,child", help="names or BIF files, by commas")
    made.add_argument("--network-dir", help="folder of further networks")
    made.add_argument("--rows", type=counts, default=[5000], help="numbers of rows, by commas")
    made.add_argument("--samples", type=count, default=1)
    made.add_argument("--score", choices=tuple(SCORES), default="bdeu")
    made.add_argument("--seed", type=seed, default=1)
    made.add_argument("--limit", type=float, default=60.0, help="seconds for one run of a peer")
    made.add_argument("--no-peers", action="store_true", help="fedbn alone")
    made.add_argument("--peers", help="these programs alone, by semicolons")
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
