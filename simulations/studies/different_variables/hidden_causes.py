"""Federations as fedCI-IOD is tried on, rebuilt: five variables, hidden causes, mixed columns.

    python -m simulations.studies.different_variables.hidden_causes --seeds 1 30 \
        --packages VENV/lib/python3.11/site-packages

From the early commits of GitHub maxhahn/fedci, whose scripts for this (in R and Python) its package
lacks. There 100 PAGs are a file: each has five variables and six edges, of which two have a hidden
cause, and two sites that each lack one variable, not the same. Here such graphs are drawn: six of
the ten pairs, two of them joined by a hidden cause, so that some set of others separates each of
the other four pairs. A number is a sum of its parents, by coefficients from 0.1 to 1 in absolute
value (a category's states have one each), and of normal noise; a category is such a number cut at
random, so that a state has at least 15 % of the rows. In `mixed` every column is, at random, a
number, binary, or of three or four states, named or in order, which for fedbn is the same. The rows
of one table are split at random shares; two sites lack one variable each, not the same, the others
any one. A federation in which a site has a configuration of its categories in fewer than three rows
is drawn again. `pooled` is GES on the whole table.

What is compared is the skeleton: pairs of observed variables that no set of observed ones
separates. fedbn's consensuses are DAGs, which hidden causes may give more edges. fedCI's tests are
asked by PC-stable at level .05, as in `simulations.benchmarks.fedci_tests`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from statistics import mean, stdev

import numpy as np

import fedbn as fb
from fedbn.consensus.mcbnc import mcbnc_path, mcbnc_paths
from fedbn.consensus.pooling import poolings_of, select_among
from fedbn.consensus.threshold import select_consensus
from fedbn.data.dataset import Dataset
from fedbn.data.preparation import Preparation
from fedbn.federation.settings import ConsensusSettings
from fedbn.fusion.baselines import edge_vote
from fedbn.graphs.dag import DAG
from fedbn.graphs.separation import d_separated
from fedbn.learners import LearnerSettings, learn

NAMES = "ABCDE"
PAIRS, EDGES, HIDDEN = 10, 6, 2
LEAST_SHARE, LEAST_ROWS = 0.15, 3
ALPHA, MOST_GIVEN = 0.05, 3

Edges = set[frozenset[str]]
Columns = dict[str, list[float] | list[str]]


def draw_graph(rng: np.random.Generator) -> tuple[DAG, Edges]:
    """A DAG over NAMES and hidden causes, and the pairs of NAMES that no set of others separates:
    exactly the six that were joined."""
    while True:
        order = rng.permutation(list(NAMES)).tolist()
        pairs = list(combinations(order, 2))
        chosen = [pairs[k] for k in rng.choice(PAIRS, EDGES, replace=False)]
        edges = chosen[HIDDEN:]
        causes = [f"L{k}" for k in range(HIDDEN)]
        for cause, pair in zip(causes, chosen[:HIDDEN], strict=True):
            edges += [(cause, each) for each in pair]
        dag = DAG.from_edges([*NAMES, *causes], edges)
        joined = {frozenset(pair) for pair in chosen}
        if _inseparable(dag) == joined and not _leads(chosen[HIDDEN:], chosen[:HIDDEN]):
            return dag, joined


def _inseparable(dag: DAG) -> Edges:
    found, observed = set(), range(len(NAMES))
    for x, y in combinations(observed, 2):
        others = [v for v in observed if v not in (x, y)]
        sets = [s for k in range(len(others) + 1) for s in combinations(others, k)]
        if not any(d_separated(dag, [x], [y], s) for s in sets):
            found.add(frozenset((NAMES[x], NAMES[y])))
    return found


def _leads(edges: Sequence[tuple[str, str]], pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether edges lead from one of a pair to the other; they follow one order."""
    for start, end in pairs:
        reached = {start}
        for _ in NAMES:
            reached |= {child for parent, child in edges if parent in reached}
        if end in reached:
            return True
    return False


def draw_table(dag: DAG, kind: str, rows: int, rng: np.random.Generator) -> Columns:
    """The columns of NAMES, of a new model on the graph."""
    values: Columns = {}
    for v in dag.topological_order():
        name, total = dag.names[v], rng.normal(size=rows)
        for parent in np.flatnonzero(dag.adjacency[:, v]).tolist():
            total += _effect(values[dag.names[parent]], rng)
        states = int(rng.choice([1, 2, *rng.integers(3, 5, 2)])) if kind == "mixed" else 1
        values[name] = total.tolist() if states == 1 else _cut(total, states, rng)
    return {name: values[name] for name in NAMES}


def _effect(column: list[float] | list[str], rng: np.random.Generator) -> np.ndarray:
    def coefficient() -> float:
        drawn = rng.uniform(-0.8, 1.0)
        return float(drawn if drawn > 0.1 else drawn - 0.2)

    if isinstance(column[0], str):
        of = {state: coefficient() for state in sorted(set(map(str, column)))}
        return np.array([of[str(state)] for state in column])
    return coefficient() * np.array(column)


def _cut(numbers: np.ndarray, states: int, rng: np.random.Generator) -> list[str]:
    """As many states as that, at quantiles that leave each at least LEAST_SHARE."""
    free = 1 - states * LEAST_SHARE
    shares = LEAST_SHARE + free * rng.dirichlet(np.ones(states))
    at = np.quantile(numbers, np.cumsum(shares)[:-1])
    return [f"s{k}" for k in np.searchsorted(at, numbers)]


def draw_federation(
    kind: str, rows: int, sites: int, seed: int
) -> tuple[Edges, Columns, list[Columns]]:
    """The skeleton, the whole table, and the columns that every site has."""
    rng = np.random.default_rng([ord(kind[0]), rows, sites, seed])
    while True:
        dag, joined = draw_graph(rng)
        table = draw_table(dag, kind, rows, rng)
        shares = rng.uniform(size=sites) + 0.03
        ends = [0, *np.cumsum(rows * shares / shares.sum()).round().astype(int).tolist()]
        lacking = rng.permutation(list(NAMES)).tolist()[:2]
        lacking += rng.choice(list(NAMES), sites - 2).tolist()
        parts = [
            {name: column[a:b] for name, column in table.items() if name != lost}
            for a, b, lost in zip(ends, ends[1:], lacking, strict=False)
        ]
        if all(map(_is_usable, parts)):
            return joined, table, parts


def _is_usable(part: Columns) -> bool:
    named = [column for column in part.values() if isinstance(column[0], str)]
    if len(next(iter(part.values()))) < 5 or any(len(set(column)) == 1 for column in named):
        return False
    if not named:
        return True
    _, counts = np.unique(np.array(named).T, axis=0, return_counts=True)
    return bool(counts.min() >= LEAST_ROWS)


def dataset_of(part: Columns) -> Dataset:
    """A site's table."""
    numbers = tuple(name for name, column in part.items() if not isinstance(column[0], str))
    if len(numbers) == len(part):
        return fb.Table.from_columns(part, "gaussian").dataset
    return fb.Table.from_columns(part, "mixed", Preparation(numbers=numbers)).dataset


def by_fedbn(parts: Sequence[Columns], seed: int) -> dict[str, DAG]:
    """Rule -> its consensus."""
    tables = {f"{k}": dataset_of(part) for k, part in enumerate(parts)}
    found: dict[str, DAG] = {}
    for choose in ("smhd", "counts", "climb"):
        settings = ConsensusSettings(variables="union", choose=choose)
        done = fb.simulate(tables, score="mixed-bic", consensus=settings, seed=seed)
        found["default" if choose == "smhd" else choose] = done.dag
    own = [reply.dags[0] for reply in done.result.replies]
    padded = mcbnc_paths([dag.extend(NAMES) for dag in own], poolings=poolings_of("best"))
    pair = mcbnc_path(own, variables="union", min_judges=len(own))
    return {
        "padded": select_among(padded)[1].dag,
        "vote": edge_vote(own, threshold=0.5, variables="union"),
        "pair": select_consensus(pair, "search").dag,
        **found,
    }


def main() -> None:
    """Print for every kind, number of sites and rule the mean numbers of edges missing and too
    many, and CPU seconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="+", default=["numbers", "mixed"])
    parser.add_argument("--sites", nargs="+", type=int, default=[3, 5])
    parser.add_argument("--rows", type=int, default=2000, help="of all sites together")
    parser.add_argument("--seeds", nargs=2, type=int, default=(1, 2), help="first and last")
    parser.add_argument("--packages", type=Path, help="folder of packages that has python-fedci")
    given = parser.parse_args()
    seeds = range(given.seeds[0], given.seeds[1] + 1)
    for kind in given.kinds:
        for sites in given.sites:
            errors: dict[str, list[tuple[int, int, float]]] = {}
            for seed in seeds:
                truth, table, parts = draw_federation(kind, given.rows, sites, seed)
                told = skeletons(table, parts, seed, given.packages)
                for rule, (found, seconds) in told.items():
                    wrong = len(truth - found), len(found - truth), seconds
                    errors.setdefault(rule, []).append(wrong)
            _print(f"{kind}, {sites} sites", errors)


def skeletons(
    table: Columns, parts: Sequence[Columns], seed: int, packages: Path | None
) -> dict[str, tuple[Edges, float]]:
    """Rule -> its skeleton, and CPU seconds: of fedbn those of all its rules together."""
    began = time.process_time()
    dags = by_fedbn(parts, seed)
    spent = time.process_time() - began
    pooled, rng = LearnerSettings(score="mixed-bic"), np.random.default_rng(seed)
    dags["pooled"] = learn(dataset_of(table), pooled, rng).dags[0]
    found = {rule: ({frozenset(e) for e in dag.edges}, spent) for rule, dag in dags.items()}
    if packages is not None:
        began = time.process_time()
        edges = _by_fedci(parts, packages)
        found["tests of fedCI"] = edges, time.process_time() - began
    return found


def _by_fedci(parts: Sequence[Columns], packages: Path) -> Edges:
    from simulations.benchmarks.fedci_tests import by_fedci

    if os.fspath(packages) not in sys.path:
        sys.path.append(os.fspath(packages))
    return by_fedci(list(map(dataset_of, parts)), NAMES, MOST_GIVEN, ALPHA)


def _print(case: str, errors: dict[str, list[tuple[int, int, float]]]) -> None:
    for rule, rows in errors.items():
        missing, more, seconds = (mean(each) for each in zip(*rows, strict=True))
        error = stdev(row[0] + row[1] for row in rows) / len(rows) ** 0.5
        told = f"missing {missing:.2f}, too many {more:.2f}, together {missing + more:.2f}"
        tail = f"+- {error:.2f}, CPU {seconds:.2f}"
        print(f"{case}, {len(rows)} federations, {rule}: {told} {tail}", flush=True)


if __name__ == "__main__":
    main()
