"""CPU seconds of GES in two versions of fedbn, and of a ladder of row weights, warm.

    python -m simulations.benchmarks.counting
    python -m simulations.benchmarks.counting --against ../old/.venv/bin/python
    python -m simulations.benchmarks.counting --ladder --networks child,alarm,hepar2 --rows 500,1000

Every version makes the score of the same table and runs GES on it, in a process of its own, in turn
with the other; the least of the repetitions counts. `same` says whether both found the same DAG.
With --ladder both ways are this version's: a score for each weight, or one that counts for all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.networks.catalog import load_network
from fedbn.scores import make_score, make_scores
from fedbn.search.ges import ges

WEIGHTS = (1.0, 1.5, 2.0, 2.5, 3.0)
SEARCHES = 5
Case = tuple[str, int]
"""A network and a number of rows."""

HEADER = f"{'network':<10} {'rows':>7} {'first':>9} {'second':>9} {'ratio':>6}  same"


def measure(network: str, rows: int, seed: int) -> dict[str, Any]:
    """The least CPU seconds of some warm GES with this fedbn, and a hash of its DAG."""
    data = _table(network, rows, seed)
    ges(make_score("bdeu", _table("asia", 50, 0)))
    seconds = []
    for _ in range(SEARCHES):
        began = time.process_time()
        dag = ges(make_score("bdeu", data)).dag
        seconds.append(time.process_time() - began)
    return {"seconds": min(seconds), "dag": _hash(repr(dag.edges))}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _table(network: str, rows: int, seed: int) -> Any:
    return load_network(network).sample(rows, np.random.default_rng([seed, 0]))


def climb_ladder(network: str, rows: int, seed: int, *, warm: bool) -> dict[str, Any]:
    """CPU seconds of GES with each of WEIGHTS on one table, in this process; warm: counted once."""
    data = _table(network, rows, seed)
    began = time.process_time()
    if warm:
        dags = [ges(score).dag for score in make_scores("bdeu", data, WEIGHTS)]
    else:
        dags = [ges(make_score("bdeu", data, row_weight=k)).dag for k in WEIGHTS]
    seconds = time.process_time() - began
    return {"seconds": seconds, "dag": _hash(repr([dag.edges for dag in dags]))}


def measure_with(python: str, cases: Sequence[Case], seed: int) -> list[dict[str, Any]]:
    """`measure` of every case with another interpreter and its fedbn, in one process."""
    asked = json.dumps([[network, rows, seed] for network, rows in cases])
    command = [python, str(Path(__file__).resolve()), "--measure", asked]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def compare(
    ways: Sequence[Callable[[], list[dict[str, Any]]]], repetitions: int
) -> list[tuple[list[float], bool]]:
    """For every case the least CPU seconds of each way, taken in turn, and whether all DAGs are
    the same."""
    found = [[way() for way in ways] for _ in range(repetitions)]
    compared = []
    for case in range(len(found[0][0])):
        table = [[way[case] for way in row] for row in found]
        least = [min(row[i]["seconds"] for row in table) for i in range(len(ways))]
        compared.append((least, len({one["dag"] for row in table for one in row}) == 1))
    return compared


def line_of(network: str, rows: int, least: Sequence[float], same: bool) -> str:
    """A row of the table; `ratio` is how many times as fast the last way is."""
    seconds = " ".join(f"{1e3 * value:7.1f}ms" for value in (least[0], least[-1]))
    return f"{network:<10} {rows:>7} {seconds} {least[0] / least[-1]:>6.2f}  {same}"


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--networks", default="alarm,hepar2,win95pts")
    options.add_argument("--rows", default="5000,100000")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--repetitions", type=int, default=3)
    options.add_argument("--against", help="another interpreter, with the fedbn to compare with")
    options.add_argument("--ladder", action="store_true", help="cold and warm ladders of weights")
    options.add_argument("--measure", help=argparse.SUPPRESS)
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or with --measure the measurements of this interpreter as JSON."""
    chosen = parser().parse_args(arguments)
    if chosen.measure:
        print(json.dumps([measure(*case) for case in json.loads(chosen.measure)]))
        return
    cases = [(w, int(r)) for w in chosen.networks.split(",") for r in chosen.rows.split(",")]
    if chosen.ladder:
        ways = [partial(_climb_ladders, cases, chosen.seed, warm=warm) for warm in (False, True)]
    else:
        pythons = [chosen.against or sys.executable, sys.executable]
        ways = [partial(measure_with, python, cases, chosen.seed) for python in pythons]
    print(HEADER)
    for case, compared in zip(cases, compare(ways, chosen.repetitions), strict=True):
        print(line_of(*case, *compared))


def _climb_ladders(cases: Sequence[Case], seed: int, *, warm: bool) -> list[dict[str, Any]]:
    return [climb_ladder(network, rows, seed, warm=warm) for network, rows in cases]


if __name__ == "__main__":
    main()
