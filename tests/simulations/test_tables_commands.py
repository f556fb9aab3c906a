"""`fedbn inspect`, `schema` and `check` as a site's owner calls them."""

import json
import shlex
from pathlib import Path

import pytest

from fedbn.graphs.files import read_structures
from tests.simulations.conftest import Fedbn

ROWS = [
    f"p{i},{20 + (7 * i) % 50},{'yes' if i % 3 else 'no'},{'NA' if i % 9 == 0 else 'x'}"
    for i in range(60)
]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "north.csv"
    path.write_text("id,age,smoke,job\n" + "".join(row + "\n" for row in ROWS))
    return path


def test_a_mixed_table_from_inspection_to_edges(fedbn: Fedbn, table: Path, tmp_path: Path) -> None:
    """The command that inspect proposes, a schema of both kinds, and what is asked in vain."""
    words = fedbn("inspect", table, "--missing", "NA", "--json").json["uncut"]
    assert "--score mixed-bic --numbers age" in words
    found = fedbn(*shlex.split(words)[1:], "--json").json
    assert found["nodes"] == ["age", "job", "smoke"]
    schema = tmp_path / "s.json"
    options = ("--leave-out", "id", "--missing", "NA", "--missing-cells", "state")
    fedbn("schema", table, *options, "--numbers", "age", "--out", schema)
    assert json.loads(schema.read_text())["age"] is None
    again = fedbn("learn", table, *options, "--score", "mixed-bic", "--schema", schema, "--json")
    assert again.json["score"] == found["score"]


def test_inspect_says_what_a_table_needs(fedbn: Fedbn, table: Path) -> None:
    facts = fedbn("inspect", table, "--json").json
    columns = {each["name"]: each for each in facts["columns"]}
    assert {name: each["kind"] for name, each in columns.items()} == {
        "id": "identifier",
        "age": "numbers",
        "smoke": "categories",
        "job": "categories",
    }
    assert columns["job"]["remarks"] == ["'NA' in 7 rows: a missing value? --missing 'NA'"]
    assert len(columns["age"]["cuts"]) == 3
    words = fedbn("inspect", table, "--missing", "NA", "--json").json["command"]
    assert "--missing-cells state" in words  # imputed, job would be constant
    again = shlex.split(words)[1:]
    learned = fedbn(*again, "--json").json
    assert learned["nodes"] == ["age", "job", "smoke"]


@pytest.mark.filterwarnings("always::fedbn.errors.FedbnWarning")
def test_schema_drafts_what_sites_agree_on(fedbn: Fedbn, table: Path) -> None:
    other = table.with_name("south.csv")
    other.write_text("id,age,smoke,job\nq1,33,never,x\nq2,90,no,y\n")
    options = ("--leave-out", "id", "--missing", "NA", "--missing-cells", "state")
    found = fedbn("schema", table, other, *options, "--cuts", "age=40,60", "--json").json
    assert found == {
        "age": {"cuts": [40.0, 60.0]},
        "job": ["missing", "x", "y"],
        "smoke": ["never", "no", "yes"],
    }
    other.write_text("id,age,smoke,job\nq1,33,Yes,x\n")
    error = fedbn("schema", table, other, *options, "--cuts", "age=40,60").err
    assert "'yes'" in error
    assert "'Yes'" in error
    assert "--spellings accept" in error


@pytest.mark.filterwarnings("always::fedbn.errors.FedbnWarning")
def test_check_says_what_would_leave(fedbn: Fedbn, table: Path) -> None:
    site = table.with_suffix(".toml")
    site.write_text(
        'table = "north.csv"\nleave-out = ["id"]\nmissing = ["NA"]\nmissing-cells = "state"\n'
        '[columns]\nage = "years"\n[policy]\nmin-rows = 50\nhistograms = false\n'
    )
    agreed = table.with_name("states.json")
    agreed.write_text('{"years": {"cuts": [40]}, "job": ["x", "missing"], "smoke": ["no"]}')
    ran = fedbn("check", site, "--schema", agreed, "--json")
    assert ran.status == 1
    found = json.loads(ran.out)
    assert found["handshake"] == {
        "job": ["missing", "x"],
        "smoke": ["no", "yes"],
        "years": {"cuts": [40.0]},
    }
    assert found["differs"] == "column 'smoke' has state 'yes', which is not agreed"
    assert (found["refused"], found["histograms"], found["counts"]) == ("", False, False)
    assert not found["fits"]
    shown = fedbn("check", site, "--schema", agreed)
    assert shown.status == 1
    assert "The table does not fit the schema: column 'smoke' has state 'yes'" in shown.out
    agreed.write_text(
        '{"years": {"cuts": [40]}, "job": ["w", "x", "missing"], "smoke": ["no", "yes"]}'
    )
    fits = fedbn("check", site, "--schema", agreed, "--json").json
    assert fits["fits"]
    assert fits["handshake"]["job"] == ["missing", "w", "x"]
    site.write_text('table = "north.csv"\n[policy]\nmin-rows = 500\n')
    refused = fedbn("check", site, "--columns", "smoke,job")
    assert refused.status == 1
    assert "Nothing would leave: min-rows: 60 rows" in refused.out


@pytest.mark.filterwarnings("always::fedbn.errors.FedbnWarning")
def test_check_refuses_the_identifiers_that_a_deployed_site_refuses(
    fedbn: Fedbn, table: Path
) -> None:
    """It listed all 60 of them as what would leave, while the site would have refused."""
    site = table.with_suffix(".toml")
    site.write_text('table = "north.csv"\n')
    for what in (site, table):
        printed = fedbn("check", what, "--columns", "id,smoke").out
        assert printed.startswith("Nothing would leave: states: column 'id' has 60 states, more")
        assert 'allow-states = ["id"]' in printed
        assert "p17" not in printed
    site.write_text('table = "north.csv"\n[policy]\nallow-states = ["id"]\n')
    assert "p17" in fedbn("check", site, "--columns", "id,smoke").out
    agreed = table.with_name("states.json")
    agreed.write_text('{"smoke": ["never", "no", "yes"]}')
    site.write_text('table = "north.csv"\nschema = "states.json"\n')
    told = fedbn("check", site, "--columns", "smoke", "--json").json["handshake"]
    assert told == {"smoke": ["never", "no", "yes"]}


def test_names_that_are_formulas_are_written_safely(fedbn: Fedbn, tmp_path: Path) -> None:
    table, out = tmp_path / "t.csv", tmp_path / "out.csv"
    names = ("=1+1", "+cmd|' /C x'!A0", "-a", "@b")
    rows = [["x" if i % 2 else "y"] * 4 for i in range(40)]
    table.write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    assert fedbn("learn", table, "--out", out, "--quiet").status == 0
    cells = [cell for line in out.read_text().splitlines()[1:] for cell in line.split(",")[:2]]
    assert len(cells) >= 6
    assert {cell[0] for cell in cells} == {"'"}
    assert set(cells) == {f"'{name}" for name in names}
    assert set(read_structures(out, nodes=names)[0].dag.names) == set(names)
    shown = fedbn("credible", table, "--leave-out", "-a,@b", "--quiet").out.splitlines()
    assert shown[0] == "parent,child,posterior"
    assert {line[:5] for line in shown[1:]} == {"'=1+1", "'+cmd"}


def test_what_inspect_proposes_for_missing_cells_can_be_run(fedbn: Fedbn, tmp_path: Path) -> None:
    """Numbers have no state of their own, and dropping rows would leave few."""
    table = tmp_path / "a.csv"
    cells = [f"{i * 7 % 31 if i % 4 else ''},{'yx'[i % 2] if i % 5 else ''}" for i in range(60)]
    table.write_text("\n".join(["age,job", *cells, ""]))
    facts = fedbn("inspect", table, "--json").json
    for proposed in ("command", "uncut"):
        assert "--missing-cells impute" in facts[proposed]
        learned = fedbn(*shlex.split(facts[proposed])[1:], "--json").json
        assert learned["nodes"] == ["age", "job"]
