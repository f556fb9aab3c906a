"""What the sum of own scores tells of single sites: in how many ways counts can be divided.

Sites of known numbers of rows have one binary column. A server that sees sums alone knows how many
rows of all sites have the state, and the sum of the sites' own scores of the column. `divisions`
is how many counts of single sites give both; 1 is the true one. It is the median of the draws.

    python -m simulations.benchmarks.own_scores
"""

from __future__ import annotations

import numpy as np
import typer

from fedbn.arrays import Ints
from fedbn.data.schema import Schema
from fedbn.networks.family_counts import Family, FamilyCounts, FamilyTables
from fedbn.scores.family_scores import FIXED_POINT, bdeu_of_counts

DRAWS = 5
SITES, ROWS = (3, 4, 5), (50, 200, 800)
UNITS = (1 << 20, FIXED_POINT, 1)
"""Of a nat; the second is the protocol's."""

TABLES = FamilyTables(Schema.categorical({"ill": "01"}), (Family(0, ()),))


def own_scores(rows: int, unit: int) -> Ints:
    """The own score of a site for every number of its rows that have the state, rounded down to
    1 / unit nats, as `fedbn.scores.family_scores.own_scores` does."""
    found = []
    for ill in range(rows + 1):
        counts = FamilyCounts.of_cells(TABLES, np.array([rows - ill, ill], dtype=np.int64))
        found.append(np.floor(bdeu_of_counts(counts)[0] * unit))
    return np.array(found, dtype=np.int64)


def divisions(scores: list[Ints], ill: list[int]) -> int:
    """How many counts of single sites have the sums of these: the first half of the sites is
    counted out, and looked for in the sums of the others."""
    size = 1 + sum(len(each) for each in scores)
    total = _keys([sum(ill)], [sum(int(s[k]) for s, k in zip(scores, ill, strict=True))], size)
    half = len(scores) // 2
    first, others = (_all_sums(part, size) for part in (scores[:half], scores[half:]))
    others.sort()
    wanted = total[0] - first
    return int(
        (np.searchsorted(others, wanted, "right") - np.searchsorted(others, wanted, "left")).sum()
    )


def _keys(ill: object, scores: object, size: int) -> Ints:
    """A number of rows and a score as one whole number; these add."""
    return np.asarray(np.asarray(scores, dtype=np.int64) * size + np.asarray(ill), dtype=np.int64)


def _all_sums(scores: list[Ints], size: int) -> Ints:
    sums = np.zeros(1, dtype=np.int64)
    for own in scores:
        keys = _keys(np.arange(len(own)), own, size)
        sums = (sums[:, None] + keys[None, :]).ravel()
    return sums


def main() -> None:
    """Print a row of a Markdown table for every number of sites and of rows."""
    print("| sites | rows a site | " + " | ".join(f"1/{unit} nat" for unit in UNITS) + " |")
    print("|---|---|" + "---|" * len(UNITS))
    for sites in SITES:
        for rows in ROWS:
            if rows**3 > 10**8 and sites == max(SITES):
                continue
            cells = []
            for unit in UNITS:
                found = []
                for seed in range(DRAWS):
                    rng = np.random.default_rng([seed, sites, rows])
                    own = [
                        own_scores(int(rng.integers(rows // 2, rows)), unit) for _ in range(sites)
                    ]
                    ill = [int(rng.binomial(len(each) - 1, 0.3)) for each in own]
                    found.append(divisions(own, ill))
                cells.append(f"{int(np.median(found)):,}")
            print(f"| {sites} | {rows} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    typer.run(main)
