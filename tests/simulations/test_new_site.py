"""`fedbn site new`: complete files, which are strict unless somebody loosens them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from fedbn.data.preparation import Preparation
from fedbn.data.schema import Schema
from fedbn.data.table_format import TableFormat
from fedbn.errors import ConfigError
from fedbn.federation.prepared_table import prepare
from fedbn.federation.site_file import read_site_file
from simulations.commands.new_site import LOOSENINGS, site_text

ROWS = 300


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    drugs = ["a"] * 150 + ["b"] * 140 + ["x", "y"] * 5
    path = tmp_path / "north.csv"
    lines = ["id;age;drug;one;smokes;few"]
    for i, (age, drug) in enumerate(zip(rng.normal(50, 9, ROWS), drugs, strict=True)):
        smokes = rng.choice(["no", "yes", "NA"])
        lines.append(f"{i};{age:.1f};{drug};1;{smokes};{'u' if i else 'v'}".replace(".", ","))
    path.write_text("\n".join(lines) + "\n")
    return path


HOW = Preparation(missing=("NA",), form=TableFormat(separator=";", decimal=","))


def test_the_file_can_be_prepared_and_names_nothing_of_single_rows(table: Path) -> None:
    text = site_text(table, HOW, name="north")
    file = table.with_suffix(".toml")
    file.write_text(text)
    prepared = prepare(table, read_site_file(file))
    schema = prepared.contract.schema
    assert schema.names == ("age", "drug", "smokes")
    assert schema.to_dict()["smokes"] == ["missing", "no", "yes"]
    assert schema.to_dict()["drug"] == ["a", "b", "x", "y"]
    assert all(cut == float(f"{cut:.2g}") for cut in schema.cuts["age"])
    assert set(tomllib.loads(text)["leave-out"]) == {"id", "one", "few"}
    assert (prepared.contract.rows, prepared.contract.rows_dropped) == (ROWS, 0)


def test_states_of_few_rows_are_one(tmp_path: Path) -> None:
    path = tmp_path / "north.csv"
    cells = ["a"] * 30 + ["b"] * 30 + ["x"] * 3 + ["y"] * 2
    path.write_text("drug,b\n" + "".join(f"{cell},{k % 2}\n" for k, cell in enumerate(cells)))
    file = path.with_suffix(".toml")
    file.write_text(site_text(path, name="north"))
    contract = prepare(path, read_site_file(file)).contract
    assert contract.schema.to_dict()["drug"] == ["a", "b", "other"]


def test_every_decision_has_a_line_with_a_comment(table: Path) -> None:
    for allow in ((), tuple(LOOSENINGS)):
        text = site_text(table, HOW, name="north", allow=allow)
        for line in text.splitlines():
            assert not line or "#" in line, line
        for word, words in LOOSENINGS.items():
            assert (f"would give away: {words}" in text) != (word in allow) or word == "learners"


def test_a_given_schema_is_all_that_is_read(table: Path) -> None:
    agreed = Schema.from_dict({"age": {"cuts": [50]}, "drug": ["a", "b", "x", "y", "z"]})
    file = table.with_suffix(".toml")
    file.write_text(site_text(table, HOW, name="north", schema=agreed))
    assert prepare(table, read_site_file(file)).contract.schema == agreed


def test_what_cannot_be_allowed_is_said(table: Path) -> None:
    with pytest.raises(ConfigError, match="'count' cannot be allowed; did you mean 'counts'"):
        site_text(table, HOW, name="north", allow=("count",))


def test_a_table_of_which_nothing_may_be_named_has_no_file(tmp_path: Path) -> None:
    path = tmp_path / "north.csv"
    path.write_text("id\n" + "".join(f"p{i}\n" for i in range(40)))
    with pytest.raises(ConfigError, match="id: looks like an identifier"):
        site_text(path, name="north")
