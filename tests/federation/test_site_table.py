"""Columns that look like identifiers are left out at all sites."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbn.data.inspection import inspect
from fedbn.data.mapping import SiteMapping
from fedbn.data.table_settings import TableSettings
from fedbn.errors import FedbnWarning
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import SiteFile
from fedbn.federation.site_table import site_table, without_identifiers
from simulations.sites.tables import simulation, with_found_cuts


def write(folder: Path, name: str, rows: int) -> Path:
    """A name and a number of its own for every row, a measure, a town with some rows."""
    lines = [f"p{i},{1000 + i},{i % 30},{'town ' + str(i % 12)},{'fm'[i % 2]}" for i in range(rows)]
    path = folder / name
    path.write_text("who,number,age,town,sex\n" + "".join(line + "\n" for line in lines))
    return path


def test_they_are_left_out_of_every_table(tmp_path: Path) -> None:
    files = (str(write(tmp_path, "a.csv", 120)), str(write(tmp_path, "b.csv", 30)))
    experiment = Experiment.of(
        sites=files, leave_out_identifiers=True, cuts=("age=9,19",), engine="in-process"
    )
    with pytest.warns(FedbnWarning, match=r"'number' \(120 states\), 'town' \(12 .*'who' \(120"):
        found = with_found_cuts(experiment)
    assert found.tables.leave_out == ("number", "town", "who")
    assert not found.tables.leave_out_identifiers
    assert [site.dataset.names for site in simulation(found).sites] == [("age", "sex")] * 2


def test_own_names_are_translated_and_chosen_columns_stay(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 120)
    site = SiteFile(mapping=SiteMapping({"who": "patient"}))
    settings = TableSettings(leave_out_identifiers=True, cuts=("number=1050", "age=9"))
    with (
        pytest.warns(FedbnWarning, match=r"left out as identifiers: 'patient' \(120 states\)"),
        pytest.warns(FedbnWarning, match="column 'number' holds whole numbers"),
    ):
        data = site_table(path, "categorical", settings, site).dataset
    assert data.names == ("age", "number", "sex", "town")
    chosen = TableSettings(leave_out_identifiers=True, columns=("patient,sex",))
    assert without_identifiers([(path, site)], chosen).leave_out == ()


def test_what_inspect_calls_an_identifier_is_meant(tmp_path: Path) -> None:
    facts = inspect(write(tmp_path, "b.csv", 30))
    kinds = {each.name: each.kind for each in facts.columns}
    assert kinds == {
        "who": "identifier", "number": "identifier", "age": "identifier", "town": "identifier",
        "sex": "categories",
    }  # fmt: skip
