"""The learner that is advised for a table, and the rivals, on fresh tables.

    python -m simulations.benchmarks.advised --kind numbers --output results/advised-numbers
    python -m simulations.benchmarks.advised --kind categories --output results/advised-states

`advice` looks at nothing but the kind of the columns, as does the help of `--learner`. It, the
tables and the programs were committed before a table of this seed was drawn, or a random network of
it. Programs that are not installed are left out; TETRAD_JAR names Tetrad's jar. A race that is
started again in the same folder keeps what the other programs gave; `--only` takes single lines.

Behind: SHD of the advised learner less that of the rival, mean and standard error; tables are those
on which both have a figure. Above at equal CPU: on how many of them the rival has the higher score
and takes no more CPU time.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from simulations.benchmarks.search import measure, parser
from simulations.benchmarks.search_report import Row

Kind = Literal["numbers", "categories"]

FEW = 20
"""On so many nodes causal-learn ends."""
SEED = 9401
HIGHER = 1e-9  # relative: scores nearer than this are equal
TABLES = {  # nodes, edges: tables
    **dict.fromkeys(((20, 20), (20, 40), (20, 60), (20, 100)), 10),
    **dict.fromkeys(((50, 50), (50, 100)), 6),
    **dict.fromkeys(((50, 150), (50, 250)), 2),
    **dict.fromkeys(((100, 100), (100, 200)), 2),
    **dict.fromkeys(((100, 300), (100, 500)), 1),
}
NETWORKS, OF_EACH = ("child", "insurance", "alarm", "hailfinder", "win95pts"), 2
HEADER = (
    "table",
    "advised",
    "rival",
    "tables",
    "behind, SHD",
    "score ahead",
    "CPU s: ours, its",
    "above",
)
ON_NUMBERS = {FEW: "tetrad boss;causal-learn boss:3"}
ON_CATEGORIES = "tetrad boss;tetrad fges:1;pyagrum tabu"


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
        for (nodes, edges), samples in TABLES.items():
            given = ["--networks", f"random-gaussian:{nodes}:{edges}:{SEED}{{sample}}"]
            given += ["--score", "gaussian-bic", "--rows", "1000", "--samples", str(samples)]
            given += ["--peers", ON_NUMBERS.get(nodes, "tetrad boss")]
            yield f"{nodes}, {edges}", [*given, "--own", f"fedbn {advice(kind)}"]
        return
    for network in NETWORKS:
        for score in ("bdeu", "bic"):
            given = ["--networks", network, "--score", score, "--rows", "5000"]
            given += ["--samples", str(OF_EACH), "--peers", ON_CATEGORIES]
            yield f"{network}, {score}", [*given, "--own", f"fedbn {advice(kind)}"]


def line(name: str, rows: Sequence[Row], rival: str, own: str) -> tuple[str, int, int]:
    """One line of the table; on how many tables the rival is above at equal CPU; of how many."""
    ours = {row.sample: row for row in rows if row.program == own}
    pairs = [
        (ours[row.sample], row)
        for row in rows
        if row.program == rival and row.score is not None and row.sample in ours
    ]
    tried = sum(row.program == rival for row in rows)
    if not pairs:
        return f"| {name} | {own} | {rival} | 0 of {tried} | – | – | – | – |", 0, 0
    behind = [a.shd - b.shd for a, b in pairs if a.shd is not None and b.shd is not None]
    error = statistics.stdev(behind) / len(behind) ** 0.5 if len(behind) > 1 else 0.0
    ahead = statistics.mean(a.score - b.score for a, b in pairs)  # type: ignore[operator]
    cpu = [statistics.mean(pair[k].seconds or 0.0 for pair in pairs) for k in (0, 1)]
    above = sum(_is_above(a, b) for a, b in pairs)
    cells = (
        name,
        own,
        rival,
        f"{len(pairs)} of {tried}",
        f"{statistics.mean(behind):+.1f} ± {error:.1f}",
        f"{ahead:+.1f}",
        f"{cpu[0]:.3f}, {cpu[1]:.3f}",
        str(above),
    )
    return f"| {' | '.join(cells)} |", above, len(pairs)


def _is_above(ours: Row, rival: Row) -> bool:
    assert ours.score is not None
    assert rival.score is not None
    higher = rival.score - ours.score > HIGHER * abs(ours.score)
    return higher and (rival.seconds or 0.0) <= (ours.seconds or 0.0)


def main() -> None:
    """Print the table."""
    made = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    made.add_argument("--kind", choices=("numbers", "categories"), default="numbers")
    made.add_argument("--output", type=Path, default=Path("results/advised"))
    made.add_argument("--limit", type=float, default=600.0, help="seconds for one run of a peer")
    made.add_argument("--only", default="", help="these lines alone, by semicolons")
    given = made.parse_args()
    print(f"| {' | '.join(HEADER)} |")
    print("|---|---|---|---|---|---|---|---|")
    above = of = 0
    own = f"fedbn {advice(given.kind)}"
    only = [name for name in given.only.split(";") if name]
    for name, rows in races(given.kind, given.output, given.limit, only):
        for rival in dict.fromkeys(r.program for r in rows if not r.program.startswith("fedbn")):
            told, more, tables = line(name, rows, rival, own)
            print(told, flush=True)
            above, of = above + more, of + tables
    print(f"above at equal CPU: {above} of {of} comparisons")


if __name__ == "__main__":
    main()
