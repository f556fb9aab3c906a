"""Why ils is farther than boss on sparse Gaussian tables: the search, or the score?

    python -m simulations.benchmarks.sparse_numbers --networks 50:50,100:200 --samples 10

Tables as in `simulations.benchmarks.search`: random-gaussian:NODES:EDGES, columns in random order.
Each is learned by Gaussian BIC as it is, and, to measure a stronger penalty, by that of the same
covariance counted as fewer rows (`--shares`), which fedbn does not offer. Per program, means over
the tables: the score over that of the true network, SHD of CPDAGs, pairs joined that the truth does
not join, pairs that it alone joins, CPU seconds. boss, as published, begins at each of five random
orders, and its figures are their means. The last line of a case has the SHD of ils less that of
boss with its standard error, and in how many tables the true network scores less than what ils
found.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import shd
from fedbn.scores import TabulatedScore, total_score
from fedbn.scores.gaussian import gaussian_from_covariance
from fedbn.search.boss import boss
from fedbn.search.iterated_local_search import iterated_local_search
from simulations.benchmarks.arguments import count, counts, parser_of, seed
from simulations.benchmarks.search_programs import Sample, sample_of

ORDERS = 5  # at which boss begins
FIGURES = "score {:+9.1f}  SHD {:6.1f}  extra {:6.1f}  missing {:5.1f}  CPU s {:.3f}"


def by_ils(score: TabulatedScore) -> DAG:
    """What ils finds."""
    return iterated_local_search(score, rng=np.random.default_rng(1)).dag


def by_boss(order: int) -> Callable[[TabulatedScore], DAG]:
    """boss from one of its random orders."""
    return lambda score: boss(score, rng=np.random.default_rng(order), kicks=0).dag


def score_of(sample: Sample, share: float) -> TabulatedScore:
    """Gaussian BIC of the table, its covariance counted as a share of its rows."""
    covariance = np.cov(np.asarray(sample.data.values), rowvar=False, bias=True)
    rows = round(share * sample.data.n_rows)
    return gaussian_from_covariance(sample.data.names, covariance, rows)


def figures(
    sample: Sample, share: float, search: Callable[[TabulatedScore], DAG]
) -> tuple[float, ...]:
    """Score over the truth's, SHD, extra and missing pairs, CPU seconds."""
    score = score_of(sample, share)
    began = time.process_time()
    found = search(score)
    seconds = time.process_time() - began
    above = total_score(score, found) - total_score(score, sample.truth)
    ours, true = (dag.adjacency | dag.adjacency.T for dag in (found, sample.truth))
    extra, missing = (int(pairs.sum()) // 2 for pairs in (ours & ~true, true & ~ours))
    return above, shd(found, sample.truth), extra, missing, seconds


def measure(network: str, rows: int, share: float, samples: int, drawn: int) -> None:
    """Print a case: a line per program, and one that compares them."""
    ils, from_orders = [], []
    for number in range(samples):
        name = f"random-gaussian:{network}:{100 * drawn + number}"
        sample = sample_of(name, None, rows, number, drawn, "gaussian-bic")
        ils.append(figures(sample, share, by_ils))
        runs = [figures(sample, share, by_boss(order)) for order in range(1, ORDERS + 1)]
        from_orders.append(np.mean(runs, axis=0))
    print(f"{network}, {rows} rows, counted as {share:g} of them, {samples} tables")
    for program, found in (("ils ", ils), ("boss", from_orders)):
        print(f"  {program}  {FIGURES.format(*np.mean(found, axis=0))}")
    more = np.array(ils)[:, 1] - np.array(from_orders)[:, 1]
    error = more.std(ddof=1) / np.sqrt(samples)
    above = sum(figure[0] > 0 for figure in ils)
    print(f"  SHD of ils less boss {more.mean():+.1f} ± {error:.1f}; ils above the truth: {above}")


def main() -> None:
    """Print all cases."""
    parser = parser_of("sparse_numbers", __doc__)
    parser.add_argument("--networks", default="50:50,50:100,100:100,100:200", help="NODES:EDGES")
    parser.add_argument("--rows", type=counts, default=[1000])
    parser.add_argument("--shares", default="1,0.5", help="of the rows, by commas")
    parser.add_argument("--samples", type=count, default=10, help="tables of a case, at least 2")
    parser.add_argument("--seed", type=seed, default=6201)
    options = parser.parse_args()
    for network in options.networks.split(","):
        for rows in options.rows:
            for share in map(float, options.shares.split(",")):
                measure(network, rows, share, max(options.samples, 2), options.seed)


if __name__ == "__main__":
    main()
