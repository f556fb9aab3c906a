"""One case of the study: a complete table, the same with missing cells, and what is learned."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, Protocol

import numpy as np

from fedbn.arrays import Bools
from fedbn.data.dataset import Dataset
from fedbn.data.schema import MISSING_STATE, Schema
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.graphs.random import random_dag
from fedbn.learners import LearnerSettings, learn
from fedbn.networks.catalog import load_network
from fedbn.networks.random import node_names, random_linear_gaussian_network
from simulations.studies.real_tables.mechanisms import random_mixed_network
from simulations.study_cases import Case, Row

METHODS = ("complete", "drop-rows", "state", "impute")

STUDY = 1130
"""Seeds of the study."""

VARIABLES, EDGES = 20, 30
"""Of a network at random."""

LEAST_ROWS = 30
"""With fewer rows left drop-rows learns nothing: GES would join nearly all columns, for minutes."""

SCORES_AT_RANDOM = {"mixed": "mixed-bic", "numbers": "gaussian-bic"}
"""Networks at random, a new one for every seed, and the score that reads their rows."""


class _Sampled(Protocol):
    """A network from which rows are drawn."""

    @property
    def dag(self) -> DAG: ...

    def sample(self, rows: int, rng: np.random.Generator) -> Dataset: ...


def cases(settings: dict[str, Any], seeds: int | None = None) -> Iterator[Case]:
    """The cases, those of a seed together, so that a run cut short is balanced."""
    study = settings["study"]
    for seed in range(1, 1 + (seeds or study["seeds"])):
        for network, rows, how in product(study["networks"], study["rows"], study["mechanisms"]):
            yield {"network": network, "rows": rows, "mechanism": how, "seed": seed}


def missing_at(table: Dataset, mechanism: str, rng: np.random.Generator) -> Bools:
    """bool [rows, n], which cells are missing.

    mcar-5, mcar-15 : so many per cent of all cells, whatever is in them.
    mar : half of the columns are complete; in each of the others a quarter of the cells are missing
        where one of the complete columns, drawn for it, has its first state.
    mnar : in half of the columns, half of the cells that have the column's first state.
    mnar-pair : in each of half of the columns, half of the cells of the rows in which it and one
        other column, drawn for it, both have or both lack their first states.

    Of a number the first state stands for values below its median.
    """
    drawn = rng.random(table.table.shape)
    if mechanism.startswith("mcar-"):
        return drawn < int(mechanism.removeprefix("mcar-")) / 100
    gone = np.zeros(table.table.shape, dtype=bool)
    order = rng.permutation(table.n)
    complete, others = np.split(order, [table.n // 2])
    for column in others:
        driver = column if mechanism == "mnar" else rng.choice(complete)
        share = 0.25 if mechanism == "mar" else 0.5
        where = _is_first(table, driver)
        if mechanism == "mnar-pair":
            where = where == _is_first(table, column)
        gone[:, column] = (drawn[:, column] < share) & where
    return gone


def _is_first(table: Dataset, column: int) -> Bools:
    """bool [rows], where a column has its first state, or a number is below its median."""
    cells = table.column(column)
    if table.schema.variables[column].states is not None:
        return np.asarray(cells == 0)
    return np.asarray(cells < np.median(cells))


def run_case(case: Case) -> Row:
    """For every method SMHD to the network, and CPU seconds; None where too few rows are left."""
    name = str(case["network"])
    rng = np.random.default_rng(
        [STUDY, case["seed"], case["rows"], *(ord(letter) for letter in name + case["mechanism"])]
    )
    network, score = _network(name, int(case["seed"]))
    table = network.sample(case["rows"], rng)
    gone = missing_at(table, case["mechanism"], rng)
    gone[:, gone.all(axis=0)] = False
    whole = np.flatnonzero(~gone.any(axis=1))
    tables = {
        "complete": table,
        "drop-rows": table.take(whole) if whole.size >= LEAST_ROWS else None,
        "state": _as_state(table, gone) if table.kind == "categorical" else None,
        "impute": Dataset(table.schema, table.table, gone),
    }
    row: Row = {"missing": float(gone.mean())}
    for method, given in tables.items():
        if given is None:
            row[method] = row[f"{method}_seconds"] = None
            continue
        found = learn(given, LearnerSettings(score=score), np.random.default_rng(case["seed"]))
        row[method] = smhd(found.dags[0], network.dag)
        row[f"{method}_seconds"] = found.seconds
    return row


def _network(name: str, seed: int) -> tuple[_Sampled, str]:
    """A network of the catalog, or one at random with the columns that the name says; its score."""
    if name not in SCORES_AT_RANDOM:
        return load_network(name), LearnerSettings().score
    rng = np.random.default_rng([STUDY, seed, *map(ord, name)])
    dag = random_dag(node_names(VARIABLES), edges=EDGES, rng=rng)
    if name == "numbers":
        return random_linear_gaussian_network(dag, rng=rng), SCORES_AT_RANDOM[name]
    return random_mixed_network(dag, "linear", rng), SCORES_AT_RANDOM[name]


def _as_state(table: Dataset, gone: Bools) -> Dataset:
    """The table with missing cells as a state of their own."""
    names = zip(
        table.names, table.schema.states, [bool(column.any()) for column in gone.T], strict=True
    )
    schema = Schema.categorical(
        {name: (*states, MISSING_STATE) if some else states for name, states, some in names}
    )
    codes = table.with_schema(schema).codes.copy()
    for column, states in enumerate(schema.states):
        if MISSING_STATE in states:
            codes[gone[:, column], column] = states.index(MISSING_STATE)
    return Dataset(schema, codes)
