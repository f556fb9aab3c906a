"""Federated rivals on their own ground: tables of numbers by FedCDH's and I-PERI's generators.

    python -m simulations.studies.rivals.numbers --output results/rivals/numbers
    python -m simulations.studies.rivals.numbers --write-tables tables        # for other programs
    python -m simulations.studies.rivals.numbers --read fedcdh=found          # what they found
    python -m simulations.studies.rivals.numbers --rebuilt notears-admm       # rebuilt by us

Distances are one for all: the pairs of nodes that two CPDAGs join differently (SHD; a reversal
counts once), and the pairs that only one of them joins (skeleton). A program that gives a DAG is
judged by its class. A case CASE is written as CASE.npz, with `rows` [sites, rows, nodes]; a
program's graph of it is read from CASE.npy, with [i, j] for i -> j and both ways for an undirected
edge.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import fedbn as fb
from fedbn.arrays import Bools, Floats
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.federation.settings import ConsensusSettings
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.networks.random import node_names
from simulations.benchmarks.arguments import counts
from simulations.studies.rivals.additive import BASES, climb_additively
from simulations.studies.rivals.generators import GENERATORS, tables_of
from simulations.studies.rivals.notears_admm import learn_by_admm
from simulations.studies.rivals.records import Row, mean_of, read_rows, run_race, write_table

ROWS = 100
SIZES = ((4, 10), (6, 10), (12, 10), (20, 10), (6, 2), (6, 32))
"""Nodes and sites; the papers' grids go along the same two lines."""

INTERVALS = 4
OURS = ("one shot", "ladder", "counts", "climb", "pooled")
REBUILT = {"notears-admm": learn_by_admm}


def main() -> None:
    """Run what has no rows, or exchange tables with other programs, then print the means."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=counts, default=list(range(5201, 5206)))
    parser.add_argument("--minutes", type=float, default=None, help="CPU minutes; begin no more")
    parser.add_argument("--output", type=Path, default=Path("results/rivals/numbers"))
    parser.add_argument("--write-tables", type=Path, default=None)
    parser.add_argument("--rebuilt", choices=REBUILT, default=None)
    parser.add_argument("--read", action="append", default=[], metavar="NAME=FOLDER")
    given = parser.parse_args()
    cases = [
        {"generator": generator, "nodes": nodes, "sites": sites, "seed": number}
        for number in given.seeds
        for nodes, sites in SIZES
        for generator in GENERATORS
    ]
    path = given.output / "numbers.jsonl"
    if given.write_tables is not None:
        given.write_tables.mkdir(parents=True, exist_ok=True)
        for case in cases:
            np.savez(given.write_tables / f"{_name(case)}.npz", rows=_drawn(case)[1])
        return
    for text in given.read:
        name, _, folder = text.partition("=")
        own = given.output / f"{name}.jsonl"
        own.unlink(missing_ok=True)
        run_race(cases, partial(_judge, name=name, folder=Path(folder)), own, None)
    if given.rebuilt is not None:
        own = given.output / f"{given.rebuilt}.jsonl"
        run_race(cases, partial(_rebuild, name=given.rebuilt), own, given.minutes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        others = given.read or given.rebuilt
        rows = read_rows(path) if others else run_race(cases, run_ways, path, given.minutes)
    for other in sorted(given.output.glob("*.jsonl")):
        rows += read_rows(other) if other != path else []
    _print(rows)


def run_ways(case: Mapping[str, Any]) -> Iterator[Row]:
    """Distances of every way of ours, and of what is only measured."""
    truth, sites = _drawn(case)
    for way, find in _ways(sites).items():
        yield {"way": way, **_distances(find(), truth)}


def _ways(sites: Floats) -> dict[str, Callable[[], DAG]]:
    tables = {f"{i:03}": _numbers(rows) for i, rows in enumerate(sites)}
    centred = _numbers((sites - sites.mean(axis=1, keepdims=True)).reshape(-1, sites.shape[2]))
    cut = _cut(sites)

    def fuse_sites(choose: str, weight: str | float = "ladder", of: Any = tables) -> DAG:
        rule = ConsensusSettings(choose=choose)
        return fb.simulate(of, consensus=rule, row_weight=weight).dag

    def additive(basis: str) -> Callable[[], DAG]:
        return lambda: DAG(centred.names, climb_additively(sites, basis))

    return {
        "one shot": lambda: fuse_sites("smhd", 1.0),
        "ladder": lambda: fuse_sites("smhd"),
        "counts": lambda: fuse_sites("counts"),
        "climb": lambda: fuse_sites("climb"),
        "pooled": lambda: fb.learn(centred, learner="ils").dag,
        "counts, cut": lambda: fuse_sites("counts", of=cut),
        **{f"measured: {basis}": additive(basis) for basis in BASES},
    }


def _numbers(rows: Floats) -> Dataset:
    return Dataset(Schema.gaussian(node_names(rows.shape[1])), rows)


def _cut(sites: Floats) -> dict[str, Dataset]:
    """Cells as intervals of equal frequency over all rows."""
    names = node_names(sites.shape[2])
    schema = Schema.categorical({name: map(str, range(INTERVALS)) for name in names})
    points = np.quantile(sites.reshape(-1, len(names)), np.arange(1, INTERVALS) / INTERVALS, axis=0)
    codes = (sites[:, :, None, :] > points).sum(axis=2)
    return {f"{i:03}": Dataset(schema, rows.astype(np.int32)) for i, rows in enumerate(codes)}


def _drawn(case: Mapping[str, Any]) -> tuple[DAG, Floats]:
    place = list(GENERATORS).index(case["generator"])
    rng = np.random.default_rng([case["seed"], place, case["nodes"], case["sites"]])
    return tables_of(case["generator"], case["nodes"], case["sites"], ROWS, rng)


def _rebuild(case: Mapping[str, Any], name: str) -> Iterator[Row]:
    """The distances of what a rebuilt rival finds."""
    truth, sites = _drawn(case)
    found = _class_of(REBUILT[name](sites), truth.names)
    yield {"way": f"{name}, rebuilt", **_class_distances(found, truth)}


def _judge(case: Mapping[str, Any], name: str, folder: Path) -> Iterator[Row]:
    """The distances of another program's graph, if it gave one."""
    file = folder / f"{_name(case)}.npy"
    if file.is_file():
        truth, _ = _drawn(case)
        found = np.load(file).astype(np.bool_)
        yield {"way": name, **_class_distances(_class_of(found, truth.names), truth)}


def _class_of(adjacency: Bools, names: tuple[str, ...]) -> Bools:
    """The class of a DAG; a graph with undirected edges as it is."""
    if (adjacency & adjacency.T).any():
        return adjacency
    return dag_to_cpdag(DAG(names, adjacency)).adjacency


def _distances(dag: DAG, truth: DAG) -> Row:
    return _class_distances(dag_to_cpdag(dag.reorder(truth.names)).adjacency, truth)


def _class_distances(found: Bools, truth: DAG) -> Row:
    wanted = dag_to_cpdag(truth).adjacency
    different, joined = found ^ wanted, (found | found.T) ^ (wanted | wanted.T)
    return {
        "shd": int(np.triu(different | different.T).sum()),
        "skeleton": int(np.triu(joined).sum()),
    }


def _name(case: Mapping[str, Any]) -> str:
    return "-".join(str(case[key]) for key in ("generator", "nodes", "sites", "seed"))


def _print(rows: list[Row]) -> None:
    ways = list(dict.fromkeys(row["way"] for row in rows))
    _print_beside(rows, ways)
    for key, words in (("shd", "SHD of classes"), ("skeleton", "skeleton")):
        print(f"\n{words}\n")
        lines = []
        for generator in GENERATORS:
            for nodes, sites in SIZES:
                at = {"generator": generator, "nodes": nodes, "sites": sites}
                own = [r for r in rows if all(r["case"][k] == v for k, v in at.items())]
                cells = []
                for way in ways:
                    of_way = [r for r in own if r["way"] == way]
                    cells.append(f"{mean_of(of_way, key):.1f} ({len(of_way)})" if of_way else "–")
                lines.append([generator, nodes, sites, *cells])
        write_table(("generator", "nodes", "sites", *ways), lines)


def _print_beside(rows: list[Row], ways: list[str]) -> None:
    """Every other program beside ours, over the cases that it has."""
    ours = list(dict.fromkeys(row["way"] for row in rows if row["way"] in OURS))
    lines = []
    measured = {"counts, cut", *(f"measured: {basis}" for basis in BASES)}
    for other in (way for way in ways if way not in {*ours, *measured}):
        for generator in GENERATORS:
            there = [r for r in rows if r["way"] == other and r["case"]["generator"] == generator]
            cases = [row["case"] for row in there]
            beside = [[r for r in rows if r["way"] == way and r["case"] in cases] for way in ours]
            if cases and all(len(each) == len(cases) for each in beside):
                cells = [f"{mean_of(each, 'shd'):.1f}" for each in (there, *beside)]
                lines.append([other, generator, len(cases), *cells])
    write_table(("program", "generator", "cases", "its SHD", *ours), lines)


if __name__ == "__main__":
    main()
