"""`fedbn site new` and `fedbn site prepare`, as a site's operator calls them."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbn.federation.prepared_table import contract_of
from fedbn.federation.site_file import read_site_file
from tests.simulations.conftest import Fedbn


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "north.csv"
    rows = "".join(f"{k},{'yes' if k % 3 else 'no'},{k % 2}\n" for k in range(60))
    path.write_text("id,smoke,job\n" + rows)
    return path


def test_a_site_from_its_table_to_its_contract(fedbn: Fedbn, table: Path) -> None:
    made = fedbn("site", "new", table)
    assert made.status == 0, made.err
    file = table.with_suffix(".toml")
    assert f"fedbn site prepare {file}" in made.out
    assert fedbn("site", "new", table).status == 1  # nothing is overwritten
    first = fedbn("site", "prepare", file, "--json").json
    assert first["contract"] == contract_of(table, read_site_file(file)).hash
    assert (first["number"], first["rows"]) == (1, 60)
    assert fedbn("site", "prepare", file, "--json").json == first
    table.write_text(table.read_text() + "60,no,1\n")
    refused = fedbn("site", "prepare", file)
    assert (refused.status, "--replace" in refused.err) == (1, True)
    second = fedbn("site", "prepare", file, "--replace", "--json").json
    assert (second["number"], second["rows"]) == (2, 61)
    assert second["contract"] != first["contract"]


def test_the_file_lies_beside_its_table(fedbn: Fedbn, table: Path) -> None:
    (table.parent / "else").mkdir()
    refused = fedbn("site", "new", table, "--out", table.parent / "else" / "north.toml")
    assert (refused.status, "must lie beside" in refused.err) == (1, True)


def test_what_is_allowed_is_in_the_file(fedbn: Fedbn, table: Path) -> None:
    out = table.with_name("loose.toml")
    made = fedbn(
        "site", "new", table, "--out", out, "--allow", "counts", "--allow", "dags", "--json"
    )
    assert made.json == {"file": str(out)}
    policy = read_site_file(out).policy
    assert (policy.counts, policy.structures, policy.histograms) == (True, "dag", False)
    unknown = fedbn("site", "new", table, "--out", table.with_name("x.toml"), "--allow", "rows")
    assert (unknown.status, "'rows' cannot be allowed" in unknown.err) == (1, True)
