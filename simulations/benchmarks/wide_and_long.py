"""Tables at which users of other programs gave up, in shape, and wide tables: CPU seconds, memory.

    python -m simulations.benchmarks.wide_and_long
    python -m simulations.benchmarks.wide_and_long --tables 20000x100-gaussian --candidates 10

Each table is learned in a process of its own, which tells its peak memory. It is a network of
sparse random dependence: of the fifty columns before it a column has up to two parents, and copies
one of them, drawn row by row, in 60 % of the rows (Gaussian: half of their sum, and noise). The
columns' names are in no order of dependence.

    137000x29          pgmpy issue 939: 33 hours, not finished
    25000x30           pgmpy issue 1049: 15 states, 4 hours
    5000x600           pgmpy issue 1278: 600 nodes
    2600000x105        py-causal issue 74
    100x20000          causal-cmd issue 73: killed at 128 GB
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.learners import LearnerSettings, learn
from simulations.benchmarks.arguments import count, parser_of, seed

NEAR = 50  # columns that a column may depend on
KEPT = 0.6  # share of the rows in which it does


@dataclass(frozen=True)
class Shape:
    """A table's rows and columns, states (0 for numbers), and how it is learned."""

    rows: int
    columns: int
    states: int
    learner: str

    def draw(self, rng: np.random.Generator) -> Dataset:
        """A table of this shape."""
        values = (categories if self.states else numbers)(self, rng)
        names = [f"X{i:05d}" for i in rng.permutation(self.columns)]
        order = np.argsort(names)
        ordered = [names[i] for i in order]
        if not self.states:
            return Dataset(Schema.gaussian(ordered), values[:, order])
        states = [str(state) for state in range(self.states)]
        return Dataset(Schema.categorical(dict.fromkeys(ordered, states)), values[:, order])


def sources(y: int, rng: np.random.Generator) -> np.ndarray:
    """Up to two of the columns shortly before y."""
    near = np.arange(max(0, y - NEAR), y)
    return rng.choice(near, min(y, int(rng.integers(3))), replace=False)


def categories(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Codes int32 [rows, columns]."""
    codes = np.zeros((shape.rows, shape.columns), dtype=np.int32)
    for y in range(shape.columns):
        codes[:, y] = rng.integers(shape.states, size=shape.rows)
        if (chosen := sources(y, rng)).size:
            kept = rng.random(shape.rows) < KEPT
            copied = codes[:, chosen][
                np.arange(shape.rows), rng.integers(chosen.size, size=shape.rows)
            ]
            codes[kept, y] = copied[kept]
    return codes


def numbers(shape: Shape, rng: np.random.Generator) -> np.ndarray:
    """Floats [rows, columns]."""
    values = rng.standard_normal((shape.rows, shape.columns))
    for y in range(shape.columns):
        values[:, y] += values[:, sources(y, rng)].sum(axis=1) / 2
    return values


SHAPES = {
    "137000x29": Shape(137_000, 29, 3, "ils"),
    "25000x30": Shape(25_000, 30, 15, "ils"),
    "5000x600": Shape(5_000, 600, 3, "xges0"),
    "2600000x105": Shape(2_600_000, 105, 3, "ges"),
} | {
    f"100x{columns}{kind}": Shape(100, columns, states, "boss")
    for columns in (2_000, 5_000, 10_000, 20_000)
    for kind, states in (("", 2), ("-gaussian", 0))
}


def measure(name: str, candidates: int, drawn: int) -> dict[str, float | int | str]:
    """What learning one of the tables takes; memory is that of the whole process, the table too."""
    shape = SHAPES[name]
    data = shape.draw(np.random.default_rng(drawn))
    before = peak()
    settings = LearnerSettings(
        learner=shape.learner,
        score="bic" if shape.states else "gaussian-bic",
        candidates=candidates if shape.learner == "boss" else None,
    )
    began = time.process_time()
    found = learn(data, settings, np.random.default_rng(drawn))
    return {
        "table": name,
        "learner": shape.learner,
        "seconds": round(time.process_time() - began, 2),
        "edges": found.dags[0].n_edges,
        "status": found.status,
        "MB of the table": before,
        "MB": peak(),
    }


def peak() -> int:
    """MB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def main() -> None:
    """Print one line per table."""
    parser = parser_of("wide_and_long", __doc__)
    parser.add_argument("--tables", default=",".join(SHAPES), help="some of them, by commas")
    parser.add_argument("--candidates", type=count, default=10, help="of boss, per column")
    parser.add_argument("--seed", type=seed, default=1)
    parser.add_argument("--here", action="store_true", help="in this process, as JSON")
    given = parser.parse_args()
    names = given.tables.split(",")
    if unknown := [name for name in names if name not in SHAPES]:
        parser.error(f"there is no table {unknown[0]!r}; there are {', '.join(SHAPES)}")
    for name in names:
        if given.here:
            print(json.dumps(measure(name, given.candidates, given.seed)))
            continue
        options = ["--here", "--candidates", str(given.candidates), "--seed", str(given.seed)]
        child = [sys.executable, "-m", __spec__.name, "--tables", name, *options]
        done = subprocess.run(child, capture_output=True, text=True, check=False)
        print(done.stdout.strip() or f"{name}: ended with {done.returncode}", flush=True)
        if done.returncode:
            print(done.stderr.strip().splitlines()[-1:], file=sys.stderr)


if __name__ == "__main__":
    main()
