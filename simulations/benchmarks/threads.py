"""Two threads against one: wall time of a search, in turn in one run.

    python -m simulations.benchmarks.threads
    nice -n -5 python -m simulations.benchmarks.threads --learners ges,hc --pairs 40

Each search begins with the preparation of its score. Printed are the least seconds of all pairs,
which other programs disturb least, their ratio, and the median of the pairs' ratios; found DAGs and
scores must be the same. A machine with fewer free cores than threads shows nothing.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.networks.catalog import load_network
from fedbn.scores import TabulatedScore, make_score
from fedbn.search.boss import boss
from fedbn.search.ges import ges
from fedbn.search.hill_climbing import hill_climbing
from fedbn.search.iterated_local_search import iterated_local_search
from fedbn.search.result import SearchResult
from fedbn.search.xges import xges, xges0
from simulations.benchmarks.arguments import count, parser_of, seed

LEARNERS: dict[str, Callable[[TabulatedScore], SearchResult]] = {
    "ges": ges,
    "xges0": xges0,
    "xges": xges,
    "boss": lambda score: boss(score, rng=np.random.default_rng(1)),
    "hc": hill_climbing,
    "ils": lambda score: iterated_local_search(score, rng=np.random.default_rng(1)),
    "preparation": lambda score: ges(score.over(np.arange(1))),
}


def seconds(learner: str, data: Dataset, score: str, threads: int) -> tuple[float, SearchResult]:
    """Wall time, and what was found."""
    began = time.perf_counter()
    found = LEARNERS[learner](make_score(score, data, threads=threads))
    return time.perf_counter() - began, found


def line(learner: str, data: Dataset, score: str, threads: int, pairs: int) -> str:
    """One line of the table.

    Raises
    ------
    RuntimeError : threads changed what was found.
    """
    alone, together = [], []
    for _ in range(pairs):
        (one, found), (more, same) = (seconds(learner, data, score, t) for t in (1, threads))
        if (found.dag, found.score, found.counters) != (same.dag, same.score, same.counters):
            raise RuntimeError(f"{learner}: {threads} threads found something else")
        alone.append(one)
        together.append(more)
    ratio = statistics.median(a / b for a, b in zip(alone, together, strict=True))
    least = min(alone), min(together)
    cells = f"{least[0]:.4f}", f"{least[1]:.4f}", f"{least[0] / least[1]:.2f}", f"{ratio:.2f}"
    return f"| {learner} | {' | '.join(cells)} |"


def main() -> int:
    """Print the table."""
    made = parser_of("threads", __doc__)
    made.add_argument("--learners", default=",".join(LEARNERS), help="by commas")
    made.add_argument("--network", default="win95pts")
    made.add_argument("--rows", type=count, default=100_000)
    made.add_argument("--score", default="bdeu")
    made.add_argument("--threads", type=count, default=2)
    made.add_argument("--pairs", type=count, default=15)
    made.add_argument("--seed", type=seed, default=1)
    given = made.parse_args()
    network = load_network(given.network)
    data = network.sample(given.rows, np.random.default_rng(given.seed))
    print(f"| search | one thread, s | {given.threads} threads, s | ratio | median of ratios |")
    print("|---|---|---|---|---|")
    for learner in given.learners.split(","):
        print(line(learner, data, given.score, given.threads, given.pairs), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
