"""The learner that is advised for a table, and the rivals, on fresh tables.

    python -m simulations.benchmarks.advised --kind numbers --output results/advised-numbers
    python -m simulations.benchmarks.advised --kind categories --output results/advised-states

`advice` looks at nothing but the kind of the columns, as does the help of `--learner`. It, the
tables and the programs were committed before a table of this seed was drawn, or a random network of
it. Programs that are not installed are left out; TETRAD_JAR names Tetrad's jar. A race that is
started again in the same folder keeps what the other programs gave; `--only` takes single lines.

Behind: SHD of the advised learner less that of the rival, mean and standard error; tables are those
on which both have a figure. Above: on how many of them the rival scores more than the advised
learner, than every search of ours, and than each of ours that took no more CPU time than it.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from simulations.benchmarks import search_programs as programs
from simulations.benchmarks.search import measure, parser
from simulations.benchmarks.search_report import Row

Kind = Literal["numbers", "categories"]

SEED = 9601
HIGHER = 1e-9  # relative: scores nearer than this are equal
TABLES = {  # nodes, edges: tables, and the rivals
    (20, 40): (40, "tetrad boss;causal-learn boss"),
    (50, 50): (30, "tetrad boss;causal-learn boss"),
    (20, 20): (40, "tetrad boss;causal-learn boss"),
    (100, 200): (10, "tetrad boss"),
    (100, 100): (10, "tetrad boss"),
    (50, 100): (10, "tetrad boss;causal-learn boss:5"),
    (20, 60): (20, "tetrad boss;causal-learn boss:10"),
    (20, 100): (10, "tetrad boss;causal-learn boss:10"),
    (50, 150): (3, "tetrad boss"),
    (50, 250): (2, "tetrad boss"),
    (100, 500): (1, "tetrad boss"),
}
NETWORKS = (
    *("sachs", "child", "insurance", "alarm", "win95pts", "hailfinder", "water", "hepar2"),
    *(f"random:30:45:{SEED}{{sample}}", f"random:60:100:{SEED}{{sample}}", "mildew", "barley"),
)
OF_EACH = 5
OWN = {
    "numbers": "fedbn boss;fedbn ils",
    "categories": "fedbn hill climbing;fedbn xges0;fedbn xges;fedbn ils;fedbn boss",
}
ON_CATEGORIES = "tetrad boss;pyagrum tabu;tetrad fges:1"
BARS = ("above advised", "above all", "above all in its CPU time")
HEADER = ("table", "rival", "tables", "behind, SHD", "score ahead", "CPU s: ours, its", *BARS)


def advice(kind: Kind) -> str:
    """The name of the learner.

    >>> advice("numbers"), advice("categories")
    ('boss', 'ils')
    """
    return "boss" if kind == "numbers" else "ils"


def races(
    kind: Kind, output: Path, limit: float, only: Sequence[str]
) -> Iterator[tuple[str, list[Row]]]:
    """The rows of the table's lines, by name, when they are known; `only` these, or all if none."""
    always = ["--seed", str(SEED), "--limit", str(limit)]
    for name, given in tables(kind):
        if only and name not in only:
            continue
        options = [*given, *always, "--output", str(output / name)]
        yield name, measure(parser().parse_args(options))


def tables(kind: Kind) -> Iterator[tuple[str, list[str]]]:
    """Every line of the table, and what the benchmark of the searches is asked for it."""
    if kind == "numbers":
        for (nodes, edges), (samples, rivals) in TABLES.items():
            given = ["--networks", f"random-gaussian:{nodes}:{edges}:{SEED}{{sample}}"]
            given += ["--score", "gaussian-bic", "--rows", "1000", "--samples", str(samples)]
            yield f"{nodes}, {edges}", [*given, "--peers", rivals, "--own", OWN[kind]]
        return
    for network in NETWORKS:
        for score in ("bdeu", "bic"):
            given = ["--networks", network, "--score", score, "--rows", "5000"]
            given += ["--samples", str(OF_EACH), "--peers", ON_CATEGORIES, "--own", OWN[kind]]
            yield f"{network.partition(f':{SEED}')[0]}, {score}", given


@dataclass(frozen=True)
class Comparison:
    """A rival and the searches of ours on one table."""

    rival: Row
    ours: tuple[Row, ...]
    advised: Row

    def above(self) -> tuple[bool, bool, bool]:
        """Whether the rival scores more, by `BARS`."""
        quick = tuple(
            row for row in self.ours if (row.seconds or 0.0) <= (self.rival.seconds or 0.0)
        )
        return self._higher((self.advised,)), self._higher(self.ours), self._higher(quick)

    def _higher(self, ours: Sequence[Row]) -> bool:
        best = max((row.value for row in ours), default=-math.inf)
        return self.rival.value - best > HIGHER * abs(self.rival.value)


def comparisons(rows: Sequence[Row], rival: str, advised: str) -> list[Comparison]:
    """Those of a rival, on all tables on which it ended."""
    found = []
    for row in rows:
        if row.program != rival or row.score is None:
            continue
        ours = [r for r in rows if r.sample == row.sample and r.program in programs.OWN]
        found.append(Comparison(row, tuple(ours), next(r for r in ours if r.program == advised)))
    return found


def line(name: str, rival: str, tried: int, pairs: Sequence[Comparison]) -> str:
    """One line of the table."""
    if not pairs:
        return f"| {name} | {rival} | 0 of {tried} | – | – | – | – | – | – |"
    behind = [(pair.advised.shd or 0) - (pair.rival.shd or 0) for pair in pairs]
    error = f" ± {statistics.stdev(behind) / len(behind) ** 0.5:.1f}" if len(behind) > 1 else ""
    ahead = statistics.mean(pair.advised.value - pair.rival.value for pair in pairs)
    ours = statistics.mean(pair.advised.seconds or 0.0 for pair in pairs)
    its = statistics.mean(pair.rival.seconds or 0.0 for pair in pairs)
    cells = (
        name,
        rival,
        f"{len(pairs)} of {tried}",
        f"{statistics.mean(behind):+.1f}{error}",
        f"{ahead:+.1f}",
        f"{ours:.3f}, {its:.3f}",
        *(str(count) for count in counts_above(pairs)),
    )
    return f"| {' | '.join(cells)} |"


def counts_above(pairs: Sequence[Comparison]) -> list[int]:
    """On how many tables the rival is above, by `BARS`."""
    return [sum(pair.above()[k] for pair in pairs) for k in range(len(BARS))]


def main() -> None:
    """Print the table, and how many comparisons were lost."""
    made = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    made.add_argument("--kind", choices=tuple(OWN), default="numbers")
    made.add_argument("--output", type=Path, default=Path("results/advised"))
    made.add_argument("--limit", type=float, default=600.0, help="seconds for one run of a peer")
    made.add_argument("--only", default="", help="these lines alone, by semicolons")
    given = made.parse_args()
    print(f"| {' | '.join(HEADER)} |")
    print(f"|{'---|' * len(HEADER)}")
    advised = f"fedbn {advice(given.kind)}"
    only = [name for name in given.only.split(";") if name]
    every: dict[str, list[Comparison]] = {}
    for name, rows in races(given.kind, given.output, given.limit, only):
        for rival in dict.fromkeys(r.program for r in rows if r.program not in programs.OWN):
            pairs = comparisons(rows, rival, advised)
            tried = sum(row.program == rival for row in rows)
            print(line(name, rival, tried, pairs), flush=True)
            every.setdefault(rival, []).extend(pairs)
    every["all"] = [pair for pairs in every.values() for pair in pairs]
    for rival, pairs in every.items():
        shares = [f"{bar}: {k}" for bar, k in zip(BARS, counts_above(pairs), strict=True)]
        print(f"{rival}, of {len(pairs)} comparisons: {', '.join(shares)}")


if __name__ == "__main__":
    main()
