"""Tests of python-fedci against votes of judges, where sites have different variables.

    python -m simulations.benchmarks.fedci_tests --packages VENV/lib/python3.11/site-packages

`python-fedci` (PyPI, GitHub maxhahn/fedci) has the federated likelihood-ratio tests of fedCI-IOD,
and not its enumeration of PAGs, which is in R. So its tests are asked by the skeleton search
of PC-stable (Colombo and Maathuis 2014) with at most `--most` variables given; a pair that no site
can test given a set keeps its edge. Both see the same tables, of a network of fedbn's. fedCI
exchanges summed gradients in each iteration of each test, fedbn one structure of each site: what is
compared is the skeleton, and the CPU seconds of all sites and the server together.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import poolings_of, select_among
from fedbn.data.dataset import Dataset
from fedbn.data.lacking import draw_columns
from fedbn.graphs.dag import DAG
from fedbn.learners import LearnerSettings, learn
from fedbn.networks.catalog import load_network

Edges = set[frozenset[str]]
Test = Callable[[str, str, Sequence[str]], float | None]
"""The p-value of "x and y are independent given S"; None where no site has all of these."""


def skeleton(names: Sequence[str], test: Test, most: int, alpha: float) -> Edges:
    """The skeleton search of PC-stable."""
    joined: Edges = {frozenset(pair) for pair in combinations(sorted(names), 2)}
    for size in range(most + 1):
        neighbours = {v: {u for e in joined if v in e for u in e - {v}} for v in names}
        for x, y in sorted(tuple(sorted(edge)) for edge in joined):
            sets = {
                s
                for a, b in ((x, y), (y, x))
                for s in combinations(sorted(neighbours[a] - {b}), size)
            }
            if any((p := test(x, y, s)) is not None and p > alpha for s in sorted(sets)):
                joined.discard(frozenset((x, y)))
    return joined


def site_tables(network: str, rows: int, sites: int, lacking: float, seed: int) -> list[Dataset]:
    """Tables of sites that each lack a share of the variables, drawn."""
    loaded, rng = load_network(network), np.random.default_rng([seed, sites, rows])
    tables = [loaded.sample(rows, rng) for _ in range(sites)]
    has = draw_columns(len(tables[0].names), sites, lacking, rng)
    return [
        table.select([name for name, there in zip(table.names, row, strict=True) if there])
        for table, row in zip(tables, has, strict=True)
    ]


def by_fedci(tables: Sequence[Dataset], names: Sequence[str], most: int, alpha: float) -> Edges:
    """The skeleton by its tests."""
    import polars
    from fedci.client import Client
    from fedci.server import Server

    def frame(table: Dataset) -> Any:
        columns = {}
        for k, variable in enumerate(table.schema.variables):
            cells, states = table.column(k), variable.states
            if states is None:
                columns[variable.name] = cells.tolist()
                continue
            values = [states[code] for code in cells]
            binary = len(states) == 2
            columns[variable.name] = [v == states[1] for v in values] if binary else values
        return polars.from_dict(columns)

    server = Server([Client(f"s{k}", frame(table)) for k, table in enumerate(tables)])
    columns = [set(table.names) for table in tables]

    def test(x: str, y: str, s: Sequence[str]) -> float | None:
        if not any({x, y, *s} <= own for own in columns):
            return None
        found = server.test(x, y, sorted(s))
        return None if found is None else float(found.p_value)

    return skeleton(names, test, most, alpha)


def by_fedbn(tables: Sequence[Dataset]) -> Edges:
    """The skeleton of the default consensus of structures that GES finds."""
    own = [learn(t, LearnerSettings(), np.random.default_rng(1)).dags[0] for t in tables]
    paths = mcbnc_paths(own, poolings=poolings_of("best"), variables="union")
    return _edges(select_among(paths)[1].dag)


def _edges(dag: DAG) -> Edges:
    return {frozenset(edge) for edge in dag.edges}


def main(
    packages: Annotated[Path, typer.Option(help="Folder of packages that has python-fedci.")],
    network: Annotated[str, typer.Option(help="Whose tables.")] = "asia",
    rows: Annotated[int, typer.Option(min=1, help="Of each site.")] = 1000,
    sites: Annotated[int, typer.Option(min=1, help="Number of sites.")] = 4,
    lacking: Annotated[float, typer.Option(help="Share of the variables.")] = 0.25,
    seeds: Annotated[int, typer.Option(min=1, help="Number of table sets.")] = 3,
    most: Annotated[int, typer.Option(min=0, help="Maximum number of variables given.")] = 2,
    alpha: Annotated[float, typer.Option(help="Level of the tests.")] = 0.01,
) -> None:
    """For every seed: edges missing and too many in the skeleton, and CPU seconds."""
    sys.path.append(os.fspath(packages))
    truth = _edges(load_network(network).dag)
    typer.echo("seed  program  missing  too many  CPU s")
    for seed in range(1, seeds + 1):
        tables = site_tables(network, rows, sites, lacking, seed)
        names = sorted(set().union(*(table.names for table in tables)))
        rivals: dict[str, Callable[[], Edges]] = {
            "fedci": lambda t=tables, n=names: by_fedci(t, n, most, alpha),  # type: ignore[misc]
            "fedbn": lambda t=tables: by_fedbn(t),  # type: ignore[misc]
        }
        for program, find in rivals.items():
            began = time.process_time()
            found = find()
            seconds = time.process_time() - began
            missing, more = len(truth - found), len(found - truth)
            typer.echo(f"{seed:4}  {program:7}  {missing:7}  {more:8}  {seconds:5.2f}")


if __name__ == "__main__":
    typer.run(main)
