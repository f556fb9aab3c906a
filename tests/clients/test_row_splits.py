"""What the split of the same rows over sites cannot change, and what it can."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.errors import FedbnWarning
from fedbn.federation.agreement import negotiate
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.graphs.dag import DAG
from fedbn.networks.bif import bif_text
from fedbn.networks.family_counts import count_families, families_of
from fedbn.networks.fitting import parameters_of_sites
from fedbn.networks.json_file import network_to_json
from fedbn.scores.family_scores import bdeu_of_counts, own_scores
from server.server_app import federate
from simulations.in_process_grid import InProcessGrid
from simulations.sites.tables import simulation, with_found_cuts

Row = tuple[str, ...]

STRUCTURE = DAG.from_edges(("age", "income", "job"), [("age", "income"), ("job", "income")])

AGES = st.sampled_from(["17", "22", "22.0", "30", "-4", "1e3", "90", "0.125"])
ROWS = st.lists(
    st.tuples(AGES, st.sampled_from(["Exec", "?", "Sales"]), st.sampled_from(["<=50K", ">50K"])),
    min_size=12,
    max_size=30,
)


def write_sites(folder: Path, rows: Sequence[Row], owners: Sequence[int]) -> tuple[str, ...]:
    """One file for each site that owns a row."""
    files = []
    for site in sorted(set(owners)):
        own = [row for row, owner in zip(rows, owners, strict=True) if owner == site]
        file = folder / f"site{site}.csv"
        file.write_text("age,job,income\n" + "".join(",".join(row) + "\n" for row in own))
        files.append(str(file))
    return tuple(files)


def tables_of(files: tuple[str, ...], missing_cells: str) -> list[Dataset]:
    """The sites' tables, prepared and under the schema that they agree on."""
    experiment = with_found_cuts(
        Experiment.of(
            sites=files, discretise=("age:3",), missing=("?",), missing_cells=missing_cells
        )
    )
    sites = simulation(experiment).sites
    schema = negotiate({site.label: site.dataset.schema for site in sites}).schema
    return [site.dataset.with_schema(schema) for site in sites]


@given(ROWS, st.data(), st.sampled_from(["state", "drop-rows"]))
@settings(max_examples=25)
def test_given_the_structure_the_split_changes_no_byte(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Row],
    data: st.DataObject,
    missing_cells: str,
) -> None:
    rows += [("30", "Exec", ">50K")] * 4  # so that no site has only missing cells
    owners = st.lists(st.integers(0, 2), min_size=len(rows) - 3, max_size=len(rows) - 3)
    one, other = ([*data.draw(owners), 0, 1, 2] for _ in range(2))
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FedbnWarning)
        for split in ([0] * len(rows), one, other):
            folder = tmp_path_factory.mktemp("sites")
            tables = tables_of(write_sites(folder, rows, split), missing_cells)
            counts = [count_families(table, families_of([STRUCTURE])) for table in tables]
            network = parameters_of_sites(STRUCTURE, counts)
            score = bdeu_of_counts(reduce(add, counts)).tobytes()
            texts = (network_to_json(network), bif_text(network))
            rows_kept = sum(table.n_rows for table in tables)
            found.append((tables[0].schema, rows_kept, score, *texts))
    assert found[0] == found[1] == found[2]
    assert found[0][0].cuts.keys() == {"age"}


def test_the_structure_depends_on_who_has_which_rows(tmp_path: Path) -> None:
    """Independent at each of two sites, dependent in all rows together: Simpson's paradox."""
    rng = np.random.default_rng(0)
    low = rng.random((200, 2)) < 0.1
    cells = np.concatenate([low, ~low]).astype(int).astype(str)
    rows = [(a, b, "same") for a, b in cells.tolist()]
    edges = []
    for split in ([0] * 200 + [1] * 200, [0, 1] * 200):
        folder = tmp_path / str(len(edges))
        folder.mkdir()
        experiment = Experiment.of(sites=write_sites(folder, rows, split))
        nodes = [{"partition-id": i, "num-partitions": 2} for i in range(2)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FedbnWarning)  # a constant column
            with InProcessGrid(to_run_config(experiment), nodes) as grid:
                edges.append(federate(grid, experiment).result.consensus.dag.n_edges)
    assert edges == [0, 1]


@pytest.mark.filterwarnings("ignore:column 'age'. the numbers of")
def test_own_scores_depend_on_who_has_which_rows(tmp_path: Path) -> None:
    """So no choice by counts is free of the split either."""
    both = [("Exec", ">50K"), ("Sales", "<=50K")]
    rows = [(str(age), *both[age // 2 % 2]) for age in range(40)]
    found = []
    for split in ([0, 1] * 20, [0] * 20 + [1] * 20):
        (folder := tmp_path / str(len(found))).mkdir()
        tables = tables_of(write_sites(folder, rows, split), "refuse")
        counts = [count_families(table, families_of([STRUCTURE])) for table in tables]
        found.append(sum(own_scores(each) for each in counts).tolist())
    assert found[0] != found[1]
