"""Check a file of exact figures.

GOLDEN.json is a list of objects with name (a table NAME.csv of the folder, or "NAME[cols i,j,...]"
for some of its columns), score, BF, ess, OPT, Pi, G and M (DAGs and classes), and where known
M_paper_style and edge_posterior with its columns. One line a row; the exit status is 1 if any
differs.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.credible.classes import markov_classes
from fedbn.credible.enumerate import CredibleSet, credible_set
from fedbn.credible.pruning import candidate_sets
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema


def table(folder: Path, name: str) -> Dataset:
    """The table, or the columns of it that the name says."""
    base, _, columns = name.partition("[cols ")
    with (folder / f"{base}.csv").open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    chosen = [int(k) for k in columns.rstrip("]").split(",")] if columns else range(len(header))
    states = {header[k]: sorted({row[k] for row in rows}) for k in chosen}
    schema = Schema.categorical(states)
    place = {header[k]: k for k in chosen}
    codes = [
        [schema.states[j].index(row[place[column]]) for j, column in enumerate(schema.names)]
        for row in rows
    ]
    return Dataset(schema, np.array(codes))


def differences(found: CredibleSet, row: dict[str, Any]) -> list[str]:
    """What is not as the row says."""
    classes = markov_classes(found)
    exact = {
        "Pi": found.candidates.families.size,
        "G": found.count,
        "M": classes.count,
        "M_paper_style": classes.coarse_count,
    }
    wrong = [
        f"{key} {value} not {row[key]}"
        for key, value in exact.items()
        if row.get(key, value) != value
    ]
    if abs(found.opt - row["OPT"]) >= 1e-6:
        wrong.append(f"OPT {found.opt} not {row['OPT']}")
    if not found.complete:
        wrong.append("not complete")
    if "edge_posterior" in row:
        order = [found.names.index(name) for name in row["columns"]]
        shares = found.edge_posteriors[np.ix_(order, order)]
        if np.abs(shares - np.array(row["edge_posterior"])).max() > 1e-8:
            wrong.append("edge posteriors differ")
    return wrong


def main(path: str, folder: str) -> int:
    """Check every row; returns the exit status."""
    bad = 0
    for row in json.loads(Path(path).read_text(encoding="utf-8")):
        data = table(Path(folder), row["name"])
        clock = [time.process_time()]
        candidates = candidate_sets(
            data, row["score"].lower(), bayes_factor=row["BF"], ess=row["ess"] or 1.0
        )
        clock.append(time.process_time())
        found = credible_set(candidates)
        wrong = differences(found, row)
        clock.append(time.process_time())
        bad += bool(wrong)
        score, rest = np.diff(clock)
        print(
            f"{'differs' if wrong else 'equal'}: {row['name']} {row['score']} BF {row['BF']}: "
            f"{found.count} DAGs; CPU s: scores {score:.3f}, set and classes {rest:.3f}"
            + "".join(f"; {text}" for text in wrong),
            flush=True,
        )
    print(f"{bad} rows differ")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
